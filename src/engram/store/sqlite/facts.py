"""The statements on facts: what memories say of somebody or something, and since and until when it holds.

A newer fact ends an older one of the same scope in the transaction that brings it, unless the two were told of names of which
one is longer: "Tom" is found under Tom Baker, but may be another Tom. A memory whose every fact has ended, and that
says little besides, is superseded; one that says more stays, without the fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import from_micros, to_micros
from engram.guard.visibility import Visibility, readable
from engram.rules.contradiction import FactClaim, Ruling, epistemic_status, ruling
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import entities
from engram.store.sqlite.rows import intern, micros, predicate
from engram.text.english.entities import folded
from engram.text.english.facts import Fact, facts
from engram.types import Memory, Reader, Source
from engram.values.entities import Belief, RelatedFact
from engram.values.frozen import frozen, replace

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


def _related(
    connection: apsw.Connection, seen: Visibility, column: str, wanted: Sequence[str] | Sequence[int], most: int
) -> list[RelatedFact]:
    visible, values = predicate(seen, "m.scope")
    sql = f"""
        SELECT f.subject, f.predicate, f.object, m.confidence, m.id
          FROM facts AS f CROSS JOIN memories AS m ON m.key = f.memory
         WHERE f.{column} IN ({", ".join("?" * len(wanted))}) AND f.until IS NULL AND f.holds
           AND m.status = 'active' AND m.tier = 'cleartext' AND m.source <> 'inferred' AND NOT m.flagged AND {visible}
           AND NOT EXISTS (SELECT 1 FROM edges AS g JOIN memories AS o
                              ON o.key = CASE WHEN g.source = m.key THEN g.target ELSE g.source END
                            WHERE g.kind = 'contradicts' AND (g.source = m.key OR g.target = m.key) AND o.status = 'active')
         ORDER BY m.confidence DESC, f.memory, f.number LIMIT ?
    """
    found: list[Any] = connection.execute(sql, (*wanted, *values, most)).fetchall() if wanted else []
    return [RelatedFact(*row) for row in found]


SUPERSEDES, OUTDATES, CONTRADICTS, PAST = "supersedes", "outdates", "contradicts", "past"

_SHORT = 160

_MORE = re.compile(r"\b(?:and|but|because|while|although|which)\b|;")
"""Up to so many characters, and without a second clause, a memory is its fact; another one tells more."""


@frozen
class FactOutcome:
    """What became of a memory that was here by one that comes in, as the link to it: superseded, outdated in a fact, or
    contradicted; and how sure it was. `past`: it tells what came after, from `since` on."""

    older: str
    link: str
    confidence: float
    since: int | None = None


def note(connection: apsw.Connection, scope: int, memory: Memory, told: Sequence[Fact] | None = None) -> list[FactOutcome]:
    """Keep what a memory says; what became of older ones by it. `told`: the facts, where they are known without reading."""
    if told is None:
        told = () if memory.source is Source.ASSISTANT else facts(memory.text, memory.speaker)
    outcomes: dict[str, FactOutcome] = {}
    since = _since(memory)
    for number, fact in enumerate(told):
        named = fact.subject
        fact = replace(fact, subject=entities.canonical(connection, scope, named))
        ended = _ended(fact, since)
        for outcome in _settle(connection, scope, memory, fact, named, since):
            if outcome.link == PAST:
                ended = outcome.since if ended is None or outcome.since is None else min(ended, outcome.since)
            outcomes[outcome.older] = outcome
        figures = (fact.single, fact.holds, since, ended, memory.tier)
        connection.execute(_PUT, (memory.key, number, fact.subject, fact.predicate, fact.object, *figures))
    return _all_past(connection, memory, outcomes)


def put(connection: apsw.Connection, memory: Memory, told: Sequence[Fact]) -> None:
    """Keep what a memory says that was derived from others: it outdates nothing, and nothing is settled by it."""
    scope = intern(connection, memory.scope)
    since = _since(memory)
    for number, fact in enumerate(told):
        subject = entities.canonical(connection, scope, fact.subject)
        figures = (fact.single, fact.holds, since, _ended(fact, since), memory.tier)
        connection.execute(_PUT, (memory.key, number, subject, fact.predicate, fact.object, *figures))


def _all_past(connection: apsw.Connection, memory: Memory, outcomes: dict[str, FactOutcome]) -> list[FactOutcome]:
    """What tells of an earlier time only counts where the memory says nothing that still holds."""
    past = any(one.link == PAST for one in outcomes.values())
    spent = past and _is_spent(connection, memory.key, memory.text)
    return [one for one in outcomes.values() if one.link != PAST or spent]


def _is_spent(connection: apsw.Connection, memory: int, text: str) -> bool:
    """Has all that a memory says ended?"""
    left = connection.execute("SELECT count(*) FROM facts WHERE memory = ? AND until IS NULL", (memory,)).get
    return not left and len(text) <= _SHORT and not _MORE.search(text)


FACT = ", ".join(sealed.told("facts", one, "f") for one in ("subject", "predicate", "object"))
"""A fact's words, opened."""


