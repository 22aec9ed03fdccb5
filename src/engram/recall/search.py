"""One question through all stages: gate, plan, arms, fusion, reranking, selection, trust, reasons.

Nothing here writes. A failing or missing arm is left out with a note and the outcome says `degraded`; an empty answer says
whether nothing is known or nothing was good enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from datetime import datetime
from functools import cached_property, partial
from typing import TypeVar

import numpy as np

from engram.deadline import check_deadline, future_result
from engram.env import Env
from engram.errors import EmbeddingError, StorageError
from engram.frozen import replace
from engram.guard.injection import VERSION, InjectionVerdict, assess_cached
from engram.index.vectors.encoding import encode
from engram.index.vectors.live import LiveIndex
from engram.models.embed import Embedder, Vectors
from engram.models.rerank import Reranker
from engram.recall import explain
from engram.recall.activation import Way
from engram.recall.arms import ENTITY, GRAPH, SPACE, VECTORS, WORDINGS, WORDS, Arms
from engram.recall.fusion import ArmResult, Fused, calibrated, reciprocal, reordered, scores_of
from engram.recall.plan import Asked, Plan, asks_nothing, checked, plan
from engram.recall.recall_weights import RecallWeights
from engram.recall.related import held, names_stranger, related
from engram.recall.rerank import by_opinion, mmr, newest
from engram.recall.select import CONTRADICTS, DERIVED, SUPERSEDES, as_found, best_of, choose, enough, least, near
from engram.recall.standing import faded, weighed
from engram.recall.suppress import suppressed, telling, with_twins
from engram.recall.trust import trust
from engram.recall.tuning import Tuning, shifted
from engram.recall.walk import Got, Standing, Stopwatch, Walk
from engram.recall.weights import HEAD, JUDGED, about, likeness, settled, support, word_weight
from engram.settings import LiveSettings, Settings
from engram.store.protocol import Heard, Question
from engram.store.sqlite.store import SqliteStore
from engram.text.terms import identity_of, terms
from engram.text.tokens import count
from engram.types import Explanation, Hit, Memory, Outcome, Quality, Reader, Recall, Stage

__all__ = ["SPACE", "Asked", "Searcher"]

T = TypeVar("T")
COURTESY = "courtesy"
"""The strategy of an answer to what asks for nothing."""

_SHIFT = "vector_weight_shift"
_FIRST = 10  # candidates among which the newest of those that say nearly the same stands first
_IDLE = Quality(
    strategy=COURTESY,
    weights={},
    support=None,
    rerank="",
    candidates=0,
    returned=0,
    relevancy=0.0,
    ndcg=1.0,
    tokens=0,
    milliseconds={},
)
NOTHING_ASKED = Recall((), Outcome.NOTHING_KNOWN, _IDLE, notes=("a courtesy asks for nothing: nothing was looked up.",))
"""The answer to a courtesy."""


_HIDDEN = frozenset({Stage.THRESHOLD, Stage.BUDGET, Stage.SUPPRESSED, Stage.FLAGGED})
_TOO_LONG = "what is known about this is longer than {} tokens: ask again with a larger `budget`."
_HELD_BACK = (
    "{} {} held back because it reads as an attack; `recall` with `explain` names it, `update` with flagged=False clears it."
)


def is_flagged(memory: Memory) -> bool:
    """As it was decided when it was kept; what was kept before there were these rules, or past them, is judged now."""
    return memory.flagged or (memory.screened != VERSION and assess_cached(memory.text).verdict is not InjectionVerdict.CLEAN)


def sound(memories: Iterable[Memory], settings: Settings) -> list[Memory]:
    """Those that may stand in an answer or a prompt, where no search has picked them."""
    return [one for one in memories if not (settings.guard_injection and is_flagged(one))]


class Searcher:
    """What answers. Made once for an open vault; `embedder`, `index` and `reranker` may be missing."""

    def __init__(
        self,
        store: SqliteStore,
        embedder: Embedder | None,
        index: LiveIndex | None,
        live: LiveSettings,
        env: Env,
        reranker: Reranker | None = None,
    ) -> None:
        self._store = store
        self._arms = Arms(store, embedder, index)
        self._live = live
        self._env = env
        self._reranker = reranker
        self.tuning = Tuning()
        # The text arm reads while the question is encoded: both let go of the interpreter.
        self._beside = ThreadPoolExecutor(4, thread_name_prefix="engram-recall")

    def equip(self, embedder: Embedder | None, index: LiveIndex | None) -> None:
        """Go on with an encoder, or an index, that has come since."""
        self._arms.equip(embedder, index)

    def close(self) -> None:
        self._beside.shutdown(wait=True)

    def recall(self, reader: Reader, asked: Asked, *, account: bool = False) -> Recall:
        asked = checked(asked)
        if asked.limit is None and asks_nothing(asked.text):
            return NOTHING_ASKED
        walk = self._walk(reader, asked, whole=account)
        found = self.given(reader, self._answer(walk))
        return replace(found, left_out=explain.left_out(walk.picks, walk.scale)) if account else found

    def look_up(self, reader: Reader, asked: Asked) -> Recall:
        """The answer, before anybody asked: counted only once it is `given`."""
        return self._answer(self._walk(reader, checked(asked), whole=False))

    def given(self, reader: Reader, found: Recall) -> Recall:
        """Count that these hits were an answer."""
        self._store.recalled(reader, [hit.memory.key for hit in found])
        self.tuning.note(found.quality)
        return found

    def encoded(self, asked: Asked) -> Vectors | None:
        """The question's vector, drawn as it asks for; None if there is no word in it or nothing to encode it."""
        return self._encoded(asked, [])

    def _encoded(self, asked: Asked, notes: list[str]) -> Vectors | None:
        query = self._arms.encode(asked.text, notes) if terms(asked.text) else None  # "???" is near to nothing
        return asked.drawn(query) if asked.drawn is not None and query is not None else query

    @property
    def background(self) -> float:
        """The cosine of things that have nothing to do with each other."""
        return self._arms.background

    def near(self, hit: Hit) -> bool:
        """Return True if a hit is near enough to its question to be put before an agent."""
        return near(hit, self.background, self._live.tuned(RecallWeights))

    def explain(self, reader: Reader, asked: Asked, memory: Memory) -> Explanation:
        """Why this memory, which the reader may see, is or is not in the answer."""
        asked = checked(asked)
        if asked.limit is None and asks_nothing(asked.text):
            return Explanation(id=memory.id, stage=Stage.GATE, reason="a courtesy asks for nothing: nothing was looked up")
        walk = self._walk(reader, asked, whole=True)
        if asked.where.fresh and faded(memory, asked.now, self._live.now):
            return Explanation(id=memory.id, stage=Stage.FILTER, reason="it has faded, and only what has not was asked for")
        told = explain.of_candidate(walk.fused, walk.picks, memory, walk.scale, walk.ways)
        if told is not None:
            return told
        if walk.plan.where.indexed and (problem := explain.filtered(walk.plan.where, memory)):
            return Explanation(id=memory.id, stage=Stage.FILTER, reason=problem)
        if not walk.plan.where.indexed and memory.key not in self._store.keys_having(reader, walk.plan.where):
            return Explanation(id=memory.id, stage=Stage.FILTER, reason="the filters, or the moment asked about, leave it out")
        cosine = self._arms.cosine(reader, walk.query, memory.key)
        return explain.unfound(walk.arms, memory, cosine, asked.text, walk.fused)

    def question(self, asked: Asked) -> Question | None:
        """A question as it is kept with a judgement; None if it has no word to be known again by."""
        words = telling(checked(asked).text)
        if not words:
            return None
        made = self._arms.encode(asked.text, [])
        return Question(words=words, vector=None if made is None else encode(made)[0], space=self._arms.space)

    def learn(self, reader: Reader, asked: Asked, memory: Memory, helpful: bool) -> None:
        """Give the arm that found what helped a little more weight, and less to the one that found what did not."""
        told = self.explain(reader, asked, memory)
        if told.why is not None:
            settings = self._live.now
            shift = shifted(self._shift, self._weight(settings), told.why.signals, helpful)
            self._store.put_figure(reader, _SHIFT, shift)
            self._shift = shift

    @cached_property
    def _shift(self) -> float:
        """What earlier judgements moved the weight of vectors by; read once, changed by `learn`."""
        return self._store.figure(_SHIFT) or 0.0

    def _weight(self, settings: Settings) -> float:
        return min(max(settings.vector_weight + self._shift, 0.0), 1.0)

    # ── the walk ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _walk(self, reader: Reader, asked: Asked, *, whole: bool) -> Walk:
        """`whole`: look at every candidate, not only at those that can become hits."""
        settings, weights = self._live.now, self._live.tuned(RecallWeights)
        planned = replace(plan(asked, settings, weights), vector_weight=self._weight(settings), whole=whole)
        watch = Stopwatch(self._env.monotonic)
        notes: list[str] = []
        words = self._start(self._read_words, reader, planned, asked.text, watch)
        with watch.stage("embed"):
            query = asked.vector if asked.vector is not None else self._encoded(asked, notes)
        check_deadline("the question was encoded")
        found = partial(future_result, words, "words were looked up")
        walk = self._look(reader, asked, planned, query, found, notes, watch, settings)
        if walk.thin:
            deep = planned.deeper(settings)
            again = partial(self._read_words, reader, deep, asked.text, watch)
            walk = self._look(reader, asked, deep, query, again, notes, watch, settings)
        if not walk.taken and not notes:
            self._arms.admit_gaps(reader, notes)
        if not walk.taken and any(pick.stage is Stage.BUDGET for pick in walk.picks):
            notes.append(_TOO_LONG.format(asked.budget))
        return walk

    def _start(self, read: Callable[..., T], *what: object) -> Future[T]:
        try:
            return self._beside.submit(copy_context().run, read, *what)
        except RuntimeError:  # closed between two lines of another thread's
            raise StorageError("the vault is closed.", way_out="Open it again.") from None

    def _read_words(self, reader: Reader, planned: Plan, text: str, watch: Stopwatch) -> list[ArmResult]:
        with watch.stage("words"):
            found = self._arms.words(reader, planned, text) + self._arms.wordings(reader, planned, text)
            return found + self._arms.entity(reader, planned) if planned.weights.entity_weight else found

    def _look(
        self,
        reader: Reader,
        asked: Asked,
        planned: Plan,
        query: Vectors | None,
        words: Callable[[], list[ArmResult]],
        notes: list[str],
        watch: Stopwatch,
        settings: Settings,
    ) -> Walk:
        with watch.stage("vectors"):
            arms = self._arms.vectors(reader, planned, query, notes if not planned.deep else [])
            if planned.weights.time_weight:
                arms = self._arms.of_that_time(reader, planned, query, arms)
        with watch.stage("waited"):
            arms += words()
        with watch.stage("fuse"):
            arms = self._arms.complete(reader, query, arms)
            weights = _weights(arms, planned)
            fused = _fuse(arms, weights, settings)
            ways: Mapping[int, Way] = {}
            if planned.hops:
                more, ways = self._arms.graph(reader, planned, asked, fused)
                arms = self._arms.complete(reader, query, arms + more)
                weights = _weights(arms, planned)
                fused = _fuse(arms, weights, settings)
            fused = self._settle(reader, asked, planned, query, fused, settings)
        with watch.stage("fetch"):
            got = self._gather(reader, asked, query, fused, planned, settings)
        with watch.stage("rerank"):
            fused = weighed(fused, got.memories, asked.text, asked.now, planned.weights, settings)
            fused, how = self._rerank(reader, asked, planned, fused, got.memories, settings, notes)
        with watch.stage("select"):
            kinds = (SUPERSEDES, DERIVED, CONTRADICTS)
            links = self._store.links(reader, list(got.memories), kinds) if got.memories else []
            picks = choose(fused, got.memories, got.digests, links, got.suppressed, got.flagged, asked, planned, got.needed)
        return Walk(
            asked=asked,
            plan=planned,
            query=query,
            arms=arms,
            weights=weights,
            fused=fused,
            standing=self._standing(asked, fused, got.shown),
            best=best_of(fused, got.suppressed.keys() | got.flagged),
            rerank=how,
            picks=picks,
            links=links,
            ways=explain.told(ways, got.memories),
            unseen=got.unseen,
            least=least(fused, settings),
            notes=notes,
            spent=watch.spent,
        )

    def _settle(
        self, reader: Reader, asked: Asked, planned: Plan, query: Vectors | None, fused: Fused, settings: Settings
    ) -> Fused:
        """In the order that who said it, where, when, and what it tells makes. Ranks alone are on no scale to add to."""
        if settings.fusion != "calibrated" or VECTORS not in fused.parts:
            return fused
        keys = fused.keys[:HEAD].tolist()
        heard = self._store.heard(reader, keys)
        if planned.sought.asks_when:
            heard |= {key: replace(heard[key], lasts=True) for key in self._store.lasting(reader, keys) if key in heard}
        meaning = None
        if query is not None and planned.sought.gathers and planned.weights.gather_weight:
            vectors = self._arms.vectors_of(reader, keys)
            meaning = None if vectors is None else (query, vectors)
        fused = settled(fused, [heard.get(key, Heard()) for key in keys], asked.text, planned.sought, planned.weights, meaning)
        return self._newest_first(reader, asked, planned, fused, heard)

    def _newest_first(self, reader: Reader, asked: Asked, planned: Plan, fused: Fused, heard: Mapping[int, Heard]) -> Fused:
        """Of the first candidates that say nearly the same of something, the newest first, if it is asked how things are now."""
        keys = fused.keys[:_FIRST].tolist()
        if not planned.sought.asks_now or asked.as_of is not None or len(keys) < 2:
            return fused
        vectors = self._arms.vectors_of(reader, keys)
        if vectors is None:
            return fused
        known = [heard.get(key, Heard()) for key in keys]
        background = self._arms.background
        like = background + (1.0 - background) * planned.weights.newest_likeness
        order = newest(fused.scores[: len(keys)], vectors, [one.happened for one in known], [one.speaker for one in known], like)
        return reordered(fused, keys, order)

    def _standing(self, asked: Asked, fused: Fused, memories: Mapping[int, Memory]) -> Standing:
        """How well the first hits stand for an answer: near, of the question's words, and about whom it names."""
        first = [memories[key] for key in fused.keys.tolist() if key in memories]
        said = [(one.speaker, one.text) for one in first]
        if not first:
            return Standing()
        whom = about(asked.text, {one.speaker for one in first}, said)
        words = held(asked.text, said[:JUDGED])
        if VECTORS not in fused.raw:
            return Standing(covered=words * whom)
        assess_cached = np.isin(fused.keys, [one.key for one in first[:JUDGED]])
        near = [likeness(float(cosine), self._arms.background) for cosine in fused.raw[VECTORS][assess_cached]]
        chance = related(max(near), words, names_stranger(asked.text, said[:JUDGED]), len(fused.keys))
        return Standing(support(near[0], whom), chance, chance * whom)

    def _gather(
        self, reader: Reader, asked: Asked, query: Vectors | None, fused: Fused, planned: Plan, settings: Settings
    ) -> Got:
        """The candidates worth looking at. Where one that is suppressed set the bar, it is set anew without it."""
        hushed: Set[int] = frozenset()
        while True:
            needed = enough(fused, hushed, asked, planned, settings)
            memories, digests, unseen = self._fetch(reader, asked, fused, planned, needed, settings)
            now = with_twins(self._suppressed(reader, asked, planned, query, memories, settings), digests)
            flagged = frozenset(key for key, one in memories.items() if settings.guard_injection and is_flagged(one))
            if now.keys() | flagged <= hushed:
                return Got(memories, digests, now, flagged, unseen, needed)
            hushed = now.keys() | flagged

    def _suppressed(
        self,
        reader: Reader,
        asked: Asked,
        planned: Plan,
        query: Vectors | None,
        memories: Mapping[int, Memory],
        settings: Settings,
    ) -> dict[int, datetime]:
        """What does not help with such a question, and until when. Nothing is looked up unless one was ever judged so."""
        judged = [key for key, memory in memories.items() if memory.unhelpful]
        if not judged:
            return {}
        question = Question(words=telling(asked.text), space=self._arms.space)
        said = self._store.judgements(reader, judged, question)
        return suppressed(said, asked, query, self._arms.background, planned.weights, settings)

    def _fetch(
        self, reader: Reader, asked: Asked, fused: Fused, planned: Plan, needed: float | None, settings: Settings
    ) -> tuple[dict[int, Memory], dict[int, bytes], int]:
        """Candidates from the best on, until there are enough that say different things; and how many are too far."""
        near = fused.keys if needed is None or planned.whole else fused.keys[as_found(fused) >= needed]
        found: dict[int, Memory] = {}
        digests: dict[int, bytes] = {}
        size = len(near) if planned.whole else planned.most * 5 // 4 + 10
        for start in range(0, len(near), max(size, 1)):
            some = self._store.fetch(reader, near[start : start + size].tolist(), as_of=planned.where.as_of)
            if asked.where.fresh:
                some = [memory for memory in some if not faded(memory, asked.now, settings)]
            found |= {memory.key: memory for memory in some}
            digests |= {memory.key: identity_of(memory) for memory in some}
            if len(set(digests.values())) >= planned.most:
                break
        return found, digests, len(fused.keys) - len(near)

    def _rerank(
        self,
        reader: Reader,
        asked: Asked,
        planned: Plan,
        fused: Fused,
        memories: Mapping[int, Memory],
        settings: Settings,
        notes: list[str],
    ) -> tuple[Fused, str]:
        """The head of the ranking in another order, if that is asked for."""
        how = settings.fusion
        head = [key for key in fused.keys.tolist() if key in memories]
        if self._reranker is not None and head:
            top = head[: planned.weights.rerank_top]
            try:
                opinions = self._reranker.score(asked.text, [memories[key].text for key in top])
            except EmbeddingError as error:
                notes.append(f"{error.code}: the reranking model did not answer: the order is the one before it.")
            else:
                fused = reordered(fused, top, by_opinion(scores_of(fused, top), opinions, planned.weights.rerank_weight))
                how += f"+{self._reranker.name}"
        if settings.diversity and head:
            vectors = self._arms.vectors_of(reader, head)
            if vectors is not None:
                fused = reordered(fused, head, mmr(scores_of(fused, head), vectors, settings.diversity))
                how += "+mmr"
        return fused, how

    # ── the answer ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _answer(self, walk: Walk) -> Recall:
        taken = walk.taken
        found = as_found(walk.fused)
        best = walk.best
        doubted = {key for source, target, kind in walk.links if kind == CONTRADICTS for key in (source, target)}
        hits = tuple(
            Hit(
                pick.memory,
                pick.score * walk.scale,
                trust(pick.memory, float(found[pick.at]) / best if best > 0 else 0.0, walk.asked.now, pick.memory.key in doubted),
                explain.why(walk.fused, pick.at, walk.rerank, walk.ways),
            )
            for pick in taken
        )
        hidden = walk.unseen + sum(pick.stage in _HIDDEN for pick in walk.picks)
        near = max(walk.least, best * walk.plan.weights.recall_floor)
        attacks = sum(pick.stage is Stage.FLAGGED and found[pick.at] >= near for pick in walk.picks)
        notes = (*walk.notes, *([_HELD_BACK.format(attacks, "are" if attacks > 1 else "is")] if attacks else []))
        outcome = _outcome(walk, hidden)
        return Recall(hits, outcome, _quality(walk, hits), hidden, tuple(dict.fromkeys(notes)))


