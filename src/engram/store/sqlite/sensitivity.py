"""What belongs to a memory, or came of it, is kept as closely as it is (§10.24.2).

The words beside it are in `sealed.BESIDE` and change with its row. Here is what is more than its row: who it names, the turns it
came from, and the memories that were derived from it. A tier is only ever handed on upwards; it is lowered by hand, one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import from_micros
from engram.guard.visibility import readable, require_owner
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import facts, gaps, memory_rows, turns
from engram.store.sqlite.rows import predicate
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
"""Since when a memory's tier is decided when it is kept: one that was not touched since has none."""


_OWN_WORDS = tuple(table for table in sealed.BESIDE if table != "facts")
"""Beside a cleartext memory: its facts are its own words, which are in the clear."""


def is_new(connection: apsw.Connection) -> None:
    """A vault that this release makes has nothing old in it."""
    connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, 1)", (_DONE,))


def _seal_page(connection: apsw.Connection, rules: StoreRules, limit: int, guarded: bool) -> int:
    if guarded and (looked := _seal_turns(connection, rules, limit)):
        return looked
    if looked := _seal_memories(connection, rules, limit, guarded):
        return looked
    gaps.seal_old(connection)
    connection.execute("DELETE FROM meta WHERE name IN (?, ?)", (_TURNS, _MEMORIES))
    is_new(connection)
    return 0


def _seal_turns(connection: apsw.Connection, rules: StoreRules, limit: int) -> int:
    sql = "SELECT key, tier, text FROM turns WHERE key > ? ORDER BY key LIMIT ?"
    found: list[Any] = connection.execute(sql, (_reached(connection, _TURNS), limit)).fetchall()
    for key, tier, text in found:
        wanted = rules.sensitivity(text) if tier == Sensitivity.CLEARTEXT else Sensitivity.CLEARTEXT
        if wanted is not Sensitivity.CLEARTEXT:
            turns.raise_tier(connection, key, wanted)
    return _reach(connection, _TURNS, [row[0] for row in found])


def _seal_memories(connection: apsw.Connection, rules: StoreRules, limit: int, guarded: bool) -> int:
    since = from_micros(int(connection.execute(_TIERS_SINCE).get))
    sql = "SELECT key FROM memories WHERE key > ? ORDER BY key LIMIT ?"
    keys: list[Any] = connection.execute(sql, (_reached(connection, _MEMORIES), limit)).fetchall()
    for (key,) in keys:
        memory = memory_rows.by_key(connection, key)
        if memory.tier is Sensitivity.CLEARTEXT and guarded and (memory.updated_at or since) < since:
            raise_to(connection, key, rules.sensitivity(memory.text))
            memory = memory_rows.by_key(connection, key)
        if memory.tier is Sensitivity.CLEARTEXT:
            sealed.retier(connection, key, memory.tier, memory.tier, _OWN_WORDS)
            continue
        sealed.retier(connection, key, memory.tier, memory.tier)
        connection.execute(
            "UPDATE contents SET digest = blind(digest) WHERE memory = ? AND digest = ?", (key, identity_of(memory))
        )
        if memory.tier is Sensitivity.CONFIDENTIAL:  # whether a feedback vector is projected cannot be told, so all are dropped
            connection.execute("UPDATE feedback SET vector = x'', space = NULL WHERE memory = ?", (key,))
        follow(connection, memory)
    return _reach(connection, _MEMORIES, [row[0] for row in keys])


def _reached(connection: apsw.Connection, name: str) -> int:
    return int(connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).get or 0)


def _reach(connection: apsw.Connection, name: str, keys: list[int]) -> int:
    if keys:
        connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (name, keys[-1]))
    return len(keys)


_KINDS = ", ".join(f"'{kind}'" for kind in sorted(DERIVED))

_CAME_OF = f"""
    SELECT source FROM edges WHERE target = ?1 AND kind IN ({_KINDS})
    UNION SELECT target FROM edges WHERE source = ?1 AND kind = 'merged_from'
"""
"""What has its words: what came of it, and what was merged into it because it says the same."""


