"""All jobs, in the order in which a pass runs them."""

from __future__ import annotations

from collections.abc import Sequence

from engram.dream.contradiction import SETTLE
from engram.dream.duplicates import MERGE
from engram.dream.edges import LINK
from engram.dream.gaps import GAPS
from engram.dream.inference import INFER
from engram.dream.job import Job
from engram.dream.lifecycle import FADE
from engram.dream.promotion import PROMOTE
from engram.dream.recapture import RECAPTURE
from engram.dream.rehearsal import REPLAY
from engram.dream.summaries import GATHER
from engram.errors import InvalidQuery

JOBS: tuple[Job, ...] = (RECAPTURE, MERGE, SETTLE, REPLAY, PROMOTE, FADE, INFER, GATHER, LINK, GAPS)
CONSOLIDATE, DREAM = "consolidate", "dream"


def light_jobs() -> tuple[Job, ...]:
    """Return the jobs of `consolidate`."""
    return tuple(job for job in JOBS if job.light)


def jobs_of(verb: str) -> tuple[Job, ...]:
    return JOBS if verb == DREAM else light_jobs()


def jobs_named(names: Sequence[str], among: Sequence[Job] = JOBS) -> tuple[Job, ...]:
    """Return the jobs of these names; without names, all of `among`."""
    if wrong := set(names) - {job.name for job in JOBS}:
        raise InvalidQuery(f"there is no job {min(wrong)!r}.", way_out=f"Pass some of {', '.join(job.name for job in JOBS)}.")
    return tuple(job for job in (JOBS if names else among) if not names or job.name in names)
