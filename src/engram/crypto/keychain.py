"""The operating system's keychain, through `keyring`.

Input: the id of a vault and its master key. Output: the key, or confirmation that it was stored and read back. Only keychains
that the operating system protects are used: backends that other packages register with `keyring` may write a plaintext file
or discard what they are given. `keyring` is optional and takes 0.2 s to probe, so it is imported on first use and probed once
per process.

This module creates no keys, and never passes on the text of a keychain's error, which may quote a secret.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable

from engram.crypto.keys import MasterKey
from engram.errors import VaultLocked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from keyring.backend import KeyringBackend

    Answer = TypeVar("Answer")

SERVICE = "engram"
_TRUSTED = frozenset(
    {
        "keyring.backends.SecretService.Keyring",
        "keyring.backends.libsecret.Keyring",
        "keyring.backends.kwallet.DBusKeyring",
        "keyring.backends.macOS.Keyring",
        "keyring.backends.Windows.WinVaultKeyring",
    }
)
_CHAIN = "keyring.backends.chainer.ChainerBackend"

# Errors that backends raise besides keyring's own. Looked up by name, because each exists only where its backend does.
_BACKEND_ERRORS = (
    ("keyring.errors", "KeyringError"),
    ("configparser", "Error"),
    ("secretstorage.exceptions", "SecretStorageException"),
    ("jeepney.wrappers", "DBusErrorResponse"),
    ("dbus.exceptions", "DBusException"),
    ("gi._error", "GError"),
    ("pywintypes", "error"),
    ("win32ctypes.pywin32.pywintypes", "error"),
)
_WAY_OUT = "Unlock the keychain of this desktop session and try again, or `engram key import` the recovery key."


def available(*, backend: KeyringBackend | None = None) -> bool:
    """Return True if there is a trusted keychain. It may still be locked: only `write` and `read` find out."""
    return _trusted(backend) is not None


def read(vault_id: str, *, backend: KeyringBackend | None = None) -> MasterKey | None:
    """Return the key of this vault, or None if the keychain has none. Raise VaultLocked if the keychain does not answer."""
    ring = _trusted(backend)
    if ring is None:
        raise VaultLocked("There is no OS keychain on this machine that Engram trusts.", way_out=_WAY_OUT)
    text = _call(ring.get_password, SERVICE, vault_id)
    if not text:
        return None
    try:
        return MasterKey.from_recovery_text(text)
    except VaultLocked:
        raise VaultLocked(f"The entry of the OS keychain for vault {vault_id} is not a valid key.") from None


def write(vault_id: str, master: MasterKey, *, backend: KeyringBackend | None = None) -> bool:
    """Store the key and read it back. Return False if it cannot be read back, whatever the reason."""
    import hmac  # late: reading a key does not need it

    ring = _trusted(backend)
    if ring is None:
        return False
    text = master.recovery_text()
    try:
        _call(ring.set_password, SERVICE, vault_id, text)
        stored = _call(ring.get_password, SERVICE, vault_id)
    except VaultLocked:
        return False
    return stored is not None and hmac.compare_digest(stored.encode(), text.encode())


def password(name: str, *, backend: KeyringBackend | None = None) -> str:
    """Return the password stored by `keyring set engram NAME`, or "" if there is none or no keychain answers."""
    ring = _trusted(backend)
    if ring is None:
        return ""
    try:
        return (_call(ring.get_password, SERVICE, name) or "").strip()
    except VaultLocked:
        return ""


def delete(vault_id: str, *, backend: KeyringBackend | None = None) -> bool:
    """Delete the key of this vault. Return True if the keychain holds none afterwards."""
    ring = _trusted(backend)
    if ring is None:
        return False
    try:
        if _call(ring.get_password, SERVICE, vault_id) is not None:
            _call(ring.delete_password, SERVICE, vault_id)
        return _call(ring.get_password, SERVICE, vault_id) is None
    except VaultLocked:
        return False


def _trusted(backend: KeyringBackend | None) -> KeyringBackend | None:
    return _detected() if backend is None else _system_keychain(backend)


@functools.cache
def _detected() -> KeyringBackend | None:
    """Return the keychain that `keyring` chose on this machine, or the first trusted member of its chain."""
    try:
        import keyring  # late: optional, and slow to probe

        return _system_keychain(keyring.get_keyring())
    # A PYTHON_KEYRING_BACKEND or keyringrc.cfg that names no usable backend fails in as many ways as an import can.
    except _foreign_errors(ImportError, AttributeError, TypeError):
        return None


def _system_keychain(backend: KeyringBackend) -> KeyringBackend | None:
    """Return the backend if the operating system protects it; for a chain, its first such member."""
    names = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(backend).__mro__}
    if names & _TRUSTED:
        return backend
    if _CHAIN not in names:
        return None
    # The chain itself writes to its first member that accepts, which may be a plaintext file.
    members = (_system_keychain(member) for member in getattr(backend, "backends", ()))
    return next((member for member in members if member is not None), None)


def _call(function: Callable[..., Answer], *arguments: str) -> Answer:
    try:
        return function(*arguments)
    except _foreign_errors() as error:
        problem = type(error).__name__
    # Raised outside the handler, so that the foreign error is not chained: a decoding error, for one, carries the secret.
    raise VaultLocked(f"The OS keychain is locked or did not answer ({problem}).", way_out=_WAY_OUT)


def _foreign_errors(*more: type[BaseException]) -> tuple[type[BaseException], ...]:
    loaded = ((sys.modules.get(module), name) for module, name in _BACKEND_ERRORS)
    kinds = (getattr(module, name, None) for module, name in loaded if module is not None)
    return (OSError, RuntimeError, ValueError, EOFError, *more, *(kind for kind in kinds if isinstance(kind, type)))
