"""What wants a decision: questions without an answer, memories in dispute or against each other, and marked ones."""

from __future__ import annotations

from collections.abc import Sequence

from engram.known import GapKind
from engram.memory.lifecycle import Verification, verification
from engram.serve.page.asking import Asking, Shown
from engram.types import Edge, Memory, Status

_LOOKED_AT = 400
_EACH = 20
_AGAINST = "contradicts"


def review(asking: Asking) -> Shown:
    """The newest memories are looked through: what is in dispute stands in no list of its own."""
    active: Sequence[Memory] = asking.call("list", limit=_LOOKED_AT).memories
    challenged: Sequence[Memory] = asking.call("list", limit=_EACH, status=Status.CHALLENGED.value).memories
    disputed = [one for one in active if verification(one) is Verification.DISPUTED]
    values = {
        "gaps": [one for one in asking.call("gaps", limit=_EACH).gaps if one.kind is GapKind.UNANSWERED],
        "disputed": [*challenged, *disputed][:_EACH],
        "pairs": _pairs(asking, [*active, *challenged])[:_EACH],
        "flagged": [one for one in active if one.flagged][:_EACH],
        "looked_at": len(active),
    }
    return Shown("review.html", values)


def _pairs(asking: Asking, memories: Sequence[Memory]) -> list[tuple[Memory, Memory]]:
    """Memories that stand against each other, both of them still in force; the newer first."""
    known = {one.id: one for one in memories}
    if not known:
        return []
    edges: Sequence[Edge] = asking.call("edges", ids=list(known)).edges
    pairs = {
        tuple(sorted((edge.source, edge.target), reverse=True)) for edge in edges if edge.kind == _AGAINST and edge.weight > 0
    }
    return [(known[new], known[old]) for new, old in sorted(pairs, reverse=True) if new in known and old in known]
