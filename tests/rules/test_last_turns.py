"""The last turns (M1)."""

from __future__ import annotations

from datetime import timedelta

from hand_clock import HandClock
from hypothesis import given
from hypothesis import strategies as st

from engram.rules.working import LastTurns, add_turn, take_aged
from engram.types import Turn


def test_the_last_turn_is_available_and_twenty_turns_are_kept(clock: HandClock) -> None:
    last_turns = LastTurns()
    assert last_turns.just_said is None
    for number in range(25):
        last_turns, _ = add_turn(last_turns, Turn(f"turn {number}"), clock.now(), 20)
    assert last_turns.just_said == Turn("turn 24")
    assert [heard.turn.text for heard in last_turns.turns] == [f"turn {number}" for number in range(5, 25)]


def test_a_turn_is_handed_on_after_thirty_seconds_and_stays_available(clock: HandClock) -> None:
    last_turns, _ = add_turn(LastTurns(), Turn("make it blue"), clock.now(), 20)
    clock.advance(29.9)
    assert take_aged(last_turns, clock.now(), 30.0)[1] == ()
    clock.advance(0.1)
    last_turns, ripe = take_aged(last_turns, clock.now(), 30.0)
    assert [heard.turn for heard in ripe] == [Turn("make it blue")]
    assert last_turns.just_said == Turn("make it blue")
    assert take_aged(last_turns, clock.now(), 30.0)[1] == ()  # each turn is handed on once


@given(st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=60), st.integers(1, 8))
def test_every_turn_is_handed_on_at_most_once_and_in_order(steps: list[tuple[int, bool]], capacity: int) -> None:
    clock, last_turns, handed = HandClock(), LastTurns(), []
    for number, (wait, look) in enumerate(steps):
        clock.advance(wait)
        last_turns, pushed = add_turn(last_turns, Turn(str(number)), clock.now(), capacity)
        handed += pushed
        if look:
            last_turns, ripe = take_aged(last_turns, clock.now(), 30.0)
            handed += ripe
        assert len(last_turns.turns) <= capacity
    assert [heard.turn.text for heard in handed] == [str(number) for number in range(len(handed))]
    assert len(handed) + len(last_turns.turns) - last_turns.handed_on == len(steps)  # none is lost


def test_a_clock_set_back_hands_on_no_turn_early(clock: HandClock) -> None:
    last_turns, _ = add_turn(LastTurns(), Turn("a"), clock.now(), 20)
    clock.set(clock.now() - timedelta(hours=1))
    assert take_aged(last_turns, clock.now(), 30.0)[1] == ()
