"""The parts of a score by substance, time, difference and neighbourhood; and the newest statement first."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from engram.env import to_micros
from engram.recall.plan import Intent, QueryAnalysis
from engram.recall.recall_weights import RecallWeights
from engram.recall.rerank import newest
from engram.recall.scoring import beside_part, gather_part, substance_part, time_part
from engram.store.ports import Heard
from engram.text.english.informativeness import told

FULL = RecallWeights(substance_weight=1.0, time_weight=2.0, gather_weight=1.0, beside_weight=0.5)


def at(day: str) -> int:
    return to_micros(datetime.fromisoformat(day).replace(tzinfo=UTC))


def test_a_deed_with_a_name_tells_more_than_a_remark() -> None:
    deed, names = told('Ada: I read "Middlemarch" in Lisbon with Tom.', "Ada")
    remark, none = told("Ada to Tom: Books are such a joy, you know!", "Ada")
    assert deed > 0 > remark
    assert (names, none) == (3, 0)
    assert told("Honesty matters.", "Ada", "principle")[0] < told("Honesty matters.", "Ada")[0]


def test_who_speaks_and_to_whom_is_not_a_name_told() -> None:
    assert told("Ada to Tom: I met Tom and then Ada left.", "Ada")[1] == 0


def test_what_is_dated_gains_where_a_time_is_asked_for() -> None:
    traits = [Heard(happened=at("2024-01-01")), Heard(happened=at("2024-01-01"), until=at("2024-01-02"))]
    plain = substance_part(traits, QueryAnalysis(), FULL)
    asked = substance_part(traits, QueryAnalysis(Intent.TEMPORAL, asks_when=True), FULL)
    assert plain[1] > plain[0]
    assert asked[1] - asked[0] > plain[1] - plain[0]


def test_what_names_things_gains_where_a_name_is_asked_for() -> None:
    made = substance_part([Heard(named=0), Heard(named=1), Heard(named=3)], QueryAnalysis(asks_name=True), FULL)
    assert made[0] < made[1] < made[2]
    assert substance_part([Heard(named=3)], QueryAnalysis(), FULL).tolist() == [0.0]


def test_what_happened_then_stands_above_what_was_said_then_and_that_above_what_is_near() -> None:
    march = (datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 4, 1, tzinfo=UTC))
    happened = Heard(happened=at("2024-03-05"), until=at("2024-03-06"))
    said, near, far = (Heard(happened=at(day)) for day in ("2024-03-20", "2024-04-10", "2022-01-01"))
    made = time_part([happened, said, near, far, Heard()], march, FULL)
    assert made[0] == pytest.approx(2.0)
    assert made[0] > made[1] > made[2] > made[3] == made[4] == 0.0


def test_candidates_are_told_apart_by_what_they_do_not_share() -> None:
    person, book, remark = np.eye(3, dtype=np.float32)
    query = person + 0.5 * book
    vectors = np.stack([3 * person + 0.1 * remark, person + 0.4 * book, 2 * person, person + 0.3 * remark])
    made = gather_part(query, vectors, FULL)
    assert int(made.argmax()) == 1
    assert gather_part(query, np.full((4, 3), np.nan, np.float32), FULL).tolist() == [0.0] * 4


def test_of_those_that_say_nearly_the_same_the_newest_stands_first() -> None:
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.99, 0.1]], np.float32)
    scores = np.array([3.0, 2.9, 2.8], np.float32)
    assert newest(scores, vectors, [10, 20, 30], ["user"] * 3, 0.9) == [2, 0, 1]
    assert newest(scores, vectors, [30, 20, 10], ["user"] * 3, 0.9) == [0, 1, 2]  # it is the newest already
    assert newest(scores, vectors, [10, 20, 30], ["user", "user", "assistant"], 0.9) == [0, 1, 2]
    assert newest(np.array([3.0, 2.9, 1.0], np.float32), vectors, [10, 20, 30], ["user"] * 3, 0.9) == [0, 1, 2]
    assert newest(scores, vectors, [10, 20, None], ["user"] * 3, 0.9) == [0, 1, 2]


def test_what_is_said_beside_something_good_gains_by_it_within_its_session() -> None:
    keys = np.array([10, 50, 12, 11, 90], np.int64)
    scores = np.array([4.0, 3.0, 1.0, 1.0, 1.0], np.float32)
    made = beside_part(keys, scores, ["a", "b", "a", "c", ""], FULL)
    assert made.tolist() == pytest.approx([0.5 * 0.8**2 * 1.0, 0.0, 0.5 * 0.8**2 * 4.0, 0.0, 0.0])
    assert beside_part(keys, -scores, ["a"] * 5, FULL).tolist() == [0.0] * 5
    assert beside_part(keys, scores, [""] * 5, FULL).tolist() == [0.0] * 5  # what was kept one by one was said nowhere
    assert len(beside_part(keys[:0], scores[:0], [], FULL)) == 0


def test_what_happened_at_a_moment_fits_the_time_around_it() -> None:
    march = (datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 4, 1, tzinfo=UTC))
    moment = at("2024-03-05")
    assert time_part([Heard(happened=moment, until=moment)], march, FULL)[0] > 0.0


def test_what_says_since_when_gains_where_a_time_is_asked_for() -> None:
    made = substance_part([Heard(), Heard(lasts=True)], QueryAnalysis(Intent.TEMPORAL, asks_when=True), FULL)
    assert made[1] > made[0]
