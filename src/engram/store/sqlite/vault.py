"""Opens a vault: folder, key, lock, recovery after a crash, migration, integrity check, in the order of §33.1.

Every step either succeeds or leaves the vault as it was. A wrong key is an error and never creates a new vault.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from engram.crypto.key_sources import unlock
from engram.crypto.keys import KEY_BYTES, MasterKey, Purpose, wipe
from engram.env import Env
from engram.errors import DiskFull, StorageError, VaultDamaged
from engram.log import Log
from engram.settings import LiveSettings
from engram.store.credentials import Credentials
from engram.store.folder import VaultFolder, name_newborn, sweep_snapshots
from engram.store.header import Header, read_header
from engram.store.limits import StoreLimits
from engram.store.sqlite import connection as opening
from engram.store.sqlite import migrations
from engram.store.sqlite.connection import engram_error
from engram.store.sqlite.locks import VaultLock
from engram.store.sqlite.padding import hide_times
from engram.values.frozen import field, mutable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from engram.store.rule_ports import StoreRules
    from engram.store.sqlite.store import SqliteStore

log = Log("engram.store.vault")

DIGEST_KEYS = "digest_keys"
"""Name of the row in `meta` with the digest keys (audit, then tokens) from before the vault's key was changed: digests made under
them, of judged questions and access tokens, must stay comparable."""


@mutable
class VaultHandle:
    """Folder, keys and lock of an open vault; handed to the store, which closes it.

    `first_reader`: the connection that inspected the vault, which becomes the first of the read pool.
    """

    folder: VaultFolder
    key: opening.DatabaseKey
    audit_key: bytearray = field(repr=False)
    lock: VaultLock = field(repr=False)
    snapshot_key: bytearray = field(repr=False, default_factory=bytearray)
    token_key: bytearray = field(repr=False, default_factory=bytearray)
    cursor_key: bytearray = field(repr=False, default_factory=bytearray)
    crashed_before: bool = False
    read_only: bool = False
    unchecked: bool = False
    first_reader: apsw.Connection | None = field(repr=False, default=None)
    warnings: list[str] = field(default_factory=list)

    def keep_digests(self, stored: object) -> None:
        """Use the digest keys stored when the vault's key was changed, if there are any."""
        if isinstance(stored, bytes):
            wipe(self.audit_key)
            wipe(self.token_key)
            self.audit_key, self.token_key = bytearray(stored[:KEY_BYTES]), bytearray(stored[KEY_BYTES:])

    @property
    def immutable(self) -> bool:
        """True if the vault is read-only and has no log, so that the database file is complete by itself."""
        return self.read_only and not self.folder.has_log

    def wipe(self) -> None:
        self.key.wipe()
        for key in (self.audit_key, self.snapshot_key, self.token_key, self.cursor_key):
            wipe(key)


def open_vault(
    path: Path, live: LiveSettings, env: Env, rules: StoreRules, credentials: Credentials = Credentials(), *, brief: bool = False
) -> tuple[SqliteStore, str]:
    """Return the store of the vault at `path`, created if missing, and for a new vault the notice about its key.

    brief: for a process that asks a few questions and ends, such as a hook. The file is not checked as a whole (25 ms; a page is
    still verified whenever it is read), and the audit trail is written at closing, without a writing thread of its own.
    """
    from engram.store.sqlite.gate import Gate  # late: both import this module
    from engram.store.sqlite.store import SqliteStore

    opened, notice = open_handle(path, live, env, credentials, brief=brief)
    return SqliteStore(Gate(opened, live, env, rules, brief=brief)), notice


def open_handle(
    path: Path, live: LiveSettings, env: Env, credentials: Credentials, *, brief: bool = False
) -> tuple[VaultHandle, str]:
    """Unlock the vault, join those who have it open, migrate and check it. `brief`: as for `open_vault`; nor does it clean up
    after a crash that left no log."""
    folder = VaultFolder(path)
    notice, fresh = ("", None) if folder.exists() else _create(folder, live, env, credentials)
    header = read_header(folder.header)
    with fresh or unlocked(folder, header, live, env, credentials) as master:
        key = opening.key_for(master, header.cipher)
        key.guarded = lambda: live.now.guard_personal
        lock, snapshots = VaultLock(folder.lock, env), master.subkey(Purpose.SNAPSHOTS)
        audits, tokens, cursors = (master.subkey(one) for one in (Purpose.AUDIT, Purpose.TOKENS, Purpose.CURSORS))
        opened = VaultHandle(folder, key, audits, lock, snapshots, tokens, cursors)
    opened.read_only = not folder.has_room_to_write()
    try:
        try:
            if not opened.read_only:
                _join(opened, live, skip_recovery=brief and folder.database.exists() and not folder.has_log)
            _require_database(folder)
            _bring_up_to_date(opened, live, env)
        except DiskFull:
            if opened.read_only:
                raise
            opened.read_only = True  # a full disk has no room for the log's index; the database itself can be read
            _bring_up_to_date(opened, live, env)
        if opened.read_only:
            opened.warnings.append("the vault's folder cannot be written; the vault is open for reading only")
        if not brief:
            _check_first(opened, live)
    except BaseException:
        if opened.first_reader is not None:
            opened.first_reader.close()
        opened.lock.release()
        opened.wipe()
        raise
    return opened, notice


