"""Topics of a conversation (X6)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from recall.vaults import MODELS, NO_MODEL, real_encoder

from engram.models.embedders import Embedder, hashing_embedder
from engram.rules.topics import Momentum, Topic, TopicReading, Vector, advance, assess_topic, blend, dependence, similarity

DEPLOY = (
    "The staging deploy of the payment API fails on the health check.",
    "Which region does the payment API deploy to?",
    "Frankfurt first, and the deploy goes to Dublin after the health check.",
)


def read_turns(embedder: Embedder, *texts: str) -> tuple[Momentum, list[TopicReading]]:
    way, readings = Momentum(), []
    for text in texts:
        reading = assess_topic(way, text, embedder.query(text), embedder.background[0])
        way = advance(way, text, embedder.passages([text])[0], reading)
        readings.append(reading)
    return way, readings


def test_an_answer_continues_the_topic_and_an_unrelated_question_switches_it() -> None:
    _, readings = read_turns(
        hashing_embedder(256), *DEPLOY, "By the way, have you ever been to Lisbon?", "Yes, twice, I loved it."
    )
    assert [one.topic for one in readings[2:]] == [Topic.CONTINUATION, Topic.SWITCH, Topic.CONTINUATION]


def test_topics_are_judged_by_words_without_an_encoder() -> None:
    way = Momentum()
    for text in DEPLOY:
        way = advance(way, text, None, assess_topic(way, text, None, 0.0))
    assert assess_topic(way, "Do you like hockey?", None, 0.0).topic is Topic.SWITCH
    assert assess_topic(way, "Is the health check of the deploy slow?", None, 0.0).topic is not Topic.SWITCH


def test_small_talk_and_references_do_not_change_the_topic() -> None:
    way, _ = read_turns(hashing_embedder(), *DEPLOY)
    for text in ("ok, thanks!", "ok, deploy it", "and that one?"):
        assert assess_topic(way, text, hashing_embedder().query(text), 0.0).topic is Topic.CONTINUATION, text


def test_the_centroid_moves_by_alpha_and_restarts_on_a_switch() -> None:
    first, second = np.eye(4, dtype=np.float32)[:2]
    on, away = TopicReading(Topic.CONTINUATION, -3.0, 0.5, 0.5), TopicReading(Topic.SWITCH, 1.0, 0.0, 0.0)
    way = advance(advance(Momentum(), "deploy", first, on), "deploy again", second, on, alpha=0.3)
    assert way.centroid == pytest.approx([0.7, 0.3, 0.0, 0.0])
    assert way.velocity == pytest.approx([-1.0, 1.0, 0.0, 0.0])
    left = advance(way, "hockey", first, away)
    assert left.centroid == pytest.approx(first)
    assert left.confidence < way.confidence


def test_confidence_is_finite_and_grows_while_the_topic_continues() -> None:
    """The specification's own formula compares with a zero vector, for which the cosine is undefined."""
    seen, way = [], Momentum()
    vector = np.ones(8, np.float32) / np.sqrt(np.float32(8))
    for number in range(12):
        way = advance(way, f"deploy step {number}", vector, TopicReading(Topic.CONTINUATION, -3.0, 1.0, 1.0))
        seen.append(way.confidence)
    assert seen == sorted(seen)
    assert 0.9 < seen[-1] <= 1.0
    drifted = advance(way, "certificates", -vector, TopicReading(Topic.DRIFT, -1.5, -1.0, -1.0))
    assert drifted.confidence < seen[-1]


_NUMBERS = arrays.arrays(np.float32, 6, elements=st.floats(-1, 1, width=32))


