"""Key sources: the keychain, file, passphrase or caller that holds a vault's master key; storing, finding and removing the key.

Input: the vault's id or public header, settings, and optionally a key or a prompt for the passphrase. Output: the master key, a
header that names its source, and a notice for the user about what losing it means. A key is durable in its place, and read back
from there, before a function here returns.

This module never makes a new key for a vault that has one, never puts a key into the vault folder, and removes only the key it
is told to remove. It owns the keys passed in: a key that does not match the vault is wiped.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from engram import settings as settings_room
from engram.crypto import keychain
from engram.crypto.keys import SALT_BYTES, Kdf, MasterKey, unwrap, wrap
from engram.env import Env
from engram.errors import ConfigInvalid, DiskFull, EngramError, VaultDamaged, VaultLocked, WriteFailed
from engram.log import Log
from engram.settings import Settings
from engram.values.frozen import frozen

log = Log("engram.crypto")

PassphrasePrompt = Callable[[], str | None]
"""Asks the user for the passphrase; returns None if the user gives none."""

SOURCES = ("keychain", "file", "passphrase", "given")
_VAULT_ID = 64  # characters: it becomes a file name
_FINGERPRINT = 16
_KDF_PREFIX = "kdf_"
_ARGON2_LANES = 4  # RFC 9106, section 4
_ARGON2_PASSES = 3  # over `argon2_memory_kib`, by which the cost of a guess is set
_KEY_FILE_LIMIT = 4096


@frozen
class KeyHeader:
    """The public part of a vault's key: its source, and the fingerprint that identifies it. Holds no secret."""

    vault_id: str
    source: str
    fingerprint: str
    kdf: Kdf | None = None
    wrapped: bytes | None = None


@frozen
class StoredKey:
    """A key stored in its place. `notice` tells the user where that is and what losing the key means."""

    master: MasterKey
    header: KeyHeader
    notice: str


@frozen
class _KeyPlacement:
    """A key to be stored, with everything that storing it needs."""

    vault_id: str
    master: MasterKey
    settings: Settings
    env: Env
    vault: Path
    passphrase: PassphrasePrompt
    overwrite: bool = False

    def stored(self, source: str, notice: str, *, kdf: Kdf | None = None, wrapped: bytes | None = None) -> StoredKey:
        header = KeyHeader(self.vault_id, source, self.master.fingerprint, kdf, wrapped)
        return StoredKey(self.master, header, notice)


def to_table(header: KeyHeader) -> dict[str, str | int]:
    """Return the header as a table of `vault.toml`."""
    table: dict[str, str | int] = {
        "vault_id": header.vault_id,
        "key_source": header.source,
        "key_fingerprint": header.fingerprint,
    }
    if header.kdf is not None:
        table |= {"kdf": header.kdf.name, "kdf_salt": header.kdf.salt.hex()}
        table |= {_KDF_PREFIX + name: value for name, value in header.kdf.parameters.items()}
    if header.wrapped is not None:
        table["wrapped_key"] = header.wrapped.hex()
    return table


def from_table(table: Mapping[str, object]) -> KeyHeader:
    """Read the header from a table of `vault.toml`. The file is not authenticated: invalid values raise VaultDamaged."""
    source = _text(table, "key_source", SOURCES.__contains__)
    wrapped = bytes.fromhex(_text(table, "wrapped_key", is_hex)) if "wrapped_key" in table else None
    header = KeyHeader(
        vault_id=_text(table, "vault_id", _is_vault_id),
        source=source,
        fingerprint=_text(table, "key_fingerprint", _is_fingerprint),
        kdf=_kdf_from(table) if "kdf" in table else None,
        wrapped=wrapped,
    )
    if (header.kdf is None) != (wrapped is None) or (source == "passphrase" and wrapped is None):
        raise VaultDamaged("The vault header names a passphrase, but its key derivation or wrapped key is missing.")
    return header


def _kdf_from(table: Mapping[str, object]) -> Kdf:
    numbers = {name.removeprefix(_KDF_PREFIX): value for name, value in table.items() if name.startswith(_KDF_PREFIX)}
    numbers.pop("salt", None)
    integers = {name: value for name, value in numbers.items() if isinstance(value, int)}
    if integers.keys() != numbers.keys():
        raise VaultDamaged("The vault header has a KDF parameter that is not an integer.")
    return Kdf(_text(table, "kdf", str.isidentifier), bytes.fromhex(_text(table, "kdf_salt", is_hex)), integers)


# Without regular expressions, which a hook would have to compile first.


def is_hex(text: str) -> bool:
    """Return True for whole bytes in lower-case hexadecimal."""
    return text != "" and len(text) % 2 == 0 and not text.strip("0123456789abcdef")


def _is_fingerprint(text: str) -> bool:
    return is_hex(text) and len(text) == _FINGERPRINT