def _create(folder: VaultFolder, live: LiveSettings, env: Env, credentials: Credentials) -> tuple[str, MasterKey | None]:
    from engram.store.sqlite import creation  # late: only a new vault needs it

    return creation.create_vault(folder, live, env, credentials)


def unlocked(folder: VaultFolder, header: Header, live: LiveSettings, env: Env, credentials: Credentials) -> MasterKey:
    """Return the master key; an interrupted change of keys is finished first."""
    given = credentials.master()
    if header.next is not None:
        from engram.store.sqlite import key_rotation  # seldom

        return key_rotation.finish_and_unlock(folder, live, env, given, credentials.ask)
    return unlock(header.key, live.now, vault=folder.path, key=given, ask=credentials.ask)


@contextmanager
def open_exclusively(
    path: Path, live: LiveSettings, env: Env, credentials: Credentials
) -> Iterator[tuple[VaultFolder, opening.DatabaseKey]]:
    """Hold the vault exclusively, for repair and restore. The database is not read."""
    folder = VaultFolder(path)
    header = read_header(folder.header)
    with unlocked(folder, header, live, env, credentials) as master:
        key = opening.key_for(master, header.cipher)
    lock = VaultLock(folder.lock, env)
    lock.acquire_exclusive(live.now.write_patience_s)
    try:
        yield folder, key
    finally:
        lock.release()
        key.wipe()
        if live.now.neutral_times:
            hide_times(folder)


def _join(opened: VaultHandle, live: LiveSettings, *, skip_recovery: bool) -> None:
    """Join the processes that have the vault open. A log that is there although nobody has it open was left by a crash.

    skip_recovery: there is no log, so nobody crashed; a brief store does not ask whether others have the vault open."""
    folder, lock = opened.folder, opened.lock
    if not skip_recovery and lock.try_exclusive():
        name_newborn(folder)
        sweep_snapshots(folder)
        opened.crashed_before = folder.has_log
        if live.now.neutral_times:
            hide_times(folder)  # of every file that the crashed process touched
    lock.acquire_shared(live.now.write_patience_s)
    if opened.crashed_before:
        log.warning("the last session crashed; every acknowledged write is kept")
        opened.warnings.append("the last session did not close in order; every write that it acknowledged is kept")


def _require_database(folder: VaultFolder) -> None:
    if folder.database.is_symlink():  # SQLite would keep the log beside the target
        raise StorageError(
            f"{folder.database} is a link, and its log would lie elsewhere.",
            way_out="Put the file back in its place, and link the vault's folder as a whole instead.",
        )
    if not folder.database.exists():
        raise VaultDamaged(f"{folder.database} is missing.", way_out="Run `engram restore-backup`.")


def connect_for_inspection(opened: VaultHandle, live: LiveSettings) -> apsw.Connection:
    """Connect to inspect the vault. A log left by a crash survives this connection, in case the vault is refused."""
    return opening.connect_to_read(
        opened.folder.database,
        opened.key,
        cache_kib=live.now.page_cache_kib,
        immutable=opened.immutable,
        keep_log=opened.crashed_before,
    )


def _bring_up_to_date(opened: VaultHandle, live: LiveSettings, env: Env) -> None:
    try:
        connection = connect_for_inspection(opened, live)
        try:
            version = migrations.version_of(connection)
            migrations.require_known(version)
            if not version:  # a database gets its final name only with its tables, so an empty one is damaged
                raise VaultDamaged(f"{opened.folder.database} is empty.", way_out="Run `engram restore-backup`.")
            opened.keep_digests(connection.execute("SELECT value FROM meta WHERE name = ?", (DIGEST_KEYS,)).get)
            if version < migrations.VERSION and not opened.read_only:
                from engram.store.sqlite import backups  # seldom

                backups.back_up(opened.folder, connection, opened.key, live.now, env)
                connection.close()
                _migrate(opened, live, env)
                if live.now.neutral_times:
                    hide_times(opened.folder)
                connection = connect_for_inspection(opened, live)
            if opened.crashed_before:
                opening.checkpoint_on_close(connection)
        except BaseException:
            connection.close()
            raise
        opened.first_reader = connection
    except apsw.Error as error:
        raise engram_error(error, "opening the vault") from error


def _migrate(opened: VaultHandle, live: LiveSettings, env: Env) -> None:
    writer = opening.connect_to_write(opened.folder.database, opened.key, synchronous="full", cache_kib=live.now.page_cache_kib)
    try:
        migrations.migrate(writer, env.now())
    finally:
        writer.close()


def _check_first(opened: VaultHandle, live: LiveSettings) -> None:
    """Verify a small vault before it is used; mark a larger one as unchecked, to be checked in the background."""
    if opened.folder.database.stat().st_size > live.tuned(StoreLimits).check_inline_mib * 2**20:
        opened.unchecked = True
        return
    from engram.store.sqlite import backups  # late: a brief store does without

    try:
        connection = opened.first_reader or connect_for_inspection(opened, live)
        problems = backups.check(connection)
        connection.release_memory()  # the check read every page; few are needed again
    except apsw.Error as error:
        raise engram_error(error, "checking the vault") from error
    if problems:
        raise VaultDamaged(f"the vault is damaged: {problems[0]}")
