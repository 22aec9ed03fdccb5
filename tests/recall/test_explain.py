"""Explanations of hits and of left out memories, thresholds, modes, reranking, and learning from feedback."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from patience import PATIENCE_S
from recall.vaults import FACTS, OWNER, open_engram, store_of, texts

from engram.engine import Engram
from engram.errors import EmbeddingFailed, InvalidQuery, NotFound
from engram.recall.feedback import Tuning, shifted
from engram.recall.selection import CONTRADICTS, DERIVED, SUPERSEDES
from engram.recall.weights import RecallWeights
from engram.types import ArmSignal, Explanation, Kind, Mode, Outcome, Quality, Reader, Role, Scope, Stage, Turn, Why
from engram.values.query import Filter

ASKED = "Where does Carla live?"


def _id(mem: Engram, fact: str) -> str:
    return next(memory.id for memory in mem.list(limit=100, status=None) if memory.text == fact)


# ── why not ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_explanation_of_a_hit_has_its_rank_and_reasons(full: Engram) -> None:
    told = full.explain(ASKED, _id(full, FACTS[1]))
    assert (told.recalled, told.rank, told.stage) == (True, 1, Stage.ANSWER)
    assert "hit number 1" in str(told)
    assert "found by " in str(told)
    assert "words #1" in str(told)


def test_a_memory_below_the_threshold_is_explained_with_both_scores(full: Engram) -> None:
    told = full.explain(ASKED, _id(full, FACTS[5]))
    assert (told.recalled, told.stage) == (False, Stage.THRESHOLD)
    assert told.score < told.needed
    assert f"{told.needed:.2f}" in str(told)


def test_an_explanation_reads_as_a_sentence() -> None:
    led, noted = ArmSignal("words", 1, 3.5, 0.6), "how much it tells (+0.16)"
    for why, told in (
        (Why((led,), (noted,)), "it is too far; found by words #1 (3.50, 60%); how much it tells (+0.16)."),
        (Why((replace(led, share=0.0),), (noted,)), "it is too far; how much it tells (+0.16)."),
        (Why(()), "it is too far."),
    ):
        assert str(Explanation(id="01", stage=Stage.THRESHOLD, reason="it is too far", why=why)) == told


def test_a_memory_beyond_the_limit_is_explained(full: Engram) -> None:
    ranked = [hit.memory.id for hit in full.recall(ASKED, limit=5)]
    assert full.explain(ASKED, ranked[2], limit=2).stage is Stage.LIMIT
    assert full.explain(ASKED, ranked[2], limit=3).recalled


def test_a_memory_over_the_token_budget_is_explained(full: Engram) -> None:
    assert full.explain(ASKED, _id(full, FACTS[1]), budget=1).stage is Stage.BUDGET


def test_every_memory_below_one_over_the_budget_is_over_it_too(full: Engram) -> None:
    found = full.recall(ASKED, limit=5, budget=1, explain=True)
    assert not found
    assert {one.stage for one in found.left_out[:5]} == {Stage.BUDGET}
    assert found.hidden >= 5


def test_a_hit_has_the_same_score_in_recall_and_explanation(full: Engram) -> None:
    hit = full.recall(ASKED)[0]
    assert full.explain(ASKED, hit.memory.id).score == pytest.approx(hit.score)


def test_left_out_memories_are_scored_on_the_scale_of_the_hits(full: Engram) -> None:
    """So that the two can be compared."""
    found = full.recall("Where does Carla live?", limit=2, explain=True)
    assert found.quality.support is not None
    assert found.quality.support < 1
    all_of_them = full.recall("Where does Carla live?", limit=12)
    scores = {hit.memory.id: hit.score for hit in all_of_them}
    assert found.left_out
    for one in found.left_out:
        assert one.score == pytest.approx(scores[one.id])
        assert full.explain("Where does Carla live?", one.id, limit=2).score == pytest.approx(scores[one.id])


def test_an_archived_or_filtered_memory_is_explained(full: Engram) -> None:
    one = _id(full, FACTS[1])
    told = full.explain(ASKED, one, filters=Filter(kinds=(Kind.SKILL,)))
    assert (told.stage, "kind" in told.reason) == (Stage.FILTER, True)
    assert full.explain(ASKED, one, filters=Filter(categories=("moment",))).stage is Stage.FILTER
    assert full.explain(ASKED, one, filters=Filter(since=datetime(2999, 1, 1))).stage is Stage.FILTER
    assert full.explain(ASKED, one, filters=Filter(attributes={"colour": "red"})).stage is Stage.FILTER
    full.forget(one)
    told = full.explain(ASKED, one)
    assert (told.stage, "archived" in told.reason) == (Stage.FILTER, True)


def test_a_memory_that_no_arm_found_is_explained_by_the_nearer_ones(full: Engram) -> None:
    full.settings.tune(RecallWeights(recall_candidates=10))
    for number in range(30):
        full.remember(f"Carla saw bird {number} in Lisbon where she lives")
    told = full.explain(ASKED, _id(full, FACTS[7]))
    assert told.stage is Stage.SEARCH
    assert told.score < told.needed
    assert "nearer" in told.reason


def test_the_duplicate_of_a_hit_is_explained(mem: Engram) -> None:
    owner = mem.as_reader(OWNER)
    ids = [owner.remember("zebra yard", scope=Scope(agent=name)).id for name in ("a", "b")]
    stages = {owner.explain("zebra yard", one, limit=5).stage for one in ids}
    assert stages == {Stage.ANSWER, Stage.DUPLICATE}


def test_an_unknown_or_invisible_memory_is_not_explained(full: Engram) -> None:
    with pytest.raises(NotFound):
        full.explain(ASKED, "01ARZ3NDEKTSV4RRFFQ69G5FAV")
    zoe = full.as_reader(Reader(Scope(agent="zoe")))
    with pytest.raises(NotFound):
        zoe.explain(ASKED, _id(full, FACTS[1]))


def test_a_recall_with_explain_accounts_for_every_candidate(full: Engram) -> None:
    plain, told = full.recall(ASKED), full.recall(ASKED, explain=True)
    assert plain.left_out == ()
    assert len(told) + len(told.left_out) == told.quality.candidates == 12
    assert all(one.stage is not Stage.ANSWER and one.reason for one in told.left_out)
    assert sum(one.stage is Stage.THRESHOLD for one in told.left_out) == told.hidden


# ── the gate, and what an answer is worth ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("said", ["Hello!", "thanks a lot, good night", "ok great", "ok, that is great", "Good morning to you"])
def test_a_courtesy_is_not_looked_up(full: Engram, said: str) -> None:
    found = full.recall(said)
    assert (len(found), found.outcome, found.quality.candidates) == (0, Outcome.NOTHING_KNOWN, 0)
    assert "courtesy" in found.notes[0]
    assert full.explain(said, _id(full, FACTS[0])).stage is Stage.GATE


@pytest.mark.parametrize(
    "said", ["ok, deploy it", "ok, do it", "thanks! where does Carla live?", "what do I like?", "good morning routine"]
)
def test_a_message_that_asks_for_something_is_looked_up(full: Engram, said: str) -> None:
    assert full.recall(said).quality.candidates > 0


def test_with_a_limit_the_outcome_says_if_the_hits_are_an_answer(full: Engram) -> None:
    assert full.recall(ASKED, limit=3).outcome is Outcome.ANSWERED
    far = full.recall("zqxv wvut qqrs", limit=3)
    assert far.outcome is Outcome.BELOW_THRESHOLD
    assert len(far) == 3


def test_without_hits_a_wider_search_follows(full: Engram) -> None:
    full.settings.tune(RecallWeights(recall_candidates=10))
    full.settings.set(recall_threshold=50.0)
    for number in range(30):
        full.remember(f"bird {number} came to the feeder")
    assert full.recall("birds at the feeder").quality.strategy.endswith("deep")
    full.settings.set(recall_threshold=0.75)
    assert not full.recall(ASKED).quality.strategy.endswith("deep")


# ── versions, kinds, contradictions ────────────────────────────────────────────────────────────────────────────────────


def test_a_superseded_memory_is_never_a_hit_beside_its_successor(mem: Engram) -> None:
    old = mem.remember("The API is with Heroku")
    new = mem.remember("The API is with Fly")
    assert len(mem.recall("Where does the API run?", limit=5)) == 2
    mem.relate(new.id, old.id, SUPERSEDES)
    found = mem.recall("Where does the API run?", limit=5, explain=True)
    assert [hit.memory.id for hit in found] == [new.id]
    assert [(one.id, one.stage) for one in found.left_out] == [(old.id, Stage.SUPERSEDED)]


def test_an_episode_is_no_hit_beside_the_fact_derived_from_it(mem: Engram) -> None:
    story = mem.remember("Ann said that she prefers TypeScript", kind=Kind.EPISODE)
    fact = mem.remember("Ann prefers TypeScript", kind=Kind.FACT)
    assert len(mem.recall("What does Ann prefer?", limit=5)) == 2
    mem.relate(fact.id, story.id, DERIVED)
    assert [hit.memory.id for hit in mem.recall("What does Ann prefer?", limit=5)] == [fact.id]


def test_contradiction_and_feedback_move_accuracy(mem: Engram) -> None:
    one, other = mem.remember("The API is with Heroku"), mem.remember("The API is with Fly")

    def accuracy() -> float:
        found = mem.recall("The API is with Heroku", limit=5)
        return next(hit.trust.accuracy for hit in found if hit.memory.id == one.id)

    plain = accuracy()
    mem.relate(other.id, one.id, CONTRADICTS)
    doubted = accuracy()
    assert doubted < plain
    mem.feedback(one.id, True)
    praised = accuracy()
    assert praised > doubted
    mem.feedback(one.id, False)
    assert accuracy() < praised
    kept = mem.get(one.id)
    assert kept is not None
    assert (kept.helpful, kept.unhelpful) == (1, 1)


def test_feedback_on_a_memory_that_the_reader_may_not_see_is_refused(mem: Engram) -> None:
    kept = mem.remember("The API runs on Heroku")
    with pytest.raises(NotFound):
        mem.as_reader(Reader(Scope(agent="zoe"))).feedback(kept.id, False)


def test_hits_are_counted_as_used_except_for_guests(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault") as mem:
        kept = mem.remember("The API runs on Heroku")
        for _ in range(3):
            mem.recall("Heroku")
        mem.as_reader(Reader(Scope(agent="rex"), role=Role.GUEST)).recall("Heroku")
        mem.audit()  # flushes what waits
        seen = mem.get(kept.id)
        assert seen is not None
        assert (seen.accesses, seen.accessed_at is not None) == (3, True)


# ── time ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def history(tmp_path: Path) -> tuple[Engram, _Clock]:
    from recall.vaults import KEY, hashing_encoder

    import engram

    clock = _Clock()
    settings = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False}
    return engram.open(
        tmp_path / "vault", key=KEY, agent="rex", embedder=hashing_encoder(), settings=settings, clock=clock
    ), clock


def test_as_of_answers_with_the_memories_of_that_moment(history: tuple[Engram, _Clock]) -> None:
    mem, clock = history
    day = timedelta(days=1)
    start = clock.now
    with mem:
        moved = mem.remember("The API runs on Heroku")
        clock.now = start + 10 * day
        mem.update(moved.id, text="The API runs on Fly")
        gone = mem.remember("Carla plays the cello")
        clock.now = start + 20 * day
        mem.forget(gone.id)
        assert mem.warm(120)

        def answer(question: str, days: int) -> list[str]:
            return texts(mem.recall(question, limit=5, as_of=start + days * day))

        assert answer("where does the API run", 5) == ["The API runs on Heroku"]
        assert answer("Heroku", 5) == ["The API runs on Heroku"], "its words then find it"
        assert answer("where does the API run", 15)[0] == "The API runs on Fly"
        assert answer("Carla cello", 5) == ["The API runs on Heroku"], "not known yet"
        assert answer("Carla cello", 15)[0] == "Carla plays the cello"
        assert "Carla plays the cello" not in answer("Carla cello", 25)
        assert texts(mem.recall("Carla cello", limit=1)) == ["The API runs on Fly"]
        assert answer("anything at all", -5) == []
        assert mem.explain("Carla cello", gone.id, as_of=start + 5 * day).stage is Stage.FILTER


def test_as_of_must_be_a_datetime(full: Engram) -> None:
    with pytest.raises(InvalidQuery, match="as_of"):
        full.recall("Carla", as_of="yesterday")  # type: ignore[arg-type]


# ── modes ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("facts_only", {"fact", "loose"}),
        (Mode.FACTS_PLUS_RULES, {"fact", "loose", "rule", "skill"}),
        ("full_context", {"fact", "loose", "rule", "skill", "story", "moment"}),
        (None, {"fact", "loose", "rule", "skill", "story", "moment"}),
    ],
)
def test_a_mode_restricts_the_sorts_of_memories(mem: Engram, mode: Mode | str | None, wanted: set[str]) -> None:
    mem.remember("zebra fact", kind=Kind.FACT)
    mem.remember("zebra loose")
    mem.remember("zebra rule", category="principle")
    mem.remember("zebra skill", kind=Kind.SKILL)
    mem.remember("zebra story", kind=Kind.EPISODE)
    mem.remember("zebra moment", category="moment")
    assert {text.split()[1] for text in texts(mem.recall("zebra", limit=9, mode=mode))} == wanted


def test_a_mode_and_kinds_that_exclude_each_other_find_nothing(mem: Engram) -> None:
    mem.remember("zebra skill", kind=Kind.SKILL)
    assert len(mem.recall("zebra", limit=9, mode="facts_only", filters=Filter(kinds=(Kind.SKILL,)))) == 0


@pytest.mark.parametrize("mode", ["deep", 7, ""])
def test_an_unknown_mode_is_refused_with_the_list_of_modes(full: Engram, mode: object) -> None:
    with pytest.raises(InvalidQuery, match="facts_only"):
        full.recall("Carla", mode=mode)  # type: ignore[arg-type]


# ── other orders ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_arms_can_be_fused_by_ranks(full: Engram) -> None:
    full.settings.set(fusion="rrf", recall_threshold=0.0)
    found = full.recall(ASKED, limit=3)
    assert found[0].score == pytest.approx(1.0), "first in every arm is 1"
    assert found.quality.rerank == "rrf"


class _Opinionated:
    """A reranker that prefers short texts."""

    name = "short-is-good"

    def score(self, question: str, found: list[str]) -> np.ndarray:
        return np.array([-len(text) for text in found], np.float32)


def test_a_reranking_model_decides_the_order(full: Engram, tmp_path: Path) -> None:
    with open_engram(tmp_path / "other", tuning=[RecallWeights(rerank_weight=1.0)]) as mem:
        for fact in FACTS:
            mem.remember(fact)
        mem._vault._reranker = _Opinionated()
        found = mem.recall(ASKED, limit=12)
        assert [len(text) for text in texts(found)] == sorted(len(fact) for fact in FACTS)
        assert found.quality.rerank == "calibrated+short-is-good"
        assert "reranked" in str(found[0].why)


class _Broken:
    """A reranker that fails in its own way."""

    name = "broken"

    def __init__(self, answer: Callable[[int], object]) -> None:
        self._answer = answer
        self.calls = 0

    def score(self, question: str, found: list[str]) -> object:
        self.calls += 1
        return self._answer(len(found))


def _raise(error: BaseException) -> object:
    raise error


@pytest.mark.parametrize(
    "answer",
    [
        lambda count: _raise(EmbeddingFailed("no")),
        lambda count: _raise(ZeroDivisionError()),
        lambda count: _raise(TimeoutError()),
        lambda count: np.full(count, np.nan, np.float32),
        lambda count: np.full(count, np.inf, np.float32),
        lambda count: np.zeros(count + 1, np.float32),
        lambda count: np.zeros((count, 2), np.float32),
        lambda count: None,
        lambda count: ["a"] * count,
        lambda count: [],
    ],
)
def test_a_reranking_model_that_fails_costs_a_note_and_nothing_else(full: Engram, answer: Callable[[int], object]) -> None:
    before = full.recall(ASKED, limit=3)
    full._vault.searcher._reranker = _Broken(answer)  # type: ignore[assignment]
    after = full.recall(ASKED, limit=3)
    assert (texts(after), after.outcome) == (texts(before), Outcome.ANSWERED)
    assert (before.notes, after.quality.rerank) == ((), "calibrated")
    assert ["the reranking model did not answer" in note for note in after.notes] == [True]


def test_a_reranking_model_that_hangs_costs_a_note_once_and_rests_then(full: Engram) -> None:
    released = threading.Event()
    reranker = _Broken(lambda count: released.wait(PATIENCE_S))
    full._vault.searcher._reranker = reranker  # type: ignore[assignment]
    try:
        with full.deadline(6.0):
            slow = full.recall(ASKED, limit=3)
        again = full.recall(ASKED, limit=3)
    finally:
        released.set()
    assert (texts(slow)[0], slow.outcome) == (FACTS[1], Outcome.ANSWERED)
    assert "the reranking model was too slow" in slow.notes[0]
    assert (texts(again), reranker.calls) == (texts(slow), 1)
    assert "rests" in again.notes[0]


# ── scores ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("fusion", ["calibrated", "rrf"])
@pytest.mark.parametrize("words_only", [False, True])
def test_a_lone_candidate_scores_one_whatever_the_fusion(tmp_path: Path, fusion: str, words_only: bool) -> None:
    with open_engram(tmp_path / "lone", words_only=words_only, fusion=fusion) as mem:
        kept = mem.remember("The deploy key is kept in the blue safe")
        found = mem.recall("Where is the deploy key kept?")
        assert [hit.score for hit in found] == [pytest.approx(1.0)]
        assert mem.explain("Where is the deploy key kept?", kept.id).score == pytest.approx(1.0)


def test_diversity_ranks_repetitions_lower(mem: Engram) -> None:
    for text in ("zebra yard", "zebra yard again", "chess"):
        mem.remember(text)
    assert texts(mem.recall("zebra yard chess", limit=3)) == ["zebra yard", "zebra yard again", "chess"]
    mem.settings.set(diversity=1.0)
    found = mem.recall("zebra yard chess", limit=3)
    assert texts(found) == ["zebra yard", "chess", "zebra yard again"]
    assert found.quality.rerank == "calibrated+mmr"


def test_words_count_less_if_the_best_text_match_holds_little_of_the_question(full: Engram) -> None:
    own = full.recall("Carla lives in Lisbon").quality.weights
    other = full.recall("Carla, computers, marathon, coffee, garage, sunlight, standup, winters and Rust").quality.weights
    assert other["words"] < own["words"]
    assert sum(other.values()) == pytest.approx(1.0)


ANSWER = """Turmeric soup helps against winter colds, many cooks say. Here is how it is made.

