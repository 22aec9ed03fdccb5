"""Opening a vault: folder, key, lock, crash, format, check.

The order is that of §33.1. Every step either succeeds or leaves the vault as it was: a wrong key is an error and never a new
vault.
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
from engram.store.folder import Header, VaultFolder, name_newborn, read_header, sweep_snapshots
from engram.store.limits import StoreLimits
from engram.store.sqlite import connection as opening
from engram.store.sqlite import migrations
from engram.store.sqlite.connection import explain
from engram.store.sqlite.locks import VaultLock
from engram.store.sqlite.padding import hide_times
from engram.values.frozen import field, mutable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from engram.store.sqlite.store import SqliteStore

log = Log("engram.store.vault")

DIGEST_KEYS = "digest_keys"
"""Where `meta` has the keys of digests (audit, then tokens) that a vault brought along when its own key was changed: what was
digested under them, a question that was judged or a caller's token, must be known again."""


@mutable
class Opened:
    """What opening the vault established: handed to the store once, closed by it. `looked`: the connection that it was judged
    by, to be read by further."""

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
    looked: apsw.Connection | None = field(repr=False, default=None)
    warnings: list[str] = field(default_factory=list)

    def keep_digests(self, stored: object) -> None:
        """Go on with the keys of digests that a vault brought along when its own key was changed."""
        if isinstance(stored, bytes):
            wipe(self.audit_key)
            wipe(self.token_key)
            self.audit_key, self.token_key = bytearray(stored[:KEY_BYTES]), bytearray(stored[KEY_BYTES:])

    @property
    def immutable(self) -> bool:
        """Nothing can be written and there is no log: the file is all there is."""
        return self.read_only and not self.folder.has_log

    def wipe(self) -> None:
        self.key.wipe()
        for key in (self.audit_key, self.snapshot_key, self.token_key, self.cursor_key):
            wipe(key)


def open_vault(
    path: Path, live: LiveSettings, env: Env, credentials: Credentials = Credentials(), *, brief: bool = False
) -> tuple[SqliteStore, str]:
    """Return the store of the vault at `path`, made if missing; and, if it was made, the sentence about its key.

    brief: for a process that asks a few questions and ends, such as a hook. The file is not checked as a whole (25 ms; a page is
    still verified whenever it is read), and the audit trail is written at closing, without a writing thread of its own.
    """
    from engram.store.sqlite.gate import Gate  # late: both import this module
    from engram.store.sqlite.store import SqliteStore

    opened, notice = enter(path, live, env, credentials, brief=brief)
    return SqliteStore(Gate(opened, live, env, brief=brief)), notice


def enter(path: Path, live: LiveSettings, env: Env, credentials: Credentials, *, brief: bool = False) -> tuple[Opened, str]:
    """Unlock the vault, join those who have it open, migrate and check it. `brief`: as for `open_vault`; nor does it clean up
    after a crash that left no log."""
    folder = VaultFolder(path)
    notice, fresh = ("", None) if folder.exists() else _made(folder, live, env, credentials)
    header = read_header(folder.header)
    with fresh or unlocked(folder, header, live, env, credentials) as master:
        key = opening.key_for(master, header.cipher)
        key.guarded = lambda: live.now.guard_personal
        lock, snapshots = VaultLock(folder.lock, env), master.subkey(Purpose.SNAPSHOTS)
        audits, tokens, cursors = (master.subkey(one) for one in (Purpose.AUDIT, Purpose.TOKENS, Purpose.CURSORS))
        opened = Opened(folder, key, audits, lock, snapshots, tokens, cursors)
    opened.read_only = not folder.has_room_to_write()
    try:
        try:
            if not opened.read_only:
                _take_part(opened, live, in_order=brief and folder.database.exists() and not folder.has_log)
            _require_database(folder)
            _bring_up_to_date(opened, live, env)
        except DiskFull:
            if opened.read_only:
                raise
            opened.read_only = True  # a full disk has no room for the log's index; what is in the file can be read
            _bring_up_to_date(opened, live, env)
        if opened.read_only:
            opened.warnings.append("the vault's folder cannot be written; it is open for reading only")
        if not brief:
            _check_first(opened, live)
    except BaseException:
        if opened.looked is not None:
            opened.looked.close()
        opened.lock.release()
        opened.wipe()
        raise
    return opened, notice


def _made(folder: VaultFolder, live: LiveSettings, env: Env, credentials: Credentials) -> tuple[str, MasterKey | None]:
    from engram.store.sqlite import making  # opening a vault that is there does without

    return making.make(folder, live, env, credentials)


