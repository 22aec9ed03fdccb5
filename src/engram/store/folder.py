"""The vault as a folder: paths, permissions, and the public header.

`vault.toml` holds what is needed to find the key and to open the database (format, cipher, key source, KDF parameters)
and no secret. It is replaced as a whole and carries a checksum, so that damage to it is not mistaken for a wrong
key. File names reveal neither content nor time.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from engram.crypto.digests import sha256
from engram.crypto.key_sources import KeyHeader, from_table, is_hex, to_table
from engram.errors import DiskFull, NotFound, VaultDamaged, VaultTooNew
from engram.log import Log
from engram.values.frozen import frozen, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

log = Log("engram.store")

FORMAT = 1
_NEUTRAL_NS = 86_400 * 10**9
"""The date that all vault files show: a day after the epoch, because some tools take the epoch itself for "unknown"."""

_HEADER_COPIES = "Run `engram doctor --repair`, which takes the newest sound copy from backups/."
_DIGITS = 19  # a number of this many digits may exceed TOML's 64 bits
_MARKERS = {".gitignore": "*\n", ".nomedia": "", ".noindex": ""}
_VAULT_NAMES = {"backups", "index", "notes", *_MARKERS}


@frozen
class Header:
    """The content of `vault.toml`. During a change of keys it also names the `next` key, and `handover` holds that key sealed
    under the present one."""

    cipher: str
    key: KeyHeader
    format: int = FORMAT
    next: KeyHeader | None = None
    handover: bytes = b""


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


def read_header(path: Path) -> Header:
    """Read and verify the header. Raises VaultDamaged, or VaultTooNew for a format of a later release."""
    try:
        table = _table(_read_quietly(path).decode("utf-8"))
    except FileNotFoundError as error:
        raise VaultDamaged(f"{path} is missing.", way_out=_HEADER_COPIES) from error
    except (ValueError, RecursionError) as error:  # no UTF-8, or no TOML
        raise _damaged(path) from error
    except OSError as error:
        raise VaultDamaged(f"{path} cannot be read ({error.strerror}).") from error
    version = table.get("format")
    if isinstance(version, int) and version > FORMAT and table.get("check") == _checksum(table):
        raise VaultTooNew(f"this vault has format {version}; this release reads formats up to {FORMAT}.")
    key = table.get("key")
    if version != FORMAT or table.get("check") != _checksum(table) or not isinstance(key, dict):
        raise _damaged(path)
    header = Header(cipher=str(table.get("cipher")), key=from_table(key), format=version)
    following = table.get("next")
    if not isinstance(following, dict):
        return header
    handover = following.get("handover")
    if not isinstance(handover, str) or not is_hex(handover):
        raise _damaged(path)
    return replace(header, next=from_table(following), handover=bytes.fromhex(handover))


def _table(text: str) -> dict[str, object]:
    """Parse TOML. Text as `write_header` writes it is parsed here, to save a hook the time to import `tomllib`."""
    table: dict[str, object] = {}
    current = table
    for line in text.split("\n"):
        name, equals, literal = line.partition(" = ")
        section = line[1:-1]
        if _is_plain(section) and line == f"[{section}]" and section not in table:
            table[section] = current = {}
        elif equals and _is_plain(name) and name not in current and (value := _value(literal)) is not None:
            current[name] = value
        elif line and not (line.startswith("# ") and line.isprintable()):
            break
    else:
        return table
    import tomllib

    return tomllib.loads(text)


def _is_plain(name: str) -> bool:
    return name.isascii() and name.isidentifier() and name.islower()


def _value(literal: str) -> int | str | None:
    """Return the value of a plain number or text; None for other TOML. No regular expression: compiling one takes time."""
    if literal.isascii() and literal.isdecimal() and len(literal) < _DIGITS and (literal == "0" or literal[0] != "0"):
        return int(literal)
    text = literal[1:-1]
    return text if literal == f'"{text}"' and text.isprintable() and not ('"' in text or "\\" in text) else None


def _read_quietly(path: Path) -> bytes:
    """Read a file without changing its access time, on systems that offer this to the owner (§10.4.4)."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags | getattr(os, "O_NOATIME", 0))
    except PermissionError:
        descriptor = os.open(path, flags)
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def write_header(path: Path, header: Header) -> None:
    """Replace the header in one step; a crash leaves the old one or the new one."""
    tables: dict[str, dict[str, str | int]] = {"key": to_table(header.key)}
    if header.next is not None:
        tables["next"] = to_table(header.next) | {"handover": header.handover.hex()}
    table: dict[str, object] = {"format": header.format, "cipher": header.cipher, **tables}
    lines = [
        "# Engram vault. Nothing in this file is secret, but without it the vault cannot be opened.",
        f"format = {header.format}",
        f'cipher = "{header.cipher}"',
        f'check = "{_checksum(table)}"',
    ]
    for name, values in tables.items():
        lines += ["", f"[{name}]"]
        lines += [f"{key} = {value}" if isinstance(value, int) else f'{key} = "{value}"' for key, value in values.items()]
    write_private(path, ("\n".join(lines) + "\n").encode())


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


def _checksum(table: Mapping[str, object]) -> str:
    """Return the checksum of a header: over every value but the checksum, in sorted order."""

    def flat(prefix: str, values: Mapping[str, object]) -> list[str]:
        lines: list[str] = []
        for name, value in sorted(values.items()):
            lines += flat(f"{prefix}{name}.", value) if isinstance(value, dict) else [f"{prefix}{name}={value!r}"]
        return lines

    rest = {name: value for name, value in table.items() if name != "check"}
    return sha256("\n".join(flat("", rest)).encode()).hex()[:32]


def _damaged(path: Path) -> VaultDamaged:
    return VaultDamaged(f"{path} is damaged.", way_out=_HEADER_COPIES)


def _mounted_read_only(path: Path) -> bool:
    if not hasattr(os, "statvfs"):
        return False
    return bool(os.statvfs(path).f_flag & getattr(os, "ST_RDONLY", 1))