_PUT = f"""
    INSERT OR REPLACE INTO facts (memory, number, subject, predicate, object, single, holds, since, until)
    VALUES (?1, ?2, {sealed.kept("facts", "subject", "?3", "?10")}, {sealed.kept("facts", "predicate", "?4", "?10")},
            {sealed.kept("facts", "object", "?5", "?10")}, ?6, ?7, ?8, ?9)
"""


def settle(connection: apsw.Connection, scope: int, memory: Memory) -> list[FactOutcome]:
    """What becomes of older memories now that this one is surer: what it says is known."""
    found: list[Any] = connection.execute(
        f"SELECT {FACT}, f.single, f.holds FROM facts AS f WHERE f.memory = ? AND (f.until IS NULL OR NOT f.holds)",
        (memory.key,),
    ).fetchall()
    outcomes: dict[str, FactOutcome] = {}
    for subject, said, thing, single, holds in found:
        fact = Fact(subject, said, thing, bool(single), bool(holds))
        outcomes |= {one.older: one for one in _settle(connection, scope, memory, fact, "", _since(memory))}
    return list(outcomes.values())


def is_contested(connection: apsw.Connection, memory: int) -> bool:
    sql = "SELECT EXISTS (SELECT 1 FROM edges WHERE kind = ? AND (source = ? OR target = ?))"
    return bool(connection.execute(sql, (CONTRADICTS, memory, memory)).get)


def end(connection: apsw.Connection, memory: int, now: datetime) -> None:
    """What a memory says holds no longer."""
    connection.execute("UPDATE facts SET until = ? WHERE memory = ? AND until IS NULL", (to_micros(now), memory))


def reopen(connection: apsw.Connection, memory: int) -> None:
    """What a memory says that was brought back holds again."""
    connection.execute("UPDATE facts SET until = NULL WHERE memory = ? AND holds", (memory,))


def _since(memory: Memory) -> int | None:
    return micros(memory.happened_at or memory.learned_at)


def _ended(fact: Fact, since: int | None) -> int | None:
    """What is said to be so no more holds from no moment on."""
    return None if fact.holds else since


def _settle(
    connection: apsw.Connection, scope: int, memory: Memory, fact: Fact, named: str, since: int | None
) -> Iterator[FactOutcome]:
    told = memory.happened_until is not None
    new = FactClaim(fact, memory.confidence, _at(since), _at(_said(connection, memory.key, micros(memory.learned_at))), told)
    found: list[Any] = connection.execute(
        f"""
        SELECT f.memory, f.number, {sealed.told("facts", "object", "f")}, f.single, f.since, m.id, m.confidence, m.pinned,
               {sealed.opened("text")}, m.speaker, m.learned_at, m.happened_until IS NOT NULL
          FROM facts AS f JOIN memories AS m ON m.key = f.memory JOIN contents AS c ON c.memory = m.key
         WHERE f.subject IN ({sealed.either("facts", "subject", "?1")}) AND f.until IS NULL AND f.holds AND f.memory <> ?3
           AND f.predicate IN ({sealed.either("facts", "predicate", "?2")}) AND m.scope = ?4 AND m.status = 'active'
        """,
        (fact.subject, fact.predicate, memory.key, scope),
    ).fetchall()
    for key, number, thing, single, at, memory_id, confidence, pinned, text, speaker, learned, dated in found:
        said = Fact(fact.subject, fact.predicate, thing, bool(single))
        old = FactClaim(said, confidence, _at(at), _at(_said(connection, key, learned)), bool(dated))
        ruled = ruling(new, old)
        if ruled is Ruling.STANDS or _may_be_two(named, _named(text, speaker, number, fact.predicate)):
            continue
        if ruled is Ruling.PAST:
            yield FactOutcome(memory_id, PAST, confidence, at)
            continue
        if ruled is Ruling.CONTESTED or pinned:
            yield FactOutcome(memory_id, CONTRADICTS, confidence)
            continue
        connection.execute("UPDATE facts SET until = ? WHERE memory = ? AND number = ?", (since, key, number))
        yield FactOutcome(memory_id, SUPERSEDES if _is_spent(connection, key, text) else OUTDATES, confidence)


def _said(connection: apsw.Connection, memory: int, learned: int | None) -> int | None:
    """When it was said: the last turn it came from; else when it was kept."""
    sql = "SELECT max(t.at) FROM sources AS s JOIN turns AS t ON t.key = s.turn WHERE s.memory = ?"
    found = connection.execute(sql, (memory,)).get
    return learned if found is None else int(found)


def _at(moment: int | None) -> datetime | None:
    return None if moment is None else from_micros(moment)


def _named(text: str, speaker: str, number: int, predicate: str) -> str:
    """Whom a memory's own words name as the subject of its fact; empty for one that was told and not read."""
    told = facts(text, speaker)
    return told[number].subject if number < len(told) and told[number].predicate == predicate else ""


