"""The master key of a vault, the keys derived from it, and its two portable forms: recovery text and passphrase wrapping.

Input: 32 random bytes, a typed recovery text, or wrapped bytes with a passphrase. Output: sub-keys, one for each purpose, as
`bytearray`s that the caller zeroes with `wipe`. This module does no I/O and stores nothing; `key_sources` finds and stores keys.
No secret may appear in a `repr`, a pickle, an exception or a log.

Keys in a `bytearray` are zeroed after use. Recovery texts and passphrases are `str`, which Python cannot zero: they are made
and read as rarely as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType

from engram.crypto.digests import DIGEST_BYTES, hmac_sha256, sha256
from engram.crypto.hardening import lock_buffer, unlock_buffer
from engram.errors import EncryptionFailed, MemoryPressure, VaultDamaged, VaultLocked
from engram.values.frozen import frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn, Self, SupportsIndex

    from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

KEY_BYTES = 32
SALT_BYTES = 16
_NONCE_BYTES = 12
_TAG_BYTES = 16
_FINGERPRINT_BYTES = 8

# Crockford's base32 omits I, L, O and U. 32 bytes and a checksum of 3 fill 56 characters without padding.
_RECOVERY_PREFIX = "engram1"
_CHECKSUM_BYTES = 3
_GROUP = 4
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_CHARACTERS = (KEY_BYTES + _CHECKSUM_BYTES) * 8 // 5
_LOOKALIKES = str.maketrans("OIL", "011")

# The header that names the parameters is not authenticated before the key is known: an attacker who can write it could
# make guessing cheap or exhaust memory. scrypt's block size is 8 (RFC 7914), so log_n = 22 means 4 GiB.
_SCRYPT_BLOCK = 8
_BOUNDS: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "argon2id": {"memory_kib": (8 * 1024, 4 * 1024 * 1024), "passes": (1, 64), "lanes": (1, 16)},
    "scrypt": {"log_n": (14, 22), "lanes": (1, 16)},
}


class Purpose(StrEnum):
    """The purpose of a sub-key. Each has its own HKDF label, so that one sub-key reveals nothing about another."""

    DATABASE = "database"
    FIELDS = "fields"
    SNAPSHOTS = "snapshots"
    EXPORT = "export"
    PROJECTION = "projection"
    HIDDEN = "hidden"
    AUDIT = "audit"
    TOKENS = "tokens"
    CURSORS = "cursors"
    ROTATION = "rotation"


def wipe(buffer: bytearray) -> None:
    """Overwrite with zeros, in place."""
    buffer[:] = bytes(len(buffer))


class MasterKey:
    """The 32 bytes from which all other keys of a vault are derived. Owns the buffer it is given, and zeroes it in `wipe`."""

    __slots__ = ("_key", "_locked")

    def __init__(self, key: bytearray) -> None:
        self._locked = False
        self._key = bytearray()
        if len(key) != KEY_BYTES:
            raise ValueError(f"a master key has {KEY_BYTES} bytes, not {len(key)}")
        self._key = key
        self._locked = lock_buffer(key)

    @classmethod
    def generate(cls, random: Callable[[int], bytes]) -> Self:
        return cls(bytearray(random(KEY_BYTES)))

    @classmethod
    def from_recovery_text(cls, text: str) -> Self:
        """Return the key of a recovery text. Case, spaces, dashes and the look-alikes O/0 and I/L/1 do not matter."""
        payload = bytearray(_recovery_payload(text))
        key, checksum = payload[:KEY_BYTES], payload[KEY_BYTES:]
        wipe(payload)
        if _checksum(key) != checksum:  # timing reveals nothing: the text holds both
            wipe(key)
            raise _bad_recovery_text("The recovery key is mistyped: its check characters do not match.")
        return cls(key)

    def recovery_text(self) -> str:
        """Return the key in a form to write down: a prefix, then groups of four characters. As secret as the key."""
        key = self._alive()
        payload = key + _checksum(key)
        number = int.from_bytes(payload)
        body = "".join(_CROCKFORD[number >> 5 * place & 31] for place in reversed(range(_CHARACTERS)))
        wipe(payload)
        return "-".join([_RECOVERY_PREFIX, *(body[at : at + _GROUP] for at in range(0, len(body), _GROUP))])

    def subkey(self, purpose: Purpose) -> bytearray:
        """Derive the 32-byte key for one purpose; the caller wipes it."""
        return self._derive(purpose.value, KEY_BYTES)

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal characters that identify the key and reveal nothing about it, so that they may be published."""
        return self._derive("fingerprint", _FINGERPRINT_BYTES).hex()

    def wipe(self) -> None:
        """Zero the key. Later use raises ValueError; wiping again does nothing."""
        key, self._key = self._key, bytearray()
        wipe(key)
        if self._locked:
            unlock_buffer(key)
            self._locked = False

    def _derive(self, label: str, length: int) -> bytearray:
        return hkdf(self._alive(), f"engram/{label}/v1".encode("ascii"), length)

    def _alive(self) -> bytearray:
        if not self._key:
            raise ValueError("the master key was wiped")
        return self._key

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.wipe()

    def __del__(self) -> None:
        # No unlock_buffer here: the garbage collector may run this while `process` is updating its page counts.
        wipe(self._key)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a master key cannot be pickled or copied")


