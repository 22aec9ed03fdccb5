"""Undo of a background pass: the figures of rows before and after it. They hold no words, because a pass changes none (except
the kinds of edges, which are deleted with either end).

The rows that a page can change are read before and after it, and the differences are stored, so that no kind of change needs an
inverse of its own. A figure is restored if it still is what the pass made it; later changes by others stay.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import to_micros
from engram.guard.visibility import Visibility
from engram.store.sqlite import feedback, memory_rows
from engram.store.sqlite.erasure import erase_memory
from engram.text.terms import identity_of
from engram.types import Status
from engram.values.edges import MERGED_FROM
from engram.values.episodes import REHEARSED
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from engram.store.rule_ports import StoreRules

LAYER = "layer"
_ROW, _STATUS, _EDGE, _TURN, _FACT, _ATTRIBUTE, MADE = "row", "status", "edge", "turn", "fact", "attribute", "made"
_FIGURES = (
    *("status", "importance", "confidence", "strength", "accesses", "accessed_at", "learned_at", "updated_at"),
    *("corroborations", "helpful", "unhelpful"),
)
_JUDGED = ("corroborations", "helpful", "unhelpful")
_LINK = ("weight", "confidence", "created_at", "reinforced_at")
_BATCH = 500

Figures = dict[str, Any]
Name = tuple[int, int, str, str]
"""Names one row: key of the memory, key of the other end of an edge (else 0), kind of row, and its number or name in that."""
Shape = dict[Name, Figures]


@frozen
class Undo:
    """A changed row: its name, its figures before the pass (None: no row), and after it."""

    memory: int
    other: int
    place: str
    part: str
    was: Figures | None
    now: Figures | None


def shape(connection: apsw.Connection, keys: Iterable[int]) -> Shape:
    """Read all rows of these memories that a pass can change."""
    rows: Shape = {}
    wanted = sorted(set(keys))
    for start in range(0, len(wanted), _BATCH):
        rows |= _shape(connection, wanted[start : start + _BATCH])
    return rows


def _shape(connection: apsw.Connection, keys: Sequence[int]) -> Shape:
    marks = ", ".join("?" * len(keys))
    found: Shape = {}
    for key, *figures in connection.execute(f"SELECT key, {', '.join(_FIGURES)} FROM memories WHERE key IN ({marks})", keys):
        found[int(key), 0, _ROW, ""] = dict(zip(_FIGURES, figures, strict=True))
    for memory, number, *change in connection.execute(
        f"SELECT memory, number, old, new, at FROM status_history WHERE memory IN ({marks})", keys
    ):
        found[int(memory), 0, _STATUS, str(number)] = dict(zip(("old", "new", "at"), change, strict=True))
    either = f"SELECT source, target, kind, {', '.join(_LINK)} FROM edges WHERE {{}} IN ({marks})"
    for side in ("source", "target"):
        for source, target, kind, *figures in connection.execute(either.format(side), keys):
            found[int(source), int(target), _EDGE, str(kind)] = dict(zip(_LINK, figures, strict=True))
    for memory, turn in connection.execute(f"SELECT memory, turn FROM sources WHERE memory IN ({marks})", keys):
        found[int(memory), 0, _TURN, str(turn)] = {}
    for memory, number, until in connection.execute(f"SELECT memory, number, until FROM facts WHERE memory IN ({marks})", keys):
        found[int(memory), 0, _FACT, str(number)] = {"until": until}
    ours = f"SELECT memory, name, value FROM attributes WHERE memory IN ({marks}) AND name IN ('{LAYER}', '{REHEARSED}')"
    for memory, name, value in connection.execute(ours, keys):
        found[int(memory), 0, _ATTRIBUTE, str(name)] = {"value": value}
    return found


def difference(before: Shape, after: Shape, made: Iterable[int]) -> list[Undo]:
    """Return the changes that turn `after` back into `before`. A memory that the pass made is removed with all its rows."""
    new = set(made)
    undos = [Undo(key, 0, MADE, "", None, after[key, 0, _ROW, ""]) for key in sorted(new)]
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if was == now or name[0] in new or name[1] in new:
            continue
        if name[2] == _ROW and was is not None and now is not None:
            changed = [figure for figure in _FIGURES if was[figure] != now[figure]]
            was, now = {figure: was[figure] for figure in changed}, {figure: now[figure] for figure in changed}
        undos.append(Undo(*name, was, now))
    return undos


def put(connection: apsw.Connection, number: int, undos: Sequence[Undo]) -> None:
    """Store the undos of a page of the pass of this number."""
    first = int(connection.execute("SELECT coalesce(max(number), 0) + 1 FROM undoing WHERE pass = ?", (number,)).get)
    connection.executemany(
        "INSERT INTO undoing (pass, number, memory, other, place, part, was, now) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                number,
                first + index,
                undo.memory,
                undo.other or None,
                undo.place,
                undo.part,
                _to_json(undo.was),
                _to_json(undo.now),
            )
            for index, undo in enumerate(undos)
        ),
    )


def spared(connection: apsw.Connection, keys: Sequence[int]) -> set[int]:
    """Return those of these memories that were restored, singly or by undoing a pass: no pass retires them again."""
    spared: set[int] = set()
    for start in range(0, len(keys), _BATCH):
        batch = keys[start : start + _BATCH]
        sql = f"""
            SELECT u.memory FROM undoing AS u JOIN passes AS p ON p.key = u.pass
             WHERE u.memory IN ({", ".join("?" * len(batch))}) AND u.place = '{_STATUS}' AND p.ending = 'undone'
        """
        spared |= {int(row[0]) for row in connection.execute(sql, batch)}
        restored = f"""
            SELECT memory FROM status_history
             WHERE memory IN ({", ".join("?" * len(batch))}) AND new = 'active'
               AND old IN ('merged', 'archived', 'superseded', 'challenged')
        """
        spared |= {int(row[0]) for row in connection.execute(restored, batch)}
    return spared


def back(
    connection: apsw.Connection, rules: StoreRules, seen: Visibility, number: int, began: datetime, now: datetime
) -> tuple[dict[int, str], int]:
    """Undo the pass of this number; return the ids, by key, of restored memories, and how many changes were left."""
    rows: list[Any] = connection.execute(
        "SELECT memory, coalesce(other, 0), place, part, was, now FROM undoing WHERE pass = ? ORDER BY number DESC", (number,)
    ).fetchall()
    undos = [Undo(key, other, place, part, _from_json(was), _from_json(made)) for key, other, place, part, was, made in rows]
    keep = _not_to_return(connection, seen, undos, to_micros(began))
    standing = shape(connection, {one.memory for one in undos})
    restored: dict[int, None] = {}
    ids = {memory.key: memory.id for memory in memory_rows.by_keys(connection, seen, [one.memory for one in undos])}
    left = 0
    for undo in undos:
        if undo.memory in keep or undo.other in keep or undo.memory not in ids or not _back(connection, rules, undo, standing):
            left += 1
        else:
            restored[undo.memory] = None
    for key in restored:
        memory_rows.log_change(connection, key, "update")
    return {key: ids[key] for key in restored}, left


def _not_to_return(connection: apsw.Connection, seen: Visibility, undos: Sequence[Undo], began: int) -> set[int]:
    """Return the memories that an undo must not restore (M19): corrected since, or merged into one that was reworded or retired
    since."""
    retired = [one.memory for one in undos if one.place == _ROW and (one.was or {}).get("status") == Status.ACTIVE]
    digests = {memory.key: identity_of(memory) for memory in memory_rows.by_keys(connection, seen, retired)}
    wrong = feedback.corrected(connection, seen, list(digests.values()))
    keep = {key for key, digest in digests.items() if digest in wrong}
    merges = [(one.memory, one.other) for one in undos if one.place == _EDGE and one.part == MERGED_FROM]
    ours = {one.memory for one in undos if one.place == _ROW and "status" in (one.now or {})}
    reworded = "SELECT EXISTS (SELECT 1 FROM versions WHERE memory = ? AND replaced_at >= ?)"
    for survivor, key in merges:
        status = connection.execute("SELECT status FROM memories WHERE key = ?", (survivor,)).get
        active = survivor in ours or status == Status.ACTIVE
        if not active or connection.execute(reworded, (survivor, began)).get:
            keep.add(key)
    return keep


def _back(connection: apsw.Connection, rules: StoreRules, undo: Undo, standing: Shape) -> bool:
    """Restore one row, in the database and in `standing`, the present state; False if it is not what the pass made it."""
    if undo.place == MADE:
        return _unmake(connection, rules, undo)
    name = undo.memory, undo.other, undo.place, undo.part
    current = standing.get(name)
    if undo.place == _ROW:
        return current is not None and _put_figures(connection, undo, current)
    if current != undo.now:
        return False
    key, part, was = undo.memory, undo.part, undo.was
    if was is None:
        standing.pop(name, None)
    else:
        standing[name] = was
    if undo.place == _STATUS:
        connection.execute("DELETE FROM status_history WHERE memory = ? AND number = ?", (key, int(part)))
    elif undo.place == _TURN:
        connection.execute("DELETE FROM sources WHERE memory = ? AND turn = ?", (key, int(part)))
    elif undo.place == _FACT:
        connection.execute("UPDATE facts SET until = ? WHERE memory = ? AND number = ?", ((was or {})["until"], key, int(part)))
    elif undo.place == _ATTRIBUTE:
        _put_attribute(connection, key, undo.part, was)
    else:
        _put_edge(connection, (key, undo.other, part), was)
    return True


def _unmake(connection: apsw.Connection, rules: StoreRules, undo: Undo) -> bool:
    """Delete a memory that the pass made, unless it was reworded, pinned, judged or corroborated since."""
    now, made = memory_rows.by_key(connection, undo.memory), undo.now or {}
    judged = (now.corroborations, now.helpful, now.unhelpful) != tuple(made[one] for one in _JUDGED)
    if now.pinned or now.version > 1 or judged:
        return False
    erase_memory(connection, rules, now)
    return True


def _put_figures(connection: apsw.Connection, undo: Undo, current: Figures) -> bool:
    was, now = undo.was or {}, undo.now or {}
    same = [figure for figure in now if current[figure] == now[figure]]
    if same:
        columns = ", ".join(f"{figure} = ?" for figure in same)
        connection.execute(f"UPDATE memories SET {columns} WHERE key = ?", (*(was[one] for one in same), undo.memory))
        current |= {one: was[one] for one in same}
    return len(same) == len(now)


def _put_attribute(connection: apsw.Connection, key: int, name: str, was: Figures | None) -> None:
    connection.execute("DELETE FROM attributes WHERE memory = ? AND name = ?", (key, name))
    if was is not None:
        connection.execute("INSERT INTO attributes (memory, name, value) VALUES (?, ?, ?)", (key, name, was["value"]))


def _put_edge(connection: apsw.Connection, edge: tuple[int, int, str], was: Figures | None) -> None:
    if was is None:
        connection.execute("DELETE FROM edges WHERE source = ? AND target = ? AND kind = ?", edge)
        return
    columns = ("source", "target", "kind", *_LINK)
    sql = f"INSERT OR REPLACE INTO edges ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    connection.execute(sql, (*edge, *(was[one] for one in _LINK)))


def _to_json(figures: Figures | None) -> str | None:
    return None if figures is None else json.dumps(figures, separators=(",", ":"))


def _from_json(text: str | None) -> Figures | None:
    return None if text is None else dict(json.loads(text))
