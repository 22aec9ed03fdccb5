"""Connections to the database: the binding, the key, the pragmas, and the SQL functions that seal and unseal columns.

Binding: `apsw` and `apsw-sqlite3mc` install the same module name. The plain one ignores `PRAGMA key` and would write plaintext,
so it is refused before a database is opened. SQLite's errors become Engram's in `engram_error`.

Sealed columns: each connection has the SQL functions `seal(tier, value, row, column)`, `unseal(value, row, column)`,
`project(vector)`, `straighten(vector)` and `blind(digest)` under the vault's field key. Expressions on a cleartext row never call
into Python.

Side columns (`SIDE_TABLES`: events, steps, facts, earlier wordings, …) inherit the tier of their memory, and are also sealed if
they hold personal data themselves. A sealed side value begins with a mark, so that it can be read whatever the tier of its memory
is now. `write_side` and `read_side` return the SQL, which calls `seal_side(tier, value, place)` and `unseal_side(value, place)`.

The text index holds all words of a cleartext memory; of a sensitive one the words that are left when personal data is masked
(`contents.clear`); of a confidential one nothing: only its vector finds it (§10.5.5).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

import apsw

from engram.crypto.ciphers import FieldCipher
from engram.crypto.hardening import lock_buffer, unlock_buffer
from engram.crypto.keys import MasterKey, Purpose, wipe
from engram.errors import (
    DiskFull,
    EncryptionFailed,
    EngramError,
    InvalidContent,
    StorageError,
    VaultBusy,
    VaultDamaged,
    WriteFailed,
)
from engram.store.folder import touch_private
from engram.values.identity import Sensitivity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from engram.store.rule_ports import TextRules
    from engram.types import Memory


_WRITE_PROBLEMS = (
    apsw.SQLITE_IOERR_WRITE,
    apsw.SQLITE_IOERR_FSYNC,
    apsw.SQLITE_IOERR_TRUNCATE,
    apsw.SQLITE_IOERR_SHMSIZE,
    apsw.SQLITE_IOERR_SHMOPEN,
)


def require_encryption() -> None:
    """Raise EncryptionFailed if the installed `apsw` has no ciphers."""
    if not getattr(apsw, "mc_version", ""):
        raise EncryptionFailed(
            "the module `apsw` that is installed cannot encrypt; it shares its name with the one that can.",
            way_out="Run `pip uninstall apsw` and then `pip install --force-reinstall apsw-sqlite3mc`.",
        )


def engram_error(error: apsw.Error, doing: str) -> EngramError:
    """Return the EngramError for an error of SQLite. SQLite's own text, which may quote values, is dropped."""
    extended = getattr(error, "extendedresult", 0)
    if isinstance(error, apsw.FullError) or extended in _WRITE_PROBLEMS:
        return DiskFull(f"the disk has no room left while {doing}.")
    if isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError):
        return DiskFull(f"the vault cannot be written or opened for writing while {doing} ({type(error).__name__}).")
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return VaultBusy(f"another process kept the vault to itself for too long while {doing}.")
    if isinstance(error, apsw.CorruptError | apsw.NotADBError | apsw.IOError | apsw.FormatError):
        return VaultDamaged(f"a part of the vault does not verify ({type(error).__name__}, {extended}) while {doing}.")
    if isinstance(error, apsw.ConstraintError | apsw.MismatchError | apsw.TooBigError):
        return InvalidContent(
            f"a constraint of the vault failed while {doing}: an id exists already, or a value has the wrong type.",
            way_out="Leave the id out, so that a new one is made.",
        )
    return WriteFailed(f"SQLite refused ({type(error).__name__}, {extended}) while {doing}.")


FIELD_KEY = "field_key"
"""Name of the row in `meta` with the field key of a vault whose master key was changed, wrapped under the new master key."""

MARK = "\x01sealed:"
"""Prefix of a sealed side value. Words that happen to begin with it are always sealed, so that the mark is unambiguous."""

SIDE_TABLES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {
        "attributes": (("name",), ("value",)),  # not by memory: equal values have equal ciphertexts, so that SQL can match them
        "versions": (("memory", "number"), ("text",)),
        "status_history": (("memory", "number"), ("reason",)),
        "episodes": (("memory",), ("goal", "result")),
        "events": (("memory", "number"), ("type", "text", "actor")),
        "participants": (("memory",), ("name", "role")),
        "skills": (("memory",), ("name",)),
        "skill_parts": (("memory", "part", "number"), ("text", "extra")),
        "facts": ((), ("subject", "predicate", "object", "teller")),  # likewise: SQL matches facts of one subject
        "mentions": (("memory", "number"), ("name", "aliases")),
    }
)
"""Side tables: the columns that identify a row, and those that hold words. All have a column `memory`."""

