"""A caller from outside learns an order, not a measure, and cannot ask without end. R15"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recall.minds import FACTS, open_mind

from engram.errors import RateLimited
from engram.guard import limits
from engram.serve.operations import OPERATIONS, rationing, read


@given(st.floats(-2, 2, allow_nan=False))
def test_there_are_four_scores(score: float) -> None:
    assert limits.step(score) in (0.9, 0.7, 0.5, 0.2)
    assert limits.step(score) <= limits.step(score + 0.1)


@given(st.floats(0, 1, exclude_max=True))
def test_noise_is_even(uniform: float) -> None:
    assert limits.laplace(uniform) == pytest.approx(-limits.laplace(1 - uniform), abs=1e-3) or uniform in (0.0, 0.5)


def test_an_answer_keeps_its_order_and_loses_its_measure(tmp_path: Path) -> None:
    ask = OPERATIONS["recall"]
    with open_mind(tmp_path / "vault") as mem:
        for fact in FACTS:
            mem.remember(fact)
        asked = read(ask, {"query": "where does Carla live?", "limit": 5})
        exact, told = ask.call(mem, asked), rationing.call(ask, mem, asked)
    assert [hit.memory.id for hit in told] == [hit.memory.id for hit in exact]
    assert {hit.score for hit in told} <= {0.9, 0.7, 0.5, 0.2}
    assert told.quality.milliseconds == {}
    assert {signal.score for hit in told for signal in hit.why.signals} <= {0.9, 0.7, 0.5, 0.2}


def test_the_one_too_many_is_refused_whichever_process_asks(tmp_path: Path) -> None:
    with open_mind(tmp_path / "vault", ask_per_minute=3) as mem, open_mind(tmp_path / "vault", ask_per_minute=3) as other:
        for asker in (mem, other, mem):
            asker.ration()
        with pytest.raises(RateLimited):
            other.ration()


def test_a_session_has_an_end_and_another_identity_its_own_count(tmp_path: Path) -> None:
    limited = {"ask_per_minute": 0, "ask_per_session": 2}
    with open_mind(tmp_path / "vault", **limited) as mem, open_mind(tmp_path / "vault", agent="ann", **limited) as ann:
        mem.ration("s")
        mem.ration("s")
        with pytest.raises(RateLimited):
            mem.ration("s")
        mem.ration("t")
        ann.ration("s")
