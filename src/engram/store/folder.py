"""The vault as a folder: paths, permissions, and files for its owner only. File names reveal neither content nor time."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from engram.errors import DiskFull, NotFound
from engram.log import Log
from engram.values.frozen import frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

log = Log("engram.store")

_NEUTRAL_NS = 86_400 * 10**9
"""The date that all vault files show: a day after the epoch, because some tools take the epoch itself for "unknown"."""

_MARKERS = {".gitignore": "*\n", ".nomedia": "", ".noindex": ""}
_VAULT_NAMES = {"backups", "index", "notes", *_MARKERS}


def hide(path: Path) -> None:
    """Set the hidden flag of a folder on platforms that have one; elsewhere its dotted name hides it."""
    if hasattr(os, "chflags"):  # macOS and the BSDs
        with suppress(OSError):
            os.chflags(path, getattr(stat, "UF_HIDDEN", 0))


@frozen
class VaultFolder:
    """Paths of one vault. Creating the value touches no file."""

    path: Path

    @property
    def header(self) -> Path:
        return self.path / "vault.toml"

    @property
    def database(self) -> Path:
        return self.path / "vault.db"

    @property
    def newborn(self) -> Path:
        """The database while it is being created; it is renamed to `database` once the header is written."""
        return self.path / "vault.db.new"

    @property
    def wal(self) -> Path:
        return self.path / "vault.db-wal"

    @property
    def has_log(self) -> bool:
        """True if there is a non-empty write-ahead log: a process has the vault open, or crashed with it open."""
        try:
            return self.wal.stat().st_size > 0
        except FileNotFoundError:  # no `exists` first: the last process to close may remove it at any time
            return False

    @property
    def lock(self) -> Path:
        return self.path / "vault.lock"

    @property
    def turn(self) -> Path:
        """The lock file of the process that makes a backup."""
        return self.path / "vault.turn"

    @property
    def fill(self) -> Path:
        """The lock file of the process that backfills missing vectors."""
        return self.path / "vault.fill"

    @property
    def backups(self) -> Path:
        return self.path / "backups"

    @property
    def index(self) -> Path:
        """The folder of index snapshots; safe to delete."""
        return self.path / "index"

    def exists(self) -> bool:
        """Return True if there is a vault or the remains of one. Such a folder is never taken for a new one."""
        return any(path.exists() for path in (self.header, self.database, self.wal)) or any(self.backups.glob("*.db"))

    def make(self) -> None:
        """Create the folder with access for its owner only. Raises if it exists and holds other files than a vault's."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            foreign = [entry.name for entry in self.path.iterdir() if not _is_vault_file(entry.name)]
        except NotADirectoryError as error:
            raise NotFound(f"{self.path} is a file, not a folder.", way_out="Name a folder for the vault.") from error
        except FileExistsError as error:
            raise NotFound(f"{self.path} is a file, not a folder.", way_out="Name a folder for the vault.") from error
        except OSError as error:
            raise DiskFull(
                f"the vault folder {self.path} cannot be made ({error.strerror}).",
                way_out="Name another with --vault or ENGRAM_HOME, or make the folder above it writable.",
            ) from error
        if foreign and not self.exists():
            raise NotFound(
                f"{self.path} is not a vault and holds other files ({len(foreign)} of them).",
                way_out="Name an empty or new folder.",
            )
        self.path.chmod(0o700)

    def mark(self) -> None:
        """Write the marker files that keep the vault out of version control, galleries and search. Needs the exclusive lock."""
        for name, content in _MARKERS.items():
            write_private(self.path / name, content.encode())

    def unmake(self) -> None:
        """Remove the folder if it holds nothing but the lock. Needs the exclusive lock."""
        with suppress(OSError):
            entries = list(self.path.iterdir())
            if all(entry.name.startswith(self.lock.name) for entry in entries):  # a held lock has a journal beside it
                for entry in entries:
                    entry.unlink()
                self.path.rmdir()

    def has_room_to_write(self) -> bool:
        return os.access(self.path, os.W_OK) and not _mounted_read_only(self.path)


def _is_vault_file(name: str) -> bool:
    return name in _VAULT_NAMES or name.startswith("vault.") or name.removesuffix(".new") in _MARKERS


def write_private(path: Path, content: bytes) -> None:
    """Write a file for its owner only, atomically and durably: a temporary file is synced, then renamed over it."""
    temporary = path.with_name(path.name + ".new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)
    neutralise(path)


@contextmanager
def private_file(path: Path) -> Iterator[BinaryIO]:
    """Write a large file for its owner only: it gets its name when complete, and is removed on an error."""
    temporary = path.with_name(path.name + ".new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def touch_private(path: Path) -> None:
    """Create an empty file for its owner only, before SQLite would create it with the default permissions.

    An existing file is not opened: on POSIX, closing any descriptor of a file drops every lock that this process
    holds on it, SQLite's included.
    """
    if path.exists():
        return
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return


def sync_folder(folder: Path) -> None:
    """Make a rename in this folder durable. Windows needs no such call."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def neutralise(path: Path) -> None:
    """Set a file's times to the neutral date, so that they do not show when it was used (§10.4.4)."""
    try:
        os.utime(path, ns=(_NEUTRAL_NS, _NEUTRAL_NS))
    except (FileNotFoundError, PermissionError):
        return
    except OSError:
        return  # a read-only file system keeps the times it has


def clear_snapshots(folder: VaultFolder) -> bool:
    """Remove every file of `index/`, also unfinished ones; False if one could not be removed."""
    try:
        while files := list(folder.index.glob("*")):  # repeated: a writer may just have renamed one
            for path in files:
                path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("an index snapshot could not be removed: %s", error.strerror)
        return False
    return True


def sweep_snapshots(folder: VaultFolder) -> None:
    """Remove unfinished snapshots of a process that crashed. Needs the exclusive lock."""
    for path in folder.index.glob("*.part"):
        path.unlink(missing_ok=True)


def hide_snapshot_times(folder: VaultFolder) -> None:
    """Set the neutral date on the snapshots and their folder."""
    for path in (*folder.index.glob("*.snap"), folder.index):
        neutralise(path)


def name_newborn(folder: VaultFolder) -> None:
    """Rename a complete new database into place: the last step of creating, restoring or repairing a vault, also after a crash.

    The old database was moved away before; its log follows here, because SQLite would replay it into the new file. Needs the
    exclusive lock.
    """
    if not folder.newborn.exists() or folder.database.exists():
        return
    if folder.wal.exists():
        kept = folder.backups / f"replaced-{last_kept(folder):03d}.db-wal"
        folder.backups.mkdir(mode=0o700, exist_ok=True)
        folder.wal.replace(kept)
        neutralise(kept)
        sync_folder(folder.backups)
    discard(folder.database)
    folder.newborn.replace(folder.database)
    sync_folder(folder.path)


def last_kept(folder: VaultFolder) -> int:
    names = (path.name.removeprefix("replaced-").partition(".")[0] for path in folder.backups.glob("replaced-*.db*"))
    return max((int(name) for name in names if name.isdigit()), default=0)


def discard(database: Path) -> None:
    """Remove a database with its log, shared memory and journal."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)


def _mounted_read_only(path: Path) -> bool:
    if not hasattr(os, "statvfs"):
        return False
    return bool(os.statvfs(path).f_flag & getattr(os, "ST_RDONLY", 1))
