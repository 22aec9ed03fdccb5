"""Creates a vault: folder, key, database, header, in an order that survives a crash at any point.

The database gets its final name only once the header is on disk. If no key can be stored, no vault is created.
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
from engram.store.folder import VaultFolder, discard, name_newborn
from engram.store.header import Header, write_header
from engram.store.limits import StoreLimits
from engram.store.sqlite import connection as opening
from engram.store.sqlite import migrations
from engram.store.sqlite import sensitivity as sensitivity
from engram.store.sqlite.connection import engram_error
from engram.store.sqlite.locks import VaultLock
from engram.store.sqlite.padding import Padding

if TYPE_CHECKING:
    from engram.store.credentials import Credentials


def create_vault(folder: VaultFolder, live: LiveSettings, env: Env, credentials: Credentials) -> tuple[str, MasterKey | None]:
    """Create a vault; return the notice about its key, and the key.

    Of processes that race here one creates the vault; the others get ("", None).
    """
    is_new = not folder.path.exists()
    folder.make()
    lock = VaultLock(folder.lock, env)
    deadline = env.monotonic() + live.now.write_patience_s
    while not lock.try_exclusive():
        if folder.header.exists():
            return "", None  # another process created the vault and has it open
        if env.monotonic() >= deadline:
            raise VaultBusy("another process has been creating this vault for too long.")
        env.sleep(0.02)
    try:
        if folder.header.exists():
            return "", None
        created = _create_key(folder, live, env, credentials, is_new)
        folder.mark()
        _make_database(folder.newborn, opening.key_for(created.master, live.now.cipher), live, env)
        write_header(folder.header, Header(live.now.cipher, created.header))
        name_newborn(folder)
        return created.notice, created.master
    except apsw.Error as error:
        raise engram_error(error, "making the vault") from error
    except OSError as error:
        raise DiskFull(f"the vault at {folder.path} cannot be made ({error.strerror}).") from error
    finally:
        lock.release()


def _create_key(folder: VaultFolder, live: LiveSettings, env: Env, credentials: Credentials, is_new: bool) -> StoredKey:
    """Create and store the key of a new vault. If that fails, remove a folder that was made for it."""
    try:
        return create(env.random(16).hex(), live.now, env, vault=folder.path, key=credentials.master(), ask=credentials.ask)
    except EngramError:
        if is_new:
            folder.unmake()
        raise


def _make_database(path: Path, key: opening.DatabaseKey, live: LiveSettings, env: Env) -> None:
    discard(path)
    connection = opening.connect_to_write(path, key, synchronous="full", cache_kib=live.now.page_cache_kib)
    try:
        migrations.migrate(connection, env.now())
        with connection:
            sensitivity.mark_sealed(connection)
            limits = live.tuned(StoreLimits)
            Padding(lambda: live.now, env, limits).grow(connection, at_least=limits.wal_pages)
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    finally:
        connection.close()
        key.wipe()
    opening.refuse_plaintext(path)
