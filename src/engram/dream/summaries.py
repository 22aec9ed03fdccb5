"""The job that stores several facts of one subject as one sentence (K1, §4.2), so that a short answer has all of them: "The
user likes jazz, hiking and Thai food."

A summary has the source INFERRED, is linked to its source memories, ranks below them in recall, and is retired with any of them;
a fuller one replaces it.
"""

from __future__ import annotations

from engram.capture.drafts import weighed
from engram.dream.job import Job, JobContext, JobPage
from engram.recall.selection import without_flagged
from engram.rules.summaries import FactSummary, SourcedFact, summarize
from engram.types import Kind, Memory, Reader, Source, scope_values
from engram.values.dreams import Archive, Cursor, Derive, Proposal

GIST = "gist"
"""The attribute that holds the key (subject and verb) of a summary."""
_FACTS = 500
_IMPORTANCE = 0.4
_INFERRED_FROM = "inferred_from"
_FULLER = "a fuller summary replaces it"


def page(context: JobContext, cursor: Cursor) -> JobPage:
    touched = context.touched(cursor)
    seen: set[tuple[str, ...]] = set()
    made: list[Proposal] = []
    for memory in touched.memories:
        if memory.source is Source.INFERRED:
            continue
        here = context.here(memory)
        for subject in dict.fromkeys(fact.subject for fact in context.store.said_by(here, [memory.key])):
            place = (*scope_values(memory.scope), subject)
            if place not in seen:
                seen.add(place)
                made += _gathered(context, here, subject)
    return touched.page(made)


def _gathered(context: JobContext, here: Reader, subject: str) -> list[Proposal]:
    """Return proposals that store the summaries of a subject and archive those that they replace."""
    facts = [SourcedFact(*fact) for fact in context.store.said_of(here, [subject], most=_FACTS)]
    ids = list(dict.fromkeys(fact.memory for fact in facts))
    words = {memory.id: memory.text for memory in without_flagged(context.store.get(here, ids), context.settings)}
    made: list[Proposal] = []
    for gist in summarize(facts, words):
        made += [*_outgrown(context, here, gist), _derived(context, gist)]
    return made


def _outgrown(context: JobContext, here: Reader, gist: FactSummary) -> list[Archive]:
    edges = context.store.edges(here, gist.memories)
    ids = dict.fromkeys(edge.source for edge in edges if edge.kind == _INFERRED_FROM)
    older = context.store.get(here, list(ids)) if ids else []
    return [Archive(one.id, _FULLER) for one in older if one.attributes.get(GIST) == gist.about and one.text != gist.text]


def _derived(context: JobContext, gist: FactSummary) -> Derive:
    memory = Memory(
        text=gist.text,
        kind=Kind.FACT,
        confidence=gist.confidence,
        importance=_IMPORTANCE,
        attributes={GIST: gist.about},
        **weighed(gist.text, context.settings),
    )
    return Derive(memory, gist.memories, by=_INFERRED_FROM)


GATHER = Job("gather", "Summarize several facts of one subject in one sentence.", page)
