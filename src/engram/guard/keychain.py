"""The operating system's keychain, through `keyring`.

Comes in: the id of a vault and its master key. Goes out: the key, or word that it was stored and read back. Only keychains
that the system itself guards are used: what other packages register with `keyring` may be a plaintext file, or drop what it
is given. `keyring` is optional and takes 0.2 s to probe, so it is imported at the first question and asked once a process.

It may not make keys, and no error of a keychain leaves this module with its own words, which may quote a secret.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable

from engram.errors import VaultLocked
from engram.guard.keys import MasterKey

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from keyring.backend import KeyringBackend

    Answer = TypeVar("Answer")

SERVICE = "engram"
_REAL = frozenset(
    {
        "keyring.backends.SecretService.Keyring",
        "keyring.backends.libsecret.Keyring",
        "keyring.backends.kwallet.DBusKeyring",
        "keyring.backends.macOS.Keyring",
        "keyring.backends.Windows.WinVaultKeyring",
    }
)
_CHAIN = "keyring.backends.chainer.ChainerBackend"

# What backends let through beside keyring's own errors. Looked up by name: each exists only where its backend does.
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
    """Whether a keychain that may be trusted is there. It may still be locked: only `write` and `read` find out."""
    return _trusted(backend) is not None


def read(vault_id: str, *, backend: KeyringBackend | None = None) -> MasterKey | None:
    """The key of this vault; None if the keychain answers but has none. VaultLocked if it does not answer."""
    ring = _trusted(backend)
    if ring is None:
        raise VaultLocked("No OS keychain that Engram trusts answers on this machine.", way_out=_WAY_OUT)
    text = _call(ring.get_password, SERVICE, vault_id)
    if not text:
        return None
    try:
        return MasterKey.from_recovery_text(text)
    except VaultLocked:
        raise VaultLocked(f"What the OS keychain holds for vault {vault_id} is not a key.") from None


def write(vault_id: str, master: MasterKey, *, backend: KeyringBackend | None = None) -> bool:
    """Store the key and read it back. False if it is not there afterwards, whatever the reason."""
    import hmac  # late: whoever only reads needs none of it

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
    """What the owner keeps under this name of ours (`keyring set engram NAME`); empty if nothing, or nothing answers."""
    ring = _trusted(backend)
    if ring is None:
        return ""
    try:
        return (_call(ring.get_password, SERVICE, name) or "").strip()
    except VaultLocked:
        return ""


def delete(vault_id: str, *, backend: KeyringBackend | None = None) -> bool:
    """Take the key of this vault out. True if the keychain has none afterwards."""
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
    return _detected() if backend is None else _real(backend)


@functools.cache
def _detected() -> KeyringBackend | None:
    """The keychain `keyring` chose on this machine, or the first real one in its chain."""
    try:
        import keyring  # optional, and slow to probe

        return _real(keyring.get_keyring())
    # A PYTHON_KEYRING_BACKEND or keyringrc.cfg that names nothing usable fails in as many ways as an import can.
    except _foreign_errors(ImportError, AttributeError, TypeError):
        return None


def _real(backend: KeyringBackend) -> KeyringBackend | None:
    names = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(backend).__mro__}
    if names & _REAL:
        return backend
    if _CHAIN not in names:
        return None
    # The chain itself would write to its first member that does not object, a plaintext file among them.
    members = (_real(each) for each in getattr(backend, "backends", ()))
    return next((each for each in members if each is not None), None)


def _call(ask: Callable[..., Answer], *words: str) -> Answer:
    try:
        return ask(*words)
    except _foreign_errors() as error:
        problem = type(error).__name__
    # Raised out here, so that the foreign error is not chained to ours: a decoding error, for one, carries the secret.
    raise VaultLocked(f"The OS keychain is locked or did not answer ({problem}).", way_out=_WAY_OUT)


def _foreign_errors(*more: type[BaseException]) -> tuple[type[BaseException], ...]:
    loaded = ((sys.modules.get(module), name) for module, name in _BACKEND_ERRORS)
    found = (getattr(module, name, None) for module, name in loaded if module is not None)
    return (OSError, RuntimeError, ValueError, EOFError, *more, *(kind for kind in found if isinstance(kind, type)))
