"""Where the master key of a vault is kept, and how it is found again.

Comes in: the vault's id or public header, settings, maybe a key or somebody to ask for a passphrase. Goes out: the master
key, with a header that says where it came from and a sentence for the user about what losing it means. A key is durable in
its place, and read back from there, before anything here returns.

It may not make a new key for a vault that has one, may not put a key into the vault folder, and may not remove a key that
is not the one it was told to remove. Keys passed in belong to it from then on: one that does not fit is wiped.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from engram import settings as settings_room
from engram.env import Env
from engram.errors import ConfigInvalid, DiskFull, EngramError, VaultDamaged, VaultLocked, WriteFailed
from engram.frozen import frozen
from engram.guard import keychain
from engram.guard.keys import SALT_BYTES, Kdf, MasterKey, unwrap, wrap
from engram.log import Log
from engram.settings import Settings

log = Log("engram.guard")

PassphrasePrompt = Callable[[], str | None]

SOURCES = ("keychain", "file", "passphrase", "given")
_VAULT_ID = 64  # characters: it becomes a file name
_FINGERPRINT = 16
_KDF_PREFIX = "kdf_"
_ARGON2_LANES = 4  # RFC 9106, section 4
_KEY_FILE_LIMIT = 4096


@frozen
class KeyHeader:
    """What a vault says in public about its key: where it is, how to recognise it. There is no secret in it."""

    vault_id: str
    source: str
    fingerprint: str
    kdf: Kdf | None = None
    wrapped: bytes | None = None


@frozen
class StoredKey:
    """A key in its place. `notice` tells the user where that is and what losing it means."""

    master: MasterKey
    header: KeyHeader
    notice: str


@frozen
class _KeyPlacement:
    """A key on its way to a place."""

    vault_id: str
    master: MasterKey
    settings: Settings
    env: Env
    vault: Path
    passphrase: PassphrasePrompt
    overwrite: bool = False

    def done(self, source: str, notice: str, *, kdf: Kdf | None = None, wrapped: bytes | None = None) -> StoredKey:
        header = KeyHeader(self.vault_id, source, self.master.fingerprint, kdf, wrapped)
        return StoredKey(self.master, header, notice)


def to_table(header: KeyHeader) -> dict[str, str | int]:
    """The header as keys and values for `vault.toml`."""
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
    """The header from `vault.toml`, which anybody may have written: what is not sound is VaultDamaged."""
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
        raise VaultDamaged("The vault header speaks of a passphrase, but parts of what belongs to it are missing.")
    return header


def _kdf_from(table: Mapping[str, object]) -> Kdf:
    numbers = {name.removeprefix(_KDF_PREFIX): value for name, value in table.items() if name.startswith(_KDF_PREFIX)}
    numbers.pop("salt", None)
    whole = {name: value for name, value in numbers.items() if isinstance(value, int)}
    if whole.keys() != numbers.keys():
        raise VaultDamaged("The vault header has a KDF parameter that is no whole number.")
    return Kdf(_text(table, "kdf", str.isidentifier), bytes.fromhex(_text(table, "kdf_salt", is_hex)), whole)


# Not by patterns, which a hook would have to compile first.


def is_hex(text: str) -> bool:
    return text != "" and len(text) % 2 == 0 and not text.strip("0123456789abcdef")


def _is_fingerprint(text: str) -> bool:
    return is_hex(text) and len(text) == _FINGERPRINT


def _is_vault_id(text: str) -> bool:
    return text.isascii() and text[:1].isalnum() and len(text) <= _VAULT_ID and text.translate(_JOINTS).isalnum()


_JOINTS = str.maketrans("", "", "._-")


def _text(table: Mapping[str, object], name: str, fits: Callable[[str], bool]) -> str:
    value = table.get(name)
    if not isinstance(value, str) or not fits(value):
        raise VaultDamaged(f"The vault header has no sound {name}.")
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
    """A key for a new vault, put where the settings say; `auto` takes the safest place that works.

    A key passed in is kept by whoever passed it. `overwrite` lets a key file that is in the way be replaced.
    """
    if not _is_vault_id(vault_id):
        raise ValueError("a vault id is made of letters, digits, dots, dashes and underscores")
    with contextlib.ExitStack() as on_failure:
        master = key or _already_there(settings) or MasterKey.generate(env.random)
        on_failure.callback(master.wipe)
        errand = _KeyPlacement(vault_id, master, settings, env, vault, lambda: _environment_first(ask), overwrite)
        created = _keep(errand, settings.key_source if key is None else "given")
        on_failure.pop_all()
    return created


def _already_there(settings: Settings) -> MasterKey | None:
    """The key in the file that the settings name, if one is: put there by hand, or by a first try that was cut short."""
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
    """The same key in another place, or under another passphrase. The old place keeps it until `forget_place`.

    `ask` goes before the environment here, which may still hold the passphrase that is being changed.
    """
    if not _fits(master, header):
        raise VaultLocked(f"This is not the key of the vault at {vault}, so it was not put anywhere.")
    passphrase = ask if ask is not None else settings_room.passphrase
    return _keep(_KeyPlacement(header.vault_id, master, settings, env, vault, passphrase), source)


def plan_header(
    header: KeyHeader, master: MasterKey, settings: Settings, env: Env, *, vault: Path, ask: PassphrasePrompt | None = None
) -> KeyHeader:
    """What the header will say of another key in the same sort of place. Nothing is put there yet."""
    if header.source != "passphrase":
        return KeyHeader(header.vault_id, header.source, master.fingerprint)
    errand = _KeyPlacement(header.vault_id, master, settings, env, vault, ask if ask is not None else settings_room.passphrase)
    return _under_passphrase(errand).header


def store_planned_key(header: KeyHeader, master: MasterKey, settings: Settings, env: Env, *, vault: Path) -> str:
    """Put a key that was `planned` where the header says, over the one that it replaces; the sentence about it."""
    errand = _KeyPlacement(header.vault_id, master, settings, env, vault, lambda: None, overwrite=True)
    if header.source == "passphrase":
        return "The key of this vault is in its header, under your passphrase; an older recovery key no longer opens it."
    return _keep(errand, header.source).notice


def remove_key(header: KeyHeader, settings: Settings, *, kept: KeyHeader | None = None) -> bool:
    """Remove the key from where `header` says it is; True if it was there and is gone.

    Pass the settings that held when it was put there, and as `kept` the header now in force: if both name the same kind of
    place, it is left alone. So is a place that holds some other key. Passphrases and given keys have no place to clear.
    """
    if kept is not None and kept.source == header.source:
        return False
    if header.source == "keychain":
        found = keychain.read(header.vault_id) if keychain.available() else None
        return found is not None and _fits_and_wipe(found, header) and keychain.delete(header.vault_id)
    if header.source == "file":
        path = _key_path(header.vault_id, settings)
        return _holds(path, header) and _remove_key_file(path)
    return False


def unlock(
    header: KeyHeader, settings: Settings, *, vault: Path, key: MasterKey | None = None, ask: PassphrasePrompt | None = None
) -> MasterKey:
    """The key of this vault, from `key` or from where the header says it is. Never a new one."""
    master = key if key is not None else _fetch(header, settings, vault, ask)
    if not _fits(master, header):
        master.wipe()
        whose = "given" if key is not None else f"found ({header.source})"
        raise VaultLocked(f"The key that was {whose} is not the key of the vault at {vault}.")
    return master


def _fetch(header: KeyHeader, settings: Settings, vault: Path, ask: PassphrasePrompt | None) -> MasterKey:
    match header.source:
        case "keychain":
            return _from_keychain(header, vault)
        case "file":
            path = _key_path(header.vault_id, settings)
            if _is_inside(path, vault):
                log.warning("key file %s lies inside the vault it opens: who copies the vault has its key", path)
            return _read_key_file(path)
        case "passphrase":
            return _from_passphrase(header, vault, ask)
    raise VaultLocked(
        f"The key of the vault at {vault} is kept by whoever made it, and was not given.",
        way_out="Open it with `key=`, or give Engram a place for it: `engram key import`.",
    )


def _from_keychain(header: KeyHeader, vault: Path) -> MasterKey:
    found = keychain.read(header.vault_id)
    if found is None:
        raise VaultLocked(f"The OS keychain has no key for the vault at {vault} (account {header.vault_id}).")
    return found


def _from_passphrase(header: KeyHeader, vault: Path, ask: PassphrasePrompt | None) -> MasterKey:
    if header.kdf is None or header.wrapped is None:
        raise VaultDamaged("The vault header names a passphrase, but has no wrapped key.")
    passphrase = _environment_first(ask)
    if passphrase is None:
        raise _no_passphrase(f"The vault at {vault} opens with a passphrase, and none was given.")
    return unwrap(header.wrapped, passphrase, header.kdf, vault_id=header.vault_id)


def _environment_first(ask: PassphrasePrompt | None) -> str | None:
    return settings_room.passphrase() or (ask() if ask is not None else None)


def _no_passphrase(what: str) -> VaultLocked:
    return VaultLocked(what, way_out="Set ENGRAM_PASSPHRASE, or run this in a terminal that can ask for it.")


def _fits(master: MasterKey, header: KeyHeader) -> bool:
    return master.fingerprint == header.fingerprint  # both may be published, so it does not matter how long this takes


def _fits_and_wipe(master: MasterKey, header: KeyHeader) -> bool:
    with master:
        return _fits(master, header)


def _keep(errand: _KeyPlacement, source: str) -> StoredKey:
    match source:
        case "keychain":
            return _into_keychain(errand)
        case "file":
            return _into_file(errand)
        case "passphrase":
            return _under_passphrase(errand)
        case "given":
            return errand.done("given", "You keep the key of this vault. Engram has no copy, and without it nobody can read it.")
        case "auto":
            return _best_place(errand)
    raise ConfigInvalid(f"There is no key source {source!r}.", way_out=f"Take one of auto, {', '.join(SOURCES)}.")


def _best_place(errand: _KeyPlacement) -> StoredKey:
    if settings_room.passphrase():
        return _under_passphrase(errand)
    if keychain.available():
        with contextlib.suppress(VaultLocked):
            return _into_keychain(errand)
    return _into_file(errand)


def _into_keychain(errand: _KeyPlacement) -> StoredKey:
    if not keychain.write(errand.vault_id, errand.master):
        raise VaultLocked(
            "The key could not be stored in an OS keychain: none that Engram trusts is there, or it is locked.",
            way_out="Install `engram-local[keychain]` and unlock the keychain, or set key_source to file or passphrase.",
        )
    return errand.done(
        "keychain",
        f"The key of this vault is in the keychain of this computer (service {keychain.SERVICE}, account {errand.vault_id}). "
        "If the keychain is lost, nobody can read the vault: write down the recovery key (`engram key export`) and keep it "
        "elsewhere.",
    )


def _under_passphrase(errand: _KeyPlacement) -> StoredKey:
    passphrase = errand.passphrase()
    if passphrase is None:
        raise _no_passphrase("The key of this vault is to be kept under a passphrase, and none was given.")
    kdf = _new_kdf(errand.settings, errand.env)
    wrapped = wrap(errand.master, passphrase, kdf, vault_id=errand.vault_id, random=errand.env.random)
    return errand.done(
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
        parameters = {"memory_kib": settings.argon2_memory_kib, "passes": settings.argon2_passes, "lanes": _ARGON2_LANES}
    try:
        return Kdf(settings.kdf, salt, parameters)
    except VaultDamaged:
        asked = ", ".join(f"{name} = {value}" for name, value in parameters.items())
        raise ConfigInvalid(f"Engram would not open a vault whose passphrase went through {settings.kdf} with {asked}.") from None


def _into_file(errand: _KeyPlacement) -> StoredKey:
    path = _key_path(errand.vault_id, errand.settings)
    if _is_inside(path, errand.vault):
        raise ConfigInvalid(
            f"The key file {path} would lie inside the vault it opens, so that who copies the vault has its key.",
            way_out="Set key_file to a place outside the vault.",
        )
    created = errand.done(
        "file",
        f"The key of this vault is in {path}. Who has that file can read the vault, and without it nobody can: "
        "keep a copy elsewhere.",
    )
    if not _holds(path, created.header):
        _write_key_file(path, errand)
        if not _holds(path, created.header):
            raise WriteFailed(f"The key file {path} does not read back as it was written.")
    return created


def _key_path(vault_id: str, settings: Settings) -> Path:
    named = settings.key_file
    return Path(os.path.abspath(os.path.expanduser(named))) if named else settings_room.key_folder() / f"{vault_id}.key"


def _is_inside(path: Path, folder: Path) -> bool:
    """By name once links are followed, or by identity: on some file systems one folder has several spellings."""
    real, home = path.resolve(), folder.resolve()
    return real.is_relative_to(home) or (home.exists() and any(up.exists() and up.samefile(home) for up in real.parents))


def _holds(path: Path, header: KeyHeader) -> bool:
    try:
        return _fits_and_wipe(_read_key_file(path), header)
    except VaultLocked:
        return False


def _read_key_file(path: Path) -> MasterKey:
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(_KEY_FILE_LIMIT)
    except FileNotFoundError:
        raise VaultLocked(f"The key file {path} is not there.") from None
    except OSError as error:
        raise VaultLocked(f"The key file {path} cannot be read ({type(error).__name__}).") from error
    if os.name == "posix" and mode & 0o077:
        log.warning("key file %s can be read by other users of this machine; `chmod 600` it", path)
    lines = (line.strip() for line in content.decode("utf-8", "replace").splitlines())
    text = next((line for line in lines if line and not line.startswith("#")), "")
    try:
        return MasterKey.from_recovery_text(text)
    except VaultLocked as problem:
        raise VaultLocked(f"The key file {path} does not hold a whole key. {problem.message}") from None


def _write_key_file(path: Path, errand: _KeyPlacement) -> None:
    note = f"# Engram: the key of vault {errand.vault_id}. Who has it can read the vault; without it nobody can."
    content = f"{note}\n{errand.master.recovery_text()}\n".encode()
    try:
        _make_folder(path.parent)
        if errand.overwrite:
            _replace(path.resolve(), content, errand.env.random(4).hex())
        else:
            _write_new(path, content)
        _sync_folder(path.parent)
    except FileExistsError:
        raise ConfigInvalid(
            f"The file {path} is in the way. It may be the only key of another vault, so it was left alone.",
            way_out="Set key_file to another place, or pass the key in that file with `key=`.",
        ) from None
    except OSError as error:
        raise _write_error(path, error) from error


def _write_error(path: Path, error: OSError) -> EngramError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"There is no room for the key file {path}.")
    return WriteFailed(
        f"The key file {path} could not be written ({type(error).__name__}).",
        way_out="Make its folder writable, or set key_file to another place.",
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


def _replace(path: Path, content: bytes, mark: str) -> None:
    beside = path.with_name(f"{path.name}.{mark}.new")
    _write_new(beside, content)
    os.replace(beside, path)
    _sync_folder(path.parent)


def _remove_key_file(path: Path) -> bool:
    """Overwrite, then remove. On flash storage and copy-on-write file systems the old block may outlive this."""
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
    """The folder and what is missing above it, closed to others and durable."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
        _sync_folder(each.parent)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return  # Windows cannot open a folder to sync it
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # network file systems that do not know the call
            raise
    finally:
        os.close(descriptor)
