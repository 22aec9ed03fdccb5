"""The vault's public header: written and read back, damaged, of a later format."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store.vaults import quick_folder

from engram.crypto.key_sources import KeyHeader
from engram.crypto.keys import Kdf
from engram.errors import EncryptionFailed, EngramError, VaultDamaged, VaultTooNew
from engram.store.folder import VaultFolder
from engram.store.header import Header, _table, read_header, write_header
from engram.store.sqlite.store import SqliteStore

KEY_HEADER = KeyHeader("01JVAULT", "file", "0123456789abcdef")
WRAPPED = KeyHeader("v", "passphrase", "0123456789abcdef", Kdf("scrypt", b"s" * 16, {"log_n": 14, "lanes": 1}), b"w" * 60)
PIECES = ["\n", "\r", "\r\n", "\t", " ", '"', "#", "# ", "[", "]", "=", ".", "0", "-", "_", "é", "\\", "x = 1\n", "\n[key]\n",
          "[a]\n", "\u2028", "\x85", "\x0b", "\x00", "\x7f", "\ufeff"]  # fmt: skip


@pytest.fixture
def header(tmp_path: Path) -> Path:
    path = tmp_path / "vault.toml"
    write_header(path, Header("aegis", KEY_HEADER))
    return path


@pytest.mark.parametrize("key", [KEY_HEADER, WRAPPED])
@pytest.mark.parametrize("cipher", ["aegis", "sqlcipher"])
def test_a_header_comes_back_as_it_was_written(tmp_path: Path, key: KeyHeader, cipher: str) -> None:
    path = tmp_path / "vault.toml"
    write_header(path, Header(cipher, key))
    assert read_header(path) == Header(cipher, key)
    write_header(path, Header(cipher, KEY_HEADER))  # over an older one
    assert read_header(path).key == KEY_HEADER
    assert sorted(p.name for p in tmp_path.iterdir()) == ["vault.toml"]


@given(position=st.integers(0, 10_000), value=st.integers(1, 255))
def test_a_flipped_byte_in_the_header_is_damage_or_changes_nothing(position: int, value: int) -> None:
    with quick_folder() as place:
        path = place / "vault.toml"
        write_header(path, Header("aegis", WRAPPED))
        whole = bytearray(path.read_bytes())
        whole[position % len(whole)] ^= value
        path.write_bytes(whole)
        try:
            assert read_header(path) == Header("aegis", WRAPPED)  # a comment or a space
        except VaultDamaged as error:
            assert error.code == "E1002"  # noqa: PT017


@given(st.integers(0, 10_000))
def test_a_header_cut_short_is_damage(length: int) -> None:
    with quick_folder() as place:
        path = place / "vault.toml"
        write_header(path, Header("aegis", WRAPPED))
        whole = path.read_bytes()
        path.write_bytes(whole[: length % (len(whole) - 1)])
        with pytest.raises(VaultDamaged):
            read_header(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 99,
        b"\xff\xfe",
        b"format = 1\n",
        b"format = 'x'\n",
        b"[key]\n",
        b"format = 1\nkey = 3\n",
        b"= =",
        b"a = " + b"[" * 9999,
    ],
)
def test_a_file_that_is_not_a_header_is_damage(header: Path, content: bytes) -> None:
    header.write_bytes(content)
    with pytest.raises(VaultDamaged, match="backups"):
        read_header(header)


@given(st.lists(st.tuples(st.integers(0, 1000), st.sampled_from(PIECES)), min_size=1, max_size=4))
def test_a_header_is_read_as_any_toml_is(changes: list[tuple[int, str]]) -> None:
    text = '# Engram vault.\nformat = 1\ncipher = "aegis"\n\n[key]\nsalt = "00ff"\nlanes = 4\n'
    for place, piece in changes:
        text = text[: place % len(text)] + piece + text[place % len(text) :]
    try:
        wanted: object = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(tomllib.TOMLDecodeError):
            _table(text)
    else:
        assert _table(text) == wanted


def test_a_missing_header_says_where_to_find_another(tmp_path: Path) -> None:
    with pytest.raises(VaultDamaged, match="backups"):
        read_header(tmp_path / "vault.toml")


def test_an_unreadable_header_raises_an_engram_error(tmp_path: Path) -> None:
    (tmp_path / "vault.toml").mkdir()
    with pytest.raises(EngramError):
        read_header(tmp_path / "vault.toml")


def test_a_header_of_a_later_format_is_refused_with_its_version(tmp_path: Path) -> None:
    path = tmp_path / "vault.toml"
    write_header(path, Header("aegis", KEY_HEADER, format=7))
    with pytest.raises(VaultTooNew, match="format 7") as caught:
        read_header(path)
    assert caught.value.code == "E1007"


def test_a_header_of_a_later_format_with_a_wrong_checksum_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "vault.toml"
    write_header(path, Header("aegis", KEY_HEADER))
    path.write_text(path.read_text().replace("format = 1", "format = 7"))
    with pytest.raises(VaultDamaged):
        read_header(path)


def test_an_unknown_cipher_in_the_header_is_refused(open_store: Callable[..., SqliteStore], folder: VaultFolder) -> None:
    open_store().close()
    header = read_header(folder.header)
    write_header(folder.header, Header("rot13", header.key))
    with pytest.raises(EncryptionFailed, match="rot13"):
        open_store()


def test_the_header_holds_no_secret(open_store: Callable[..., SqliteStore], folder: VaultFolder) -> None:
    open_store().close()
    assert bytes(range(32)).hex() not in folder.header.read_text()
