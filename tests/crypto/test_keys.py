"""The master key and its sub-keys: independent, transcribable, wrapped, and never shown."""

from __future__ import annotations

import copy
import ctypes
import functools
import os
import pickle
from collections.abc import Callable, Mapping

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import assume, given
from hypothesis import strategies as st

from engram.crypto.keys import Kdf, MasterKey, Purpose, hkdf, unwrap, wipe, wrap
from engram.errors import MemoryPressure, VaultDamaged, VaultLocked

SALT = bytes(range(16))
QUICK = Kdf("argon2id", SALT, {"memory_kib": 8192, "passes": 1, "lanes": 1})
SCRYPT = Kdf("scrypt", SALT, {"log_n": 14, "lanes": 1})
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

FROZEN = "engram1-000G-40R4-0M30-E209-185G-R38E-1W81-24GK-2GAH-C5RR-34D1-P70X-3RFT-SZ8K"

key_bytes = st.binary(min_size=32, max_size=32)


def master_of(key: bytes) -> MasterKey:
    return MasterKey(bytearray(key))


def said(error: BaseException | None) -> str:
    """The text of an error and of the errors chained to it."""
    return "" if error is None else f"{error!r} {error} {said(error.__cause__)} {said(error.__context__)}"


def hkdf_sha256(key: bytes, *, salt: bytes, info: bytes, length: int) -> bytes:
    """HKDF (RFC 5869) of the `cryptography` package."""
    return HKDF(SHA256(), length, salt=salt or None, info=info).derive(key)


def test_hkdf_matches_the_test_vectors_of_the_rfc() -> None:
    made = hkdf(bytearray(b"\x0b" * 22), bytes(range(0xF0, 0xFA)), salt=bytes(range(13)))
    assert made.hex() == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
    salt, key = os.urandom(16), bytearray(os.urandom(32))
    assert bytes(hkdf(key, b"file", salt=salt)) == hkdf_sha256(bytes(key), salt=salt, info=b"file", length=32)


@pytest.mark.parametrize("purpose", Purpose)
def test_a_subkey_is_hkdf_of_the_master_under_its_own_label(purpose: Purpose) -> None:
    key = os.urandom(32)
    expected = hkdf_sha256(key, salt=b"", info=b"engram/" + purpose.value.encode() + b"/v1", length=32)
    assert bytes(master_of(key).subkey(purpose)) == expected


def test_no_two_purposes_share_a_key_and_none_is_the_master() -> None:
    key = os.urandom(32)
    master = master_of(key)
    made = {bytes(master.subkey(purpose)) for purpose in Purpose}
    assert len(made) == len(Purpose) == 10
    assert key not in made


def test_a_subkey_is_a_buffer_that_can_be_wiped_without_harming_the_next() -> None:
    master = MasterKey.generate(os.urandom)
    first = master.subkey(Purpose.DATABASE)
    before = bytes(first)
    wipe(first)
    assert first == bytearray(32)
    assert master.subkey(Purpose.DATABASE) == before


@given(key_bytes)
def test_the_fingerprint_is_sixteen_hex_characters_that_share_nothing_with_any_subkey(key: bytes) -> None:
    master = master_of(key)
    assert master.fingerprint == hkdf_sha256(key, salt=b"", info=b"engram/fingerprint/v1", length=8).hex()
    assert not any(master.subkey(purpose).hex().startswith(master.fingerprint) for purpose in Purpose)


@pytest.mark.parametrize("length", [0, 16, 31, 33, 64])
def test_a_key_of_the_wrong_length_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        MasterKey(bytearray(length))


def test_a_generated_key_uses_the_random_source_it_is_given() -> None:
    assert MasterKey.generate(lambda count: bytes(range(count))).fingerprint == master_of(bytes(range(32))).fingerprint


