"""The benchmark of a server: every request is answered, and no thread or descriptor is left."""

from __future__ import annotations

from serve.console import Engram


def test_every_request_is_answered_and_no_thread_and_no_descriptor_is_left(engram: Engram) -> None:
    found = engram("bench", "serve", "--requests", "20", "--in-flight", "4", "--json").json
    assert (found["requests"], found["failed"]) == (20, 0)
    assert found["threads"][2] <= found["threads"][0]
    assert found["descriptors"][2] <= found["descriptors"][0]
    assert 0 < found["p50_ms"] <= found["p99_ms"]
    assert found["direct_cpu_ms"] > 0
    assert found["cpu_ms"] > 0
