"""The arms of recall: each searches for the question in its own way and returns keys and scores, best first, or nothing.

An arm that cannot work says so in `notes`, and the others go on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np

from engram.errors import EmbeddingError
from engram.index.terms import TermPlanner
from engram.index.vectors.filters import has_columns
from engram.index.vectors.live import LiveIndex, Nearest
from engram.models.embedders import Embedder, Vectors
from engram.models.request_reader import request_reader
from engram.recall.activation import LinkPath, spread
from engram.recall.fusion import ArmResult, Ranking
from engram.recall.plan import Plan
from engram.store.ports import Store
from engram.text.english.entities import PERSON, mentions
from engram.types import Reader, Space, TextHit
from engram.values.frozen import replace
from engram.values.query import Hop, is_narrow

SPACE = "text"
VECTORS, WORDS, WORDINGS, ENTITY, GRAPH, GOVERNING = "vectors", "words", "wordings", "entity", "graph", "governing"
_TIME_SLACK = timedelta(days=3)  # people talk about a day for some days
_NAMED = 0.5  # activation of a memory that holds a name of the question, near in meaning or not
_BY_NAME = 0.35  # weight of a path over a shared name, against one over links, unless the question asks for connections
_MOST_OF_A_TERM = 2.2  # k1 + 1: the most that a word can add to BM25, in units of its rarity


class Arms:
    """All arms over one open vault. Without `embedder` or `index` the vector arm brings nothing."""

    def __init__(self, store: Store, embedder: Embedder | None, index: LiveIndex | None) -> None:
        self._store = store
        self._embedder = embedder
        self._index = index
        everyone = Reader()
        self._planner = TermPlanner(lambda terms, most: store.text.frequencies(everyone, terms, most=most))

    def equip(self, embedder: Embedder | None, index: LiveIndex | None) -> None:
        """Replace the encoder and the vector index."""
        self._embedder, self._index = embedder, index

    @property
    def background(self) -> float:
        """The cosine of unrelated texts."""
        return 0.0 if self._embedder is None else self._embedder.background[0]

    @property
    def space(self) -> Space | None:
        """The vector space of the encoder in use; None without an encoder, or while the length of its vectors is unknown."""
        own = self._embedder
        return Space(SPACE, own.fingerprint, own.dimensions) if own is not None and own.dimensions else None

    def encode(self, text: str, notes: list[str]) -> Vectors | None:
        """Return the vector of a question; None, with a note, if there is no encoder or it fails."""
        if self._embedder is None:
            notes.append("no model is installed: this answer is from words alone (`engram model install`).")
            return None
        try:
            return self._embedder.query(text)
        except EmbeddingError as error:
            notes.append(f"{error.code}: {error.message} This answer is from words alone.")
            return None

    def vectors(self, reader: Reader, plan: Plan, query: Vectors | None, notes: list[str]) -> list[ArmResult]:
        """Return the memories nearest in meaning, with the mean and spread of this question's cosines to any memory."""
        if query is None or self._embedder is None or not self._vectors_match_model(notes) or self._index is None:
            return []
        within = None if has_columns(plan.where) else self._store.memories.keys_having(reader, plan.where)
        near = self._index.search(reader, query, plan.breadth, where=plan.where, within=within)
        if near is None:  # `score_all` reads the vectors of what the other arms find
            notes.append("the vector index is still loading: only the memories found by words were compared by meaning.")
            near = Nearest(np.empty(0, np.int64), np.empty(0, np.float32))
        background, spread = self._index.background(query, self._embedder.background)
        return [ArmResult(VECTORS, near.keys, near.scores, background, spread)]

    def add_time(self, reader: Reader, plan: Plan, query: Vectors | None, arms: list[ArmResult]) -> list[ArmResult]:
        """Add to the vector arm the nearest memories of the time that the question names: among all memories they may be far."""
        when, vector_arm = plan.analysis.when, _vector_arm(arms)
        if when is None or query is None or vector_arm is None or self._index is None or not has_columns(plan.where):
            return arms
        slack = max(when[1] - when[0], _TIME_SLACK)
        since, until = _earlier(when[0], slack), _later(when[1], slack)
        since = max(since, plan.where.since) if plan.where.since is not None else since
        until = min(until, plan.where.until) if plan.where.until is not None else until
        where = replace(plan.where, since=since, until=until)
        near = self._index.search(reader, query, plan.breadth, where=where) if since < until else None
        if near is None:
            return arms
        new = ~np.isin(near.keys, vector_arm.keys)
        keys = np.concatenate((vector_arm.keys, near.keys[new]))
        scores = np.concatenate((vector_arm.scores, near.scores[new]))
        order = np.argsort(-scores, kind="stable")
        return [replace(vector_arm, keys=keys[order], scores=scores[order]) if arm is vector_arm else arm for arm in arms]

    def governing(self, reader: Reader, plan: Plan, query: Vectors | None) -> list[ArmResult]:
        """Return the statements that govern what a message asks to be done, by how far each stands out (`request_reader`)."""
        weights, embedder = plan.weights, self._embedder
        requests = None if embedder is None or not weights.governing_weight else request_reader(embedder.fingerprint)
        if requests is None or embedder is None or query is None or self._index is None or not has_columns(plan.where):
            return []
        chance = requests.chance(query)
        if chance < weights.request_least or any(one.kind == PERSON for one in mentions(plan.query.text)):
            return []  # who names somebody asks about them
        turned = requests.governing(query)
        near = self._index.search(reader, turned, weights.governing_most, where=plan.where)
        if near is None:
            return []
        background, spread = self._index.background(turned, requests.background)
        scores = chance * ((near.scores - background) / max(spread, 1e-6) - weights.governing_least)
        found = scores > 0
        return [ArmResult(GOVERNING, near.keys[found], scores[found].astype(np.float32))] if found.any() else []

    def score_all(self, reader: Reader, query: Vectors | None, arms: list[ArmResult]) -> list[ArmResult]:
        """Add to the vector arm the cosines of all candidates that only other arms found."""
        vector_arm = _vector_arm(arms)
        others = [arm.keys for arm in arms if arm.name != VECTORS]
        if query is None or self._index is None or vector_arm is None or not others:
            return arms
        keys = np.unique(np.concatenate(others))
        missing = keys[~np.isin(keys, vector_arm.keys)]
        scores = self._index.score(reader, query, missing.tolist()) if len(missing) else None
        if scores is None:
            return arms
        known = np.isfinite(scores)
        keys = np.concatenate((vector_arm.keys, missing[known]))
        all_scores = np.concatenate((vector_arm.scores, scores[known]))
        order = np.argsort(-all_scores, kind="stable")
        complete = replace(vector_arm, keys=keys[order], scores=all_scores[order])
        return [complete if arm is vector_arm else arm for arm in arms]

    def words(self, reader: Reader, plan: Plan) -> list[ArmResult]:
        """Return the memories that hold the rare words of the question, or have them beside them, with the attainable BM25."""
        wanted = self._planner.plan(plan.terms, plan.postings, self._store.changes.latest(reader))
        hits = self._store.text.search(reader, wanted.terms, limit=plan.breadth, where=plan.where) if wanted.terms else []
        return [replace(arm, most=attainable(wanted.frequencies, self._size)) for arm in _text_arm(WORDS, hits)]

    def wordings(self, reader: Reader, plan: Plan) -> list[ArmResult]:
        """Return the memories that held words of the question at the moment asked about, and have been reworded since."""
        if plan.where.as_of is None:
            return []
        return _text_arm(WORDINGS, self._store.text.search_versions(reader, plan.terms, limit=plan.breadth, where=plan.where))

    def entity(self, reader: Reader, plan: Plan) -> list[ArmResult]:
        """Return the memories that name, under any alias, the entity the question asks everything about, the latest first."""
        about = plan.analysis.about
        named = self._store.entities.get(reader, about) if about and has_columns(plan.where) else None
        if named is None:
            return []
        allowed = set(named[1]) if not is_narrow(plan.where) else set(self._store.memories.keys_having(reader, plan.where))
        keys = np.array([key for key in named[1] if key in allowed][: plan.breadth], np.int64)
        return [ArmResult(ENTITY, keys, np.ones(len(keys), np.float32))] if len(keys) else []

    def graph(self, reader: Reader, plan: Plan, ranking: Ranking) -> tuple[list[ArmResult], Mapping[int, LinkPath]]:
        """Return the memories that links lead to from the first candidates or that hold names of the question, and the paths."""
        weights = plan.weights
        first = zip(ranking.keys[: weights.graph_seeds].tolist(), ranking.scores.tolist(), strict=False)
        top = max(float(ranking.scores[0]), 1e-6) if len(ranking.keys) else 1.0
        starts = {key: min(score / top, 1.0) for key, score in first if score > 0}
        names = [mention.name for mention in mentions(plan.query.text)]
        named = {step.there: step.by for step in self._store.edges.naming(reader, names, most=weights.graph_seeds)}
        starts = dict.fromkeys(named, _NAMED) | starts

        def follow(front: Sequence[int]) -> list[Hop]:
            links = self._store.edges.linked(reader, front, plan.query.now, most=weights.graph_links)
            return links + self._store.edges.sharing_entities(reader, front, fan=weights.graph_fan, most=weights.graph_links)

        by_name = 1.0 if plan.analysis.connects else _BY_NAME
        reached = spread(starts, follow, weights, hops=plan.hops, most=plan.breadth)
        paths = {key: LinkPath(key, (name,), named=True) for key, name in named.items()} | dict(reached.paths)
        levels = dict.fromkeys(named, _NAMED) | dict(zip(reached.keys.tolist(), reached.levels.tolist(), strict=True))
        levels = {key: level * (by_name if paths[key].named else 1.0) for key, level in levels.items()}
        passing = self._store.edges.passing(reader, list(levels), plan.where) if is_narrow(plan.where) else levels
        best = sorted(passing, key=lambda key: (-levels[key], -key))[: plan.breadth]
        if not best:
            return [], {}
        scores = np.array([levels[key] for key in best], np.float32)
        return [ArmResult(GRAPH, np.array(best, np.int64), scores)], {key: paths[key] for key in best}

    def note_missing_vectors(self, reader: Reader, notes: list[str]) -> None:
        """Add a note if some memories have no vector, so that an empty answer does not claim that nothing is known."""
        if self._embedder is not None and self._store.vectors.lacks(reader, SPACE):
            notes.append("some memories have no vectors yet: they were searched by words alone (`engram model fill`).")

    def vectors_of(self, reader: Reader, keys: Sequence[int]) -> Vectors | None:
        """Return the vectors of these memories, NaN where there is none; None without an index."""
        return None if self._index is None else self._index.vectors(reader, keys)

    def cosine(self, reader: Reader, query: Vectors | None, key: int) -> float | None:
        """Return the cosine of one memory and the question, or None if either has no vector."""
        scores = None if query is None or self._index is None else self._index.score(reader, query, [key])
        return float(scores[0]) if scores is not None and np.isfinite(scores[0]) else None

    def _vectors_match_model(self, notes: list[str]) -> bool:
        """Return True if the stored vectors are of the model in use; read each time, as another process may replace them."""
        space = self._store.vectors.space(SPACE)
        if self._embedder is None or space is None:
            return space is None
        if (space.model, space.dimensions) == (self._embedder.fingerprint, self._embedder.dimensions):
            return True
        notes.append(
            f"E3003: the stored vectors are of the model {space.model!r}: this answer is from words alone"
            " (`engram model fill --anew`)."
        )
        return False

    @property
    def _size(self) -> int:
        """The number of memories that the vector index knows; without an index no weight depends on it."""
        return 0 if self._index is None else self._index.loaded


def attainable(frequencies: Iterable[int], total: int) -> float:
    """Return the BM25 of an ideal memory with all these words, each of which stands in so many of `total` memories."""
    return _MOST_OF_A_TERM * sum(
        max(math.log((total - held + 0.5) / (held + 0.5)), 1e-6) for held in frequencies if 0 < held <= total
    )


def _vector_arm(arms: Sequence[ArmResult]) -> ArmResult | None:
    return next((arm for arm in arms if arm.name == VECTORS), None)


def _text_arm(name: str, hits: Sequence[TextHit]) -> list[ArmResult]:
    if not hits:
        return []
    keys = np.array([hit.key for hit in hits], np.int64)
    return [ArmResult(name, keys, np.array([hit.score for hit in hits], np.float32))]


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