_TIERED = {
    "attributes": "unseal({0}.value, 0, 'attribute/' || {0}.name)",
    "versions": "unseal({0}.text, {0}.memory, 'version/' || {0}.number)",
}
"""Expressions that unseal the two columns that were sealed before there were marks, if the tier is above cleartext."""


def register(connection: apsw.Connection, cipher: FieldCipher, key: DatabaseKey) -> None:
    """Give a connection the functions of the module's docstring. The rules on texts are those that the key has when they run."""

    def is_personal(value: str) -> bool:
        if key.rules is None:  # opened for maintenance: sealing is safe, and opens as well
            return True
        return key.guarded() and key.rules.sensitivity(value) is not Sensitivity.CLEARTEXT

    def mask(text: str) -> str:
        return key.text_rules.mask(text)

    @lru_cache(1)  # the two figures of one text are asked for one after the other
    def informativeness(text: str, speaker: str, category: str) -> tuple[float, int]:
        return key.text_rules.informativeness(text, speaker, category)

    def substance(text: str, speaker: str, category: str) -> float:
        return informativeness(text, speaker, category)[0]

    def named(text: str, speaker: str, category: str) -> int:
        return informativeness(text, speaker, category)[1]

    def languages(text: str) -> str:
        return " ".join(key.text_rules.languages(text))

    def folded(name: str) -> str:
        return key.text_rules.folded(name)

    def technology(name: str) -> str:
        return key.text_rules.technology(name)

    def seal(tier: str, value: str, row: int, column: str) -> str:
        return value if tier == Sensitivity.CLEARTEXT else cipher.seal(value, f"{column}/{row}")

    def unseal(value: str, row: int, column: str) -> str:
        return cipher.unseal(value, f"{column}/{row}")

    def seal_side(tier: str, value: str, place: str) -> str:
        if not value:
            return ""
        if tier == Sensitivity.CLEARTEXT and not value.startswith(MARK) and not is_personal(value):
            return value
        return MARK + cipher.seal(value, place)

    def unseal_side(value: str, place: str) -> str:
        return cipher.unseal(value.removeprefix(MARK), place) if value.startswith(MARK) else value

    functions: dict[str, tuple[Callable[..., str | bytes | float], int]] = {
        "seal": (seal, 4), "unseal": (unseal, 3), "project": (cipher.project, 1), "straighten": (cipher.straighten, 1),
        "seal_side": (seal_side, 3), "unseal_side": (unseal_side, 2), "blind": (cipher.blind, 1),
        "mask": (mask, 1), "substance": (substance, 3), "named": (named, 3),
        "languages": (languages, 1), "folded": (folded, 1), "technology": (technology, 1),
    }  # fmt: skip
    for name, (function, arguments) in functions.items():
        connection.create_scalar_function(name, function, arguments, deterministic=True)


def wrapped_field_key(connection: apsw.Connection) -> bytes | None:
    """Return the wrapped field key; None if the vault's key was never changed."""
    has_meta = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").get
    wrapped = connection.execute("SELECT value FROM meta WHERE name = ?", (FIELD_KEY,)).get if has_meta else None
    return None if wrapped is None else bytes(wrapped)


def read_words(column: str, *, table: str = "c", tier: str = "m.tier", row: str = "m.key", place: str = "") -> str:
    """Return the SQL that reads a column of a memory's own words, unsealed. `place`: SQL for the column's name in the seal."""
    name = place or f"'{column}'"
    return f"CASE {tier} WHEN 'cleartext' THEN {table}.{column} ELSE unseal({table}.{column}, {row}, {name}) END"


def write_words(tier: str, value: str, row: str, column: str) -> str:
    """Return the SQL that seals a value for a column of a memory's own words. All arguments are SQL."""
    return f"CASE {tier} WHEN 'cleartext' THEN {value} ELSE seal({tier}, {value}, {row}, '{column}') END"


# ── side columns ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def write_side(table: str, column: str, value: str, tier: str, row: Iterable[str] = ()) -> str:
    """Return the SQL that seals a value for a side column. All arguments are SQL; `row` holds the identifying columns."""
    return f"seal_side({tier}, {value}, {_place(table, column, row)})"


