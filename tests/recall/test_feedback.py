"""A memory judged unhelpful is left out of answers to similar questions, for a while, and only in the reader's scope."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hand_clock import HandClock
from recall.vaults import FACTS, KEY, OWNER, hashing_encoder, open_engram, store_of, texts

import engram
from engram.engine import Engram
from engram.errors import EngramError, InvalidQuery
from engram.models.embedders import OnnxEmbedder
from engram.recall.plan import signature
from engram.recall.weights import RecallWeights
from engram.text.terms import terms
from engram.types import Outcome, Reader, Role, Scope, Stage

ASKED = "Where does the API run?"
LIKE = "Where does the API run today?"
OTHER = "What runs in Frankfurt?"
REX = Reader(Scope(agent="rex"))
DAY = 86400.0


@pytest.fixture
def timed(tmp_path: Path, clock: HandClock) -> Iterator[Engram]:
    settings = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False}
    with engram.open(
        tmp_path / "vault", key=KEY, agent="rex", embedder=hashing_encoder(), settings=settings, clock=clock.now
    ) as mem:
        for fact in FACTS:
            mem.remember(fact)
        yield mem


def api(mem: Engram) -> str:
    return next(one.id for one in mem.list(limit=50) if one.text.startswith("The API"))


def ids(mem: Engram, question: str, **how: object) -> list[str]:
    return [hit.memory.id for hit in mem.recall(question, limit=5, **how)]  # type: ignore[arg-type]


def test_an_unhelpful_memory_is_left_out_of_answers_to_similar_questions_only(timed: Engram) -> None:
    one = api(timed)
    assert one in ids(timed, LIKE)
    timed.feedback(one, False, query=ASKED)
    assert one not in ids(timed, ASKED)
    assert one not in ids(timed, LIKE)
    assert one in ids(timed, OTHER)


def test_the_answer_and_the_explanation_say_why_and_until_when(timed: Engram) -> None:
    one = api(timed)
    timed.feedback(one, False, query=ASKED)
    found = timed.recall(LIKE, limit=5, explain=True)
    left = {out.id: out for out in found.left_out}
    assert left[one].stage is Stage.SUPPRESSED
    assert left[one].reason.endswith("2026-06-02")  # ninety days after the fourth of March
    told = timed.explain(LIKE, one)
    assert told.stage is Stage.SUPPRESSED
    assert told.why is not None
    assert timed.explain(OTHER, one, limit=5).recalled


def test_a_suppressed_only_answer_is_below_the_threshold_not_unknown(mem: Engram) -> None:
    mem.feedback(mem.remember("The API runs on Heroku").id, False, query=ASKED)
    found = mem.recall(ASKED)
    assert not found.hits
    assert found.hidden == 1
    assert found.outcome is Outcome.BELOW_THRESHOLD


def test_a_suppressed_hit_does_not_set_the_threshold_for_others(timed: Engram) -> None:
    """The floor is a share of the best hit's score: one that nobody sees must not hold others back."""
    behind = timed.remember("Frankfurt has an airport")
    question = "The API runs on Heroku in Frankfurt"
    one = api(timed)
    assert [hit.memory.id for hit in timed.recall(question)] == [one]
    timed.feedback(one, False, query=question)
    assert [hit.memory.id for hit in timed.recall(question)] == [behind.id]


def test_a_superseded_memory_does_not_return_if_its_successor_is_suppressed(mem: Engram) -> None:
    old, new = mem.remember("The API runs on Heroku"), mem.remember("The API runs on Fly")
    mem.relate(new.id, old.id, "supersedes")
    mem.feedback(new.id, False, query=ASKED)
    assert ids(mem, ASKED) == []


def test_a_suppression_lasts_ninety_days(timed: Engram, clock: HandClock) -> None:
    one = api(timed)
    timed.feedback(one, False, query=ASKED)
    clock.advance(90 * DAY - 1)
    assert one not in ids(timed, LIKE)
    clock.advance(1)
    assert one in ids(timed, LIKE)


def test_the_duration_of_a_suppression_is_a_setting_and_the_likeness_of_questions_a_weight(
    timed: Engram, clock: HandClock
) -> None:
    one = api(timed)
    timed.settings.set(suppress_days=1.0)
    timed.feedback(one, False, query=ASKED)
    clock.advance(DAY)
    assert one in ids(timed, LIKE)
    timed.feedback(one, False, query=ASKED)
    timed.settings.tune(RecallWeights(suppress_likeness=1.0))
    assert one in ids(timed, LIKE)
    assert one not in ids(timed, ASKED), "the same words are the same question"


def test_helpful_feedback_ends_a_suppression_and_the_last_judgement_counts(timed: Engram, clock: HandClock) -> None:
    one = api(timed)
    timed.feedback(one, False, query=ASKED)
    clock.advance(1)
    timed.feedback(one, True, query=OTHER)
    assert one not in ids(timed, ASKED), "it helped with another question"
    clock.advance(1)
    timed.feedback(one, True, query=LIKE)
    assert one in ids(timed, ASKED)
    clock.advance(1)
    timed.feedback(one, False, query=ASKED)
    assert one not in ids(timed, ASKED)


