"""The verb of gaps: what is not known."""

from __future__ import annotations

from collections.abc import Sequence

from engram.values.entities import Gap
from engram.verbs.view import View


def gaps(view: View, *, limit: int = 20) -> Sequence[Gap]:
    """Return what is not known, each as a question to ask: unanswered questions, the most asked first; contradictions; and
    memories that are old and much used. Questions that have an answer now are left out."""
    return view.knowledge.gaps(limit)
