"""Cut the answers of `list` and `reason`, which take no token budget, to the setting `mcp_answer_tokens`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from engram.frozen import replace
from engram.serve.mcp.brief import line
from engram.serve.operations import OPERATIONS, rationing, read
from engram.text.tokens import count
from engram.types import Evidence, Page, Reasoning

if TYPE_CHECKING:
    from engram.engine import Engram


def list_within_budget(mem: Engram, arguments: Mapping[str, Any]) -> Page:
    """Return as many memories as fit, at least one; the page's cursor continues after the last of them."""
    page: Page = _call(mem, "list", arguments)
    totals = list(accumulate(count(line(memory)) for memory in page))
    fitting = sum(tokens <= mem.settings.now.mcp_answer_tokens for tokens in totals)
    if fitting < len(page):
        page = _call(mem, "list", {**arguments, "limit": max(fitting, 1)})
    return page


def reason_within_budget(mem: Engram, arguments: Mapping[str, Any]) -> Reasoning:
    """Return the evidence for a question, cut to the budget."""
    return prune(_call(mem, "reason", arguments), mem.settings.now.mcp_answer_tokens)


def prune(reasoning: Reasoning, tokens: int) -> Reasoning:
    """Keep the best hit of every question, then the second of each, as long as they fit; at least one hit in all."""
    questions = list(reasoning.evidence.walk())
    kept, left = [0] * len(questions), tokens - sum(count(question.question) for question in questions)
    for rank in range(max(len(question.hits) for question in questions)):
        for at, question in enumerate(questions):
            if kept[at] != rank or rank >= len(question.hits):
                continue
            cost = count(line(question.hits[rank].memory))
            if cost <= left or not any(kept):
                kept[at], left = rank + 1, left - cost
    dropped = sum(len(question.hits) for question in questions) - sum(kept)
    if not dropped:
        return reasoning
    note = f"{dropped} more did not fit: search for one part of the question to see them."
    return replace(reasoning, evidence=_keep_hits(reasoning.evidence, iter(kept)), notes=(*reasoning.notes, note))


def _keep_hits(evidence: Evidence, kept: Iterator[int]) -> Evidence:
    """Cut each question to its number of hits; `kept` is in the order of `Evidence.walk`."""
    hits: Sequence[Any] = evidence.hits[: next(kept)]
    return replace(evidence, hits=tuple(hits), parts=tuple(_keep_hits(part, kept) for part in evidence.parts))


def _call(mem: Engram, name: str, arguments: Mapping[str, Any]) -> Any:
    operation = OPERATIONS[name]
    return rationing.call(operation, mem, read(operation, arguments))
