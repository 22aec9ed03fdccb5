"""The verbs of recall: answer a question, explain the answer, gather evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from engram.capture.redaction import sendable
from engram.context.history import split_instructions, turns_of
from engram.context.resume import record_gap
from engram.deadline import wait_limit
from engram.errors import NotFound
from engram.recall.plan import Query, is_unrestricted
from engram.recall.reason import reason as gather_evidence
from engram.recall.synthesis import with_answer
from engram.rules.topics import talk_of
from engram.text.transcripts import OpenAI
from engram.types import Explanation, IndexState, Mode, Reasoning, Recall, Turn
from engram.values.frozen import replace
from engram.values.query import Filter
from engram.verbs.view import View


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
    history: Sequence[Turn | OpenAI] = (),
    explain: bool = False,
) -> Recall:
    """Return the memories that answer a question, best first, each with its trust and reasons. Their number is not fixed.

    limit, budget: at most so many hits and tokens. as_of: answer as of that time. mode: `facts_only`, `facts_plus_rules` or
    `full_context`. history: the turns before the question, as `Turn`s or as messages with `role` and `content`; a question that
    depends on them ("why?") is searched with them, and what stands in them is left out. explain: also return the reason for each
    candidate that is not a hit (`left_out`).
    """
    asked = query_of(view, query, limit=limit, budget=budget, now=now, as_of=as_of, mode=mode, filters=filters)
    turns = split_instructions(turns_of(history))[1]
    asked = replace(asked, talk=talk_of(turns), said=tuple(turn.text for turn in turns))
    answer = view.vault.searcher.recall(view.reader, asked, account=explain)
    if is_unrestricted(asked):
        record_gap(view.vault.working_sets, view.reader, query, answer)
    return answer


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
    """Explain why a memory is, or is not, in the answer to a question: the stage that dropped it, and by how much."""
    memories = view.vault.store.memories.get(view.reader, [memory_id])
    if not memories:
        raise NotFound("there is no memory of that id that this identity may see.")
    asked = query_of(view, query, limit=limit, budget=budget, now=now, as_of=as_of, mode=mode, filters=filters)
    return view.vault.searcher.explain(view.reader, asked, memories[0])


def reason(
    view: View, question: str, *, depth: int | None = None, calls: int | None = None, now: datetime | None = None
) -> Reasoning:
    """Gather evidence for a question that one recall does not answer: split it, recall each part, follow the names found.

    Returns a tree with its bridges and gaps; with a language model also an answer that cites ids of memories in it. depth, calls:
    the deepest level and the most recalls; by default the settings `reason_depth` and `reason_calls`.
    """
    settings = view.vault.live.now

    def search(part: str, since: datetime | None, until: datetime | None, limit: int | None) -> Recall:
        asked = query_of(view, part, limit=limit, now=now, filters=Filter(since=since, until=until))
        return view.vault.searcher.recall(view.reader, asked)

    evidence = gather_evidence(question, search, depth=depth or settings.reason_depth, calls=calls or settings.reason_calls)
    return with_answer(evidence, view.vault.llm, sendable)


def query_of(
    view: View,
    text: str,
    *,
    limit: int | None = None,
    budget: int | None = None,
    now: datetime | None = None,
    as_of: datetime | None = None,
    mode: Mode | str | None = None,
    filters: Filter | None = None,
) -> Query:
    """Return the query of a question, asked now unless `now` says when."""
    return Query(
        text=text,
        now=now or view.vault.env.now(),
        limit=limit,
        budget=budget,
        as_of=as_of,
        mode=mode,  # type: ignore[arg-type]  # its name is checked with the query
        where=filters or Filter(),
    )


def warm(view: View, timeout: float | None = None, *, progress: Callable[[IndexState], None] | None = None) -> bool:
    """Wait until the vector index is loaded; return False if that takes longer than `timeout`, or there is no encoder."""
    index, most = view.vault.index, wait_limit(float("inf") if timeout is None else timeout)
    return index is not None and index.warm(None if most == float("inf") else most, progress)
