"""What is missing is asked for (K6, §4.5): of four services three have an owner that was told, so who owns the fourth?

What a thing should have is learned from its like: those of the same scope of which the same was told. One question for a memory,
kept with those that nothing answered: each is offered seldom, few in a session, and is gone once recall answers it. What stands
in dispute, and what is much used and old, `gaps` finds without a dream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engram.dream.job import Desk, Job, Page
from engram.recall.selection import is_flagged
from engram.rules.gaps import asking_for, missing, question_in
from engram.rules.inference import as_written, within_sentence
from engram.types import Memory, Reader, Scope, Source
from engram.values.dreams import Cursor, RecordGap

_PEERS, _FIELDS = 40, 1000


def page(desk: Desk, cursor: Cursor) -> Page:
    touched = desk.touched(cursor)
    found = _Fields(desk)
    return touched.page([one for memory in touched.memories for one in _questions(desk, memory, found)])


def _questions(desk: Desk, memory: Memory, found: _Fields) -> list[RecordGap]:
    """The question that a memory leaves open, if there is one."""
    if memory.source is Source.INFERRED or is_flagged(memory):
        return []
    here = desk.here(memory)
    for said in desk.store.said_by(here, [memory.key]):
        alike = found.of_like(here, said.predicate)
        own = alike.get(said.subject) or found.of(here, [said.subject]).get(said.subject, set())
        for field in missing(own, [fields for subject, fields in alike.items() if subject != said.subject]):
            if desk.store.is_told(here, said.subject, field):
                continue  # of much that is told, only the surest was looked at
            name = within_sentence(as_written(said.subject, memory.text))
            text = asking_for(field, "the user" if name == "The user" else name)
            if question_in(text):
                return [RecordGap(memory.id, text)]
    return []


class _Fields:
    """What was told of what, looked up once a page: most memories of a page are about the same few."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._alike: dict[tuple[Scope, str], Mapping[str, set[str]]] = {}

    def of_like(self, here: Reader, predicate: str) -> Mapping[str, set[str]]:
        """What was told of those of which this was, by subject."""
        name = (here.scope, predicate)
        if name not in self._alike:
            having = self._desk.store.saying(here, predicate, most=_PEERS)
            self._alike[name] = self.of(here, list(dict.fromkeys(one.subject for one in having)))
        return self._alike[name]

    def of(self, here: Reader, subjects: Sequence[str]) -> Mapping[str, set[str]]:
        fields: dict[str, set[str]] = {}
        for one in self._desk.store.said_of(here, subjects, most=_FIELDS):
            fields.setdefault(one.subject, set()).add(one.predicate)
        return fields


GAPS = Job("gaps", "Ask for what is missing of a thing that its like have.", page)
