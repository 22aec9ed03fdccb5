"""The one place where a database is opened: the key, then each pragma as a function with its reason.

The seam to SQLite: the right binding or none, and its errors as ours.

`apsw` and `apsw-sqlite3mc` install the same module name. The plain one ignores `PRAGMA key` and would write plaintext,
so it is refused here, before anything is opened.

What is kept closely, as SQL sees it: functions that seal and open fields and vectors, and the expressions that use them.

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

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import apsw

from engram.crypto.ciphers import FieldCipher
from engram.crypto.keys import MasterKey, Purpose, wipe
from engram.crypto.process import lock_buffer, unlock_buffer
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

    from engram.types import Memory


_WRITE_PROBLEMS = (
    apsw.SQLITE_IOERR_WRITE,
    apsw.SQLITE_IOERR_FSYNC,
    apsw.SQLITE_IOERR_TRUNCATE,
    apsw.SQLITE_IOERR_SHMSIZE,
    apsw.SQLITE_IOERR_SHMOPEN,
)


def require_encryption() -> None:
    if not getattr(apsw, "mc_version", ""):
        raise EncryptionFailed(
            "the module `apsw` that is installed cannot encrypt; it shares its name with the one that can.",
            way_out="Run `pip uninstall apsw` and then `pip install --force-reinstall apsw-sqlite3mc`.",
        )


@contextmanager
def open_foreign(path: Path) -> Iterator[apsw.Connection]:
    """Open another program's database for reading; nothing in its schema is executed."""
    require_encryption()
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(path.absolute().as_uri() + "?mode=ro", flags=flags)
    try:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        yield connection
    finally:
        connection.close()


def engram_error(error: apsw.Error, doing: str) -> EngramError:
    """The error of ours that this one of SQLite's means. SQLite's text is dropped: ours names what was being done."""
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
            f"a rule of the vault was broken while {doing}: an id is there already, or a value is of no use.",
            way_out="Leave the id out, so that a new one is given.",
        )
    return WriteFailed(f"SQLite refused ({type(error).__name__}, {extended}) while {doing}.")


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


def wrapped_field_key(connection: apsw.Connection) -> bytes | None:
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
    from engram.guard import personal_data  # only writing needs its patterns, which take longer to make than a hook has

    return bool(personal_data.find_sensitive(text))


def rest_of(text: str) -> str:
    """Words that are kept closely, without what makes them so; nothing, if that cannot be told from them."""
    from engram.guard import personal_data  # as above

    spans = personal_data.find_sensitive(text)
    return personal_data.mask(text, spans) if spans else ""


def indexed_of(memory: Memory) -> str:
    """The words of a memory that go into the text index."""
    return memory.text if memory.tier is Sensitivity.CLEARTEXT else clear_of(memory)


PAGE_BYTES = 4096
_PLAIN_MAGIC = b"SQLite format 3\x00"


class DatabaseKey:
    """The database sub-key for as long as connections may be opened with it, and the cipher it is for."""

    def __init__(self, material: bytearray, cipher: str, fields: FieldCipher) -> None:
        self._material = material
        self._held = lock_buffer(material)
        self.cipher = cipher
        self._own = fields  # made from the master key; the vault's fields are under it, or under one that it wraps
        self._fields: FieldCipher | None = None
        self.guarded: Callable[[], bool] = lambda: True
        """Are words that are personal by themselves sealed, whatever they stand beside? (`guard_personal`)"""

    def __repr__(self) -> str:
        return f"DatabaseKey({self.cipher})"

    def give_to(self, connection: apsw.Connection) -> None:
        """Raw key bytes, not a passphrase: SQLite's own derivation would cost 24 to 129 ms a connection."""
        for statement in CIPHERS[self.cipher]:
            connection.execute(statement)
        # A pragma takes text only, so one immutable copy of the key exists until it is collected: docs/security.md.
        connection.execute(f'PRAGMA key = "raw:{self._material.hex()}"', can_cache=False)

    def fields_of(self, connection: apsw.Connection) -> FieldCipher:
        """The cipher of this vault's fields."""
        if self._fields is None:
            wrapped = wrapped_field_key(connection)
            if wrapped is None:
                return self._own
            self._fields = self._own.unwrap(wrapped)
        return self._fields

    def hand_fields_to(self, connection: apsw.Connection, following: DatabaseKey) -> bytes:
        """The key of this vault's fields as the next key opens it: it goes into `meta` when a vault changes its key."""
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
    """A connection that writes; the database is made if missing."""
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
    """A connection that changes nothing. `immutable` is for a file system that cannot be written at all."""
    mode = apsw.SQLITE_OPEN_READONLY if immutable else apsw.SQLITE_OPEN_READWRITE
    connection = _connect(path, key, mode, immutable=immutable, keep_log=keep_log)
    refuse_changes(connection)
    zero_deleted_content(connection)
    set_cache_size(connection, cache_kib)
    keep_temporary_data_in_memory(connection)
    return connection


