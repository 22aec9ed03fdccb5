"""Turns verbatim, the memories made from them, and the words around each memory for the text index.

A memory is also found by the words said beside it: an answer often lies a turn away from the words of a question. The words
around a memory are those of its own turn and of the turns before and after it in the same session; the text index holds them in
a column of its own, which is updated when the next turn comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import from_micros, to_micros
from engram.guard.visibility import Visibility, readable, require_owner
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import memory_rows, text_index
from engram.store.sqlite.rows import intern
from engram.store.sqlite.visibility import predicate
from engram.types import (
    Memory,
    PendingTurn,
    Policy,
    Reader,
    Scope,
    Sensitivity,
    Status,
    Turn,
    scope_values,
)
from engram.values.frozen import replace
from engram.values.identity import strictest

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


_SAID = sealed.read_words("text", table="t", tier="t.tier", row="t.key", place="'turn'")


_AROUND = 600
"""Characters of a turn that are indexed around the memories of its neighbours."""

_AT_ONCE = 500
"""Turns that are deleted in one transaction, or memories that are asked for in one statement."""


class Turns:
    """Turns of conversations, verbatim."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def of(self, reader: Reader, memory_id: str) -> list[Turn]:
        """Return the turns a memory came from, verbatim."""
        with self._gate.read(reader, "turns") as connection:
            key = memory_rows.required(connection, readable(reader), memory_id).key
            found = of_memory(connection, readable(reader), key)
        self._gate.note(reader, "turns", subject=memory_id, count=len(found))
        return found

    def last(self, reader: Reader, session: str) -> Turn | None:
        """Return the last turn of this session in the reader's scope."""
        with self._gate.read(reader, "turns") as connection:
            return last_of(connection, reader.scope, session)

    def before(self, reader: Reader, session: str, key: int, *, limit: int) -> list[Turn]:
        """Return the turns of a session just before the turn of this key, in the reader's scope."""
        with self._gate.read(reader, "turns") as connection:
            return before(connection, reader.scope, session, key, limit)

    def waiting(self, reader: Reader, session: str, *, limit: int) -> list[PendingTurn]:
        """Return the turns of a session in the reader's scope that a model has not read, oldest first."""
        with self._gate.read(reader, "turns") as connection:
            return waiting(connection, reader.scope, session, limit)

    def waiting_sessions(self, reader: Reader) -> list[tuple[Scope, str]]:
        require_owner(reader, "all sessions")
        with self._gate.readers.use("turns") as connection:
            return waiting_sessions(connection)

    def sources(self, reader: Reader, keys: Sequence[int]) -> list[tuple[int, int, Turn]]:
        """Return (memory's key, turn's key, turn) for each turn that these memories came from."""
        with self._gate.read(reader, "turns") as connection:
            pages = (keys[start : start + _AT_ONCE] for start in range(0, len(keys), _AT_ONCE))
            return [row for page in pages for row in of_memories(connection, readable(reader), page)]

    def recent(self, reader: Reader, session: str | None, *, limit: int) -> list[tuple[int, Turn]]:
        """Return the last turns of a session, or of the reader's scope, with their keys, oldest first."""
        with self._gate.read(reader, "turns") as connection:
            found = recent(connection, reader.scope, session, limit)
        self._gate.note(reader, "turns", count=len(found))
        return found

    def stored(self, reader: Reader, key: int) -> Turn | None:
        """Return the turn of this key in the reader's scope."""
        with self._gate.read(reader, "turns") as connection:
            return of_key(connection, reader.scope, key)

    def derived(self, reader: Reader, keys: Sequence[int]) -> list[Memory]:
        """Return the active memories of the reader's scope that came from these turns."""
        with self._gate.read(reader, "turns") as connection:
            here = readable(replace(reader, policy=Policy.OWN))
            found = memory_rows.by_keys(connection, here, memories_of(connection, keys))
        return [memory for memory in found if memory.status is Status.ACTIVE]

    def known_refs(self, reader: Reader, refs: Sequence[str]) -> set[str]:
        with self._gate.read(reader, "refs") as connection:
            return known_refs(connection, readable(reader), refs)

    def digest(self, words: str) -> str:
        """Return a keyed digest by which these words can be recognised in this vault, and nowhere else."""
        return self._gate.audit.digest(words)

    def expire(self, reader: Reader) -> int:
        """Delete turns past their retention; the memories made from them stay. Return how many."""
        days = self._gate.live.now.turn_days
        with self._gate.watched(reader, "expire"):
            require_owner(reader, "the age of turns")
            before = to_micros(self._gate.env.now()) - int(days * 86_400_000_000)
            if not days or not self._any_before(before):
                return 0
            return self._gate.write(reader, "expire", lambda connection: expire(connection, before, _AT_ONCE))

    def _any_before(self, moment: int) -> bool:
        with self._gate.readers.use("turns") as connection:
            return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM turns WHERE at < ?)", (moment,)).get)