def _is_vault_id(text: str) -> bool:
    return text.isascii() and text[:1].isalnum() and len(text) <= _VAULT_ID and text.translate(_WITHOUT_SEPARATORS).isalnum()


_WITHOUT_SEPARATORS = str.maketrans("", "", "._-")


def _text(table: Mapping[str, object], name: str, fits: Callable[[str], bool]) -> str:
    value = table.get(name)
    if not isinstance(value, str) or not fits(value):
        raise VaultDamaged(f"The vault header has no valid {name}.")
    return value


def create(
    vault_id: str,
    settings: Settings,
    env: Env,
    *,
    vault: Path,
    key: MasterKey | None = None,
    ask: PassphrasePrompt | None = None,
    overwrite: bool = False,
) -> StoredKey:
    """Make the key of a new vault and store it where the settings say; `auto` takes the safest place that works.

    A key passed in is not stored: the caller keeps it. With `overwrite` an existing key file is replaced.
    """
    if not _is_vault_id(vault_id):
        raise ValueError("a vault id consists of letters, digits, dots, dashes and underscores")
    with contextlib.ExitStack() as on_failure:
        master = key or _existing_key(settings) or MasterKey.generate(env.random)
        on_failure.callback(master.wipe)
        placement = _KeyPlacement(vault_id, master, settings, env, vault, lambda: _environment_first(ask), overwrite)
        stored = _store(placement, settings.key_source if key is None else "given")
        on_failure.pop_all()
    return stored


def _existing_key(settings: Settings) -> MasterKey | None:
    """Return the key in the file that the settings name, if there is one: put there by hand, or by an interrupted first try."""
    if not settings.key_file or settings.key_source not in ("auto", "file"):
        return None
    try:
        return _read_key_file(_key_path("", settings))
    except VaultLocked:
        return None


def move_key(
    header: KeyHeader,
    master: MasterKey,
    settings: Settings,
    env: Env,
    *,
    vault: Path,
    source: str,
    ask: PassphrasePrompt | None = None,
) -> StoredKey:
    """Store the same key in another place, or under another passphrase. The old place keeps it until `remove_key`.

    `ask` precedes the environment here, which may still hold the passphrase that is being changed.
    """
    if not _matches(master, header):
        raise VaultLocked(f"This is not the key of the vault at {vault}, so it was not stored.")
    passphrase = ask if ask is not None else settings_room.passphrase
    return _store(_KeyPlacement(header.vault_id, master, settings, env, vault, passphrase), source)


def plan_header(
    header: KeyHeader, master: MasterKey, settings: Settings, env: Env, *, vault: Path, ask: PassphrasePrompt | None = None
) -> KeyHeader:
    """Return the header that a new key in the same kind of place will have. Nothing is stored yet."""
    if header.source != "passphrase":
        return KeyHeader(header.vault_id, header.source, master.fingerprint)
    passphrase = ask if ask is not None else settings_room.passphrase
    return _under_passphrase(_KeyPlacement(header.vault_id, master, settings, env, vault, passphrase)).header


def store_planned_key(header: KeyHeader, master: MasterKey, settings: Settings, env: Env, *, vault: Path) -> str:
    """Store the key of a header from `plan_header`, replacing the old key. Return the notice for the user."""
    placement = _KeyPlacement(header.vault_id, master, settings, env, vault, lambda: None, overwrite=True)
    if header.source == "passphrase":
        return "The key of this vault is in its header, under your passphrase; an older recovery key no longer opens it."
    return _store(placement, header.source).notice


def remove_key(header: KeyHeader, settings: Settings, *, kept: KeyHeader | None = None) -> bool:
    """Remove the key from the place that `header` names. Return True if it was there and is removed.

    Pass the settings that were in force when the key was stored, and as `kept` the header now in force: if both name the same
    kind of place, nothing is removed. A place that holds another key is left alone, too. Passphrases and given keys have no
    place to clear.
    """
    if kept is not None and kept.source == header.source:
        return False
    if header.source == "keychain":
        stored = keychain.read(header.vault_id) if keychain.available() else None
        return stored is not None and _matches_then_wipe(stored, header) and keychain.delete(header.vault_id)
    if header.source == "file":
        path = _key_path(header.vault_id, settings)
        return _holds(path, header) and _remove_key_file(path)
    return False


def unlock(
    header: KeyHeader, settings: Settings, *, vault: Path, key: MasterKey | None = None, ask: PassphrasePrompt | None = None
) -> MasterKey:
    """Return the key of this vault, from `key` or from the source that the header names. Never makes a new one."""
    master = key if key is not None else _fetch(header, settings, vault, ask)
    if not _matches(master, header):
        master.wipe()
        origin = "given" if key is not None else f"found ({header.source})"
        raise VaultLocked(f"The key that was {origin} is not the key of the vault at {vault}.")
    return master


