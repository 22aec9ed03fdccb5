"""Sensitivity tiers of rows that belong to a memory or were derived from it (§10.24.2), and sealing of rows of older releases.

Side columns (`connection.SIDE_TABLES`) are resealed with the memory's row. This module handles the rest: entities it names, the
turns it came from, and the memories derived from it. A tier is only raised in this way; a user lowers it memory by memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import from_micros
from engram.guard.visibility import readable, require_owner
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import entities, gaps, memory_rows, turns
from engram.store.sqlite.visibility import predicate
from engram.text.terms import identity_of
from engram.types import Memory, Reader, Sensitivity, StatusChange
from engram.values.edges import DERIVED
from engram.values.frozen import replace
from engram.values.identity import strictest

if TYPE_CHECKING:
    from engram.store.rule_ports import StoreRules
    from engram.store.sqlite.gate import Gate


_DONE, _TURNS, _MEMORIES = "sealed_all", "sealed_turns_to", "sealed_to"

_TIERS_SINCE = "SELECT coalesce(max(applied_at), 0) FROM schema_version WHERE version = 4"
"""Time of the migration since which every memory gets a tier when stored; one not updated since has none."""


_OWN_WORDS = tuple(table for table in sealed.SIDE_TABLES if table != "facts")
"""Side tables that are checked for personal words beside a cleartext memory; its facts repeat its own words, in the clear."""


_KINDS = ", ".join(f"'{kind}'" for kind in sorted(DERIVED))

_CAME_OF = f"""
    SELECT source FROM edges WHERE target = ?1 AND kind IN ({_KINDS})
    UNION SELECT target FROM edges WHERE source = ?1 AND kind = 'merged_from'
"""
"""SQL of the memories that share the words of a memory: derived from it, or merged into it."""


class SealedRows:
    """Rows written by earlier releases, sealed and screened as those of today."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def seal_old(self, reader: Reader, *, limit: int) -> int:
        """Seal a page of personal turns and memories that older releases stored in the clear; return the number of rows read,
        0 when done."""
        with self._gate.watched(reader, "seal_old"):
            require_owner(reader, "sealing the whole vault")
            with self._gate.readers.use("seal_old") as connection:
                if connection.execute("SELECT 1 FROM meta WHERE name = ?", (_DONE,)).get:
                    return 0
            guarded = self._gate.live.now.guard_personal
            return self._gate.writer.run(
                lambda connection: _seal_page(connection, self._gate.rules, limit, guarded), "sealing old rows"
            )

    def screened_otherwise(self, reader: Reader, edition: int, *, after: int, limit: int) -> list[Memory]:
        """Return memories above a key that were screened by another edition of the rules, or not at all."""
        visible, values = predicate(readable(reader), "m.scope")
        sql = f"SELECT m.key FROM memories AS m WHERE m.key > ? AND m.screened <> ? AND {visible} ORDER BY m.key LIMIT ?"
        with self._gate.read(reader, "screen") as connection:
            found: list[Any] = connection.execute(sql, (after, edition, *values, limit)).fetchall()
            return memory_rows.by_keys(connection, readable(reader), [row[0] for row in found])

    def put_screened(self, reader: Reader, edition: int, verdicts: Mapping[int, str]) -> int:
        """Store the edition of the rules that screened memories, flag those with a reason, and return how many were flagged.

        A memory that this edition has screened already is skipped. The reason is stored in the memory's status history.
        """
        with self._gate.watched(reader, "screen"):
            require_owner(reader, "screening the whole vault")

            def work(connection: apsw.Connection) -> int:
                flagged = 0
                for memory in memory_rows.by_keys(connection, readable(reader), list(verdicts)):
                    if memory.screened == edition:
                        continue
                    reason = "" if memory.flagged else verdicts[memory.key]
                    sql = "UPDATE memories SET screened = ?, flagged = flagged OR ? WHERE key = ?"
                    connection.execute(sql, (edition, bool(reason), memory.key))
                    if reason:  # `screened` alone is no change for indexes and subscribers
                        flagged += 1
                        memory_rows.log_change(connection, memory.key, "update")
                        change = StatusChange(memory.status, memory.status, reason, self._gate.env.now())
                        memory_rows.log_status(connection, memory, change)
                return flagged

            return self._gate.writer.run(work, "screening old memories")


def mark_sealed(connection: apsw.Connection) -> None:
    """Mark a vault as having no unsealed rows of older releases."""
    connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, 1)", (_DONE,))


