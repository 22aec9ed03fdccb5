"""The vault as a folder: where each file lies, who may read it, and the public header.

`vault.toml` holds what is needed to find the key and to open the database (format, cipher, key source, KDF parameters)
and no secret. It is written once, whole, and guarded by a checksum, so that damage to it is not mistaken for a wrong
key. File names say nothing about content or time.
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
"""The one date that vault files show: a day after the epoch, which no tool takes for "unknown"."""

_HEADER_COPIES = "Run `engram doctor --repair`, which takes the newest sound copy from backups/."
_DIGITS = 19  # of a number that TOML may not take
_MARKERS = {".gitignore": "*\n", ".nomedia": "", ".noindex": ""}
_OURS = {"backups", "index", "notes", *_MARKERS}


@frozen
class Header:
    """What `vault.toml` says. While its key is being changed it names two: `key`, and `next` with what leads from the one
    to the other (`handover`: the next key, sealed under the present one)."""

    cipher: str
    key: KeyHeader
    format: int = FORMAT
    next: KeyHeader | None = None
    handover: bytes = b""


def hide(path: Path) -> None:
    """Where the platform has a mark for that, keep a folder out of listings; elsewhere its name does that."""
    if hasattr(os, "chflags"):  # macOS and the BSDs
        with suppress(OSError):
            os.chflags(path, getattr(stat, "UF_HIDDEN", 0))


@frozen
class VaultFolder:
    """Paths of one vault. Making one touches nothing."""

    path: Path

    @property
    def header(self) -> Path:
        return self.path / "vault.toml"

    @property
    def database(self) -> Path:
        return self.path / "vault.db"

    @property
    def newborn(self) -> Path:
        """The database while it is being made; it gets its name once the header is written."""
        return self.path / "vault.db.new"

    @property
    def wal(self) -> Path:
        return self.path / "vault.db-wal"

    @property
    def has_log(self) -> bool:
        """Is there more than the name of a log? Somebody has the vault open, or had it when they were cut short."""
        try:
            return self.wal.stat().st_size > 0
        except FileNotFoundError:  # asked for once: the last one out may be taking it along right now
            return False

    @property
    def lock(self) -> Path:
        return self.path / "vault.lock"

    @property
    def turn(self) -> Path:
        """Carries the lock of whoever makes a backup."""
        return self.path / "vault.turn"

    @property
    def fill(self) -> Path:
        """Carries the lock of whoever makes the vectors of a page of memories that have none."""
        return self.path / "vault.fill"

    @property
    def backups(self) -> Path:
        return self.path / "backups"

    @property
    def index(self) -> Path:
        """What indexes put away to be faster next time; safe to delete."""
        return self.path / "index"

    def exists(self) -> bool:
        """Is there a vault, or what is left of one? A folder that held a vault is never taken for a new one."""
        return any(path.exists() for path in (self.header, self.database, self.wal)) or any(self.backups.glob("*.db"))

    def make(self) -> None:
        """Create the folder for its owner only. A folder that holds other things is left alone."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            strangers = sorted(entry.name for entry in self.path.iterdir() if not _is_ours(entry.name))
        except NotADirectoryError as error:
            raise NotFound(f"{self.path} is a file, not a folder.", way_out="Name a folder for the vault.") from error
        except FileExistsError as error:
            raise NotFound(f"{self.path} is a file, not a folder.", way_out="Name a folder for the vault.") from error
        except OSError as error:
            raise DiskFull(
                f"the vault folder {self.path} cannot be made ({error.strerror}).",
                way_out="Name another with --vault or ENGRAM_HOME, or make the folder above it writable.",
            ) from error
        if strangers and not self.exists():
            raise NotFound(
                f"{self.path} is not a vault and holds other files ({len(strangers)} of them).",
                way_out="Name an empty or new folder.",
            )
        self.path.chmod(0o700)

    def mark(self) -> None:
        """Keep the vault out of version control, galleries and search. The caller holds the vault alone."""
        for name, content in _MARKERS.items():
            write_private(self.path / name, content.encode())

    def unmake(self) -> None:
        """Take back what `make` did, if nothing but the lock came into it since. The caller holds the vault alone."""
        with suppress(OSError):
            entries = list(self.path.iterdir())
            if all(entry.name.startswith(self.lock.name) for entry in entries):  # who holds it has a journal beside it
                for entry in entries:
                    entry.unlink()
                self.path.rmdir()

    def has_room_to_write(self) -> bool:
        return os.access(self.path, os.W_OK) and not _mounted_read_only(self.path)


def _is_ours(name: str) -> bool:
    return name in _OURS or name.startswith("vault.") or name.removesuffix(".new") in _MARKERS


