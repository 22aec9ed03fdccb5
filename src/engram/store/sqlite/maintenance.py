"""Work on a vault as a whole, for its owner at the console: examining and mending it, bringing a backup back, its key.

These need the vault closed to others, or work even when it cannot be opened, which is why they are not verbs of a store.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from engram.env import Env
from engram.errors import DiskFull, EngramError, NotFound, VaultBusy, VaultDamaged, VaultLocked
from engram.frozen import replace
from engram.guard.keys import MasterKey
from engram.guard.unlock import KeyHeader, PassphrasePrompt, move_key
from engram.settings import LiveSettings
from engram.store.folder import VaultFolder, read_header, write_header
from engram.store.sqlite import care, examining, memories, rotation
from engram.store.sqlite import open as opening
from engram.store.sqlite.binding import explain
from engram.store.sqlite.silence import hide_times
from engram.store.sqlite.vault import Credentials, alone, unlocked
from engram.types import Backup, Finding, Severity

_NO_VAULT = "Run `engram init` to make one, or name another with --vault."


def key_facts(path: Path) -> KeyHeader:
    """Where the key is and what it looks like from outside; opens nothing."""
    return read_header(_existing(path).header).key


def export_key(path: Path, live: LiveSettings, env: Env, credentials: Credentials) -> str:
    """The recovery text of the vault's key. Whoever has it has the vault."""
    folder = _existing(path)
    with unlocked(folder, read_header(folder.header), live, env, credentials) as master:
        return master.recovery_text()


def rotate_key(
    path: Path,
    live: LiveSettings,
    env: Env,
    credentials: Credentials,
    *,
    new: MasterKey | None = None,
    ask_new: PassphrasePrompt | None = None,
    tell: rotation.Told = lambda what: None,
) -> str:
    """Give the vault another key, in the same sort of place (`new`: the one to take); returns the sentence about it."""
    folder = _existing(path)
    if not folder.has_room_to_write():
        raise DiskFull("the vault's folder cannot be written.")
    if new is None and read_header(folder.header).key.source == "given":
        raise VaultLocked("whoever made this vault keeps its key, and no new one was given.", way_out="Pass the new key.")
    return rotation.rotate(
        folder, live, env, key=credentials.master(), ask=credentials.ask, new=new, ask_new=ask_new or credentials.ask, tell=tell
    )


def import_key(path: Path, live: LiveSettings, env: Env, credentials: Credentials, recovery_text: str, source: str) -> str:
    """Put the vault's key, given as recovery text, where `source` says; returns the sentence about it."""
    folder = _existing(path)
    header = read_header(folder.header)
    with MasterKey.from_recovery_text(recovery_text) as master:
        moved = move_key(header.key, master, live.now, env, vault=path, source=source, ask=credentials.ask)
        write_header(folder.header, replace(header, key=moved.header))
        left = "" if moved.header.source == header.key.source else _still_there(header.key.source)
        return moved.notice + left


def _still_there(source: str) -> str:
    places = {"file": "the key file", "keychain": "the keychain", "passphrase": "the passphrase in older backups' headers"}
    return f" It can still be had from {places[source]}: remove it there if it must not." if source in places else ""


def list_backups(path: Path, live: LiveSettings, env: Env, credentials: Credentials) -> list[Backup]:
    """All backups, newest first. The vault itself may be damaged or open elsewhere."""
    folder = _existing(path)
    with _database_key(folder, live, env, credentials) as key:
        return care.backups(folder, key)


def restore_backup(path: Path, live: LiveSettings, env: Env, credentials: Credentials, number: int | None = None) -> Backup:
    """Put a backup (the newest intact one, or that number) in the database's place; the present file is kept."""
    _existing(path)
    with alone(path, live, env, credentials) as (folder, key):
        try:
            return care.restore(folder, key, number, live.now)
        except apsw.Error as error:
            raise explain(error, "bringing back a backup") from error


