"""Maintenance of a whole vault by its owner: examine and repair it, restore a backup, export, import or rotate its key.

These functions need the vault closed to other processes, or work even if it cannot be opened, so they are no part of a store.
`examine_open` serves `doctor` on an open vault; it repairs nothing.

`write_decoy` writes a plain file of invented preferences where an intruder would look first (§10.2.3). It is no defence: it may
satisfy a casual look, and does not stop anybody who knows Engram.
"""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from engram.crypto.key_sources import KeyHeader, PassphrasePrompt, move_key
from engram.crypto.keys import MasterKey
from engram.deadline import deadline_error
from engram.env import Env, to_micros
from engram.errors import DiskFull, EngramError, NotFound, VaultBusy, VaultDamaged, VaultLocked
from engram.settings import LiveSettings
from engram.store.credentials import Credentials
from engram.store.folder import VaultFolder
from engram.store.header import read_header, write_header
from engram.store.sqlite import backups, key_rotation, migrations, text_index
from engram.store.sqlite import connection as opening
from engram.store.sqlite.connection import engram_error, require_encryption
from engram.store.sqlite.gate import stop_at_deadline
from engram.store.sqlite.padding import hide_times
from engram.store.sqlite.vault import open_exclusively, unlocked
from engram.types import Backup, Finding, Severity
from engram.values.frozen import replace

_LOW_ROOM = 64 * 2**20
"""Free bytes under which the next backup or log may not fit."""

_NO_VAULT = "Run `engram init` to make one, or name another with --vault."

DECOY_NAME = "settings.db"
_DECOY_ROWS = (
    ("version", "1.0.0"),
    ("theme", "dark"),
    ("language", "en"),
    ("font_size", "13"),
    ("check_for_updates", "weekly"),
    ("telemetry", "off"),
)


def examine_open(folder: VaultFolder, live: LiveSettings, env: Env, key: opening.DatabaseKey) -> list[Finding]:
    """Return the findings about an open vault, worst first. Nothing is changed, and the vault stays in use."""
    found = [Finding("settings", Severity.WARNING, warning) for warning in live.warnings]
    found += [*check_permissions(folder), *check_disk_space(folder)]
    if wrong := database_problems(folder, key):
        return sort_by_severity([*found, damage_finding(wrong)])
    if lost := count_mismatched(folder, key):
        found.append(mismatch_finding(lost))
    return sort_by_severity([*found, *backup_findings(folder, live, env, key)])


def sort_by_severity(findings: Iterable[Finding]) -> list[Finding]:
    order = list(Severity)
    return sorted(findings, key=lambda finding: -order.index(finding.severity))


def damage_finding(problems: list[str]) -> Finding:
    what = f"E1002: {problems[0]}" + (f", and {len(problems) - 1} more such" if len(problems) > 1 else "")
    return Finding("database", Severity.ERROR, what, VaultDamaged.default_way_out)


def count_mismatched(folder: VaultFolder, key: opening.DatabaseKey) -> int:
    """Return the number of memories whose entry in the text index is missing or wrong."""
    connection = connect_to_examine(folder, key)
    try:
        stop_at_deadline(connection)
        return text_index.count_mismatched(connection)
    except apsw.InterruptError as error:
        raise deadline_error("the text index was compared") from error
    finally:
        connection.close()


def mismatch_finding(lost: int) -> Finding:
    what = f"the text index is out of step with {lost} memories."
    return Finding("text index", Severity.ERROR, what, "Run `engram doctor --repair` to rebuild it.")


def check_permissions(folder: VaultFolder, mend: bool = False) -> list[Finding]:
    wanted = {folder.path: 0o700} | {
        path: 0o700 if path.is_dir() else 0o600 for path in folder.path.rglob("*") if not path.is_symlink()
    }
    loose = [path for path in wanted if stat.S_IMODE(path.stat().st_mode) & 0o077]
    if not loose:
        return []
    what = f"{len(loose)} files of the vault can be read by other users of this machine ({loose[0].name} for one)."
    if not mend:
        return [Finding("permissions", Severity.WARNING, what, "Run `engram doctor --repair`.")]
    for path in loose:
        path.chmod(wanted[path])
    return [Finding("permissions", Severity.INFO, what + " They are closed now.", mended=True)]


