"""The statements on what an episode has beside its memory: goal, outcome, events, participants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import apsw

from engram.env import from_micros, to_micros
from engram.errors import InvalidQuery, NotFound
from engram.guard.visibility import Visibility
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import memories, rows
from engram.store.sqlite.rows import predicate
from engram.types import Memory
from engram.values.episodes import Episode, EpisodeEvent, EpisodeOutcome, Participant

_AT_ONCE = 500


def insert(connection: apsw.Connection, memory: Memory, goal: str, at: datetime, participants: Sequence[Participant]) -> Episode:
    meant = sealed.kept("episodes", "goal", "?2", "?5", ("?1",))
    connection.execute(
        f"INSERT INTO episodes (memory, goal, outcome, result, valence, started_at) VALUES (?1, {meant}, ?3, '', 0, ?4)",
        (memory.key, goal, EpisodeOutcome.ONGOING, to_micros(at), memory.tier),
    )
    name, role = (sealed.kept("participants", *what, "?4", ("?1",)) for what in (("name", "?2"), ("role", "?3")))
    connection.executemany(
        f"INSERT OR IGNORE INTO participants (memory, name, role) VALUES (?1, {name}, {role})",
        ((memory.key, one.name, one.role, memory.tier) for one in participants),
    )
    return of(connection, [memory])[0]


def append(connection: apsw.Connection, memory: Memory, event: EpisodeEvent) -> None:
    """One more event, if the episode is not over."""
    require_ongoing(connection, memory)
    words = (("type", "?3"), ("text", "?4"), ("actor", "?5"))
    connection.execute(
        f"""
        INSERT INTO events (memory, number, at, type, text, actor, ok)
        SELECT ?1, n, ?2, {", ".join(sealed.kept("events", *what, "?7", ("?1", "n")) for what in words)}, ?6
          FROM (SELECT coalesce(max(number), 0) + 1 AS n FROM events WHERE memory = ?1)
        """,
        (memory.key, to_micros(event.at), event.type, event.text, event.actor, _flag(event.ok), memory.tier),
    )


def _flag(ok: bool | None) -> int | None:
    return None if ok is None else int(ok)


def require_ongoing(connection: apsw.Connection, memory: Memory) -> None:
    outcome = connection.execute("SELECT outcome FROM episodes WHERE memory = ?", (memory.key,)).get
    if outcome is None:
        raise NotFound("this memory is no recorded episode.", way_out="See `engram episodes`.")
    if outcome != EpisodeOutcome.ONGOING:
        raise InvalidQuery("this episode is over.", way_out="Begin another one; `caused_by` links it to this one.")


def finish(
    connection: apsw.Connection, memory: Memory, outcome: EpisodeOutcome, result: str, valence: float, at: datetime
) -> None:
    said = sealed.kept("episodes", "result", "?3", "?6", ("?1",))
    connection.execute(
        f"UPDATE episodes SET outcome = ?2, result = {said}, valence = ?4, ended_at = ?5 WHERE memory = ?1",
        (memory.key, outcome, result, valence, None if outcome is EpisodeOutcome.ONGOING else to_micros(at), memory.tier),
    )


def last_ended(connection: apsw.Connection, seen: Visibility, session: str) -> str | None:
    """The id of the last episode of a session that is over."""
    visible, values = predicate(seen, "m.scope")
    found = connection.execute(
        f"""
        SELECT m.id FROM memories AS m JOIN episodes AS e ON e.memory = m.key
         WHERE m.session = ? AND m.status = 'active' AND e.ended_at IS NOT NULL AND {visible}
         ORDER BY e.ended_at DESC, m.key DESC LIMIT 1
        """,
        (session, *values),
    ).get
    return None if found is None else str(found)


def episode_keys(
    connection: apsw.Connection,
    seen: Visibility,
    *,
    since: datetime | None,
    until: datetime | None,
    outcomes: Sequence[EpisodeOutcome],
    limit: int,
) -> list[int]:
    """Episodes that were going on at some moment from `since` and began before `until`, the latest first."""
    visible, values = predicate(seen, "m.scope")
    parts, more = [], list[rows.Value]()
    if since is not None:
        parts.append("coalesce(e.ended_at, e.started_at) >= ?")
        more.append(to_micros(since))
    if until is not None:
        parts.append("e.started_at < ?")
        more.append(to_micros(until))
    if outcomes:
        parts.append(f"e.outcome IN ({', '.join('?' * len(outcomes))})")
        more.extend(str(one) for one in outcomes)
    extra = "".join(f" AND {part}" for part in parts)
    found: list[Any] = connection.execute(
        f"""
        SELECT m.key FROM episodes AS e JOIN memories AS m ON m.key = e.memory
         WHERE m.status = 'active' AND {visible}{extra} ORDER BY e.started_at DESC, m.key DESC LIMIT ?
        """,
        (*values, *more, limit),
    ).fetchall()
    return [row[0] for row in found]


def of(connection: apsw.Connection, found: Sequence[Memory]) -> list[Episode]:
    """Those of the memories that are recorded episodes, in their order."""
    episodes: dict[int, tuple[Any, ...]] = {}
    events: dict[int, list[EpisodeEvent]] = {}
    people: dict[int, list[Participant]] = {}
    for start in range(0, len(found), _AT_ONCE):
        some = [memory.key for memory in found[start : start + _AT_ONCE]]
        marks = ", ".join("?" * len(some))
        row: Any
        for row in connection.execute(f"SELECT {_EPISODE} FROM episodes AS e WHERE e.memory IN ({marks})", some):
            episodes[row[0]] = row[1:]
        for row in connection.execute(
            f"SELECT {_EVENT} FROM events AS v WHERE v.memory IN ({marks}) ORDER BY v.memory, v.number", some
        ):
            events.setdefault(row[0], []).append(_event(*row[1:]))
        for row in connection.execute(f"SELECT {_PARTICIPANT} FROM participants AS p WHERE p.memory IN ({marks})", some):
            people.setdefault(row[0], []).append(Participant(*row[1:]))
    return [_episode(memory, episodes[memory.key], events, people) for memory in found if memory.key in episodes]


_EPISODE = (
    f"e.memory, {sealed.told('episodes', 'goal', 'e')}, e.outcome, {sealed.told('episodes', 'result', 'e')}, e.valence, "
    "e.started_at, e.ended_at"
)
_EVENT = f"v.memory, v.at, {', '.join(sealed.told('events', one, 'v') for one in ('type', 'text', 'actor'))}, v.ok"
_PARTICIPANT = f"p.memory, {sealed.told('participants', 'name', 'p')}, {sealed.told('participants', 'role', 'p')}"


def _event(at: int, type_: str, text: str, actor: str, ok: int | None) -> EpisodeEvent:
    return EpisodeEvent(from_micros(at), type_, text, actor, None if ok is None else bool(ok))


def _episode(
    memory: Memory, row: tuple[Any, ...], events: Mapping[int, list[EpisodeEvent]], people: Mapping[int, list[Participant]]
) -> Episode:
    goal, outcome, result, valence, started_at, ended_at = row
    return Episode(
        memory=memory,
        goal=goal,
        outcome=EpisodeOutcome(outcome),
        result=result,
        valence=valence,
        started_at=from_micros(started_at),
        ended_at=None if ended_at is None else from_micros(ended_at),
        events=tuple(events.get(memory.key, ())),
        participants=tuple(people.get(memory.key, ())),
    )


_LESSONS = ("learned_from", "inferred_from", "derived_from")


def learned_from(connection: apsw.Connection, owned: Visibility, doomed: Sequence[Memory]) -> list[Memory]:
    """What was learned from these episodes, inferred or derived from these memories, or merged into them: it has their words, and
    so goes with them when they are erased."""
    taught: list[str] = []
    for memory in doomed:
        found: list[Any] = connection.execute(
            """
            SELECT m.id FROM edges AS e JOIN memories AS m ON m.key = e.source
             WHERE e.target = ? AND e.kind IN (?, ?, ?) AND m.source = 'inferred'
            """,
            (memory.key, *_LESSONS),
        ).fetchall()
        taught += [row[0] for row in found]
        taught += _merged_into(connection, memory.key)
    known = {memory.id for memory in doomed}
    return memories.by_ids(connection, owned, [one for one in dict.fromkeys(taught) if one not in known])


def _merged_into(connection: apsw.Connection, key: int) -> list[str]:
    """What says the same as a memory and was retired for it, and for that in turn."""
    found: list[Any] = connection.execute(
        """
        WITH RECURSIVE same (key) AS (
            VALUES (?) UNION
            SELECT e.target FROM same JOIN edges AS e ON e.source = same.key WHERE e.kind = 'merged_from')
        SELECT m.id FROM same JOIN memories AS m ON m.key = same.key WHERE m.status = 'merged'
        """,
        (key,),
    ).fetchall()
    return [row[0] for row in found]
