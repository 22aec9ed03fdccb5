"""The master key of a vault, the keys made from it, and its two portable forms: recovery text and passphrase wrapping.

Comes in: 32 random bytes, a recovery text that somebody typed, or wrapped bytes with a passphrase. Goes out: sub-keys, one
for each purpose, in `bytearray`s that their user wipes with `wipe`. It does no I/O and keeps nothing; where a key lives is
`unlock`'s matter. No secret may stand in a `repr`, a pickle, an exception or a log.

What is in a `bytearray` is zeroed. Recovery texts and passphrases are `str`, which Python cannot zero: they are made and
read as rarely as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType

from engram.errors import EncryptionFailed, MemoryPressure, VaultDamaged, VaultLocked
from engram.frozen import frozen
from engram.guard.digests import DIGEST_BYTES, hmac_sha256, sha256
from engram.guard.process import lock_buffer, unlock_buffer

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

# Crockford's base32 leaves out I, L, O and U. 32 bytes and a checksum of 3 fill 56 characters without padding.
_RECOVERY_PREFIX = "engram1"
_CHECKSUM_BYTES = 3
_GROUP = 4
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_CHARACTERS = (KEY_BYTES + _CHECKSUM_BYTES) * 8 // 5
_LOOKALIKES = str.maketrans("OIL", "011")

# The header that names these is not authenticated before the key is known: whoever can write it could ask for a guess
# that costs nothing or one that takes all memory. scrypt's block size is 8 (RFC 7914), so 2²² means 4 GiB.
_SCRYPT_BLOCK = 8
_BOUNDS: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "argon2id": {"memory_kib": (8 * 1024, 4 * 1024 * 1024), "passes": (1, 64), "lanes": (1, 16)},
    "scrypt": {"log_n": (14, 22), "lanes": (1, 16)},
}


class Purpose(StrEnum):
    """What a sub-key is for. Each has its own HKDF label, so that one sub-key says nothing about another."""

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
    """The 32 bytes all other keys of a vault are made from. Owns the buffer it is given, and zeroes it in the end."""

    __slots__ = ("_held", "_key")

    def __init__(self, key: bytearray) -> None:
        self._held = False
        self._key = bytearray()
        if len(key) != KEY_BYTES:
            raise ValueError(f"a master key has {KEY_BYTES} bytes, not {len(key)}")
        self._key = key
        self._held = lock_buffer(key)

    @classmethod
    def generate(cls, random: Callable[[int], bytes]) -> Self:
        return cls(bytearray(random(KEY_BYTES)))

    @classmethod
    def from_recovery_text(cls, text: str) -> Self:
        """The key somebody wrote down. Case, spaces, dashes and the look-alikes O/0 and I/L/1 do not matter."""
        payload = bytearray(_recovery_payload(text))
        key, checksum = payload[:KEY_BYTES], payload[KEY_BYTES:]
        wipe(payload)
        if _checksum(key) != checksum:  # who has the text has both: it does not matter how long this takes
            wipe(key)
            raise _bad_recovery_text("The recovery key has a mistake in it: its check characters do not fit.")
        return cls(key)

    def recovery_text(self) -> str:
        """The key as a person can write it down: a prefix, then groups of four characters. As secret as the key."""
        key = self._alive()
        payload = key + _checksum(key)
        number = int.from_bytes(payload)
        body = "".join(_CROCKFORD[number >> 5 * place & 31] for place in reversed(range(_CHARACTERS)))
        wipe(payload)
        return "-".join([_RECOVERY_PREFIX, *(body[at : at + _GROUP] for at in range(0, len(body), _GROUP))])

    def subkey(self, purpose: Purpose) -> bytearray:
        """A 32-byte key for one purpose; the caller wipes it."""
        return self._derive(purpose.value, KEY_BYTES)

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal characters that tell keys apart and give nothing away: they may be published."""
        return self._derive("fingerprint", _FINGERPRINT_BYTES).hex()

    def wipe(self) -> None:
        """Zero the key. What is asked of it afterwards is refused with ValueError; wiping again does nothing."""
        key, self._key = self._key, bytearray()
        wipe(key)
        if self._held:
            unlock_buffer(key)
            self._held = False

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
        # Only zeroes: the collector may run this while the page counts of `process` are being changed.
        wipe(self._key)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a master key is neither pickled nor copied")


