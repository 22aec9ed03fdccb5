"""The newest of several statements on the same matter first."""

from __future__ import annotations

import numpy as np

from engram.recall.rerank import newest


def test_the_newest_of_several_statements_on_the_same_matter_ranks_first() -> None:
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.99, 0.1]], np.float32)
    scores = np.array([3.0, 2.9, 2.8], np.float32)
    assert newest(scores, vectors, [10, 20, 30], ["user"] * 3, 0.9) == [2, 0, 1]
    assert newest(scores, vectors, [30, 20, 10], ["user"] * 3, 0.9) == [0, 1, 2]  # it is the newest already
    assert newest(scores, vectors, [10, 20, 30], ["user", "user", "assistant"], 0.9) == [0, 1, 2]
    assert newest(np.array([3.0, 2.9, 1.0], np.float32), vectors, [10, 20, 30], ["user"] * 3, 0.9) == [0, 1, 2]
    assert newest(scores, vectors, [10, 20, None], ["user"] * 3, 0.9) == [0, 1, 2]
