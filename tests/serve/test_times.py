"""Moments on every face: the operation table reads them with a zone, without one, and as a mere day."""

from __future__ import annotations

from pathlib import Path

import pytest
from recall.vaults import open_engram

from engram.serve.operations import OPERATIONS
from engram.serve.operations.schema import read


@pytest.mark.parametrize("moment", ["2026-09-01", "2026-09-01T00:00:00", "2026-09-01T00:00:00Z", "2026-09-01T02:00:00+02:00"])
@pytest.mark.parametrize("query", ["bicycle", "What happened in September 2026?", "What did I sell on 12 September 2026?"])
def test_a_moment_may_have_a_zone_or_none_or_be_a_day(tmp_path: Path, moment: str, query: str) -> None:
    recall, remember = OPERATIONS["recall"], OPERATIONS["remember"]
    with open_engram(tmp_path / "v") as mem:
        remember.run(mem, read(remember, {"text": "I sold the red bicycle", "happened_at": moment.replace("09-01", "09-12")}))
        assert len(recall.run(mem, read(recall, {"query": query, "since": moment, "limit": 5}))) == 1
        assert len(recall.run(mem, read(recall, {"query": query, "until": moment, "limit": 5}))) == 0
        assert recall.run(mem, read(recall, {"query": query, "as_of": moment.replace("2026", "2020"), "limit": 5})).hits == ()
