"""The page of memories that need a person's decision: unanswered questions, disputed, contradicting and flagged memories."""

from __future__ import annotations

from collections.abc import Sequence

from engram.rules.lifecycle import Verification, verification
from engram.serve.page.request import PageRequest, PageView
from engram.types import Edge, Memory, Status
from engram.values.entities import GapKind

_NEWEST = 400  # memories that are searched for disputed and flagged ones
_PER_LIST = 20
_CONTRADICTS = "contradicts"


def review(request: PageRequest) -> PageView:
    """Show what needs a decision. Only the newest memories are searched: the store keeps no list of disputed ones."""
    newest: Sequence[Memory] = request.call("list", limit=_NEWEST).memories
    challenged: Sequence[Memory] = request.call("list", limit=_PER_LIST, status=Status.CHALLENGED.value).memories
    disputed = [memory for memory in newest if verification(memory) is Verification.DISPUTED]
    values = {
        "gaps": [gap for gap in request.call("gaps", limit=_PER_LIST).gaps if gap.kind is GapKind.UNANSWERED],
        "disputed": list({memory.id: memory for memory in (*challenged, *disputed)}.values())[:_PER_LIST],
        "pairs": _contradictions(request, [*newest, *challenged])[:_PER_LIST],
        "flagged": [memory for memory in newest if memory.flagged][:_PER_LIST],
        "looked_at": len(newest),
    }
    return PageView("review.html", values)


def _contradictions(request: PageRequest, memories: Sequence[Memory]) -> list[tuple[Memory, Memory]]:
    """Return pairs of these memories that contradict each other, each with the newer first."""
    by_id = {memory.id: memory for memory in memories}
    if not by_id:
        return []
    edges: Sequence[Edge] = request.call("edges", ids=list(by_id)).edges
    contradicting = [edge for edge in edges if edge.kind == _CONTRADICTS and edge.weight > 0]
    pairs = {tuple(sorted((edge.source, edge.target), reverse=True)) for edge in contradicting}
    return [(by_id[new], by_id[old]) for new, old in sorted(pairs, reverse=True) if new in by_id and old in by_id]