def record(connection: apsw.Connection, scope: Scope, turns: Sequence[Turn], waiting: int = 0) -> list[int]:
    """Store turns and return their keys. Their times and sessions are set by the caller.

    `waiting`: since when (µs) they wait for a model to read them; 0 if none will. The turn before the first of each session has a
    new neighbour, which belongs to the surroundings of its memories.
    """
    place = intern(connection, scope)
    keys = [_insert(connection, place, turn, waiting) for turn in turns]
    for session in dict.fromkeys(turn.session or "" for turn in turns):
        first = next(key for key, turn in zip(keys, turns, strict=True) if (turn.session or "") == session)
        before = _neighbour(connection, first, "<")
        if before is not None:
            update_surroundings(connection, [before])
    return keys


def link(connection: apsw.Connection, memory: int, turns: Sequence[int]) -> None:
    """Link a memory to the turns it came from, which get at least its tier."""
    connection.executemany("INSERT OR IGNORE INTO sources (memory, turn) VALUES (?, ?)", ((memory, turn) for turn in turns))
    raise_source_tiers(connection, memory)


def raise_source_tiers(connection: apsw.Connection, memory: int) -> None:
    """Raise the turns that a memory came from to at least its tier, and update the words around other memories."""
    found: list[Any] = connection.execute(
        """
        SELECT t.key, t.tier, m.tier FROM sources AS s JOIN turns AS t ON t.key = s.turn JOIN memories AS m ON m.key = s.memory
         WHERE s.memory = ? AND m.tier <> 'cleartext'
        """,
        (memory,),
    ).fetchall()
    for turn, now, asked in found:
        raise_tier(connection, turn, strictest(Sensitivity(now), Sensitivity(asked)))


def raise_tier(connection: apsw.Connection, turn: int, tier: Sensitivity) -> None:
    """Seal the words of a turn for a higher tier."""
    sql = f"UPDATE turns AS t SET text = seal(?2, {_SAID}, t.key, 'turn'), tier = ?2 WHERE t.key = ?1 AND t.tier <> ?2"
    connection.execute(sql, (turn, tier))
    if connection.changes():
        beside = [_neighbour(connection, turn, way) for way in ("<", ">")]
        update_surroundings(connection, [turn, *(key for key in beside if key is not None)])
        drop_words_borrowed_from(connection, [turn], tier)
        sealed.seal_snapshots(connection)


def drop_words_borrowed_from(connection: apsw.Connection, turns: Sequence[int], tier: Sensitivity | None = None) -> None:
    """Remove the words of these turns from the memories that may carry them. tier: only from those kept less closely."""
    for key in dict.fromkeys(key for turn in turns for key in _borrowers(connection, turn)):
        _drop_borrowed_words(connection, key, tier)