def hkdf(key: bytearray, info: bytes, length: int = KEY_BYTES, *, salt: bytes = b"") -> bytearray:
    """HKDF-SHA256 (RFC 5869) of at most one block. Without `cryptography`: loading that would take a hook as long as opening
    the vault. What is between is immutable until it is collected, as a key given to SQLite is."""
    if length > DIGEST_BYTES:
        raise ValueError(f"one block has {DIGEST_BYTES} bytes, not {length}")
    own = hmac_sha256(salt or bytes(DIGEST_BYTES), key)
    return bytearray(hmac_sha256(own, info + b"\x01")[:length])


def _checksum(key: bytearray) -> bytes:
    named = bytearray(_RECOVERY_PREFIX, "ascii") + key
    try:
        return sha256(named)[:_CHECKSUM_BYTES]
    finally:
        wipe(named)


def _recovery_payload(text: str) -> bytes:
    """The bytes behind a typed recovery text, checksum still on."""
    if not text.isascii():
        import unicodedata  # late: a hook reads the text from where it was written to

        text = "".join(c for c in text if unicodedata.category(c) not in ("Pd", "Cf"))
    plain = "".join(text.replace("-", "").split()).upper().translate(_LOOKALIKES)
    body = plain.removeprefix(_RECOVERY_PREFIX.upper())
    if body == plain:
        raise _bad_recovery_text(f"A recovery key begins with {_RECOVERY_PREFIX!r}; this text does not.")
    if not set(body) <= set(_CROCKFORD):
        raise _bad_recovery_text("The recovery key has a character in it that no recovery key has.")
    if len(body) != _CHARACTERS:
        raise _bad_recovery_text(
            f"A recovery key has {_CHARACTERS} characters after {_RECOVERY_PREFIX!r}; this one has {len(body)}."
        )
    number = 0
    for letter in body:
        number = number << 5 | _CROCKFORD.index(letter)
    return number.to_bytes(KEY_BYTES + _CHECKSUM_BYTES)


def _bad_recovery_text(what: str) -> VaultLocked:
    return VaultLocked(what, way_out="Compare it with your copy, group by group, and try again.")


@frozen
class Kdf:
    """How a passphrase becomes a key: `argon2id` (memory_kib, passes, lanes) or `scrypt` (log_n, lanes), and a salt.

    One that is out of bounds cannot be made: it is the mark of a damaged or forged header.
    """

    name: str
    salt: bytes
    parameters: Mapping[str, int]

    def __post_init__(self) -> None:
        bounds = _BOUNDS.get(self.name)
        if bounds is None or len(self.salt) != SALT_BYTES or self.parameters.keys() != bounds.keys():
            raise VaultDamaged("The vault header describes no way to turn a passphrase into a key that Engram knows.")
        for name, (low, high) in bounds.items():
            value = self.parameters[name]
            if type(value) is not int or not low <= value <= high:
                raise VaultDamaged(f"The vault header asks for {self.name} with {name} outside {low} … {high}.")
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))


def wrap(master: MasterKey, passphrase: str, kdf: Kdf, *, vault_id: str, random: Callable[[int], bytes]) -> bytes:
    """The master key under a passphrase, for the header of this vault: nonce, ciphertext and tag. Take a fresh salt."""
    nonce = random(_NONCE_BYTES)
    kek = passphrase_key(passphrase, kdf)
    try:
        return nonce + _cipher(kek).encrypt(nonce, master._alive(), _bound_to(vault_id))
    finally:
        wipe(kek)


