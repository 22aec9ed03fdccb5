"""Does the way of a talk help a message that says little, and leave alone one that says enough?

Files as for `bench recall`. Each question that names its evidence is asked; then comes a follow-up that means it without its
words. And each is asked after another one, whose way it must not be drawn to. Measured is the share of the evidence among the
first ten turns by vectors alone, which is all that the way of a talk has a part in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from engram.bench.recall import Store, read_stores
from engram.errors import InvalidContent
from engram.models import catalog
from engram.models.embedders import Embedder, OnnxEmbedder
from engram.rules.topics import Momentum, Vector, advance, assess_topic, blend, dependence, similarity, steady_query
from engram.rules.working import WorkingLimits

Told = Callable[[str, float | None], None]
Shares = dict[tuple[str, str], list[float]]

FOLLOW_UPS = ("ok, tell me more about that", "why?", "and then?", "what else was said about it?")
FOLLOWED, ALONE = "follow-up", "question of its own after another"
_FIRST = 10
_SERVED, _READY, _ANEW = "served from what was looked up ahead", "of those: as it was ready", "of those: looked up anew"
_ALWAYS = 0.4  # what the specification draws every message by, at most


def run(
    paths: Sequence[Path], embedder: Embedder | None = None, stores: int | None = None, progress: Told | None = None
) -> dict[str, Any]:
    embedder = embedder or OnnxEmbedder(catalog.find(catalog.DEFAULT))
    follow_ups = [embedder.query(text) for text in FOLLOW_UPS]
    shares: Shares = defaultdict(list)
    for path in paths:
        for number, store in enumerate(read_stores(path)):
            if stores is not None and number >= stores:
                break
            if progress is not None:
                progress(f"{path.name}, {store.name}", None)
            _ask(store, embedder, follow_ups, shares)
    if not shares:
        raise InvalidContent("no question of these files names its evidence.", way_out="See `engram bench recall --help`.")
    rows = {
        what: {how: float(np.mean(found)) for (one, how), found in shares.items() if one == what} for what in (FOLLOWED, ALONE)
    }
    ahead = {what: {how: row.pop(how, 0.0) for how in (_SERVED, _READY, _ANEW)} for what, row in rows.items()}
    return {"questions": len(shares[ALONE, "plain"]), f"R@{_FIRST}": rows, "ahead": ahead}


def _ask(store: Store, embedder: Embedder, follow_ups: Sequence[Vector], shares: Shares) -> None:
    questions = [one for one in store.questions if one.answerable and one.evidence]
    if len(questions) < 2:
        return
    refs = np.asarray([turn.ref or "" for turn in store.turns])
    kept = embedder.passages([f"{turn.speaker}: {turn.text}" for turn in store.turns])
    asked = [embedder.query(question.text) for question in questions]
    ways = [_way(question.text, embedder) for question in questions]

    def share(vector: Vector, evidence: frozenset[str]) -> float:
        first = refs[np.argsort(-(kept @ vector))[:_FIRST]]
        return len(evidence.intersection(first.tolist())) / len(evidence)

    for number, question in enumerate(questions):
        wanted, way, other = question.evidence, ways[number], ways[number - 1]
        for text, vector in zip(FOLLOW_UPS, follow_ups, strict=True):
            _look_ahead(way, text, vector, embedder.background[0], FOLLOWED, partial(share, evidence=wanted), shares)
            shares[FOLLOWED, "plain"].append(share(vector, wanted))
            shares[FOLLOWED, "drawn as it leans"].append(share(blend(way, text, vector), wanted))
            shares[FOLLOWED, "always drawn"].append(share(_always(way, vector), wanted))
        _look_ahead(other, question.text, asked[number], embedder.background[0], ALONE, partial(share, evidence=wanted), shares)
        shares[ALONE, "plain"].append(share(asked[number], wanted))
        shares[ALONE, "drawn as it leans"].append(share(blend(other, question.text, asked[number]), wanted))
        shares[ALONE, "always drawn"].append(share(_always(other, asked[number]), wanted))


def _look_ahead(
    way: Momentum, text: str, vector: Vector, background: float, what: str, share: Callable[[Vector], float], shares: Shares
) -> None:
    """Would what was looked up after the last turn be served for this one, and is it as good as what is looked up now?"""
    course = steady_query(way)
    if course is None or not (lean := dependence(text)):
        shares[what, _SERVED].append(0.0)
        return
    drawn = course if lean >= 1.0 else blend(way, text, vector)
    near = similarity(drawn, course, background)
    hit = near is not None and near >= WorkingLimits().anticipated
    shares[what, _SERVED].append(float(hit))
    if hit:
        shares[what, _READY].append(share(course))
        shares[what, _ANEW].append(share(drawn))


def _way(text: str, embedder: Embedder) -> Momentum:
    reading = assess_topic(Momentum(), text, None, embedder.background[0])
    return advance(Momentum(), text, embedder.passages([text])[0], reading, asked=embedder.query(text))


def _always(way: Momentum, vector: Vector) -> Vector:
    return vector if way.centroid is None else np.asarray((1.0 - _ALWAYS) * vector + _ALWAYS * way.centroid, np.float32)


def render(results: dict[str, Any]) -> str:
    rows = results[f"R@{_FIRST}"]
    ways = list(rows[FOLLOWED])
    width = max(map(len, rows))
    lines = [f"{what:<{width}}  " + "  ".join(f"{row[how]:<{len(how)}.3f}" for how in ways) for what, row in rows.items()]
    head = f"{results['questions']:,} questions, R@{_FIRST} by vectors alone"
    ahead = [
        f"{what}: {row[_SERVED]:.1%} {_SERVED}; {_READY} {row[_READY]:.3f}, {_ANEW} {row[_ANEW]:.3f}"
        for what, row in results["ahead"].items()
    ]
    return "\n".join([head, "", f"{'':<{width}}  " + "  ".join(ways), *lines, "", *ahead])