def _connect(path: Path, key: DatabaseKey, mode: int, *, immutable: bool = False, keep_log: bool = False) -> apsw.Connection:
    require_encryption()
    # Not `as_uri`, for which Python 3.14 loads a client for HTTP: 30 ms before a hook can answer.
    name = os.fsencode(path.absolute().as_posix().removeprefix("/")).hex("%")
    name = f"file:///%{name}?immutable=1" if immutable else f"file:///%{name}"
    connection = apsw.Connection(name, flags=mode | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOMUTEX)
    try:
        connection.set_busy_timeout(100)
        keep_query_plans(connection)
        if keep_log:
            keep_log_on_close(connection)  # before the first page is read: that may already refuse
        key.give_to(connection)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()  # the first page now verifies, or raises
        register(connection, key.fields_of(connection), lambda: key.guarded())
    except BaseException:  # an interrupt too: a connection that nobody has would keep the log in use
        connection.close()
        raise
    return connection


def keep_query_plans(connection: apsw.Connection) -> None:
    """A plan may not depend on bound values. This build of SQLite (STAT4) would otherwise prepare `column = ?` anew for
    every value: 80 instead of 29 µs for a text search of one rare word, 97 instead of 16 µs for a look-up by `id = ?`."""
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)


def vacuum_incrementally(connection: apsw.Connection) -> None:
    """Only before the first table; lets closing shrink the file by whole buckets instead of rewriting it."""
    if connection.execute("PRAGMA auto_vacuum").get != 2:  # setting it again would wait for other writers
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")


def use_write_ahead_log(connection: apsw.Connection) -> None:
    """Readers go on while one process writes. A file system without shared memory answers with another mode."""
    if connection.execute("PRAGMA journal_mode = WAL").get != "wal":
        raise StorageError(
            "this file system cannot share memory between processes, which the vault's log needs.",
            way_out="Put the vault on a local disk.",
        )


def refuse_changes(connection: apsw.Connection) -> None:
    """Not a read-only handle: the last connection out must be able to fold the log in and remove it."""
    connection.execute("PRAGMA query_only = ON")


def allow_changes(connection: apsw.Connection) -> None:
    connection.execute("PRAGMA query_only = OFF")


def zero_deleted_content(connection: apsw.Connection) -> None:
    """Deleted content is zeroed in its page, so that a key found later does not bring it back."""
    connection.execute("PRAGMA secure_delete = ON").fetchall()


def enforce_foreign_keys(connection: apsw.Connection) -> None:
    """Side tables go with their memory, whichever verb deletes it."""
    connection.execute("PRAGMA foreign_keys = ON")


def sync_commits(connection: apsw.Connection, synchronous: str) -> None:
    """FULL: a commit is on the disk before it is acknowledged, power loss included."""
    connection.execute(f"PRAGMA synchronous = {'NORMAL' if synchronous == 'normal' else 'FULL'}")


def disable_automatic_checkpoints(connection: apsw.Connection) -> None:
    """The writer folds the log in after it has answered its callers, not while they wait."""
    connection.wal_autocheckpoint(0)


def set_cache_size(connection: apsw.Connection, kib: int) -> None:
    """Decrypted pages at hand; memory mapping cannot serve encrypted pages."""
    connection.execute(f"PRAGMA cache_size = -{int(kib)}")


def keep_temporary_data_in_memory(connection: apsw.Connection) -> None:
    """Sorters and temporary tables would otherwise spill to files of their own."""
    connection.execute("PRAGMA temp_store = MEMORY")


def refuse_plaintext(path: Path) -> None:
    """The last trap: a misspelt cipher pragma is ignored and the file comes out readable.

    For a new file with no connection on it: reading it drops this process's locks (see `touch_private`).
    """
    with path.open("rb") as file:
        if file.read(len(_PLAIN_MAGIC)) == _PLAIN_MAGIC:
            raise EncryptionFailed(f"{path} is not encrypted.", way_out="It was left as it is. Move it away and report this.")


def keep_log_on_close(connection: apsw.Connection) -> None:
    """Closing this connection folds nothing in: a vault that is refused stays byte for byte as it was."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)


def checkpoint_on_close(connection: apsw.Connection) -> None:
    """The opposite, for one that was let in: the last connection out folds the log in and removes it."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
