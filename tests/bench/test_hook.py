"""The benchmark of hooks calls every event as a host would; the two that have memories to show print them."""

from __future__ import annotations

from serve.console import Engram


def test_every_event_is_called_beside_a_bare_interpreter(engram: Engram) -> None:
    found = engram("bench", "hook", "--memories", "40", "--runs", "1", "--json").json
    assert (found["memories"], found["runs"], len(found["events"])) == (40, 1, 5)
    assert [event["answered"] for event in found["events"]] == [False, False, True, True, False]
    assert all(event["clock_ms"] > 0 for event in (found["bare"], *found["events"]))
    slowest = max(event["clock_ms"] for event in found["events"])
    assert [(bar["value"], bar["passed"]) for bar in found["bars"]][1] == (slowest, slowest < 100)
