"""The arms: each looks for the question in its own way and answers with keys and scores, best first, or not at all.

An arm that cannot work says so in `notes`, and the others go on. A further arm is a further method of the same shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np

from engram.errors import EmbeddingError
from engram.frozen import replace
from engram.index.lexical import TermPlanner
from engram.index.vectors.live import LiveIndex, Nearest
from engram.models.embed import Embedder, Vectors
from engram.recall.activation import Way, spread
from engram.recall.fusion import ArmResult, Fused
from engram.recall.plan import Asked, Plan
from engram.recall.weights import attainable
from engram.store.sqlite.nearby import Step
from engram.store.sqlite.rows import narrow
from engram.store.sqlite.store import SqliteStore
from engram.text.entities import mentions
from engram.text.terms import terms
from engram.types import Reader, Space, TextHit

SPACE = "text"
VECTORS, WORDS, WORDINGS, ENTITY, GRAPH = "vectors", "words", "wordings", "entity", "graph"
_ABOUT_THEN = timedelta(days=3)
_NAMED = 0.5  # the activation of what names whom a question names, whether or not it is near
_BY_NAME = 0.35  # what reaching something over a name counts against a link that somebody made, unless connections are asked for


class Arms:
    """Made once for an open vault; `embedder` and `index` may be missing."""

    def __init__(self, store: SqliteStore, embedder: Embedder | None, index: LiveIndex | None) -> None:
        self._store = store
        self._embedder = embedder
        self._index = index
        everyone = Reader()
        self._planner = TermPlanner(lambda terms, most: store.frequencies(everyone, terms, most=most))

    def equip(self, embedder: Embedder | None, index: LiveIndex | None) -> None:
        self._embedder, self._index = embedder, index

    @property
    def background(self) -> float:
        """The cosine of things that have nothing to do with each other."""
        return 0.0 if self._embedder is None else self._embedder.background[0]

    @property
    def space(self) -> Space | None:
        """Whose vectors questions are compared by; None without an encoder, or while its length is not known."""
        own = self._embedder
        return Space(SPACE, own.fingerprint, own.dimensions) if own is not None and own.dimensions else None

    def encode(self, text: str, notes: list[str]) -> Vectors | None:
        if self._embedder is None:
            notes.append("no model is installed: this answer is from words alone (`engram model install`).")
            return None
        try:
            return self._embedder.query(text)
        except EmbeddingError as error:
            notes.append(f"{error.code}: {error.message} This answer is from words alone.")
            return None

    def vectors(self, reader: Reader, plan: Plan, query: Vectors | None, notes: list[str]) -> list[ArmResult]:
        """What is near in meaning, on the scale of this question's likeness to anything."""
        if query is None or self._embedder is None or not self._is_ours(notes) or self._index is None:
            return []
        within = None if plan.where.indexed else self._store.keys_having(reader, plan.where)
        near = self._index.search(reader, query, plan.breadth, where=plan.where, within=within)
        if near is None:  # `complete` has the store read the vectors of what the other arms find
            notes.append("the vector index is still loading: only what the words found was compared by meaning.")
            near = Nearest(np.empty(0, np.int64), np.empty(0, np.float32))
        background, spread = self._index.background(query, self._embedder.background)
        return [ArmResult(VECTORS, near.keys, near.scores, background, spread)]

    def of_that_time(self, reader: Reader, plan: Plan, query: Vectors | None, arms: list[ArmResult]) -> list[ArmResult]:
        """The nearest of what happened in the time that the question names, or about then: among all they may be far."""
        when, mine = plan.sought.when, next((arm for arm in arms if arm.name == VECTORS), None)
        if when is None or query is None or mine is None or self._index is None or not plan.where.indexed:
            return arms
        slack = max(when[1] - when[0], _ABOUT_THEN)
        since, until = _earlier(when[0], slack), _later(when[1], slack)
        since = max(since, plan.where.since) if plan.where.since is not None else since
        until = min(until, plan.where.until) if plan.where.until is not None else until
        where = replace(plan.where, since=since, until=until)
        near = self._index.search(reader, query, plan.breadth, where=where) if since < until else None
        if near is None:
            return arms
        new = ~np.isin(near.keys, mine.keys)
        keys = np.concatenate((mine.keys, near.keys[new]))
        scores = np.concatenate((mine.scores, near.scores[new]))
        order = np.argsort(-scores, kind="stable")
        return [replace(mine, keys=keys[order], scores=scores[order]) if arm is mine else arm for arm in arms]

    def entity(self, reader: Reader, plan: Plan) -> list[ArmResult]:
        """What names whom the question asks all about, by whatever name, the latest first."""
        found = self._store.entity(reader, plan.sought.about) if plan.sought.about and plan.where.indexed else None
        if found is None:
            return []
        allowed = set(found[1]) if not narrow(plan.where) else set(self._store.keys_having(reader, plan.where))
        keys = np.array([key for key in found[1] if key in allowed][: plan.breadth], np.int64)
        return [ArmResult(ENTITY, keys, np.ones(len(keys), np.float32))] if len(keys) else []

    def graph(self, reader: Reader, plan: Plan, asked: Asked, found: Fused) -> tuple[list[ArmResult], Mapping[int, Way]]:
        """What links lead to from the first candidates, and what names whom the question names; with the way to each."""
        weights = plan.weights
        first = zip(found.keys[: weights.graph_seeds].tolist(), found.scores.tolist(), strict=False)
        top = max(float(found.scores[0]), 1e-6) if len(found.keys) else 1.0
        starts = {key: min(score / top, 1.0) for key, score in first if score > 0}
        names = [mention.name for mention in mentions(asked.text)]
        named = {one.there: one.by for one in self._store.naming(reader, names, most=weights.graph_seeds)}
        starts = dict.fromkeys(named, _NAMED) | starts

        def follow(front: Sequence[int]) -> list[Step]:
            links = self._store.linked(reader, front, asked.now, most=weights.graph_links)
            return links + self._store.named_alike(reader, front, fan=weights.graph_fan, most=weights.graph_links)

        by_name = 1.0 if plan.sought.connects else _BY_NAME
        reached = spread(starts, follow, weights, hops=plan.hops, most=plan.breadth)
        ways = {key: Way(key, (name,), named=True) for key, name in named.items()} | dict(reached.ways)
        levels = dict.fromkeys(named, _NAMED) | dict(zip(reached.keys.tolist(), reached.levels.tolist(), strict=True))
        levels = {key: level * (by_name if ways[key].named else 1.0) for key, level in levels.items()}
        passed = self._store.passing(reader, list(levels), plan.where) if narrow(plan.where) else levels
        best = sorted(passed, key=lambda key: (-levels[key], -key))[: plan.breadth]
        if not best:
            return [], {}
        scores = np.array([levels[key] for key in best], np.float32)
        return [ArmResult(GRAPH, np.array(best, np.int64), scores)], {key: ways[key] for key in best}

    def _is_ours(self, notes: list[str]) -> bool:
        """Are the vectors here of the model in use? Asked each time: another process may have made them all anew."""
        space = self._store.space(SPACE)
        if self._embedder is None or space is None:
            return space is None
        if (space.model, space.dimensions) == (self._embedder.fingerprint, self._embedder.dimensions):
            return True
        notes.append(
            f"E3003: the vectors here are of the model {space.model!r}: this answer is from words alone"
            " (`engram model fill --anew`)."
        )
        return False

    def admit_gaps(self, reader: Reader, notes: list[str]) -> None:
        """Before nothing is said to be known: what has no vector yet was not compared by its meaning."""
        if self._embedder is not None and self._store.lacks_vectors(reader, SPACE):
            notes.append("some memories have no vectors yet: they were looked up by their words alone (`engram model fill`).")

    def words(self, reader: Reader, plan: Plan, text: str) -> list[ArmResult]:
        """What holds the rare words of the question, or stands beside them; with what a match could score at best."""
        wanted = self._planner.plan(text, plan.postings, self._store.latest_change(reader))
        found = self._store.search_text(reader, wanted.terms, limit=plan.breadth, where=plan.where) if wanted.terms else []
        return [replace(arm, most=attainable(wanted.frequencies, self._size)) for arm in _arm(WORDS, found)]

    @property
    def _size(self) -> int:
        """How many memories there are, as far as the vector index knows; without one no weight depends on it."""
        return 0 if self._index is None else self._index.loaded

    def wordings(self, reader: Reader, plan: Plan, text: str) -> list[ArmResult]:
        """What held the words of the question at the moment asked about, and has other words now."""
        if plan.where.as_of is None:
            return []
        return _arm(WORDINGS, self._store.search_wordings(reader, terms(text), limit=plan.breadth, where=plan.where))

    def complete(self, reader: Reader, query: Vectors | None, arms: list[ArmResult]) -> list[ArmResult]:
        """What only another arm found has a likeness too: look it up, so that vectors speak of every candidate."""
        mine = next((arm for arm in arms if arm.name == VECTORS), None)
        others = [arm.keys for arm in arms if arm.name != VECTORS]
        if query is None or self._index is None or mine is None or not others:
            return arms
        keys = np.unique(np.concatenate(others))
        missing = keys[~np.isin(keys, mine.keys)]
        scores = self._index.score(reader, query, missing.tolist()) if len(missing) else None
        if scores is None:
            return arms
        known = np.isfinite(scores)
        keys = np.concatenate((mine.keys, missing[known]))
        full = np.concatenate((mine.scores, scores[known]))
        order = np.argsort(-full, kind="stable")
        whole = replace(mine, keys=keys[order], scores=full[order])
        return [whole if arm is mine else arm for arm in arms]

    def vectors_of(self, reader: Reader, keys: Sequence[int]) -> Vectors | None:
        return None if self._index is None else self._index.vectors(reader, keys)

    def cosine(self, reader: Reader, query: Vectors | None, key: int) -> float | None:
        """The likeness of one memory to the question, if both have vectors."""
        scores = None if query is None or self._index is None else self._index.score(reader, query, [key])
        return float(scores[0]) if scores is not None and np.isfinite(scores[0]) else None


def _earlier(moment: datetime, by: timedelta) -> datetime:
    try:
        return moment - by
    except OverflowError:
        return moment


def _later(moment: datetime, by: timedelta) -> datetime:
    try:
        return moment + by
    except OverflowError:
        return moment


def _arm(name: str, found: Sequence[TextHit]) -> list[ArmResult]:
    if not found:
        return []
    keys = np.array([hit.key for hit in found], np.int64)
    return [ArmResult(name, keys, np.array([hit.score for hit in found], np.float32))]