def check_disk_space(folder: VaultFolder) -> list[Finding]:
    if not folder.has_room_to_write():
        what = "the vault's folder cannot be written: memories can be read, but none can be stored."
        return [Finding("folder", Severity.WARNING, what, "Make it writable for this user, unless this is intended.")]
    free = shutil.disk_usage(folder.path).free
    if free >= _LOW_ROOM:
        return []
    what = f"the disk has {free // 2**20} MiB left; the vault turns read-only when it is full."
    return [Finding("disk", Severity.WARNING, what, "Free some space.")]


def database_problems(folder: VaultFolder, key: opening.DatabaseKey) -> list[str]:
    if not folder.database.exists():
        return [f"{folder.database} is missing."]
    try:
        connection = connect_to_examine(folder, key)
    except apsw.Error as error:
        return [engram_error(error, "opening the database").message]
    try:
        migrations.require_known(migrations.version_of(connection))
        stop_at_deadline(connection)
        return backups.check(connection) or backups.unread_pages(connection)
    except apsw.Error as error:
        return [engram_error(error, "reading the database").message]
    finally:
        connection.close()


def connect_to_examine(folder: VaultFolder, key: opening.DatabaseKey) -> apsw.Connection:
    """Connect for reading. A read-only folder has no room for the log's index, so its database is opened as immutable."""
    immutable = not folder.has_room_to_write() and not folder.wal.exists()
    return opening.connect_to_read(folder.database, key, cache_kib=8192, immutable=immutable)


def backup_findings(folder: VaultFolder, live: LiveSettings, env: Env, key: opening.DatabaseKey) -> list[Finding]:
    found = backups.backups(folder, key)
    broken = [backup.number for backup in found if not backup.intact]
    findings = [
        Finding("backups", Severity.WARNING, f"backup {number} does not verify.", "Run `engram backup` to make a new one.")
        for number in broken
    ]
    newest = max((backup.made_at for backup in found if backup.intact and backup.made_at), default=None)
    if newest is None:
        findings.append(Finding("backups", Severity.INFO, "there is no intact backup.", "Run `engram backup`."))
    elif live.now.backup_hours and to_micros(env.now()) - to_micros(newest) > 7 * live.now.backup_hours * 3_600_000_000:
        findings.append(
            Finding("backups", Severity.WARNING, f"the newest backup is of {newest:%Y-%m-%d}.", "Run `engram backup`.")
        )
    return findings


def key_facts(path: Path) -> KeyHeader:
    """Return the public facts about the vault's key: its source and fingerprint. Opens nothing."""
    return read_header(_existing(path).header).key


def export_key(path: Path, live: LiveSettings, env: Env, credentials: Credentials) -> str:
    """Return the recovery text of the vault's key, which opens the vault."""
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
    tell: key_rotation.Progress = lambda what: None,
) -> str:
    """Change the vault's key, keeping the kind of key source; return the notice about the new key. `new`: the key to use."""
    folder = _existing(path)
    if not folder.has_room_to_write():
        raise DiskFull("the vault's folder cannot be written.")
    if new is None and read_header(folder.header).key.source == "given":
        raise VaultLocked("the key of this vault is kept by its caller, and no new key was given.", way_out="Pass the new key.")
    return key_rotation.rotate(
        folder, live, env, key=credentials.master(), ask=credentials.ask, new=new, ask_new=ask_new or credentials.ask, tell=tell
    )


def import_key(path: Path, live: LiveSettings, env: Env, credentials: Credentials, recovery_text: str, source: str) -> str:
    """Store the vault's key, given as recovery text, in the key source `source`; return the notice about it."""
    folder = _existing(path)
    header = read_header(folder.header)
    with MasterKey.from_recovery_text(recovery_text) as master:
        moved = move_key(header.key, master, live.now, env, vault=path, source=source, ask=credentials.ask)
        write_header(folder.header, replace(header, key=moved.header))
        left = "" if moved.header.source == header.key.source else _still_there(header.key.source)
        return moved.notice + left