def follow(connection: apsw.Connection, memory: Memory) -> None:
    """Bring what hangs on a memory in line with a tier that its row has by now; and what came of it, however far on."""
    waiting = [memory]
    while waiting:
        here = waiting.pop()
        if here.tier is Sensitivity.CLEARTEXT:
            continue
        facts.unname(connection, here.key)  # names stand in the clear
        turns.keep_closely(connection, here.key)
        derived: list[Any] = connection.execute(_CAME_OF, (here.key,)).fetchall()
        waiting += filter(None, (_raised(connection, key, here.tier) for (key,) in derived))


def inherit(connection: apsw.Connection, pairs: Iterable[tuple[int, int]]) -> None:
    """Let each first memory, which came of the second, be kept at least as closely; and what came of it in turn."""
    for key, origin in pairs:
        asked = connection.execute("SELECT tier FROM memories WHERE key = ?", (origin,)).get
        raise_to(connection, key, Sensitivity(str(asked)))


def raise_to(connection: apsw.Connection, key: int, tier: Sensitivity) -> bool:
    """Keep a memory at least so closely; was it not before?"""
    raised = _raised(connection, key, tier)
    if raised is not None:
        follow(connection, raised)
    return raised is not None


def _raised(connection: apsw.Connection, key: int, tier: Sensitivity) -> Memory | None:
    """A memory whose row had to be raised, as it is now."""
    held = connection.execute("SELECT tier FROM memories WHERE key = ?", (key,)).get
    if held is None or (wanted := strictest(Sensitivity(str(held)), tier)) == held:
        return None
    old = memory_rows.by_key(connection, key)
    new = replace(old, tier=wanted)
    memory_rows.rewrite(connection, old, new)
    return new


class SealedRows:
    """Rows written by earlier releases, sealed and screened as those of today."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def seal_old(self, reader: Reader, *, limit: int) -> int:
        """Seal what was left in the clear before it was known to be personal, or before it was sealed at all: how many rows of
        turns or memories were looked at; 0 if all were."""
        with self._gate.watched(reader, "seal_old"):
            require_owner(reader, "sealing all that is kept")
            with self._gate.readers.use("seal_old") as connection:
                if connection.execute("SELECT 1 FROM meta WHERE name = ?", (_DONE,)).get:
                    return 0
            guarded = self._gate.live.now.guard_personal
            return self._gate.writer.run(
                lambda connection: _seal_page(connection, self._gate.rules, limit, guarded), "sealing what is old"
            )

    def screened_otherwise(self, reader: Reader, edition: int, *, after: int, limit: int) -> list[Memory]:
        """Memories above a key that were judged by another edition of the rules, or by none."""
        visible, values = predicate(readable(reader), "m.scope")
        sql = f"SELECT m.key FROM memories AS m WHERE m.key > ? AND m.screened <> ? AND {visible} ORDER BY m.key LIMIT ?"
        with self._gate.read(reader, "screen") as connection:
            found: list[Any] = connection.execute(sql, (after, edition, *values, limit)).fetchall()
            return memory_rows.by_keys(connection, readable(reader), [row[0] for row in found])

    def put_screened(self, reader: Reader, edition: int, verdicts: Mapping[int, str]) -> int:
        """Keep by which rules memories were judged, and flag those that have a reason; how many were flagged.

        One that was changed since, or that somebody has looked at, is left alone. The reason stands in the memory's history.
        """
        with self._gate.watched(reader, "screen"):
            require_owner(reader, "judging all that is kept")

            def work(connection: apsw.Connection) -> int:
                flagged = 0
                for memory in memory_rows.by_keys(connection, readable(reader), list(verdicts)):
                    if memory.screened == edition:
                        continue
                    reason = "" if memory.flagged else verdicts[memory.key]
                    sql = "UPDATE memories SET screened = ?, flagged = flagged OR ? WHERE key = ?"
                    connection.execute(sql, (edition, bool(reason), memory.key))
                    if reason:  # nothing else that anybody follows has changed
                        flagged += 1
                        memory_rows.log_change(connection, memory.key, "update")
                        change = StatusChange(memory.status, memory.status, reason, self._gate.env.now())
                        memory_rows.log_status(connection, memory, change)
                return flagged

            return self._gate.writer.run(work, "judging what is old")
