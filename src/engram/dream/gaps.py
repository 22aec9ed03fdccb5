"""The job that records knowledge gaps (K6, §4.5): if three of four services have a known owner, who owns the fourth?

The expected fields of an entity are those of its peers: entities of the same scope with the same predicate. Each memory records
at most one question, stored with the unanswered questions: it is offered seldom, few in a session, and removed once recall
answers it. Disputed memories, and old ones that are much used, are found by `gaps` without a dream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engram.dream.job import Job, JobContext, JobPage
from engram.recall.selection import is_flagged
from engram.rules.gaps import missing_fields, question_for, question_in
from engram.rules.inference import as_written, within_sentence
from engram.types import Memory, Reader, Scope, Source
from engram.values.dreams import Cursor, RecordGap

_PEERS, _FIELDS = 40, 1000


def page(context: JobContext, cursor: Cursor) -> JobPage:
    touched = context.touched(cursor)
    fields = _Fields(context)
    return touched.page([gap for memory in touched.memories for gap in _questions(context, memory, fields)])


def _questions(context: JobContext, memory: Memory, fields: _Fields) -> list[RecordGap]:
    """Return the question that a memory leaves open, if there is one."""
    if memory.source is Source.INFERRED or is_flagged(memory):
        return []
    reader = context.scoped_to(memory)
    for fact in context.store.facts.by(reader, [memory.key]):
        peers = fields.of_peers(reader, fact.predicate)
        own = peers.get(fact.subject) or fields.of(reader, [fact.subject]).get(fact.subject, set())
        others = [peer_fields for subject, peer_fields in peers.items() if subject != fact.subject]
        for field in missing_fields(own, others):
            if context.store.facts.exists(reader, fact.subject, field):
                continue  # `own` holds only the most confident facts of an entity with many
            name = within_sentence(as_written(fact.subject, memory.text))
            text = question_for(field, "the user" if name == "The user" else name)
            if question_in(text):
                return [RecordGap(memory.id, text)]
    return []


class _Fields:
    """The known fields of entities, cached for a page: most memories of a page are about the same few entities."""

    def __init__(self, context: JobContext) -> None:
        self._context = context
        self._peers: dict[tuple[Scope, str], Mapping[str, set[str]]] = {}

    def of_peers(self, reader: Reader, predicate: str) -> Mapping[str, set[str]]:
        """Return the fields of the entities that have this predicate, by entity."""
        cache_key = (reader.scope, predicate)
        if cache_key not in self._peers:
            facts = self._context.store.facts.matching(reader, predicate, most=_PEERS)
            self._peers[cache_key] = self.of(reader, list(dict.fromkeys(fact.subject for fact in facts)))
        return self._peers[cache_key]

    def of(self, reader: Reader, subjects: Sequence[str]) -> Mapping[str, set[str]]:
        fields: dict[str, set[str]] = {}
        for fact in self._context.store.facts.of(reader, subjects, most=_FIELDS):
            fields.setdefault(fact.subject, set()).add(fact.predicate)
        return fields


GAPS = Job("gaps", "Record questions about fields that an entity lacks and its peers have.", page)
