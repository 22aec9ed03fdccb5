"""One question through all stages: plan, arms, fusion, selection, trust, reasons.

Nothing here writes. A failing or missing arm is left out with a note and the outcome says `degraded`; an empty answer says
whether nothing is known or nothing was good enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import numpy as np

from engram.env import Env
from engram.errors import EmbeddingError, InvalidQuery
from engram.index.lexical import TermPlanner
from engram.index.vectors.live import LiveIndex
from engram.models.embed import Embedder, Vectors
from engram.recall.diversity import mmr
from engram.recall.fusion import ArmResult, Fused, calibrated
from engram.recall.trust import trust
from engram.settings import LiveSettings, Settings
from engram.store.protocol import Filter
from engram.store.sqlite.store import SqliteStore
from engram.text.terms import digest_of, terms
from engram.text.tokens import count
from engram.types import Hit, Memory, Outcome, Quality, Reader, Recall, Signal, Why

_QUERY_BYTES = 16_384
SPACE = "text"
_ANY = Filter()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question as it was put."""

    text: str
    limit: int | None = None
    budget: int | None = None
    now: datetime
    where: Filter = _ANY


@dataclass(slots=True)
class _Stopwatch:
    monotonic: Callable[[], float]
    spent: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = self.monotonic()
        yield
        self.spent[name] = round((self.monotonic() - start) * 1000, 3)