def test_as_of_a_moment_before_the_feedback_the_memory_is_a_hit(timed: Engram, clock: HandClock) -> None:
    one, before = api(timed), clock.now()
    clock.advance(10)
    timed.feedback(one, False, query=ASKED)
    assert one in ids(timed, ASKED, as_of=before)
    assert one not in ids(timed, ASKED, as_of=before + timedelta(seconds=20))
    assert one not in ids(timed, ASKED, now=before), "the question's own date is not the memory's"


def test_the_feedback_of_one_agent_does_not_suppress_for_another(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault") as rex:
        shared = rex.remember("The API runs on Heroku", scope=Scope())
        zoe = rex.as_reader(Reader(Scope(agent="zoe")))
        rex.feedback(shared.id, False, query=ASKED)
        assert shared.id not in ids(rex, ASKED)
        assert shared.id in ids(zoe, ASKED)
        assert shared.id in ids(rex.as_reader(OWNER), ASKED)
        deeper = rex.as_reader(Reader(Scope(agent="rex", user="ann")))
        assert shared.id not in ids(deeper, ASKED), "where rex stands, with one of its users"
        user = rex.remember("The API runs on Fly", scope=Scope())
        deeper.feedback(user.id, False, query=ASKED)
        assert user.id in ids(rex, ASKED), "one user's opinion is not all users'"


def test_a_memory_with_the_same_words_in_another_scope_is_suppressed_too(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault") as mem:
        own = mem.remember("The API runs on Heroku")
        mem.remember("The API runs on Heroku", scope=Scope())
        mem.feedback(own.id, False, query=ASKED)
        assert texts(mem.recall(ASKED, limit=5)) == []


def test_feedback_of_guests_is_refused(mem: Engram) -> None:
    kept = mem.remember("The API runs on Heroku", scope=Scope())
    guest = mem.as_reader(Reader(Scope(channel="web"), role=Role.GUEST))
    for call in (lambda: guest.feedback(kept.id, False, query=ASKED), lambda: guest.feedback(kept.id, correction="No")):
        with pytest.raises(EngramError):
            call()
    assert kept.id in ids(mem, ASKED)
    assert mem.get(kept.id) == kept


def test_without_vectors_a_question_is_recognized_by_its_content_words(wordy: Engram) -> None:
    one = wordy.remember("The API runs on Heroku")
    wordy.feedback(one.id, False, query=ASKED)
    assert one.id not in ids(wordy, "where, does API: run??")
    assert one.id in ids(wordy, LIKE)
    assert signature(terms("Is it?")) == signature(terms("it is"))


def test_a_vector_of_another_model_is_not_compared(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault") as mem:
        one = mem.remember("The API runs on Heroku").id
        mem.feedback(one, False, query=ASKED)
    with open_engram(tmp_path / "vault", words_only=True) as mem:
        assert one not in ids(mem, ASKED)
        assert one in ids(mem, LIKE)
    with open_engram(tmp_path / "vault") as mem:
        mem.as_reader(OWNER).backfill(anew=True)
        assert one not in ids(mem, ASKED), "the words are known again"
        assert one in ids(mem, LIKE), "its question's vector went with the others"


def test_judgements_are_read_only_if_a_candidate_was_unhelpful(timed: Engram) -> None:
    timed.recall(ASKED)
    timed.feedback(api(timed), True, query=ASKED)
    timed.recall(ASKED)
    latencies = store_of(timed).health.report(timed.reader).latencies
    assert "judgements" not in latencies
    timed.feedback(api(timed), False, query=OTHER)
    timed.recall(ASKED)
    assert "judgements" in store_of(timed).health.report(timed.reader).latencies


def test_feedback_with_an_invalid_question_is_refused_before_it_is_counted(mem: Engram) -> None:
    kept = mem.remember("The API runs on Heroku")
    with pytest.raises(InvalidQuery):
        mem.feedback(kept.id, False, query="x" * 20_000)
    mem.feedback(kept.id, False, query="???")
    found = mem.get(kept.id)
    assert found is not None
    assert found.unhelpful == 1
    assert kept.id in ids(mem, ASKED)


def test_the_encoder_recognizes_a_question_in_other_words(tmp_path: Path, encoder: OnnxEmbedder) -> None:
    with open_engram(tmp_path / "vault", embedder=encoder) as mem:
        kept = [mem.remember(fact) for fact in FACTS]
        sister = kept[1].id
        mem.feedback(sister, False, query="Where does my sister live?")
        for like in ("In which city does my sister live?", "what city does my sister live in"):
            assert sister not in ids(mem, like), like
        for other in ("Who lives in Lisbon?", "Do I have family abroad?", "What does Carla do?"):
            assert sister in ids(mem, other), other