Fry an onion in butter until it is soft, add a spoon of ground turmeric, and let it toast for a minute. Pour in a litre of broth \
and a tin of coconut milk, and simmer it for twenty minutes with two grated carrots.

Blend it until it is smooth, season it with lime juice and salt, and serve it with toasted bread. It keeps for three days in the \
fridge, and it freezes well in small jars. A pinch of black pepper lets the body take in more of the turmeric, which is why most \
recipes for turmeric soup ask for it; ginger and garlic go well with it, too, and so does a handful of red lentils."""
"""An answer so long that it is kept in chunks, whatever it says."""


def test_an_assistants_words_rank_below_a_persons_unless_they_are_asked_for(mem: Engram) -> None:
    mem.observe(Turn(ANSWER, "assistant"))
    mem.observe(Turn("Turmeric soup helped against my winter cold.", "Ann"))
    plain = mem.recall("Does turmeric soup help against winter colds?", limit=2)
    assert plain[0].memory.speaker == "Ann"
    assert "said by an assistant" in str(plain[1].why)
    assert mem.recall("What did you say about turmeric soup and winter colds, many cooks?", limit=2)[0].memory.speaker != "Ann"


def test_hits_about_someone_else_are_below_the_threshold(mem: Engram) -> None:
    for thing in ("red bicycle", "red kite", "blue bicycle", "red lamp", "green bicycle", "red chair"):
        mem.observe(Turn(f"I bought a {thing} in Porto last week.", "Ann"))
    mem.observe(Turn("I planted lemon trees behind the house.", "Bob"))
    assert mem.recall("Where did Ann buy a red bicycle?", limit=1).outcome is Outcome.ANSWERED
    swapped = mem.recall("Where did Bob buy a red bicycle in Porto last week?", limit=1)
    assert swapped.outcome is Outcome.BELOW_THRESHOLD
    assert swapped.quality.support < 0.5


# ── learning ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_helpful_feedback_moves_the_arm_weights_and_is_stored(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault") as mem:
        kept = [mem.remember(fact) for fact in FACTS]
        before = mem.recall(ASKED).quality.weights["vectors"]
        for _ in range(5):
            mem.feedback(kept[1].id, True, query=ASKED)
        after = mem.recall(ASKED).quality.weights["vectors"]
        assert after != before
    with open_engram(tmp_path / "vault") as mem:
        assert mem.recall(ASKED).quality.weights["vectors"] == pytest.approx(after)


def test_the_weight_moves_towards_the_helpful_arm_within_bounds() -> None:
    found_by_words = [ArmSignal("vectors", 9, 0.1, 0.1), ArmSignal("words", 1, 5.0, 0.9)]
    assert shifted(0.0, 0.75, found_by_words, helpful=True) < 0 < shifted(0.0, 0.75, found_by_words, helpful=False)
    shift = 0.0
    for _ in range(1000):
        shift = shifted(shift, 0.75, found_by_words, helpful=True)
    assert shift == pytest.approx(-0.15)
    assert shifted(0.1, 0.75, [], helpful=True) == 0.1


def test_enough_poor_answers_become_a_warning() -> None:
    def quality(relevancy: float) -> Quality:
        return Quality(
            strategy="vectors+words", weights={}, support=None, rerank="", candidates=9, returned=3, relevancy=relevancy,
            ndcg=1.0, tokens=9, milliseconds={},
        )  # fmt: skip

    tuning = Tuning()
    for _ in range(9):
        tuning.note(quality(0.1))
    assert tuning.warnings == ()
    tuning.note(quality(0.1))
    assert "0.10" in tuning.warnings[0]
    for _ in range(50):
        tuning.note(quality(0.8))
    assert tuning.warnings == ()


def test_health_reports_poor_answers(full: Engram) -> None:
    assert not any("relevancy" in warning for warning in full.health().warnings)
    for _ in range(12):
        full.recall("zqxv wvut qqrs", limit=3)
    assert any("relevancy" in warning for warning in full.health().warnings)
    assert store_of(full) is not None
