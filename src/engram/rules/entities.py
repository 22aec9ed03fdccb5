"""Entities (C6): which name belongs to which entity, and when two entities are one. Pure but for the table that is passed in.

An entity belongs to a scope: two agents that share nothing may know two people of one name. In a scope, a name leads to one
entity. A fuller name is adopted: "Ada" becomes Ada Lovelace, "Mel" Melanie, "my manager" the person who is said to be that. When
a second person with the same first name or short form is mentioned, that name alone stands for neither. Who has a role depends
on the time (`rules/roles.py`); decisions by hand come before all of this (`rules/entity_decisions.py`).

The mentions of memories are the source. Entities and their names follow from them, and are made anew where one of them goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engram.rules.entity_decisions import Rulings, names_in, rulings
from engram.rules.roles import RoleStatement, has_role, holder, tenures
from engram.store.rule_ports import EntityTable
from engram.text.english.entities import ORGANISATION, PERSON, THING, TITLES, UNSURE, folded, is_possessive, other_names
from engram.text.english.nicknames import FULL_FORMS, is_beginning, is_short_form, short_forms
from engram.text.english.roles import Holding, Role, is_shared, read_role
from engram.values.entities import EntityAction, EntityDecision, Mention, StoredMention

_LOOKED_BACK = 2000  # mentions of one person that are read again when a namesake appears
_WITNESSES = 24  # mentions that are asked whether they identify an entity without the memory that goes
_OFFICES = ("dr", "prof", "professor", "captain", "coach", "judge")  # "Mr. Moss" may be the husband of Ida Moss


def record_mentions(table: EntityTable, memory: int, mentions: Sequence[Mention]) -> None:
    """Store what a memory mentions, in place of what it mentioned before, and the entities that the mentions mean."""
    before = table.mentioned_in(memory)
    table.put_mentions(memory, mentions)
    _read_again(table, memory)
    for entity in before:
        if not table.memories_of(entity):
            table.remove(entity)


def canonical(table: EntityTable, name: str) -> str:
    """Return the folded own name of the entity that has this name; the name itself if there is none."""
    entity = table.called(_rulings(table).name_of(name))
    return name if entity is None else _own_name(table, entity)


def set_kind(table: EntityTable, name: str, kind: str) -> None:
    """Set the kind of the entity that has this name, as a fact states it."""
    entity = table.called(name)
    if entity is not None:
        table.rename(entity, table.describe(entity)[0], kind)


def forget_mentions(table: EntityTable, memory: int) -> None:
    """Let the mentions of a memory mean no entity, and remove every name that only it gave.

    An entity that the other memories do not identify by themselves is removed and made anew from their mentions.
    """
    doomed = []
    roles = {role.name for mention in table.mentions_of(memory) for role in _roles_in(mention.said)}
    for entity in table.mentioned_in(memory):
        if not _is_identified_without(table, entity, memory):
            doomed.append(entity)
        table.unlink(memory, entity)
    _make_anew(table, doomed, roles=roles)


def given_names(table: EntityTable, entity: int) -> tuple[str, ...]:
    """Return the folded names by which mentions call an entity; roles, which change, are left out if there are others.

    Names that another decision brought to the entity are that decision's: they go when it is taken back. A rename brings none.
    """
    decided = rulings([decision for decision in table.decisions() if decision.action is not EntityAction.RENAME])
    said = [mention.said for mention in table.mentions_meaning(entity) if not _is_redirected(table, mention, decided)]
    names = dict.fromkeys(name for mention in said for name in _names_in(mention))
    return tuple([name for name in names if "'s " not in name] or names)


def _is_redirected(table: EntityTable, mention: StoredMention, decided: Rulings) -> bool:
    """True if it was decided that a mention means another name than it says."""
    name = folded(mention.said.name)
    return name in decided.means or (bool(decided.moved) and (table.id_of(mention.memory), name) in decided.moved)


def apply_decision(table: EntityTable, decision: EntityDecision) -> None:
    """Read the mentions again that a decision, which was just made or taken back, is about."""
    names = names_in(decision)
    called = {entity for name in names for entity in (table.called(name), *(span.entity for span in table.holders(name)))}
    _make_anew(table, sorted(entity for entity in called if entity is not None), table.memories_naming(names))


def _make_anew(table: EntityTable, entities: Sequence[int], besides: Iterable[int] = (), roles: Iterable[str] = ()) -> None:
    """Remove entities and read their mentions again, and those of the memories `besides`; settle their roles, and `roles`.

    The facts of those memories get the names that the entities have then.
    """
    left: list[tuple[StoredMention, str]] = []
    unsettled = set(roles)
    for entity in entities:
        name = _own_name(table, entity)
        left += [(mention, name) for mention in table.mentions_meaning(entity)]
        unsettled |= table.roles_of(entity)
        table.remove(entity)
    for role in sorted(unsettled):
        _settle_role(table, role)
    memories = sorted({*besides, *(mention.memory for mention, _ in left)})
    for memory in memories:
        _read_again(table, memory)
    for memory in memories:  # what a later memory says may tell whom an earlier one means
        if any(mention.entity is None for mention in table.mentions_of(memory)):
            _read_again(table, memory)
    for mention, name in left:
        means = table.mentions_of(mention.memory)[mention.number].entity
        table.set_subject(mention.memory, name, folded(mention.said.name) if means is None else _own_name(table, means))


def _read_again(table: EntityTable, memory: int) -> None:
    """Link the mentions of a memory with the entities that they mean now."""
    for mention in table.mentions_of(memory):
        entity = _meant(table, mention)
        table.link(memory, mention.number, entity)
        if entity is not None:
            for role in _roles_in(mention.said):
                if role.holding is Holding.FORMER or not has_role(table.holders(role.name), entity, table.said_at(memory)):
                    _settle_role(table, role.name, entity)


def _meant(table: EntityTable, mention: StoredMention) -> int | None:
    """Return the entity that a mention means. A word that may be no name means one only if that has it for a name already."""
    decided = _rulings(table)
    said = decided.applied(mention.said, table.id_of(mention.memory) if decided.moved else "")
    name = folded(said.name)
    if said.kind == UNSURE:
        return table.called(name)
    if is_possessive(said):
        return None
    if (role := read_role(name)) is not None and (spans := table.holders(role.name)):
        return holder(spans, table.said_at(mention.memory))
    return _identify(table, said, decided)


def _identify(table: EntityTable, mention: Mention, decided: Rulings) -> int:
    """Return the entity that a mention means; it is added, renamed or merged with another as the mention tells."""
    name = folded(mention.name)
    known = entity = table.called(name)
    if entity is None:
        entity = next((one for one in _candidates(table, mention) if not _are_apart(table, decided, one, name)), None)
    roles = _roles_in(mention)
    aliases = [folded(alias) for alias in mention.aliases if read_role(folded(alias)) is None]
    for alias in (*aliases, *(role.name for role in roles if role.holding is Holding.HAS)):
        twin = table.called(alias)
        if twin is None or twin == entity or not _is_provisional(_own_name(table, twin)):
            continue
        if entity is None and not _are_apart(table, decided, twin, name):
            entity = twin
        elif entity is not None and not decided.are_apart(table.names_of(entity), table.names_of(twin)):
            old = _own_name(table, twin)
            table.absorb(entity, twin)
            _rename_subject(table, old, _own_name(table, entity))
    if entity is None:
        return _add(table, mention, aliases, decided)
    own, kind = table.describe(entity)
    if _says_more(folded(own), mention):
        table.rename(entity, mention.name, mention.kind)
        _add_names(table, entity, other_names(mention.name, mention.kind), decided)
        _rename_subject(table, folded(own), name)
    elif kind != mention.kind and (kind == THING or name in decided.kinds):
        table.rename(entity, own, mention.kind)
    given = [name] if known is None and read_role(name) is None else []  # a role has a time, and is no name like others
    _add_names(table, entity, [*given, *aliases, *decided.names_of(name)], decided)
    return entity


def _add(table: EntityTable, mention: Mention, aliases: Sequence[str], decided: Rulings) -> int:
    """Add the entity that a mention names, and return its key."""
    name = folded(mention.name)
    entity = table.add(mention.name, mention.kind)
    _add_names(table, entity, [name], decided)  # before others are told apart from it
    shared = _tell_apart(table, entity, name) if mention.kind == PERSON else frozenset()
    own = [other for other in other_names(mention.name, mention.kind) if other not in shared]
    _add_names(table, entity, [*own, *aliases, *decided.names_of(name)], decided)
    return entity


def _add_names(table: EntityTable, entity: int, names: Iterable[str], decided: Rulings) -> None:
    """Add names of an entity, except those that were decided not to be its own."""
    new = list(names)
    if new and (decided.pairs or decided.means):
        own = table.names_of(entity) | {_own_name(table, entity)}
        new = [name for name in new if not decided.are_apart(own, (name,)) and decided.name_of(name) in {name, *own}]
    table.add_names(entity, new)


def _candidates(table: EntityTable, mention: Mention) -> list[int]:
    """Return the entity that a mention of an unknown name must mean, by a shorter, a longer or a short form of that name."""
    name = folded(mention.name)
    if mention.kind == ORGANISATION:
        shorter = (table.called(other) for other in other_names(mention.name, mention.kind))
        return [entity for entity in shorter if entity is not None and table.describe(entity)[1] in (ORGANISATION, THING)]
    if mention.kind != PERSON or _is_provisional(name):
        return []
    for rule in (_known_by_less, _known_by_office, _known_by_full_form, _known_by_short_form):
        if (entity := rule(table, name)) is not None:
            return [entity]
    return []


def _known_by_less(table: EntityTable, name: str) -> int | None:
    """Return the person of this full name who is known by the first name alone, or by a title and the last name."""
    first, _, rest = name.partition(" ")
    if first.strip(".") in TITLES and " " in rest:
        titled = f"{first} {rest.rpartition(' ')[2]}"
        entity = table.called(titled)
        return entity if entity is not None and _own_name(table, entity) == titled else None
    entity = table.called(first) if rest else None
    if entity is None or _namesakes(table, first, entity):
        return None
    return entity if _own_name(table, entity) in (first, f"@{first}") else None


def _known_by_office(table: EntityTable, name: str) -> int | None:
    """Return the one person of this last name: Ida Moss for "Dr. Moss", and Dr. Moss for "Ida Moss"."""
    first, _, last = name.rpartition(" ")
    if not first:
        return None
    if first.strip(".") in _OFFICES:
        people = {entity for other, entity in table.ending(f" {last}") if other.partition(" ")[0].strip(".") not in TITLES}
        return people.pop() if len(people) == 1 else None
    if first.partition(" ")[0].strip(".") in TITLES:
        return None
    titled = {table.called(f"{title}{dot} {last}") for title in _OFFICES for dot in (".", "")} - {None}
    if len(titled) != 1 or any(entity not in titled for _, entity in table.ending(f" {last}")):
        return None
    entity = titled.pop()
    return entity if entity is not None and _own_name(table, entity).partition(" ")[2] == last else None


def _known_by_full_form(table: EntityTable, name: str) -> int | None:
    """Return the one person whose name this may be short for: Melanie for "Mel", Melanie Smith for "Mel Smith"."""
    people = _people_behind(table, name)
    return people.pop() if len(people) == 1 else None


def _people_behind(table: EntityTable, name: str) -> set[int]:
    """Return the people whose name this may be short for."""
    short, _, rest = name.partition(" ")
    found = {
        entity
        for full in FULL_FORMS.get(short, ())
        for entity in ([table.called(f"{full} {rest}")] if rest else [table.called(full), *_namesakes(table, full)])
    }
    for other, entity in table.beginning(short) if is_beginning(short) else ():
        first, _, last = other.partition(" ")
        if is_short_form(short, first) and (not rest or last == rest) and table.describe(entity)[1] == PERSON:
            found.add(entity)
    return {entity for entity in found if entity is not None}


def _known_by_short_form(table: EntityTable, name: str) -> int | None:
    """Return the person of this name who is known by a short form of it alone, which nobody else may be meant by."""
    first, space, rest = name.partition(" ")
    found = set()
    for short in short_forms(first):
        for known in dict.fromkeys((short, f"{short}{space}{rest}")):
            entity = table.called(known)
            if entity is not None and _own_name(table, entity) == known and table.describe(entity)[1] == PERSON:
                if not _people_behind(table, short) - {entity}:
                    found.add(entity)
    return found.pop() if len(found) == 1 else None


def _namesakes(table: EntityTable, first: str, besides: int = 0) -> list[int]:
    """Return the other entities that have a name of several words beginning with this one."""
    return sorted({entity for _, entity in table.beginning(f"{first} ")} - {besides})


def _tell_apart(table: EntityTable, entity: int, name: str) -> frozenset[str]:
    """Return the names that a new person shares with others; from now on they mean none of them.

    A memory that gave such a name alone may have meant either: it is taken from its owner and read again.
    """
    first, _, rest = name.partition(" ")
    is_titled = first.strip(".") in TITLES
    if _is_provisional(name) or (is_titled and " " in rest):
        return frozenset()
    first = rest if is_titled else first
    owner = table.called(first)
    others = {*_namesakes(table, first, entity), *([owner] if owner is not None and _is_titled(table, owner, first) else [])}
    shared: frozenset[str] = frozenset()
    if rest and others:
        shared = frozenset({first, f"@{first}"})
        if owner is not None and owner in others:
            _take_names(table, owner, shared)
    if is_titled:
        return shared
    for short in short_forms(first):
        owner = table.called(short)
        if owner is not None and owner != entity and _own_name(table, owner).partition(" ")[0] != short:
            _take_names(table, owner, frozenset({short}))
    return shared


def _is_titled(table: EntityTable, entity: int, name: str) -> bool:
    """True if an entity is called by a title and this name alone: "Dr. Kim"."""
    title, _, rest = _own_name(table, entity).partition(" ")
    return title.strip(".") in TITLES and rest == name


def _take_names(table: EntityTable, owner: int, shared: frozenset[str]) -> None:
    """Take names from an entity, and read the memories again that call it by nothing else."""
    table.remove_names(sorted(shared))
    own = _own_name(table, owner)
    for memory, said in _memories_by_shared_name(table, owner, shared):
        table.unlink(memory, owner)
        table.set_subject(memory, own, said)
        _read_again(table, memory)


def _memories_by_shared_name(table: EntityTable, entity: int, shared: frozenset[str]) -> list[tuple[int, str]]:
    """Return the memories that mention a person by no name but a shared one, with the name that they give."""
    fuller = table.names_of(entity) - shared
    names: dict[int, list[str]] = {}
    for mention in table.mentions_meaning(entity, _LOOKED_BACK):
        names.setdefault(mention.memory, []).extend(_names_in(mention.said))
    return [(memory, given[0]) for memory, given in names.items() if fuller.isdisjoint(given)]


def _names_in(mention: Mention) -> list[str]:
    return [folded(mention.name), *(folded(alias) for alias in mention.aliases)]


def _roles_in(mention: Mention) -> list[Role]:
    """Return the roles that a mention says its entity has or had."""
    return [role for alias in mention.aliases if (role := read_role(folded(alias))) is not None]


def _settle_role(table: EntityTable, role: str, *entities: int) -> None:
    """Set who has and had a role by all that was said of it; mentions by the role alone mean the one who had it then."""
    before = table.holders(role)
    holders = sorted({*entities, *(span.entity for span in before)})
    statements = [RoleStatement(None, entity, Holding.HAS) for entity in holders if _own_name(table, entity) == role]
    statements += [
        RoleStatement(table.said_at(mention.memory), entity, said.holding)
        for entity in holders
        for mention in table.aliasing(entity)
        for said in _roles_in(mention.said)
        if said.name == role
    ]
    after = tenures(statements, shared=is_shared(role))
    if after == before:
        return
    table.set_holders(role, after)
    for mention in table.naming_role(role):
        meant = holder(after, table.said_at(mention.memory))
        if meant != mention.entity:
            table.link(mention.memory, mention.number, meant)
            old = role if mention.entity is None else _own_name(table, mention.entity)
            table.set_subject(mention.memory, old, role if meant is None else _own_name(table, meant))


def _own_name(table: EntityTable, entity: int) -> str:
    return folded(table.describe(entity)[0])


def _rename_subject(table: EntityTable, old: str, new: str) -> None:
    if old != new:
        table.rename_subject(old, new)


def _rulings(table: EntityTable) -> Rulings:
    return rulings(table.decisions())


def _are_apart(table: EntityTable, decided: Rulings, entity: int, name: str) -> bool:
    """True if it was decided that an entity is not the one of this name."""
    return bool(decided.pairs) and decided.are_apart(table.names_of(entity) | {_own_name(table, entity)}, (name,))


def _is_provisional(name: str) -> bool:
    """True if a name is a handle or a role, which stands for a person whose name is not known yet."""
    return name.startswith("@") or "'s " in name


def _says_more(own: str, mention: Mention) -> bool:
    """True if a mention names a person or an organisation more fully than the entity's own name does."""
    name = folded(mention.name)
    if mention.kind == ORGANISATION:
        return name.startswith(f"{own} ")
    if mention.kind != PERSON or _is_provisional(name) or name == own:
        return False
    first, _, rest = name.partition(" ")
    short, _, others = own.partition(" ")
    return (
        _is_provisional(own)
        or name.startswith(f"{own} ")
        or _is_titled_short_form(own, name)
        or (is_short_form(short, first) and others in ("", rest))
    )