def hkdf(key: bytearray, info: bytes, length: int = KEY_BYTES, *, salt: bytes = b"") -> bytearray:
    """Derive a key of at most one block with HKDF-SHA256 (RFC 5869).

    Implemented here because loading `cryptography` would take a hook as long as opening the vault. The intermediate
    digests are `bytes`, which stay in memory until they are collected, as does a key given to SQLite.
    """
    if length > DIGEST_BYTES:
        raise ValueError(f"one block has {DIGEST_BYTES} bytes, not {length}")
    extracted = hmac_sha256(salt or bytes(DIGEST_BYTES), key)
    return bytearray(hmac_sha256(extracted, info + b"\x01")[:length])


def _checksum(key: bytearray) -> bytes:
    prefixed = bytearray(_RECOVERY_PREFIX, "ascii") + key
    try:
        return sha256(prefixed)[:_CHECKSUM_BYTES]
    finally:
        wipe(prefixed)


def _recovery_payload(text: str) -> bytes:
    """Decode a typed recovery text into the key followed by its checksum."""
    if not text.isascii():
        import unicodedata  # late: a key file, which is all that a hook reads, is ASCII

        text = "".join(c for c in text if unicodedata.category(c) not in ("Pd", "Cf"))
    plain = "".join(text.replace("-", "").split()).upper().translate(_LOOKALIKES)
    body = plain.removeprefix(_RECOVERY_PREFIX.upper())
    if body == plain:
        raise _bad_recovery_text(f"A recovery key begins with {_RECOVERY_PREFIX!r}; this text does not.")
    if not set(body) <= set(_CROCKFORD):
        raise _bad_recovery_text("The recovery key has a character that recovery keys do not use.")
    if len(body) != _CHARACTERS:
        raise _bad_recovery_text(
            f"A recovery key has {_CHARACTERS} characters after {_RECOVERY_PREFIX!r}; this one has {len(body)}."
        )
    number = 0
    for letter in body:
        number = number << 5 | _CROCKFORD.index(letter)
    return number.to_bytes(KEY_BYTES + _CHECKSUM_BYTES)


def _bad_recovery_text(message: str) -> VaultLocked:
    return VaultLocked(message, way_out="Compare it with your copy, group by group, and try again.")


@frozen
class Kdf:
    """Parameters of the key derivation from a passphrase: `argon2id` (memory_kib, passes, lanes) or `scrypt` (log_n, lanes).

    Parameters out of bounds are the mark of a damaged or forged header, and raise VaultDamaged.
    """

    name: str
    salt: bytes
    parameters: Mapping[str, int]

    def __post_init__(self) -> None:
        bounds = _BOUNDS.get(self.name)
        if bounds is None or len(self.salt) != SALT_BYTES or self.parameters.keys() != bounds.keys():
            raise VaultDamaged("The vault header names a key derivation that Engram does not know.")
        for name, (low, high) in bounds.items():
            value = self.parameters[name]
            if type(value) is not int or not low <= value <= high:
                raise VaultDamaged(f"The vault header sets {name} of {self.name} outside {low} … {high}.")
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))


def wrap(master: MasterKey, passphrase: str, kdf: Kdf, *, vault_id: str, random: Callable[[int], bytes]) -> bytes:
    """Encrypt the master key under a passphrase, for the header of this vault: nonce, ciphertext and tag. Use a fresh salt."""
    nonce = random(_NONCE_BYTES)
    kek = passphrase_key(passphrase, kdf)
    try:
        return nonce + _cipher(kek).encrypt(nonce, master._alive(), _passphrase_context(vault_id))
    finally:
        wipe(kek)


