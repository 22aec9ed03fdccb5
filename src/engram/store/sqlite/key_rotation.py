"""Changes the key of a vault: database, backups and header, in steps that lose nothing if the process is killed at any point.

    1. the header names both keys, and holds the next one sealed under the present one
    2. every file is copied under the next key, checked, and renamed into place
    3. the next key is stored where the present one was
    4. the header names only the next key

Before step 1 the vault opens as usual. After it, opening with either key finishes the change: a file that already opens with the
next key is done. After step 3 no file is under the old key. Index snapshots are deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from engram.crypto.key_sources import PassphrasePrompt, plan_header, store_planned_key, unlock
from engram.crypto.keys import MasterKey, Purpose, unwrap_next_key, wrap_next_key
from engram.env import Env
from engram.errors import VaultDamaged, VaultLocked
from engram.log import Log
from engram.settings import LiveSettings
from engram.store.folder import VaultFolder, clear_snapshots, discard, name_newborn, neutralise, sync_folder
from engram.store.header import Header, read_header, write_header
from engram.store.sqlite import backups, connection
from engram.store.sqlite import connection as opening
from engram.store.sqlite.connection import engram_error
from engram.store.sqlite.locks import VaultLock
from engram.store.sqlite.padding import hide_times
from engram.store.sqlite.vault import DIGEST_KEYS

log = Log("engram.store.rotation")

Progress = Callable[[str], None]


def rotate(
    folder: VaultFolder,
    live: LiveSettings,
    env: Env,
    *,
    key: MasterKey | None,
    ask: PassphrasePrompt | None,
    new: MasterKey | None = None,
    ask_new: PassphrasePrompt | None = None,
    tell: Progress = lambda what: None,
) -> str:
    """Change the vault's key to a generated one, or to `new`, in the same kind of key source; return the notice about it.

    An interrupted change is finished instead: its next key is new enough.
    """
    header = read_header(folder.header)
    lock = VaultLock(folder.lock, env)
    lock.acquire_exclusive(live.now.write_patience_s)
    try:
        with open_keys(header, live, folder.path, key, ask) as (old, following):
            if header.next is not None and following is not None:
                return finish(folder, header, old, following, live, env, tell)
            if old is None:
                raise VaultLocked("the key of this vault was not given.")
            with new or MasterKey.generate(env.random) as made:
                to = plan_header(header.key, made, live.now, env, vault=folder.path, ask=ask_new)
                sealed = wrap_next_key(old, made, vault_id=header.key.vault_id, random=env.random)
                both = Header(header.cipher, header.key, header.format, to, sealed)
                for copy in folder.backups.glob("*.toml"):
                    write_header(copy, both)
                write_header(folder.header, both)
                return finish(folder, both, old, made, live, env, tell)
    finally:
        lock.release()
        if live.now.neutral_times:
            hide_times(folder)


def finish_and_unlock(
    folder: VaultFolder, live: LiveSettings, env: Env, key: MasterKey | None, ask: PassphrasePrompt | None
) -> MasterKey:
    """Finish an interrupted change of keys and return the vault's key. Called when a vault is opened."""
    lock = VaultLock(folder.lock, env)
    lock.acquire_exclusive(live.now.write_patience_s)
    try:
        header = read_header(folder.header)  # again: another process may have finished it while this one waited
        if header.next is None:
            return unlock(header.key, live.now, vault=folder.path, key=key, ask=ask)
        old, new = _both(header, live, folder.path, key, ask)
        try:
            log.warning("the last change of this vault's key was interrupted; finishing it")
            finish(folder, header, old, new, live, env)
        except BaseException:
            new.wipe()
            raise
        finally:
            if old is not None:
                old.wipe()
        return new
    finally:
        lock.release()
        if live.now.neutral_times:
            hide_times(folder)


