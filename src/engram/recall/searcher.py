"""Answer a question: plan, arms, fusion, scoring, reranking, selection, trust, explanation.

Nothing here writes. A failing or missing arm is left out with a note, and the outcome says `degraded`; an empty answer says
whether nothing is known or nothing was above the threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from engram.deadline import check_deadline, future_result
from engram.env import Env, from_micros
from engram.errors import EmbeddingError, SearchTimeout, StorageError
from engram.index.vectors.filters import has_columns
from engram.index.vectors.live import LiveIndex
from engram.index.vectors.matrix import encode
from engram.models.embedders import Embedder, Vectors
from engram.models.rerankers import Reranker
from engram.recall import explain
from engram.recall.activation import LinkPath
from engram.recall.arms import VECTORS, WORDS, Arms
from engram.recall.feedback import Tuning, shifted
from engram.recall.fusion import ArmResult, Keys, Ranking, fuse_calibrated, fuse_reciprocal_ranks
from engram.recall.plan import Intent, Plan, Query, checked, plan, signature
from engram.recall.rerank import by_opinion, mmr, newest, opinions, rivals_in_order, skills_first
from engram.recall.score import ASSISTANT, HEAD, CandidateFacts, arm_weights, match_scores, score
from engram.recall.selection import (
    CONTRADICTS,
    DERIVED,
    OUTDATES,
    SUPERSEDES,
    Decision,
    FetchedCandidates,
    Links,
    best_match,
    is_flagged,
    is_relevant,
    least_score,
    match_threshold,
    select,
    suppressed,
    with_duplicates,
)
from engram.recall.times import Range, around, lies_within, named
from engram.recall.trust import Answerability, answerability, trust
from engram.recall.unknown_names import unknown_names
from engram.recall.weights import RecallWeights
from engram.rules.lifecycle import Lifecycle, lifecycle
from engram.rules.topics import blend
from engram.settings import LiveSettings, Settings
from engram.store.limits import StoreLimits
from engram.store.ports import Store
from engram.text.terms import identity_of, terms
from engram.text.tokens import count
from engram.types import Explanation, Hit, Memory, Outcome, Quality, Reader, Recall, Stage, Status
from engram.values.frozen import field, frozen, mutable, replace
from engram.values.query import CandidateTraits, Filter, JudgedQuestion, read_conditions

T = TypeVar("T")
COURTESY = "courtesy"
"""The strategy of the answer to a message that asks for nothing."""

_VECTOR_SHIFT = "vector_weight_shift"  # the name under which the store keeps what feedback taught
_NEWEST_AMONG = 10  # first candidates among which the newest of several on the same matter is put first
_NOTHING_ASKED_FOR = "a courtesy asks for nothing: nothing was looked up"
NOTHING_ASKED = Recall(
    (),
    Outcome.NOTHING_KNOWN,
    Quality(
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
    ),
    notes=(f"{_NOTHING_ASKED_FOR}.",),
)
"""The answer to a courtesy."""

_RERANK_S = 5.0  # time that a reranking model has for one question
_RERANKER_RESTS_S = 60.0  # time for which one that was too slow is not asked
_UNRANKED = "{}: the reranking model {}: the order is the one before it."
_WITHHELD = frozenset({Stage.THRESHOLD, Stage.BUDGET, Stage.SUPPRESSED, Stage.FLAGGED})
_TOO_LONG = "what is known about this is longer than {} tokens: ask again with a larger `budget`."
_EVENTS = 3  # best hits among which the event is looked for that gives a question its time
_IN_ORDER = 10  # best hits that are put in order of time where the question asks for it
_NEVER = datetime.max.replace(tzinfo=UTC)
_WITHIN = "only what is of {} was searched."
_OUTSIDE = "of {} comes first what answers this ({}); the other hits are of other times."
_EVENT = "“{}” is dated {}."
_NO_EVENT = "no date is known of “{}”: all times were searched."
_HELD_BACK = (
    "{} {} held back because it reads as an attack; `recall` with `explain` names it, `update` with flagged=False clears it."
)


@mutable
class Stopwatch:
    """Measures stages; `spent` holds their milliseconds by name."""

    monotonic: Callable[[], float]
    spent: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = self.monotonic()
        yield
        self.spent[name] = round((self.monotonic() - start) * 1000, 3)


@frozen(kw_only=True)
class SearchTrace:
    """Everything that one search computed; the answer and its explanation are made from it.

    `paths` says by which links a memory was reached; `unread` counts the candidates that were too far to be read; `least` is the
    match score under which the question counts as not answered. `notes` say what part of the search failed; `remarks` are shown
    beside them and leave the outcome as it is.
    """

    plan: Plan
    vector: Vectors | None
    arms: Sequence[ArmResult]
    weights: Mapping[str, float]
    ranking: Ranking
    answerability: Answerability
    best: float
    rerank: str
    decisions: Sequence[Decision]
    links: Links
    paths: Mapping[int, str]
    unread: int
    least: float
    notes: Sequence[str]
    spent: Mapping[str, float]
    remarks: Sequence[str] = ()

    @property
    def query(self) -> Query:
        return self.plan.query

    @property
    def hits(self) -> list[Decision]:
        return [decision for decision in self.decisions if decision.stage is Stage.ANSWER]

    @property
    def scale(self) -> float:
        """The factor of all scores that are shown: the support of the answer. It leaves the order as it is.

        A lone candidate that matches has nothing to be compared with: its score is 1.0, however candidates are fused.
        """
        if len(self.ranking.keys) == 1 and self.best >= self.least and self.ranking.scores[0] > 0.0:
            return 1.0 / float(self.ranking.scores[0])
        support = self.answerability.support
        return support if support is not None and ASSISTANT in self.ranking.parts else 1.0

    @property
    def worth_deepening(self) -> bool:
        """True if there is no hit and a wider search may find more."""
        full = any(len(arm.keys) >= self.plan.breadth for arm in self.arms)
        return not self.hits and (full or WORDS not in self.ranking.parts) and not self.plan.deep


class Searcher:
    """Answers questions on one open vault. `embedder`, `index` and `reranker` may be missing."""

    def __init__(
        self,
        store: Store,
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
        self._reranker_rests_until = 0.0
        self.tuning = Tuning()
        # The text arm reads while the question is encoded: both release the interpreter lock.
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="engram-recall")

    def equip(self, embedder: Embedder | None, index: LiveIndex | None) -> None:
        """Replace the encoder and the vector index."""
        self._arms.equip(embedder, index)

    def close(self) -> None:
        """Wait for searches under way and stop the threads."""
        self._threads.shutdown(wait=True)

    def recall(self, reader: Reader, query: Query, *, account: bool = False) -> Recall:
        """Answer a question and count its hits as used; with `account` the answer names every candidate that is no hit."""
        planned = self._plan(query, whole=account)
        if planned.is_courtesy:
            return NOTHING_ASKED
        trace = self._search(reader, planned)
        answer = self.count_use(reader, self._answer(trace))
        return replace(answer, left_out=explain.left_out(trace.decisions, trace.scale)) if account else answer

    def recall_uncounted(self, reader: Reader, query: Query) -> Recall:
        """Answer a question without counting its hits as used; `count_use` does so once they are shown."""
        return self._answer(self._search(reader, self._plan(query)))

    def count_use(self, reader: Reader, answer: Recall) -> Recall:
        """Count the hits of an answer as used."""
        self._store.memories.record_access(reader, [hit.memory.key for hit in answer])
        self.tuning.note(answer.quality)
        return answer

    def explain(self, reader: Reader, query: Query, memory: Memory) -> Explanation:
        """Say why this memory, which the reader may see, is or is not in the answer."""
        planned = self._plan(query, whole=True)
        if planned.is_courtesy:
            return Explanation(id=memory.id, stage=Stage.GATE, reason=_NOTHING_ASKED_FOR)
        trace = self._search(reader, planned)
        if planned.where.fresh and _is_faded(memory, trace.query.now, self._live.now):
            return Explanation(id=memory.id, stage=Stage.FILTER, reason="it has faded, and only fresh memories were asked for")
        explanation = explain.of_candidate(trace.ranking, trace.decisions, memory, trace.scale, trace.paths)
        if explanation is not None:
            return explanation
        if reason := self._filtered(reader, trace.plan.where, memory):
            return Explanation(id=memory.id, stage=Stage.FILTER, reason=reason)
        return explain.not_a_candidate(trace.arms, memory, self._arms.cosine(reader, trace.vector, memory.key), planned.terms)

    def _filtered(self, reader: Reader, where: Filter, memory: Memory) -> str:
        """Return the part of a filter that excludes this memory, as a sentence; "" if none does."""
        if has_columns(where):
            return explain.filtered(where, memory)
        for condition, names in read_conditions(where).items():
            alone = Filter(statuses=(), **{condition: names})  # type: ignore[arg-type]
            if not self._store.edges.passing(reader, [memory.key], alone):
                return explain.NOT_READ[condition]
        passes = memory.key in self._store.memories.keys_having(reader, where)
        return "" if passes else "the filters, or the moment asked about, exclude it"

    @property
    def background(self) -> float:
        """The cosine of unrelated texts."""
        return self._arms.background

    def is_relevant(self, hit: Hit) -> bool:
        """Return True if a hit is near enough to its question to be put before an agent."""
        return is_relevant(hit, self.background, self._live.tuned(RecallWeights))

    def _encode(self, planned: Plan, notes: list[str]) -> Vectors | None:
        """Return the question's vector, moved towards the talk that it depends on; None without a word or an encoder."""
        vector = self._arms.encode(planned.query.text, notes) if planned.terms else None  # "???" is near to nothing
        talk = self._arms.encode(planned.query.talk, notes) if vector is not None and planned.talk_weight else None
        return vector if vector is None or talk is None else blend(vector, talk, planned.talk_weight)

    # ── feedback ───────────────────────────────────────────────────────────────────────────────────────────────────

    def judged_question(self, query: Query) -> JudgedQuestion | None:
        """Return the question in the form that is stored with a judgement; None if it has no word to recognize it by."""
        words = signature(terms(checked(query).text))
        if not words:
            return None
        vector = self._arms.encode(query.text, [])
        return JudgedQuestion(words=words, vector=None if vector is None else encode(vector)[0], space=self._arms.space)

    def learn(self, reader: Reader, query: Query, memory: Memory, helpful: bool) -> None:
        """Give the arm that found a helpful memory a little more weight, and less if the memory did not help."""
        why = self.explain(reader, query, memory).why
        if why is not None:
            shift = shifted(self._vector_shift, self._plan(query).vector_weight, why.signals, helpful)
            self._store.figures.put(reader, _VECTOR_SHIFT, shift)
            self._vector_shift = shift

    @cached_property
    def _vector_shift(self) -> float:
        """The amount by which feedback has moved the weight of vectors; read once, changed by `learn`."""
        return self._store.figures.get(_VECTOR_SHIFT) or 0.0

    # ── the search ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _plan(self, query: Query, *, whole: bool = False) -> Plan:
        settings, weights = self._live.now, self._live.tuned(RecallWeights)
        return plan(checked(query), settings, weights, page_limit=self._page_limit, vector_shift=self._vector_shift, whole=whole)

    @property
    def _page_limit(self) -> int:
        return self._live.tuned(StoreLimits).page_limit

    def _search(self, reader: Reader, planned: Plan) -> SearchTrace:
        """Search the time that the question names; if nothing of it is an answer, all times, and say so (§39)."""
        asked, event = self._at_event(reader, planned)
        when = asked.within
        if when is None:
            found = self._search_all(reader, asked)
            return replace(found, remarks=(*event, *found.remarks))
        inside = self._search_all(reader, asked.bounded())
        answered = bool(inside.hits) if asked.lists else _is_answered(inside)
        within = replace(inside, remarks=(*event, _WITHIN.format(named(when)), *inside.remarks))
        if answered and (asked.lists or asked.analysis.anchor is not None):
            return within
        same = asked.query.text == planned.query.text
        anywhere = self._search_all(
            reader, replace(planned, analysis=replace(asked.analysis, bounds=False)), inside.vector if same else None
        )
        if answered and _is_answered(anywhere) and inside.best >= planned.weights.period_share * anywhere.best:
            return within
        return replace(_with_period_first(anywhere, when), remarks=(*event, *_outside(anywhere, when), *anywhere.remarks))

    def _at_event(self, reader: Reader, planned: Plan) -> tuple[Plan, Sequence[str]]:
        """Recall the event by which a question gives its time; return the plan for that time, and a note on the event."""
        anchor, query = planned.analysis.anchor, planned.query
        if anchor is None or not planned.analysis.bounds:
            return planned, ()
        asked = Query(text=anchor.event, now=query.now, limit=_EVENTS, as_of=query.as_of, where=query.where)
        trace = self._search_all(reader, self._plan(asked))
        event = event_among([hit.memory for hit in trace.hits], anchor.said) if _is_answered(trace) else None
        if event is None:
            return replace(planned, analysis=replace(planned.analysis, bounds=False)), (_NO_EVENT.format(anchor.event),)
        when = around(anchor, (event[0], event[1] or event[0]), query.now)
        about = self._plan(replace(query, text=anchor.rest), whole=planned.whole) if anchor.rest else planned
        note = _EVENT.format(anchor.event, event[0].date())
        return replace(about, analysis=replace(planned.analysis, when=when)), (note,)

    def _search_all(self, reader: Reader, planned: Plan, vector: Vectors | None = None) -> SearchTrace:
        """Search once, and once more and wider if that brought no hit; `vector` is the question's if it is known."""
        settings, query = self._live.now, planned.query
        watch = Stopwatch(self._env.monotonic)
        notes: list[str] = []
        words = self._start(self._text_arms, reader, planned, watch)
        with watch.stage("embed"):
            vector = self._encode(planned, notes) if vector is None else vector
        check_deadline("the question was encoded")
        text_arms = partial(future_result, words, "words were looked up")
        trace = self._search_once(reader, planned, vector, text_arms, notes, watch, settings)
        if trace.worth_deepening:
            deeper = planned.deeper(self._page_limit)
            text_arms = partial(self._text_arms, reader, deeper, watch)
            trace = self._search_once(reader, deeper, vector, text_arms, notes, watch, settings)
        if not trace.hits and not notes:
            self._arms.note_missing_vectors(reader, notes)
        if not trace.hits and (unknown := unknown_names(self._store, reader, planned.where)):
            trace = replace(trace, remarks=(*trace.remarks, *unknown))
        if not trace.hits and any(decision.stage is Stage.BUDGET for decision in trace.decisions):
            notes.append(_TOO_LONG.format(query.budget))
        return trace

    def _start(self, read: Callable[..., T], *arguments: object) -> Future[T]:
        try:
            return self._threads.submit(copy_context().run, read, *arguments)
        except RuntimeError:  # another thread closed the vault
            raise StorageError("the vault is closed.", way_out="Open it again.") from None

    def _text_arms(self, reader: Reader, planned: Plan, watch: Stopwatch) -> list[ArmResult]:
        with watch.stage("words"):
            arms = self._arms.words(reader, planned) + self._arms.wordings(reader, planned)
            return arms + self._arms.entity(reader, planned) if planned.weights.entity_weight else arms

    def _search_once(
        self,
        reader: Reader,
        planned: Plan,
        vector: Vectors | None,
        text_arms: Callable[[], list[ArmResult]],
        notes: list[str],
        watch: Stopwatch,
        settings: Settings,
    ) -> SearchTrace:
        with watch.stage("vectors"):
            arms = self._arms.vectors(reader, planned, vector, notes if not planned.deep else [])
            if planned.weights.time_weight and planned.within is None:
                arms = self._arms.add_time(reader, planned, vector, arms)
            arms += self._arms.governing(reader, planned, vector)
        with watch.stage("waited"):
            arms += text_arms()
        with watch.stage("fuse"):
            arms, by_arm, ranking, paths = self._fuse(reader, planned, vector, arms, settings)
            ranking = self._of_period(reader, planned, ranking)
            ranking = self._score_by_traits(reader, planned, ranking, settings)
        with watch.stage("fetch"):
            candidates = self._fetch_candidates(reader, planned, vector, ranking, paths, settings)
        with watch.stage("rerank"):
            ranking = score(ranking, planned, CandidateFacts(memories=candidates.memories), settings)
            remarks: list[str] = []
            ranking, rerank = self._rerank(reader, planned, ranking, candidates.memories, settings, remarks)
            ranking = self._skills_first(planned, ranking, candidates.allowed)
        with watch.stage("select"):
            kinds = (SUPERSEDES, OUTDATES, DERIVED, CONTRADICTS)
            links = self._store.edges.among(reader, list(candidates.memories), kinds) if candidates.memories else []
            ranking = self._rivals_in_order(ranking, candidates.memories, links)
            decisions = select(ranking, candidates, links, planned)
        return SearchTrace(
            plan=planned,
            vector=vector,
            arms=arms,
            weights=by_arm,
            ranking=ranking,
            answerability=answerability(ranking, candidates.allowed, planned, self._arms.background),
            best=best_match(ranking, candidates.suppressed.keys() | candidates.flagged),
            rerank=rerank,
            decisions=decisions,
            links=links,
            paths=explain.path_notes(paths, candidates.memories),
            unread=candidates.unread,
            least=least_score(ranking, settings),
            notes=notes,
            remarks=remarks,
            spent=watch.spent,
        )

    def _fuse(
        self,
        reader: Reader,
        planned: Plan,
        vector: Vectors | None,
        arms: list[ArmResult],
        settings: Settings,
    ) -> tuple[list[ArmResult], dict[str, float], Ranking, Mapping[int, LinkPath]]:
        """Rank the candidates of the arms; if links are followed, from the first of these, rank again with what they led to."""
        fuse = fuse_calibrated if settings.fusion == "calibrated" else fuse_reciprocal_ranks
        paths: Mapping[int, LinkPath] = {}
        arms = self._arms.score_all(reader, vector, arms)
        by_arm = arm_weights(arms, planned)
        ranking = fuse(arms, by_arm)
        if planned.hops:
            linked, paths = self._arms.graph(reader, planned, ranking)
            arms = self._arms.score_all(reader, vector, arms + linked)
            by_arm = arm_weights(arms, planned)
            ranking = fuse(arms, by_arm)
        return arms, by_arm, ranking, paths

    def _of_period(self, reader: Reader, planned: Plan, ranking: Ranking) -> Ranking:
        """Drop the candidates that happened outside the period which bounds the answer."""
        if planned.within is None or not len(ranking.keys):
            return ranking
        when, keys = planned.within, ranking.keys.tolist()
        traits = self._store.memories.traits(reader, keys)
        times = [(trait.happened, trait.until) if (trait := traits.get(key)) else (None, None) for key in keys]
        return ranking.reordered([place for place, (at, end) in enumerate(times) if at is None or _lies(when, at, end)])

    def _score_by_traits(self, reader: Reader, planned: Plan, ranking: Ranking, settings: Settings) -> Ranking:
        """Score the first candidates by their traits; not without vectors, as BM25 alone is on another scale."""
        if not ranking.calibrated or VECTORS not in ranking.parts:
            return ranking
        keys, asked = ranking.keys[:HEAD].tolist(), planned.analysis
        traits = self._store.memories.traits(reader, keys)
        if asked.asks_when:
            traits |= {
                key: replace(traits[key], lasts=True) for key in self._store.memories.lasting(reader, keys) if key in traits
            }
        facts = CandidateFacts(traits=[traits.get(key, CandidateTraits()) for key in keys])
        ranking = score(ranking, planned, facts, settings)
        return self._newest_first(reader, planned, ranking, traits)

    def _newest_first(self, reader: Reader, planned: Plan, ranking: Ranking, traits: Mapping[int, CandidateTraits]) -> Ranking:
        """Put the newest of several first candidates on the same matter first, if the question asks for the present state."""
        keys = ranking.keys[:_NEWEST_AMONG].tolist()
        if not planned.analysis.asks_now or planned.query.as_of is not None or len(keys) < 2:
            return ranking
        vectors = self._arms.vectors_of(reader, keys)
        if vectors is None:
            return ranking
        known = [traits.get(key, CandidateTraits()) for key in keys]
        background = self._arms.background
        least_cosine = background + (1.0 - background) * planned.weights.newest_likeness
        moments, speakers = [trait.happened for trait in known], [trait.speaker for trait in known]
        return ranking.with_first(keys, newest(ranking.scores[: len(keys)], vectors, moments, speakers, least_cosine))

    @staticmethod
    def _skills_first(planned: Plan, ranking: Ranking, memories: Mapping[int, Memory]) -> Ranking:
        """Put the skills that match first if the question asks how to do something, and behind them what warns of it."""
        if planned.analysis.intent is not Intent.PROCEDURAL:
            return ranking
        matches = dict(zip(ranking.keys.tolist(), match_scores(ranking).tolist(), strict=True))
        head = [memories[key] for key in ranking.keys.tolist() if key in memories]
        order = skills_first(head, [matches[memory.key] for memory in head])
        return ranking.with_first([memory.key for memory in head], order)

    @staticmethod
    def _rivals_in_order(ranking: Ranking, memories: Mapping[int, Memory], links: Sequence[tuple[int, int, str]]) -> Ranking:
        """Put each challenged memory behind the one that may replace it (R11)."""
        rivals = [
            (source, target)
            for source, target, kind in links
            if kind in (CONTRADICTS, OUTDATES) and target in memories and memories[target].status is Status.CHALLENGED
        ]
        if not rivals:
            return ranking
        head = [key for key in ranking.keys.tolist() if key in memories]
        return ranking.with_first(head, rivals_in_order(head, rivals))

    def _fetch_candidates(
        self,
        reader: Reader,
        planned: Plan,
        vector: Vectors | None,
        ranking: Ranking,
        paths: Mapping[int, LinkPath],
        settings: Settings,
    ) -> FetchedCandidates:
        """Read the candidates above the threshold; where an excluded one set the threshold, set it anew without it.

        If the question asks why, the causes of a candidate above the threshold are read too: they seldom share its words.
        """
        excluded: Set[int] = frozenset()
        while True:
            threshold = match_threshold(ranking, excluded, planned, settings)
            near, causes = ranking.keys, frozenset[int]()
            if threshold is not None and not planned.whole:
                near = near[match_scores(ranking) >= threshold]
            if planned.analysis.intent is Intent.CAUSAL:
                above = set(near.tolist())
                causes = frozenset(key for key, path in paths.items() if path.is_causal and path.start in above)
                near = ranking.keys[np.isin(ranking.keys, [*above, *causes])]
            memories, digests = self._fetch(reader, planned, near, settings)
            left_out = with_duplicates(self._suppressed(reader, planned, vector, memories, settings), digests)
            flagged = frozenset(key for key, memory in memories.items() if settings.guard_injection and is_flagged(memory))
            if left_out.keys() | flagged <= excluded:
                return FetchedCandidates(
                    memories=memories,
                    digests=digests,
                    suppressed=left_out,
                    flagged=flagged,
                    unread=len(ranking.keys) - len(near),
                    threshold=threshold,
                    causes=causes,
                )
            excluded = left_out.keys() | flagged

    def _fetch(self, reader: Reader, planned: Plan, near: Keys, settings: Settings) -> tuple[dict[int, Memory], dict[int, bytes]]:
        """Read candidates, best first, until enough of them say different things."""
        memories: dict[int, Memory] = {}
        digests: dict[int, bytes] = {}
        size = len(near) if planned.whole else planned.most * 5 // 4 + 10
        for start in range(0, len(near), max(size, 1)):
            page = self._store.memories.fetch(reader, near[start : start + size].tolist(), as_of=planned.where.as_of)
            if planned.within is not None:
                page = [memory for memory in page if _is_of(memory, planned.within)]
            if planned.where.fresh:
                page = [memory for memory in page if not _is_faded(memory, planned.query.now, settings)]
            memories |= {memory.key: memory for memory in page}
            digests |= {memory.key: identity_of(memory) for memory in page}
            if len(set(digests.values())) >= planned.most:
                break
        return memories, digests

    def _suppressed(
        self, reader: Reader, planned: Plan, vector: Vectors | None, memories: Mapping[int, Memory], settings: Settings
    ) -> dict[int, datetime]:
        """Return the memories to leave out, and until when. Reads judgements only if one of the memories was ever unhelpful."""
        unhelpful = [key for key, memory in memories.items() if memory.unhelpful]
        if not unhelpful:
            return {}
        question = JudgedQuestion(words=planned.signature, space=self._arms.space)
        judgements = self._store.feedback.judgements(reader, unhelpful, question)
        return suppressed(judgements, planned, vector, self._arms.background, settings)

    def _rerank(
        self,
        reader: Reader,
        planned: Plan,
        ranking: Ranking,
        memories: Mapping[int, Memory],
        settings: Settings,
        remarks: list[str],
    ) -> tuple[Ranking, str]:
        """Reorder the first candidates by a reranking model and for diversity, if these are on; return the methods used, too."""
        method = settings.fusion
        head = [key for key in ranking.keys.tolist() if key in memories]
        if self._reranker is not None and head:
            top = head[: planned.weights.rerank_top]
            scores = self._opinions(self._reranker, planned.query.text, [memories[key].text for key in top], remarks)
            if scores is not None:
                ranking = ranking.with_first(top, by_opinion(ranking.scores_of(top), scores, planned.weights.rerank_weight))
                method += f"+{self._reranker.name}"
        if settings.diversity and head:
            vectors = self._arms.vectors_of(reader, head)
            if vectors is not None:
                ranking = ranking.with_first(head, mmr(ranking.scores_of(head), vectors, settings.diversity))
                method += "+mmr"
        return ranking, method

    def _opinions(
        self, reranker: Reranker, question: str, texts: Sequence[str], remarks: list[str]
    ) -> npt.NDArray[np.float32] | None:
        """Return the reranking model's scores; None, with a remark, if it fails. One that was too slow rests for a while."""
        if self._env.monotonic() < self._reranker_rests_until:
            remarks.append(_UNRANKED.format("E2001", "was too slow for an earlier question and rests"))
            return None
        try:
            return opinions(reranker, question, texts, _RERANK_S, self._env.monotonic)
        except EmbeddingError as error:
            remarks.append(_UNRANKED.format(error.code, "did not answer"))
        except SearchTimeout as error:
            check_deadline("candidates were reranked")  # of the caller
            self._reranker_rests_until = self._env.monotonic() + _RERANKER_RESTS_S
            remarks.append(_UNRANKED.format(error.code, "was too slow"))
        return None

    # ── the answer ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _answer(self, trace: SearchTrace) -> Recall:
        best, now = trace.best, trace.query.now
        matches = match_scores(trace.ranking)
        contradicted = {key for source, target, kind in trace.links if kind == CONTRADICTS for key in (source, target)}
        hits = tuple(
            Hit(
                hit.memory,
                hit.score * trace.scale,
                trust(hit.memory, float(matches[hit.position]) / best if best > 0 else 0.0, now, hit.memory.key in contradicted),
                explain.why(trace.ranking, hit.position, trace.rerank, trace.paths),
            )
            for hit in trace.hits
        )
        withheld = trace.unread + sum(decision.stage in _WITHHELD for decision in trace.decisions)
        near = max(trace.least, best * trace.plan.weights.recall_floor)
        attacks = sum(decision.stage is Stage.FLAGGED and matches[decision.position] >= near for decision in trace.decisions)
        hits, order = in_order(hits) if trace.plan.analysis.in_order else (hits, ())
        notes = (
            *trace.notes,
            *trace.remarks,
            *order,
            *([_HELD_BACK.format(attacks, "are" if attacks > 1 else "is")] if attacks else []),
        )
        outcome = _outcome(trace, withheld)
        said = explain.left_out([decision for decision in trace.decisions if decision.stage is Stage.SAID], trace.scale)
        return Recall(hits, outcome, _quality(trace, hits), withheld, tuple(dict.fromkeys(notes)), said)


