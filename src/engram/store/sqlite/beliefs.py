"""Beliefs: the facts of a subject with their status, their strength and the rivals that they were decided against."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import from_micros
from engram.guard.visibility import Visibility
from engram.store.sqlite import connection as sealed
from engram.store.sqlite.facts import AT_ONCE, DECIDING, ENDED, FACT, fact_of, moment_of, names_of
from engram.store.sqlite.rows import micros
from engram.store.sqlite.visibility import predicate
from engram.types import Fact, Source, Status, Strength
from engram.values.entities import Belief, BeliefQuery, BeliefRevision
from engram.values.facts import CONTRADICTS
from engram.values.frozen import frozen
from engram.values.memories import VALID

if TYPE_CHECKING:
    from engram.store.rule_ports import StoreRules

_CONTESTED, _RETRACTED, _PAST = "contested", "retracted", "past"


@frozen(kw_only=True)
class _BeliefRow:
    """A fact with what its status depends on."""

    key: int
    memory: str
    fact: Fact
    until: datetime | None
    confidence: float
    strength: Strength
    weight: float
    status: Status


_BELIEF = f"""
    {FACT}, f.single, f.holds, f.since, f.bound, f.strength, {sealed.read_side("facts", "teller", "f")}, {ENDED}, m.key, m.id,
    m.status, m.source, m.confidence, m.corroborations
