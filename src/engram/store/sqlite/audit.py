"""Who did what, when, to which id: a ring at hand, and a table in the vault.

A write's entry is committed with the write. Entries of reads wait in memory and are written in batches, because reads do
not write. Nothing here holds words: subjects are ids, and what must be correlated is a keyed hash.
"""

from __future__ import annotations

import re
from _thread import allocate_lock  # not from `threading`, for which a hook would wait 0.6 ms
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import apsw

from engram.crypto.digests import hmac_sha256
from engram.env import Env, from_micros, to_micros
from engram.store.validation import bounded
from engram.types import Role
from engram.values.frozen import replace
from engram.values.identity import AuditEntry, Reader, Scope, scope_values

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


_AT_ONCE = 500

_ULID = r"[0-9A-HJKMNP-TV-Z]{26}"


class Audit:
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
        """An id of our own making as it is; whatever else a caller passes as an id may be words, and is hashed."""
        return subject if not subject or re.fullmatch(_ULID, str(subject)) else f"#{self.digest(subject)}"

    def digest(self, words: str) -> str:
        """A keyed hash: equal words give equal digests in this vault, and nobody without the key can guess them."""
        return hmac_sha256(self._key, str(words).encode("utf-8", "surrogatepass")).hex()[:16]

    def saw(self, entries: Iterable[AuditEntry]) -> None:
        """Put entries that are already durable into the ring."""
        with self._lock:
            self._ring.extend(entries)

    def note(self, entry: AuditEntry) -> int:
        """Put an entry into the ring and let it wait to be written; returns how many wait."""
        with self._lock:
            self._ring.append(entry)
            self._waiting.append(entry)
            return len(self._waiting)

    def take_waiting(self) -> list[AuditEntry]:
        with self._lock:
            taken = list(self._waiting)
            self._waiting.clear()
        return taken

    def put_back(self, entries: Iterable[AuditEntry]) -> None:
        """Let entries wait again; if nothing can be written for long, the oldest are let go."""
        with self._lock:
            waiting = [*entries, *self._waiting]
            self._waiting.clear()
            self._waiting.extend(waiting)

    def forget(self, ids: Iterable[str]) -> None:
        """Part of erasing: the digests of words that are gone go too."""
        gone = set(ids)
        with self._lock:
            for kept in (self._ring, self._waiting):
                changed = [replace(entry, digest="") if entry.subject in gone else entry for entry in kept]
                kept.clear()
                kept.extend(changed)

    def recent(self) -> list[AuditEntry]:
        """The ring, newest first."""
        with self._lock:
            return list(reversed(self._ring))


def write(connection: apsw.Connection, entries: Iterable[AuditEntry], keep: int) -> None:
    """Append entries and let the oldest go, in the transaction that is open."""
    connection.executemany(
        """
        INSERT INTO audit (at, operation, subject, project, squad, agent, channel, user, count, digest, ok)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        ((to_micros(e.at), e.operation, e.subject, *scope_values(e.scope), e.count, e.digest, int(e.ok)) for e in entries),
    )
    connection.execute("DELETE FROM audit WHERE key <= (SELECT max(key) FROM audit) - ?", (keep,))


def forget(connection: apsw.Connection, ids: Sequence[str]) -> None:
    """Part of erasing: what was done to these stays known, the keyed digest of their words does not."""
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        sql = f"UPDATE audit SET digest = '' WHERE digest <> '' AND subject IN ({', '.join('?' * len(some))})"
        connection.execute(sql, some)


def read_audit(connection: apsw.Connection, scope: Scope | None, limit: int) -> list[AuditEntry]:
    """Newest first; of one scope only, unless None asks for all."""
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


class AuditEntries:
    """The audit trail."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def select(self, reader: Reader, *, limit: int) -> list[AuditEntry]:
        """Newest first: one's own entries, or the owner's view of all."""
        bounded(limit, self._gate.live.now.audit_rows, "the audit trail")
        self._gate.flush_audit(wait=True)
        with self._gate.read(reader, "audit") as connection:
            return read_audit(connection, None if reader.role is Role.OWNER else reader.scope, limit)
