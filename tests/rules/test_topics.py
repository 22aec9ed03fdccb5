"""Topics of a conversation (X6)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from engram.models.embedders import Embedder, hashing_embedder
from engram.rules.topics import Momentum, Topic, TopicReading, Vector, advance, assess_topic, blend, dependence, talk_of
from engram.types import Turn

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
    drawn = blend(query, turns[-1][0] if turns else query, 0.5)
    assert np.isfinite(drawn).all()
    if np.linalg.norm(query) > 1e-3 and drawn is not query:
        assert np.linalg.norm(drawn) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("ok, deploy it", 0.8, 1.0),
        ("why?", 1.0, 1.0),
        ("Oh dear, I forgot. What happened to them?", 0.8, 1.0),
        ("The API crashed, for the disk was full. What happened to it?", 0.0, 0.0),
        ("and the second one?", 0.8, 1.0),
        ("do the same for staging", 0.5, 0.9),
        ("who runs the payment API in Frankfurt?", 0.0, 0.0),
        ("What did the platform team decide about the health check in March?", 0.0, 0.0),
        ("where is the invoice archive?", 0.0, 0.0),
    ],
)
def test_a_message_depends_on_earlier_turns_the_less_it_says(text: str, least: float, most: float) -> None:
    assert least <= dependence(text) <= most


def test_a_query_vector_moves_towards_the_talk_by_its_weight() -> None:
    query, talk = np.eye(4, dtype=np.float32)[:2]
    assert np.array_equal(blend(query, talk, 0.0), query)
    drawn = blend(query, talk, 0.5)
    assert float(drawn @ query) == pytest.approx(float(drawn @ talk))
    assert np.linalg.norm(drawn) == pytest.approx(1.0, abs=1e-5)
    assert blend(query, talk[:2], 0.5) is query, "vectors of another encoder"


def test_the_talk_is_the_last_turns_that_say_something() -> None:
    said = [Turn(f"The deploy number {number} failed") for number in range(9)]
    assert talk_of([*said, Turn("ok, thanks!", "assistant")]).splitlines() == [turn.text for turn in said[-4:]]
    assert talk_of([Turn("hm ok")]) == talk_of([]) == ""
    long = talk_of([Turn("The deploy failed. " + "blah " * 400 + "Shall I retry?")])
    assert long.startswith("The deploy failed.")
    assert long.endswith("Shall I retry?")
    assert len(long) < 700


def test_a_reading_answers_to_its_earlier_names() -> None:
    reading = TopicReading(Topic.CONTINUATION, 1.0, 0.5, 0.25)
    assert (reading.near, reading.along) == (0.5, 0.25)
