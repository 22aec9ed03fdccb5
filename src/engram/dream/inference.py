"""The job that stores conclusions (K11): the parser is part of the compiler and the compiler of the toolchain, so the parser is
part of the toolchain.

Premises are the facts of a page of memories, and facts of the same scope a few relations before and after them. A conclusion has
the source INFERRED and at most the confidence of its weakest premise, and is retired with any premise; it is never a premise
itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engram.capture.drafts import weighed
from engram.dream.job import Job, JobContext, JobPage, by_scope
from engram.recall.selection import without_flagged
from engram.rules.inference import Inferred, Relation, conclusion_sentence, infer, supports_inference
from engram.store.sqlite.relating import Related
from engram.types import Kind, Memory, Reader
from engram.values.dreams import Cursor, Derive

_FAR = 4
"""Premises followed before and after a fact: the longest chain of premises has five."""
_BROAD = 64
_MOST = 256
_IMPORTANCE = 0.3
_INFERRED_FROM = "inferred_from"


def page(context: JobContext, cursor: Cursor) -> JobPage:
    touched = context.touched(cursor)
    return touched.page([one for some in by_scope(touched.memories) for one in _following(context, some)])


def _following(context: JobContext, memories: Sequence[Memory]) -> list[Derive]:
    """Return the conclusions from facts of these memories, which are all of one scope."""
    here, mine = context.here(memories[0]), {memory.id for memory in memories}
    said = _leading(context.store.said_by(here, [memory.key for memory in memories]))
    if not said:
        return []
    known = {
        Relation(one.subject, one.predicate, one.object, one.confidence, one.memory)
        for one in (*said, *_beyond(context, here, said, backwards=False), *_beyond(context, here, said, backwards=True))
    }
    found = [one for one in infer(known) if not mine.isdisjoint(one.premises)][: context.settings.dream_inferences]
    wanted = list(dict.fromkeys(premise for one in found for premise in one.premises))
    told = {memory.id: memory for memory in without_flagged(context.store.get(here, wanted), context.settings)}
    return [_derived(context, one, told) for one in found if all(premise in told for premise in one.premises)]


def _beyond(context: JobContext, here: Reader, said: Sequence[Related], *, backwards: bool) -> list[Related]:
    """Return facts about the objects of these facts, and so on; `backwards`: facts whose objects are their subjects."""
    found: dict[Related, None] = {}
    front = {one.subject if backwards else one.object for one in said}
    passed = set(front)
    for _ in range(_FAR):
        step = _leading(context.store.said_of(here, sorted(front)[:_BROAD], backwards=backwards, most=_MOST))
        found |= dict.fromkeys(step)
        front = {one.subject if backwards else one.object for one in step} - passed
        passed |= front
        if not front or len(found) >= _MOST:
            break
    return list(found)


def _leading(said: Iterable[Related]) -> list[Related]:
    return [one for one in said if supports_inference(one.predicate)]


def _derived(context: JobContext, one: Inferred, told: dict[str, Memory]) -> Derive:
    text = conclusion_sentence(one, [told[premise].text for premise in one.premises])
    memory = Memory(
        text=text,
        kind=Kind.FACT,
        confidence=one.confidence,
        importance=_IMPORTANCE,
        **weighed(text, context.settings),
    )
    return Derive(memory, one.premises, by=_INFERRED_FROM)


INFER = Job("infer", "Store conclusions that follow from known facts.", page)
