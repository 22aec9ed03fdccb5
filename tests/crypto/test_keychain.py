"""Only system keychains are trusted, stored keys are read back, and errors are mapped without their text."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

from engram.crypto import keychain
from engram.crypto.keys import MasterKey
from engram.errors import VaultLocked

keyring = pytest.importorskip("keyring")

from keyring.backend import KeyringBackend  # noqa: E402
from keyring.backends import SecretService, chainer, fail, null  # noqa: E402
from keyring.errors import KeyringLocked, PasswordDeleteError  # noqa: E402

Use = Callable[[KeyringBackend], None]


class MemoryRing(SecretService.Keyring):
    """A keychain of the trusted kind whose entries live in this process instead of behind D-Bus."""

    priority = 5

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.entries: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.entries.pop((service, username), None) is None:
            raise PasswordDeleteError("not there")


class PlaintextRing(KeyringBackend):
    """Like the backend of `keyrings.alt`: stores faithfully, in a file that anybody can read."""

    priority = 9
    entries: ClassVar[dict[tuple[str, str], str]] = {}

    get_password = MemoryRing.get_password
    set_password = MemoryRing.set_password
    delete_password = MemoryRing.delete_password


class ForgetfulRing(MemoryRing):
    def set_password(self, service: str, username: str, password: str) -> None:
        pass


class BendingRing(MemoryRing):
    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password.lower()


class LockedRing(MemoryRing):
    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("Failed to unlock the collection!")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise KeyringLocked(f"could not store {password}")

    def delete_password(self, service: str, username: str) -> None:
        raise KeyringLocked("Failed to unlock the collection!")


class StubbornRing(MemoryRing):
    def delete_password(self, service: str, username: str) -> None:
        raise PasswordDeleteError("may not")


class Chain(chainer.ChainerBackend):
    def __init__(self, *backends: KeyringBackend) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.__dict__["backends"] = list(backends)

    backends: Any = ()


@pytest.fixture
def use() -> Iterator[Use]:
    """Make a backend the one that `keyring` chose on this machine."""
    before = keyring.core._keyring_backend

    def choose(backend: KeyringBackend) -> None:
        keyring.set_keyring(backend)
        keychain._detected.cache_clear()

    yield choose
    keyring.core._keyring_backend = before
    keychain._detected.cache_clear()


@pytest.fixture
def master() -> MasterKey:
    return MasterKey.generate(os.urandom)


def test_a_stored_key_is_read_back(use: Use, master: MasterKey) -> None:
    use(MemoryRing())
    assert keychain.available()
    assert keychain.write("vault", master)
    found = keychain.read("vault")
    assert found is not None
    assert found.fingerprint == master.fingerprint


def test_entries_are_stored_under_the_service_engram_and_the_vaults_id(use: Use, master: MasterKey) -> None:
    ring = MemoryRing()
    use(ring)
    keychain.write("vault", master)
    assert list(ring.entries) == [("engram", "vault")]


def test_a_vault_without_an_entry_has_no_key(use: Use, master: MasterKey) -> None:
    use(MemoryRing())
    keychain.write("other", master)
    assert keychain.read("vault") is None


def test_deleting_a_key_twice_is_not_an_error(use: Use, master: MasterKey) -> None:
    use(MemoryRing())
    keychain.write("vault", master)
    assert keychain.delete("vault")
    assert keychain.read("vault") is None
    assert keychain.delete("vault")


def test_a_key_that_cannot_be_deleted_is_reported(master: MasterKey) -> None:
    ring = StubbornRing()
    keychain.write("vault", master, backend=ring)
    assert not keychain.delete("vault", backend=ring)
    assert keychain.read("vault", backend=ring) is not None


@pytest.mark.parametrize("backend", [PlaintextRing, null.Keyring, fail.Keyring], ids=["plaintext", "null", "fail"])
def test_a_backend_that_is_not_a_system_keychain_is_refused_and_receives_no_key(
    backend: type, use: Use, master: MasterKey
) -> None:
    PlaintextRing.entries.clear()
    for given in (backend(), Chain(backend())):
        use(given)
        assert not keychain.available()
        assert not keychain.write("vault", master)
        assert not keychain.delete("vault")
        with pytest.raises(VaultLocked) as refusal:
            keychain.read("vault")
        assert "engram key import" in refusal.value.way_out
        assert not keychain.available(backend=given)
        assert not keychain.write("vault", master, backend=given)
    assert PlaintextRing.entries == {}


def test_only_the_trusted_member_of_a_chain_is_used(use: Use, master: MasterKey) -> None:
    PlaintextRing.entries.clear()
    real = MemoryRing()
    use(Chain(*(kind() for kind in (PlaintextRing, null.Keyring)), real))
    assert keychain.available()
    assert keychain.write("vault", master)
    assert list(real.entries) == [("engram", "vault")]
    assert PlaintextRing.entries == {}


@pytest.mark.parametrize(
    "name",
    [
        "keyring.backends.SecretService.Keyring",
        "keyring.backends.libsecret.Keyring",
        "keyring.backends.kwallet.DBusKeyring",
        "keyring.backends.kwallet.DBusKeyringKWallet4",
        "keyring.backends.macOS.Keyring",
        "keyring.backends.Windows.WinVaultKeyring",
    ],
)
@pytest.mark.filterwarnings("ignore::ImportWarning")  # of the GObject bindings, which libsecret loads
def test_every_system_keychain_of_the_installed_keyring_is_trusted(name: str) -> None:
    assert keychain.available(backend=keyring.core._load_keyring_class(name)())


@pytest.mark.parametrize("ring", [ForgetfulRing, BendingRing, LockedRing])
def test_a_key_that_does_not_read_back_counts_as_not_stored(ring: type, master: MasterKey) -> None:
    assert not keychain.write("vault", master, backend=ring())


def test_a_locked_keychain_raises_vault_locked_with_a_way_out() -> None:
    with pytest.raises(VaultLocked, match="KeyringLocked") as refusal:
        keychain.read("vault", backend=LockedRing())
    assert "Unlock" in refusal.value.way_out
    assert not keychain.delete("vault", backend=LockedRing())


@pytest.mark.parametrize(
    "foreign",
    [
        OSError("the bus is gone"),
        RuntimeError("no prompt"),
        UnicodeDecodeError("utf-8", b"engram1-SECRETWORDS", 0, 1, "bad"),
        KeyringLocked("could not store SECRETWORDS"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_of_a_backend_are_mapped_without_quoting_them(foreign: Exception) -> None:
    class Failing(MemoryRing):
        def get_password(self, service: str, username: str) -> str | None:
            raise foreign

    with pytest.raises(VaultLocked) as refusal:
        keychain.read("vault", backend=Failing())
    assert refusal.value.__context__ is None
    assert refusal.value.__cause__ is None
    assert "SECRETWORDS" not in "".join(traceback.format_exception(refusal.value))


def test_errors_that_keyring_does_not_wrap_are_mapped_too() -> None:
    exceptions = pytest.importorskip("secretstorage.exceptions")

    class Failing(MemoryRing):
        def get_password(self, service: str, username: str) -> str | None:
            raise exceptions.PromptDismissedException("SECRETWORDS")

    with pytest.raises(VaultLocked, match="PromptDismissedException"):
        keychain.read("vault", backend=Failing())


def test_an_entry_that_is_not_a_key_is_refused_without_quoting_it() -> None:
    ring = MemoryRing()
    ring.entries["engram", "vault"] = "engram1-SOMETHING-ELSE"
    with pytest.raises(VaultLocked, match="not a valid key") as refusal:
        keychain.read("vault", backend=ring)
    assert "SOMETHING" not in "".join(traceback.format_exception(refusal.value))


def test_without_the_keyring_package_there_is_no_keychain(monkeypatch: pytest.MonkeyPatch, master: MasterKey) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    keychain._detected.cache_clear()
    assert not keychain.available()
    assert not keychain.write("vault", master)
    keychain._detected.cache_clear()


@pytest.mark.parametrize(
    "named", ["no.such.module.Keyring", "keyring.backends.null.Missing", "nonsense", "keyring.backends.macOS.Keyring"]
)
def test_a_keyring_configured_to_an_unusable_backend_counts_as_no_keychain(named: str) -> None:
    if sys.platform == "darwin" and "macOS" in named:
        pytest.skip("usable here")
    code = "from engram.crypto import keychain; print(keychain.available())"
    environ = {**os.environ, "PYTHON_KEYRING_BACKEND": named}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ, timeout=120, check=True)
    assert done.stdout.strip() == "False"


def test_the_keychain_is_probed_once_per_process(use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    use(MemoryRing())
    probes: list[int] = []
    original = keyring.get_keyring

    def counted() -> Any:
        probes.append(1)
        return original()

    monkeypatch.setattr(keyring, "get_keyring", counted)
    assert all(keychain.available() for _ in range(3))
    assert len(probes) == 1


def test_keyring_is_imported_only_on_first_use() -> None:
    code = "import sys, engram.crypto.key_sources; print('keyring' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "False"