def test_wiping_zeroes_the_very_buffer_that_was_passed_in() -> None:
    buffer = bytearray(os.urandom(32))
    address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    master = MasterKey(buffer)
    master.wipe()
    master.wipe()
    assert ctypes.string_at(address, 32) == bytes(32)


def test_leaving_the_context_wipes_the_key() -> None:
    buffer = bytearray(b"k" * 32)
    with MasterKey(buffer) as master:
        assert len(master.fingerprint) == 16
    assert buffer == bytearray(32)


def test_a_garbage_collected_key_is_zeroed() -> None:
    buffer = bytearray(b"k" * 32)
    MasterKey(buffer)
    assert buffer == bytearray(32)


def test_a_wiped_key_refuses_every_use() -> None:
    master = MasterKey.generate(os.urandom)
    master.wipe()
    for use in (
        lambda: master.subkey(Purpose.FIELDS),
        lambda: master.fingerprint,
        master.recovery_text,
        lambda: wrap(master, "words", QUICK, vault_id="v", random=os.urandom),
    ):
        with pytest.raises(ValueError, match="wiped"):
            use()


def test_a_key_has_no_revealing_repr_and_cannot_be_pickled_or_copied() -> None:
    key = b"0123456789abcdefghijklmnopqrstuv"
    master = master_of(key)
    assert repr(master) == str(master) == f"{master}" == "<MasterKey>"
    assert not hasattr(master, "__dict__")
    pickles = [functools.partial(pickle.dumps, protocol=number) for number in range(pickle.HIGHEST_PROTOCOL + 1)]
    attempts: list[Callable[[MasterKey], object]] = [copy.copy, copy.deepcopy, *pickles]
    for attempt in attempts:
        with pytest.raises(TypeError, match="pickled"):
            attempt(master)


@given(key_bytes)
def test_a_recovery_text_restores_the_key(key: bytes) -> None:
    text = master_of(key).recovery_text()
    assert MasterKey.from_recovery_text(text).subkey(Purpose.DATABASE) == master_of(key).subkey(Purpose.DATABASE)


def test_the_format_of_recovery_texts_is_stable() -> None:
    assert master_of(bytes(range(32))).recovery_text() == FROZEN


@given(key_bytes, st.data())
def test_case_spaces_dashes_and_lookalikes_do_not_matter(key: bytes, data: st.DataObject) -> None:
    text = master_of(key).recovery_text()
    sloppy = "".join(
        data.draw(st.sampled_from(({"0": "0Oo", "1": "1IiLl"}.get(c) or c.upper() + c.lower()) if c != "-" else " -\n\u2013"))
        + data.draw(st.sampled_from(["", "", "", " ", "-"]))
        for c in text
    )
    assert MasterKey.from_recovery_text(f"  {sloppy}\n").fingerprint == master_of(key).fingerprint


@given(key_bytes, st.integers(min_value=0, max_value=55), st.sampled_from(ALPHABET))
def test_one_mistyped_character_is_caught(key: bytes, place: int, typed: str) -> None:
    prefix, *groups = master_of(key).recovery_text().split("-")
    body = "".join(groups)
    assume(body[place] != typed)
    with pytest.raises(VaultLocked, match="recovery key"):
        MasterKey.from_recovery_text(f"{prefix}-{body[:place]}{typed}{body[place + 1 :]}")


@given(key_bytes, st.integers(min_value=0, max_value=54))
def test_two_transposed_characters_are_caught(key: bytes, place: int) -> None:
    prefix, *groups = master_of(key).recovery_text().split("-")
    body = "".join(groups)
    assume(body[place] != body[place + 1])
    with pytest.raises(VaultLocked):
        MasterKey.from_recovery_text(prefix + body[:place] + body[place + 1] + body[place] + body[place + 2 :])