def read_header(path: Path) -> Header:
    try:
        table = _table(_read_quietly(path).decode("utf-8"))
    except FileNotFoundError as error:
        raise VaultDamaged(f"{path} is missing.", way_out=_HEADER_COPIES) from error
    except (ValueError, RecursionError) as error:  # no UTF-8, or no TOML
        raise _damaged(path) from error
    except OSError as error:
        raise VaultDamaged(f"{path} cannot be read ({error.strerror}).") from error
    found = table.get("format")
    if isinstance(found, int) and found > FORMAT and table.get("check") == _checksum(table):
        raise VaultTooNew(f"this vault has format {found}; this release reads formats up to {FORMAT}.")
    key = table.get("key")
    if found != FORMAT or table.get("check") != _checksum(table) or not isinstance(key, dict):
        raise _damaged(path)
    made = Header(cipher=str(table.get("cipher")), key=from_table(key), format=found)
    following = table.get("next")
    if not isinstance(following, dict):
        return made
    handover = following.get("handover")
    if not isinstance(handover, str) or not is_hex(handover):
        raise _damaged(path)
    return replace(made, next=from_table(following), handover=bytes.fromhex(handover))


def _table(text: str) -> dict[str, object]:
    """TOML. What stands as `write_header` writes it is read without the library for it, which a hook would wait for."""
    table: dict[str, object] = {}
    place = table
    for line in text.split("\n"):
        name, equals, told = line.partition(" = ")
        section = line[1:-1]
        if _is_plain(section) and line == f"[{section}]" and section not in table:
            table[section] = place = {}
        elif equals and _is_plain(name) and name not in place and (value := _value(told)) is not None:
            place[name] = value
        elif line and not (line.startswith("# ") and line.isprintable()):
            break
    else:
        return table
    import tomllib

    return tomllib.loads(text)


def _is_plain(name: str) -> bool:
    return name.isascii() and name.isidentifier() and name.islower()


def _value(told: str) -> int | str | None:
    """A number or a text that stands for itself; None for whatever else TOML may say. Without patterns, which would have to be
    compiled first."""
    if told.isascii() and told.isdecimal() and len(told) < _DIGITS and (told == "0" or told[0] != "0"):
        return int(told)
    text = told[1:-1]
    return text if told == f'"{text}"' and text.isprintable() and not ('"' in text or "\\" in text) else None


def _read_quietly(path: Path) -> bytes:
    """Without a trace of the time, where the system lets the owner ask for that (§10.4.4)."""
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
        lines += [f"{one} = {value}" if isinstance(value, int) else f'{one} = "{value}"' for one, value in values.items()]
    write_private(path, ("\n".join(lines) + "\n").encode())


def write_private(path: Path, content: bytes) -> None:
    """Write a file for its owner only, durable and whole: a temporary beside it, synced, then renamed over it."""
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
    """Write a large file for its owner only: it has its name once it is whole, and is gone if it never was."""
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
    """Make an empty file for its owner only, before anything else could make it for everyone.

    A file that is there is not even opened: on POSIX, closing any descriptor of a file drops every lock that this process
    holds on it, SQLite's own included.
    """
    if path.exists():
        return
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return


def sync_folder(folder: Path) -> None:
    """Make a rename in this folder durable. Windows has no such call and needs none."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def neutralise(path: Path) -> None:
    """Show the one neutral date instead of when the file was used (§10.4.4). A file that is gone shows nothing."""
    try:
        os.utime(path, ns=(_NEUTRAL_NS, _NEUTRAL_NS))
    except (FileNotFoundError, PermissionError):
        return
    except OSError:
        return  # a read-only file system keeps the times it has


def clear_snapshots(folder: VaultFolder) -> bool:
    """Remove every file of `index/`, those being written too; False if one could not be."""
    try:
        while files := list(folder.index.glob("*")):  # again: one may just have got its name
            for path in files:
                path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("a snapshot of an index could not be removed: %s", error.strerror)
        return False
    return True


def sweep_snapshots(folder: VaultFolder) -> None:
    """Remove what a writer that was cut short left behind. The caller is alone."""
    for path in folder.index.glob("*.part"):
        path.unlink(missing_ok=True)


def hide_snapshot_times(folder: VaultFolder) -> None:
    for path in (*folder.index.glob("*.snap"), folder.index):
        neutralise(path)


def name_newborn(folder: VaultFolder) -> None:
    """Let a database that is whole take its place: the last step of making, restoring or repairing a vault, and of one
    that was cut short. The database went first and its log follows here: a database that stayed without its log would
    open without its latest writes, and a log that stayed would be folded into the new file. The caller is alone."""
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
    for suffix in ("", "-wal", "-shm", "-journal"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)


def _checksum(table: Mapping[str, object]) -> str:
    """Over every value but itself, in one canonical order."""

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
