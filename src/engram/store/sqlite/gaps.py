"""Questions that found no answer: recorded by recall, written in batches, offered to be asked back now and then (§4.5).

Reads do not write: questions wait in memory and are written with the next batch of the audit trail. A row is a question of one
scope; the latest `gap_rows` of each scope are kept.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import from_micros, to_micros
from engram.guard.visibility import Visibility, readable
from engram.store.sqlite.rows import intern
from engram.store.sqlite.visibility import predicate
from engram.store.validation import bounded
from engram.text.terms import digest_of, terms
from engram.values.frozen import mutable, replace
from engram.values.identity import Policy, Reader, Scope, Sensitivity

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate
    from engram.values.entities import Gap


_WAITING = 256  # questions noted between two batches

_INFORMATIVE = 4  # least letters of a word that links a question to an erased memory


class Gaps:
    """Questions that found no answer."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def put(self, reader: Reader, text: str, *, answered: bool = False, offered: bool = False, raised: bool = False) -> None:
        """Record a question that found no answer, that was `answered`, that was `offered` to be asked back, or that was `raised`
        in a conversation, which records no question that is not recorded. Written later.

        Questions of a reader that may not write are not recorded.
        """
        if reader.writes:
            self._gate.questions.note(reader.scope, text, answered=answered, offered=offered, raised=raised)

    def select(self, reader: Reader, *, limit: int, to_offer: bool = False) -> list[Gap]:
        """Return questions that found no answer. `to_offer`: only those that were raised in the reader's own scope,
        by a conversation or a dream, and not offered within `gap_days`.
        """
        limits = self._gate.limits
        bounded(limit, limits.page_limit, "a page")
        now = self._gate.env.now()
        week = to_micros(now - timedelta(days=limits.gap_days)) if to_offer else None
        kept = to_micros(now - timedelta(days=limits.gap_kept_days))
        seen = readable(replace(reader, policy=Policy.OWN) if to_offer else reader)
        if not to_offer:
            self._gate.flush_audit(wait=True)
        with self._gate.read(reader, "gaps") as connection:
            found = read(connection, seen, limit=limit, asked_after=kept, offered_before=week)
        self._gate.note(reader, "gaps", count=len(found))
        return found

    def recently_offered(self, reader: Reader, texts: Sequence[str]) -> set[str]:
        """Return those of these questions that were offered in the reader's scope within `gap_days`."""
        since = to_micros(self._gate.env.now() - timedelta(days=self._gate.limits.gap_days))
        with self._gate.read(reader, "gaps") as connection:
            return offered(connection, readable(replace(reader, policy=Policy.OWN)), texts, since)


@mutable
class _Noted:
    text: str
    times: int = 0
    answered: bool = False
    offered: bool = False
    raised: bool = False


Noted = Mapping[tuple[Scope, bytes], _Noted]


