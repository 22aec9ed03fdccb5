"""How well a change of topic is noticed, beside the plain way: likeness to the turn before, cut at its best place.

A line of the file is a conversation: {"turns": [{"text": …, "shift": true if this turn changes the topic}, …]}. The baseline's
threshold is the one that is best for this very file, which no real use knows; ours are those of the product.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engram.errors import InvalidContent
from engram.models import catalog
from engram.models.embedders import Embedder, OnnxEmbedder
from engram.rules.topics import Momentum, Topic, advance, assess_topic, similarity
from engram.values.frozen import frozen

Told = Callable[[str, float | None], None]


@frozen
class Figures:
    """Of the turns that change the topic: how many were noticed, how many of those noticed did, and both in one number."""

    precision: float
    recall: float
    f1: float


def run(path: Path, embedder: Embedder | None = None, progress: Told | None = None) -> dict[str, Any]:
    """Switches found by the product and by the baselines, over all turns but the first of each conversation."""
    talks = _talks(path)
    embedder = embedder or OnnxEmbedder(catalog.find(catalog.DEFAULT))
    shifts: list[bool] = []
    ours: list[Topic] = []
    nearness: list[float] = []
    along: list[float] = []
    for number, talk in enumerate(talks):
        if progress is not None:
            progress(f"{number:,} conversations", number / len(talks))
        way = Momentum()
        passages = embedder.passages([text for text, _ in talk])
        for at, (text, shift) in enumerate(talk):
            asked, said = embedder.query(text), passages[at]
            reading = assess_topic(way, text, asked, embedder.background[0])
            if at:
                shifts.append(shift)
                ours.append(reading.topic)
                nearness.append(similarity(asked, passages[at - 1], embedder.background[0]) or 0.0)
                along.append(reading.along or 0.0)
            way = advance(way, text, said, reading)
    true = np.asarray(shifts)
    return {
        "conversations": len(talks),
        "turns": len(shifts),
        "shifts": int(true.sum()),
        "engram": _figures(np.asarray([topic is Topic.SWITCH for topic in ours]), true),
        "engram, switch or drift": _figures(np.asarray([topic is not Topic.CONTINUATION for topic in ours]), true),
        "cosine to the last turn, best threshold": _best(np.asarray(nearness), true),
        "cosine to the running mean, best threshold": _best(np.asarray(along), true),
        "every turn": _figures(np.ones(len(true), bool), true),
    }


def render(results: dict[str, Any]) -> str:
    head = f"{results['turns']:,} turns of {results['conversations']:,} conversations, {results['shifts']:,} change the topic"
    rows = [(name, figures) for name, figures in results.items() if isinstance(figures, Figures)]
    width = max(len(name) for name, _ in rows)
    lines = [f"{name:<{width}}  {one.precision:.2f}       {one.recall:.2f}    {one.f1:.3f}" for name, one in rows]
    return "\n".join([head, "", f"{'':<{width}}  precision  recall  F1", *lines])


def _talks(path: Path) -> list[list[tuple[str, bool]]]:
    raw = path.read_bytes()
    try:
        lines = (gzip.decompress(raw) if path.name.endswith(".gz") else raw).decode().splitlines()
        found = [[(str(turn["text"]), bool(turn["shift"])) for turn in json.loads(line)["turns"]] for line in lines]
    except (ValueError, KeyError, TypeError, EOFError, gzip.BadGzipFile):
        found = []
    if not any(len(talk) > 1 for talk in found):
        raise InvalidContent("this file has no conversations with turns of text and shift.", way_out="A line is a conversation.")
    return found


def _best(scores: np.ndarray[Any, Any], true: np.ndarray[Any, Any]) -> Figures:
    return max((_figures(scores < cut, true) for cut in np.quantile(scores, np.linspace(0.01, 0.99, 99))), key=lambda one: one.f1)


def _figures(found: np.ndarray[Any, Any], true: Sequence[bool] | np.ndarray[Any, Any]) -> Figures:
    hits = int((found & true).sum())
    precision, recall = hits / max(int(found.sum()), 1), hits / max(int(np.sum(true)), 1)
    return Figures(precision, recall, 2 * precision * recall / max(precision + recall, 1e-9))
