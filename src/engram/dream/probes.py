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

_FIRST = 5  # hits among which the memory must be
_WORDS = 8  # most content words of a probe
_FEWEST = 3  # least content words of a memory that is probed


class ProbeSearcher(Protocol):
    """A searcher that does not count the memories it finds as used."""

    def recall_uncounted(self, reader: Reader, asked: Query) -> Recall: ...


@frozen
class ProbeResult:
    """The ids that were probed, and the share of them that was found; None if there were none."""

    ids: tuple[str, ...]
    share: float | None


def choose_probes(context: JobContext, about_to_change: Sequence[Memory]) -> tuple[str, ...]:
    """Return the ids to probe: up to half from the memories about to change, the rest sampled evenly from the vault."""
    most = context.limits.dream_probes
    sampled = context.store.dreams.sample(context.reader, 2 * most) if most else []
    changing = [memory.id for memory in about_to_change if _is_probed(memory, context)][: most // 2]
    rest = [memory.id for memory in sampled if _is_probed(memory, context)]
    return tuple(dict.fromkeys([*changing, *rest]))[:most]


def run_probes(context: JobContext, searcher: ProbeSearcher, ids: Sequence[str]) -> ProbeResult:
    """Probe each of these memories."""
    memories = context.store.memories.get(context.reader, ids)
    successors = context.store.dreams.successors(context.reader, [memory.id for memory in memories])
    answered = [_is_found(context, searcher, memory, successors.get(memory.id, memory.id)) for memory in memories]
    return ProbeResult(tuple(memory.id for memory in memories), sum(answered) / len(answered) if answered else None)


def _is_found(context: JobContext, searcher: ProbeSearcher, memory: Memory, successor: str) -> bool:
    asked = Query(text=" ".join(content_words(memory.text)[:_WORDS]), now=context.now, limit=_FIRST)
    return any(hit.memory.id == successor for hit in searcher.recall_uncounted(context.scoped_to(memory), asked))


def _is_probed(memory: Memory, context: JobContext) -> bool:
    known = lifecycle(memory, context.now, context.settings) not in (Lifecycle.CANDIDATE, Lifecycle.STALE, Lifecycle.ARCHIVED)
    sound = memory.source is not Source.INFERRED and not memory.flagged
    return known and sound and memory.tier is Sensitivity.CLEARTEXT and len(content_words(memory.text)) >= _FEWEST
