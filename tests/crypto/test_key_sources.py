"""Keys are stored durably, found again, moved and removed, and never lost, replaced or shown."""

from __future__ import annotations

import dataclasses
import itertools
import logging
import os
import stat
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.crypto import keychain
from engram.crypto.key_sources import KeyHeader, StoredKey, create, from_table, move_key, remove_key, to_table, unlock
from engram.crypto.keys import Kdf, MasterKey, Purpose
from engram.env import Env
from engram.errors import ConfigInvalid, EngramError, VaultDamaged, VaultLocked, WriteFailed
from engram.settings import Settings, key_folder

posix_only = pytest.mark.skipif(os.name != "posix", reason="file modes and links of POSIX")

VAULT_ID = "01JVAULT"
SETTINGS = Settings(argon2_memory_kib=8192, scrypt_log_n=14)
FILE = dataclasses.replace(SETTINGS, key_source="file")
PASSPHRASE = dataclasses.replace(SETTINGS, key_source="passphrase")
KEYCHAIN = dataclasses.replace(SETTINGS, key_source="keychain")


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return tmp_path / "vault"


@pytest.fixture
def ring() -> Iterator[Any]:
    """An OS keychain of the trusted kind, whose entries live in this process."""
    keyring = pytest.importorskip("keyring")
    from keyring.backends import SecretService
    from keyring.errors import KeyringLocked

    class MemoryRing(SecretService.Keyring):
        def __init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call]
            self.entries: dict[str, str] = {}
            self.locked = False

        def _open(self) -> dict[str, str]:
            if self.locked:
                raise KeyringLocked("locked")
            return self.entries

        def get_password(self, service: str, username: str) -> str | None:
            return self._open().get(username)

        def set_password(self, service: str, username: str, password: str) -> None:
            self._open()[username] = password

        def delete_password(self, service: str, username: str) -> None:
            del self._open()[username]

    before = keyring.core._keyring_backend
    made = MemoryRing()
    keyring.set_keyring(made)
    keychain._detected.cache_clear()
    yield made
    keyring.core._keyring_backend = before
    keychain._detected.cache_clear()


@pytest.fixture
def no_ring() -> Iterator[None]:
    keychain._detected.cache_clear()
    yield
    keychain._detected.cache_clear()


def said(error: BaseException | None) -> str:
    """The text of an error and of the errors chained to it."""
    return "" if error is None else f"{error!r} {error} {said(error.__cause__)} {said(error.__context__)}"


def shows(text: str, master: MasterKey) -> bool:
    """Return True if the text contains any eight consecutive characters of the recovery key."""
    groups = master.recovery_text().split("-")[1:]
    return any(f"{one}-{two}" in text for one, two in itertools.pairwise(groups))


def key_file(created: StoredKey) -> Path:
    return key_folder() / f"{created.header.vault_id}.key"


def same(one: MasterKey, other: MasterKey) -> bool:
    return one.subkey(Purpose.DATABASE) == other.subkey(Purpose.DATABASE)


# ── the header ──


def kdfs() -> st.SearchStrategy[Kdf]:
    salts = st.binary(min_size=16, max_size=16)
    argon2id = st.fixed_dictionaries(
        {"memory_kib": st.integers(8192, 4 << 20), "passes": st.integers(1, 64), "lanes": st.integers(1, 16)}
    )
    scrypt = st.fixed_dictionaries({"log_n": st.integers(14, 22), "lanes": st.integers(1, 16)})
    return st.builds(Kdf, st.just("argon2id"), salts, argon2id) | st.builds(Kdf, st.just("scrypt"), salts, scrypt)


def headers() -> st.SearchStrategy[KeyHeader]:
    ids = st.from_regex(r"[0-9A-Za-z][0-9A-Za-z._-]{0,63}", fullmatch=True)
    prints = st.from_regex(r"[0-9a-f]{16}", fullmatch=True)
    placed = st.builds(KeyHeader, ids, st.sampled_from(["keychain", "file", "given"]), prints)
    wrapped = st.builds(KeyHeader, ids, st.just("passphrase"), prints, kdfs(), st.binary(min_size=60, max_size=60))
    return placed | wrapped