def examine(path: Path, live: LiveSettings, env: Env, credentials: Credentials, *, mend: bool = False) -> list[Finding]:
    """Everything the doctor looks at, worst first. With `mend`, what can be put right is."""
    findings = [Finding("settings", Severity.WARNING, warning) for warning in live.warnings]
    folder = VaultFolder(path)
    if not folder.exists():
        return [*findings, Finding("vault", Severity.WARNING, f"there is no vault at {path}.", _NO_VAULT)]
    findings += examining.permissions(folder, mend)
    findings += examining.room(folder)
    findings += _header(folder, mend)
    try:
        findings += _database(folder, live, env, credentials, mend)
    except EngramError as error:
        findings.append(Finding("vault", Severity.ERROR, f"{error.code}: {error.message}", error.way_out))
    return examining.worst_first(findings)


def _header(folder: VaultFolder, mend: bool) -> list[Finding]:
    """A header that is gone or damaged is taken from the newest backup, each of which has a copy beside it."""
    try:
        read_header(folder.header)
        return []
    except VaultDamaged as error:
        what = f"{error.code}: {error.message}"
    for copy in sorted(folder.backups.glob("[0-9]*.toml"), reverse=True):
        try:
            sound = read_header(copy)
        except EngramError:
            continue
        if not mend:
            return [Finding("header", Severity.ERROR, what, f"Run `engram doctor --repair`: {copy} is a sound copy.")]
        if folder.header.exists():
            folder.header.replace(folder.header.with_suffix(".toml.damaged"))
        write_header(folder.header, sound)
        return [Finding("header", Severity.WARNING, f"{what} It was taken from {copy.name}.", mended=True)]
    return []


def _database(folder: VaultFolder, live: LiveSettings, env: Env, credentials: Credentials, mend: bool) -> list[Finding]:
    with _database_key(folder, live, env, credentials) as key:
        problems = examining.problems(folder, key)
        if problems and mend:
            return _mend_database(folder, live, env, credentials, problems)
        if problems:
            return [examining.damaged(problems)]
        return [*_text_index(folder, live, env, credentials, key, mend), *examining.backups(folder, live, env, key)]


def _mend_database(
    folder: VaultFolder, live: LiveSettings, env: Env, credentials: Credentials, problems: list[str]
) -> list[Finding]:
    try:
        with alone(folder.path, live, env, credentials) as (_, key):
            figures = care.salvage(folder, key, live.now, env)
    except apsw.Error as error:
        raise explain(error, "saving what can be read") from error
    what = f"the database was damaged ({problems[0]}); {figures['memories']} memories were saved, {figures['lost']} lost."
    way_out = "The old file is kept in backups/. If a backup holds more, run `engram restore-backup`."
    return [Finding("database", Severity.WARNING, what, way_out, mended=True)]


def _text_index(
    folder: VaultFolder, live: LiveSettings, env: Env, credentials: Credentials, key: opening.DatabaseKey, mend: bool
) -> list[Finding]:
    lost = examining.adrift(folder, key)
    if not lost:
        return []
    found = examining.out_of_step(lost)
    if not mend:
        return [found]
    try:
        with alone(folder.path, live, env, credentials) as (_, own_key):
            writer = opening.writing(folder.database, own_key, synchronous="full", cache_kib=live.now.page_cache_kib)
            try:
                with writer:
                    memories.reindex(writer)
            finally:
                writer.close()
    except VaultBusy as error:
        return [replace(found, way_out=error.way_out)]
    return [Finding(found.check, Severity.INFO, found.what + " It was rebuilt.", mended=True)]


@contextmanager
def _database_key(folder: VaultFolder, live: LiveSettings, env: Env, credentials: Credentials) -> Iterator[opening.DatabaseKey]:
    header = read_header(folder.header)
    with unlocked(folder, header, live, env, credentials) as master:
        key = opening.key_for(master, header.cipher)
    try:
        yield key
    finally:
        key.wipe()
        if live.now.neutral_times:
            hide_times(folder)


def _existing(path: Path) -> VaultFolder:
    folder = VaultFolder(path)
    if not folder.exists():
        raise NotFound(f"there is no vault at {path}.", way_out=_NO_VAULT)
    return folder
