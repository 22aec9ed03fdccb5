"""Making a vault where there is none: its folder, its key, its database, its header, in an order that a crash cannot spoil.

A database gets its name only once its header is on disk; where no key can be kept there is no vault.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from engram.crypto.key_sources import StoredKey, create
from engram.crypto.keys import MasterKey
from engram.env import Env
from engram.errors import DiskFull, EngramError, VaultBusy
from engram.settings import LiveSettings
from engram.store.folder import Header, VaultFolder, discard, name_newborn, write_header
from engram.store.limits import StoreLimits
from engram.store.sqlite import connection as opening
from engram.store.sqlite import migrations
from engram.store.sqlite import sensitivity as sensitivity
from engram.store.sqlite.connection import explain
from engram.store.sqlite.locks import VaultLock
from engram.store.sqlite.padding import Silence

if TYPE_CHECKING:
    from engram.store.credentials import Credentials


def make(folder: VaultFolder, live: LiveSettings, env: Env, credentials: Credentials) -> tuple[str, MasterKey | None]:
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


def _keyed(folder: VaultFolder, live: LiveSettings, env: Env, credentials: Credentials, is_new: bool) -> StoredKey:
    """A key for a new vault. Where none can be kept there is no vault, and no folder that looks like one."""
    try:
        return create(env.random(16).hex(), live.now, env, vault=folder.path, key=credentials.master(), ask=credentials.ask)
    except EngramError:
        if is_new:
            folder.unmake()
        raise


def _make_database(path: Path, key: opening.DatabaseKey, live: LiveSettings, env: Env) -> None:
    discard(path)
    connection = opening.writing(path, key, synchronous="full", cache_kib=live.now.page_cache_kib)
    try:
        migrations.migrate(connection, env.now())
        with connection:
            sensitivity.is_new(connection)
            limits = live.tuned(StoreLimits)
            Silence(lambda: live.now, env, limits).grow(connection, at_least=limits.wal_pages)
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    finally:
        connection.close()
        key.wipe()
    opening.refuse_plaintext(path)