class Searcher:
    """What answers. Made once for an open vault; `embedder` and `index` may be missing."""

    def __init__(
        self, store: SqliteStore, embedder: Embedder | None, index: LiveIndex | None, live: LiveSettings, env: Env
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._index = index
        self._live = live
        self._env = env
        everyone = Reader()
        self._planner = TermPlanner(lambda terms, most: store.frequencies(everyone, terms, most=most))

    def recall(self, reader: Reader, asked: Asked) -> Recall:
        _check(asked)
        if asked.now.tzinfo is None:
            asked = replace(asked, now=asked.now.replace(tzinfo=UTC))
        settings = self._live.now
        watch = _Stopwatch(self._env.monotonic)
        notes: list[str] = []
        with watch.stage("embed"):
            query = self._encode(asked.text, notes) if terms(asked.text) else None  # "???" is near to nothing
        arms = []
        with watch.stage("vectors"):
            arms += self._vector_arm(reader, asked, query, settings, notes)
        with watch.stage("words"):
            arms += self._text_arm(reader, asked, settings)
        with watch.stage("fuse"):
            arms = self._complete(reader, query, arms)
            fused = calibrated(arms, {"vectors": settings.vector_weight, "words": 1.0 - settings.vector_weight})
            fused = self._spread_out(reader, fused, asked, settings)
        with watch.stage("fetch"):
            memories = self._fetch(reader, fused, asked, settings)
        with watch.stage("select"):
            hits, hidden = self._select(fused, memories, asked, settings)
        return self._answer(reader, asked, hits, hidden, fused, arms, notes, watch.spent)

    def _encode(self, text: str, notes: list[str]) -> Vectors | None:
        if self._embedder is None:
            notes.append("no model is installed: this answer is from words alone (`engram model install`).")
            return None
        try:
            return self._embedder.query(text)
        except EmbeddingError as error:
            notes.append(f"{error.code}: the question could not be encoded: this answer is from words alone.")
            return None

    def _vector_arm(
        self, reader: Reader, asked: Asked, query: Vectors | None, settings: Settings, notes: list[str]
    ) -> list[ArmResult]:
        if query is None or self._index is None or self._embedder is None:
            return []
        space = self._store.space(SPACE)
        if space is not None and (space.model, space.dimensions) != (self._embedder.fingerprint, self._embedder.dimensions):
            notes.append(f"E3003: the vectors here are of the model {space.model!r}: this answer is from words alone.")
            return []
        within = self._store.keys_having(reader, asked.where) if asked.where.attributes else None
        near = self._index.search(reader, query, _breadth(asked, settings), where=asked.where, within=within)
        if near is None:
            notes.append("the vector index is still loading: this answer is from words alone.")
            return []
        background, spread = self._index.background(query, self._embedder.background)
        return [ArmResult("vectors", near.keys, near.scores, background, spread)]

    def _text_arm(self, reader: Reader, asked: Asked, settings: Settings) -> list[ArmResult]:
        wanted = self._planner.plan(asked.text, settings.posting_budget, self._store.latest_change(reader))
        found = self._store.search_text(reader, wanted, limit=_breadth(asked, settings), where=asked.where) if wanted else []
        if not found:
            return []
        keys = np.array([hit.key for hit in found], np.int64)
        return [ArmResult("words", keys, np.array([hit.score for hit in found], np.float32))]

    def _complete(self, reader: Reader, query: Vectors | None, arms: list[ArmResult]) -> list[ArmResult]:
        """What only the words found has a likeness too: look it up, so that both arms speak of every candidate."""
        by_name = {arm.name: arm for arm in arms}
        if query is None or self._index is None or len(by_name) < 2:
            return arms
        vectors, words = by_name["vectors"], by_name["words"]
        missing = words.keys[~np.isin(words.keys, vectors.keys)]
        scores = self._index.score(reader, query, missing.tolist()) if len(missing) else None
        if scores is None:
            return arms
        known = np.isfinite(scores)
        keys = np.concatenate((vectors.keys, missing[known]))
        full = np.concatenate((vectors.scores, scores[known]))
        order = np.argsort(-full, kind="stable")
        return [replace(vectors, keys=keys[order], scores=full[order]), words]

    def _spread_out(self, reader: Reader, fused: Fused, asked: Asked, settings: Settings) -> Fused:
        """Put what repeats what stands above it further down, if that is asked for."""
        if not settings.diversity or self._index is None or not len(fused.keys):
            return fused
        wanted = _wanted(fused, asked, settings)
        vectors = self._index.vectors(reader, wanted)
        if vectors is None:
            return fused
        head = mmr(fused.scores[: len(wanted)], vectors, settings.diversity)
        return fused.reordered([*head, *range(len(wanted), len(fused.keys))])

    def _fetch(self, reader: Reader, fused: Fused, asked: Asked, settings: Settings) -> dict[int, Memory]:
        """Candidates from the best on, until there are enough that say different things."""
        found: dict[int, Memory] = {}
        enough = asked.limit or settings.recall_limit
        size = len(_wanted(fused, asked, settings))
        for start in range(0, len(fused.keys), max(size, 1)):
            some = fused.keys[start : start + size].tolist()
            found |= {memory.key: memory for memory in self._store.fetch(reader, some)}
            if len({digest_of(memory.text) for memory in found.values()}) >= enough:
                break
        return found

    def _select(self, fused: Fused, memories: Mapping[int, Memory], asked: Asked, settings: Settings) -> tuple[list[Hit], int]:
        """Best first; one of those that say the same; as many as asked for, or as many as are worth it."""
        best = float(fused.scores[0]) if len(fused.scores) else 0.0
        least = settings.recall_threshold if "vectors" in fused.parts else 0.0  # BM25 alone is near 0 in a small vault
        hits: list[Hit] = []
        seen: set[bytes] = set()
        tokens = hidden = 0
        for at, key in enumerate(fused.keys.tolist()):
            memory = memories.get(key)
            if memory is None:
                continue
            digest = digest_of(memory.text)
            if digest in seen:
                continue
            seen.add(digest)
            score = float(fused.scores[at])
            if asked.limit is None and (score < least or score < best * settings.recall_floor):
                hidden += 1
                continue
            if len(hits) >= (asked.limit or settings.recall_limit):
                break
            tokens += count(memory.text) if asked.budget is not None else 0
            if asked.budget is not None and tokens > asked.budget:
                hidden += 1
                break
            relevance = score / best if best > 0 else 0.0
            hits.append(Hit(memory, score, trust(memory, relevance, asked.now), _why(fused, at)))
        return hits, hidden

    def _answer(
        self,
        reader: Reader,
        asked: Asked,
        hits: list[Hit],
        hidden: int,
        fused: Fused,
        arms: list[ArmResult],
        notes: list[str],
        spent: Mapping[str, float],
    ) -> Recall:
        if notes:
            outcome = Outcome.DEGRADED
        elif hits:
            outcome = Outcome.ANSWERED
        else:
            outcome = Outcome.BELOW_THRESHOLD if hidden else Outcome.NOTHING_KNOWN
        relevances = [hit.trust.relevance for hit in hits]
        quality = Quality(
            strategy="+".join(arm.name for arm in arms) or "nothing",
            candidates=len(fused.keys),
            returned=len(hits),
            relevancy=float(np.mean(relevances)) if relevances else 0.0,
            ndcg=_ndcg(relevances),
            tokens=None if asked.budget is None else sum(count(hit.memory.text) for hit in hits),
            milliseconds=dict(spent),
        )
        return Recall(tuple(hits), outcome, quality, hidden, tuple(notes))


def _check(asked: Asked) -> None:
    if not isinstance(asked.text, str) or len(asked.text) > _QUERY_BYTES:  # type: ignore[redundant-expr]
        raise InvalidQuery(f"a question is a text of at most {_QUERY_BYTES} characters.")
    if not isinstance(asked.now, datetime) or not isinstance(asked.where, Filter):  # type: ignore[redundant-expr]
        raise InvalidQuery("`now` is a datetime and `filters` a Filter.")
    for moment in (asked.where.since, asked.where.until):
        if moment is not None and not isinstance(moment, datetime):
            raise InvalidQuery("`since` and `until` of a filter are datetimes.")
    if any("\ud800" <= c <= "\udfff" for c in asked.text):
        raise InvalidQuery("the question holds half a character (a lone surrogate).")
    for name, value in (("limit", asked.limit), ("budget", asked.budget)):
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):  # type: ignore[redundant-expr]
            raise InvalidQuery(f"the {name} must be a whole number from 1.")


def _breadth(asked: Asked, settings: Settings) -> int:
    return min(max(settings.recall_candidates, 2 * (asked.limit or 0)), settings.page_limit)


def _wanted(fused: Fused, asked: Asked, settings: Settings) -> list[int]:
    """Keys to fetch: enough for the hits and for duplicates among them, not all candidates."""
    most = (asked.limit or settings.recall_limit) * 5 // 4 + 10
    wanted: list[int] = fused.keys[:most].tolist()
    return wanted


def _why(fused: Fused, at: int) -> Why:
    total = float(sum(abs(part[at]) for part in fused.parts.values())) or 1.0
    return Why(
        tuple(
            Signal(arm, int(fused.ranks[arm][at]), float(fused.raw[arm][at]), float(fused.parts[arm][at]) / total)
            for arm in fused.parts
        )
    )


def _ndcg(relevances: list[float]) -> float:
    """Of the order returned against the best order of the same hits: 1 unless a later hit is the more relevant."""
    gains = [gain / np.log2(place + 2) for place, gain in enumerate(relevances)]
    ideal = [gain / np.log2(place + 2) for place, gain in enumerate(sorted(relevances, reverse=True))]
    return float(sum(gains) / sum(ideal)) if sum(ideal) > 0 else 1.0