def drop_words_carried_from(connection: apsw.Connection, memory: int, tier: Sensitivity | None = None) -> None:
    """Remove the words of a memory from those that carry them, where no turn is stored that says whose they are.

    That is so for the statements of a text that was given to be remembered, and for memories whose turns have expired.
    """
    if sources_of(connection, memory):
        return
    own = memory_rows.by_key(connection, memory)
    texts = [_plain(text) for text in (own.text, *memory_rows.wordings(connection, memory))]
    # The statements of one text are stored one after the other; those of a session may lie far apart.
    near = (
        "m.key IN (SELECT key FROM memories INDEXED BY memories_heard WHERE scope = ?2 AND session = ?3)"
        if own.session
        else f"m.key BETWEEN ?1 - {_AT_ONCE} AND ?1 + {_AT_ONCE} AND m.scope = ?2 AND m.session = ?3"
    )
    found: list[Any] = connection.execute(
        f"""
        SELECT m.key, {sealed.read_words("text")}, c.words_to FROM memories AS m JOIN contents AS c ON c.memory = m.key
         WHERE {near} AND m.key <> ?1 AND c.words_to > 0
        """,
        (memory, intern(connection, own.scope), own.session),
    ).fetchall()
    for key, text, end in found:
        carried = _plain(text[end:]).strip("[]")
        if carried and any(carried in said for said in texts):
            _drop_borrowed_words(connection, key, tier)


def _drop_borrowed_words(connection: apsw.Connection, key: int, tier: Sensitivity | None) -> None:
    own = memory_rows.by_key(connection, key).tier
    if tier is None or strictest(own, tier) is not own:
        memory_rows.drop_borrowed_words(connection, key)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _borrowers(connection: apsw.Connection, turn: int) -> list[int]:
    """Return the memories that may carry words of a turn: its own, and those of the turn after it."""
    after = _neighbour(connection, turn, ">")
    keys = [turn] if after is None else [turn, after]
    return [memory for key in keys for memory in _whole(connection, "SELECT memory FROM sources WHERE turn = ?", key)]


def update_surroundings(connection: apsw.Connection, turns: Sequence[int]) -> None:
    """Update the words around the memories of these turns in the text index."""
    touched = [memory for turn in turns for memory in _whole(connection, "SELECT memory FROM sources WHERE turn = ?", turn)]
    for memory in dict.fromkeys(touched):
        text_index.set_surroundings(connection, memory, surroundings(connection, memory))


def surroundings(connection: apsw.Connection, memory: int) -> str:
    """Return the words around all turns that a memory came from; of the first few, if there are many."""
    found = _whole(connection, "SELECT turn FROM sources WHERE memory = ? ORDER BY turn LIMIT 4", memory)
    return "\n".join(turn_surroundings(connection, turn) for turn in found)


def turn_surroundings(connection: apsw.Connection, turn: int) -> str:
    """Return the words of a turn and of those before and after it."""
    keys = [_neighbour(connection, turn, "<"), turn, _neighbour(connection, turn, ">")]
    # Only the end of the turn before and the beginning of the others: else a pasted document would surround each statement.
    cuts = (slice(-_AROUND, None), slice(_AROUND), slice(_AROUND))
    texts = [_indexable_words(connection, key)[cut] for cut, key in zip(cuts, keys, strict=True) if key is not None]
    return "\n".join(text for text in texts if text)


def _indexable_words(connection: apsw.Connection, key: int) -> str:
    """Return the words of a turn that the text index may hold: all, those that are not personal, or none, by its tier."""
    found: list[Any] = connection.execute(f"SELECT t.tier, {_SAID} FROM turns AS t WHERE t.key = ?", (key,)).fetchall()
    if not found or found[0][0] == Sensitivity.CONFIDENTIAL:
        return ""
    text = str(found[0][1])
    return text if found[0][0] == Sensitivity.CLEARTEXT else sealed.masked(connection, text)