def _fetch(header: KeyHeader, settings: Settings, vault: Path, ask: PassphrasePrompt | None) -> MasterKey:
    match header.source:
        case "keychain":
            return _from_keychain(header, vault)
        case "file":
            path = _key_path(header.vault_id, settings)
            if _is_inside(path, vault):
                log.warning("key file %s lies inside the vault it opens: every copy of the vault includes its key", path)
            return _read_key_file(path)
        case "passphrase":
            return _from_passphrase(header, vault, ask)
    raise VaultLocked(
        f"The key of the vault at {vault} is not stored by Engram, and was not given.",
        way_out="Open the vault with `key=`, or let Engram store the key: `engram key import`.",
    )


def _from_keychain(header: KeyHeader, vault: Path) -> MasterKey:
    master = keychain.read(header.vault_id)
    if master is None:
        raise VaultLocked(f"The OS keychain has no key for the vault at {vault} (account {header.vault_id}).")
    return master


def _from_passphrase(header: KeyHeader, vault: Path, ask: PassphrasePrompt | None) -> MasterKey:
    if header.kdf is None or header.wrapped is None:
        raise VaultDamaged("The vault header names a passphrase, but has no wrapped key.")
    passphrase = _environment_first(ask)
    if passphrase is None:
        raise _no_passphrase(f"The vault at {vault} opens with a passphrase, and none was given.")
    return unwrap(header.wrapped, passphrase, header.kdf, vault_id=header.vault_id)


def _environment_first(ask: PassphrasePrompt | None) -> str | None:
    return settings_room.passphrase() or (ask() if ask is not None else None)


def _no_passphrase(message: str) -> VaultLocked:
    return VaultLocked(message, way_out="Set ENGRAM_PASSPHRASE, or run this in a terminal that can ask for it.")


def _matches(master: MasterKey, header: KeyHeader) -> bool:
    return master.fingerprint == header.fingerprint  # both are public, so that timing reveals nothing


def _matches_then_wipe(master: MasterKey, header: KeyHeader) -> bool:
    with master:
        return _matches(master, header)


def _store(placement: _KeyPlacement, source: str) -> StoredKey:
    match source:
        case "keychain":
            return _into_keychain(placement)
        case "file":
            return _into_file(placement)
        case "passphrase":
            return _under_passphrase(placement)
        case "given":
            return placement.stored(
                "given", "You keep the key of this vault. Engram has no copy, and without the key nobody can read the vault."
            )
        case "auto":
            return _best_place(placement)
    raise ConfigInvalid(f"There is no key source {source!r}.", way_out=f"Use one of auto, {', '.join(SOURCES)}.")


def _best_place(placement: _KeyPlacement) -> StoredKey:
    if settings_room.passphrase():
        return _under_passphrase(placement)
    if keychain.available():
        with contextlib.suppress(VaultLocked):
            return _into_keychain(placement)
    return _into_file(placement)


def _into_keychain(placement: _KeyPlacement) -> StoredKey:
    if not keychain.write(placement.vault_id, placement.master):
        raise VaultLocked(
            "The key could not be stored in an OS keychain: there is none that Engram trusts, or it is locked.",
            way_out="Install `engram-local[keychain]` and unlock the keychain, or set key_source to file or passphrase.",
        )
    return placement.stored(
        "keychain",
        f"The key of this vault is in the keychain of this computer (service {keychain.SERVICE}, account {placement.vault_id}). "
        "If the keychain is lost, nobody can read the vault: write down the recovery key (`engram key export`) and keep it "
        "elsewhere.",
    )


def _under_passphrase(placement: _KeyPlacement) -> StoredKey:
    passphrase = placement.passphrase()
    if passphrase is None:
        raise _no_passphrase("The key of this vault is to be stored under a passphrase, and none was given.")
    kdf = _new_kdf(placement.settings, placement.env)
    wrapped = wrap(placement.master, passphrase, kdf, vault_id=placement.vault_id, random=placement.env.random)
    return placement.stored(
        "passphrase",
        "The key of this vault is in its header, under your passphrase. If the passphrase is forgotten, nobody can read the "
        "vault: write down the recovery key (`engram key export`) and keep it elsewhere.",
        kdf=kdf,
        wrapped=wrapped,
    )


def _new_kdf(settings: Settings, env: Env) -> Kdf:
    salt = env.random(SALT_BYTES)
    if settings.kdf == "scrypt":
        parameters = {"log_n": settings.scrypt_log_n, "lanes": 1}
    else:
        parameters = {"memory_kib": settings.argon2_memory_kib, "passes": _ARGON2_PASSES, "lanes": _ARGON2_LANES}
    try:
        return Kdf(settings.kdf, salt, parameters)
    except VaultDamaged:
        listed = ", ".join(f"{name} = {value}" for name, value in parameters.items())
        raise ConfigInvalid(f"The settings of {settings.kdf} are out of range: {listed}.") from None


