"""Recall: hits, their order and reasons, limits, filters, scopes, and the meaning of an empty answer."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from recall.vaults import FACTS, OWNER, at, last_change, open_engram, settle, store_of, texts

from engram.engine import Engram
from engram.errors import EngramError, InvalidQuery
from engram.models.embedders import CallableEmbedder, hashing_embedder
from engram.recall.explain import why
from engram.recall.fusion import Ranking
from engram.types import Kind, Outcome, Reader, Scope, Status, Turn
from engram.values.query import Filter

# ── outcomes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_question_in_a_vault_of_a_dozen_facts_is_answered(full: Engram) -> None:
    found = full.recall("Where does Carla live?")
    assert found.outcome is Outcome.ANSWERED
    assert found[0].memory.text == "My sister Carla lives in Lisbon"
    assert found.notes == ()


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_first_memories_of_a_new_vault_are_found(mem: Engram, size: int) -> None:
    """The first thing that users try: remember one sentence, ask for it."""
    for fact in FACTS[:size]:
        mem.remember(fact)
    found = mem.recall("What runs on Heroku in Frankfurt?")
    assert found.outcome is Outcome.ANSWERED
    assert texts(found)[:1] == [FACTS[0]]


@pytest.mark.parametrize("size", [1, 2, 3, 12])
def test_without_an_encoder_words_find_memories_and_a_note_says_so(wordy: Engram, size: int) -> None:
    for fact in FACTS[:size]:
        wordy.remember(fact)
    found = wordy.recall("What runs on Heroku in Frankfurt?")
    assert found.outcome is Outcome.DEGRADED
    assert "words alone" in " ".join(found.notes)
    assert texts(found)[:1] == [FACTS[0]]
    assert found.quality.strategy == "words"


def test_an_empty_answer_is_degraded_while_memories_lack_vectors(tmp_path: Path) -> None:
    """As after a model was installed, in a run too short to compute the vectors."""
    with open_engram(tmp_path / "v", words_only=True) as mem:
        mem.remember(FACTS[0])
    with open_engram(tmp_path / "v") as mem:
        found = mem.recall("zebras of the savannah")
        assert (found.outcome, len(found)) == (Outcome.DEGRADED, 0)
        assert "engram model fill" in " ".join(found.notes)
        mem.backfill()
        settle(mem)
        found = mem.recall("zebras of the savannah")
        assert (found.outcome is Outcome.DEGRADED, found.notes) == (False, ())


def test_an_empty_vault_answers_nothing_known(mem: Engram) -> None:
    found = mem.recall("Where does Carla live?")
    assert (found.outcome, len(found), found.hidden) == (Outcome.NOTHING_KNOWN, 0, 0)
    assert found.quality.strategy
    assert found.quality.returned == 0


def test_withheld_memories_are_counted(full: Engram) -> None:
    full.settings.set(recall_threshold=50.0)
    found = full.recall("Where does Carla live?")
    assert (found.outcome, len(found)) == (Outcome.BELOW_THRESHOLD, 0)
    assert found.hidden > 0


def test_an_answer_while_the_index_loads_has_a_note(full: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(full._vault.index), "search", lambda *_, **__: None)
    found = full.recall("Where does Carla live?", limit=3)
    assert found.outcome is Outcome.DEGRADED
    assert "loading" in " ".join(found.notes)
    assert texts(found)[0] == FACTS[1]


def test_a_failing_encoder_leaves_words_and_a_note(tmp_path: Path) -> None:
    """A custom encoder may raise any exception."""
    answers = [True]

    def moody(asked: list[str]) -> object:
        if not answers[0]:
            raise ConnectionError("the model's server is down")
        return np.ones((len(asked), 8))

    with open_engram(tmp_path / "vault", embedder=CallableEmbedder(moody, name="moody", dimensions=8)) as mem:
        mem.remember("The API runs on Heroku")
        answers[0] = False
        found = mem.recall("Heroku", limit=3)
        assert found.outcome is Outcome.DEGRADED
        assert texts(found) == ["The API runs on Heroku"]
        report = mem.observe(user="I moved to Lisbon with my sister Carla.")
        assert report.counts["kept"] == 1
        assert report.notes


def test_the_message_of_an_encoder_error_does_not_reach_the_answer(tmp_path: Path) -> None:
    def leaky(asked: list[str]) -> object:
        raise ValueError(asked[0])

    with open_engram(tmp_path / "vault", embedder=CallableEmbedder(leaky, name="leaky", dimensions=8)) as mem:
        assert "zqsecret" not in " ".join(mem.recall("zqsecret").notes)


# ── another model than the vault's ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("dimensions", [1024, 32])
def test_vectors_of_another_model_are_never_compared(tmp_path: Path, dimensions: int) -> None:
    """Answers are from words alone with a note, and new memories are stored without a vector."""
    with open_engram(tmp_path / "vault") as mem:
        mem.remember("The API runs on Heroku")
    made = hashing_embedder(dimensions)
    other = CallableEmbedder(lambda asked: made.passages(list(asked)), name="another model", dimensions=dimensions)
    with open_engram(tmp_path / "vault", embedder=other) as mem:
        found = mem.recall("Heroku", limit=3)
        assert found.outcome is Outcome.DEGRADED
        assert "E3003" in " ".join(found.notes), "it is not loading, it will never have loaded"
        assert found.quality.strategy == "words"
        kept = mem.remember("Our cat Miso sleeps upstairs")
        report = mem.observe(user="I moved to Lisbon with my sister Carla.")
        assert report.counts["kept"] == 1
        assert "E3003" in " ".join(report.notes)
        assert mem.health().pending_embeddings == 2
        assert texts(mem.recall("Miso", limit=1)) == [kept.text]
        mem.update(kept.id, text="The parrot Kiki screams all morning")
        with pytest.raises(EngramError, match="E3003"):
            mem.backfill()


def test_a_vault_can_be_moved_to_another_model(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault") as mem:
        for fact in FACTS:
            mem.remember(fact)
    made = hashing_embedder(256)
    other = CallableEmbedder(lambda asked: made.passages(list(asked)), name="another model", dimensions=256)
    with open_engram(tmp_path / "vault", embedder=other) as mem:
        with pytest.raises(EngramError, match="E4001"):
            mem.backfill(anew=True)
        assert mem.as_reader(OWNER).backfill(anew=True) == len(FACTS)
        mem.recall("anything")
        settle(mem)
        found = mem.recall("Where does Carla live?", limit=1)
        assert (found.quality.strategy, texts(found), found.notes) == ("vectors+words", [FACTS[1]], ())


def test_a_failing_model_removes_no_vectors(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault") as mem:
        mem.remember(FACTS[0])
    broken = CallableEmbedder(lambda asked: 1 / 0, name="broken", dimensions=8)
    with open_engram(tmp_path / "vault", embedder=broken) as mem, pytest.raises(EngramError, match="E3002"):
        mem.as_reader(OWNER).backfill(anew=True)
    with open_engram(tmp_path / "vault") as mem:
        assert mem.recall("Heroku", limit=1).quality.strategy == "vectors+words"


# ── order, limits, budget ──────────────────────────────────────────────────────────────────────────────────────────────


def test_hits_are_sorted_and_distinct(full: Engram) -> None:
    found = full.recall("Where does my sister Carla live, and what runs on Heroku?", limit=10)
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)
    assert len({hit.memory.id for hit in found}) == len(found) == 10


@pytest.mark.parametrize("limit", [1, 3, 12])
def test_a_limit_bounds_the_hits(full: Engram, limit: int) -> None:
    assert len(full.recall("Carla Heroku chess tea", limit=limit)) == limit


@pytest.mark.parametrize("limit", [13, 1000, 10**30])
def test_a_huge_limit_returns_all_memories(full: Engram, limit: int) -> None:
    assert len(full.recall("Carla Heroku chess tea", limit=limit)) == 12


@pytest.mark.parametrize("name", ["limit", "budget"])
@pytest.mark.parametrize("value", [0, -1, 2.5, "3", True, float("nan")])
def test_an_invalid_limit_or_budget_is_refused_by_name(full: Engram, name: str, value: object) -> None:
    with pytest.raises(InvalidQuery, match=name):
        full.recall("Carla", **{name: value})


def test_a_token_budget_is_kept_and_the_best_hits_come_first(full: Engram) -> None:
    whole = full.recall("Carla Heroku chess tea", limit=12)
    some = full.recall("Carla Heroku chess tea", limit=12, budget=25)
    assert 0 < len(some) < len(whole)
    assert some.quality.tokens <= 25
    assert texts(some) == texts(whole)[: len(some)]


def test_a_budget_too_small_for_any_hit_is_not_nothing_known(full: Engram) -> None:
    found = full.recall("Where does Carla live?", limit=5, budget=1)
    assert len(found) == 0
    assert found.outcome is not Outcome.NOTHING_KNOWN
    assert found.hidden > 0


def test_the_same_statement_in_many_places_does_not_crowd_out_others(mem: Engram) -> None:
    owner = mem.as_reader(OWNER)
    owner.remember("the zebra lives in the yard of Ann")
    for number in range(40):
        owner.remember("zebra yard", scope=Scope(agent=f"a{number}"))
    assert texts(owner.recall("zebra yard", limit=5)) == ["zebra yard", "the zebra lives in the yard of Ann"]


# ── bad questions ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("question", ["", "   ", "\n\t", "???", '"', "*", "\x00", "—", "🙂"])
@pytest.mark.parametrize("limit", [None, 3])
def test_a_question_without_words_is_refused_or_finds_nothing(full: Engram, question: str, limit: int | None) -> None:
    before = last_change(full)
    try:
        found = full.recall(question, limit=limit)
    except InvalidQuery:
        pass
    else:
        assert (len(found), found.outcome) == (0, Outcome.NOTHING_KNOWN)
    assert last_change(full) == before


@pytest.mark.parametrize(
    "question",
    [
        "Heroku AND", "NOT Heroku", "NEAR(Heroku Frankfurt, 2)", "words : Heroku", "{words around}: Heroku", '"Heroku', "Her*",
        "-Heroku", "^Heroku", "Heroku') OR 1=1 --", "rowid:1 Heroku", "Heroku OR", "(((Heroku", "lexicon MATCH 'Heroku'",
    ],
)  # fmt: skip
def test_operators_of_the_text_index_are_searched_as_words(full: Engram, question: str) -> None:
    assert isinstance(full.recall(question).hits, tuple)
    if "Heroku" in question:
        assert texts(full.recall(question, limit=1)) == [FACTS[0]]


def test_a_question_of_stop_words_finds_memories_with_these_words(wordy: Engram) -> None:
    wordy.remember("To be or not to be")
    wordy.remember("Something else entirely")
    assert texts(wordy.recall("to be or not to be", limit=3)) == ["To be or not to be"]


@pytest.mark.parametrize("question", ["x" * 10_000_000, "word " * 2_000_000, "\ud800", "tea \udfff", None, 7, b"tea"])
def test_an_invalid_question_is_refused(full: Engram, question: str) -> None:
    with pytest.raises(InvalidQuery):
        full.recall(question)


def test_the_longest_question_costs_little(full: Engram) -> None:
    long = " ".join(f"word{n}" for n in range(1500)) + " Heroku Frankfurt"
    assert texts(full.recall(long, limit=1)) == [FACTS[0]]


@pytest.mark.parametrize("now", [datetime(2026, 1, 1), datetime(1, 1, 1), datetime(9999, 12, 31, tzinfo=UTC)])
def test_a_question_may_be_asked_at_any_moment(full: Engram, now: datetime) -> None:
    hit = full.recall("Where does Carla live?", limit=1, now=now)[0]
    assert 0 <= hit.trust.freshness <= 1
    assert 0 <= hit.trust.composite <= 1


@pytest.mark.parametrize("options", [{"now": "today"}, {"filters": "fact"}, {"filters": Filter(since="2026")}])  # type: ignore[arg-type]
def test_invalid_options_raise_our_errors(full: Engram, options: dict[str, object]) -> None:
    with pytest.raises(EngramError):
        full.recall("Carla", limit=1, **options)  # type: ignore[arg-type]


def test_memories_in_other_scripts_are_found(mem: Engram) -> None:
    said = ["גרתי בתל אביב עם אחותי", "我昨天在东京吃了拉面", "Мой брат живёт в Казани", "ฉันชอบกินข้าวเหนียว"]
    for text in said:
        mem.remember(text)
    for text, word in zip(said, ["אביב", "拉面", "Казани", "ข้าวเหนียว"], strict=True):
        assert texts(mem.recall(word, limit=1)) == [text]


# ── filters ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def sorted_facts(mem: Engram) -> Engram:
    mem.remember("zebra one", kind=Kind.FACT, category="animal", happened_at=datetime(2024, 1, 1, tzinfo=UTC))
    mem.remember("zebra two", kind=Kind.SKILL, category="animal", happened_at=datetime(2025, 1, 1, tzinfo=UTC))
    mem.remember("zebra three", category="thing", happened_at=datetime(2026, 1, 1, tzinfo=UTC), attributes={"colour": "red"})
    return mem


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        (Filter(), {"one", "two", "three"}),
        (Filter(kinds=(Kind.FACT,)), {"one"}),
        (Filter(kinds=(Kind.FACT, Kind.SKILL)), {"one", "two"}),
        (Filter(categories=("animal",)), {"one", "two"}),
        (Filter(categories=("unheard of",)), set()),
        (Filter(since=datetime(2025, 1, 1, tzinfo=UTC)), {"two", "three"}),
        (Filter(until=datetime(2025, 1, 1, tzinfo=UTC)), {"one"}),
        (Filter(since=datetime(2024, 6, 1), until=datetime(2025, 6, 1)), {"two"}),
        (Filter(statuses=(Status.SUPERSEDED,)), set()),
        (Filter(attributes={"colour": "red"}), {"three"}),
        (Filter(attributes={"colour": "blue"}), set()),
        (Filter(attributes={"colour": "red"}, categories=("animal",)), set()),
    ],
)
def test_filters_apply_to_every_arm(sorted_facts: Engram, where: Filter, wanted: set[str]) -> None:
    found = sorted_facts.recall("zebra", limit=9, filters=where)
    assert {text.split()[1] for text in texts(found)} == wanted


def test_archived_memories_are_never_found_and_restored_ones_are(full: Engram) -> None:
    one = full.recall("Where does Carla live?", limit=1)[0].memory
    full.forget(one.id)
    assert one.id not in {hit.memory.id for hit in full.recall("Where does Carla live?", limit=50)}
    full.restore(one.id)
    assert full.recall("Where does Carla live?", limit=1)[0].memory.id == one.id


# ── reasons and figures ────────────────────────────────────────────────────────────────────────────────────────────────


def test_why_has_the_signal_of_each_arm(full: Engram) -> None:
    hit = full.recall("Where does Carla live?", limit=3)[0]
    signals = {signal.arm: signal for signal in hit.why.signals}
    assert signals.keys() == {"vectors", "words"}
    assert {signal.rank for signal in signals.values()} == {1}
    assert sum(abs(signal.share) for signal in signals.values()) == pytest.approx(1.0)
    assert "vectors #1" in str(hit.why)
    assert "words #1" in str(hit.why)


def test_an_arm_that_did_not_find_a_hit_has_rank_0(full: Engram) -> None:
    last = full.recall("Carla", limit=12)[-1]
    ranks = {signal.arm: signal.rank for signal in last.why.signals}
    assert ranks["words"] == 0
    assert ranks["vectors"] > 0


def test_an_answer_has_all_quality_figures(full: Engram) -> None:
    found = full.recall("Where does Carla live?", limit=5)
    quality = found.quality
    assert quality.strategy == "vectors+words"
    assert quality.returned == len(found) <= quality.candidates <= 12
    assert 0 < quality.relevancy <= 1
    assert 0.9 < quality.ndcg <= 1  # trust is more than the order by nearness
    assert quality.tokens == sum(hit.memory.tokens[0] for hit in found) > 0
    assert {"embed", "vectors", "words", "fuse", "fetch", "select"} <= quality.milliseconds.keys()
    assert all(spent >= 0 for spent in quality.milliseconds.values())
    for hit in found:
        assert all(0 <= part <= 1 for part in (hit.trust.relevance, hit.trust.accuracy, hit.trust.freshness, hit.trust.utility))


def test_recall_writes_nothing(full: Engram) -> None:
    store = store_of(full)
    memories = list(store.memories.page(OWNER, limit=100))
    before = last_change(full)
    for _ in range(5):
        full.recall("Where does Carla live?")
        full.recall("nothing of this is known")
    assert last_change(full) == before
    assert list(store.memories.page(OWNER, limit=100)) == memories


# ── scope ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_other_scopes_are_not_found_by_words_vectors_or_neighbouring_words(mem: Engram) -> None:
    zoe = mem.as_reader(Reader(Scope(agent="zoe")))
    zoe.observe(
        Turn("I bought a zqvelodrome ticket in Lisbon.", session="s"), Turn("My sister Carla came along too.", session="s")
    )
    mem.observe(Turn("My sister Carla lives in Porto.", session="s"))
    for question in ("zqvelodrome", "Carla sister zqvelodrome Lisbon"):
        assert all(hit.memory.scope == Scope(agent="rex") for hit in mem.recall(question, limit=50))
    assert mem.recall("zqvelodrome", limit=50).quality.candidates <= 1
    assert "zqvelodrome" in texts(zoe.recall("zqvelodrome", limit=1))[0]


def test_global_memories_are_found_by_every_agent(mem: Engram) -> None:
    mem.remember("The office is closed on Fridays", scope=Scope())
    zoe = mem.as_reader(Reader(Scope(agent="zoe")))
    assert texts(zoe.recall("office Fridays", limit=3)) == ["The office is closed on Fridays"]


# ── what was just written ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_memory_is_found_at_once_by_both_arms(full: Engram) -> None:
    kept = full.remember("Our cat Miso sleeps upstairs")
    hit = full.recall("cat Miso", limit=1)[0]
    assert hit.memory.id == kept.id
    assert all(signal.rank == 1 for signal in hit.why.signals)


def test_after_an_update_new_words_are_found_and_old_ones_are_not(full: Engram) -> None:
    kept = full.remember("Our cat Miso sleeps upstairs")
    full.recall("Miso", limit=1)
    full.update(kept.id, text="The parrot Kiki screams all morning")
    hit = full.recall("parrot Kiki", limit=1)[0]
    assert hit.memory.id == kept.id
    assert all(signal.rank == 1 for signal in hit.why.signals), "no vector of the new words"
    for hit in full.recall("cat Miso sleeps upstairs", limit=50):
        for signal in hit.why.signals if hit.memory.id == kept.id else ():
            assert signal.rank == 0 if signal.arm == "words" else signal.score < 0.3, "the old words still find it"


def test_an_update_recomputes_summary_and_tag(full: Engram) -> None:
    """A summary and a tag of words that were corrected would be shown instead of the correction."""
    kept = full.remember("Our cat Miso sleeps upstairs")
    new = full.update(kept.id, text="The parrot Kiki screams all morning")
    assert "Miso" not in f"{new.summary} {new.key_fact} {new.tag}"


def test_a_vault_filled_without_an_encoder_gets_its_vectors_later(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault", words_only=True) as mem:
        for fact in FACTS:
            mem.remember(fact)
    with open_engram(tmp_path / "vault") as mem:
        settle(mem)
        mem._vault.observer.backfill(OWNER)
        assert mem.health().pending_embeddings == 0
        assert mem.recall("Where does Carla live?", limit=1).quality.strategy == "vectors+words"


def test_reasons_leave_out_arms_that_contributed_nothing() -> None:
    ranks = {arm: np.array([rank]) for arm, rank in (("vectors", 4), ("words", 1), ("entity", 2))}
    parts = {arm: np.array([part], np.float32) for arm, part in (("vectors", -0.5), ("words", 1.5), ("entity", 0.0))}
    told = why(Ranking(np.array([7]), np.array([1.0], np.float32), ranks, parts, parts), 0)
    assert str(told) == "words #1 (1.50, 75%)"
    assert all(signal.share >= 0.0 for signal in told.signals)


def test_a_statement_that_says_since_when_ranks_first_if_the_question_asks_when(mem: Engram) -> None:
    kept = mem.remember("Ada has been learning the cello for two years now", happened_at=datetime(2024, 5, 1, tzinfo=UTC))
    mem.remember("Ada plays the cello at the window, her cello is red", happened_at=datetime(2024, 5, 1, tzinfo=UTC))
    assert kept.valid_from is not None
    assert kept.valid_from.year == 2022
    assert texts(mem.recall("When did Ada start learning cello?", limit=1)) == [kept.text]
    notes = mem.recall("When did Ada start learning cello?", limit=1)[0].why.notes
    assert any("how much it tells" in note for note in notes)


def test_since_when_is_read_from_turns(mem: Engram) -> None:
    mem.observe(Turn("I have worked at the bakery since 2019.", "Ada", at(3)))
    assert [one.valid_from for one in mem.list()] == [datetime(2019, 1, 1, tzinfo=UTC)]


def test_a_memory_dated_with_a_moment_is_found_by_a_question_about_that_time(mem: Engram) -> None:
    kept = mem.remember("The boiler was replaced", happened_at=at(3))
    found = mem.recall("What happened to the boiler in February 2026?", limit=1, now=at(20))
    assert texts(found) == [kept.text]
    assert any("from the time asked about" in note for note in found[0].why.notes)


@pytest.mark.parametrize("session", ["talk", "another talk"])
def test_an_answer_beside_a_turn_with_the_words_of_the_question_ranks_higher(mem: Engram, session: str) -> None:
    other = [f"The {name} needs new paint this spring." for name in ("barn", "fence", "gate", "porch", "shed", "stable", "tower")]
    said = ["Our sailing trip along the coast begins soon.", "Everything we need is packed into eleven wooden crates."]
    for number, text in enumerate([*said, *other]):
        mem.observe(Turn(text, "Ada", at(3), session=("talk", session)[number] if number < 2 else f"other{number}"))
    hits = mem.recall("When does the sailing trip along the coast begin?", limit=9)
    crates = next(hit for hit in hits if "crates" in hit.memory.text)
    lifted = any("said beside a better match" in note for note in crates.why.notes)
    assert lifted is (session == "talk")
