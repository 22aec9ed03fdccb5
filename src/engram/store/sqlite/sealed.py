"""What is kept closely, as SQL sees it: functions that seal and open fields and vectors, and the expressions that use them.

Each connection has `seal(tier, value, row, column)`, `unseal(value, row, column)`, `project(vector)` and `straighten(vector)`
under the vault's field key. A cleartext row passes by them: its expressions never call into Python.

What the text index holds of a memory: all words of a cleartext one; of a sensitive one what is left when the personal is masked
(`contents.clear`); of a confidential one nothing, it is found by its meaning alone (§10.5.5).
"""

from __future__ import annotations

from collections.abc import Callable

import apsw

from engram.guard import pii
from engram.guard.fields import FieldCipher
from engram.types import Memory, Tier

FIELD_KEY = "field_key"
"""Where a vault whose key was changed keeps the key of its fields, wrapped under that of the new master key."""


def register(connection: apsw.Connection, cipher: FieldCipher) -> None:
    def seal(tier: str, value: str, row: int, column: str) -> str:
        return value if tier == Tier.CLEARTEXT else cipher.seal(value, f"{column}/{row}")

    def unseal(value: str, row: int, column: str) -> str:
        return cipher.unseal(value, f"{column}/{row}")

    functions: dict[str, tuple[Callable[..., str | bytes], int]] = {
        "seal": (seal, 4), "unseal": (unseal, 3), "project": (cipher.project, 1), "straighten": (cipher.straighten, 1),
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


VECTOR = "CASE m.tier WHEN 'confidential' THEN straighten(e.vector) ELSE e.vector END"
"""A stored vector as the index takes it."""

INDEXED = "CASE m.tier WHEN 'cleartext' THEN c.text WHEN 'sensitive' THEN c.clear ELSE '' END"
"""What the text index was told of a memory's words."""


def clear_of(memory: Memory) -> str:
    """What may stand in the text index of a sensitive memory: the rest of its words; nothing, if it cannot be told what is."""
    if memory.tier is not Tier.SENSITIVE:
        return ""
    spans = pii.closely(memory.text)
    return pii.masked(memory.text, spans) if spans else ""


def indexed_of(memory: Memory) -> str:
    """The words of a memory that go into the text index."""
    return memory.text if memory.tier is Tier.CLEARTEXT else clear_of(memory)