def delete_sources(connection: apsw.Connection, memory: int) -> None:
    """Delete the turns of a memory that is erased, and their words around other memories and in them.

    Turns beside them of which nothing was kept go too: no memory is left by which anyone could ask for them to be erased.
    """
    turns = _whole(connection, "SELECT turn FROM sources WHERE memory = ?", memory)
    near = {key for turn in turns for way in ("<", ">") if (key := _neighbour(connection, turn, way)) is not None}
    kin = [other for turn in turns for other in _whole(connection, "SELECT memory FROM sources WHERE turn = ?", turn)]
    drop_words_carried_from(connection, memory)
    drop_words_borrowed_from(connection, turns)
    for turn in turns:
        _remove(connection, turn)
    waiting, left = sorted(near - set(turns)), []
    while waiting:
        turn = waiting.pop()
        if _whole(connection, "SELECT memory FROM sources WHERE turn = ? LIMIT 1", turn):
            left.append(turn)
            continue
        beside = [_neighbour(connection, turn, way) for way in ("<", ">")]
        waiting += [key for key in beside if key is not None and key not in waiting and key not in left]
        drop_words_borrowed_from(connection, [turn])
        _remove(connection, turn)
    for other in dict.fromkeys(kin):
        text_index.set_surroundings(connection, other, surroundings(connection, other))
    update_surroundings(connection, left)


def expire(connection: apsw.Connection, before: int, limit: int) -> int:
    """Delete turns said before a time, oldest first, and their words around memories and in passages; return how many."""
    found: list[Any] = connection.execute("SELECT key FROM turns WHERE at < ? ORDER BY key LIMIT ?", (before, limit)).fetchall()
    doomed = [row[0] for row in found]
    kin = [memory for turn in doomed for memory in _whole(connection, "SELECT memory FROM sources WHERE turn = ?", turn)]
    near = [key for turn in doomed if (key := _neighbour(connection, turn, ">")) is not None]
    for memory in dict.fromkeys(key for turn in doomed for key in _borrowers(connection, turn)):
        connection.execute("UPDATE contents SET passage = '' WHERE memory = ?", (memory,))
    for turn in doomed:
        _remove(connection, turn)
    for memory in dict.fromkeys(kin):
        text_index.set_surroundings(connection, memory, surroundings(connection, memory))
    update_surroundings(connection, [turn for turn in near if turn not in set(doomed)])
    return len(doomed)


def _remove(connection: apsw.Connection, turn: int) -> None:
    connection.execute("UPDATE turns SET text = '' WHERE key = ?", (turn,))
    connection.execute("DELETE FROM turns WHERE key = ?", (turn,))


def of_memory(connection: apsw.Connection, seen: Visibility, key: int) -> list[Turn]:
    """Return the turns a memory came from, verbatim."""
    visible, values = predicate(seen, "t.scope")
    found = connection.execute(
        f"""
        SELECT {_SAID}, t.speaker, t.at, t.session, t.ref, t.tier FROM sources AS s JOIN turns AS t ON t.key = s.turn
         WHERE s.memory = ? AND {visible} ORDER BY t.key
        """,
        (key, *values),
    )
    return [_turn(row) for row in found]


def of_memories(connection: apsw.Connection, seen: Visibility, keys: Sequence[int]) -> list[tuple[int, int, Turn]]:
    """Return (memory, turn's number, turn) for each turn that these memories came from."""
    visible, values = predicate(seen, "t.scope")
    found: list[Any] = connection.execute(
        f"""
        SELECT s.memory, t.key, {_SAID}, t.speaker, t.at, t.session, t.ref, t.tier
          FROM sources AS s JOIN turns AS t ON t.key = s.turn
         WHERE s.memory IN ({", ".join("?" * len(keys))}) AND {visible} ORDER BY t.key
        """,
        (*keys, *values),
    ).fetchall()
    return [(row[0], row[1], _turn(row[2:])) for row in found]


def last_of(connection: apsw.Connection, scope: Scope, session: str) -> Turn | None:
    """Return the last turn of a session."""
    found: list[Any] = connection.execute(
        f"""
        SELECT {_SAID}, t.speaker, t.at, t.session, t.ref, t.tier FROM turns AS t JOIN scopes AS s ON s.key = t.scope
         WHERE s.project = ? AND s.squad = ? AND s.agent = ? AND s.channel = ? AND s.user = ? AND t.session = ?
         ORDER BY t.key DESC LIMIT 1
        """,
        (scope.project, scope.squad, scope.agent, scope.channel, scope.user, session),
    ).fetchall()
    return next((_turn(row) for row in found), None)