def _into_file(placement: _KeyPlacement) -> StoredKey:
    path = _key_path(placement.vault_id, placement.settings)
    if _is_inside(path, placement.vault):
        raise ConfigInvalid(
            f"The key file {path} would lie inside the vault it opens, so that every copy of the vault would include its key.",
            way_out="Set key_file to a path outside the vault.",
        )
    stored = placement.stored(
        "file",
        f"The key of this vault is in {path}. Anyone who has that file can read the vault, and without it nobody can: "
        "keep a copy elsewhere.",
    )
    if not _holds(path, stored.header):
        _write_key_file(path, placement)
        if not _holds(path, stored.header):
            raise WriteFailed(f"The key file {path} does not read back as it was written.")
    return stored


def _key_path(vault_id: str, settings: Settings) -> Path:
    if settings.key_file:
        return Path(os.path.abspath(os.path.expanduser(settings.key_file)))
    return settings_room.key_folder() / f"{vault_id}.key"


def _is_inside(path: Path, folder: Path) -> bool:
    """Return True if a path lies in a folder, by resolved name or by identity: some file systems allow several spellings."""
    real, home = path.resolve(), folder.resolve()
    return real.is_relative_to(home) or (home.exists() and any(up.exists() and up.samefile(home) for up in real.parents))


def _holds(path: Path, header: KeyHeader) -> bool:
    try:
        return _matches_then_wipe(_read_key_file(path), header)
    except VaultLocked:
        return False


def _read_key_file(path: Path) -> MasterKey:
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(_KEY_FILE_LIMIT)
    except FileNotFoundError:
        raise VaultLocked(f"The key file {path} does not exist.") from None
    except OSError as error:
        raise VaultLocked(f"The key file {path} cannot be read ({type(error).__name__}).") from error
    if os.name == "posix" and mode & 0o077:
        log.warning("key file %s can be read by other users of this machine; `chmod 600` it", path)
    lines = (line.strip() for line in content.decode("utf-8", "replace").splitlines())
    text = next((line for line in lines if line and not line.startswith("#")), "")
    try:
        return MasterKey.from_recovery_text(text)
    except VaultLocked as problem:
        raise VaultLocked(f"The key file {path} does not hold a complete key. {problem.message}") from None


def _write_key_file(path: Path, placement: _KeyPlacement) -> None:
    note = f"# Engram: the key of vault {placement.vault_id}. Anyone who has it can read the vault; without it nobody can."
    content = f"{note}\n{placement.master.recovery_text()}\n".encode()
    try:
        _make_folder(path.parent)
        if placement.overwrite:
            _replace(path.resolve(), content, placement.env.random(4).hex())
        else:
            _write_new(path, content)
        _sync_folder(path.parent)
    except FileExistsError:
        raise ConfigInvalid(
            f"The key file {path} exists already. It may be the only key of another vault, so it was not overwritten.",
            way_out="Set key_file to another path, or pass the key in that file with `key=`.",
        ) from None
    except OSError as error:
        raise _write_error(path, error) from error


def _write_error(path: Path, error: OSError) -> EngramError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"There is no disk space for the key file {path}.")
    return WriteFailed(
        f"The key file {path} could not be written ({type(error).__name__}).",
        way_out="Make its folder writable, or set key_file to another path.",
    )


def _write_new(path: Path, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o600)
    with contextlib.ExitStack() as on_failure:
        on_failure.callback(path.unlink, missing_ok=True)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        on_failure.pop_all()


def _replace(path: Path, content: bytes, suffix: str) -> None:
    temporary = path.with_name(f"{path.name}.{suffix}.new")
    _write_new(temporary, content)
    os.replace(temporary, path)
    _sync_folder(path.parent)


def _remove_key_file(path: Path) -> bool:
    """Overwrite the file, then remove it. On flash storage and copy-on-write file systems the old block may survive."""
    real = path.resolve()
    try:
        with open(real, "r+b") as file:
            file.write(bytes(os.fstat(file.fileno()).st_size))
            file.flush()
            os.fsync(file.fileno())
        real.unlink()
        path.unlink(missing_ok=True)  # the link, if it was one
        _sync_folder(real.parent)
    except OSError as error:
        raise WriteFailed(f"The key file {path} could not be removed ({type(error).__name__}).") from error
    return True


def _make_folder(folder: Path) -> None:
    """Make the folder and its missing parents, closed to other users, and sync them to disk."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return  # Windows cannot open a folder to sync it
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems do not support the call
            raise
    finally:
        os.close(descriptor)
