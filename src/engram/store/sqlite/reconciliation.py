"""Changes to stored memories that follow from new ones, made in the transaction that stores the new ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import apsw

from engram.errors import Conflict
from engram.guard.visibility import readable, writable
from engram.store.sqlite import edges as links
from engram.store.sqlite import entities, facts, memory_rows, sensitivity, turns, working
from engram.store.sqlite.rows import intern
from engram.types import Fact, Memory, Policy, Reader, Replacement, Role, Sensitivity, Status
from engram.values.facts import Consequences, FactOutcome, Occasion, ParsedText
from engram.values.frozen import replace
from engram.values.memories import VALID

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


INFERRED_FROM = "inferred_from"

_ANYONE = readable(Reader(policy=Policy.ALL, role=Role.OWNER))


def _lost_premises(connection: apsw.Connection, key: int) -> list[int]:
    """Return the keys of those premises of an inferred memory that no longer hold or were reworded since.

    A merged premise still holds, because the memory it was merged into is a premise too.
    """
    rows: list[Any] = connection.execute(
        """
        SELECT p.key FROM memories AS m JOIN edges AS e ON e.source = m.key JOIN memories AS p ON p.key = e.target
         WHERE m.key = ? AND m.source = 'inferred' AND e.kind = ? AND (p.status NOT IN ('active', 'challenged', 'merged')
               OR EXISTS (SELECT 1 FROM versions AS v WHERE v.memory = p.key AND v.replaced_at >= m.learned_at))
        """,
        (key, INFERRED_FROM),
    ).fetchall()
    return [int(row[0]) for row in rows]


def _inferences_from(connection: apsw.Connection, premise: int) -> list[str]:
    rows: list[Any] = connection.execute(
        """
        SELECT m.id FROM edges AS e JOIN memories AS m ON m.key = e.source
         WHERE e.target = ? AND e.kind = ? AND m.source = 'inferred'
        """,
        (premise, INFERRED_FROM),
    ).fetchall()
    return [row[0] for row in rows]


class Reconciliation:
    """Applies the consequences of new, corroborated or reinstated memories, in the transaction that stores these."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def reconcile(
        self,
        connection: apsw.Connection,
        reader: Reader,
        made: Sequence[Memory],
        now: datetime,
        readings: Mapping[str, ParsedText] | None = None,
    ) -> list[Memory]:
        """Store the mentions and facts of new memories, and supersede the memories that they outdate.

        `readings`: by id, the mentions and facts of memories that were read before the transaction. The facts of a sealed memory
        are stored sealed, so that a new phone number supersedes the old one.
        """
        known = readings or {}
        scopes = {scope: intern(connection, scope) for scope in {memory.scope for memory in made}}
        return [
            self._reconcile_one(
                connection, reader, memory, now, known.get(memory.id) or self._gate.rules.read(memory), scopes[memory.scope]
            )
            for memory in made
        ]

    def _reconcile_one(
        self, connection: apsw.Connection, reader: Reader, memory: Memory, now: datetime, reading: ParsedText, scope: int
    ) -> Memory:
        rules = self._gate.rules
        rules.record_mentions(entities.SqliteEntities(connection, scope), memory.key, reading.mentions)
        if not reading.facts:
            return memory
        outcomes = rules.record_facts(facts.SqliteFacts(connection, scope, rules), memory, reading.facts)
        return self._follow(connection, reader, memory, outcomes, Occasion.STATED, now)

    def state(
        self, connection: apsw.Connection, reader: Reader, memory: Memory, stated: Sequence[Fact], first: int, now: datetime
    ) -> Memory:
        """Store more facts of a stored memory, numbered from `first`, and supersede the memories that they outdate."""
        rules, scope = self._gate.rules, intern(connection, memory.scope)
        if memory.tier is Sensitivity.CLEARTEXT:
            rules.record_mentions(entities.SqliteEntities(connection, scope), memory.key, rules.read(memory, stated).mentions)
        outcomes = rules.record_facts(facts.SqliteFacts(connection, scope, rules), memory, stated, first)
        return self._follow(connection, reader, memory, outcomes, Occasion.STATED, now)

    def replace_earlier(
        self, connection: apsw.Connection, reader: Reader, memory: Memory, replacements: Sequence[Replacement], now: datetime
    ) -> Memory:
        """Supersede or challenge the memories of the same scope that a new memory replaces; return the new memory as it is then.

        `replacements` name memories by id. One that is gone, no longer valid or in another scope is left out; one that somebody
        restored or confirmed is challenged at most.
        """
        by_id = {one.earlier: one for one in replacements if isinstance(one.earlier, str) and one.earlier != memory.id}
        found = memory_rows.by_ids(connection, writable(reader), list(by_id)) if by_id else []
        earlier = [
            (one, replace(by_id[one.id], sure=by_id[one.id].sure and not memory_rows.was_reinstated(connection, one.key)))
            for one in found
            if one.status in VALID and one.scope == memory.scope
        ]
        return self.apply(connection, reader, memory, self._gate.rules.replaced(memory, earlier), now) if earlier else memory

    def apply_tier(self, connection: apsw.Connection, memory: Memory) -> None:
        """Apply the changed tier of a memory. Its facts are the same; it has mentions only if it is cleartext now."""
        rules = self._gate.rules
        sensitivity.propagate_tier(connection, rules, memory)
        if memory.tier is not Sensitivity.CLEARTEXT:
            turns.drop_words_carried_from(connection, memory.key, memory.tier)
        else:
            table = entities.SqliteEntities(connection, intern(connection, memory.scope))
            known = entities.stored_mentions(connection, memory)
            rules.record_mentions(table, memory.key, rules.read(memory, (), known).mentions)

    def _follow(
        self,
        connection: apsw.Connection,
        reader: Reader,
        memory: Memory,
        outcomes: Sequence[FactOutcome],
        occasion: Occasion,
        now: datetime,
    ) -> Memory:
        if not outcomes:
            return memory
        from_turns = bool(turns.sources_of(connection, memory.key))
        return self.apply(
            connection, reader, memory, self._gate.rules.consequences(memory, outcomes, occasion, from_turns=from_turns), now
        )

    def apply(self, connection: apsw.Connection, reader: Reader, memory: Memory, decided: Consequences, now: datetime) -> Memory:
        """Store the edges, statuses and the confidence that the rules decided; return the changed memory.

        A memory is superseded or challenged from when the other was said, whenever that was ingested.
        """
        links.put(connection, writable(reader), decided.edges, now, self._gate.rules)
        heirs = {edge.target: edge.source for edge in decided.edges}
        for status, changes in ((Status.SUPERSEDED, decided.superseded), (Status.CHALLENGED, decided.challenged)):
            for memory_id, reason in changes:
                at = turns.said_by(connection, [memory_id, heirs.get(memory_id, memory.id)], now)
                moved = self.set_status(connection, reader, memory_id, status, reason, now, at=at)
                if moved.id == memory.id:
                    memory = moved
                elif status is Status.SUPERSEDED:
                    working.delete_handoffs_with(connection, [moved.text])
        for memory_id in decided.weakened:  # a dream infers again from the facts that are left
            self.invalidate_inferences(connection, memory_rows.required(connection, writable(reader), memory_id).key, now)
        if decided.confidence == memory.confidence:
            return memory
        new = replace(memory, confidence=decided.confidence)
        memory_rows.rewrite(connection, memory, new)
        return new

    def corroborate(
        self,
        connection: apsw.Connection,
        reader: Reader,
        memory_id: str,
        sources: Sequence[int],
        now: datetime,
        stated: Sequence[Fact] | None = None,
    ) -> None:
        """Corroborate a memory that these turns state again, which may settle a contradiction.

        `stated`: its facts, if the caller knows them; else they are read from its words.
        """
        rules = self._gate.rules
        old = memory_rows.required(connection, writable(reader), memory_id)
        new = rules.corroborated(old, len(sources), turns.speakers_of(connection, sources), now)
        memory_rows.rewrite(connection, old, new)
        turns.link(connection, old.key, sources)
        turns.update_surroundings(connection, sources[:1])
        scope = intern(connection, new.scope)
        if stated is not None or new.source is not old.source:
            reading = rules.read(new, stated, entities.stored_mentions(connection, new))
            self._reconcile_one(connection, reader, new, now, reading, scope)
        elif facts.is_contested(connection, new.key):
            outcomes = rules.settle(facts.SqliteFacts(connection, scope, rules), new)
            self._follow(connection, reader, new, outcomes, Occasion.CORROBORATED, now)

    def set_status(
        self,
        connection: apsw.Connection,
        reader: Reader,
        memory_id: str,
        status: Status,
        reason: str,
        now: datetime,
        *,
        at: datetime | None = None,
    ) -> Memory:
        """Change the status of a memory, with its consequences for facts and inferences; return the changed memory.

        at: since when it has that status, if not since now.
        """
        old = memory_rows.required(connection, writable(reader), memory_id)
        if old.status is status:
            return old
        if status is Status.ACTIVE and _lost_premises(connection, old.key):
            raise Conflict("what this was inferred from no longer holds.", way_out="Restore that, or say this in your own words.")
        new = replace(old, status=status, updated_at=now)
        memory_rows.rewrite(connection, old, new, reason, at)
        if status is Status.ACTIVE:
            self._reinstate(connection, reader, new, now)
        elif status not in VALID:
            self.invalidate_inferences(connection, old.key, now)
        return new

    def _reinstate(self, connection: apsw.Connection, reader: Reader, memory: Memory, now: datetime) -> None:
        """Let the facts of a memory hold again: they outdate older memories and are disputed by later ones."""
        facts.reopen(connection, memory.key)
        rules = self._gate.rules
        outcomes = rules.settle(facts.SqliteFacts(connection, intern(connection, memory.scope), rules), memory)
        self._follow(connection, reader, memory, outcomes, Occasion.REINSTATED, now)

    def invalidate_inferences(self, connection: apsw.Connection, premise: int, now: datetime) -> None:
        """Invalidate all memories inferred from a premise that no longer holds (K11), in every scope."""
        waiting = [premise]
        while waiting:
            for old in memory_rows.by_ids(connection, _ANYONE, _inferences_from(connection, waiting.pop())):
                if old.status in VALID:
                    invalid = replace(old, status=Status.INVALIDATED, updated_at=now)
                    memory_rows.rewrite(connection, old, invalid, "what it was inferred from no longer holds")
                    waiting.append(old.key)

    def invalidate_unfounded(self, connection: apsw.Connection, keys: Iterable[int], now: datetime) -> None:
        """Invalidate those of the memories that an undo brought back whose premises were corrected since (M19)."""
        for premise in {premise for key in keys for premise in _lost_premises(connection, key)}:
            self.invalidate_inferences(connection, premise, now)