def recent(connection: apsw.Connection, scope: Scope, session: str | None, limit: int) -> list[tuple[int, Turn]]:
    """Return the last turns of a session, or of a scope, with their keys, oldest first."""
    chosen, values = ("", ()) if session is None else (" AND t.session = ?", (session,))
    found: list[Any] = connection.execute(
        f"""
        SELECT t.key, {_SAID}, t.speaker, t.at, t.session, t.ref, t.tier FROM turns AS t JOIN scopes AS s ON s.key = t.scope
         WHERE s.project = ? AND s.squad = ? AND s.agent = ? AND s.channel = ? AND s.user = ?{chosen}
         ORDER BY t.key DESC LIMIT ?
        """,
        (scope.project, scope.squad, scope.agent, scope.channel, scope.user, *values, limit),
    ).fetchall()
    return [(row[0], _turn(row[1:])) for row in reversed(found)]


def of_key(connection: apsw.Connection, scope: Scope, key: int) -> Turn | None:
    """Return the turn of this key, if it belongs to the scope."""
    found: list[Any] = connection.execute(
        f"""
        SELECT {_SAID}, t.speaker, t.at, t.session, t.ref, t.tier FROM turns AS t JOIN scopes AS s ON s.key = t.scope
         WHERE t.key = ? AND s.project = ? AND s.squad = ? AND s.agent = ? AND s.channel = ? AND s.user = ?
        """,
        (key, scope.project, scope.squad, scope.agent, scope.channel, scope.user),
    ).fetchall()
    return next((_turn(row) for row in found), None)


def known_refs(connection: apsw.Connection, seen: Visibility, refs: Sequence[str]) -> set[str]:
    """Return those of these refs that are stored, so that an interrupted ingest can resume."""
    visible, values = predicate(seen, "scope")
    known: set[str] = set()
    for start in range(0, len(refs), 500):
        some = refs[start : start + 500]
        sql = f"SELECT ref FROM turns WHERE ref <> '' AND ref IN ({', '.join('?' * len(some))}) AND {visible}"
        known.update(str(row[0]) for row in connection.execute(sql, (*some, *values)))
    return known


def waiting(connection: apsw.Connection, scope: Scope, session: str, limit: int) -> list[PendingTurn]:
    """Return the turns of a session that a model has not read, oldest first."""
    found: list[Any] = connection.execute(
        f"""
        SELECT t.key, t.waiting, {_SAID}, t.speaker, t.at, t.session, t.ref, t.tier FROM turns AS t
         WHERE t.scope = (SELECT key FROM scopes WHERE project = ? AND squad = ? AND agent = ? AND channel = ? AND user = ?)
           AND t.session = ? AND t.waiting <> 0 ORDER BY t.key LIMIT ?
        """,
        (*scope_values(scope), session, limit),
    ).fetchall()
    return [PendingTurn(row[0], from_micros(row[1]), _turn(row[2:])) for row in found]


def waiting_sessions(connection: apsw.Connection) -> list[tuple[Scope, str]]:
    found = connection.execute(
        """
        SELECT DISTINCT s.project, s.squad, s.agent, s.channel, s.user, t.session
          FROM turns AS t JOIN scopes AS s ON s.key = t.scope WHERE t.waiting <> 0
        """
    )
    return [(Scope(*row[:-1]), str(row[-1])) for row in found]


def before(connection: apsw.Connection, scope: Scope, session: str, key: int, limit: int) -> list[Turn]:
    """Return the turns of a session just before one of them, in their order."""
    found: list[Any] = connection.execute(
        f"""
        SELECT {_SAID}, t.speaker, t.at, t.session, t.ref, t.tier FROM turns AS t
         WHERE t.scope = (SELECT key FROM scopes WHERE project = ? AND squad = ? AND agent = ? AND channel = ? AND user = ?)
           AND t.session = ? AND t.key < ? ORDER BY t.key DESC LIMIT ?
        """,
        (*scope_values(scope), session, key, limit),
    ).fetchall()
    return [_turn(row) for row in reversed(found)]