def _weights(arms: Sequence[ArmResult], planned: Plan) -> dict[str, float]:
    """What each arm counts for this question: words less, where the best match holds little of what was asked (R2)."""
    words = 1.0 - planned.vector_weight
    found = next((arm for arm in arms if arm.name == WORDS), None)
    if found is not None and found.most and len(found.scores):
        words = word_weight(words, float(found.scores[0]), found.most)
    own = planned.weights
    known = {VECTORS: 1.0 - words, WORDS: words, WORDINGS: 1.0, ENTITY: own.entity_weight, GRAPH: own.graph_weight}
    return {arm.name: known[arm.name] for arm in arms}


def _fuse(arms: Sequence[ArmResult], weights: Mapping[str, float], settings: Settings) -> Fused:
    return calibrated(arms, weights) if settings.fusion == "calibrated" else reciprocal(arms, weights)


def _outcome(walk: Walk, hidden: int) -> Outcome:
    if walk.notes:
        return Outcome.DEGRADED
    if walk.taken:
        # A limit brings the best so many however far they are, the best of a vault may have nothing to do with the question, and
        # what is near may be about someone else: the hits are worth showing, and the outcome says that they are no answer.
        found = walk.standing
        near = found.related is None or found.related >= walk.plan.weights.related_least
        enough = near and (found.support is None or found.support >= walk.plan.weights.support_least)
        return Outcome.ANSWERED if enough and walk.best >= walk.least else Outcome.BELOW_THRESHOLD
    return Outcome.BELOW_THRESHOLD if hidden else Outcome.NOTHING_KNOWN