@contextmanager
def open_keys(
    header: Header, live: LiveSettings, path: Path, key: MasterKey | None, ask: PassphrasePrompt | None
) -> Iterator[tuple[MasterKey | None, MasterKey | None]]:
    """Yield the present key and, during a change, the next one; both are wiped afterwards."""
    if header.next is None:
        with unlock(header.key, live.now, vault=path, key=key, ask=ask) as master:
            yield master, None
        return
    old, new = _both(header, live, path, key, ask)
    try:
        yield old, new
    finally:
        new.wipe()
        if old is not None:
            old.wipe()


def _both(
    header: Header, live: LiveSettings, path: Path, key: MasterKey | None, ask: PassphrasePrompt | None
) -> tuple[MasterKey | None, MasterKey]:
    """Return the present and the next key. If only the next one can be had, every file is under it already."""
    following = header.next
    if following is None:
        raise VaultDamaged("the header names no next key.")
    if key is not None and key.fingerprint == following.fingerprint:
        return None, key
    try:
        old = unlock(header.key, live.now, vault=path, key=key, ask=ask)
    except VaultLocked:
        if key is not None or following.source == "passphrase":
            raise
        return None, unlock(following, live.now, vault=path, ask=ask)
    return old, unwrap_next_key(header.handover, old, vault_id=header.key.vault_id)


def finish(
    folder: VaultFolder,
    header: Header,
    old: MasterKey | None,
    new: MasterKey,
    live: LiveSettings,
    env: Env,
    tell: Progress = lambda what: None,
) -> str:
    """Do steps 2 to 4; each may have been done before. Needs the exclusive lock."""
    if header.next is None:
        raise VaultDamaged("the header names no next key.")
    name_newborn(folder)
    if old is not None:
        before, after = opening.key_for(old, header.cipher), opening.key_for(new, header.cipher)
        digests = old.subkey(Purpose.AUDIT) + old.subkey(Purpose.TOKENS)
        try:
            for path in (folder.database, *sorted(folder.backups.glob("*.db"))):
                if path.exists():
                    tell(path.name)
                    _recrypt(path, before, after, bytes(digests), live)
        except apsw.Error as error:
            raise engram_error(error, "changing the key of the vault") from error
        finally:
            before.wipe()
            after.wipe()
        clear_snapshots(folder)
    notice = store_planned_key(header.next, new, live.now, env, vault=folder.path)
    done = Header(header.cipher, header.next, header.format)
    for copy in folder.backups.glob("*.toml"):
        write_header(copy, done)
    write_header(folder.header, done)
    return notice


def _recrypt(path: Path, before: opening.DatabaseKey, after: opening.DatabaseKey, digests: bytes, live: LiveSettings) -> None:
    """Replace a file by a copy under the next key, unless it is one already. A file that opens with neither key is left."""
    if _opens(path, after):
        return
    if not _opens(path, before):
        log.warning("%s opens with neither key; it was left as it is", path.name)
        return
    part = path.with_name(path.name + ".rekey")
    discard(part)
    source = opening.connect_to_write(path, before, synchronous="full", cache_kib=live.now.page_cache_kib)
    try:
        source.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        copy = opening.connect_to_write(part, after, synchronous="full", cache_kib=live.now.page_cache_kib)
        try:
            backups.copy_pages(source, copy)
            copy.execute("INSERT OR IGNORE INTO meta (name, value) VALUES (?, ?)", (DIGEST_KEYS, digests))
            fields = before.hand_fields_to(source, after)
            copy.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (connection.FIELD_KEY, fields))
            if problems := backups.check(copy):
                raise VaultDamaged(f"the copy under the next key does not verify: {problems[0]}")
            copy.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            copy.close()
    finally:
        source.close()
    opening.refuse_plaintext(part)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)  # checkpointed above, and under the old key
    part.replace(path)
    sync_folder(path.parent)
    neutralise(path)


def _opens(path: Path, key: opening.DatabaseKey) -> bool:
    try:
        opening.connect_to_read(path, key, cache_kib=64, keep_log=True).close()
    except (apsw.NotADBError, apsw.CorruptError, apsw.IOError, apsw.FormatError):
        return False
    return True
