"""The verbs that answer a question or a message."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial

from engram.context.resume import record_gap
from engram.deadline import if_time_allows, wait_limit
from engram.errors import NotFound
from engram.recall.evidence import reason as gather_evidence
from engram.recall.plan import Query
from engram.store.receipts import ReceiptRequest
from engram.types import Explanation, IndexState, Memory, Mode, Reasoning, Recall, Status, scope_values
from engram.values.query import Filter
from engram.verbs.view import View, id_of


def _narrows(filters: Filter | None) -> bool:
    """Does a filter leave out anything that is known? Its lists may be lists."""
    if filters is None:
        return False
    others = filters.kinds, filters.categories, filters.without, filters.since, filters.until, filters.attributes, filters.as_of
    return any((*others, *scope_values(filters.scope))) or filters.fresh or list(filters.statuses) != [Status.ACTIVE]


def recall(
    view: View,
    query: str,
    *,
    limit: int | None = None,
    budget: int | None = None,
    now: datetime | None = None,
    as_of: datetime | None = None,
    mode: Mode | str | None = None,
    filters: Filter | None = None,
    explain: bool = False,
) -> Recall:
    """What is known about this, best first, each with its trust and its reasons. No fixed number of hits.

    limit, budget: hits and tokens at most. as_of: answer as the memory stood then. mode: `facts_only`,
    `facts_plus_rules` or `full_context`. explain: say of each candidate that is no hit why (`left_out`).
    """
    asked = as_query(view, query, limit, budget, now, as_of, mode, filters)
    found = view.vault.searcher.recall(view.reader, asked, account=explain)
    if as_of is None and mode is None and not _narrows(filters):  # else it was not asked of all that is known
        record_gap(view.vault.working_sets, view.reader, query, found)
    return found


def explain(
    view: View,
    query: str,
    memory_id: str,
    *,
    limit: int | None = None,
    budget: int | None = None,
    now: datetime | None = None,
    as_of: datetime | None = None,
    mode: Mode | str | None = None,
    filters: Filter | None = None,
) -> Explanation:
    """Why this memory is, or is not, in the answer to this question: the stage that dropped it, and by how much."""
    found = view.vault.store.memories.get(view.reader, [memory_id])
    if not found:
        raise NotFound("there is no memory of that id that this identity may see.")
    asked = as_query(view, query, limit, budget, now, as_of, mode, filters)
    return view.vault.searcher.explain(view.reader, asked, found[0])


def reason(view: View, question: str, *, depth: int | None = None, calls: int | None = None) -> Reasoning:
    """Evidence for a question that one recall does not answer: it is taken apart, each part is recalled, and what is then
    missing is followed by the names that came up. A tree, with its gaps; the answer is for whoever reads it to write.

    depth, calls: how deep at most, and with how many recalls; else as `reason_depth` and `reason_calls` say.
    """
    settings = view.vault.live.now

    def look(part: str, since: datetime | None, until: datetime | None) -> Recall:
        where = Filter(since=since, until=until)
        return view.vault.searcher.recall(view.reader, as_query(view, part, None, None, None, None, None, where))

    return gather_evidence(question, look, depth=depth or settings.reason_depth, calls=calls or settings.reason_calls)


def as_query(
    view: View,
    query: str,
    limit: int | None,
    budget: int | None,
    now: datetime | None,
    as_of: datetime | None,
    mode: Mode | str | None,
    filters: Filter | None,
) -> Query:
    return Query(
        text=query,
        now=now or view.vault.env.now(),
        limit=limit,
        budget=budget,
        as_of=as_of,
        mode=mode,  # type: ignore[arg-type]  # a word for it is as good: `checked` knows them
        where=filters or Filter(),
    )


def warm(view: View, timeout: float | None = None, *, progress: Callable[[IndexState], None] | None = None) -> bool:
    """Wait until the vector index has loaded; False if it has not in time, or there is no model to have one for."""
    index, most = view.vault.index, wait_limit(float("inf") if timeout is None else timeout)
    return index is not None and index.warm(None if most == float("inf") else most, progress)


def feedback(
    view: View, memory_id: str, helpful: bool = True, *, query: str | None = None, correction: str | None = None
) -> Memory:
    """Say whether a memory helped, or with `correction` what is true instead: that is returned, and the old one retired.

    With the question it was recalled for, what did not help is left out of answers to such questions for
    `suppress_days`, unless it helps since; and recall learns which way of finding helps.
    """
    write = partial(_judge, view, memory_id, bool(helpful), query, correction)
    return view.write_once(("feedback", memory_id, helpful, query, correction), write, id_of, view.stored)


def _judge(
    view: View, memory_id: str, helpful: bool, query: str | None, correction: str | None, *, receipt: ReceiptRequest | None
) -> Memory:
    if correction is not None:
        return view.vault.observer.correct(view.reader, memory_id, correction)  # made twice, it is made once
    if query is None:
        return view.vault.store.feedback.judge(view.reader, memory_id, helpful, receipt=receipt)
    searcher, asked = view.vault.searcher, as_query(view, query, None, None, None, None, None, None)
    memory = view.vault.store.feedback.judge(view.reader, memory_id, helpful, searcher.judged_question(asked), receipt=receipt)
    with if_time_allows():  # the judgement is kept
        searcher.learn(view.reader, asked, memory, helpful)
    return memory