def _seal_page(connection: apsw.Connection, rules: StoreRules, limit: int, guarded: bool) -> int:
    if guarded and (rows := _seal_turns(connection, rules, limit)):
        return rows
    if rows := _seal_memories(connection, rules, limit, guarded):
        return rows
    gaps.seal_old(connection)
    connection.execute("DELETE FROM meta WHERE name IN (?, ?)", (_TURNS, _MEMORIES))
    mark_sealed(connection)
    return 0


def _seal_turns(connection: apsw.Connection, rules: StoreRules, limit: int) -> int:
    sql = "SELECT key, tier, text FROM turns WHERE key > ? ORDER BY key LIMIT ?"
    found: list[Any] = connection.execute(sql, (_progress(connection, _TURNS), limit)).fetchall()
    for key, tier, text in found:
        wanted = rules.sensitivity(text) if tier == Sensitivity.CLEARTEXT else Sensitivity.CLEARTEXT
        if wanted is not Sensitivity.CLEARTEXT:
            turns.raise_tier(connection, key, wanted)
    return _advance(connection, _TURNS, [row[0] for row in found])


def _seal_memories(connection: apsw.Connection, rules: StoreRules, limit: int, guarded: bool) -> int:
    since = from_micros(int(connection.execute(_TIERS_SINCE).get))
    sql = "SELECT key FROM memories WHERE key > ? ORDER BY key LIMIT ?"
    keys: list[Any] = connection.execute(sql, (_progress(connection, _MEMORIES), limit)).fetchall()
    for (key,) in keys:
        memory = memory_rows.by_key(connection, key)
        if memory.tier is Sensitivity.CLEARTEXT and guarded and (memory.updated_at or since) < since:
            raise_memory_tier(connection, rules, key, rules.sensitivity(memory.text))
            memory = memory_rows.by_key(connection, key)
        if memory.tier is Sensitivity.CLEARTEXT:
            sealed.retier(connection, key, memory.tier, memory.tier, _OWN_WORDS)
            continue
        sealed.retier(connection, key, memory.tier, memory.tier)
        connection.execute(
            "UPDATE contents SET digest = blind(digest) WHERE memory = ? AND digest = ?", (key, identity_of(memory))
        )
        if memory.tier is Sensitivity.CONFIDENTIAL:  # feedback vectors may be unprojected, which does not show: all are dropped
            connection.execute("UPDATE feedback SET vector = x'', space = NULL WHERE memory = ?", (key,))
        propagate_tier(connection, rules, memory)
    return _advance(connection, _MEMORIES, [row[0] for row in keys])


def _progress(connection: apsw.Connection, name: str) -> int:
    return int(connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).get or 0)


def _advance(connection: apsw.Connection, name: str, keys: list[int]) -> int:
    if keys:
        connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (name, keys[-1]))
    return len(keys)


def propagate_tier(connection: apsw.Connection, rules: StoreRules, memory: Memory) -> None:
    """Apply the tier of a memory to its names, turns and derived memories, recursively."""
    waiting = [memory]
    while waiting:
        here = waiting.pop()
        if here.tier is Sensitivity.CLEARTEXT:
            continue
        entities.unlink_mentions(connection, rules, here.key)  # entities are listed in the clear
        turns.raise_source_tiers(connection, here.key)
        derived: list[Any] = connection.execute(_CAME_OF, (here.key,)).fetchall()
        waiting += filter(None, (_raised(connection, key, here.tier) for (key,) in derived))


def inherit(connection: apsw.Connection, rules: StoreRules, pairs: Iterable[tuple[int, int]]) -> None:
    """Raise each first memory, which was derived from the second, to at least the second's tier, and its derivations in turn."""
    for key, origin in pairs:
        asked = connection.execute("SELECT tier FROM memories WHERE key = ?", (origin,)).get
        raise_memory_tier(connection, rules, key, Sensitivity(str(asked)))


def raise_memory_tier(connection: apsw.Connection, rules: StoreRules, key: int, tier: Sensitivity) -> bool:
    """Raise a memory to at least this tier; True if it was below."""
    raised = _raised(connection, key, tier)
    if raised is not None:
        propagate_tier(connection, rules, raised)
    return raised is not None


def _raised(connection: apsw.Connection, key: int, tier: Sensitivity) -> Memory | None:
    """Raise the row of a memory to at least this tier; return it if it was below."""
    held = connection.execute("SELECT tier FROM memories WHERE key = ?", (key,)).get
    if held is None or (wanted := strictest(Sensitivity(str(held)), tier)) == held:
        return None
    old = memory_rows.by_key(connection, key)
    new = replace(old, tier=wanted)
    memory_rows.rewrite(connection, old, new)
    return new
