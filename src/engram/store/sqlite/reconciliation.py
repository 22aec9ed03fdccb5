"""What new memories mean for those that are here, in the transaction that brings them: who is named, what is outdated or surer,
and what no longer follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import apsw

from engram.errors import Conflict
from engram.guard.visibility import readable, writable
from engram.rules.contradiction import transferred_confidence
from engram.store.sqlite import edges as links
from engram.store.sqlite import entities, facts, memory_rows, sensitivity, turns, working
from engram.store.sqlite.rows import intern
from engram.text.english.facts import Fact
from engram.types import Edge, Memory, Policy, Reader, Role, Sensitivity, Source, Status
from engram.values.frozen import replace

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


INFERRED_FROM = "inferred_from"

_ANYONE = readable(Reader(policy=Policy.ALL, role=Role.OWNER))

_STANDING = (Status.ACTIVE, Status.CHALLENGED)


def _lost(connection: apsw.Connection, key: int) -> list[int]:
    """What a memory was inferred from and that does not stand any more, or says something else since. What was merged stands:
    its heir is a premise, too."""
    found: list[Any] = connection.execute(
        """
        SELECT p.key FROM memories AS m JOIN edges AS e ON e.source = m.key JOIN memories AS p ON p.key = e.target
         WHERE m.key = ? AND m.source = 'inferred' AND e.kind = ? AND (p.status NOT IN ('active', 'challenged', 'merged')
               OR EXISTS (SELECT 1 FROM versions AS v WHERE v.memory = p.key AND v.replaced_at >= m.learned_at))
        """,
        (key, INFERRED_FROM),
    ).fetchall()
    return [int(row[0]) for row in found]


def _inferred_from(connection: apsw.Connection, premise: int) -> list[str]:
    found: list[Any] = connection.execute(
        """
        SELECT m.id FROM edges AS e JOIN memories AS m ON m.key = e.source
         WHERE e.target = ? AND e.kind = ? AND m.source = 'inferred'
        """,
        (premise, INFERRED_FROM),
    ).fetchall()
    return [row[0] for row in found]


class Reconciliation:
    """TODO."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def understand(
        self,
        connection: apsw.Connection,
        reader: Reader,
        made: Sequence[Memory],
        now: datetime,
        told: Mapping[str, Sequence[Fact] | None] | None = None,
    ) -> list[Memory]:
        """Keep who and what new memories name and what they say of it; what they outdate steps back in the same transaction.

        `told`: the facts, by the memory's id, where they are known without reading. Whom it names that is kept closely is not
        listed; its facts are sealed as it is, so that a new phone number takes the place of the old one.
        """
        known = told or {}
        places = {scope: intern(connection, scope) for scope in {memory.scope for memory in made}}
        return [
            self._understand_one(connection, reader, memory, now, known.get(memory.id), places[memory.scope]) for memory in made
        ]

    def _understand_one(
        self,
        connection: apsw.Connection,
        reader: Reader,
        memory: Memory,
        now: datetime,
        told: Sequence[Fact] | None,
        scope: int,
    ) -> Memory:
        if memory.tier is Sensitivity.CLEARTEXT:
            entities.note(connection, scope, memory.key, memory.text, memory.speaker)
        return self.outdate(connection, reader, memory, facts.note(connection, scope, memory, told), now)

    def retiered(self, connection: apsw.Connection, memory: Memory) -> None:
        """A memory that is kept more or less closely says what it said: nothing is outdated. In the clear it names again."""
        sensitivity.propagate_tier(connection, memory)
        if memory.tier is Sensitivity.CLEARTEXT:
            entities.note(connection, intern(connection, memory.scope), memory.key, memory.text, memory.speaker)

    def outdate(
        self, connection: apsw.Connection, reader: Reader, memory: Memory, outcomes: Sequence[facts.FactOutcome], now: datetime
    ) -> Memory:
        """Link what a memory outdates or contradicts, and retire what says nothing else. Some of how sure that was passes on."""
        if (after := next((one for one in outcomes if one.link == facts.PAST), None)) is not None:
            if not turns.sources_of(connection, memory.key):
                return memory  # somebody gave it to be kept: it is history, and stays
            links.put(
                connection,
                writable(reader),
                [Edge(after.older, memory.id, facts.SUPERSEDES)],
                now,
                self._gate.rules,
            )
            return self.move(connection, reader, memory.id, Status.SUPERSEDED, "a newer statement was known", now)
        for one in outcomes:
            links.put(connection, writable(reader), [Edge(memory.id, one.older, one.link)], now, self._gate.rules)
            if one.link == facts.SUPERSEDES:
                old = self.move(connection, reader, one.older, Status.SUPERSEDED, "a newer statement says otherwise", now)
                working.delete_handoffs_with(connection, [old.text])
            elif one.link == facts.OUTDATES:  # it stands without the fact; what follows from the rest is found again at rest
                self.unfound(connection, memory_rows.required(connection, writable(reader), one.older).key, now)
        sure = transferred_confidence(memory.confidence, [one.confidence for one in outcomes if one.link != facts.CONTRADICTS])
        if sure == memory.confidence:
            return memory
        new = replace(memory, confidence=sure)
        memory_rows.rewrite(connection, memory, new)
        return new

    def said_again(
        self,
        connection: apsw.Connection,
        reader: Reader,
        memory_id: str,
        sources: Sequence[int],
        now: datetime,
        told: Sequence[Fact] | None = None,
    ) -> None:
        """One more witness takes away a fifth of the doubt; what was contested may be decided by it.

        What was only inferred and is said by a person is theirs from then on, and stands without its premises."""
        old = memory_rows.required(connection, writable(reader), memory_id)
        surer = old.confidence + (1.0 - old.confidence) * 0.2
        taken = old.source is Source.INFERRED and not self._gate.rules.are_assistants(turns.speakers_of(connection, sources))
        source = Source.USER if taken else old.source
        witnesses = old.corroborations + max(len(sources), 1)
        new = replace(old, confidence=surer, corroborations=witnesses, source=source, updated_at=now)
        memory_rows.rewrite(connection, old, new)
        turns.link(connection, old.key, sources)
        turns.update_surroundings(connection, sources[:1])
        if told is not None or taken:
            self._understand_one(connection, reader, new, now, told, intern(connection, new.scope))
        elif facts.is_contested(connection, new.key):
            ruled = facts.settle(connection, intern(connection, new.scope), new)
            self.outdate(connection, reader, new, [one for one in ruled if one.link != facts.PAST], now)

    def move(
        self, connection: apsw.Connection, reader: Reader, memory_id: str, status: Status, reason: str, now: datetime
    ) -> Memory:
        old = memory_rows.required(connection, writable(reader), memory_id)
        if old.status is status:
            return old
        if status is Status.ACTIVE and _lost(connection, old.key):
            raise Conflict("what this was inferred from no longer holds.", way_out="Restore that, or say this in your own words.")
        new = replace(old, status=status, updated_at=now)
        memory_rows.rewrite(connection, old, new, reason)
        if status is Status.ACTIVE:
            self._reinstate(connection, reader, new, now)
        elif status not in _STANDING:
            self.unfound(connection, old.key, now)
        return new

    def _reinstate(self, connection: apsw.Connection, reader: Reader, memory: Memory, now: datetime) -> None:
        """What was brought back says again what it said: what is older steps back, what has come since disputes it."""
        facts.reopen(connection, memory.key)
        ruled = facts.settle(connection, intern(connection, memory.scope), memory)
        newer = [Edge(one.older, memory.id, facts.CONTRADICTS) for one in ruled if one.link == facts.PAST]
        links.put(connection, writable(reader), newer, now, self._gate.rules)
        self.outdate(connection, reader, memory, [one for one in ruled if one.link != facts.PAST], now)

    def unfound(self, connection: apsw.Connection, premise: int, now: datetime) -> None:
        """What was inferred from a memory that no longer stands does not stand either (K11), wherever it is kept."""
        waiting = [premise]
        while waiting:
            for old in memory_rows.by_ids(connection, _ANYONE, _inferred_from(connection, waiting.pop())):
                if old.status in _STANDING:
                    gone = replace(old, status=Status.INVALIDATED, updated_at=now)
                    memory_rows.rewrite(connection, old, gone, "what it was inferred from no longer holds")
                    waiting.append(old.key)

    def still_unfounded(self, connection: apsw.Connection, keys: Iterable[int], now: datetime) -> None:
        """Of these, which an undo brought back, what was inferred from something that was corrected since goes again (M19)."""
        for premise in {lost for key in keys for lost in _lost(connection, key)}:
            self.unfound(connection, premise, now)
