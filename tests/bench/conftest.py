"""The command line in the test's process, as the tests of `serve` have it."""

from __future__ import annotations

from serve.conftest import engram, vault

__all__ = ["engram", "vault"]
