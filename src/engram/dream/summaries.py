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
    visited: set[tuple[str, ...]] = set()
    proposals: list[Proposal] = []
    for memory in touched.memories:
        if memory.source is Source.INFERRED:
            continue
        reader = context.scoped_to(memory)
        for subject in dict.fromkeys(fact.subject for fact in context.store.facts.by(reader, [memory.key])):
            scope_and_subject = (*scope_values(memory.scope), subject)
            if scope_and_subject not in visited:
                visited.add(scope_and_subject)
                proposals += _proposals(context, reader, subject)
    return touched.page(proposals)


def _proposals(context: JobContext, reader: Reader, subject: str) -> list[Proposal]:
    """Return proposals that store the summaries of a subject and archive those that they replace."""
    facts = [SourcedFact(*fact) for fact in context.store.facts.of(reader, [subject], most=_FACTS)]
    ids = list(dict.fromkeys(fact.memory for fact in facts))
    words = {memory.id: memory.text for memory in without_flagged(context.store.memories.get(reader, ids), context.settings)}
    proposals: list[Proposal] = []
    for summary in summarize(facts, words):
        proposals += [*_replaced(context, reader, summary), _derived(context, summary)]
    return proposals


def _replaced(context: JobContext, reader: Reader, summary: FactSummary) -> list[Archive]:
    edges = context.store.edges.of(reader, summary.memories)
    ids = dict.fromkeys(edge.source for edge in edges if edge.kind == _INFERRED_FROM)
    older = context.store.memories.get(reader, list(ids)) if ids else []
    return [
        Archive(memory.id, _FULLER)
        for memory in older
        if memory.attributes.get(GIST) == summary.about and memory.text != summary.text
    ]


def _derived(context: JobContext, summary: FactSummary) -> Derive:
    memory = Memory(
        text=summary.text,
        kind=Kind.FACT,
        confidence=summary.confidence,
        importance=_IMPORTANCE,
        attributes={GIST: summary.about},
        **weighed(summary.text, context.settings),
    )
    return Derive(memory, summary.memories, by=_INFERRED_FROM)


GATHER = Job("gather", "Summarize several facts of one subject in one sentence.", page)