@given(st.text(max_size=120))
def test_any_other_text_is_refused_without_quoting_it(text: str) -> None:
    for typed in (f"zqx{text}", f"engram1-zqx{text}"):
        with pytest.raises(VaultLocked) as refusal:
            MasterKey.from_recovery_text(typed)
        assert "zqx" not in said(refusal.value)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda text: text[:-1], "55"),
        (lambda text: text + "7", "57"),
        (lambda text: text.replace("engram1", "engram2"), "begins with"),
        (lambda text: text.removeprefix("engram1-"), "begins with"),
        (lambda text: text[:-1] + "U", "character"),
        (lambda text: "", "begins with"),
    ],
)
def test_an_invalid_recovery_text_is_refused_with_the_reason(spoil: Callable[[str], str], why: str) -> None:
    text = master_of(b"s" * 32).recovery_text()
    with pytest.raises(VaultLocked, match=why) as refusal:
        MasterKey.from_recovery_text(spoil(text))
    assert refusal.value.code == "E1001"
    assert refusal.value.way_out


@pytest.mark.parametrize("kdf", [QUICK, SCRYPT], ids=["argon2id", "scrypt"])
def test_the_right_passphrase_unwraps_the_key(kdf: Kdf) -> None:
    master = MasterKey.generate(os.urandom)
    wrapped = wrap(master, "correct horse battery staple", kdf, vault_id="vault", random=os.urandom)
    assert unwrap(wrapped, "correct horse battery staple", kdf, vault_id="vault").fingerprint == master.fingerprint


@pytest.mark.parametrize("kdf", [QUICK, SCRYPT], ids=["argon2id", "scrypt"])
def test_a_wrong_passphrase_raises_vault_locked_without_quoting_it(kdf: Kdf) -> None:
    wrapped = wrap(MasterKey.generate(os.urandom), "right", kdf, vault_id="vault", random=os.urandom)
    with pytest.raises(VaultLocked) as refusal:
        unwrap(wrapped, "mistaken-words", kdf, vault_id="vault")
    assert "mistaken-words" not in said(refusal.value)


def test_the_wrapped_key_of_one_vault_does_not_open_in_the_header_of_another() -> None:
    wrapped = wrap(MasterKey.generate(os.urandom), "words", QUICK, vault_id="mine", random=os.urandom)
    with pytest.raises(VaultLocked):
        unwrap(wrapped, "words", QUICK, vault_id="yours")


@pytest.mark.parametrize("kdf", [Kdf("argon2id", b"s" * 16, QUICK.parameters), Kdf("scrypt", SALT, {"log_n": 15, "lanes": 1})])
def test_another_salt_or_cost_gives_another_key(kdf: Kdf) -> None:
    wrapped = wrap(MasterKey.generate(os.urandom), "words", QUICK, vault_id="vault", random=os.urandom)
    with pytest.raises(VaultLocked):
        unwrap(wrapped, "words", kdf, vault_id="vault")


def test_a_flipped_bit_anywhere_in_the_wrapped_key_is_noticed() -> None:
    wrapped = wrap(MasterKey.generate(os.urandom), "words", QUICK, vault_id="vault", random=os.urandom)
    for place in range(0, len(wrapped), 7):
        spoilt = bytearray(wrapped)
        spoilt[place] ^= 1
        with pytest.raises(VaultLocked):
            unwrap(bytes(spoilt), "words", QUICK, vault_id="vault")


@pytest.mark.parametrize("wrapped", [b"", bytes(59), bytes(61)])
def test_a_wrapped_key_of_the_wrong_length_raises_vault_damaged(wrapped: bytes) -> None:
    with pytest.raises(VaultDamaged):
        unwrap(wrapped, "words", QUICK, vault_id="vault")


def test_the_wrapped_bytes_do_not_contain_the_master_key() -> None:
    key = os.urandom(32)
    assert key not in wrap(master_of(key), "words", QUICK, vault_id="vault", random=os.urandom)


def test_the_nonce_comes_from_the_given_random_source() -> None:
    wrapped = wrap(master_of(b"k" * 32), "words", QUICK, vault_id="vault", random=lambda count: b"\x07" * count)
    assert wrapped[:12] == b"\x07" * 12


