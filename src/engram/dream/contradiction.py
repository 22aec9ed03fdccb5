"""The job that decides open contradictions again (K2): the newer statement stands once its evidence is better.

Contradicting pairs are known since they were stored; their confidence changes by corroboration, feedback and merges. So the job
visits the contested ones among the changed memories.
"""

from __future__ import annotations

from engram.dream.job import Job, JobContext, JobPage
from engram.values.dreams import Cursor, SettleContradiction


def page(context: JobContext, cursor: Cursor) -> JobPage:
    touched = context.touched(cursor)
    contested = context.store.dreams.contested(context.reader, [memory.key for memory in touched.memories])
    return touched.page([SettleContradiction(memory.id) for memory in touched.memories if memory.key in contested])


SETTLE = Job("settle", "Decide contradictions for which the evidence is better now.", page, light=True)
