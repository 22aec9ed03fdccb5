"""Opening a vault: folder, key, lock, crash, format, check; and making one where there is none.

The order is that of §33.1. Every step either succeeds or leaves the vault as it was: a wrong key is an error and never
a new vault, and a database gets its name only once its header is on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from engram.env import Env
from engram.errors import DiskFull, EngramError, StorageError, VaultBusy, VaultDamaged
from engram.frozen import frozen
from engram.guard.keys import MasterKey, Purpose
from engram.guard.unlock import Created, create, unlock
from engram.log import Log
from engram.settings import LiveSettings
from engram.store.folder import Header, VaultFolder, discard, name_newborn, read_header, sweep_snapshots, write_header
from engram.store.sqlite import open as opening
from engram.store.sqlite import schema
from engram.store.sqlite.binding import explain
from engram.store.sqlite.locks import VaultLock
from engram.store.sqlite.silence import Silence, hide_times
from engram.store.sqlite.tides import DIGEST_KEYS, Opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from engram.store.sqlite.store import SqliteStore

log = Log("engram.store.vault")

Ask = Callable[[], str | None]


@frozen
class Credentials:
    """What the caller can open with: a key in hand, or a way to ask for a passphrase. Both may be missing."""

    key: Callable[[], MasterKey] | None = None
    ask: Ask | None = None

    def master(self) -> MasterKey | None:
        return None if self.key is None else self.key()


def open_vault(path: Path, live: LiveSettings, env: Env, credentials: Credentials) -> tuple[SqliteStore, str]:
    """The store of the vault at `path`, made if missing; and, if it was made, the sentence about its key."""
    from engram.store.sqlite.store import SqliteStore  # all verbs: `glimpse` has fewer, and no time for the others

    opened, notice = enter(path, live, env, credentials)
    return SqliteStore(opened, live, env), notice


def enter(path: Path, live: LiveSettings, env: Env, credentials: Credentials, *, check: bool = True) -> tuple[Opened, str]:
    """The same before any verb of it. Without the check of the whole file, a page is still verified whenever it is read."""
    folder = VaultFolder(path)
    notice, fresh = ("", None) if folder.exists() else _make(folder, live, env, credentials)
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
                _take_part(opened, live)
            _require_database(folder)
            _bring_up_to_date(opened, live, env)
        except DiskFull:
            if opened.read_only:
                raise
            opened.read_only = True  # a full disk has no room for the log's index; what is in the file can be read
            _bring_up_to_date(opened, live, env)
        if opened.read_only:
            opened.warnings.append("the vault's folder cannot be written; it is open for reading only")
        if check:
            _check_first(opened, live)
    except BaseException:
        opened.lock.release()
        key.wipe()
        raise
    return opened, notice


def unlocked(folder: VaultFolder, header: Header, live: LiveSettings, env: Env, credentials: Credentials) -> MasterKey:
    """The key; a change of keys that was cut short is finished first."""
    given = credentials.master()
    if header.next is not None:
        from engram.store.sqlite import rotation  # seldom

        return rotation.finished(folder, live, env, given, credentials.ask)
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


def _make(folder: VaultFolder, live: LiveSettings, env: Env, credentials: Credentials) -> tuple[str, MasterKey | None]:
    """A new vault, and its key in hand. Processes that race here take turns, and the later ones find it made."""
    is_new = not folder.path.exists()
    folder.make()
    lock = VaultLock(folder.lock, env)
    deadline = env.monotonic() + live.now.write_patience_s
    while not lock.try_alone():
        if folder.header.exists():
            return "", None  # whoever was faster has it open already, so it will not be free for long
        if env.monotonic() >= deadline:
            raise VaultBusy("another process has been making this vault for too long.")
        env.sleep(0.02)
    try:
        if folder.header.exists():
            return "", None
        created = _keyed(folder, live, env, credentials, is_new)
        folder.mark()
        _make_database(folder.newborn, opening.key_for(created.master, live.now.cipher), live, env)
        write_header(folder.header, Header(live.now.cipher, created.header))
        name_newborn(folder)
        return created.notice, created.master
    except apsw.Error as error:
        raise explain(error, "making the vault") from error
    except OSError as error:
        raise DiskFull(f"the vault at {folder.path} cannot be made ({error.strerror}).") from error
    finally:
        lock.release()


def _keyed(folder: VaultFolder, live: LiveSettings, env: Env, credentials: Credentials, is_new: bool) -> Created:
    """A key for a new vault. Where none can be kept there is no vault, and no folder that looks like one."""
    try:
        return create(env.random(16).hex(), live.now, env, vault=folder.path, key=credentials.master(), ask=credentials.ask)
    except EngramError:
        if is_new:
            folder.unmake()
        raise


def _make_database(path: Path, key: opening.DatabaseKey, live: LiveSettings, env: Env) -> None:
    from engram.store.sqlite import renewing  # opening a vault that is there does without

    discard(path)
    connection = opening.writing(path, key, synchronous="full", cache_kib=live.now.page_cache_kib)
    try:
        schema.migrate(connection, env.now())
        with connection:
            renewing.is_new(connection)
            Silence(lambda: live.now, env).grow(connection, at_least=live.now.wal_pages)
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    finally:
        connection.close()
        key.wipe()
    opening.refuse_plaintext(path)


def _take_part(opened: Opened, live: LiveSettings) -> None:
    """Join those who have the vault open. Whoever comes to an empty house and finds a log knows of a crash."""
    folder, lock = opened.folder, opened.lock
    if lock.try_alone():
        name_newborn(folder)
        sweep_snapshots(folder)
        opened.crashed_before = folder.wal.exists() and folder.wal.stat().st_size > 0
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


def _look(opened: Opened) -> apsw.Connection:
    """A connection to judge the vault by; with a log left by a crash, one that leaves it for whoever is let in."""
    return opening.reading(
        opened.folder.database, opened.key, cache_kib=1024, immutable=opened.immutable, keep_log=opened.crashed_before
    )


def _bring_up_to_date(opened: Opened, live: LiveSettings, env: Env) -> None:
    try:
        connection = _look(opened)
        try:
            version = schema.version_of(connection)
            schema.require_known(version)
            if not version:  # a database gets its name only once its tables are in it
                raise VaultDamaged(f"{opened.folder.database} is empty.", way_out="Run `engram restore-backup`.")
            opened.keep_digests(connection.execute("SELECT value FROM meta WHERE name = ?", (DIGEST_KEYS,)).get)
            if version == schema.VERSION or opened.read_only:
                return
            from engram.store.sqlite import care  # seldom

            if version:
                care.back_up(opened.folder, connection, opened.key, live.now, env)
        finally:
            connection.close()
        writer = opening.writing(opened.folder.database, opened.key, synchronous="full", cache_kib=live.now.page_cache_kib)
        try:
            schema.migrate(writer, env.now())
        finally:
            writer.close()
    except apsw.Error as error:
        raise explain(error, "opening the vault") from error


def _check_first(opened: Opened, live: LiveSettings) -> None:
    """A small vault is verified whole before it is used. A larger one is checked beside its use, by the caller."""
    if opened.folder.database.stat().st_size > live.now.check_inline_mib * 2**20:
        opened.unchecked = True
        return
    from engram.store.sqlite import care  # late: who comes for a moment does without

    try:
        connection = _look(opened)
        try:
            problems = care.check(connection)
        finally:
            connection.close()
    except apsw.Error as error:
        raise explain(error, "checking the vault") from error
    if problems:
        raise VaultDamaged(f"the vault is damaged: {problems[0]}")
