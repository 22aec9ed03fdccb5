"""Whether recall got worse (K17): questions made of the vault's own memories, asked before a pass and after it.

A question is the telling words of a memory; it is answered if the memory, or what it was merged into, is among the first hits.
Asked is about what is worth keeping: not what has faded or nobody bore out, nor what came of others, which a pass may put away.
Only ids are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engram.dream.job import Desk
from engram.recall.plan import Query
from engram.rules.abridgement import telling
from engram.rules.lifecycle import Lifecycle, lifecycle
from engram.types import Memory, Reader, Recall, Sensitivity, Source
from engram.values.frozen import frozen

_FIRST = 5
_WORDS = 8
_FEWEST = 3


class Looks(Protocol):
    """What answers a question without counting that it did."""

    def recall_uncounted(self, reader: Reader, asked: Query) -> Recall: ...


@frozen
class Tried:
    """The memories that were asked for, and the share of them that was found; None if there was none to ask for."""

    ids: tuple[str, ...]
    share: float | None


def chosen(desk: Desk, about: Sequence[Memory]) -> tuple[str, ...]:
    """Memories to ask for: half of those that a pass is about to change, the rest evenly from all that was kept."""
    most = desk.settings.dream_probes
    sampled = desk.store.sample(desk.reader, 2 * most) if most else []
    near = [one.id for one in about if _is_worth(one, desk)][: most // 2]
    rest = [one.id for one in sampled if _is_worth(one, desk)]
    return tuple(dict.fromkeys([*near, *rest]))[:most]


def tried(desk: Desk, looks: Looks, ids: Sequence[str]) -> Tried:
    """Ask for each of these memories."""
    memories = desk.store.get(desk.reader, ids)
    heirs = desk.store.heirs(desk.reader, [one.id for one in memories])
    answered = [_is_found(desk, looks, one, heirs.get(one.id, one.id)) for one in memories]
    return Tried(tuple(one.id for one in memories), sum(answered) / len(answered) if answered else None)


def _is_found(desk: Desk, looks: Looks, memory: Memory, heir: str) -> bool:
    asked = Query(text=" ".join(telling(memory.text)[:_WORDS]), now=desk.now, limit=_FIRST)
    return any(hit.memory.id == heir for hit in looks.recall_uncounted(desk.here(memory), asked))


def _is_worth(memory: Memory, desk: Desk) -> bool:
    known = lifecycle(memory, desk.now, desk.settings) not in (Lifecycle.CANDIDATE, Lifecycle.STALE, Lifecycle.ARCHIVED)
    sound = memory.source is not Source.INFERRED and not memory.flagged
    return known and sound and memory.tier is Sensitivity.CLEARTEXT and len(telling(memory.text)) >= _FEWEST
