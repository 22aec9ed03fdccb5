"""The benchmark of speed has every figure that it promises, without a model too."""

from __future__ import annotations

import functools
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engram.bench import speed

pytestmark = pytest.mark.slow  # a run of a benchmark, however small


@functools.cache
def trial() -> tuple[dict[str, Any], list[str], set[Path]]:
    """Return the results of a small run, made once for all tests; the stages it reported; and the files it left behind."""
    stages: list[str] = []
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", folder)  # a folder of its own: other tests may measure at the same time
        results = speed.run((20, 60), progress=lambda stage, share: stages.append(stage))
        return results, stages, set(Path(folder).iterdir())


def test_a_small_run_has_every_figure_at_every_size() -> None:
    results, stages, left = trial()
    assert [found["memories"] for found in results["sizes"]] == [20, 60]
    for found in results["sizes"]:
        assert {"embedding", "recall", "numpy", "fts5", "stages", "ratio", "outside_stages_ms"} <= set(found["recall"])
        assert {"embed", "vectors", "words", "fuse", "fetch", "select"} <= set(found["recall"]["stages"])
        assert {"embedding", "remember", "observe", "ratio"} == set(found["remember"])
        assert {"open_ms", "first_answer_ms", "first_with_vectors_ms", "rss_mib"} <= set(found["open"])
        assert all(math.isfinite(value) and value > 0 for value in found["ingest"].values())
        assert found["recall"]["strategies"] == {"vectors+words": 6}
    assert stages[-1] == "done"
    assert left == set()


def test_without_a_model_ratios_have_no_limits_and_the_report_says_so() -> None:
    results, _, _ = trial()
    assert results["environment"]["encoder_installed"] is False
    assert results["bars"] == []
    page = speed.render(results)
    assert "none installed" in page
    assert all(math.isfinite(value) and value > 0 for value in results["import"].values())
    for words in ("import without encoding", "numpy exact scan", "plain FTS5", "remember", "ingest", "open", "memory", "stages"):
        assert words in page


def test_bars_hold_at_their_limit_and_not_beyond() -> None:
    results, _, _ = trial()
    figures = results["sizes"][0]
    for ratio, passed in ((2.5, True), (2.6, False)):
        size = {**figures, "memories": 100_000, "recall": {**figures["recall"], "ratio": ratio}}
        bars = speed.bars({**results, "environment": {"encoder_installed": True}, "sizes": [size]})
        assert [bar["limit"] for bar in bars] == [2.5, 4.0, 1 / 0.85, 1000.0, 350.0, 1000.0]
        assert bars[0]["passed"] is passed
        assert "FAIL" not in speed.render({**results, "bars": [bars[0]]}) or not passed


def test_directions_are_of_length_one_and_repeatable() -> None:
    made = speed.directions(5, 16, 3)
    assert np.allclose(np.linalg.norm(made, axis=1), 1)
    assert np.array_equal(made, speed.directions(5, 16, 3))
