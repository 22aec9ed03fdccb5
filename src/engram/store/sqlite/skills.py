"""Skills: the side tables of a skill's memory, with its record of practice and its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import from_micros
from engram.guard.visibility import Visibility, readable, require_writable, writable
from engram.store.receipts import ReceiptRequest
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import edges, memory_rows, vectors
from engram.store.sqlite.rows import Value, micros
from engram.store.sqlite.visibility import predicate
from engram.store.validation import check_memory, dated
from engram.types import Draft, Edge, Memory, Reader, Space
from engram.values.episodes import (
    LEARNED_FROM,
    Cue,
    FailureMode,
    Practice,
    Precondition,
    Refinement,
    Skill,
    SkillStep,
)
from engram.values.frozen import replace

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


_CUE, _PRECONDITION, _STEP, _FAILURE, _REFINEMENT = "cue", "precondition", "step", "failure", "refinement"


class Skills:
    """Skills learned from episodes."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def put(
        self,
        reader: Reader,
        skill: Skill,
        draft: Draft,
        *,
        sources: Sequence[str] = (),
        space: Space | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> Skill:
        """Store a new or changed skill. `sources`: ids of the episodes it was learned from."""
        with self._gate.watched(reader, "skill", draft.memory.id):
            check_memory(draft.memory, self._gate.live.now)
            require_writable(reader, draft.memory.scope)
            now = self._gate.env.now()

            def work(connection: apsw.Connection) -> Skill:
                memory = self._put_memory(connection, reader, draft, space, now)
                put(connection, replace(skill, memory=memory))
                taught = [Edge(memory.id, source, LEARNED_FROM) for source in sources]
                edges.put(connection, writable(reader), taught, now, self._gate.rules)
                return of(connection, [memory])[0]

            return self._gate.write(reader, "skill", work, subject=draft.memory.id, receipt=receipt)

    def _put_memory(
        self, connection: apsw.Connection, reader: Reader, draft: Draft, space: Space | None, now: datetime
    ) -> Memory:
        if not draft.memory.id:
            memory = memory_rows.insert(connection, self._gate.new_memory(draft.memory, draft.memory.scope, now))
            vectors.put_new(connection, memory.key, space, draft.vector)
            return memory
        old = memory_rows.required(connection, writable(reader), draft.memory.id)
        changed = draft.memory.text != old.text
        new = dated(draft.memory, version=old.version + changed, updated_at=now, status=old.status, key=old.key)
        memory_rows.rewrite(connection, old, new)
        if changed:
            vectors.put_vector(connection, reader, new, draft.vector, space)
        return new

    def select(self, reader: Reader, *, ids: Sequence[str] | None = None, limit: int = 500) -> list[Skill]:
        """Return active skills, the newest first; or those of `ids`."""
        with self._gate.read(reader, "skills") as connection:
            seen = readable(reader)
            found = (
                memory_rows.by_ids(connection, seen, ids)
                if ids is not None
                else memory_rows.by_keys(connection, seen, keys(connection, seen, limit))
            )
            made = of(connection, found)
        self._gate.note(reader, "skills", count=len(made))
        return made


def put(connection: apsw.Connection, skill: Skill) -> None:
    """Replace the rows of a skill; its memory exists."""
    key, done = skill.memory.key, skill.practice
    connection.execute("DELETE FROM skills WHERE memory = ?", (key,))
    connection.execute(
        f"""
        INSERT INTO skills (memory, name, threshold, executions, successes, failures, partials, rate, seconds, used_at)
        VALUES (?1, {sealed.write_side("skills", "name", "?2", "?11", ("?1",))}, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
        """,
        (
            key,
            skill.name,
            skill.threshold,
            done.executions,
            done.successes,
            done.failures,
            done.partials,
            done.rate,
            done.seconds,
            micros(done.used_at),
            skill.memory.tier,
        ),
    )
    row = ("?1", "?2", "?3")
    text, extra = (sealed.write_side("skill_parts", *what, "?9", row) for what in (("text", "?4"), ("extra", "?5")))
    connection.executemany(
        f"""
        INSERT INTO skill_parts (memory, part, number, text, extra, weight, count, at)
        VALUES (?1, ?2, ?3, {text}, {extra}, ?6, ?7, ?8)
        """,
        ((key, *part, skill.memory.tier) for part in _parts(skill)),
    )