@pytest.mark.parametrize(
    ("typed_here", "typed_there"),
    [("caf\u00e9 \u212b", "cafe\u0301 A\u030a"), ("\uff50\uff41\uff53\uff53", "pass"), ("\ufb01sh", "fish")],
)
def test_composed_and_decomposed_letters_are_the_same_passphrase(typed_here: str, typed_there: str) -> None:
    master = MasterKey.generate(os.urandom)
    wrapped = wrap(master, typed_here, QUICK, vault_id="vault", random=os.urandom)
    assert unwrap(wrapped, typed_there, QUICK, vault_id="vault").fingerprint == master.fingerprint


def test_a_passphrase_that_is_not_unicode_still_works() -> None:
    undecodable = b"pass\xff\xfe".decode("utf-8", "surrogateescape")
    master = MasterKey.generate(os.urandom)
    wrapped = wrap(master, undecodable, QUICK, vault_id="vault", random=os.urandom)
    assert unwrap(wrapped, undecodable, QUICK, vault_id="vault").fingerprint == master.fingerprint


def test_an_empty_passphrase_is_refused() -> None:
    with pytest.raises(VaultLocked, match="empty"):
        wrap(MasterKey.generate(os.urandom), "", QUICK, vault_id="vault", random=os.urandom)
    with pytest.raises(VaultLocked, match="empty"):
        unwrap(bytes(60), "", QUICK, vault_id="vault")


def bent(base: Mapping[str, int], **changes: object) -> dict[str, int]:
    return {**base, **changes}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("name", "salt", "parameters"),
    [
        ("argon2id", SALT, bent(QUICK.parameters, memory_kib=4 * 1024 * 1024 + 1)),
        ("argon2id", SALT, bent(QUICK.parameters, memory_kib=8191)),
        ("argon2id", SALT, bent(QUICK.parameters, passes=0)),
        ("argon2id", SALT, bent(QUICK.parameters, passes=65)),
        ("argon2id", SALT, bent(QUICK.parameters, lanes=0)),
        ("argon2id", SALT, bent(QUICK.parameters, lanes=17)),
        ("argon2id", SALT, bent(QUICK.parameters, passes=True)),
        ("argon2id", SALT, bent(QUICK.parameters, passes=2.0)),
        ("argon2id", SALT, bent(QUICK.parameters, extra=1)),
        ("argon2id", SALT, {"memory_kib": 8192}),
        ("argon2id", bytes(15), QUICK.parameters),
        ("argon2id", b"", QUICK.parameters),
        ("scrypt", SALT, {"log_n": 13, "lanes": 1}),
        ("scrypt", SALT, {"log_n": 23, "lanes": 1}),
        ("scrypt", SALT, QUICK.parameters),
        ("md5", SALT, {}),
        ("", SALT, {}),
    ],
)
def test_kdf_parameters_out_of_bounds_raise_vault_damaged(name: str, salt: bytes, parameters: Mapping[str, int]) -> None:
    with pytest.raises(VaultDamaged) as refusal:
        Kdf(name, salt, parameters)
    assert refusal.value.code == "E1002"


def test_a_kdf_cannot_be_changed_after_it_was_checked() -> None:
    numbers = {"memory_kib": 8192, "passes": 1, "lanes": 1}
    kdf = Kdf("argon2id", SALT, numbers)
    numbers["memory_kib"] = 1 << 40
    assert kdf == QUICK
    with pytest.raises(TypeError):
        kdf.parameters["passes"] = 0  # type: ignore[index]


def test_a_derivation_without_enough_memory_raises_memory_pressure() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    costly = Kdf("argon2id", SALT, {"memory_kib": 4 * 1024 * 1024, "passes": 1, "lanes": 1})
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, before[1]))
    try:
        with pytest.raises(MemoryPressure, match="memory"):
            unwrap(bytes(60), "words", costly, vault_id="vault")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