def as_toml(table: dict[str, str | int]) -> str:
    return "\n".join(f"{name} = {value}" if isinstance(value, int) else f'{name} = "{value}"' for name, value in table.items())


@given(headers())
def test_a_header_survives_its_toml_form(header: KeyHeader) -> None:
    assert from_table(tomllib.loads(as_toml(to_table(header)))) == header


@given(headers(), st.data())
def test_a_mutated_header_is_either_valid_or_vault_damaged(header: KeyHeader, data: st.DataObject) -> None:
    table: dict[str, object] = dict(to_table(header))
    name = data.draw(st.sampled_from(sorted(table)))
    anything = st.none() | st.text() | st.integers() | st.floats() | st.booleans() | st.lists(st.integers())
    if data.draw(st.booleans()):
        del table[name]
    else:
        table[name] = data.draw(anything)
    try:
        read = from_table(table)
    except VaultDamaged:
        return
    assert from_table(to_table(read)) == read


header_names = st.sampled_from(["vault_id", "key_source", "key_fingerprint", "kdf", "kdf_salt", "kdf_n"])


@given(st.dictionaries(header_names | st.text(), st.text()))
def test_a_table_that_is_not_a_header_raises_vault_damaged(table: dict[str, str]) -> None:
    with pytest.raises(VaultDamaged):
        from_table(table)


@pytest.mark.parametrize(
    "change",
    [
        {"vault_id": "../../etc/passwd"},
        {"vault_id": ".."},
        {"vault_id": "a/b"},
        {"vault_id": ""},
        {"key_source": "somewhere"},
        {"key_source": "passphrase"},
        {"key_fingerprint": "0123456789ABCDEF"},
        {"key_fingerprint": "01234567"},
        {"wrapped_key": "00" * 60},
        {"wrapped_key": "zz"},
    ],
    ids=str,
)
def test_a_header_with_a_dangerous_vault_id_or_source_raises_vault_damaged(change: dict[str, str]) -> None:
    with pytest.raises(VaultDamaged) as refusal:
        from_table({**to_table(KeyHeader(VAULT_ID, "file", "0123456789abcdef")), **change})
    assert refusal.value.code == "E1002"


@pytest.mark.parametrize(
    "change", [{"kdf_memory_kib": 1 << 40}, {"kdf_passes": 0}, {"kdf_passes": True}, {"kdf_surprise": 1}], ids=str
)
def test_a_header_with_absurd_kdf_parameters_raises_vault_damaged(change: dict[str, int], env: Env, vault: Path) -> None:
    created = create(VAULT_ID, PASSPHRASE, env, vault=vault, ask=lambda: "words")
    with pytest.raises(VaultDamaged):
        from_table({**to_table(created.header), **change})


def test_unknown_names_in_the_header_table_are_ignored() -> None:
    header = KeyHeader(VAULT_ID, "file", "0123456789abcdef")
    assert from_table({**to_table(header), "format": 1, "cipher": "aegis"}) == header


# ── a key file ──


def test_a_key_file_opens_the_vault_again(env: Env, vault: Path) -> None:
    created = create(VAULT_ID, FILE, env, vault=vault)
    assert created.header.source == "file"
    assert same(unlock(created.header, FILE, vault=vault), created.master)


@posix_only
def test_a_key_file_is_for_its_owner_only_in_a_folder_for_its_owner_only(env: Env, vault: Path) -> None:
    before = os.umask(0)
    try:
        path = key_file(create(VAULT_ID, FILE, env, vault=vault))
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_key_file_holds_a_comment_and_the_key(env: Env, vault: Path) -> None:
    created = create(VAULT_ID, FILE, env, vault=vault)
    comment, key = key_file(created).read_text().splitlines()
    assert comment.startswith("#")
    assert VAULT_ID in comment
    assert key == created.master.recovery_text()


