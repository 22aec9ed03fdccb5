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
from engram.types import Kind, Memory, Reader
from engram.values.dreams import Cursor, Derive
from engram.values.entities import RelatedFact

_CHAIN_STEPS = 4
"""Premises followed before and after a fact: the longest chain of premises has five."""
_WIDEST = 64
_MOST_FACTS = 256
_IMPORTANCE = 0.3
_INFERRED_FROM = "inferred_from"


def page(context: JobContext, cursor: Cursor) -> JobPage:
    touched = context.touched(cursor)
    return touched.page([proposal for group in by_scope(touched.memories) for proposal in _conclusions(context, group)])


def _conclusions(context: JobContext, memories: Sequence[Memory]) -> list[Derive]:
    """Return the conclusions from facts of these memories, which are all of one scope."""
    reader, page_ids = context.scoped_to(memories[0]), {memory.id for memory in memories}
    facts = _usable(context.store.facts.by(reader, [memory.key for memory in memories]))
    if not facts:
        return []
    known = {
        Relation(fact.subject, fact.predicate, fact.object, fact.confidence, fact.memory)
        for fact in (
            *facts,
            *_reachable(context, reader, facts, backwards=False),
            *_reachable(context, reader, facts, backwards=True),
        )
    }
    conclusions = [conclusion for conclusion in infer(known) if not page_ids.isdisjoint(conclusion.premises)][
        : context.limits.dream_inferences
    ]
    premise_ids = list(dict.fromkeys(premise for conclusion in conclusions for premise in conclusion.premises))
    premises = {
        memory.id: memory for memory in without_flagged(context.store.memories.get(reader, premise_ids), context.settings)
    }
    return [
        _derived(context, conclusion, premises)
        for conclusion in conclusions
        if all(premise in premises for premise in conclusion.premises)
    ]


def _reachable(context: JobContext, reader: Reader, facts: Sequence[RelatedFact], *, backwards: bool) -> list[RelatedFact]:
    """Return facts about the objects of these facts, and so on; `backwards`: facts whose objects are their subjects."""
    reached: dict[RelatedFact, None] = {}
    frontier = {fact.subject if backwards else fact.object for fact in facts}
    visited = set(frontier)
    for _ in range(_CHAIN_STEPS):
        step = _usable(context.store.facts.of(reader, sorted(frontier)[:_WIDEST], backwards=backwards, most=_MOST_FACTS))
        reached |= dict.fromkeys(step)
        frontier = {fact.subject if backwards else fact.object for fact in step} - visited
        visited |= frontier
        if not frontier or len(reached) >= _MOST_FACTS:
            break
    return list(reached)


def _usable(facts: Iterable[RelatedFact]) -> list[RelatedFact]:
    return [fact for fact in facts if supports_inference(fact.predicate)]


def _derived(context: JobContext, conclusion: Inferred, premises: dict[str, Memory]) -> Derive:
    text = conclusion_sentence(conclusion, [premises[premise].text for premise in conclusion.premises])
    memory = Memory(
        text=text,
        kind=Kind.FACT,
        confidence=conclusion.confidence,
        importance=_IMPORTANCE,
        **weighed(text, context.settings),
    )
    return Derive(memory, conclusion.premises, by=_INFERRED_FROM)


INFER = Job("infer", "Store conclusions that follow from known facts.", page)