def _parts(skill: Skill) -> Iterator[tuple[Value, ...]]:
    """Yield the rows of a skill: (part, number, text, extra, weight, count, at)."""
    for n, cue in enumerate(skill.cues):
        yield _CUE, n, cue.stem, "", cue.weight, 0, None
    for n, condition in enumerate(skill.preconditions):
        yield _PRECONDITION, n, condition.name, condition.value, 0.0, 0, None
    for n, step in enumerate(skill.steps):
        yield _STEP, n, step.text, step.on_failure, 0.0, 0, None
    for n, mode in enumerate(skill.failure_modes):
        yield _FAILURE, n, mode.text, mode.recovery, 0.0, mode.occurrences, micros(mode.last_at)
    for n, one in enumerate(skill.refinements):
        yield _REFINEMENT, n, one.text, one.episode, 0.0, 0, micros(one.at)


def keys(connection: apsw.Connection, seen: Visibility, limit: int) -> list[int]:
    """Return the keys of active skills, the newest first."""
    visible, values = predicate(seen, "m.scope")
    found: list[Any] = connection.execute(
        f"""
        SELECT m.key FROM skills AS k JOIN memories AS m ON m.key = k.memory
         WHERE m.status = 'active' AND {visible} ORDER BY m.key DESC LIMIT ?
        """,
        (*values, limit),
    ).fetchall()
    return [row[0] for row in found]


def of(connection: apsw.Connection, found: Sequence[Memory]) -> list[Skill]:
    """Return the skills among these memories, in their order."""
    return [skill for memory in found if (skill := _skill(connection, memory)) is not None]


def _skill(connection: apsw.Connection, memory: Memory) -> Skill | None:
    figures = "s.threshold, s.executions, s.successes, s.failures, s.partials, s.rate, s.seconds, s.used_at"
    sql = f"SELECT {sealed.read_side('skills', 'name', 's')}, {figures} FROM skills AS s WHERE s.memory = ?"
    rows: list[Any] = connection.execute(sql, (memory.key,)).fetchall()
    if not rows:
        return None
    name, threshold, executions, successes, failures, partials, rate, seconds, used_at = rows[0]
    parts: dict[str, list[tuple[Any, ...]]] = {}
    row: Any
    text, extra = (sealed.read_side("skill_parts", what, "p") for what in ("text", "extra"))
    sql = (
        f"SELECT p.part, {text}, {extra}, p.weight, p.count, p.at FROM skill_parts AS p WHERE p.memory = ? ORDER BY part, number"
    )
    for row in connection.execute(sql, (memory.key,)):
        parts.setdefault(row[0], []).append(row[1:])
    return Skill(
        memory=memory,
        name=name,
        cues=tuple(Cue(text, weight) for text, _, weight, _, _ in parts.get(_CUE, ())),
        threshold=threshold,
        preconditions=tuple(Precondition(text, extra) for text, extra, *_ in parts.get(_PRECONDITION, ())),
        steps=tuple(SkillStep(text, extra) for text, extra, *_ in parts.get(_STEP, ())),
        practice=Practice(
            executions, successes, failures, partials, rate, seconds, None if used_at is None else from_micros(used_at)
        ),
        failure_modes=tuple(FailureMode(text, extra, n, _at(at)) for text, extra, _, n, at in parts.get(_FAILURE, ())),
        refinements=tuple(Refinement(text, extra, _at(at)) for text, extra, _, _, at in parts.get(_REFINEMENT, ())),
    )


def _at(moment: int | None) -> datetime:
    return from_micros(moment or 0)