@given(st.lists(st.tuples(_NUMBERS, st.sampled_from(["deploy it now", "why?", "do you like tea?", "ok"])), max_size=8), _NUMBERS)
def test_no_vector_leads_to_nan(turns: list[tuple[Vector, str]], query: Vector) -> None:
    way = Momentum()
    for vector, text in turns:
        way = advance(way, text, vector, assess_topic(way, text, vector, 0.5))
        assert 0.0 <= way.confidence <= 1.0
    drawn = blend(way, "deploy it", query)
    assert np.isfinite(drawn).all()
    if np.linalg.norm(query) > 1e-3 and drawn is not query:
        assert np.linalg.norm(drawn) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("ok, deploy it", 0.8, 1.0),
        ("why?", 1.0, 1.0),
        ("and the second one?", 0.8, 1.0),
        ("do the same for staging", 0.5, 0.9),
        ("who runs the payment API in Frankfurt?", 0.0, 0.0),
        ("What did the platform team decide about the health check in March?", 0.0, 0.0),
        ("where is the invoice archive?", 0.0, 0.0),
    ],
)
def test_a_message_depends_on_earlier_turns_the_less_it_says(text: str, least: float, most: float) -> None:
    assert least <= dependence(text) <= most


def test_only_dependent_messages_are_blended_with_the_conversation() -> None:
    embedder = hashing_embedder(256)
    way, _ = read_turns(embedder, *DEPLOY)
    alone, follow = "who runs the billing database in Oslo?", "ok, do it"
    assert blend(way, alone, embedder.query(alone)) is not None
    assert np.array_equal(blend(way, alone, embedder.query(alone)), embedder.query(alone))
    assert way.centroid is not None
    before, after = embedder.query(follow), blend(way, follow, embedder.query(follow))
    assert (similarity(after, way.centroid, 0.0) or 0.0) > (similarity(before, way.centroid, 0.0) or 0.0)
    assert np.linalg.norm(after) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.skipif(not MODELS, reason=NO_MODEL)
def test_a_follow_up_finds_memories_of_the_current_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the real encoder: notes on the deploy come first for "ok, run it"; a self-contained question is not affected."""
    monkeypatch.setenv("ENGRAM_MODELS", MODELS)
    embedder = real_encoder()
    if embedder is None:
        pytest.skip(NO_MODEL)
    notes = [
        "The payment API is deployed with `make ship` from the release branch.",
        "Running shoes need to be replaced every 500 miles.",
        "The marathon in Lisbon is run in October.",
        "Ann makes sourdough bread at the weekend.",
    ]
    kept = embedder.passages(notes)
    way, _ = read_turns(embedder, *DEPLOY)
    follow, alone = "ok, run it now", "which marathon takes place in October in Portugal?"
    plain, drawn = (kept @ vector for vector in (embedder.query(follow), blend(way, follow, embedder.query(follow))))
    assert int(np.argmax(drawn)) == 0
    assert drawn[0] - max(drawn[1:]) > plain[0] - max(plain[1:])
    assert int(np.argmax(kept @ blend(way, alone, embedder.query(alone)))) == 2


def test_a_dependent_message_is_searched_with_the_conversations_question_vector() -> None:
    """Question and passage vectors of an encoder differ, so the mean of question vectors is used."""
    said, asked, bare = (np.eye(3, dtype=np.float32)[place] for place in range(3))
    way = advance(
        Momentum(),
        "The payment API fails",
        said,
        assess_topic(Momentum(), "The payment API fails", asked, 0.0),
        as_question=asked,
    )
    drawn = blend(way, "why?", bare)
    assert float(drawn @ asked) > 0.9
    assert float(drawn @ said) == 0.0
    on = advance(way, "The payment API is slow", said, TopicReading(Topic.CONTINUATION, 0.0), as_question=bare)
    assert on.course is not None
    assert 0 < float(on.course @ bare) < float(on.course @ asked)
    off = advance(on, "Do you like jazz?", said, TopicReading(Topic.SWITCH, 0.0), as_question=bare)
    assert off.course is not None
    assert float(off.course @ asked) == 0.0


def test_a_reading_answers_to_its_earlier_names() -> None:
    reading = TopicReading(Topic.CONTINUATION, 1.0, 0.5, 0.25)
    assert (reading.near, reading.along) == (0.5, 0.25)
