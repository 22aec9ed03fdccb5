"""What is kept closely, as SQL sees it: functions that seal and open fields and vectors, and the expressions that use them.

Each connection has `seal(tier, value, row, column)`, `unseal(value, row, column)`, `project(vector)` and `straighten(vector)`
under the vault's field key. A cleartext row passes by them: its expressions never call into Python.

Words that stand beside a memory (`BESIDE`: events, steps, facts, wordings of before, …) inherit its tier, and are sealed too if
they are personal themselves. Each such value bears a mark if it is sealed, so that it opens whatever became of its memory since:
`shut(tier, value, place)` and `unshut(value, place)`, by the expressions `kept` and `told`. `blind(digest)` is a digest under
the key.

What the text index holds of a memory: all words of a cleartext one; of a sensitive one what is left when the personal is masked
(`contents.clear`); of a confidential one nothing, it is found by its meaning alone (§10.5.5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import apsw

from engram.guard.fields import FieldCipher
from engram.who import Sensitivity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from engram.types import Memory

FIELD_KEY = "field_key"
"""Where a vault whose key was changed keeps the key of its fields, wrapped under that of the new master key."""

MARK = "\x01sealed:"
"""What a sealed value begins with. Words that begin so are sealed whatever they are: no value is taken for what it is not."""

BESIDE: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {
        "attributes": (("name",), ("value",)),  # not by memory: equal values are equal ciphertexts, and found by each other
        "versions": (("memory", "number"), ("text",)),
        "status_history": (("memory", "number"), ("reason",)),
        "episodes": (("memory",), ("goal", "result")),
        "events": (("memory", "number"), ("type", "text", "actor")),
        "participants": (("memory",), ("name", "role")),
        "skills": (("memory",), ("name",)),
        "skill_parts": (("memory", "part", "number"), ("text", "extra")),
        "facts": ((), ("subject", "predicate", "object")),  # likewise: facts of one subject are found by it
    }
)
"""Tables of a memory's words beside `contents`: the columns that name a row, and those that hold words. All have a `memory`."""

_TIERED = {
    "attributes": "unseal({0}.value, 0, 'attribute/' || {0}.name)",
    "versions": "unseal({0}.text, {0}.memory, 'version/' || {0}.number)",
}
"""How the two that were sealed before there were marks are opened, if their memory is kept closely."""


def register(connection: apsw.Connection, cipher: FieldCipher, guarded: Callable[[], bool] = lambda: True) -> None:
    """`guarded`: are words that are personal by themselves sealed beside a cleartext memory?"""

    def seal(tier: str, value: str, row: int, column: str) -> str:
        return value if tier == Sensitivity.CLEARTEXT else cipher.seal(value, f"{column}/{row}")

    def unseal(value: str, row: int, column: str) -> str:
        return cipher.unseal(value, f"{column}/{row}")

    def shut(tier: str, value: str, place: str) -> str:
        if not value:
            return ""
        if tier == Sensitivity.CLEARTEXT and not value.startswith(MARK) and not (guarded() and _is_personal(value)):
            return value
        return MARK + cipher.seal(value, place)

    def unshut(value: str, place: str) -> str:
        return cipher.unseal(value.removeprefix(MARK), place) if value.startswith(MARK) else value

    functions: dict[str, tuple[Callable[..., str | bytes], int]] = {
        "seal": (seal, 4), "unseal": (unseal, 3), "project": (cipher.project, 1), "straighten": (cipher.straighten, 1),
        "shut": (shut, 3), "unshut": (unshut, 2), "blind": (cipher.blind, 1),
    }  # fmt: skip
    for name, (function, arguments) in functions.items():
        connection.create_scalar_function(name, function, arguments, deterministic=True)


def handed_over(connection: apsw.Connection) -> bytes | None:
    """The wrapped key of the fields, if the vault's key was ever changed."""
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").get
    found = connection.execute("SELECT value FROM meta WHERE name = ?", (FIELD_KEY,)).get if there else None
    return None if found is None else bytes(found)


def opened(column: str, *, table: str = "c", tier: str = "m.tier", row: str = "m.key", place: str = "") -> str:
    """A column of words as an expression that opens it where it is sealed. `place`: SQL for its name, if it is no column's."""
    name = place or f"'{column}'"
    return f"CASE {tier} WHEN 'cleartext' THEN {table}.{column} ELSE unseal({table}.{column}, {row}, {name}) END"


def words(tier: str, value: str, row: str, column: str) -> str:
    """A column of a memory's own words as an expression that seals a value where its tier asks for it. All is SQL."""
    return f"CASE {tier} WHEN 'cleartext' THEN {value} ELSE seal({tier}, {value}, {row}, '{column}') END"


# ── words beside a memory ──────────────────────────────────────────────────────────────────────────────────────────────────


