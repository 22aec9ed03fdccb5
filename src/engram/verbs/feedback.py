"""The verb of feedback: judge a memory, or correct it."""

from __future__ import annotations

from functools import partial

from engram.deadline import if_time_allows
from engram.store.receipts import ReceiptRequest
from engram.types import Memory
from engram.verbs.recall import query_of
from engram.verbs.view import View, id_of


def feedback(
    view: View, memory_id: str, helpful: bool = True, *, query: str | None = None, correction: str | None = None
) -> Memory:
    """Judge a memory as helpful or not, or correct it: the correction is stored and returned, and the old memory retired.

    query: the question it was recalled for. A memory that did not help is left out of answers to similar questions for
    `suppress_days`, unless it is judged helpful since; and recall learns which of its arms find helpful memories.
    """
    write = partial(_judge, view, memory_id, bool(helpful), query, correction)
    return view.write_once(("feedback", memory_id, helpful, query, correction), write, id_of, view.stored)


def _judge(
    view: View, memory_id: str, helpful: bool, query: str | None, correction: str | None, *, receipt: ReceiptRequest | None
) -> Memory:
    if correction is not None:
        return view.vault.observer.correct(view.reader, memory_id, correction)  # repeating a correction changes nothing
    if query is None:
        return view.vault.store.feedback.judge(view.reader, memory_id, helpful, receipt=receipt)
    searcher, asked = view.vault.searcher, query_of(view, query)
    memory = view.vault.store.feedback.judge(view.reader, memory_id, helpful, searcher.judged_question(asked), receipt=receipt)
    with if_time_allows():  # the judgement is durable
        searcher.learn(view.reader, asked, memory, helpful)
    return memory