def read_side(table: str, column: str, alias: str, tier: str = "m.tier") -> str:
    """Return the SQL that reads a side column, unsealed. `tier`, the memory's, matters only for values of older releases."""
    value = f"{alias}.{column}"
    marked = f"substr({value}, 1, {len(MARK)}) = char(1) || '{MARK[1:]}'"
    place = _place(table, column, (f"{alias}.{name}" for name in SIDE_TABLES[table][0]))
    before = f" WHEN {tier} <> 'cleartext' THEN {_TIERED[table].format(alias)}" if table in _TIERED else ""
    return f"CASE WHEN {marked} THEN unseal_side({value}, {place}){before} ELSE {value} END"


def both_forms(table: str, column: str, value: str, row: Iterable[str] = ()) -> str:
    """Return the SQL of both stored forms of a value, clear and sealed, for `IN` on a column not identified by its memory."""
    return f"{value}, seal_side('{Sensitivity.SENSITIVE}', {value}, {_place(table, column, row)})"


def retier(connection: apsw.Connection, memory: int, old: str, new: str, tables: Iterable[str] = SIDE_TABLES) -> None:
    """Rewrite the side columns of a memory for its new tier. (Its own words, and its turns, have a tier in their rows.)"""
    for table in tables:
        row, columns = SIDE_TABLES[table]
        changes = ", ".join(
            f"{column} = {write_side(table, column, read_side(table, column, 't', '?2'), '?3', (f't.{name}' for name in row))}"
            for column in columns
        )
        connection.execute(f"UPDATE {table} AS t SET {changes} WHERE t.memory = ?1", (memory, old, new))
    if new not in (old, Sensitivity.CLEARTEXT):
        seal_snapshots(connection)


SEALED_SNAPSHOT = "CAST('sealed:' || seal('confidential', ?3, ?1, 'mind/' || ?2) AS BLOB)"
"""SQL of a sealed working snapshot, from scope, name, and the bytes of the body as Latin-1."""


def seal_snapshots(connection: apsw.Connection) -> None:
    """Seal every working snapshot that is in the clear: it may hold words whose tier was just raised."""
    clear = "SELECT scope, name, body FROM working_snapshots WHERE substr(body, 1, 7) <> CAST('sealed:' AS BLOB)"
    rows: list[Any] = connection.execute(clear).fetchall()
    for scope, name, body in rows:
        values = (scope, name, body.decode("latin-1"))
        connection.execute(f"UPDATE working_snapshots SET body = {SEALED_SNAPSHOT} WHERE scope = ?1 AND name = ?2", values)


def _place(table: str, column: str, row: Iterable[str]) -> str:
    """Return the SQL of the place a sealed value is bound to: ciphertext copied to another place does not unseal."""
    return " || '/' || ".join((f"'{table}.{column}'", *row))


# ── vectors, digests and the text index ────────────────────────────────────────────────────────────────────────────────────

VECTOR = "CASE WHEN m.tier = 'confidential' AND e.vector IS NOT NULL THEN straighten(e.vector) ELSE e.vector END"
"""SQL of a stored vector as the index needs it; NULL if there is none yet."""

INDEXED = "CASE m.tier WHEN 'cleartext' THEN c.text WHEN 'sensitive' THEN c.clear ELSE '' END"
"""SQL of the words of a memory that the text index holds."""


def digest(tier: str, plain: str) -> str:
    """Return the SQL of the stored form of a text's digest, blinded above cleartext. Both arguments are SQL."""
    return f"CASE {tier} WHEN 'cleartext' THEN {plain} ELSE blind({plain}) END"


def digests(connection: apsw.Connection, plain: Iterable[bytes]) -> dict[bytes, bytes]:
    """Map every stored form of these digests, plain and blinded, to the plain digest."""
    forms = {digest: digest for digest in plain}
    blinded = connection.executemany("SELECT blind(?)", [(digest,) for digest in forms])
    return forms | {bytes(row[0]): digest for row, digest in zip(list(blinded), list(forms), strict=True)}


def masked(connection: apsw.Connection, text: str) -> str:
    """Return the part of a sensitive text that may be indexed: the text without its personal data, or nothing."""
    return str(connection.execute("SELECT mask(?)", (text,)).get)


def masked_words(connection: apsw.Connection, memory: Memory) -> str:
    """Return the masked text of a sensitive memory; empty for other tiers."""
    return masked(connection, memory.text) if memory.tier is Sensitivity.SENSITIVE else ""


def indexed_words(connection: apsw.Connection, memory: Memory) -> str:
    """Return the words of a memory that go into the text index."""
    return memory.text if memory.tier is Sensitivity.CLEARTEXT else masked_words(connection, memory)


def informativeness(connection: apsw.Connection, memory: Memory) -> tuple[float, int]:
    """Return how much the text of a memory says and how many things it names, as its row keeps them."""
    said = (memory.text, memory.speaker, memory.category)
    found: list[Any] = connection.execute("SELECT substance(?1, ?2, ?3), named(?1, ?2, ?3)", said).fetchall()
    return found[0][0], found[0][1]