def _is_faded(memory: Memory, now: datetime, settings: Settings) -> bool:
    """Return True if a memory has faded so far that a caller who asks for fresh ones does not want it."""
    return lifecycle(memory, now, settings) in (Lifecycle.STALE, Lifecycle.ARCHIVED)


def _lies(when: Range, at: int, end: int | None) -> bool:
    return lies_within(when, from_micros(at), None if end is None else from_micros(end))


def _is_of(memory: Memory, when: Range) -> bool:
    """Return True if a memory tells of this time: it happened then, or it was said then and names no other time."""
    start = memory.happened_at or memory.learned_at
    return start is not None and lies_within(when, start, memory.happened_until)


def _is_first(trace: SearchTrace, when: Range, decision: Decision) -> bool:
    """Return True if a candidate is of a time and matches well enough to stand before those of other times."""
    match = float(match_scores(trace.ranking)[decision.position])
    return match >= trace.best * trace.plan.weights.period_share and _is_of(decision.memory, when)


def _with_period_first(trace: SearchTrace, when: Range) -> SearchTrace:
    return replace(trace, decisions=sorted(trace.decisions, key=lambda decision: not _is_first(trace, when, decision)))


def _outside(trace: SearchTrace, when: Range) -> Sequence[str]:
    """Return the note on hits of other times than the one asked about, if there are any."""
    first = sum(_is_first(trace, when, hit) for hit in trace.hits)
    return [_OUTSIDE.format(named(when), first or "none")] if first < len(trace.hits) else []


