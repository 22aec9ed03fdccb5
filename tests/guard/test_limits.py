"""Outside callers get coarse scores, answers on a time grid, and a limited number of questions. R15"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hand_clock import HandClock
from hypothesis import given
from hypothesis import strategies as st
from recall.vaults import FACTS, KEY, open_engram, settle

from engram.engine import Engram
from engram.env import Env
from engram.errors import RateLimited
from engram.guard import limits
from engram.models.embedders import CallableEmbedder, Vectors, hashing_embedder
from engram.serve.operations import OPERATIONS, read
from engram.serve.operations import limits as rationing
from engram.types import Policy, Reader, Role, Scope


@given(st.floats(-2, 2, allow_nan=False))
def test_scores_are_rounded_to_four_steps(score: float) -> None:
    assert limits.score_step(score) in (0.9, 0.7, 0.5, 0.2)
    assert limits.score_step(score) <= limits.score_step(score + 0.1)


@given(st.floats(0, 1, exclude_max=True))
def test_laplace_noise_is_symmetric(uniform: float) -> None:
    assert limits.laplace(uniform) == pytest.approx(-limits.laplace(1 - uniform), abs=1e-3) or uniform in (0.0, 0.5)


def test_a_coarsened_answer_keeps_its_order_and_loses_exact_scores(tmp_path: Path) -> None:
    ask = OPERATIONS["recall"]
    with open_engram(tmp_path / "vault") as mem:
        for fact in FACTS:
            mem.remember(fact)
        asked = read(ask, {"query": "where does Carla live?", "limit": 5})
        exact, told = ask.call(mem, asked), rationing.call(ask, mem, asked)
    assert [hit.memory.id for hit in told] == [hit.memory.id for hit in exact]
    assert {hit.score for hit in told} <= {0.9, 0.7, 0.5, 0.2}
    assert told.quality.milliseconds == {}
    assert {signal.score for hit in told for signal in hit.why.signals} <= {0.9, 0.7, 0.5, 0.2}


def test_skill_scores_are_coarsened_too(tmp_path: Path) -> None:
    begin = OPERATIONS["begin_episode"]
    with open_engram(tmp_path / "vault", words_only=True) as mem:
        for _ in range(3):
            with mem.episode("deploy the API") as going:
                for step in ("build the image", "apply the plan"):
                    going.event("ran", step, ok=True)
        told = rationing.answer(begin, mem, read(begin, {"goal": "deploy the API to the web"}))
    assert isinstance(told, dict)
    assert {one["score"] for one in told["skills"]} <= {0.9, 0.7, 0.5, 0.2}  # type: ignore[union-attr, index, call-overload]
    assert told["skills"]


def test_a_question_over_the_limit_is_refused_in_every_process(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault", ask_per_minute=3) as mem, open_engram(tmp_path / "vault", ask_per_minute=3) as other:
        for asker in (mem, other, mem):
            asker.ration()
        with pytest.raises(RateLimited):
            other.ration()


def test_a_refused_question_does_not_extend_the_wait(slowly: tuple[Engram, HandClock]) -> None:
    mem, clock = slowly
    mem.settings.set(ask_per_minute=2)
    mem.ration()
    clock.advance(30)
    mem.ration()
    for waited in range(5):
        with pytest.raises(RateLimited) as refused:
            mem.ration()
        assert 25 - 5 * waited < refused.value.after_s <= 30 - 5 * waited
        assert "`ask_per_minute`" in str(refused.value)
        clock.advance(5)
    clock.advance(5)
    mem.ration()
    with pytest.raises(RateLimited):
        mem.ration()


def test_agents_have_a_higher_rate_limit_than_guests(slowly: tuple[Engram, HandClock]) -> None:
    mem, clock = slowly
    for _ in range(3):
        for _ in range(8 * 2 * 6):  # eight at once, each asks twice in a turn of ten seconds
            clock.advance(60 / 96)
            mem.ration("s")
    guest = mem.as_reader(Reader(Scope(channel="c"), role=Role.GUEST))
    for _ in range(20):
        guest.ration()
    with pytest.raises(RateLimited, match="guest_ask_per_minute"):
        guest.ration()
    mem.ration()


def test_a_question_waits_only_briefly_for_a_writer(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault", words_only=True, ask_per_minute=1) as mem:
        entered, leave = threading.Event(), threading.Event()
        writer = mem._vault.store.gate.writer
        writer.run_later(lambda _: (entered.set(), leave.wait(120)), "something long")
        assert entered.wait(120)
        try:
            mem.ration()
            mem.ration()
        finally:
            leave.set()


CHILD = """
import sys
from pathlib import Path
from recall.vaults import open_engram
with open_engram(Path(sys.argv[1]), words_only=True, ask_per_minute=3) as mem:
    mem.ration()
    mem.ration()
