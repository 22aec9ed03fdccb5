"""The verb of the change log: changes of visible memories since a point of it."""

from __future__ import annotations

from engram.types import ChangeEvents
from engram.verbs.view import View


def events(view: View, *, after: int | None = None, limit: int = 100) -> ChangeEvents:
    """Return changes of visible memories after a point of the change log (None: from now on): ids, without words.

    If `missed` is True, the log does not reach back to that point, and a caller must read all memories again.
    """
    changes = view.vault.store.changes
    if after is None:
        return ChangeEvents((), changes.latest(view.reader))
    return changes.events(view.reader, after, limit)
