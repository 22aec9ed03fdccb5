"""The seam to SQLite: the right binding or none, and its errors as ours.

`apsw` and `apsw-sqlite3mc` install the same module name. The plain one ignores `PRAGMA key` and would write plaintext,
so it is refused here, before anything is opened.
"""

from __future__ import annotations

import apsw

from engram.errors import DiskFull, EncryptionFailed, EngramError, InvalidContent, VaultBusy, VaultDamaged, WriteFailed

_WRITE_PROBLEMS = (
    apsw.SQLITE_IOERR_WRITE,
    apsw.SQLITE_IOERR_FSYNC,
    apsw.SQLITE_IOERR_TRUNCATE,
    apsw.SQLITE_IOERR_SHMSIZE,
    apsw.SQLITE_IOERR_SHMOPEN,
)


def require_encryption() -> None:
    if not getattr(apsw, "mc_version", ""):
        raise EncryptionFailed(
            "the module `apsw` that is installed cannot encrypt; it shares its name with the one that can.",
            way_out="Run `pip uninstall apsw` and then `pip install --force-reinstall apsw-sqlite3mc`.",
        )


def explain(error: apsw.Error, doing: str) -> EngramError:
    """The error of ours that this one of SQLite's means. SQLite's text is dropped: ours names what was being done."""
    extended = getattr(error, "extendedresult", 0)
    if isinstance(error, apsw.FullError) or extended in _WRITE_PROBLEMS:
        return DiskFull(f"the disk has no room left while {doing}.")
    if isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError):
        return DiskFull(f"the vault cannot be written or opened for writing while {doing} ({type(error).__name__}).")
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return VaultBusy(f"another process kept the vault to itself for too long while {doing}.")
    if isinstance(error, apsw.CorruptError | apsw.NotADBError | apsw.IOError | apsw.FormatError):
        return VaultDamaged(f"a part of the vault does not verify ({type(error).__name__}, {extended}) while {doing}.")
    if isinstance(error, apsw.ConstraintError | apsw.MismatchError | apsw.TooBigError):
        return InvalidContent(
            f"a rule of the vault was broken while {doing}: an id is there already, or a value is of no use.",
            way_out="Leave the id out, so that a new one is given.",
        )
    return WriteFailed(f"SQLite refused ({type(error).__name__}, {extended}) while {doing}.")