"""


def test_rate_limits_are_counted_across_processes(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault", words_only=True, ask_per_minute=3) as mem:
        paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
        subprocess.run(
            [sys.executable, "-c", CHILD, str(tmp_path / "vault")],
            check=True,
            env={**os.environ, "PYTHONPATH": paths},
            timeout=120,
        )
        mem.ration()
        with pytest.raises(RateLimited):
            mem.ration()


@given(st.floats(0, 100), st.floats(0.001, 10), st.floats(0, 10))
def test_an_answer_is_delayed_to_the_next_grid_point_and_no_longer_than_the_maximum(
    elapsed: float, grid: float, most: float
) -> None:
    free, bound = limits.grid_delay(elapsed, grid), limits.grid_delay(elapsed, grid, most)
    points = (elapsed + free) / grid
    assert points == pytest.approx(round(points))
    assert points >= 1 - 1e-9
    assert bound == min(free, most)
    assert limits.grid_delay(elapsed, 0.0) == 0.0


SLOW = {"kayak": 0.013, "ferry": 0.031, "nothing": 0.002, "hidden": 0.044}


@pytest.fixture
def slowly(tmp_path: Path) -> Iterator[tuple[Engram, HandClock]]:
    """A vault on a stopped clock; encoding a text advances it by the seconds that `SLOW` gives to its words."""
    clock, hashing = HandClock(), hashing_embedder(64)

    def encode(texts: Sequence[str]) -> Vectors:
        clock.advance(sum(took for text in texts for word, took in SLOW.items() if word in text.split()))
        return hashing.passages(texts)

    settings = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False}
    env = Env(now=clock.now, monotonic=clock.monotonic, sleep=clock.sleep)
    embedder = CallableEmbedder(encode, name="slow", dimensions=64)
    rex = Reader(Scope(agent="rex"))
    with Engram.open(tmp_path / "vault", key=KEY, reader=rex, settings=settings, env=env, embedder=embedder) as mem:
        settle(mem)
        yield mem, clock


def test_hits_and_misses_and_hidden_and_refused_memories_take_the_same_time(slowly: tuple[Engram, HandClock]) -> None:
    mem, clock = slowly
    mem.remember("The boat lies at the pier")
    mem.as_reader(Reader(Scope(agent="ann"))).remember("The boat is sold")
    ask = OPERATIONS["recall"]
    took = {}
    for word in SLOW:
        began = clock.monotonic()
        rationing.call(ask, mem, read(ask, {"query": f"where is the boat {word}"}))
        took[word] = round(clock.monotonic() - began, 6)
    assert set(took.values()) == {0.05}
    mem.settings.set(ask_per_minute=1)
    began = clock.monotonic()
    with pytest.raises(RateLimited):
        rationing.call(ask, mem, read(ask, {"query": "where is the boat kayak"}))
    assert clock.monotonic() - began == pytest.approx(0.05)


def test_a_deadline_overrides_the_grid_and_the_owner_is_not_delayed(slowly: tuple[Engram, HandClock]) -> None:
    mem, clock = slowly
    ask = OPERATIONS["recall"]
    asked = read(ask, {"query": "where is the boat kayak"})
    began = clock.monotonic()
    rationing.call(ask, mem, asked, timeout=0.02)
    assert clock.monotonic() - began == pytest.approx(0.02)
    began = clock.monotonic()
    with mem.deadline(0.03):
        rationing.call(ask, mem, asked)
    assert clock.monotonic() - began == pytest.approx(0.03)
    owner = mem.as_reader(Reader(policy=Policy.ALL, role=Role.OWNER))
    began = clock.monotonic()
    rationing.call(ask, owner, asked)
    assert clock.monotonic() - began == pytest.approx(0.013)


def test_every_operation_that_takes_a_question_is_counted() -> None:
    """A new operation that takes a question fails here until it is counted."""
    questions = {"query", "question", "message", "about", "similar", "situation", "goal", "subject"}
    writes_down = {
        "feedback",
        "checkpoint",
        "learn",
        "unlearn",
    }  # what is asked there is kept, and answered with nothing that was searched for
    by_name = {"beliefs"}  # an exact name is looked up, and nothing like it
    for operation in OPERATIONS.values():
        asks = {field.name for field in operation.fields} & questions
        if asks and operation.name not in writes_down | by_name:
            assert operation.name in rationing.PROBES or rationing.PROBES_WITH.get(operation.name) in asks, operation.name


def test_each_session_and_each_identity_has_its_own_limit(tmp_path: Path) -> None:
    limited = {"ask_per_minute": 0, "ask_per_session": 2}
    with open_engram(tmp_path / "vault", **limited) as mem, open_engram(tmp_path / "vault", agent="ann", **limited) as ann:
        mem.ration("s")
        mem.ration("s")
        with pytest.raises(RateLimited):
            mem.ration("s")
        mem.ration("t")
        ann.ration("s")
