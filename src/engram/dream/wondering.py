"""What is missing is asked for (K6, §4.5): of four services three have an owner that was told, so who owns the fourth?

What a thing should have is learned from its like: those of the same scope of which the same was told. One question for a memory,
kept with those that nothing answered: each is offered seldom, few in a session, and is gone once recall answers it. What stands
in dispute, and what is much used and old, `gaps` finds without a dream.
"""

from __future__ import annotations

from collections.abc import Sequence

from engram.dream.job import Desk, Job, Page
from engram.memory.gaps import asking_for, missing, question_in
from engram.memory.inference import as_written, within_sentence
from engram.passes import Ask, Cursor
from engram.recall.search import is_flagged
from engram.store.sqlite.relating import Related
from engram.types import Memory, Reader, Source

_PEERS, _FIELDS = 40, 1000


def page(desk: Desk, cursor: Cursor) -> Page:
    touched = desk.touched(cursor)
    return touched.page([one for memory in touched.memories for one in _questions(desk, memory)])


def _questions(desk: Desk, memory: Memory) -> list[Ask]:
    """The question that a memory leaves open, if there is one."""
    if memory.source is Source.INFERRED or is_flagged(memory):
        return []
    here = desk.here(memory)
    for said in desk.store.said_by(here, [memory.key]):
        own = {one.predicate for one in desk.store.said_of(here, [said.subject], most=_FIELDS)}
        for field in missing(own, _peers(desk, here, said)):
            name = within_sentence(as_written(said.subject, memory.text))
            text = asking_for(field, "the user" if name == "The user" else name)
            if question_in(text):
                return [Ask(memory.id, text)]
    return []


def _peers(desk: Desk, here: Reader, said: Related) -> Sequence[set[str]]:
    """What was told of others of which the same was."""
    others = [one.subject for one in desk.store.saying(here, said.predicate, most=_PEERS) if one.subject != said.subject]
    fields: dict[str, set[str]] = {}
    for one in desk.store.said_of(here, list(dict.fromkeys(others)), most=_FIELDS):
        fields.setdefault(one.subject, set()).add(one.predicate)
    return list(fields.values())


GAPS = Job("gaps", "Ask for what is missing of a thing that its like have.", page)