def languages(connection: apsw.Connection, text: str) -> tuple[str, str]:
    """Return the language of a text and the programming language that it is about, each empty if there is none."""
    language, _, code = str(connection.execute("SELECT languages(?)", (text,)).get).partition(" ")
    return language, code


PAGE_BYTES = 4096
_PLAIN_MAGIC = b"SQLite format 3\x00"


class DatabaseKey:
    """The database subkey, its cipher, and the cipher of sealed fields. `wipe` erases the keys from memory."""

    def __init__(self, material: bytearray, cipher: str, fields: FieldCipher) -> None:
        self._material = material
        self._held = lock_buffer(material)
        self.cipher = cipher
        self._own = fields  # made from the master key; fields are sealed under it, or under a key that it wraps
        self._fields: FieldCipher | None = None
        self.guarded: Callable[[], bool] = lambda: True
        """Returns True if personal side values are sealed even beside a cleartext memory (setting `guard_personal`)."""
        self.rules: TextRules | None = None
        """The rules on texts that connections with this key apply; None for maintenance, which writes no new words."""

    @property
    def text_rules(self) -> TextRules:
        """The rules on texts; raises if this key was made for maintenance."""
        if self.rules is None:
            raise StorageError("this connection was opened for maintenance and judges no words.")
        return self.rules

    def __repr__(self) -> str:
        return f"DatabaseKey({self.cipher})"

    def give_to(self, connection: apsw.Connection) -> None:
        """Set cipher and key on a connection. Raw key bytes: SQLite's own key derivation costs 24 to 129 ms a connection."""
        for statement in CIPHERS[self.cipher]:
            connection.execute(statement)
        # A pragma takes only text, so an immutable copy of the key exists until it is collected: docs/security.md.
        connection.execute(f'PRAGMA key = "raw:{self._material.hex()}"', can_cache=False)

    def fields_of(self, connection: apsw.Connection) -> FieldCipher:
        """Return the cipher of this vault's sealed fields."""
        if self._fields is None:
            wrapped = wrapped_field_key(connection)
            if wrapped is None:
                return self._own
            self._fields = self._own.unwrap(wrapped)
        return self._fields

    def hand_fields_to(self, connection: apsw.Connection, following: DatabaseKey) -> bytes:
        """Return the field key wrapped under the next master key, for `meta` when a vault's key is changed."""
        return following._own.wrap(self.fields_of(connection))

    def wipe(self) -> None:
        for fields in (self._own, self._fields):
            if fields is not None:
                fields.wipe()
        wipe(self._material)
        if self._held:
            unlock_buffer(self._material)
            self._held = False


CIPHERS: dict[str, tuple[str, ...]] = {
    "aegis": ("PRAGMA cipher = 'aegis'",),
    # legacy = 4 is SQLite3MC's word for "the very format of SQLCipher 4", which other tools open.
    "sqlcipher": ("PRAGMA cipher = 'sqlcipher'", "PRAGMA legacy = 4"),
}


def key_for(master: MasterKey, cipher: str) -> DatabaseKey:
    if cipher not in CIPHERS:
        raise EncryptionFailed(f"this release knows no cipher {cipher!r}.", way_out="Upgrade engram-local on this machine.")
    return DatabaseKey(master.subkey(Purpose.DATABASE), cipher, FieldCipher(master.subkey(Purpose.FIELDS)))


def connect_to_write(path: Path, key: DatabaseKey, *, synchronous: str, cache_kib: int) -> apsw.Connection:
    """Return a connection that writes; the database is created if missing."""
    touch_private(path)
    connection = _connect(path, key, apsw.SQLITE_OPEN_READWRITE)
    vacuum_incrementally(connection)
    use_write_ahead_log(connection)
    zero_deleted_content(connection)
    enforce_foreign_keys(connection)
    sync_commits(connection, synchronous)
    disable_automatic_checkpoints(connection)
    set_cache_size(connection, cache_kib)
    keep_temporary_data_in_memory(connection)
    return connection


def connect_to_read(
    path: Path, key: DatabaseKey, *, cache_kib: int, immutable: bool = False, keep_log: bool = False
) -> apsw.Connection:
    """Return a connection that reads. `immutable`: the file system is read-only. `keep_log`: closing leaves the log as it is."""
    mode = apsw.SQLITE_OPEN_READONLY if immutable else apsw.SQLITE_OPEN_READWRITE
    connection = _connect(path, key, mode, immutable=immutable, keep_log=keep_log)
    refuse_changes(connection)
    zero_deleted_content(connection)
    set_cache_size(connection, cache_kib)
    keep_temporary_data_in_memory(connection)
    return connection


