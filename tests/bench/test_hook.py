"""The measurement of hooks: every event is called as a host would, and the two that have something to say say it."""

from __future__ import annotations

from serve.console import Engram


def test_every_event_is_called_beside_a_bare_interpreter(engram: Engram) -> None:
    found = engram("bench", "hook", "--memories", "40", "--runs", "1", "--json").json
    assert (found["memories"], found["runs"], len(found["events"])) == (40, 1, 5)
    assert [one["answered"] for one in found["events"]] == [False, False, True, True, False]
    assert all(one["clock_ms"] > 0 for one in (found["bare"], *found["events"]))
    slowest = max(one["clock_ms"] for one in found["events"])
    assert [(one["value"], one["passed"]) for one in found["bars"]][1] == (slowest, slowest < 100)
