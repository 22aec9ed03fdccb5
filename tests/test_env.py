"""Clock, ids and dice."""

from __future__ import annotations

import dataclasses
import threading
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hand_clock import HandClock
from hypothesis import example, given
from hypothesis import strategies as st

from engram.env import Env, Ulids, from_micros, to_micros

ALPHABET = set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
OFFSETS = st.integers(-24 * 60 + 1, 24 * 60 - 1).map(lambda minutes: timezone(timedelta(minutes=minutes)))
FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)


def milliseconds_in(ulid: str) -> int:
    digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    number = 0
    for sign in ulid[:10]:
        number = number * 32 + digits.index(sign)
    return number


@given(st.datetimes(timezones=st.just(UTC)))
@example(FIRST)
@example(LAST)
@example(datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC))
def test_a_datetime_survives_conversion_to_microseconds(moment: datetime) -> None:
    assert from_micros(to_micros(moment)) == moment


@given(st.integers(to_micros(FIRST), to_micros(LAST)))
def test_microseconds_survive_conversion_to_a_datetime(micros: int) -> None:
    assert to_micros(from_micros(micros)) == micros


@given(st.datetimes(timezones=OFFSETS))
@example(datetime.max.replace(tzinfo=timezone(-timedelta(hours=12))))
@example(datetime.min.replace(tzinfo=timezone(timedelta(hours=14))))
def test_times_of_any_zone_can_be_read_back(moment: datetime) -> None:
    back = from_micros(to_micros(moment))
    assert back.tzinfo is UTC
    assert back == min(max(moment, FIRST), LAST)


@given(st.datetimes())
def test_a_naive_time_is_taken_as_utc(moment: datetime) -> None:
    assert to_micros(moment) == to_micros(moment.replace(tzinfo=UTC))


@given(st.lists(st.datetimes(timezones=st.just(UTC)), min_size=2), st.lists(st.binary(min_size=10, max_size=10), min_size=1))
@example([LAST, FIRST, LAST], [b"\xff" * 10])
def test_ids_increase_whatever_the_clock_and_random_source_do(moments: list[datetime], dice: list[bytes]) -> None:
    clock, rolls = iter(moments), 0

    def random(size: int) -> bytes:
        nonlocal rolls
        rolls += 1
        return dice[rolls % len(dice)]

    ulids = Ulids(lambda: next(clock), random)
    made = [ulids() for _ in moments]
    assert made == sorted(set(made))
    assert all(len(ulid) == 26 and set(ulid) <= ALPHABET and ulid[0] <= "7" for ulid in made)


@given(st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC)))
def test_an_id_contains_its_creation_time(moment: datetime) -> None:
    assert milliseconds_in(Env(now=lambda: moment).new_id()) == to_micros(moment) // 1000


def test_a_clock_before_1970_counts_as_1970_in_ids(clock: HandClock) -> None:
    ulids = Ulids(clock.now, lambda size: bytes(size))
    clock.set(datetime(1950, 1, 1, tzinfo=UTC))
    assert milliseconds_in(ulids()) == 0
    clock.set(datetime(2026, 1, 1, tzinfo=UTC))
    assert milliseconds_in(ulids()) == to_micros(clock.now()) // 1000


def test_a_clock_that_was_set_back_catches_up_with_the_ids(env: Env, clock: HandClock) -> None:
    before = env.new_id()
    clock.set(clock.now() - timedelta(days=1))
    during = env.new_id()
    clock.advance(timedelta(days=1).total_seconds() + 1)
    after = env.new_id()
    assert before < during < after
    assert milliseconds_in(during) == milliseconds_in(before)
    assert milliseconds_in(after) == to_micros(clock.now()) // 1000


def test_threads_never_share_an_id(env: Env) -> None:
    made: list[list[str]] = [[] for _ in range(4)]

    def fill(own: list[str]) -> None:
        own.extend(env.new_id() for _ in range(2000))

    threads = [threading.Thread(target=fill, args=(own,)) for own in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set().union(*made)) == 8000
    assert all(own == sorted(own) for own in made)


def test_the_clock_of_tests_moves_only_when_advanced(env: Env, clock: HandClock) -> None:
    day, tick = env.now(), env.monotonic()
    env.sleep(90)
    clock.advance(0.5)
    assert (env.now() - day, env.monotonic() - tick) == (timedelta(seconds=90.5), 90.5)


def test_the_default_env_uses_the_system_clock_and_randomness() -> None:
    env = Env()
    before = datetime.now(UTC)
    assert before <= env.now() <= datetime.now(UTC)
    assert env.now().tzinfo is UTC
    assert env.random(16) != env.random(16)
    assert len(env.random(16)) == 16
    assert env.new_id() < env.new_id()


def test_new_id_cannot_be_passed_to_an_env() -> None:
    with pytest.raises(TypeError):
        Env(new_id=lambda: "mine")  # type: ignore[call-arg]


def test_a_replaced_env_makes_ids_from_its_own_clock(env: Env) -> None:
    later = dataclasses.replace(env, now=lambda: datetime(2030, 1, 1, tzinfo=UTC))
    assert milliseconds_in(later.new_id()) == to_micros(datetime(2030, 1, 1, tzinfo=UTC)) // 1000


@given(st.integers(1, 2**24), st.binary(min_size=8, max_size=8))
def test_below_returns_numbers_under_the_limit(limit: int, roll: bytes) -> None:
    assert 0 <= Env(random=lambda size: roll).below(limit) < limit
