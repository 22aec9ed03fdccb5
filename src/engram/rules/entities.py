"""Entities (C6): which name belongs to which entity, and when two entities are one. Pure but for the table that is passed in.

An entity belongs to a scope: two agents that share nothing may know two people of one name. In a scope, a name leads to one
entity. A fuller name is adopted: "Ada" becomes Ada Lovelace, "my manager" becomes the person who is said to be that. When a
second person with the same first name is mentioned, that first name alone stands for neither.
"""

from __future__ import annotations

from collections.abc import Sequence

from engram.store.rule_ports import EntityTable
from engram.text.english.entities import PERSON, TITLES, UNSURE, folded, mentions, other_names
from engram.text.english.facts import facts
from engram.values.entities import Mention

_LOOKED_BACK = 2000  # memories of one person that are read again when a namesake appears
_WITNESSES = 24  # memories that are asked whether they identify an entity without the one that goes


def record_mentions(table: EntityTable, memory: int, named: Sequence[Mention]) -> None:
    """Store the entities that a memory mentions. A word that may be no name counts only if an entity has it already."""
    for mention in named:
        entity = table.called(folded(mention.name)) if mention.kind == UNSURE else _identify(table, mention)
        if entity is not None:
            table.mention(entity, memory)


def canonical(table: EntityTable, name: str) -> str:
    """Return the folded own name of the entity that has this name; the name itself if there is none."""
    entity = table.called(name)
    return name if entity is None else _own_name(table, entity)


def set_kind(table: EntityTable, name: str, kind: str) -> None:
    """Set the kind of the entity that has this name, as a fact states it."""
    entity = table.called(name)
    if entity is not None:
        table.rename(entity, table.describe(entity)[0], kind)


def forget_mentions(table: EntityTable, memory: int) -> None:
    """Remove what a memory mentions, and every name that only it gave.

    An entity that the other memories do not identify by themselves is removed and made anew from them. Facts of those memories
    may have had a name that is gone: they get the name that their own text gives.
    """
    left: set[int] = set()
    for entity in table.mentioned_in(memory):
        if _is_identified_without(table, entity, memory):
            table.unmention(entity, memory)
            continue
        left.update(other for other in table.memories_of(entity) if other != memory)
        table.remove(entity)
    for other in sorted(left):
        _read_again(table, other)
    for other in sorted(left):
        said = table.text_of(other)
        for number, fact in enumerate(facts(*said) if said else ()):
            table.set_fact_subject(other, number, fact.predicate, canonical(table, fact.subject))


def _identify(table: EntityTable, mention: Mention) -> int:
    """Return the entity that a mention means; it is added, renamed or merged with another as the mention tells."""
    name = folded(mention.name)
    entity = table.called(name)
    if entity is None and mention.kind == PERSON:
        entity = _known_by_less(table, name)
    aliases = [folded(alias) for alias in mention.aliases]
    for alias in aliases:
        twin = table.called(alias)
        if twin is not None and entity is None:
            entity = twin
        elif twin is not None and entity is not None and twin != entity and _is_provisional(_own_name(table, twin)):
            old = _own_name(table, twin)
            table.absorb(entity, twin)
            _rename_subject(table, old, _own_name(table, entity))
    if entity is None:
        entity = table.add(mention.name, mention.kind)
        shared = _tell_apart(table, entity, name) if mention.kind == PERSON else frozenset()
        own = (other for other in other_names(mention.name, mention.kind) if other not in shared)
        table.add_names(entity, [*own, *aliases])
        return entity
    if _says_more(_own_name(table, entity), mention):
        old = _own_name(table, entity)
        table.rename(entity, mention.name, mention.kind)
        table.add_names(entity, other_names(mention.name, mention.kind))
        _rename_subject(table, old, name)
    table.add_names(entity, aliases)
    return entity


def _known_by_less(table: EntityTable, name: str) -> int | None:
    """Return the person of this full name who is known by the first name alone, or by a title and the last name."""
    first, _, rest = name.partition(" ")
    if first.strip(".") in TITLES and " " in rest:
        titled = f"{first} {rest.rpartition(' ')[2]}"
        entity = table.called(titled)
        return entity if entity is not None and _own_name(table, entity) == titled else None
    entity = table.called(first) if rest and not _is_provisional(name) else None
    if entity is None or table.namesakes(first, entity):
        return None
    return entity if _own_name(table, entity) in (first, f"@{first}") else None


def _tell_apart(table: EntityTable, entity: int, name: str) -> frozenset[str]:
    """Return the names that a new person shares with a namesake; from now on they mean neither of the two.

    A memory that gave the first name alone may have meant either: it is taken from the namesake and read again.
    """
    first, _, rest = name.partition(" ")
    others = table.namesakes(first, entity) if rest and first.strip(".") not in TITLES else []
    if not others:
        return frozenset()
    shared = frozenset({first, f"@{first}"})
    owner = table.called(first)
    if owner is not None and owner in others:
        table.remove_names(sorted(shared))
        for memory in _memories_by_shared_name(table, owner, shared):
            table.unmention(owner, memory)
            table.set_subject(memory, _own_name(table, owner), first)
            _read_again(table, memory)
    return shared


def _memories_by_shared_name(table: EntityTable, entity: int, shared: frozenset[str]) -> list[int]:
    """Return the memories that mention a person by no name but a shared one."""
    fuller = table.names_of(entity) - shared
    return [memory for memory, text, speaker in table.texts_of(entity, _LOOKED_BACK) if not fuller & _names_in(text, speaker)]


def _names_in(text: str, speaker: str) -> set[str]:
    return {folded(name) for mention in mentions(text, speaker) for name in (mention.name, *mention.aliases)}


def _read_again(table: EntityTable, memory: int) -> None:
    if (said := table.text_of(memory)) is not None:
        record_mentions(table, memory, mentions(*said))


def _own_name(table: EntityTable, entity: int) -> str:
    return folded(table.describe(entity)[0])


def _rename_subject(table: EntityTable, old: str, new: str) -> None:
    if old != new:
        table.rename_subject(old, new)


def _is_provisional(name: str) -> bool:
    """True if a name is a handle or a role, which stands for a person whose name is not known yet."""
    return name.startswith("@") or "'s " in name


def _says_more(own: str, mention: Mention) -> bool:
    """True if a mention names a person more fully than the entity's own name does."""
    if mention.kind != PERSON or _is_provisional(mention.name):
        return False
    name = folded(mention.name)
    return name != own and (_is_provisional(own) or name.startswith(f"{own} ") or _is_titled_short_form(own, name))


def _is_titled_short_form(own: str, name: str) -> bool:
    """True for "Dr. Moss" and "Dr. Ida Moss"."""
    title, _, last = own.partition(" ")
    return title.strip(".") in TITLES and name.startswith(f"{title} ") and name.endswith(f" {last}")


def _is_identified_without(table: EntityTable, entity: int, memory: int) -> bool:
    """True if the latest other memories give the own name, the kind and all other names of an entity.

    Then an entity that thousands of memories mention is not made anew for each of them that goes.
    """
    name, kind = table.describe(entity)
    said = [one for _, text, speaker in table.texts_of(entity, _WITNESSES, besides=memory) for one in mentions(text, speaker)]
    if not any(mention.kind == kind and folded(mention.name) == folded(name) for mention in said):
        return False
    together = [{folded(one) for one in (*other_names(each.name, each.kind), *each.aliases)} for each in said]
    known = {folded(name)}
    while more := [names for names in together if names & known and not names <= known]:
        known.update(*more)
    return table.names_of(entity) <= known
