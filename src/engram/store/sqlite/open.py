"""The one place where a database is opened: the key, then each pragma as a function with its reason."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw

from engram.errors import EncryptionFailed, StorageError
from engram.guard.fields import FieldCipher
from engram.guard.keys import MasterKey, Purpose, wipe
from engram.guard.process import lock_buffer, unlock_buffer
from engram.store.folder import touch_private
from engram.store.sqlite import sealed
from engram.store.sqlite.binding import require_encryption

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
            wrapped = sealed.handed_over(connection)
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


def writing(path: Path, key: DatabaseKey, *, synchronous: str, cache_kib: int) -> apsw.Connection:
    """A connection that writes; the database is made if missing."""
    touch_private(path)
    connection = _connect(path, key, apsw.SQLITE_OPEN_READWRITE)
    give_back_free_pages_on_request(connection)
    use_write_ahead_log(connection)
    overwrite_what_is_deleted(connection)
    keep_references_whole(connection)
    sync_commits(connection, synchronous)
    checkpoint_by_hand(connection)
    cache_pages(connection, cache_kib)
    keep_temporary_data_in_memory(connection)
    return connection


def reading(path: Path, key: DatabaseKey, *, cache_kib: int, immutable: bool = False, keep_log: bool = False) -> apsw.Connection:
    """A connection that changes nothing. `immutable` is for a file system that cannot be written at all."""
    mode = apsw.SQLITE_OPEN_READONLY if immutable else apsw.SQLITE_OPEN_READWRITE
    connection = _connect(path, key, mode, immutable=immutable, keep_log=keep_log)
    refuse_changes(connection)
    overwrite_what_is_deleted(connection)
    cache_pages(connection, cache_kib)
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
        keep_plans(connection)
        if keep_log:
            leave_the_log_alone(connection)  # before the first page is read: that may already refuse
        key.give_to(connection)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()  # the first page now verifies, or raises
        sealed.register(connection, key.fields_of(connection), lambda: key.guarded())
    except BaseException:  # an interrupt too: a connection that nobody has would keep the log in use
        connection.close()
        raise
    return connection


def keep_plans(connection: apsw.Connection) -> None:
    """A plan may not depend on bound values. This build of SQLite (STAT4) would otherwise prepare `column = ?` anew for
    every value: 80 instead of 29 µs for a text search of one rare word, 97 instead of 16 µs for a look-up by `id = ?`."""
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)


def give_back_free_pages_on_request(connection: apsw.Connection) -> None:
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


def overwrite_what_is_deleted(connection: apsw.Connection) -> None:
    """Deleted content is zeroed in its page, so that a key found later does not bring it back."""
    connection.execute("PRAGMA secure_delete = ON").fetchall()


def keep_references_whole(connection: apsw.Connection) -> None:
    """Side tables go with their memory, whichever verb deletes it."""
    connection.execute("PRAGMA foreign_keys = ON")


def sync_commits(connection: apsw.Connection, synchronous: str) -> None:
    """FULL: a commit is on the disk before it is acknowledged, power loss included."""
    connection.execute(f"PRAGMA synchronous = {'NORMAL' if synchronous == 'normal' else 'FULL'}")


def checkpoint_by_hand(connection: apsw.Connection) -> None:
    """The writer folds the log in after it has answered its callers, not while they wait."""
    connection.wal_autocheckpoint(0)


def cache_pages(connection: apsw.Connection, kib: int) -> None:
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


def leave_the_log_alone(connection: apsw.Connection) -> None:
    """Closing this connection folds nothing in: a vault that is refused stays byte for byte as it was."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)


def fold_the_log_in(connection: apsw.Connection) -> None:
    """The opposite, for one that was let in: the last connection out folds the log in and removes it."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