def _quality(walk: Walk, hits: Sequence[Hit]) -> Quality:
    budgeted = walk.asked.budget is not None
    counted = [hit.memory.tokens[0] or (count(hit.memory.text) if budgeted else 0) for hit in hits]
    names = "+".join(arm.name for arm in walk.arms) or "nothing"
    return Quality(
        strategy=f"{names}, deep" if walk.plan.deep else names,
        weights=walk.weights,
        support=walk.standing.support,
        covered=walk.standing.covered,
        rerank=walk.rerank,
        candidates=len(walk.fused.keys),
        returned=len(hits),
        relevancy=_relevancy(walk, hits),
        ndcg=_ndcg([hit.trust.composite for hit in hits]),
        tokens=sum(counted) if all(counted) else None,
        milliseconds=dict(walk.spent),
    )


def _relevancy(walk: Walk, hits: Sequence[Hit]) -> float:
    if not hits:
        return 0.0
    cosines = [signal.score for hit in hits for signal in hit.why.signals if signal.arm == VECTORS and signal.rank]
    return float(np.clip(np.mean(cosines or [hit.trust.relevance for hit in hits]), 0.0, 1.0))


def _ndcg(grades: Sequence[float]) -> float:
    """Of the order returned against the best order of the same hits: 1 unless a later hit has the better grade."""
    gains = [grade / np.log2(place + 2) for place, grade in enumerate(grades)]
    ideal = [grade / np.log2(place + 2) for place, grade in enumerate(sorted(grades, reverse=True))]
    return float(sum(gains) / sum(ideal)) if sum(ideal) > 0 else 1.0
