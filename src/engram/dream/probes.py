"""Probes that detect a loss of recall (K17): questions made from the vault's own memories, asked before and after a pass.

A probe is the content words of a memory; it succeeds if the memory, or the one it was merged into, is among the first hits.
Faded, uncorroborated and inferred memories are not probed, because a pass may archive them. Only ids are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engram.dream.job import JobContext
from engram.recall.plan import Query
from engram.rules.abridgement import content_words
from engram.rules.lifecycle import Lifecycle, lifecycle
from engram.types import Memory, Reader, Recall, Sensitivity, Source
from engram.values.frozen import frozen

_FIRST = 5
_WORDS = 8
_FEWEST = 3


class ProbeSearcher(Protocol):
    """A searcher whose `look_up` does not count as a use of the memories it finds."""

    def recall_uncounted(self, reader: Reader, asked: Query) -> Recall: ...


@frozen
class ProbeResult:
    """The ids that were probed, and the share of them that was found; None if there were none."""

    ids: tuple[str, ...]
    share: float | None


def choose_probes(context: JobContext, about: Sequence[Memory]) -> tuple[str, ...]:
    """Return the ids to probe: up to half from the memories about to change, the rest sampled evenly from the vault."""
    most = context.settings.dream_probes
    sampled = context.store.sample(context.reader, 2 * most) if most else []
    near = [one.id for one in about if _is_worth(one, context)][: most // 2]
    rest = [one.id for one in sampled if _is_worth(one, context)]
    return tuple(dict.fromkeys([*near, *rest]))[:most]


def run_probes(context: JobContext, searcher: ProbeSearcher, ids: Sequence[str]) -> ProbeResult:
    """Probe each of these memories."""
    memories = context.store.get(context.reader, ids)
    heirs = context.store.heirs(context.reader, [one.id for one in memories])
    answered = [_is_found(context, searcher, one, heirs.get(one.id, one.id)) for one in memories]
    return ProbeResult(tuple(one.id for one in memories), sum(answered) / len(answered) if answered else None)


def _is_found(context: JobContext, searcher: ProbeSearcher, memory: Memory, heir: str) -> bool:
    asked = Query(text=" ".join(content_words(memory.text)[:_WORDS]), now=context.now, limit=_FIRST)
    return any(hit.memory.id == heir for hit in searcher.recall_uncounted(context.here(memory), asked))


def _is_worth(memory: Memory, context: JobContext) -> bool:
    known = lifecycle(memory, context.now, context.settings) not in (Lifecycle.CANDIDATE, Lifecycle.STALE, Lifecycle.ARCHIVED)
    sound = memory.source is not Source.INFERRED and not memory.flagged
    return known and sound and memory.tier is Sensitivity.CLEARTEXT and len(content_words(memory.text)) >= _FEWEST
