"""Contradictions that were left open are looked at again (K2): the newer statement stands once the evidence for it is better.

Who contradicts whom is known since it was said (`beliefs.py`); what has changed is how sure each is, by witnesses, feedback and
merges. So what is visited is what changed, and of that what is contested.
"""

from __future__ import annotations

from engram.dream.job import Desk, Job, Page
from engram.values.dreams import Cursor, SettleContradiction


def page(desk: Desk, cursor: Cursor) -> Page:
    touched = desk.touched(cursor)
    contested = desk.store.contested(desk.reader, [memory.key for memory in touched.memories])
    return touched.page([SettleContradiction(memory.id) for memory in touched.memories if memory.key in contested])


SETTLE = Job("settle", "Decide contradictions for which there is better evidence by now.", page, light=True)