def memories_of(connection: apsw.Connection, keys: Sequence[int]) -> list[int]:
    """Return the keys of the memories that came from any of these turns."""
    found = [memory for key in keys for memory in _whole(connection, "SELECT memory FROM sources WHERE turn = ?", key)]
    return list(dict.fromkeys(found))


def sources_of(connection: apsw.Connection, memory: int) -> set[int]:
    return set(_whole(connection, "SELECT turn FROM sources WHERE memory = ?", memory))


def said_by(connection: apsw.Connection, ids: Sequence[str], now: datetime) -> datetime:
    """Return when the last of these memories was said, or learned if no turn says it; at most `now`."""
    sql = f"""
        SELECT max(coalesce((SELECT max(t.at) FROM sources AS s JOIN turns AS t ON t.key = s.turn WHERE s.memory = m.key),
                            m.learned_at)) FROM memories AS m WHERE m.id IN ({", ".join("?" * len(ids))})
    """
    latest = connection.execute(sql, ids).get
    return now if latest is None else min(from_micros(int(latest)), now)


def speakers_of(connection: apsw.Connection, keys: Sequence[int]) -> list[str]:
    """Return the speakers of these turns, each once."""
    sql = f"SELECT DISTINCT speaker FROM turns WHERE key IN ({', '.join('?' * len(keys))})"
    found: list[Any] = connection.execute(sql, tuple(keys)).fetchall() if keys else []
    return [speaker for (speaker,) in found]


def mark_read(connection: apsw.Connection, owned: Visibility, keys: Sequence[int]) -> list[int]:
    """Mark turns as read by a model; return the keys of those that waited."""
    visible, values = predicate(owned, "scope")
    sql = f"UPDATE turns SET waiting = 0 WHERE key = ? AND waiting <> 0 AND {visible} RETURNING key"
    return [key for key in keys if connection.execute(sql, (key, *values)).fetchall()]


def _turn(row: Sequence[Any]) -> Turn:
    text, speaker, at, session, ref, tier = row
    return Turn(text, speaker, from_micros(at), session, ref or None, Sensitivity(tier))


def _insert(connection: apsw.Connection, place: int, turn: Turn, waiting: int) -> int:
    said_at = to_micros(_said_at(turn))
    text = turn.text if turn.tier is Sensitivity.CLEARTEXT else ""  # sealed below: what seals it is bound to its key
    values: tuple[Any, ...] = (place, turn.session or "", turn.speaker, text, said_at, turn.ref or "", waiting, turn.tier)
    connection.execute(
        "INSERT INTO turns (scope, session, speaker, text, at, ref, waiting, tier) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values
    )
    key = connection.last_insert_rowid()
    if turn.tier is not Sensitivity.CLEARTEXT:
        connection.execute("UPDATE turns SET text = seal(?2, ?3, ?1, 'turn') WHERE key = ?1", (key, turn.tier, turn.text))
    return key


def _said_at(turn: Turn) -> Any:
    if turn.at is None:
        raise ValueError("a turn needs a time before it is stored")
    return turn.at


def _whole(connection: apsw.Connection, sql: str, value: int) -> list[int]:
    found: list[Any] = connection.execute(sql, (value,)).fetchall()
    return [row[0] for row in found]


def _neighbour(connection: apsw.Connection, turn: int, way: str) -> int | None:
    """Return the turn just before ('<') or after ('>') in the same session and scope."""
    order = "DESC" if way == "<" else "ASC"
    key = connection.execute(
        f"""
        SELECT near.key FROM turns AS here JOIN turns AS near
            ON near.scope = here.scope AND near.session = here.session AND near.key {way} here.key
         WHERE here.key = ? AND here.session <> '' ORDER BY near.key {order} LIMIT 1
        """,
        (turn,),
    ).get
    return None if key is None else int(key)