def kept(table: str, column: str, value: str, tier: str, row: Iterable[str] = ()) -> str:
    """An expression that seals a value where its tier or its words ask for it. All is SQL; `row` is what `BESIDE` names it by."""
    return f"shut({tier}, {value}, {_place(table, column, row)})"


def told(table: str, column: str, alias: str, tier: str = "m.tier") -> str:
    """A column of `BESIDE` as an expression that opens it. `tier`, its memory's, is asked only for what older releases sealed."""
    value = f"{alias}.{column}"
    marked = f"substr({value}, 1, {len(MARK)}) = char(1) || '{MARK[1:]}'"
    place = _place(table, column, (f"{alias}.{name}" for name in BESIDE[table][0]))
    before = f" WHEN {tier} <> 'cleartext' THEN {_TIERED[table].format(alias)}" if table in _TIERED else ""
    return f"CASE WHEN {marked} THEN unshut({value}, {place}){before} ELSE {value} END"


def either(table: str, column: str, value: str, row: Iterable[str] = ()) -> str:
    """The forms that a value may have in a column whose rows are not named by their memory: to be looked up by `IN`."""
    return f"{value}, shut('{Sensitivity.SENSITIVE}', {value}, {_place(table, column, row)})"


def retier(connection: apsw.Connection, memory: int, old: str, new: str, tables: Iterable[str] = BESIDE) -> None:
    """All words beside a memory as its tier has them now. (The memory's own, and its turns, have a tier in their rows.)"""
    for table in tables:
        row, columns = BESIDE[table]
        changes = ", ".join(
            f"{column} = {kept(table, column, told(table, column, 't', '?2'), '?3', (f't.{name}' for name in row))}"
            for column in columns
        )
        connection.execute(f"UPDATE {table} AS t SET {changes} WHERE t.memory = ?1", (memory, old, new))
    if new not in (old, Sensitivity.CLEARTEXT):
        seal_put_away(connection)


PUT_AWAY = "CAST('sealed:' || seal('confidential', ?3, ?1, 'mind/' || ?2) AS BLOB)"
"""What was put away, sealed: of scope, name, and the body's bytes as Latin-1."""


def seal_put_away(connection: apsw.Connection) -> None:
    """Words are kept more closely from now on, and what anybody put away in the clear may hold them: all of it is sealed."""
    clear = "SELECT scope, name, body FROM working_snapshots WHERE substr(body, 1, 7) <> CAST('sealed:' AS BLOB)"
    found: list[Any] = connection.execute(clear).fetchall()
    for scope, name, body in found:
        values = (scope, name, body.decode("latin-1"))
        connection.execute(f"UPDATE working_snapshots SET body = {PUT_AWAY} WHERE scope = ?1 AND name = ?2", values)


def _place(table: str, column: str, row: Iterable[str]) -> str:
    """What a sealed value is bound to, as SQL: ciphertext that is moved does not open."""
    return " || '/' || ".join((f"'{table}.{column}'", *row))


# ── vectors, digests and the text index ────────────────────────────────────────────────────────────────────────────────────

VECTOR = "CASE WHEN m.tier = 'confidential' AND e.vector IS NOT NULL THEN straighten(e.vector) ELSE e.vector END"
"""A stored vector as the index takes it; none, where none was made yet."""

INDEXED = "CASE m.tier WHEN 'cleartext' THEN c.text WHEN 'sensitive' THEN c.clear ELSE '' END"
"""What the text index was told of a memory's words."""


def digest(tier: str, plain: str) -> str:
    """A wording's digest as its tier has it stored; both are SQL."""
    return f"CASE {tier} WHEN 'cleartext' THEN {plain} ELSE blind({plain}) END"


def digests(connection: apsw.Connection, plain: Iterable[bytes]) -> dict[bytes, bytes]:
    """Every form that these may be stored in, each with the plain one."""
    forms = {one: one for one in plain}
    blinded = connection.executemany("SELECT blind(?)", [(one,) for one in forms])
    return forms | {bytes(row[0]): one for row, one in zip(list(blinded), list(forms), strict=True)}


def clear_of(memory: Memory) -> str:
    """What may stand in the text index of a sensitive memory: the rest of its words; nothing, if it cannot be told what is."""
    return rest_of(memory.text) if memory.tier is Sensitivity.SENSITIVE else ""


def _is_personal(text: str) -> bool:
    from engram.guard import pii  # only writing needs its patterns, which take longer to make than a hook has

    return bool(pii.find_sensitive(text))


def rest_of(text: str) -> str:
    """Words that are kept closely, without what makes them so; nothing, if that cannot be told from them."""
    from engram.guard import pii  # as above

    spans = pii.find_sensitive(text)
    return pii.mask(text, spans) if spans else ""


def indexed_of(memory: Memory) -> str:
    """The words of a memory that go into the text index."""
    return memory.text if memory.tier is Sensitivity.CLEARTEXT else clear_of(memory)