class Questions:
    """Questions asked since the last batch."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[tuple[Scope, bytes], _Noted] = {}

    def note(self, scope: Scope, text: str, *, answered: bool, offered: bool, raised: bool) -> None:
        with self._lock:
            if len(self._waiting) >= _WAITING:
                return
            noted = self._waiting.setdefault((scope, digest_of(text)), _Noted(text))
            if raised:
                noted.raised = True
                return
            noted.answered, noted.offered = answered, noted.offered or offered
            noted.times += not answered and not offered

    def take_waiting(self) -> Noted:
        with self._lock:
            taken, self._waiting = self._waiting, {}
        return taken


def write(connection: apsw.Connection, noted: Noted, now: int, keep: int) -> None:
    """Write questions in the open transaction. No index depends on them, so they leave no entry in the change log."""
    for (scope, digest), one in noted.items():
        where = intern(connection, scope), bytes(connection.execute("SELECT blind(?)", (digest,)).get)
        if one.answered:
            connection.execute("DELETE FROM questions WHERE scope = ? AND digest = ?", where)
            continue
        if one.times or one.offered:  # a question that was offered but never asked is stored with 0 times
            connection.execute(
                f"""
                INSERT INTO questions (scope, digest, text, times, asked_at) VALUES (?1, ?2, {_sealed("?3", "?2")}, ?4, ?5)
                ON CONFLICT (scope, digest) DO UPDATE SET times = times + excluded.times,
                    asked_at = CASE WHEN excluded.times THEN excluded.asked_at ELSE asked_at END
                """,
                (*where, one.text, one.times, now),
            )
        if one.offered:
            connection.execute("UPDATE questions SET offered_at = ? WHERE scope = ? AND digest = ?", (now, *where))
        if one.raised:
            connection.execute("UPDATE questions SET raised = 1 WHERE scope = ? AND digest = ?", where)
        _keep_latest(connection, where[0], keep)


def put_new(connection: apsw.Connection, scope: int, text: str, now: int, keep: int) -> bool:
    """Store a question that nobody has asked yet; False if it is known."""
    blind = bytes(connection.execute("SELECT blind(?)", (digest_of(text),)).get)
    before = connection.total_changes()
    sql = f"""
        INSERT OR IGNORE INTO questions (scope, digest, text, times, asked_at, raised)
        VALUES (?1, ?2, {_sealed("?3", "?2")}, 1, ?4, 1)
    """
    connection.execute(sql, (scope, blind, text, now))
    put = connection.total_changes() > before
    _keep_latest(connection, scope, keep)
    return put


def _keep_latest(connection: apsw.Connection, scope: int, keep: int) -> None:
    connection.execute(
        """
        DELETE FROM questions WHERE scope = ?1
           AND key NOT IN (SELECT key FROM questions WHERE scope = ?1 ORDER BY asked_at DESC, key DESC LIMIT ?2)
        """,
        (scope, keep),
    )


def seal_old(connection: apsw.Connection) -> None:
    """Seal the questions of earlier releases. There are few: `gap_rows` of each scope."""
    old: list[Any] = connection.execute("SELECT key, digest, text FROM questions WHERE unicode(text) <> 1").fetchall()
    for key, digest, text in old:
        blind = bytes(connection.execute("SELECT blind(?)", (digest,)).get)
        connection.execute(
            f"UPDATE OR REPLACE questions SET digest = ?2, text = {_sealed('?3', '?2')} WHERE key = ?1", (key, blind, text)
        )


def _sealed(text: str, digest: str) -> str:
    """Return the SQL of a sealed question. A question may hold any words, so each is confidential."""
    return f"seal_side('{Sensitivity.CONFIDENTIAL}', {text}, {_place(digest)})"


def _place(digest: str) -> str:
    return f"'questions.text/' || hex({digest})"


def read(connection: apsw.Connection, seen: Visibility, *, limit: int, asked_after: int, offered_before: int | None) -> list[Gap]:
    """Return questions, the most asked first, then the latest. offered_before: only those that were raised and not
    offered since.
    """
    from engram.values.entities import Gap  # late: a hook loads this module with the gate, and reads no gap (1.5 ms)

    visible, values = predicate(seen, "q.scope")
    sql = f"""
        SELECT unseal_side(q.text, {_place("q.digest")}), q.times, q.asked_at, q.offered_at,
               s.project, s.squad, s.agent, s.channel, s.user
          FROM questions AS q JOIN scopes AS s ON s.key = q.scope
         WHERE {visible} AND q.times > 0 AND q.asked_at >= ? AND (? IS NULL OR (q.raised AND coalesce(q.offered_at, 0) < ?))
         ORDER BY q.times DESC, q.asked_at DESC, q.key DESC LIMIT ?
    """
    rows: list[Any] = connection.execute(sql, (*values, asked_after, offered_before, offered_before, limit)).fetchall()
    return [
        Gap(
            text=text,
            scope=Scope(*scope),
            times=times,
            asked_at=from_micros(asked),
            offered_at=None if offered is None else from_micros(offered),
        )
        for text, times, asked, offered, *scope in rows
    ]


def offered(connection: apsw.Connection, seen: Visibility, texts: Sequence[str], since: int) -> set[str]:
    """Return those of these questions that were offered since a time (µs)."""
    visible, values = predicate(seen, "scope")
    sql = f"SELECT EXISTS (SELECT 1 FROM questions WHERE digest = blind(?) AND offered_at >= ? AND {visible})"
    return {text for text in texts if connection.execute(sql, (digest_of(text), since, *values)).get}


def delete_related(connection: apsw.Connection, erased: Sequence[str]) -> None:
    """Delete the questions that share an informative word with erased texts."""
    words = _informative(erased)
    rows: list[Any] = connection.execute(f"SELECT key, unseal_side(text, {_place('digest')}) FROM questions").fetchall()
    related = [(key,) for key, text in rows if words & _informative([text])]
    connection.executemany("DELETE FROM questions WHERE key = ?", related)


def _informative(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in terms(text) if len(word) >= _INFORMATIVE}