"""


def believed(connection: apsw.Connection, rules: StoreRules, seen: Visibility, asked: BeliefQuery, now: datetime) -> list[Belief]:
    """Return the facts of a subject, the newest first, with their status and their revisions, in four queries."""
    moment = micros(asked.as_of or now)
    if asked.as_of is not None:
        held = f"""f.holds AND (f.since IS NULL OR f.since <= {moment}) AND ({ENDED} IS NULL OR {ENDED} > {moment})
                   AND m.status IN ('active', 'challenged', 'superseded')"""
    elif asked.past:
        held = "TRUE"
    else:
        held = f"(f.until IS NULL OR f.until > {moment}) AND f.holds AND m.status IN ('active', 'challenged')"
    names = names_of(connection, rules, seen, asked.subject)
    visible, values = predicate(seen, "m.scope")
    column = "object" if asked.backwards else "subject"
    any_form = ", ".join(sealed.both_forms("facts", column, f"?{n + 1}") for n in range(len(names)))
    of_slot = f"f.predicate IN ({sealed.both_forms('facts', 'predicate', f'?{len(names) + 1}')})" if asked.predicate else "TRUE"
    found: list[Any] = connection.execute(
        f"""
        SELECT {_BELIEF} FROM facts AS f JOIN memories AS m ON m.key = f.memory
         WHERE f.{column} IN ({any_form}) AND {of_slot} AND {visible} AND {held} ORDER BY f.since DESC, f.memory DESC, f.number
        """,
        (*names, *((asked.predicate,) if asked.predicate else ()), *values),
    ).fetchall()
    rows = [_belief_row(rules, row) for row in found]
    rivals = _rivals_of(connection, rules, seen, rows)
    return [
        _belief(rules, row, rivals.get((row.key, row.fact.subject, row.fact.predicate), ()), asked.as_of, now) for row in rows
    ]


def _belief_row(rules: StoreRules, row: Sequence[Any]) -> _BeliefRow:
    *parts, until, key, memory, status, source, confidence, witnesses = row
    fact = fact_of(parts)
    return _BeliefRow(
        key=key,
        memory=memory,
        fact=fact,
        until=moment_of(until),
        confidence=confidence,
        strength=rules.strength(fact.strength, Source(source), witnesses),
        weight=rules.weight(fact.strength, Source(source), confidence, witnesses),
        status=Status(status),
    )


@frozen
class _Rival:
    """Another fact of the same slot, the edge that links their memories, and the reason for it."""

    row: _BeliefRow
    kind: str
    newer: bool  # the edge comes from the rival
    at: datetime
    reason: str


def _rivals_of(
    connection: apsw.Connection, rules: StoreRules, seen: Visibility, rows: Sequence[_BeliefRow]
) -> dict[tuple[int, str, str], list[_Rival]]:
    """Return the rivals of facts by memory, subject and predicate: facts of the same slot whose memories were decided on."""
    keys = list(dict.fromkeys(row.key for row in rows))
    links: list[Any] = []
    for start in range(0, len(keys), AT_ONCE):
        page = keys[start : start + AT_ONCE]
        marks = ", ".join("?" * len(page))
        links += connection.execute(
            f"""
            SELECT source, target, kind, created_at, FALSE FROM edges WHERE source IN ({marks}) AND kind IN {DECIDING}
             UNION ALL
            SELECT target, source, kind, created_at, TRUE FROM edges WHERE target IN ({marks}) AND kind IN {DECIDING}
            """,
            (*page, *page),
        ).fetchall()
    others = _facts_of(connection, rules, seen, list(dict.fromkeys(link[1] for link in links)))
    reasons = _reasons(connection, list(dict.fromkeys(there if not newer else here for here, there, _, _, newer in links)))
    found: dict[tuple[int, str, str], list[_Rival]] = {}
    for here, there, kind, at, newer in links:
        for other in others.get(there, ()):
            reason = reasons.get(here if newer else there, "") if kind != CONTRADICTS else ""
            rival = _Rival(other, kind, bool(newer), from_micros(at), reason or "a newer statement says otherwise")
            found.setdefault((here, other.fact.subject, other.fact.predicate), []).append(rival)
    return found


def _facts_of(
    connection: apsw.Connection, rules: StoreRules, seen: Visibility, keys: Sequence[int]
) -> dict[int, list[_BeliefRow]]:
    visible, values = predicate(seen, "m.scope")
    found: dict[int, list[_BeliefRow]] = {}
    for start in range(0, len(keys), AT_ONCE):
        page = keys[start : start + AT_ONCE]
        sql = f"""
            SELECT {_BELIEF} FROM facts AS f JOIN memories AS m ON m.key = f.memory
             WHERE f.memory IN ({", ".join("?" * len(page))}) AND NOT m.flagged AND {visible}
        """
        rows: list[Any] = connection.execute(sql, (*page, *values)).fetchall()
        for row in rows:
            made = _belief_row(rules, row)
            found.setdefault(made.key, []).append(made)
    return found


def _reasons(connection: apsw.Connection, keys: Sequence[int]) -> dict[int, str]:
    """Return the reasons for which memories were superseded or challenged last."""
    reasons: dict[int, str] = {}
    for start in range(0, len(keys), AT_ONCE):
        page = keys[start : start + AT_ONCE]
        sql = f"""
            SELECT h.memory, {sealed.read_side("status_history", "reason", "h")}
              FROM status_history AS h JOIN memories AS m ON m.key = h.memory
             WHERE h.memory IN ({", ".join("?" * len(page))}) AND h.new IN ('superseded', 'challenged') AND h.old <> h.new
             ORDER BY h.number
        """
        rows: list[Any] = connection.execute(sql, page).fetchall()
        reasons |= dict(rows)
    return reasons


def _belief(rules: StoreRules, row: _BeliefRow, rivals: Sequence[_Rival], as_of: datetime | None, now: datetime) -> Belief:
    against = [rival.row.weight for rival in rivals if rival.kind == CONTRADICTS and rival.row.status in VALID]
    fact = row.fact
    if as_of is None and (row.status not in VALID or not fact.holds or row.until != fact.until):
        status = _RETRACTED
    elif as_of is None and fact.until is not None and fact.until <= now:
        status = _PAST
    elif row.status is Status.CHALLENGED:
        status = _CONTESTED
    else:
        status = rules.epistemic_status(row.weight, against)
    return Belief(
        fact.subject,
        fact.predicate,
        fact.object,
        status,
        row.confidence,
        fact.since,
        row.until,
        row.memory,
        strength=row.strength.value,
        weight=round(row.weight, 4),
        teller=fact.teller,
        revisions=tuple(sorted((_revision(row, rival) for rival in rivals), key=lambda revision: revision.at)),
    )


def _revision(row: _BeliefRow, rival: _Rival) -> BeliefRevision:
    if rival.kind == CONTRADICTS:
        apart = rival.row.weight - row.weight
        reason = f"its evidence is {'stronger' if apart > 0 else 'weaker'} by {abs(apart):.2f}" if apart else "equal evidence"
        return BeliefRevision("contested_by", rival.row.fact.object, rival.row.memory, rival.at, reason)
    relation = "replaced_by" if rival.newer else "replaces"
    return BeliefRevision(relation, rival.row.fact.object, rival.row.memory, rival.at, rival.reason)
