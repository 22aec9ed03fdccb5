"""Digests without OpenSSL equal those of the standard library."""

from __future__ import annotations

import hashlib
import hmac
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engram.crypto.digests import hmac_sha256, sha256

RFC_4231 = [
    (b"\x0b" * 20, b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
    (b"Jefe", b"what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
    (b"\xaa" * 20, b"\xdd" * 50, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
    (bytes(range(1, 26)), b"\xcd" * 50, "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
    (
        b"\xaa" * 131,
        b"Test Using Larger Than Block-Size Key - Hash Key First",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
    ),
    (
        b"\xaa" * 131,
        b"This is a test using a larger than block-size key and a larger than block-size data. "
        b"The key needs to be hashed before being used by the HMAC algorithm.",
        "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
    ),
]


@pytest.mark.parametrize(("key", "message", "expected"), RFC_4231)
def test_hmac_matches_the_test_vectors_of_the_rfc(key: bytes, message: bytes, expected: str) -> None:
    assert hmac_sha256(key, message).hex() == expected


@given(key=st.binary(max_size=200), message=st.binary(max_size=500))
@example(key=b"k" * 64, message=b"")
@example(key=b"k" * 65, message=b"m" * 64)
def test_digests_equal_those_of_hashlib(key: bytes, message: bytes) -> None:
    held = bytearray(key)
    assert sha256(message) == hashlib.sha256(message).digest()
    assert hmac_sha256(held, bytearray(message)) == hmac.digest(key, message, "sha256")
    assert held == key  # what is zeroed is what was made of it


@pytest.mark.parametrize("missing", [(), ("_sha2", "_sha256")])
def test_a_build_without_the_module_falls_back_to_hashlib(missing: tuple[str, ...]) -> None:
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({missing!r})); from engram.crypto.digests import hmac_sha256; "
        "print('_hashlib' in sys.modules, hmac_sha256(b'Jefe', b'what do ya want for nothing?').hex())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == [str(bool(missing)), RFC_4231[1][2]]
