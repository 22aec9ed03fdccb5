"""Measure how well changes of topic are detected, against the plain method: similarity to the turn before, with a threshold.

A line of the file is a conversation: {"turns": [{"text": …, "shift": true if this turn changes the topic}, …]}. The baseline's
threshold is the best one for this very file, which no real use can know; ours are the product's.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engram.errors import InvalidContent
from engram.models import catalogue
from engram.models.embedders import Embedder, OnnxEmbedder
from engram.rules.topics import Momentum, Topic, advance, assess_topic, similarity
from engram.serve.operations.operation import ProgressCallback
from engram.values.frozen import frozen


@frozen
class SwitchFigures:
    """Precision, recall and F1 of detected changes of topic."""

    precision: float
    recall: float
    f1: float


def run(path: Path, embedder: Embedder | None = None, progress: ProgressCallback | None = None) -> dict[str, Any]:
    """Return the figures of the product and of the baselines, over all turns but the first of each conversation."""
    conversations = _conversations(path)
    embedder = embedder or OnnxEmbedder(catalogue.find(catalogue.DEFAULT))
    shifts: list[bool] = []
    ours: list[Topic] = []
    to_last_turn: list[float] = []
    to_running_mean: list[float] = []
    for number, turns in enumerate(conversations):
        if progress is not None:
            progress(f"{number:,} conversations", number / len(conversations))
        momentum = Momentum()
        passages = embedder.passages([text for text, _ in turns])
        for at, (text, shift) in enumerate(turns):
            query, passage = embedder.query(text), passages[at]
            reading = assess_topic(momentum, text, query, embedder.background[0])
            if at:
                shifts.append(shift)
                ours.append(reading.topic)
                to_last_turn.append(similarity(query, passages[at - 1], embedder.background[0]) or 0.0)
                to_running_mean.append(reading.to_centroid or 0.0)
            momentum = advance(momentum, text, passage, reading)
    true = np.asarray(shifts)
    return {
        "conversations": len(conversations),
        "turns": len(shifts),
        "shifts": int(true.sum()),
        "engram": _figures(np.asarray([topic is Topic.SWITCH for topic in ours]), true),
        "engram, switch or drift": _figures(np.asarray([topic is not Topic.CONTINUATION for topic in ours]), true),
        "cosine to the last turn, best threshold": _best(np.asarray(to_last_turn), true),
        "cosine to the running mean, best threshold": _best(np.asarray(to_running_mean), true),
        "every turn": _figures(np.ones(len(true), bool), true),
    }


def render(results: dict[str, Any]) -> str:
    """Return the figures as text."""
    head = f"{results['turns']:,} turns of {results['conversations']:,} conversations, {results['shifts']:,} change the topic"
    rows = [(name, figures) for name, figures in results.items() if isinstance(figures, SwitchFigures)]
    width = max(len(name) for name, _ in rows)
    lines = [f"{name:<{width}}  {row.precision:.2f}       {row.recall:.2f}    {row.f1:.3f}" for name, row in rows]
    return "\n".join([head, "", f"{'':<{width}}  precision  recall  F1", *lines])


def _conversations(path: Path) -> list[list[tuple[str, bool]]]:
    raw = path.read_bytes()
    try:
        lines = (gzip.decompress(raw) if path.name.endswith(".gz") else raw).decode().splitlines()
        conversations = [[(str(turn["text"]), bool(turn["shift"])) for turn in json.loads(line)["turns"]] for line in lines]
    except (ValueError, KeyError, TypeError, EOFError, gzip.BadGzipFile):
        conversations = []
    if not any(len(turns) > 1 for turns in conversations):
        raise InvalidContent(
            "this file has no conversations with turns of text and shift.", way_out="Put one conversation on each line."
        )
    return conversations


def _best(scores: np.ndarray[Any, Any], true: np.ndarray[Any, Any]) -> SwitchFigures:
    """Return the figures of the threshold with the best F1, among 99 quantiles of the scores."""
    thresholds = np.quantile(scores, np.linspace(0.01, 0.99, 99))
    return max((_figures(scores < threshold, true) for threshold in thresholds), key=lambda figures: figures.f1)


def _figures(detected: np.ndarray[Any, Any], true: Sequence[bool] | np.ndarray[Any, Any]) -> SwitchFigures:
    hits = int((detected & true).sum())
    precision, recall = hits / max(int(detected.sum()), 1), hits / max(int(np.sum(true)), 1)
    return SwitchFigures(precision, recall, 2 * precision * recall / max(precision + recall, 1e-9))
