"""What was kept before the present rules against attacks is judged by them too, beside the use and not only at recall."""

from __future__ import annotations

from engram.capture import screen
from engram.guard.edition import VERSION
from engram.settings import Settings
from engram.store.sqlite.store import SqliteStore
from engram.types import Reader


def rescreen(store: SqliteStore, reader: Reader, settings: Settings, *, after: int, page: int) -> int | None:
    """Judge the next memories above a key that other rules, or none, have judged; the key to go on from, None at the end.

    What reads as an attack is flagged, and so left out of every answer; nothing is removed.
    """
    found = store.screened_otherwise(reader, VERSION, after=after, limit=page)
    if not found:
        return None
    seen = {memory.key: screen.judged(memory.text, settings) for memory in found}
    store.put_screened(reader, VERSION, {key: screen.reason_of(one) for key, one in seen.items()})
    return max(seen)
