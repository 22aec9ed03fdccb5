"""Episodes: the side tables of an episode's memory, with goal, outcome, events and participants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import from_micros, to_micros
from engram.errors import InvalidQuery, NotFound
from engram.guard.visibility import Visibility, readable, require_writable, writable
from engram.store.receipts import ReceiptRequest
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import edges, memory_rows, rows, vectors
from engram.store.sqlite.visibility import predicate
from engram.store.validation import bounded, check_event, check_memory, check_participants, check_period, dated
from engram.types import Draft, Edge, Memory, Policy, Reader, Space
from engram.values.episodes import CAUSED_BY, FOLLOWS, Episode, EpisodeEvent, EpisodeOutcome, Participant
from engram.values.frozen import replace

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


_AT_ONCE = 500


_EPISODE = (
    f"e.memory, {sealed.read_side('episodes', 'goal', 'e')}, e.outcome, {sealed.read_side('episodes', 'result', 'e')}, "
    "e.valence, e.started_at, e.ended_at"
)

_EVENT = f"v.memory, v.at, {', '.join(sealed.read_side('events', one, 'v') for one in ('type', 'text', 'actor'))}, v.ok"

_PARTICIPANT = f"p.memory, {sealed.read_side('participants', 'name', 'p')}, {sealed.read_side('participants', 'role', 'p')}"

_LESSONS = ("learned_from", "inferred_from", "derived_from")


class Episodes:
    """Episodes: tasks with their steps and outcome."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def begin(
        self,
        reader: Reader,
        draft: Draft,
        goal: str,
        *,
        participants: Sequence[Participant] = (),
        caused_by: Sequence[str] = (),
        space: Space | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> Episode:
        """Store an episode that begins now, linked to the last one of its session and to those in `caused_by`."""
        with self._gate.watched(reader, "episode"):
            check_memory(draft.memory, self._gate.live.now)
            check_participants(participants, self._gate.live.now)
            require_writable(reader, draft.memory.scope)
            now = self._gate.env.now()
            born = replace(self._gate.new_memory(draft.memory, draft.memory.scope, now), happened_at=now)
            here = readable(replace(reader, scope=born.scope, policy=Policy.OWN))

            def work(connection: apsw.Connection) -> Episode:
                before = last_ended(connection, here, born.session) if born.session else None
                memory = memory_rows.insert(connection, born)
                vectors.put_new(connection, memory.key, space, draft.vector)
                begun = insert(connection, memory, goal, now, participants)
                links = [Edge(memory.id, cause, CAUSED_BY) for cause in dict.fromkeys(caused_by)]
                links += [Edge(memory.id, before, FOLLOWS)] if before is not None else []
                edges.put(connection, writable(reader), links, now, self._gate.rules)
                return begun

            entry = self._gate.audit.entry(reader, "episode", subject=born.id, count=1, digest=self._gate.audit.digest(born.text))
            return self._gate.write(reader, "episode", work, entries=[entry], receipt=receipt)

    def append(self, reader: Reader, episode_id: str, event: EpisodeEvent, *, receipt: ReceiptRequest | None = None) -> None:
        """Add an event to an ongoing episode."""
        with self._gate.watched(reader, "event", episode_id):
            check_event(event, self._gate.live.now)

            def work(connection: apsw.Connection) -> None:
                append(connection, memory_rows.required(connection, writable(reader), episode_id), event)

            self._gate.write(reader, "event", work, subject=episode_id, receipt=receipt)

    def end(
        self,
        reader: Reader,
        draft: Draft,
        outcome: EpisodeOutcome,
        result: str,
        valence: float,
        *,
        space: Space | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> Episode:
        """End an episode with its outcome. `draft`: the new text of the episode's own memory."""
        with self._gate.watched(reader, "episode", draft.memory.id):
            check_memory(draft.memory, self._gate.live.now)
            now = self._gate.env.now()

            def work(connection: apsw.Connection) -> Episode:
                old = memory_rows.required(connection, writable(reader), draft.memory.id)
                require_ongoing(connection, old)
                new = dated(draft.memory, version=old.version + 1, updated_at=now, status=old.status, key=old.key)
                memory_rows.rewrite(connection, old, new)
                vectors.put_vector(connection, reader, new, draft.vector, space)
                finish(connection, new, outcome, result, valence, now)
                return of(connection, [new])[0]

            return self._gate.write(reader, "episode", work, subject=draft.memory.id, receipt=receipt)

    def select(
        self,
        reader: Reader,
        *,
        ids: Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        outcomes: Sequence[EpisodeOutcome] = (),
        limit: int = 50,
    ) -> list[Episode]:
        """Return episodes, the latest first; or those of `ids`, in that order."""
        bounded(limit, self._gate.limits.page_limit, "a list of episodes")
        check_period(since, until)
        with self._gate.read(reader, "episodes") as connection:
            seen = readable(reader)
            if ids is not None:
                found = memory_rows.by_ids(connection, seen, ids)[:limit]
            else:
                keys = episode_keys(connection, seen, since=since, until=until, outcomes=outcomes, limit=limit)
                found = memory_rows.by_keys(connection, seen, keys)
            made = of(connection, found)
        self._gate.note(reader, "episodes", count=len(made))
        return made


def insert(connection: apsw.Connection, memory: Memory, goal: str, at: datetime, participants: Sequence[Participant]) -> Episode:
    meant = sealed.write_side("episodes", "goal", "?2", "?5", ("?1",))
    connection.execute(
        f"INSERT INTO episodes (memory, goal, outcome, result, valence, started_at) VALUES (?1, {meant}, ?3, '', 0, ?4)",
        (memory.key, goal, EpisodeOutcome.ONGOING, to_micros(at), memory.tier),
    )
    name, role = (sealed.write_side("participants", *what, "?4", ("?1",)) for what in (("name", "?2"), ("role", "?3")))
    connection.executemany(
        f"INSERT OR IGNORE INTO participants (memory, name, role) VALUES (?1, {name}, {role})",
        ((memory.key, one.name, one.role, memory.tier) for one in participants),
    )
    return of(connection, [memory])[0]


def append(connection: apsw.Connection, memory: Memory, event: EpisodeEvent) -> None:
    """Add an event; raise if the episode has ended."""
    require_ongoing(connection, memory)
    words = (("type", "?3"), ("text", "?4"), ("actor", "?5"))
    connection.execute(
        f"""
        INSERT INTO events (memory, number, at, type, text, actor, ok)
        SELECT ?1, n, ?2, {", ".join(sealed.write_side("events", *what, "?7", ("?1", "n")) for what in words)}, ?6
          FROM (SELECT coalesce(max(number), 0) + 1 AS n FROM events WHERE memory = ?1)
        """,
        (memory.key, to_micros(event.at), event.type, event.text, event.actor, _flag(event.ok), memory.tier),
    )


def _flag(ok: bool | None) -> int | None:
    return None if ok is None else int(ok)


def require_ongoing(connection: apsw.Connection, memory: Memory) -> None:
    outcome = connection.execute("SELECT outcome FROM episodes WHERE memory = ?", (memory.key,)).get
    if outcome is None:
        raise NotFound("this memory is not an episode.", way_out="See `engram episodes`.")
    if outcome != EpisodeOutcome.ONGOING:
        raise InvalidQuery("this episode has ended.", way_out="Begin another one; `caused_by` links it to this one.")


def finish(
    connection: apsw.Connection, memory: Memory, outcome: EpisodeOutcome, result: str, valence: float, at: datetime
) -> None:
    said = sealed.write_side("episodes", "result", "?3", "?6", ("?1",))
    connection.execute(
        f"UPDATE episodes SET outcome = ?2, result = {said}, valence = ?4, ended_at = ?5 WHERE memory = ?1",
        (memory.key, outcome, result, valence, None if outcome is EpisodeOutcome.ONGOING else to_micros(at), memory.tier),
    )


def last_ended(connection: apsw.Connection, seen: Visibility, session: str) -> str | None:
    """Return the id of the episode of a session that ended last."""
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
    """Return the keys of episodes that had not ended at `since` and began before `until`, the latest first."""
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
    """Return the episodes among these memories, in their order."""
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


def learned_from(connection: apsw.Connection, owned: Visibility, doomed: Sequence[Memory]) -> list[Memory]:
    """Return the memories that were learned, inferred or derived from these, merged into them, or read again from the same turn:
    they hold the same words, and are erased with them."""
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
        taught += _merged_into(connection, memory.key) + _read_again(connection, memory.key)
    known = {memory.id for memory in doomed}
    return memory_rows.by_ids(connection, owned, [one for one in dict.fromkeys(taught) if one not in known])


def _read_again(connection: apsw.Connection, key: int) -> list[str]:
    """Return the ids of the memories of the same turns that statements took the place of when the turns were read again."""
    found: list[Any] = connection.execute(
        """
        SELECT m.id FROM sources AS own JOIN sources AS kin ON kin.turn = own.turn JOIN memories AS m ON m.key = kin.memory
         WHERE own.memory = ? AND m.status = 'superseded'
           AND EXISTS (SELECT 1 FROM edges WHERE target = m.key AND kind = 'merged_from')
        """,
        (key,),
    ).fetchall()
    return [row[0] for row in found]


def _merged_into(connection: apsw.Connection, key: int) -> list[str]:
    """Return the ids of the memories that were merged into a memory, directly or in turn."""
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