def _connect(path: Path, key: DatabaseKey, mode: int, *, immutable: bool = False, keep_log: bool = False) -> apsw.Connection:
    require_encryption()
    # Not `as_uri`: in Python 3.14 it imports an HTTP client, 30 ms that a hook has to wait.
    name = os.fsencode(path.absolute().as_posix().removeprefix("/")).hex("%")
    name = f"file:///%{name}?immutable=1" if immutable else f"file:///%{name}"
    connection = apsw.Connection(name, flags=mode | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOMUTEX)
    try:
        connection.set_busy_timeout(100)
        keep_query_plans(connection)
        if keep_log:
            keep_log_on_close(connection)  # before the first page is read, which may raise
        key.give_to(connection)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()  # raises if the first page does not verify
        register(connection, key.fields_of(connection), key)
    except BaseException:  # an interrupt too: a leaked connection would keep the log in use
        connection.close()
        raise
    return connection


def keep_query_plans(connection: apsw.Connection) -> None:
    """Forbid query plans that depend on bound values. This build of SQLite (STAT4) would otherwise prepare `column = ?` again for
    every value: 80 instead of 29 µs for a text search of one rare word, 97 instead of 16 µs for a look-up by `id = ?`."""
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)


def vacuum_incrementally(connection: apsw.Connection) -> None:
    """Enable incremental vacuum, so that closing can shrink the file by whole buckets. Takes effect only on an empty database."""
    if connection.execute("PRAGMA auto_vacuum").get != 2:  # setting it again would wait for other writers
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")


def use_write_ahead_log(connection: apsw.Connection) -> None:
    """Use the write-ahead log, so that readers go on while a process writes. A file system without shared memory refuses."""
    if connection.execute("PRAGMA journal_mode = WAL").get != "wal":
        raise StorageError(
            "this file system cannot share memory between processes, which the vault's log needs.",
            way_out="Put the vault on a local disk.",
        )


def refuse_changes(connection: apsw.Connection) -> None:
    """Refuse writes by SQL. The file handle stays writable: the last connection to close must checkpoint and remove the log."""
    connection.execute("PRAGMA query_only = ON")


def allow_changes(connection: apsw.Connection) -> None:
    connection.execute("PRAGMA query_only = OFF")


def zero_deleted_content(connection: apsw.Connection) -> None:
    """Overwrite deleted content with zeros in its page, so that a key found later cannot decrypt it."""
    connection.execute("PRAGMA secure_delete = ON").fetchall()


def enforce_foreign_keys(connection: apsw.Connection) -> None:
    """Enforce foreign keys: rows of side tables are deleted with their memory."""
    connection.execute("PRAGMA foreign_keys = ON")


def sync_commits(connection: apsw.Connection, synchronous: str) -> None:
    """Set how commits are synced. FULL: a commit survives power loss once it is acknowledged."""
    connection.execute(f"PRAGMA synchronous = {'NORMAL' if synchronous == 'normal' else 'FULL'}")


def disable_automatic_checkpoints(connection: apsw.Connection) -> None:
    """Turn off automatic checkpoints: the writer makes them after it has answered its callers, not while they wait."""
    connection.wal_autocheckpoint(0)


def set_cache_size(connection: apsw.Connection, kib: int) -> None:
    """Set the size of the cache of decrypted pages. Memory mapping is no alternative: it cannot serve encrypted pages."""
    connection.execute(f"PRAGMA cache_size = -{int(kib)}")


def keep_temporary_data_in_memory(connection: apsw.Connection) -> None:
    """Keep sorters and temporary tables in memory instead of in files outside the vault."""
    connection.execute("PRAGMA temp_store = MEMORY")


def refuse_plaintext(path: Path) -> None:
    """Raise EncryptionFailed if a new database is plaintext: SQLite ignores a misspelt cipher pragma.

    No connection may be open on it: reading the file drops this process's locks (see `touch_private`).
    """
    with path.open("rb") as file:
        if file.read(len(_PLAIN_MAGIC)) == _PLAIN_MAGIC:
            raise EncryptionFailed(f"{path} is not encrypted.", way_out="It was left as it is. Move it away and report this.")


def keep_log_on_close(connection: apsw.Connection) -> None:
    """Make closing this connection leave the log, so that a vault that is refused stays byte for byte as it was."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)


def checkpoint_on_close(connection: apsw.Connection) -> None:
    """Undo `keep_log_on_close`: the last connection to close checkpoints and removes the log."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
