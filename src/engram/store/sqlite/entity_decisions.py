"""Decisions on entities by hand, by scope. Their words are sealed: a name may outlive the last memory in the clear that gave it.

A decision that is made in several scopes has one id, and a row in each.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import to_micros
from engram.errors import Conflict, InvalidContent, InvalidQuery, NotFound
from engram.guard.visibility import Visibility
from engram.store.sqlite import entities, memory_rows, rows
from engram.store.sqlite.visibility import predicate
from engram.types import Scope
from engram.values.entities import EntityAction, EntityDecision
from engram.values.frozen import replace

if TYPE_CHECKING:
    from engram.store.rule_ports import StoreRules

_SCOPE = "s.project, s.squad, s.agent, s.channel, s.user"


def select(connection: apsw.Connection, seen: Visibility, limit: int) -> list[tuple[Scope, EntityDecision]]:
    """Return the decisions of visible scopes, the latest first, each with its scope."""
    visible, values = predicate(seen, "d.scope", "s")
    found: list[Any] = connection.execute(
        f"""
        SELECT {_SCOPE}, {entities.DECISION}
          FROM entity_decisions AS d JOIN scopes AS s ON s.key = d.scope WHERE {visible} ORDER BY d.key DESC LIMIT ?
        """,
        (*values, limit),
    ).fetchall()
    return [(Scope(*row[:5]), entities.decision_of(*row[5:])) for row in found]


def put(connection: apsw.Connection, rules: StoreRules, scope: int, decision: EntityDecision) -> None:
    """Store a decision in a scope, and read the mentions again that it is about."""
    body = {"name": decision.name, "other": decision.other, "names": decision.names, "memories": decision.memories}
    connection.execute(
        """
        INSERT INTO entity_decisions (id, scope, action, body, at)
        VALUES (?1, ?2, ?3, seal('confidential', ?4, ?2, 'decision/' || ?1), ?5)
        """,
        (
            decision.id,
            scope,
            decision.action,
            json.dumps({**body, "reason": decision.reason}, ensure_ascii=False),
            rows.micros(decision.at) or 0,
        ),
    )
    rules.apply_decision(entities.SqliteEntities(connection, scope), decision)


def take_back(
    connection: apsw.Connection, rules: StoreRules, owned: Visibility, decision_id: str, now: datetime
) -> EntityDecision:
    """Take a decision back in all scopes that it was made in, and read the mentions again that it is about."""
    visible, values = predicate(owned, "d.scope")
    sql = f"SELECT d.scope, {entities.DECISION} FROM entity_decisions AS d WHERE d.id = ? AND {visible}"
    found: list[Any] = connection.execute(sql, (decision_id, *values)).fetchall() if memory_rows.is_text(decision_id) else []
    if not found:
        raise NotFound(
            "there is no decision of that id that this identity may take back.", way_out="See `engram entity-decisions`."
        )
    decisions = {scope: entities.decision_of(*row) for scope, *row in found}
    if all(decision.undone_at is not None for decision in decisions.values()):
        raise Conflict("this decision was taken back already.", way_out="Nothing more needs to be done.")
    for scope, decision in decisions.items():
        update = "UPDATE entity_decisions SET undone_at = ? WHERE id = ? AND scope = ?"
        connection.execute(update, (to_micros(now), decision_id, scope))
        rules.apply_decision(entities.SqliteEntities(connection, scope), decision)
    return replace(next(iter(decisions.values())), undone_at=now)


def scopes_knowing(connection: apsw.Connection, owned: Visibility, name: str) -> list[int]:
    """Return the scopes of `owned` in which an entity has this folded name."""
    visible, values = predicate(owned, "scope")
    sql = f"SELECT DISTINCT scope FROM aliases WHERE name = ? AND {visible} ORDER BY scope"
    found: list[Any] = connection.execute(sql, (name, *values)).fetchall()
    return [row[0] for row in found]


def completed(
    connection: apsw.Connection, rules: StoreRules, owned: Visibility, scope: int, decision: EntityDecision
) -> EntityDecision:
    """Return a decision with the own names of its entities, and all names that it covers, as they are in a scope.

    Raises an error if the entities, names or memories are not such that it makes sense.
    """
    table, action = entities.SqliteEntities(connection, scope), decision.action
    folded = rules.folded(decision.other)
    entity, other = table.called(rules.folded(decision.name)), table.called(folded)
    if entity is None:
        raise NotFound("several have this role now.", way_out="Name the one that is meant.")
    own = table.describe(entity)[0]
    if action is EntityAction.APART:
        if folded == rules.folded(decision.name):
            raise InvalidQuery("these are one name.", way_out="To tell memories of one name apart, split them.")
        return decision
    if action is EntityAction.KIND:
        return replace(decision, name=own)
    if action is EntityAction.UNALIAS:
        if other != entity or folded == rules.folded(own):
            raise NotFound(
                "it has no such other name.", way_out="`engram entity NAME` shows its names; its own name can be changed."
            )
        return replace(decision, name=own)
    if action is EntityAction.ALIAS:
        if other not in (None, entity):
            raise Conflict("another entity has this name.", way_out="Merge the two, or split the name from the other one first.")
        return replace(decision, name=own)
    if action is EntityAction.SPLIT:
        return _completed_split(connection, rules, owned, table, entity, replace(decision, name=own))
    if action is EntityAction.MERGE and other is None:
        raise NotFound("no entity of the other name is known here.", way_out="Add the name as an alias, or rename the entity.")
    if action is EntityAction.MERGE and other == entity:
        raise Conflict("these two are one entity already.", way_out="Nothing needs to be done.")
    if action is EntityAction.RENAME and other not in (None, entity):
        raise Conflict("another entity has this name.", way_out="Merge the two instead.")
    names = dict.fromkeys((*rules.given_names(table, entity), rules.folded(own)))
    target = decision.other if other is None or action is EntityAction.RENAME else table.describe(other)[0]
    covered = tuple(name for name in names if name != rules.folded(target))
    return replace(decision, name=own, other=target, names=covered)


def _completed_split(
    connection: apsw.Connection,
    rules: StoreRules,
    owned: Visibility,
    table: entities.SqliteEntities,
    entity: int,
    decision: EntityDecision,
) -> EntityDecision:
    """Return the split of an entity with the names that it covers: those given, or those in the memories given."""
    if decision.memories:
        keys = [memory_rows.required(connection, owned, memory_id).key for memory_id in decision.memories]
        said = [mention.said for key in keys for mention in table.mentions_of(key) if mention.entity == entity]
        if not said:
            raise NotFound("these memories do not mention it.", way_out="`engram entity NAME` lists the memories that do.")
        return replace(decision, names=tuple(dict.fromkeys(rules.folded(mention.name) for mention in said)))
    own, names = rules.folded(decision.name), tuple(rules.folded(name) for name in decision.names or (decision.other,))
    if own in names:
        raise InvalidQuery(
            "an entity's own name stays with it.", way_out="Rename it first, or split some of its memories from it."
        )
    if not set(names) <= table.names_of(entity):
        raise NotFound("it has no such other name.", way_out="Give some of its names, or the ids of memories that mention it.")
    return replace(decision, names=names)


def names_mentioned(connection: apsw.Connection, rules: StoreRules, memories: Collection[int]) -> Mapping[int, set[str]]:
    """Return by scope the folded names that these memories mention. Called before they are erased."""
    named: dict[int, set[str]] = {}
    for memory in memories:
        scope = connection.execute("SELECT scope FROM memories WHERE key = ?", (memory,)).get
        said = [mention.said for mention in entities.SqliteEntities(connection, int(scope or 0)).mentions_of(memory)]
        names = {rules.folded(name) for mention in said for name in (mention.name, *mention.aliases)}
        named.setdefault(int(scope or 0), set()).update(names)
    return named


def erase_unfounded(connection: apsw.Connection, rules: StoreRules, named: Mapping[int, set[str]]) -> None:
    """Erase the decisions on names that the erased memories mentioned and no memory mentions any more, and those that were about
    memories of which none is left."""
    for scope, names in named.items():
        table = entities.SqliteEntities(connection, scope)
        sql = f"SELECT d.key, {entities.DECISION} FROM entity_decisions AS d WHERE d.scope = ?"
        found: list[Any] = connection.execute(sql, (scope,)).fetchall()
        for key, *row in found:
            decision = entities.decision_of(*row)
            is_gone = decision.memories and not any(_exists(connection, memory_id) for memory_id in decision.memories)
            if is_gone or any(name in names and not table.memories_naming([name]) for name in rules.names_in(decision)):
                connection.execute("UPDATE entity_decisions SET body = '' WHERE key = ?", (key,))
                connection.execute("DELETE FROM entity_decisions WHERE key = ?", (key,))
                rules.apply_decision(entities.SqliteEntities(connection, scope), decision)


def _exists(connection: apsw.Connection, memory_id: str) -> bool:
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM memories WHERE id = ?)", (memory_id,)).get)


def adopt(
    connection: apsw.Connection, rules: StoreRules, scope: int, decisions: Sequence[EntityDecision], ids: Sequence[str]
) -> int:
    """Store decisions of another vault in a scope under new ids, except those that stand there already; return how many."""
    known = {_content(decision) for decision in entities.SqliteEntities(connection, scope).decisions()}
    new = [decision for decision in decisions if _content(decision) not in known]
    for decision, decision_id in zip(new, ids, strict=False):
        put(connection, rules, scope, replace(decision, id=decision_id, undone_at=None))
    return len(new)


def check(decision: EntityDecision, longest: int) -> None:
    """Raise InvalidContent if a decision has an empty or a too long name, or a too long reason."""
    words = (decision.name, decision.other, *decision.names, *decision.memories)
    if not all(memory_rows.is_text(word) and word.strip() for word in words) or not memory_rows.is_text(decision.reason):
        raise InvalidContent("a name is empty or no text.", way_out="Give the names as they are shown.")
    if max(map(len, (*words, decision.reason))) > longest:
        raise InvalidContent(f"a name or the reason is longer than {longest} characters.")


def _content(decision: EntityDecision) -> tuple[object, ...]:
    return decision.action, decision.name, decision.other, decision.names, decision.memories
