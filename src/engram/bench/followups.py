"""Measure whether the topic of a conversation helps a follow-up message and leaves a self-contained one alone.

Input: files as for `bench recall`. Each question that names its evidence is followed by messages that refer to it without its
words ("why?"). Each is also asked after another question, towards whose topic it must not be drawn. The figure is the share of
the evidence among the first ten turns by vectors alone, the only arm of recall that uses the topic.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from engram.bench.recall import Conversation, read_stores
from engram.errors import InvalidContent
from engram.models import catalogue
from engram.models.embedders import Embedder, OnnxEmbedder
from engram.rules.topics import Momentum, Vector, advance, assess_topic, blend, dependence, similarity, steady_query
from engram.rules.working import WorkingLimits
from engram.serve.operations.operation import ProgressCallback

Shares = dict[tuple[str, str], list[float]]

FOLLOW_UPS = ("ok, tell me more about that", "why?", "and then?", "what else was said about it?")
FOLLOWED, ALONE = "follow-up", "question of its own after another"
_FIRST = 10
_SERVED, _READY, _ANEW = "served from what was looked up ahead", "of those: as it was ready", "of those: looked up anew"
_ALWAYS_SHARE = 0.4  # share of the topic's vector for the comparison that draws every message: the specification's maximum


def run(
    paths: Sequence[Path],
    embedder: Embedder | None = None,
    stores: int | None = None,
    progress: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Return the mean shares of follow-ups and of self-contained questions, plain and drawn towards the topic."""
    embedder = embedder or OnnxEmbedder(catalogue.find(catalogue.DEFAULT))
    follow_ups = [embedder.query(text) for text in FOLLOW_UPS]
    shares: Shares = defaultdict(list)
    for path in paths:
        for number, store in enumerate(read_stores(path)):
            if stores is not None and number >= stores:
                break
            if progress is not None:
                progress(f"{path.name}, {store.name}", None)
            _measure(store, embedder, follow_ups, shares)
    if not shares:
        raise InvalidContent("no question of these files names its evidence.", way_out="See `engram bench recall --help`.")
    rows = {
        case: {method: float(np.mean(values)) for (of_case, method), values in shares.items() if of_case == case}
        for case in (FOLLOWED, ALONE)
    }
    ahead = {case: {name: row.pop(name, 0.0) for name in (_SERVED, _READY, _ANEW)} for case, row in rows.items()}
    return {"questions": len(shares[ALONE, "plain"]), f"R@{_FIRST}": rows, "ahead": ahead}


def _measure(store: Conversation, embedder: Embedder, follow_ups: Sequence[Vector], shares: Shares) -> None:
    questions = [question for question in store.questions if question.answerable and question.evidence]
    if len(questions) < 2:
        return
    refs = np.asarray([turn.ref or "" for turn in store.turns])
    turns = embedder.passages([f"{turn.speaker}: {turn.text}" for turn in store.turns])
    queries = [embedder.query(question.text) for question in questions]
    topics = [_topic_after(question.text, embedder) for question in questions]

    def share(vector: Vector, evidence: frozenset[str]) -> float:
        first = refs[np.argsort(-(turns @ vector))[:_FIRST]]
        return len(evidence.intersection(first.tolist())) / len(evidence)

    for number, question in enumerate(questions):
        wanted, topic, other = question.evidence, topics[number], topics[number - 1]
        for text, vector in zip(FOLLOW_UPS, follow_ups, strict=True):
            _prefetch(topic, text, vector, embedder.background[0], FOLLOWED, partial(share, evidence=wanted), shares)
            shares[FOLLOWED, "plain"].append(share(vector, wanted))
            shares[FOLLOWED, "drawn as it leans"].append(share(blend(topic, text, vector), wanted))
            shares[FOLLOWED, "always drawn"].append(share(_always_drawn(topic, vector), wanted))
        _prefetch(other, question.text, queries[number], embedder.background[0], ALONE, partial(share, evidence=wanted), shares)
        shares[ALONE, "plain"].append(share(queries[number], wanted))
        shares[ALONE, "drawn as it leans"].append(share(blend(other, question.text, queries[number]), wanted))
        shares[ALONE, "always drawn"].append(share(_always_drawn(other, queries[number]), wanted))


def _prefetch(
    topic: Momentum, text: str, vector: Vector, background: float, case: str, share: Callable[[Vector], float], shares: Shares
) -> None:
    """Add whether the result prefetched after the last turn would be served for this message, and how good it would be."""
    course = steady_query(topic)
    if course is None or not (dependent := dependence(text)):
        shares[case, _SERVED].append(0.0)
        return
    drawn = course if dependent >= 1.0 else blend(topic, text, vector)
    near = similarity(drawn, course, background)
    hit = near is not None and near >= WorkingLimits().anticipated
    shares[case, _SERVED].append(float(hit))
    if hit:
        shares[case, _READY].append(share(course))
        shares[case, _ANEW].append(share(drawn))


def _topic_after(text: str, embedder: Embedder) -> Momentum:
    reading = assess_topic(Momentum(), text, None, embedder.background[0])
    return advance(Momentum(), text, embedder.passages([text])[0], reading, as_question=embedder.query(text))


def _always_drawn(topic: Momentum, vector: Vector) -> Vector:
    if topic.centroid is None:
        return vector
    return np.asarray((1.0 - _ALWAYS_SHARE) * vector + _ALWAYS_SHARE * topic.centroid, np.float32)


def render(results: dict[str, Any]) -> str:
    """Return the figures as text."""
    rows = results[f"R@{_FIRST}"]
    methods = list(rows[FOLLOWED])
    width = max(map(len, rows))
    lines = [f"{case:<{width}}  " + "  ".join(f"{row[name]:<{len(name)}.3f}" for name in methods) for case, row in rows.items()]
    head = f"{results['questions']:,} questions, R@{_FIRST} by vectors alone"
    ahead = [
        f"{case}: {row[_SERVED]:.1%} {_SERVED}; {_READY} {row[_READY]:.3f}, {_ANEW} {row[_ANEW]:.3f}"
        for case, row in results["ahead"].items()
    ]
    return "\n".join([head, "", f"{'':<{width}}  " + "  ".join(methods), *lines, "", *ahead])