def test_a_key_file_and_its_folder_are_synced_before_create_returns(
    env: Env, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    original = os.fsync

    def noted_sync(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)
        original(descriptor)

    monkeypatch.setattr(os, "fsync", noted_sync)
    path = key_file(create(VAULT_ID, FILE, env, vault=vault))
    assert path.stat().st_ino in synced
    if os.name == "posix":
        assert synced[-1] == path.parent.stat().st_ino
        assert path.parent.parent.stat().st_ino in synced


def test_the_notice_names_the_key_file_and_not_the_key(env: Env, vault: Path) -> None:
    created = create(VAULT_ID, FILE, env, vault=vault)
    assert str(key_file(created)) in created.notice
    assert created.master.recovery_text() not in created.notice + repr(created)


def test_a_key_file_named_in_the_settings_is_used(env: Env, vault: Path, tmp_path: Path) -> None:
    settings = dataclasses.replace(FILE, key_file=str(tmp_path / "stick" / "my.key"))
    created = create(VAULT_ID, settings, env, vault=vault)
    assert (tmp_path / "stick" / "my.key").exists()
    assert not key_file(created).exists()
    assert same(unlock(created.header, settings, vault=vault), created.master)


def test_a_tilde_in_the_key_file_is_the_home_folder(env: Env, vault: Path) -> None:
    create(VAULT_ID, dataclasses.replace(FILE, key_file="~/my.key"), env, vault=vault)
    assert Path("~/my.key").expanduser().exists()


@pytest.mark.parametrize("where", ["my.key", "deep/er/my.key", "../vault/my.key"])
def test_a_key_file_inside_the_vault_is_refused(where: str, env: Env, vault: Path) -> None:
    with pytest.raises(ConfigInvalid, match="inside"):
        create(VAULT_ID, dataclasses.replace(FILE, key_file=str(vault / where)), env, vault=vault)
    assert not vault.exists()


@posix_only
def test_a_key_file_that_a_link_leads_into_the_vault_is_refused(env: Env, vault: Path, tmp_path: Path) -> None:
    vault.mkdir()
    (tmp_path / "elsewhere").symlink_to(vault, target_is_directory=True)
    for key, folder in ((tmp_path / "elsewhere" / "my.key", vault), (vault / "my.key", tmp_path / "elsewhere")):
        with pytest.raises(ConfigInvalid, match="inside"):
            create(VAULT_ID, dataclasses.replace(FILE, key_file=str(key)), env, vault=folder)
    assert list(vault.iterdir()) == []


def test_the_default_key_folder_is_refused_if_it_lies_in_the_vault(
    env: Env, monkeypatch: pytest.MonkeyPatch, vault: Path
) -> None:
    monkeypatch.setenv("ENGRAM_CONFIG", str(vault / "config.toml"))
    with pytest.raises(ConfigInvalid, match="inside"):
        create(VAULT_ID, FILE, env, vault=vault)


def test_an_existing_file_is_not_overwritten_by_a_new_key(env: Env, vault: Path) -> None:
    first = create(VAULT_ID, FILE, env, vault=vault)
    before = key_file(first).read_bytes()
    with pytest.raises(ConfigInvalid, match="not overwritten"):
        create(VAULT_ID, FILE, env, vault=vault)
    assert key_file(first).read_bytes() == before


@posix_only
def test_a_link_planted_where_the_key_file_goes_is_not_followed(env: Env, vault: Path, tmp_path: Path) -> None:
    key_folder().mkdir(parents=True)
    (key_folder() / f"{VAULT_ID}.key").symlink_to(tmp_path / "stolen")
    with pytest.raises(ConfigInvalid, match="not overwritten"):
        create(VAULT_ID, FILE, env, vault=vault)
    assert not (tmp_path / "stolen").exists()


def test_a_key_file_is_overwritten_only_on_request(env: Env, vault: Path) -> None:
    create(VAULT_ID, FILE, env, vault=vault)
    second = create(VAULT_ID, FILE, env, vault=vault, overwrite=True)
    assert same(unlock(second.header, FILE, vault=vault), second.master)
    assert [path.name for path in key_folder().iterdir()] == [f"{VAULT_ID}.key"]


def test_a_write_that_fails_leaves_no_half_key_and_no_key_in_memory(
    env: Env, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_sync(_: int) -> None:
        raise OSError(5, "Input/output error")

    key_folder().mkdir(parents=True)
    monkeypatch.setattr(os, "fsync", no_sync)
    with pytest.raises(WriteFailed) as refusal:
        create(VAULT_ID, FILE, env, vault=vault)
    assert list(key_folder().iterdir()) == []
    made = next(frame.locals["master"] for frame in refusal.traceback if frame.name == "create")
    with pytest.raises(ValueError, match="wiped"):
        made.recovery_text()


@posix_only
def test_a_key_folder_that_cannot_be_made_raises_write_failed(env: Env, vault: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EngramError) as refusal:
        create(VAULT_ID, dataclasses.replace(FILE, key_file=str(tmp_path / "file" / "my.key")), env, vault=vault)
    assert "my.key" in refusal.value.message


def test_a_missing_key_file_raises_vault_locked_and_no_new_key_is_made(env: Env, vault: Path) -> None:
    created = create(VAULT_ID, FILE, env, vault=vault)
    key_file(created).unlink()
    with pytest.raises(VaultLocked) as refusal:
        unlock(created.header, FILE, vault=vault)
    assert str(key_file(created)) in refusal.value.message
    assert not key_file(created).exists()


@pytest.mark.parametrize("content", [b"", b"# only a comment\n", b"engram1-SPOILT-TEXT\n", b"\xff\xfe\x00SPOILT", b"x" * 9999])
def test_a_damaged_key_file_raises_vault_locked_without_quoting_it(content: bytes, env: Env, vault: Path) -> None:
    created = create(VAULT_ID, FILE, env, vault=vault)
    key_file(created).write_bytes(content)
    with pytest.raises(VaultLocked) as refusal:
        unlock(created.header, FILE, vault=vault)
    assert str(key_file(created)) in refusal.value.message
    assert "SPOILT" not in said(refusal.value)


def test_a_key_file_edited_by_hand_still_opens(env: Env, vault: Path) -> None:
    created = create(VAULT_ID, FILE, env, vault=vault)
    typed = created.master.recovery_text().lower().replace("-", " ")
    key_file(created).write_text(f"\n# copied from paper\r\n\r\n  {typed}  \r\n")
    assert same(unlock(created.header, FILE, vault=vault), created.master)


@posix_only
def test_a_key_file_behind_a_link_opens(env: Env, vault: Path, tmp_path: Path) -> None:
    created = create(VAULT_ID, FILE, env, vault=vault)
    key_file(created).rename(tmp_path / "moved.key")
    key_file(created).symlink_to(tmp_path / "moved.key")
    assert same(unlock(created.header, FILE, vault=vault), created.master)


@posix_only
def test_a_key_file_that_others_can_read_opens_with_a_warning_that_names_only_the_path(
    env: Env, vault: Path, caplog: pytest.LogCaptureFixture
) -> None:
    created = create(VAULT_ID, FILE, env, vault=vault)
    with caplog.at_level(logging.DEBUG, "engram"):
        unlock(created.header, FILE, vault=vault)
        assert caplog.records == []
        key_file(created).chmod(0o640)
        unlock(created.header, FILE, vault=vault)
    assert [(record.name, record.levelname) for record in caplog.records] == [("engram.crypto", "WARNING")]
    assert str(key_file(created)) in caplog.text
    assert not shows(caplog.text, created.master)


def test_a_key_file_that_was_moved_into_the_vault_opens_with_a_warning(
    env: Env, vault: Path, caplog: pytest.LogCaptureFixture
) -> None:
    created = create(VAULT_ID, FILE, env, vault=vault)
    vault.mkdir()
    key_file(created).rename(vault / "my.key")
    unlock(created.header, dataclasses.replace(FILE, key_file=str(vault / "my.key")), vault=vault)
    assert "inside the vault" in caplog.text


@pytest.mark.parametrize("vault_id", ["", "..", "../up", "a/b", "a\\b", "x" * 65])
def test_a_vault_id_that_is_not_a_valid_file_name_is_refused(vault_id: str, env: Env, vault: Path) -> None:
    with pytest.raises(ValueError, match="vault id"):
        create(vault_id, FILE, env, vault=vault)


# ── a passphrase ──


@pytest.mark.parametrize("kdf", ["argon2id", "scrypt"])
def test_a_passphrase_opens_the_vault_again(kdf: str, env: Env, vault: Path) -> None:
    settings = dataclasses.replace(PASSPHRASE, kdf=kdf)
    created = create(VAULT_ID, settings, env, vault=vault, ask=lambda: "some words")
    header = from_table(to_table(created.header))
    assert header.source == "passphrase"
    assert header.kdf is not None
    assert header.kdf.name == kdf
    assert same(unlock(header, SETTINGS, vault=vault, ask=lambda: "some words"), created.master)


def test_the_passphrase_of_the_environment_precedes_the_prompt(env: Env, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise AssertionError("was asked")

    monkeypatch.setenv("ENGRAM_PASSPHRASE", "from the environment")
    created = create(VAULT_ID, PASSPHRASE, env, vault=vault, ask=nobody)
    assert same(unlock(created.header, PASSPHRASE, vault=vault, ask=nobody), created.master)


def test_a_wrong_passphrase_raises_vault_locked(env: Env, vault: Path) -> None:
    created = create(VAULT_ID, PASSPHRASE, env, vault=vault, ask=lambda: "some words")
    with pytest.raises(VaultLocked) as refusal:
        unlock(created.header, PASSPHRASE, vault=vault, ask=lambda: "mistaken-words")
    assert "mistaken-words" not in said(refusal.value)


@pytest.mark.parametrize("ask", [None, lambda: None], ids=["nobody to ask", "no answer"])
def test_a_missing_passphrase_raises_vault_locked_with_a_way_out(ask: Callable[[], None] | None, env: Env, vault: Path) -> None:
    created = create(VAULT_ID, PASSPHRASE, env, vault=vault, ask=lambda: "some words")
    for attempt in (
        lambda: unlock(created.header, PASSPHRASE, vault=vault, ask=ask),
        lambda: create(VAULT_ID, PASSPHRASE, env, vault=vault, ask=ask),
    ):
        with pytest.raises(VaultLocked) as refusal:
            attempt()
        assert "ENGRAM_PASSPHRASE" in refusal.value.way_out


def test_a_vault_is_not_made_with_an_empty_passphrase(env: Env, vault: Path) -> None:
    with pytest.raises(VaultLocked, match="empty"):
        create(VAULT_ID, PASSPHRASE, env, vault=vault, ask=lambda: "")


def test_two_vaults_with_one_passphrase_share_nothing(env: Env, vault: Path) -> None:
    one = create(VAULT_ID, PASSPHRASE, env, vault=vault, ask=lambda: "words").header
    two = create(VAULT_ID, PASSPHRASE, env, vault=vault, ask=lambda: "words").header
    assert one.kdf is not None
    assert two.kdf is not None
    assert one.kdf.salt != two.kdf.salt
    assert one.wrapped != two.wrapped
    assert one.fingerprint != two.fingerprint


def test_a_kdf_cost_out_of_bounds_is_refused_before_the_vault_is_made(env: Env, vault: Path) -> None:
    settings = dataclasses.replace(PASSPHRASE, kdf="scrypt", scrypt_log_n=24)
    with pytest.raises(ConfigInvalid, match="log_n = 24"):
        create(VAULT_ID, settings, env, vault=vault, ask=lambda: "words")


def test_a_passphrase_header_without_its_wrapped_key_raises_vault_damaged(vault: Path) -> None:
    with pytest.raises(VaultDamaged):
        unlock(KeyHeader(VAULT_ID, "passphrase", "0123456789abcdef"), SETTINGS, vault=vault, ask=lambda: "words")


# ── the keychain ──


def test_a_keychain_opens_the_vault_again(ring: Any, env: Env, vault: Path) -> None:
    created = create(VAULT_ID, KEYCHAIN, env, vault=vault)
    assert created.header == KeyHeader(VAULT_ID, "keychain", created.master.fingerprint)
    assert same(unlock(created.header, SETTINGS, vault=vault), created.master)
    assert "keychain" in created.notice


def test_a_locked_keychain_raises_vault_locked_and_gets_no_new_key(ring: Any, env: Env, vault: Path) -> None:
    created = create(VAULT_ID, KEYCHAIN, env, vault=vault)
    before = dict(ring.entries)
    ring.locked = True
    with pytest.raises(VaultLocked) as refusal:
        unlock(created.header, SETTINGS, vault=vault)
    assert refusal.value.way_out
    assert ring.entries == before


def test_an_empty_keychain_raises_vault_locked_and_gets_no_new_key(ring: Any, env: Env, vault: Path) -> None:
    created = create(VAULT_ID, KEYCHAIN, env, vault=vault)
    ring.entries.clear()
    with pytest.raises(VaultLocked, match="has no key"):
        unlock(created.header, SETTINGS, vault=vault)
    assert ring.entries == {}


def test_a_vault_without_its_keychain_raises_vault_locked(no_ring: None, vault: Path) -> None:
    with pytest.raises(VaultLocked, match="no OS keychain"):
        unlock(KeyHeader(VAULT_ID, "keychain", "0123456789abcdef"), SETTINGS, vault=vault)


def test_a_requested_keychain_that_is_missing_is_not_replaced_by_a_file(no_ring: None, env: Env, vault: Path) -> None:
    with pytest.raises(VaultLocked, match="keychain"):
        create(VAULT_ID, KEYCHAIN, env, vault=vault)
    assert not key_folder().exists()


# ── which place ──


def test_auto_takes_the_passphrase_of_the_environment_first(
    ring: Any, env: Env, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGRAM_PASSPHRASE", "words")
    assert create(VAULT_ID, SETTINGS, env, vault=vault).header.source == "passphrase"
    assert ring.entries == {}


def test_auto_takes_the_keychain_next(ring: Any, env: Env, vault: Path) -> None:
    assert create(VAULT_ID, SETTINGS, env, vault=vault).header.source == "keychain"
    assert not key_folder().exists()


def test_auto_takes_a_key_file_where_no_keychain_is_trusted(no_ring: None, env: Env, vault: Path) -> None:
    created = create(VAULT_ID, SETTINGS, env, vault=vault)
    assert created.header.source == "file"
    assert same(unlock(created.header, SETTINGS, vault=vault), created.master)


def test_auto_takes_a_key_file_if_the_keychain_is_locked(ring: Any, env: Env, vault: Path) -> None:
    ring.locked = True
    assert create(VAULT_ID, SETTINGS, env, vault=vault).header.source == "file"


def test_an_empty_passphrase_in_the_environment_counts_as_none(
    no_ring: None, env: Env, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGRAM_PASSPHRASE", "")
    assert create(VAULT_ID, SETTINGS, env, vault=vault).header.source == "file"


# ── a key that is given ──


def test_a_key_passed_in_is_not_stored(ring: Any, env: Env, vault: Path) -> None:
    created = create(VAULT_ID, SETTINGS, env, vault=vault, key=MasterKey(bytearray(b"k" * 32)))
    assert created.header == KeyHeader(VAULT_ID, "given", MasterKey(bytearray(b"k" * 32)).fingerprint)
    assert ring.entries == {}
    assert not key_folder().exists()
    assert same(unlock(created.header, SETTINGS, vault=vault, key=MasterKey(bytearray(b"k" * 32))), created.master)
    with pytest.raises(VaultLocked, match="was not given"):
        unlock(created.header, SETTINGS, vault=vault)


def test_a_key_passed_in_opens_a_vault_whose_stored_key_is_lost(env: Env, vault: Path) -> None:
    created = create(VAULT_ID, FILE, env, vault=vault)
    text = created.master.recovery_text()
    key_file(created).unlink()
    assert same(unlock(created.header, FILE, vault=vault, key=MasterKey.from_recovery_text(text)), created.master)


def test_a_wrong_key_passed_in_raises_vault_locked_and_is_wiped(env: Env, vault: Path) -> None:
    created = create(VAULT_ID, FILE, env, vault=vault)
    wrong = bytearray(b"w" * 32)
    with pytest.raises(VaultLocked, match="not the key"):
        unlock(created.header, FILE, vault=vault, key=MasterKey(wrong))
    assert wrong == bytearray(32)


def test_a_stored_key_of_another_vault_raises_vault_locked(ring: Any, env: Env, vault: Path) -> None:
    in_file = create(VAULT_ID, FILE, env, vault=vault).header
    in_ring = create(VAULT_ID, KEYCHAIN, env, vault=vault).header
    under_words = create(VAULT_ID, PASSPHRASE, env, vault=vault, ask=lambda: "words").header
    for header in (in_file, in_ring, under_words):
        other = dataclasses.replace(header, fingerprint="0123456789abcdef")
        with pytest.raises(VaultLocked, match="not the key"):
            unlock(other, SETTINGS, vault=vault, ask=lambda: "words")


# ── moving ──


@pytest.mark.parametrize("source", ["file", "keychain", "passphrase"])
@pytest.mark.parametrize("target", ["file", "keychain", "passphrase", "given"])
def test_a_key_moves_from_any_place_to_any_other_and_the_old_one_still_opens(
    source: str, target: str, ring: Any, env: Env, vault: Path
) -> None:
    old = create(VAULT_ID, dataclasses.replace(SETTINGS, key_source=source), env, vault=vault, ask=lambda: "old words")
    new = move_key(old.header, old.master, SETTINGS, env, vault=vault, source=target, ask=lambda: "new words")
    assert (new.header.source, new.header.fingerprint) == (target, old.header.fingerprint)
    assert same(unlock(old.header, SETTINGS, vault=vault, ask=lambda: "old words"), old.master)
    key = MasterKey.from_recovery_text(old.master.recovery_text()) if target == "given" else None
    assert same(unlock(new.header, SETTINGS, vault=vault, key=key, ask=lambda: "new words"), old.master)


def test_changing_a_passphrase_asks_for_the_new_one_even_if_the_environment_has_the_old(
    env: Env, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGRAM_PASSPHRASE", "old words")
    old = create(VAULT_ID, PASSPHRASE, env, vault=vault)
    new = move_key(old.header, old.master, PASSPHRASE, env, vault=vault, source="passphrase", ask=lambda: "new words")
    with pytest.raises(VaultLocked):
        unlock(new.header, PASSPHRASE, vault=vault)
    monkeypatch.setenv("ENGRAM_PASSPHRASE", "new words")
    assert same(unlock(new.header, PASSPHRASE, vault=vault), old.master)


def test_the_key_of_another_vault_is_not_stored(ring: Any, env: Env, vault: Path) -> None:
    created = create(VAULT_ID, PASSPHRASE, env, vault=vault, ask=lambda: "words")
    with MasterKey(bytearray(b"w" * 32)) as wrong:
        for source in ("file", "keychain", "passphrase", "given"):
            with pytest.raises(VaultLocked, match="not the key"):
                move_key(created.header, wrong, SETTINGS, env, vault=vault, source=source, ask=lambda: "words")
    assert ring.entries == {}
    assert not key_folder().exists()


def test_a_move_that_fails_leaves_the_key_usable(ring: Any, env: Env, vault: Path) -> None:
    created = create(VAULT_ID, FILE, env, vault=vault)
    ring.locked = True
    with pytest.raises(VaultLocked):
        move_key(created.header, created.master, SETTINGS, env, vault=vault, source="keychain")
    assert same(unlock(created.header, FILE, vault=vault), created.master)


def test_moving_a_key_twice_is_harmless(env: Env, vault: Path) -> None:
    old = create(VAULT_ID, PASSPHRASE, env, vault=vault, ask=lambda: "words")
    first = move_key(old.header, old.master, SETTINGS, env, vault=vault, source="file")
    assert move_key(old.header, old.master, SETTINGS, env, vault=vault, source="file") == first


def test_a_move_does_not_replace_the_key_file_of_another_key(env: Env, vault: Path) -> None:
    create(VAULT_ID, FILE, env, vault=vault)
    other = create(VAULT_ID, PASSPHRASE, env, vault=vault, ask=lambda: "words")
    before = key_file(other).read_bytes()
    with pytest.raises(ConfigInvalid, match="not overwritten"):
        move_key(other.header, other.master, SETTINGS, env, vault=vault, source="file")
    assert key_file(other).read_bytes() == before


def test_an_unknown_key_source_is_refused(env: Env, vault: Path) -> None:
    created = create(VAULT_ID, FILE, env, vault=vault)
    with pytest.raises(ConfigInvalid, match="cloud"):
        move_key(created.header, created.master, SETTINGS, env, vault=vault, source="cloud")


# ── forgetting a place ──


def test_a_removed_key_file_is_overwritten_and_deleted(env: Env, vault: Path, tmp_path: Path) -> None:
    created = create(VAULT_ID, FILE, env, vault=vault)
    witness = tmp_path / "witness"
    os.link(key_file(created), witness)
    assert remove_key(created.header, FILE)
    assert not key_file(created).exists()
    assert set(witness.read_bytes()) == {0}
    assert not remove_key(created.header, FILE)


@posix_only
def test_removing_a_key_file_behind_a_link_deletes_file_and_link(env: Env, vault: Path, tmp_path: Path) -> None:
    created = create(VAULT_ID, FILE, env, vault=vault)
    key_file(created).rename(tmp_path / "moved.key")
    key_file(created).symlink_to(tmp_path / "moved.key")
    assert remove_key(created.header, FILE)
    assert not os.path.lexists(key_file(created))
    assert not (tmp_path / "moved.key").exists()


def test_a_removed_keychain_entry_is_deleted(ring: Any, env: Env, vault: Path) -> None:
    created = create(VAULT_ID, KEYCHAIN, env, vault=vault)
    assert remove_key(created.header, SETTINGS)
    assert ring.entries == {}
    assert not remove_key(created.header, SETTINGS)


def test_a_place_that_holds_another_key_is_not_cleared(ring: Any, env: Env, vault: Path) -> None:
    for settings in (FILE, KEYCHAIN):
        created = create(VAULT_ID, settings, env, vault=vault)
        assert not remove_key(dataclasses.replace(created.header, fingerprint="0123456789abcdef"), settings)
        assert same(unlock(created.header, settings, vault=vault), created.master)


def test_the_place_still_in_use_is_not_cleared(ring: Any, env: Env, vault: Path) -> None:
    for settings in (FILE, KEYCHAIN):
        created = create(VAULT_ID, settings, env, vault=vault)
        again = move_key(created.header, created.master, settings, env, vault=vault, source=created.header.source)
        assert not remove_key(created.header, settings, kept=again.header)
        assert same(unlock(again.header, settings, vault=vault), created.master)


def test_a_wrapped_key_in_the_header_needs_no_clearing(env: Env, vault: Path) -> None:
    under_words = create(VAULT_ID, PASSPHRASE, env, vault=vault, ask=lambda: "words").header
    assert not remove_key(under_words, SETTINGS)
    assert not remove_key(dataclasses.replace(under_words, source="given"), SETTINGS)


# ── silence ──


def test_secrets_appear_in_no_log_or_message_or_other_file(
    ring: Any, env: Env, vault: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        for source in ("keychain", "file", "passphrase"):
            settings = dataclasses.replace(SETTINGS, key_source=source)
            created = create(VAULT_ID, settings, env, vault=vault, ask=lambda: "open sesame")
            unlock(created.header, settings, vault=vault, ask=lambda: "open sesame")
            public = f"{created!r} {to_table(created.header)} {created.notice} {caplog.text}"
            assert "open sesame" not in public
            assert not shows(public, created.master)
            assert created.master.subkey(Purpose.DATABASE).hex() not in public
    assert not vault.exists()
