"""The change log, which indexes and subscribers follow, and the counts of recalled memories.

Reads do not write: access counts wait in memory and are written with the next batch of the audit trail.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import apsw

from engram.guard.visibility import readable, require_owner
from engram.store.sqlite.visibility import predicate
from engram.store.validation import bounded
from engram.values.health import ChangeEvent, ChangeEvents, ChangeLogEntry
from engram.values.identity import Reader

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


class ChangeLog:
    """The change log, which indexes and subscribers follow."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def latest(self, reader: Reader) -> int:
        """Return the number of the last change, a counter that is the same for every reader."""
        with self._gate.readers.use("changes") as connection:
            return int(connection.execute("SELECT coalesce(max(seq), 0) FROM changes").get)

    def keys_since(self, reader: Reader, after: int, limit: int) -> list[Any]:
        """Return rows (number, memory key, change) after a number, for the owner."""
        require_owner(reader, "the change log")
        with self._gate.readers.use("changes") as connection:
            sql = "SELECT seq, memory, what FROM changes WHERE seq > ? ORDER BY seq LIMIT ?"
            return connection.execute(sql, (after, limit)).fetchall()

    def visible_scopes(self, reader: Reader) -> set[int] | None:
        """Return the keys of the scopes that this reader may read; None for all."""
        visibility = readable(reader)
        if visibility.everything:
            return None
        visible, values = predicate(visibility, "key")
        with self._gate.readers.use("scopes") as connection:
            return {int(row[0]) for row in connection.execute(f"SELECT key FROM scopes WHERE {visible}", values)}

    def since(self, reader: Reader, *, after: int, limit: int) -> list[ChangeLogEntry]:
        """Return the entries after a number, keys and verbs only, for the owner: they show the activity of the whole vault."""
        with self._gate.watched(reader, "changes"):
            require_owner(reader, "the change log")
        bounded(limit, self._gate.limits.change_log_rows, "the change log")
        with self._gate.read(reader, "changes") as connection:
            rows = connection.execute("SELECT seq, memory, what FROM changes WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit))
            return [ChangeLogEntry(seq, key, what) for seq, key, what in rows]

    def events(self, reader: Reader, after: int, limit: int) -> ChangeEvents:
        """Return the changes after a number among the memories that this reader may read.

        An erasure is no event: not even an id is left. `missed`: the log no longer holds some changes, or, in a restored vault,
        never held them.
        """
        bounded(limit, self._gate.limits.change_log_rows, "the change log")
        visible, values = predicate(readable(reader), "m.scope")
        with self._gate.read(reader, "events") as connection:
            ends = connection.execute("SELECT coalesce(min(seq), 0), coalesce(max(seq), 0) FROM changes").get
            oldest, latest = int(ends[0]), int(ends[1])
            rows = connection.execute(
                f"""
                SELECT c.seq, m.id, c.what FROM changes AS c JOIN memories AS m ON m.key = c.memory
                 WHERE c.seq > ? AND c.seq <= ? AND {visible} ORDER BY c.seq LIMIT ?
                """,
                (min(after, latest), latest, *values, limit),
            )
            events = tuple(ChangeEvent(seq, memory, what) for seq, memory, what in rows)
        return ChangeEvents(events, events[-1].seq if len(events) == limit else latest, not oldest <= after + 1 <= latest + 1)


class Accesses:
    """Counts of recalled memories that wait to be written."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: Counter[int] = Counter()

    def note(self, keys: Sequence[int]) -> None:
        with self._lock:
            self._waiting.update(keys)

    def take_waiting(self) -> Mapping[int, int]:
        with self._lock:
            taken, self._waiting = self._waiting, Counter()
        return taken


def write(connection: apsw.Connection, counts: Mapping[int, int], now: int) -> None:
    """Add access counts in the open transaction. No index depends on them, so they leave no entry in the change log."""
    connection.executemany(
        "UPDATE memories SET accesses = accesses + ?, accessed_at = max(coalesce(accessed_at, 0), ?) WHERE key = ?",
        ((count, now, key) for key, count in counts.items()),
    )