def unwrap(wrapped: bytes, passphrase: str, kdf: Kdf, *, vault_id: str) -> MasterKey:
    """Decrypt the master key that `wrap` encrypted. Raise VaultLocked for a wrong passphrase or another vault's header."""
    from cryptography.exceptions import InvalidTag  # late, like all of `cryptography`: a key file or keychain needs none of it

    if len(wrapped) != _NONCE_BYTES + KEY_BYTES + _TAG_BYTES:
        raise VaultDamaged("The wrapped key in the vault header has the wrong length.")
    kek = passphrase_key(passphrase, kdf)
    key = bytearray(KEY_BYTES)
    try:
        _cipher(kek).decrypt_into(wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:], _passphrase_context(vault_id), key)
    except InvalidTag:
        wipe(key)
        raise VaultLocked(
            "The passphrase does not open this vault.", way_out="Try it again, or `engram key import` the recovery key."
        ) from None
    finally:
        wipe(kek)
    return MasterKey(key)


def wrap_next_key(old: MasterKey, new: MasterKey, *, vault_id: str, random: Callable[[int], bytes]) -> bytes:
    """Encrypt the next key of a vault under its present key: nonce, ciphertext and tag."""
    nonce = random(_NONCE_BYTES)
    kek = old.subkey(Purpose.ROTATION)
    try:
        return nonce + _cipher(kek).encrypt(nonce, new._alive(), _rotation_context(vault_id))
    finally:
        wipe(kek)


def unwrap_next_key(wrapped: bytes, old: MasterKey, *, vault_id: str) -> MasterKey:
    """Decrypt the key that `wrap_next_key` encrypted."""
    from cryptography.exceptions import InvalidTag

    kek, key = old.subkey(Purpose.ROTATION), bytearray(KEY_BYTES)
    try:
        if len(wrapped) != _NONCE_BYTES + KEY_BYTES + _TAG_BYTES:
            raise InvalidTag
        _cipher(kek).decrypt_into(wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:], _rotation_context(vault_id), key)
    except InvalidTag:
        wipe(key)
        raise VaultDamaged("The next key in the vault header does not verify.") from None
    finally:
        wipe(kek)
    return MasterKey(key)


def _rotation_context(vault_id: str) -> bytes:
    return f"engram/handover/v1/{vault_id}".encode()


def _passphrase_context(vault_id: str) -> bytes:
    return f"engram/wrapped-key/v1/{vault_id}".encode()


def _cipher(kek: bytearray) -> AESGCMSIV:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV

    # SIV: a repeated nonce, say after a restored machine image, reveals equality and nothing more (RFC 8452).
    try:
        return AESGCMSIV(kek)
    except UnsupportedAlgorithm:
        raise _no_algorithm("AES-GCM-SIV") from None


def passphrase_key(passphrase: str, kdf: Kdf) -> bytearray:
    """Derive the key of a passphrase; the caller wipes it."""
    from cryptography.exceptions import UnsupportedAlgorithm

    secret = _passphrase_bytes(passphrase)
    kek = bytearray(KEY_BYTES)
    try:
        _derivation(kdf).derive_into(secret, kek)
    except MemoryError:
        raise MemoryPressure(f"There is not enough memory to derive the key from the passphrase ({kdf.name}).") from None
    except UnsupportedAlgorithm:
        raise _no_algorithm(kdf.name) from None
    return kek


def _derivation(kdf: Kdf) -> Argon2id | Scrypt:
    parameters = kdf.parameters
    if kdf.name == "scrypt":
        from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

        return Scrypt(kdf.salt, KEY_BYTES, n=1 << parameters["log_n"], r=_SCRYPT_BLOCK, p=parameters["lanes"])
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

    return Argon2id(
        salt=kdf.salt,
        length=KEY_BYTES,
        iterations=parameters["passes"],
        lanes=parameters["lanes"],
        memory_cost=parameters["memory_kib"],
    )


def _passphrase_bytes(passphrase: str) -> bytes:
    """Encode a passphrase as NFKC, so that keyboards that compose é differently type the same passphrase, in UTF-8."""
    if not passphrase:
        raise VaultLocked("The passphrase is empty.", way_out="Use several words that nobody would guess.")
    import unicodedata

    # surrogatepass: non-UTF-8 bytes of an environment variable arrive as lone surrogates, and an error would quote them.
    return unicodedata.normalize("NFKC", passphrase).encode("utf-8", "surrogatepass")


def _no_algorithm(name: str) -> EncryptionFailed:
    return EncryptionFailed(
        f"The installed `cryptography` package does not support {name}.",
        way_out="Install its wheel from PyPI, version 50 or later.",
    )