def _still_there(source: str) -> str:
    places = {"file": "the key file", "keychain": "the keychain", "passphrase": "the passphrase in older backups' headers"}
    return f" It is also still in {places[source]}: remove it there if it should not be." if source in places else ""


def list_backups(path: Path, live: LiveSettings, env: Env, credentials: Credentials) -> list[Backup]:
    """Return all backups, newest first. The vault itself may be damaged, or open in another process."""
    folder = _existing(path)
    with _database_key(folder, live, env, credentials) as key:
        return backups.backups(folder, key)


def restore_backup(path: Path, live: LiveSettings, env: Env, credentials: Credentials, number: int | None = None) -> Backup:
    """Replace the database by a backup (the newest intact one, or that number); the present file is kept."""
    _existing(path)
    with open_exclusively(path, live, env, credentials) as (folder, key):
        try:
            return backups.restore(folder, key, number, live.now)
        except apsw.Error as error:
            raise engram_error(error, "restoring a backup") from error


def examine(path: Path, live: LiveSettings, env: Env, credentials: Credentials, *, mend: bool = False) -> list[Finding]:
    """Return the findings about a vault, worst first. With `mend`, repair what can be repaired."""
    findings = [Finding("settings", Severity.WARNING, warning) for warning in live.warnings]
    folder = VaultFolder(path)
    if not folder.exists():
        return [*findings, Finding("vault", Severity.WARNING, f"there is no vault at {path}.", _NO_VAULT)]
    findings += check_permissions(folder, mend)
    findings += check_disk_space(folder)
    findings += _header(folder, mend)
    try:
        findings += _database(folder, live, env, credentials, mend)
    except EngramError as error:
        findings.append(Finding("vault", Severity.ERROR, f"{error.code}: {error.message}", error.way_out))
    return sort_by_severity(findings)


def _header(folder: VaultFolder, mend: bool) -> list[Finding]:
    """Check the header; with `mend`, replace a missing or damaged one by the copy beside the newest backup that has one."""
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
        problems = database_problems(folder, key)
        if problems and mend:
            return _mend_database(folder, live, env, credentials, problems)
        if problems:
            return [damage_finding(problems)]
        return [*_text_index(folder, live, env, credentials, key, mend), *backup_findings(folder, live, env, key)]


def _mend_database(
    folder: VaultFolder, live: LiveSettings, env: Env, credentials: Credentials, problems: list[str]
) -> list[Finding]:
    try:
        with open_exclusively(folder.path, live, env, credentials) as (_, key):
            figures = backups.salvage(folder, key, live.now, env)
    except apsw.Error as error:
        raise engram_error(error, "saving what can be read") from error
    what = f"the database was damaged ({problems[0]}); {figures['memories']} memories were saved, {figures['lost']} lost."
    way_out = "The old file is kept in backups/. If a backup holds more, run `engram restore-backup`."
    return [Finding("database", Severity.WARNING, what, way_out, mended=True)]


def _text_index(
    folder: VaultFolder, live: LiveSettings, env: Env, credentials: Credentials, key: opening.DatabaseKey, mend: bool
) -> list[Finding]:
    lost = count_mismatched(folder, key)
    if not lost:
        return []
    found = mismatch_finding(lost)
    if not mend:
        return [found]
    try:
        with open_exclusively(folder.path, live, env, credentials) as (_, own_key):
            writer = opening.connect_to_write(folder.database, own_key, synchronous="full", cache_kib=live.now.page_cache_kib)
            try:
                with writer:
                    text_index.reindex(writer)
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


def write_decoy(folder: Path) -> Path | None:
    """Write the decoy into a folder and return its path; None if a file of its name exists."""
    require_encryption()
    path = folder / DECOY_NAME
    if path.exists():
        return None
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    try:
        connection.execute("CREATE TABLE app_config (key TEXT PRIMARY KEY, value TEXT)")
        connection.executemany("INSERT INTO app_config VALUES (?, ?)", _DECOY_ROWS)
    finally:
        connection.close()
    return path
