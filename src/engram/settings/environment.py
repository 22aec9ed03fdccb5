"""Environment variables that are no settings."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator


def passphrase() -> str | None:
    """Return the passphrase in `ENGRAM_PASSPHRASE`, or None."""
    return os.environ.get("ENGRAM_PASSPHRASE")


def secret(name: str) -> str:
    """Return the API key in the environment variable `name`; empty if there is none that can be sent in a header."""
    value = os.environ.get(name, "").strip() if name else ""
    return value if value.isascii() and value.isprintable() else ""


def completing() -> bool:
    """Return True if a shell asks for completions of a command line."""
    return "_ENGRAM_COMPLETE" in os.environ


@contextlib.contextmanager
def environment_variable(name: str, value: str) -> Iterator[None]:
    """Set an environment variable within this block, for a library that is configured no other way."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
