"""The verb of knowledge (§38): how well something is known."""

from __future__ import annotations

from datetime import datetime

from engram.errors import InvalidQuery
from engram.values.entities import Knowledge, KnowledgeMap
from engram.verbs.view import View, require_positive


def knows(view: View, subject: str | None = None, *, limit: int = 20, now: datetime | None = None) -> Knowledge | KnowledgeMap:
    """Return how well a subject, or the answer to a question, is known: confident, uncertain or unknown, and why.

    Without a subject: the map of what is known, as names and categories that several memories have, at most `limit`.
    """
    if subject is None:
        require_positive("limit", limit)
        return view.knowledge.map(limit, now or view.vault.env.now())
    if not isinstance(subject, str) or not subject.strip():  # type: ignore[redundant-expr]
        raise InvalidQuery("the subject must be a text with a word.", way_out="Leave it out for a map of what is known.")
    return view.knowledge.assess(subject.strip(), now or view.vault.env.now())
