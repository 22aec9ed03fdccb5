"""What the doctor looks at in a vault whose key is at hand, and how bad what it sees is. `maintenance` mends."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterable

import apsw

from engram.deadline import deadline_error
from engram.env import Env, to_micros
from engram.errors import VaultDamaged
from engram.settings import LiveSettings
from engram.store.folder import VaultFolder
from engram.store.sqlite import care, memories, schema
from engram.store.sqlite import open as opening
from engram.store.sqlite.binding import explain
from engram.store.sqlite.readers import stop_in_time
from engram.types import Finding, Severity

_LOW_ROOM = 64 * 2**20
"""Free space under which the next backup or log may not fit."""


def look_over(folder: VaultFolder, live: LiveSettings, env: Env, key: opening.DatabaseKey) -> list[Finding]:
    """All of it, worst first; nothing is changed, and others may go on using the vault."""
    found = [Finding("settings", Severity.WARNING, warning) for warning in live.warnings]
    found += [*permissions(folder), *room(folder)]
    if wrong := problems(folder, key):
        return worst_first([*found, damaged(wrong)])
    if lost := adrift(folder, key):
        found.append(out_of_step(lost))
    return worst_first([*found, *backups(folder, live, env, key)])


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    order = list(Severity)
    return sorted(findings, key=lambda finding: -order.index(finding.severity))


def damaged(problems: list[str]) -> Finding:
    what = f"E1002: {problems[0]}" + (f", and {len(problems) - 1} more such" if len(problems) > 1 else "")
    return Finding("database", Severity.ERROR, what, VaultDamaged.default_way_out)


def adrift(folder: VaultFolder, key: opening.DatabaseKey) -> int:
    """Memories that the text index is out of step with."""
    connection = to_read(folder, key)
    try:
        stop_in_time(connection)
        return memories.adrift(connection)
    except apsw.InterruptError as error:
        raise deadline_error("the text index was compared") from error
    finally:
        connection.close()


def out_of_step(lost: int) -> Finding:
    what = f"the text index is out of step with {lost} memories."
    return Finding("text index", Severity.ERROR, what, "Run `engram doctor --repair` to rebuild it.")


def permissions(folder: VaultFolder, mend: bool = False) -> list[Finding]:
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


def room(folder: VaultFolder) -> list[Finding]:
    if not folder.has_room_to_write():
        what = "the vault's folder cannot be written: what is there can be read, and nothing be kept."
        return [Finding("folder", Severity.WARNING, what, "Make it writable for this user, if that is not meant.")]
    free = shutil.disk_usage(folder.path).free
    if free >= _LOW_ROOM:
        return []
    what = f"the disk has {free // 2**20} MiB left; the vault turns read-only when it is full."
    return [Finding("disk", Severity.WARNING, what, "Free some space.")]


def problems(folder: VaultFolder, key: opening.DatabaseKey) -> list[str]:
    if not folder.database.exists():
        return [f"{folder.database} is missing."]
    try:
        connection = to_read(folder, key)
    except apsw.Error as error:
        return [explain(error, "opening the database").message]
    try:
        schema.require_known(schema.version_of(connection))
        stop_in_time(connection)
        return care.check(connection) or care.unread_pages(connection)
    except apsw.Error as error:
        return [explain(error, "reading the database").message]
    finally:
        connection.close()


def to_read(folder: VaultFolder, key: opening.DatabaseKey) -> apsw.Connection:
    """Where nothing can be written there is no place for the index of a log either: then the file is all there is."""
    alone = not folder.has_room_to_write() and not folder.wal.exists()
    return opening.reading(folder.database, key, cache_kib=8192, immutable=alone)


def backups(folder: VaultFolder, live: LiveSettings, env: Env, key: opening.DatabaseKey) -> list[Finding]:
    found = care.backups(folder, key)
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