def _is_titled_short_form(own: str, name: str) -> bool:
    """True for "Dr. Moss" and "Dr. Ida Moss", or "Ida Moss"."""
    title, _, last = own.partition(" ")
    if title.strip(".") not in TITLES or not name.endswith(f" {last}"):
        return False
    return name.startswith(f"{title} ") or (title.strip(".") in _OFFICES and name.partition(" ")[0].strip(".") not in TITLES)


def _is_identified_without(table: EntityTable, entity: int, memory: int) -> bool:
    """True if the latest mentions in other memories give the own name, the kind and all other names of an entity.

    Then an entity that thousands of memories mention is not made anew for each of them that goes.
    """
    name, kind = table.describe(entity)
    decided = _rulings(table)
    said = [
        decided.applied(mention.said, table.id_of(mention.memory) if decided.moved else "")
        for mention in table.mentions_meaning(entity, _WITNESSES, besides=memory)
    ]
    if not any(mention.kind == kind and folded(mention.name) == folded(name) for mention in said):
        return False
    together = [{*_names_in(each), *other_names(each.name, each.kind), *(role.name for role in _roles_in(each))} for each in said]
    known = {folded(name), *decided.names_of(folded(name)), *short_forms(folded(name).partition(" ")[0])}
    while more := [names for names in together if names & known and not names <= known]:
        known.update(*more)
    return table.names_of(entity) <= known
