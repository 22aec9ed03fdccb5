"""The command that purges."""

from __future__ import annotations

from serve.console import Engram


def test_a_purge_that_matches_nothing_reports_it(made: Engram) -> None:
    ran = made("purge", "agent", "nobody", "--dry-run")
    assert (ran.code, ran.out) == (0, "Nothing of that name is here.\n")
