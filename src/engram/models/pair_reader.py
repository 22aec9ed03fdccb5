"""The pair model: what a later statement does to an earlier one of the same owner (`training/pairs`).

A small network reads both statements together and scores three answers that exclude each other: the later one says the same,
replaces the earlier one, or neither. The weights lie in `pairs/` beside this module, and are read on first use; the tokenizer is
that of the statement model.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from engram.models.bundled import read_model, session_of, tokenizer_of
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from pathlib import Path


@frozen
class PairJudgement:
    """The judgement on two statements, in probabilities: that they say the same, and that the later replaces the earlier one."""

    same: float
    replaces: float


class PairReader:
    """Judges pairs of statements. Its files are read on first use and shared by all threads."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._weights: _Weights | None = None

    def load(self) -> None:
        """Read the files of the model; raise `EmbedderUnavailable` if they cannot be read."""
        self._load()

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[PairJudgement]:
        """Return the judgement on each pair of an earlier and a later statement.

        Pairs are read one at a time: with 8-bit weights a score depends slightly on the rest of its batch. Many pairs are spread
        over the cores.
        """
        self._load()
        if len(pairs) < _TOGETHER:
            return [self._judge(*pair) for pair in pairs]
        with ThreadPoolExecutor(os.cpu_count() or 1, "engram-pairs") as pool:  # of one call: kept threads do not survive a fork
            return list(pool.map(lambda pair: self._judge(*pair), pairs))

    def _judge(self, earlier: str, later: str) -> PairJudgement:
        weights = self._load()
        first, second = (
            weights.tokenizer.encode(text, add_special_tokens=False).ids[: weights.tokens] for text in (earlier, later)
        )
        ids = np.asarray([[weights.cls, *first, weights.sep, *second, weights.sep]], np.int64)
        segments = np.asarray([[0] * (len(first) + 2) + [1] * (len(second) + 1)], np.int64)
        scores = weights.session.run(None, {"ids": ids, "mask": np.ones_like(ids), "segments": segments})[0][0]
        odds = np.exp(scores - scores.max())
        odds /= odds.sum()
        return PairJudgement(float(odds[weights.same]), float(odds[weights.replaces]))

    def _load(self) -> _Weights:
        if self._weights is None:
            with self._lock:
                if self._weights is None:
                    self._weights = read_model("pair", self._folder, _read_weights)
        return self._weights


_TOGETHER = 2
"""Pairs from which several threads are worth it: the model runs outside Python's lock."""


@cache
def shared_pair_reader() -> PairReader:
    """Return the reader of the model in the package, one for all vaults of this process."""
    return PairReader()


@frozen
class _Weights:
    session: Any
    tokenizer: Any
    same: int
    replaces: int
    tokens: int
    cls: int
    sep: int


def _read_weights(place: Traversable) -> _Weights:
    card = json.loads(place.joinpath("card.json").read_text("utf-8"))
    tokenizer = tokenizer_of(files("engram.models").joinpath("statements"))
    labels = list(card["labels"])
    return _Weights(
        session=session_of(place, "model.onnx"),
        tokenizer=tokenizer,
        same=labels.index("same"),
        replaces=labels.index("replaces"),
        tokens=card["tokens"],
        cls=tokenizer.token_to_id("[CLS]") or 0,
        sep=tokenizer.token_to_id("[SEP]") or 0,
    )
