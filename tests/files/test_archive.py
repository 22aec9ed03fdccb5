"""S8: an archive opens only with its passphrase, and only if it is complete and unchanged."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engram.errors import EncryptionFailed, EngramError, InvalidContent, VaultLocked
from engram.files import archive

WORDS = "correct horse battery staple"


def made(records: list[dict[str, Any]], passphrase: str = WORDS) -> bytes:
    file = io.BytesIO()
    assert archive.write(file, records, passphrase, log_n=14, random=os.urandom, about={}) == len(records)
    return file.getvalue()


def read(content: bytes, passphrase: str = WORDS) -> list[dict[str, Any]]:
    return list(archive.read(io.BytesIO(content), passphrase))


@pytest.fixture(scope="module")
def large() -> tuple[list[dict[str, Any]], bytes]:
    records = [{"type": "turn", "number": n, "text": os.urandom(40).hex() * 60} for n in range(200)]
    return records, made(records)


def test_the_records_that_were_written_are_read_back(large: tuple[list[dict[str, Any]], bytes]) -> None:
    records, content = large
    assert len(content) > 2 * 256 * 1024  # several pieces
    assert read(content) == records
    assert read(made([])) == []


def test_no_word_of_an_archive_can_be_read_without_its_passphrase() -> None:
    content = made([{"type": "turn", "text": "the password of the harbour is seagull"}])
    assert b"seagull" not in content
    with pytest.raises(VaultLocked):
        read(content, "correct horse battery stable")


def test_an_archive_that_is_cut_anywhere_does_not_open(large: tuple[list[dict[str, Any]], bytes]) -> None:
    _, content = large
    for length in (0, 5, 20, 40, 1000, 256 * 1024 + 50, len(content) // 2, len(content) - 1):
        with pytest.raises((EncryptionFailed, VaultLocked, InvalidContent)):
            read(content[:length])
    with pytest.raises(EngramError):
        read(content + b"x")


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_byte_anywhere_is_detected(large: tuple[list[dict[str, Any]], bytes], data: st.DataObject) -> None:
    _, content = large
    at = data.draw(st.integers(10, len(content) - 1))  # the cost before it may be raised: that only takes longer
    bad = bytearray(content)
    bad[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises((EncryptionFailed, VaultLocked)):
        read(bytes(bad))


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=200))
def test_a_file_that_is_no_archive_is_refused(content: bytes) -> None:
    with pytest.raises(EngramError):
        read(archive.MAGIC[:4] + content)


def test_records_before_the_damage_are_read_and_then_an_error_is_raised() -> None:
    records = [{"type": "turn", "number": n, "text": os.urandom(30_000)} for n in range(40)]
    content = bytearray(made(records))
    content[-20] ^= 1
    reading: Iterator[dict[str, Any]] = archive.read(io.BytesIO(bytes(content)), WORDS)
    assert next(reading)["number"] == 0
    with pytest.raises(EncryptionFailed):
        list(reading)
