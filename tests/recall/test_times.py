"""The time that a question is about: as a period, as an event, and as the bounds of its answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hand_clock import HandClock
from recall.vaults import KEY, hashing_encoder, texts

import engram
from engram.engine import Engram
from engram.recall.times import Anchor, around, asked_time, lies_within, named
from engram.types import Outcome, Status
from engram.values.query import Filter

NOW = datetime(2024, 5, 15, 14, 30, tzinfo=UTC)  # a Wednesday


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "first", "until"),
    [
        ("What happened in September?", "2023-09-01", "2023-10-01"),
        ("What did we talk about last week?", "2024-05-06", "2024-05-13"),
        ("What have I done since Easter?", "2024-03-31", "2024-05-16"),
        ("What was I up to in March?", "2024-03-01", "2024-04-01"),
        ("Where was I between 3 and 10 May?", "2024-05-03", "2024-05-11"),
        ("Who did I meet two years ago?", "2022-01-01", "2023-01-01"),
        ("What did I cook two months ago?", "2024-03-01", "2024-04-01"),
        ("Which books did I read in spring?", "2024-03-01", "2024-06-01"),
        ("What did I buy over the past ten days?", "2024-05-05", "2024-05-16"),
        ("What was I doing the weekend before last?", "2024-05-04", "2024-05-06"),
        ("What did she do in the last ten days of December?", "2023-12-22", "2024-01-01"),
        ("What did she do the week before 9 June 2023?", "2023-06-02", "2023-06-09"),
        ("What did I spend from 15 to 21 June?", "2023-06-15", "2023-06-22"),
        ("Which customers called after March 2023?", "2023-04-01", "2024-05-16"),
        ("Where did we live before 2020?", "0001-01-02", "2020-01-01"),
    ],
)
def test_a_period_bounds_a_question_about_what_was(question: str, first: str, until: str) -> None:
    asked = asked_time(question, NOW, "en")
    assert asked.when == (day(first), day(until))
    assert asked.bounds


@pytest.mark.parametrize(
    "question",
    [
        "What should I do next week?",
        "Help me plan a dinner for Saturday",
        "I ran ten miles this morning. How do I recover?",
        "How many days ago did I see the dentist on 3 May?",
        "What is on my list for today?",
        "Was the race in May faster than the one in April?",
        "In which order did I read these books, from January to March?",
        "What did they give me when we met on Sunday?",
        "Which hobby did I start a few years ago?",
    ],
)
def test_a_time_that_is_no_restriction_bounds_nothing(question: str) -> None:
    assert not asked_time(question, NOW, "en").bounds


@pytest.mark.parametrize(
    ("question", "broad"),
    [
        ("What happened in September?", True),
        ("What did we talk about last week?", True),
        ("Please tell me everything that happened in April 2023.", True),
        ("How did the audit go in April?", False),
        ("Which plants did I water last week?", False),
    ],
)
def test_a_question_without_a_matter_asks_for_the_whole_period(question: str, broad: bool) -> None:
    assert asked_time(question, NOW, "en").broad is broad


@pytest.mark.parametrize(
    ("question", "event", "way", "unit", "count"),
    [
        ("What did we fix the day before the launch?", "the launch", -1, "day", 1),
        ("In the two weeks after we got back, what did I cook?", "we got back", 1, "week", 2),
        ("What did I eat when we were in Lisbon?", "we were in lisbon", 0, "", 1),
        ("the week of my first marathon, what happened?", "my first marathon", 0, "week", 1),
    ],
)
def test_an_event_gives_the_time(question: str, event: str, way: int, unit: str, count: int) -> None:
    anchor = asked_time(question, NOW, "en").anchor
    assert anchor is not None
    assert (anchor.event, anchor.way, anchor.unit, anchor.count) == (event, way, unit, count)


@pytest.mark.parametrize("question", ["When were you in Lisbon?", "What should I pack when we are in Lisbon?", "What did I eat?"])
def test_a_question_names_no_event(question: str) -> None:
    assert asked_time(question, NOW, "en").anchor is None


@pytest.mark.parametrize(
    ("anchor", "first", "until"),
    [
        (Anchor("", -1, "day"), "2024-04-09", "2024-04-10"),
        (Anchor("", 1, "week", 2), "2024-04-12", "2024-04-26"),
        (Anchor("", 0, "week"), "2024-04-08", "2024-04-15"),
        (Anchor("", 0), "2024-04-10", "2024-04-12"),
        (Anchor("", -1, "weekend"), "2024-04-06", "2024-04-08"),
        (Anchor("", 0, open=True), "2024-04-10", "2024-05-15T14:30"),
    ],
)
def test_the_period_beside_an_event_of_two_days(anchor: Anchor, first: str, until: str) -> None:
    assert around(anchor, (day("2024-04-10"), day("2024-04-12")), NOW) == (day(first), day(until))


def test_an_event_lies_in_a_period_with_at_least_half_of_it() -> None:
    september = (day("2023-09-01"), day("2023-10-01"))
    assert lies_within(september, day("2023-08-30"), day("2023-09-03"))
    assert not lies_within(september, day("2023-01-01"), day("2024-01-01"))
    assert lies_within(september, day("2023-09-30"), None)
    assert not lies_within(september, day("2023-10-01"), None)
    assert named(september) == "2023-09-01 to 2023-09-30"
    assert named((day("2023-09-01"), day("2023-09-02"))) == "2023-09-01"


# ── answers ────────────────────────────────────────────────────────────────────────────────────────────────────────────

TALK = [
    ("2023-08-20", "I repaired the old bicycle in the garage"),
    ("2023-09-04", "I started a pottery class with Ines"),
    ("2023-09-12", "I sold the red bicycle to a neighbour"),
    ("2023-09-25", "My laptop broke and I bought a new one"),
    ("2023-11-02", "The launch of the website went well"),
    ("2023-11-01", "I wrote the press release for the website"),
    ("2023-12-08", "I painted the kitchen walls yellow"),
]


@pytest.fixture
def talk(tmp_path: Path) -> Engram:
    settings = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False}
    clock = HandClock(NOW)
    mem = engram.open(tmp_path / "v", key=KEY, agent="rex", embedder=hashing_encoder(), settings=settings, clock=clock.now)
    mem.ingest([engram.Turn(text, at=day(at) + timedelta(hours=9), session=at) for at, text in TALK])
    assert mem.warm(120)
    return mem


def told(answer: engram.Recall) -> list[str]:
    return [text for _, text in TALK if any(text in hit for hit in texts(answer))]


def test_what_happened_in_a_month_lists_the_memories_of_that_month(talk: Engram) -> None:
    with talk:
        answer = talk.recall("What happened in September?")
        assert told(answer) == [text for at, text in TALK if at.startswith("2023-09")]
        assert answer.outcome is Outcome.ANSWERED
        assert answer.notes == ("only what is of 2023-09-01 to 2023-09-30 was searched.",)


def test_a_matter_is_looked_for_in_the_period_only(talk: Engram) -> None:
    with talk:
        september = talk.recall("What did I do with the bicycle in September?")
        assert TALK[2][1] in texts(september)[0]
        assert set(told(september)) <= {text for at, text in TALK if at.startswith("2023-09")}
        assert told(talk.recall("What did I do with the bicycle in August?", limit=1)) == [TALK[0][1]]


def test_an_event_that_began_before_the_period_is_of_it_by_half(talk: Engram) -> None:
    with talk:
        talk.ingest([engram.Turn("Last week I went to Canada with Ines", at=day("2023-11-08"), session="canada")])
        answer = talk.recall("Where did I go with Ines in November 2023?", limit=9)
        canada = next(hit.memory for hit in answer if "Canada" in hit.memory.text)
        assert (canada.happened_at, canada.happened_until) == (day("2023-10-30"), day("2023-11-06"))
        assert answer.notes == ("only what is of 2023-11-01 to 2023-11-30 was searched.",)


def test_a_cause_may_lie_before_the_time_that_a_question_names(talk: Engram) -> None:
    with talk:
        assert talk.recall("Why did I sell the bicycle in September?").notes == ()


def test_what_lies_outside_comes_after_a_note(talk: Engram) -> None:
    with talk:
        answer = talk.recall("Did I paint the kitchen walls in September?")
        assert TALK[6][1] in told(answer)
        assert "of other times" in answer.notes[0]
        assert answer.outcome is Outcome.ANSWERED, "a note on time is no failure"


def test_an_event_bounds_the_answer_and_is_named(talk: Engram) -> None:
    with talk:
        answer = talk.recall("Which press release did I write the day before the launch of the website?")
        assert told(answer) == [TALK[5][1]]
        assert answer.notes == (
            "“the launch of the website” is dated 2023-11-02.",
            "only what is of 2023-11-01 was searched.",
        )


def test_an_order_that_is_asked_for_is_the_order_of_time(talk: Engram) -> None:
    with talk:
        answer = talk.recall("In which order did I sell and repair a bicycle, and paint the kitchen?", limit=5)
        dates = [hit.memory.happened_at for hit in answer]
        assert dates == sorted(dates)
        assert answer.notes == (f"the first {len(dates)} are in order of time.",)


# ── moments with and without a zone ────────────────────────────────────────────────────────────────────────────────────

ZONES = [None, UTC, timezone(timedelta(hours=2))]


@pytest.mark.parametrize("zone", ZONES)
def test_moments_may_have_a_zone_or_none(talk: Engram, zone: timezone | None) -> None:
    first, until = datetime(2023, 9, 1, tzinfo=zone), datetime(2023, 10, 1, tzinfo=zone)
    with talk:
        filters = Filter(since=first, until=until)
        question = "bicycle in September 2023"
        assert told(talk.recall(question, limit=9, filters=filters, now=datetime(2024, 5, 1, tzinfo=zone)))
        hit = talk.recall(question, filters=filters, as_of=datetime(2024, 1, 1, tzinfo=zone), limit=1)[0]
        assert talk.explain(question, hit.memory.id, filters=filters, now=datetime(2024, 5, 1, tzinfo=zone)).recalled
        assert talk.recall(question, filters=Filter(as_of=until, since=first), limit=9)
        assert len(talk.list(since=first, until=until)) == 3
        assert talk.context(question, model="gpt-4o", now=datetime(2024, 5, 1, tzinfo=zone)).text


# ── as of ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_talk_that_was_ingested_later_is_known_from_when_it_was_said(talk: Engram) -> None:
    with talk:
        assert told(talk.recall("bicycle", limit=9, as_of=day("2023-09-01"))) == [TALK[0][1]]
        assert told(talk.recall("bicycle", limit=9, as_of=day("2023-08-01"))) == []


def test_a_statement_that_was_superseded_later_holds_as_of_before(tmp_path: Path) -> None:
    settings = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False}
    old, new = "Ada lives in Hamburg", "Ada lives in Bremen now"
    with engram.open(tmp_path / "v", key=KEY, agent="rex", embedder=hashing_encoder(), settings=settings) as mem:
        mem.ingest([engram.Turn(old, at=day("2024-03-01")), engram.Turn(new, at=day("2024-04-10"))])
        asked = "where does Ada live"
        march = mem.recall(asked, limit=5, as_of=day("2024-03-20"))
        assert [old in text for text in texts(march)] == [True]
        assert march[0].memory.status is Status.ACTIVE
        assert [new in text for text in texts(mem.recall(asked, limit=5, as_of=day("2024-04-20")))] == [True]
        then = mem.list(filters=Filter(as_of=day("2024-03-20")))
        assert [memory.status for memory in then] == [Status.ACTIVE]