def unlocked(folder: VaultFolder, header: Header, live: LiveSettings, env: Env, credentials: Credentials) -> MasterKey:
    """The key; a change of keys that was cut short is finished first."""
    given = credentials.master()
    if header.next is not None:
        from engram.store.sqlite import key_rotation  # seldom

        return key_rotation.finished(folder, live, env, given, credentials.ask)
    return unlock(header.key, live.now, vault=folder.path, key=given, ask=credentials.ask)


@contextmanager
def alone(
    path: Path, live: LiveSettings, env: Env, credentials: Credentials
) -> Iterator[tuple[VaultFolder, opening.DatabaseKey]]:
    """The vault with nobody else in it, for repair and restore. Nothing of the database is read."""
    folder = VaultFolder(path)
    header = read_header(folder.header)
    with unlocked(folder, header, live, env, credentials) as master:
        key = opening.key_for(master, header.cipher)
    lock = VaultLock(folder.lock, env)
    lock.alone(live.now.write_patience_s)
    try:
        yield folder, key
    finally:
        lock.release()
        key.wipe()
        if live.now.neutral_times:
            hide_times(folder)


def _take_part(opened: Opened, live: LiveSettings, *, in_order: bool) -> None:
    """Join the processes that have the vault open. A log that is there although nobody has it open was left by a crash.

    in_order: there is no log, so nobody crashed; a brief store does not ask whether others have the vault open."""
    folder, lock = opened.folder, opened.lock
    if not in_order and lock.try_alone():
        name_newborn(folder)
        sweep_snapshots(folder)
        opened.crashed_before = folder.has_log
        if live.now.neutral_times:
            hide_times(folder)  # of every file that the crashed process touched
    lock.share(live.now.write_patience_s)
    if opened.crashed_before:
        log.warning("the vault was not closed in order last time; everything acknowledged is kept")
        opened.warnings.append("the last session did not close in order; everything it acknowledged is here")


def _require_database(folder: VaultFolder) -> None:
    if folder.database.is_symlink():  # SQLite would keep the log beside the target, where nothing here looks for it
        raise StorageError(
            f"{folder.database} is a link, and its log would lie elsewhere.",
            way_out="Put the file back in its place, and link the vault's folder as a whole instead.",
        )
    if not folder.database.exists():
        raise VaultDamaged(f"{folder.database} is missing.", way_out="Run `engram restore-backup`.")


def look(opened: Opened, live: LiveSettings) -> apsw.Connection:
    """A connection to judge the vault by; with a log left by a crash, one that leaves it for whoever is let in."""
    return opening.reading(
        opened.folder.database,
        opened.key,
        cache_kib=live.now.page_cache_kib,
        immutable=opened.immutable,
        keep_log=opened.crashed_before,
    )


def _bring_up_to_date(opened: Opened, live: LiveSettings, env: Env) -> None:
    try:
        connection = look(opened, live)
        try:
            version = migrations.version_of(connection)
            migrations.require_known(version)
            if not version:  # a database gets its name only once its tables are in it
                raise VaultDamaged(f"{opened.folder.database} is empty.", way_out="Run `engram restore-backup`.")
            opened.keep_digests(connection.execute("SELECT value FROM meta WHERE name = ?", (DIGEST_KEYS,)).get)
            if version < migrations.VERSION and not opened.read_only:
                from engram.store.sqlite import backups  # seldom

                backups.back_up(opened.folder, connection, opened.key, live.now, env)
                connection.close()
                _migrate(opened, live, env)
                if live.now.neutral_times:
                    hide_times(opened.folder)
                connection = look(opened, live)
            if opened.crashed_before:
                opening.fold_the_log_in(connection)
        except BaseException:
            connection.close()
            raise
        opened.looked = connection
    except apsw.Error as error:
        raise explain(error, "opening the vault") from error


def _migrate(opened: Opened, live: LiveSettings, env: Env) -> None:
    writer = opening.writing(opened.folder.database, opened.key, synchronous="full", cache_kib=live.now.page_cache_kib)
    try:
        migrations.migrate(writer, env.now())
    finally:
        writer.close()


def _check_first(opened: Opened, live: LiveSettings) -> None:
    """A small vault is verified whole before it is used. A larger one is checked beside its use, by the caller."""
    if opened.folder.database.stat().st_size > live.tuned(StoreLimits).check_inline_mib * 2**20:
        opened.unchecked = True
        return
    from engram.store.sqlite import backups  # late: a brief store does without

    try:
        connection = opened.looked or look(opened, live)
        problems = backups.check(connection)
        connection.release_memory()  # all pages were read, few will be asked for again
    except apsw.Error as error:
        raise explain(error, "checking the vault") from error
    if problems:
        raise VaultDamaged(f"the vault is damaged: {problems[0]}")
