"""Answers without a budget of their own, within what a model is given to read (`mcp_answer_tokens`)."""

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


def listed(mem: Engram, asked: Mapping[str, Any]) -> Page:
    """As many memories as fit, one at least; the cursor goes on behind them."""
    page: Page = _called(mem, "list", asked)
    upto = list(accumulate(count(line(memory)) for memory in page))
    fit = sum(tokens <= mem.settings.now.mcp_answer_tokens for tokens in upto)
    if fit < len(page):
        page = _called(mem, "list", {**asked, "limit": max(fit, 1)})
    return page


def reasoned(mem: Engram, asked: Mapping[str, Any]) -> Reasoning:
    return pruned(_called(mem, "reason", asked), mem.settings.now.mcp_answer_tokens)


def pruned(found: Reasoning, tokens: int) -> Reasoning:
    """The best hit of every question, then the second of each, for as long as they fit; one at least."""
    questions = list(found.evidence.walk())
    kept, left = [0] * len(questions), tokens - sum(count(one.question) for one in questions)
    for rank in range(max(len(one.hits) for one in questions)):
        for at, one in enumerate(questions):
            if kept[at] == rank < len(one.hits) and ((cost := count(line(one.hits[rank].memory))) <= left or not any(kept)):
                kept[at], left = rank + 1, left - cost
    over = sum(len(one.hits) for one in questions) - sum(kept)
    if not over:
        return found
    note = f"{over} more did not fit: search for one part of the question to see them."
    return replace(found, evidence=_cut(found.evidence, iter(kept)), notes=(*found.notes, note))


def _cut(one: Evidence, kept: Iterator[int]) -> Evidence:
    """In the order of `walk`."""
    hits: Sequence[Any] = one.hits[: next(kept)]
    return replace(one, hits=tuple(hits), parts=tuple(_cut(part, kept) for part in one.parts))


def _called(mem: Engram, name: str, asked: Mapping[str, Any]) -> Any:
    operation = OPERATIONS[name]
    return rationing.call(operation, mem, read(operation, asked))
