"""What several facts of one subject come to is kept as one sentence (K1, §4.2), so that a short answer has all of it: "The user
likes jazz, hiking and Thai food."

It is nobody's word, linked to what it came from, below that in recall, and falls with any of it; a fuller one takes its place.
"""

from __future__ import annotations

from engram.capture.drafts import weighed
from engram.dream.job import Desk, Job, Page
from engram.recall.selection import without_flagged
from engram.rules.summaries import Gist, Told, gists
from engram.types import Kind, Memory, Reader, Source, scope_values
from engram.values.dreams import Archive, Cursor, Derive, Proposal

GIST = "gist"
"""The attribute that tells what a memory gathers."""
_FACTS = 500
_IMPORTANCE = 0.4
_INFERRED_FROM = "inferred_from"
_FULLER = "a fuller one takes its place"


def page(desk: Desk, cursor: Cursor) -> Page:
    touched = desk.touched(cursor)
    seen: set[tuple[str, ...]] = set()
    made: list[Proposal] = []
    for memory in touched.memories:
        if memory.source is Source.INFERRED:
            continue
        here = desk.here(memory)
        for subject in dict.fromkeys(fact.subject for fact in desk.store.said_by(here, [memory.key])):
            place = (*scope_values(memory.scope), subject)
            if place not in seen:
                seen.add(place)
                made += _gathered(desk, here, subject)
    return touched.page(made)


def _gathered(desk: Desk, here: Reader, subject: str) -> list[Proposal]:
    """What the facts of a subject come to, and what that takes the place of."""
    facts = [Told(*fact) for fact in desk.store.said_of(here, [subject], most=_FACTS)]
    ids = list(dict.fromkeys(fact.memory for fact in facts))
    words = {memory.id: memory.text for memory in without_flagged(desk.store.get(here, ids), desk.settings)}
    made: list[Proposal] = []
    for gist in gists(facts, words):
        made += [*_outgrown(desk, here, gist), _derived(desk, gist)]
    return made


def _outgrown(desk: Desk, here: Reader, gist: Gist) -> list[Archive]:
    edges = desk.store.edges(here, gist.memories)
    ids = dict.fromkeys(edge.source for edge in edges if edge.kind == _INFERRED_FROM)
    older = desk.store.get(here, list(ids)) if ids else []
    return [Archive(one.id, _FULLER) for one in older if one.attributes.get(GIST) == gist.about and one.text != gist.text]


def _derived(desk: Desk, gist: Gist) -> Derive:
    memory = Memory(
        text=gist.text,
        kind=Kind.FACT,
        confidence=gist.confidence,
        importance=_IMPORTANCE,
        attributes={GIST: gist.about},
        **weighed(gist.text, desk.settings),
    )
    return Derive(memory, gist.memories, by=_INFERRED_FROM)


GATHER = Job("gather", "Keep in one sentence what several facts of one subject come to.", page)
