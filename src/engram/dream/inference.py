"""What follows from what is known is kept (K11): the parser is part of the compiler and that of the toolchain, so it is part of
that, too.

From what a page of memories says, and what is told a few steps before and after it in the same scope. What follows is nobody's
word, as sure as the least sure premise and less, and falls with any of them; nothing is concluded from it in turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engram.capture.drafts import weighed
from engram.dream.job import Desk, Job, Page, by_scope
from engram.recall.selection import without_flagged
from engram.rules.inference import Inferred, Relation, carries, inferred, sentence
from engram.store.sqlite.relating import Related
from engram.types import Kind, Memory, Reader
from engram.values.dreams import Cursor, Derive

_FAR = 4
"""Premises before and after one: the longest way that anything follows by has five."""
_BROAD = 64
_MOST = 256
_IMPORTANCE = 0.3
_INFERRED_FROM = "inferred_from"


def page(desk: Desk, cursor: Cursor) -> Page:
    touched = desk.touched(cursor)
    return touched.page([one for some in by_scope(touched.memories) for one in _following(desk, some)])


def _following(desk: Desk, memories: Sequence[Memory]) -> list[Derive]:
    """What follows of what these, all of one scope, say."""
    here, mine = desk.here(memories[0]), {memory.id for memory in memories}
    said = _leading(desk.store.said_by(here, [memory.key for memory in memories]))
    if not said:
        return []
    known = {
        Relation(one.subject, one.predicate, one.object, one.confidence, one.memory)
        for one in (*said, *_beyond(desk, here, said, backwards=False), *_beyond(desk, here, said, backwards=True))
    }
    found = [one for one in inferred(known) if not mine.isdisjoint(one.premises)][: desk.settings.dream_inferences]
    wanted = list(dict.fromkeys(premise for one in found for premise in one.premises))
    told = {memory.id: memory for memory in without_flagged(desk.store.get(here, wanted), desk.settings)}
    return [_derived(desk, one, told) for one in found if all(premise in told for premise in one.premises)]


def _beyond(desk: Desk, here: Reader, said: Sequence[Related], *, backwards: bool) -> list[Related]:
    """What is told of those that these lead to, and so on; `backwards`: what leads to those that these are about."""
    found: dict[Related, None] = {}
    front = {one.subject if backwards else one.object for one in said}
    passed = set(front)
    for _ in range(_FAR):
        step = _leading(desk.store.said_of(here, sorted(front)[:_BROAD], backwards=backwards, most=_MOST))
        found |= dict.fromkeys(step)
        front = {one.subject if backwards else one.object for one in step} - passed
        passed |= front
        if not front or len(found) >= _MOST:
            break
    return list(found)


def _leading(said: Iterable[Related]) -> list[Related]:
    return [one for one in said if carries(one.predicate)]


def _derived(desk: Desk, one: Inferred, told: dict[str, Memory]) -> Derive:
    text = sentence(one, [told[premise].text for premise in one.premises])
    memory = Memory(
        text=text,
        kind=Kind.FACT,
        confidence=one.confidence,
        importance=_IMPORTANCE,
        **weighed(text, desk.settings),
    )
    return Derive(memory, one.premises, by=_INFERRED_FROM)


INFER = Job("infer", "Keep what follows from what is known.", page)
