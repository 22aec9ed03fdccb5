"""SQL of the conditions of a filter that are names: attributes, people, technologies, files, languages, topics, speakers.

Each is a condition on the key of a memory, so that the names are looked up by their own index before any memory is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from engram.store.sqlite import connection as sealed
from engram.text.terms import terms
from engram.values.identity import Sensitivity
from engram.values.query import Filter

Value = None | int | float | str | bytes
Condition = tuple[str, list[Value]]
"""SQL of a condition, and its values."""

LANGUAGE, CODE = "engram:language", "engram:code"
"""Names of the attributes that hold the language of a memory, unless that is English or not sure, and the programming language
that it is about, sealed like other attributes."""

_SEALED = f"seal('{Sensitivity.SENSITIVE}', ?, 0, ?)"

_SHUT = sealed.write_side("attributes", "value", "?", f"'{Sensitivity.SENSITIVE}'", ("?",))
"""SQL of the sealed forms of an attribute's value, by older releases and by this one: equal for all memories, so that a filter
finds them."""

_KINDS = {"people": ("person",), "technologies": ("technology", "product", "thing"), "files": ("file",)}
"""Kinds of the entities that a condition means. A tool that is in no list of technologies is a thing."""

_STEM = 5
"""Letters of a topic's word that are compared, as boxes compare their topics."""


def conditions(where: Filter, alias: str, *, probe: bool) -> Iterator[Condition]:
    """Yield the conditions of a filter that are names.

    probe: another index finds the rows, and each is tested. Without the plus sign SQLite would ask that index once for every key
    that fits (a text search at 20,000 memories, 800 of which fit: 30 instead of 4 ms).
    """
    key = f"+{alias}.key" if probe else f"{alias}.key"
    for name, value in (where.attributes or {}).items():
        yield f"{key} IN ({_HAVING})", _having(name, value)
    for field, kinds in _KINDS.items():
        if names := getattr(where, field):
            yield _mentions(key, names, kinds)
    if where.languages:
        yield _any(_language(key, language.strip().lower()) for language in where.languages)
    if where.topics:
        yield _any(_topic(alias, key, topic) for topic in where.topics)
    if where.speakers:
        yield _speakers(alias, where.speakers)


_HAVING = f"SELECT memory FROM attributes WHERE name = ? AND value IN (?, {_SEALED}, {_SHUT})"


def _having(name: str, value: str) -> list[Value]:
    return [name, value, value, f"attribute/{name}", value, name]


def _mentions(key: str, names: Sequence[str], kinds: Sequence[str]) -> Condition:
    """Return the condition that a memory mentions an entity of these kinds that has one of these names now."""
    form = "technology" if "technology" in kinds else "folded"
    called = f"a.name IN ({', '.join([f'{form}(?)'] * len(names))})"
    values: list[Value] = list(names)
    if "file" in kinds:  # "x.py" and "src/x.py" are the end of "app/src/x.py"
        called += "".join(" OR substr(a.name, -length(folded(?)) - 1) = '/' || folded(?)" for _ in names)
        values += [name for name in names for _ in range(2)]
    sql = f"""
        {key} IN (SELECT n.memory FROM mentions AS n WHERE n.entity IN (
            SELECT e.key FROM aliases AS a CROSS JOIN entities AS e ON e.key = a.entity
             WHERE a.until = 0 AND ({called}) AND e.kind IN ({", ".join("?" * len(kinds))})))
    """
    return sql, [*values, *kinds]


def _language(key: str, language: str) -> Condition:
    if language == "en":  # what is not known to be in another language counts as English everywhere
        return f"{key} NOT IN (SELECT memory FROM attributes WHERE name = ?)", [LANGUAGE]
    return f"{key} IN ({_HAVING} UNION ALL {_HAVING})", [*_having(LANGUAGE, language), *_having(CODE, language)]


def _topic(alias: str, key: str, topic: str) -> Condition:
    """Return the condition that this is a memory's category or a topic of its box; one that is not boxed yet is its own box."""
    words = terms(topic)
    category, values = f"{alias}.category = ?", [topic.strip().lower()]
    if not words:
        return category, list(values)
    ends = ["" if len(word) >= _STEM else " " for word in words]  # a short word counts whole
    stems = [word[:_STEM] for word in words]
    boxed = " AND ".join("instr(' ' || b.topic || ' ', ' ' || ?) > 0" for _ in words)
    match = " AND ".join(f'words:"{stem}"{"" if end else "*"}' for stem, end in zip(stems, ends, strict=True))
    sql = f"""
        ({category}
         OR {key} IN (SELECT x.memory FROM boxes AS b CROSS JOIN boxed AS x ON x.box = b.key WHERE {boxed})
         OR {key} IN (SELECT rowid FROM lexicon WHERE lexicon MATCH ?
                             AND rowid > coalesce((SELECT value FROM meta WHERE name = 'figure:boxed_to'), 0)))
    """
    return sql, [*values, *(stem + end for stem, end in zip(stems, ends, strict=True)), match]


def _speakers(alias: str, names: Sequence[str]) -> Condition:
    """Return the condition that one of these said it, under any name that they have."""
    spelled = [spelling for name in names for spelling in (name.strip(), name.strip().title())]  # SQL lowers ASCII letters only
    sql = f"""
        (lower({alias}.speaker) IN (SELECT lower(value) FROM json_each(?)) OR ({alias}.scope, lower({alias}.speaker)) IN (
            SELECT a.scope, b.name FROM aliases AS a CROSS JOIN aliases AS b ON b.entity = a.entity AND b.until = 0
             WHERE a.until = 0 AND a.name IN ({", ".join(["folded(?)"] * len(names))})))
    """
    return sql, [json.dumps(spelled), *names]


def _any(conditions: Iterator[Condition]) -> Condition:
    parts = list(conditions)
    return f"({' OR '.join(sql for sql, _ in parts)})", [value for _, values in parts for value in values]