def event_among(memories: Sequence[Memory], said: bool) -> tuple[datetime, datetime | None] | None:
    """Return when the first of these memories happened, else was said; the first that names no other time if `said`."""
    found = [(start, memory.happened_until) for memory in memories if (start := memory.happened_at or memory.learned_at)]
    spoken = [event for event in found if event[1] is None] if said else []
    return next(iter(spoken or found), None)


def in_order(hits: tuple[Hit, ...]) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
    """Return the hits with the first of them in order of time, and a note that says so."""
    first = [hit for hit in hits[:_IN_ORDER] if hit.memory.happened_at or hit.memory.learned_at]
    if len(first) < 2:
        return hits, ()
    first.sort(key=lambda hit: hit.memory.happened_at or hit.memory.learned_at or _NEVER)
    rest = [hit for hit in hits if hit not in first]
    return (*first, *rest), (f"the first {len(first)} are in order of time.",)


def _outcome(trace: SearchTrace, withheld: int) -> Outcome:
    if trace.notes:
        return Outcome.DEGRADED
    if trace.hits or any(decision.stage is Stage.SAID for decision in trace.decisions):
        return Outcome.ANSWERED if trace.plan.lists or _is_answered(trace) else Outcome.BELOW_THRESHOLD
    return Outcome.BELOW_THRESHOLD if withheld else Outcome.NOTHING_KNOWN


