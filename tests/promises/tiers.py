"""How much of a promise each tier of tests tries: a short round in `make test`, a long one in `make test-slow`."""

from __future__ import annotations

import pytest


def short_and_long(name: str, short: int, long: int) -> pytest.MarkDecorator:
    """Parametrize a test by an amount of work; the long amount is marked `slow`."""
    return pytest.mark.parametrize(name, [pytest.param(short, id="short"), pytest.param(long, id="long", marks=pytest.mark.slow)])