def unwrap(wrapped: bytes, passphrase: str, kdf: Kdf, *, vault_id: str) -> MasterKey:
    """The master key that `wrap` hid. A wrong passphrase and another vault's header are VaultLocked."""
    from cryptography.exceptions import InvalidTag  # late, as all of it: a key in a file or keychain needs none

    if len(wrapped) != _NONCE_BYTES + KEY_BYTES + _TAG_BYTES:
        raise VaultDamaged("The wrapped key in the vault header has the wrong length.")
    kek = passphrase_key(passphrase, kdf)
    key = bytearray(KEY_BYTES)
    try:
        _cipher(kek).decrypt_into(wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:], _bound_to(vault_id), key)
    except InvalidTag:
        wipe(key)
        raise VaultLocked(
            "The passphrase does not open this vault.", way_out="Try it again, or `engram key import` the recovery key."
        ) from None
    finally:
        wipe(kek)
    return MasterKey(key)


def wrap_next_key(old: MasterKey, new: MasterKey, *, vault_id: str, random: Callable[[int], bytes]) -> bytes:
    """The next key of a vault under its present one: nonce, ciphertext and tag."""
    nonce = random(_NONCE_BYTES)
    between = old.subkey(Purpose.ROTATION)
    try:
        return nonce + _cipher(between).encrypt(nonce, new._alive(), _handed_to(vault_id))
    finally:
        wipe(between)


def unwrap_next_key(handover: bytes, old: MasterKey, *, vault_id: str) -> MasterKey:
    """The key that `hand_over` sealed."""
    from cryptography.exceptions import InvalidTag

    between, key = old.subkey(Purpose.ROTATION), bytearray(KEY_BYTES)
    try:
        if len(handover) != _NONCE_BYTES + KEY_BYTES + _TAG_BYTES:
            raise InvalidTag
        _cipher(between).decrypt_into(handover[:_NONCE_BYTES], handover[_NONCE_BYTES:], _handed_to(vault_id), key)
    except InvalidTag:
        wipe(key)
        raise VaultDamaged("The vault header's next key does not verify.") from None
    finally:
        wipe(between)
    return MasterKey(key)


def _handed_to(vault_id: str) -> bytes:
    return f"engram/handover/v1/{vault_id}".encode()


def _bound_to(vault_id: str) -> bytes:
    return f"engram/wrapped-key/v1/{vault_id}".encode()


def _cipher(kek: bytearray) -> AESGCMSIV:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV

    # SIV: a nonce that comes up twice, say from a restored machine image, shows equality and nothing more (RFC 8452).
    try:
        return AESGCMSIV(kek)
    except UnsupportedAlgorithm:
        raise _no_algorithm("AES-GCM-SIV") from None


def passphrase_key(passphrase: str, kdf: Kdf) -> bytearray:
    """The key that a passphrase stands for; wipe it after use."""
    from cryptography.exceptions import UnsupportedAlgorithm

    secret = _passphrase_bytes(passphrase)
    kek = bytearray(KEY_BYTES)
    try:
        _derivation(kdf).derive_into(secret, kek)
    except MemoryError:
        raise MemoryPressure(f"There is not enough memory to turn the passphrase into a key ({kdf.name}).") from None
    except UnsupportedAlgorithm:
        raise _no_algorithm(kdf.name) from None
    return kek


def _derivation(kdf: Kdf) -> Argon2id | Scrypt:
    given = kdf.parameters
    if kdf.name == "scrypt":
        from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

        return Scrypt(kdf.salt, KEY_BYTES, n=1 << given["log_n"], r=_SCRYPT_BLOCK, p=given["lanes"])
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

    return Argon2id(
        salt=kdf.salt, length=KEY_BYTES, iterations=given["passes"], lanes=given["lanes"], memory_cost=given["memory_kib"]
    )


def _passphrase_bytes(passphrase: str) -> bytes:
    """NFKC, so that two keyboards that compose é differently type the same passphrase; then UTF-8."""
    if not passphrase:
        raise VaultLocked("The passphrase is empty.", way_out="Give one of several words that nobody would guess.")
    import unicodedata

    # surrogatepass: bytes in the environment that are not UTF-8 arrive as lone surrogates, and an error would quote them.
    return unicodedata.normalize("NFKC", passphrase).encode("utf-8", "surrogatepass")


def _no_algorithm(name: str) -> EncryptionFailed:
    return EncryptionFailed(
        f"The installed `cryptography` package cannot do {name}.", way_out="Install its wheel from PyPI, version 50 or later."
    )