def _is_answered(trace: SearchTrace) -> bool:
    """Return whether the hits answer the question.

    A limit brings the best so many however far they are, the best of a vault may have nothing to do with the question, and near
    memories may be about someone else: such hits are worth showing, and the outcome says that they are no answer.
    """
    answer, weights = trace.answerability, trace.plan.weights
    related = answer.related is None or answer.related >= weights.related_least
    supported = answer.support is None or answer.support >= weights.support_least
    found = any(decision.stage in (Stage.ANSWER, Stage.SAID) for decision in trace.decisions)
    return found and related and supported and trace.best >= trace.least


def _quality(trace: SearchTrace, hits: Sequence[Hit]) -> Quality:
    budgeted = trace.query.budget is not None
    tokens = [hit.memory.tokens[0] or (count(hit.memory.text) if budgeted else 0) for hit in hits]
    names = "+".join(arm.name for arm in trace.arms) or "nothing"
    return Quality(
        strategy=f"{names}, deep" if trace.plan.deep else names,
        weights=trace.weights,
        support=trace.answerability.support,
        covered=trace.answerability.covered,
        rerank=trace.rerank,
        candidates=len(trace.ranking.keys),
        returned=len(hits),
        relevancy=_relevancy(hits),
        ndcg=_ndcg([hit.trust.composite for hit in hits]),
        tokens=sum(tokens) if all(tokens) else None,
        milliseconds=dict(trace.spent),
    )


def _relevancy(hits: Sequence[Hit]) -> float:
    """Return the mean cosine of question and hits; without vectors the mean relevance."""
    if not hits:
        return 0.0
    cosines = [signal.score for hit in hits for signal in hit.why.signals if signal.arm == VECTORS and signal.rank]
    return float(np.clip(np.mean(cosines or [hit.trust.relevance for hit in hits]), 0.0, 1.0))


def _ndcg(grades: Sequence[float]) -> float:
    """Return the gain of the order returned against the best order of the same hits: 1 unless a later hit has a better grade."""
    gains = [grade / np.log2(place + 2) for place, grade in enumerate(grades)]
    ideal = [grade / np.log2(place + 2) for place, grade in enumerate(sorted(grades, reverse=True))]
    return float(sum(gains) / sum(ideal)) if sum(ideal) > 0 else 1.0
