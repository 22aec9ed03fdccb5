"""The audit trail: who did what, when, to which id, in a ring in memory and a table in the vault.

The entry of a write is committed with the write. Entries of reads wait in memory and are written in batches, because reads do
not write. Entries hold no words: subjects are ids, and values that must be comparable are keyed digests.
"""

from __future__ import annotations

import re
from _thread import allocate_lock  # importing `threading` would cost a hook 0.6 ms
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import apsw

from engram.crypto.digests import hmac_sha256
from engram.env import Env, from_micros, to_micros
from engram.store.validation import bounded
from engram.values.frozen import replace
from engram.values.identity import AuditEntry, Reader, Role, Scope, scope_values

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


_BATCH = 500

_ULID = r"[0-9A-HJKMNP-TV-Z]{26}"


class AuditEntries:
    """The audit trail."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def select(self, reader: Reader, *, limit: int) -> list[AuditEntry]:
        """Return entries, newest first: all for the owner, else those of the reader's scope."""
        bounded(limit, self._gate.live.now.audit_rows, "the audit trail")
        self._gate.flush_audit(wait=True)
        with self._gate.read(reader, "audit") as connection:
            return read_audit(connection, None if reader.role is Role.OWNER else reader.scope, limit)


class Audit:
    """The entries in memory: the ring of recent ones, and those that wait to be written."""

    def __init__(self, env: Env, key: bytearray, ring: int) -> None:
        self._env = env
        self._key = key
        self._lock = allocate_lock()
        self._ring: deque[AuditEntry] = deque(maxlen=ring)
        self._waiting: deque[AuditEntry] = deque(maxlen=ring)

    def entry(
        self, reader: Reader, operation: str, *, subject: str = "", count: int = 0, digest: str = "", ok: bool = True
    ) -> AuditEntry:
        return AuditEntry(self._env.now(), operation, self._named(subject), reader.scope, count, digest, ok)

    def _named(self, subject: str) -> str:
        """Return an id of Engram's own form as it is; any other text may be words of a memory, and becomes a keyed digest."""
        return subject if not subject or re.fullmatch(_ULID, str(subject)) else f"#{self.digest(subject)}"

    def digest(self, words: str) -> str:
        """Return a keyed digest: equal for equal words in this vault, and not to be guessed without the key."""
        return hmac_sha256(self._key, str(words).encode("utf-8", "surrogatepass")).hex()[:16]

    def add_written(self, entries: Iterable[AuditEntry]) -> None:
        """Add entries that are already durable to the ring."""
        with self._lock:
            self._ring.extend(entries)

    def note(self, entry: AuditEntry) -> int:
        """Add an entry to the ring and to those that wait to be written; return how many wait."""
        with self._lock:
            self._ring.append(entry)
            self._waiting.append(entry)
            return len(self._waiting)

    def take_waiting(self) -> list[AuditEntry]:
        """Return the waiting entries and stop holding them."""
        with self._lock:
            taken = list(self._waiting)
            self._waiting.clear()
        return taken

    def put_back(self, entries: Iterable[AuditEntry]) -> None:
        """Return entries that could not be written to the queue; beyond its length the oldest are dropped."""
        with self._lock:
            waiting = [*entries, *self._waiting]
            self._waiting.clear()
            self._waiting.extend(waiting)

    def erase_digests(self, ids: Iterable[str]) -> None:
        """Remove the digests from the entries about erased memories."""
        erased = set(ids)
        with self._lock:
            for entries in (self._ring, self._waiting):
                changed = [replace(entry, digest="") if entry.subject in erased else entry for entry in entries]
                entries.clear()
                entries.extend(changed)

    def recent(self) -> list[AuditEntry]:
        """Return the entries of the ring, newest first."""
        with self._lock:
            return list(reversed(self._ring))


def write(connection: apsw.Connection, entries: Iterable[AuditEntry], keep: int) -> None:
    """Append entries, and delete the oldest beyond `keep`, in the open transaction."""
    connection.executemany(
        """
        INSERT INTO audit (at, operation, subject, project, squad, agent, channel, user, count, digest, ok)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        ((to_micros(e.at), e.operation, e.subject, *scope_values(e.scope), e.count, e.digest, int(e.ok)) for e in entries),
    )
    connection.execute("DELETE FROM audit WHERE key <= (SELECT max(key) FROM audit) - ?", (keep,))


def erase_digests(connection: apsw.Connection, ids: Sequence[str]) -> None:
    """Remove the keyed digests from the entries about erased memories; the entries stay."""
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        sql = f"UPDATE audit SET digest = '' WHERE digest <> '' AND subject IN ({', '.join('?' * len(batch))})"
        connection.execute(sql, batch)


def read_audit(connection: apsw.Connection, scope: Scope | None, limit: int) -> list[AuditEntry]:
    """Return entries of one scope, or of all if `scope` is None, newest first."""
    mine = "" if scope is None else "WHERE project = ? AND squad = ? AND agent = ? AND channel = ? AND user = ?"
    sql = f"""
        SELECT at, operation, subject, project, squad, agent, channel, user, count, digest, ok
          FROM audit {mine} ORDER BY key DESC LIMIT ?
    """
    values = () if scope is None else scope_values(scope)
    return [
        AuditEntry(from_micros(at), operation, subject, Scope(*place), count, digest, bool(ok))
        for at, operation, subject, *place, count, digest, ok in connection.execute(sql, (*values, limit))
    ]
