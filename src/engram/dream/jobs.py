"""All jobs, in the order in which a pass runs them."""

from __future__ import annotations

from collections.abc import Sequence

from engram.dream.fading import FADE
from engram.dream.gathering import GATHER
from engram.dream.inferring import INFER
from engram.dream.job import Job
from engram.dream.linking import LINK
from engram.dream.merging import MERGE
from engram.dream.promoting import PROMOTE
from engram.dream.rehearsing import REPLAY
from engram.dream.settling import SETTLE
from engram.dream.wondering import GAPS
from engram.errors import InvalidQuery

JOBS: tuple[Job, ...] = (MERGE, SETTLE, REPLAY, PROMOTE, FADE, INFER, GATHER, LINK, GAPS)
CONSOLIDATE, DREAM = "consolidate", "dream"


def light() -> tuple[Job, ...]:
    """Those of `consolidate`."""
    return tuple(job for job in JOBS if job.light)


def jobs_of(verb: str) -> tuple[Job, ...]:
    return JOBS if verb == DREAM else light()


def named(names: Sequence[str], among: Sequence[Job] = JOBS) -> tuple[Job, ...]:
    """The jobs of these names, or all of them."""
    if wrong := set(names) - {job.name for job in JOBS}:
        raise InvalidQuery(f"there is no job {min(wrong)!r}.", way_out=f"Take of {', '.join(job.name for job in JOBS)}.")
    return tuple(job for job in (JOBS if names else among) if not names or job.name in names)
