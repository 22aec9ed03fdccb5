"""What was just said (M1)."""

from __future__ import annotations

from datetime import timedelta

from hand_clock import HandClock
from hypothesis import given
from hypothesis import strategies as st

from engram.rules.working import Ring, add_turn, ripen
from engram.types import Turn


def test_the_last_turn_is_at_hand_and_the_ring_holds_twenty(clock: HandClock) -> None:
    ring = Ring()
    assert ring.just_said is None
    for number in range(25):
        ring, _ = add_turn(ring, Turn(f"turn {number}"), clock.now(), 20)
    assert ring.just_said == Turn("turn 24")
    assert [heard.turn.text for heard in ring.turns] == [f"turn {number}" for number in range(5, 25)]


def test_a_turn_is_handed_on_after_thirty_seconds_and_stays_at_hand(clock: HandClock) -> None:
    ring, _ = add_turn(Ring(), Turn("make it blue"), clock.now(), 20)
    clock.advance(29.9)
    assert ripen(ring, clock.now(), 30.0)[1] == ()
    clock.advance(0.1)
    ring, ripe = ripen(ring, clock.now(), 30.0)
    assert [heard.turn for heard in ripe] == [Turn("make it blue")]
    assert ring.just_said == Turn("make it blue")
    assert ripen(ring, clock.now(), 30.0)[1] == ()  # once


@given(st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=60), st.integers(1, 8))
def test_every_turn_is_handed_on_at_most_once_and_in_order(steps: list[tuple[int, bool]], capacity: int) -> None:
    clock, ring, handed = HandClock(), Ring(), []
    for number, (wait, look) in enumerate(steps):
        clock.advance(wait)
        ring, pushed = add_turn(ring, Turn(str(number)), clock.now(), capacity)
        handed += pushed
        if look:
            ring, ripe = ripen(ring, clock.now(), 30.0)
            handed += ripe
        assert len(ring.turns) <= capacity
    assert [heard.turn.text for heard in handed] == [str(number) for number in range(len(handed))]
    assert len(handed) + len(ring.turns) - ring.handed == len(steps)  # none is lost


def test_a_clock_that_steps_back_hands_on_nothing_early(clock: HandClock) -> None:
    ring, _ = add_turn(Ring(), Turn("a"), clock.now(), 20)
    clock.set(clock.now() - timedelta(hours=1))
    assert ripen(ring, clock.now(), 30.0)[1] == ()