def _may_be_two(one: str, other: str) -> bool:
    return bool(one and other) and (one.startswith(f"{other} ") or other.startswith(f"{one} "))


def forget(connection: apsw.Connection, memory: int) -> None:
    """Let go of what a memory named and said."""
    connection.execute("UPDATE facts SET subject = '', predicate = '', object = '' WHERE memory = ?", (memory,))
    connection.execute("DELETE FROM facts WHERE memory = ?", (memory,))
    unname(connection, memory)


_RENAME = f"""
    UPDATE facts SET subject = {sealed.kept("facts", "subject", "?1", "'cleartext'")}
     WHERE memory = ?2 AND number = ?3 AND predicate IN ({sealed.either("facts", "predicate", "?4")})
"""
"""Who has names is kept in the clear: others have none."""


def unname(connection: apsw.Connection, memory: int) -> None:
    """Let go of what a memory named. Facts of others may bear a name that only it told: they get their own back."""
    sql = "SELECT m.scope, c.text, m.speaker FROM memories AS m JOIN contents AS c ON c.memory = m.key WHERE m.key = ?"
    for key in entities.forget(connection, memory):
        told: list[Any] = connection.execute(sql, (key,)).fetchall()
        for scope, text, speaker in told:
            for number, fact in enumerate(facts(text, speaker)):
                subject = entities.canonical(connection, scope, fact.subject)
                connection.execute(_RENAME, (subject, key, number, fact.predicate))


class Facts:
    """Facts: what memories say of a subject, since when and until when."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def beliefs(self, reader: Reader, subject: str, *, past: bool = False) -> list[Belief]:
        """The facts of a subject that hold, the newest first; `past`: those that held, too."""
        with self._gate.read(reader, "beliefs") as connection:
            return beliefs(connection, readable(reader), folded(subject), past)

    def by(self, reader: Reader, keys: Sequence[int]) -> list[RelatedFact]:
        """What these memories say."""
        with self._gate.read(reader, "relations") as connection:
            return _related(connection, readable(reader), "memory", keys, -1)

    def of(self, reader: Reader, names: Sequence[str], *, backwards: bool = False, most: int) -> list[RelatedFact]:
        """What is said of these, the surest first; `backwards`: what is said to stand in a relation to them."""
        with self._gate.read(reader, "relations") as connection:
            return _related(connection, readable(reader), "object" if backwards else "subject", names, most)

    def exists(self, reader: Reader, subject: str, what: str) -> bool:
        """Is this told of a subject, or was it, in whatever words and however sure?"""
        visible, values = predicate(readable(reader), "m.scope")
        sql = f"""
            SELECT EXISTS (SELECT 1 FROM facts AS f CROSS JOIN memories AS m ON m.key = f.memory
             WHERE f.subject IN ({sealed.either("facts", "subject", "?1")})
               AND f.predicate IN ({sealed.either("facts", "predicate", "?2")}) AND {visible})
        """
        with self._gate.read(reader, "relations") as connection:
            return bool(connection.execute(sql, (subject, what, *values)).get)

    def matching(self, reader: Reader, what: str, *, most: int) -> list[RelatedFact]:
        """What is said of anything by this predicate, the surest first."""
        with self._gate.read(reader, "relations") as connection:
            return _related(connection, readable(reader), "predicate", [what], most)


def beliefs(connection: apsw.Connection, seen: Visibility, subject: str, past: bool) -> list[Belief]:
    visible, values = predicate(seen, "m.scope")
    keys = entities.memory_keys(connection, seen, subject)
    names: list[Any] = connection.execute(
        f"SELECT name FROM entities WHERE key IN ({', '.join('?' * len(keys))})", keys
    ).fetchall()
    subjects = list(dict.fromkeys([subject, *(folded(row[0]) for row in names)]))
    any_form = ", ".join(sealed.either("facts", "subject", f"?{n + 1}") for n in range(len(subjects)))
    now = "" if past else " AND f.until IS NULL AND f.holds AND m.status = 'active'"
    found: list[Any] = connection.execute(
        f"""
        SELECT {FACT}, m.confidence, f.since, f.until, m.id, m.status,
               (SELECT group_concat(o.confidence) FROM edges AS g JOIN memories AS o
                    ON o.key = CASE WHEN g.source = m.key THEN g.target ELSE g.source END
                 WHERE g.kind = 'contradicts' AND (g.source = m.key OR g.target = m.key) AND o.status = 'active')
          FROM facts AS f JOIN memories AS m ON m.key = f.memory
         WHERE f.subject IN ({any_form}) AND {visible}{now} ORDER BY f.since DESC, f.memory DESC
        """,
        (*subjects, *values),
    ).fetchall()
    return [_belief(row) for row in found]


def _belief(row: Sequence[Any]) -> Belief:
    subject, said, thing, confidence, since, until, memory_id, state, against = row
    strengths = [float(one) for one in str(against).split(",")] if against else []
    held = "retracted" if until is not None or state != "active" else epistemic_status(confidence, strengths).value
    return Belief(subject, said, thing, held, confidence, _at(since), _at(until), memory_id)
