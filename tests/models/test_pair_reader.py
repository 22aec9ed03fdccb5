"""The pair model: what a later statement does to an earlier one, and what happens without its files."""

from __future__ import annotations

import shutil
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.errors import EmbedderUnavailable
from engram.models.pair_reader import PairReader

READER = PairReader()


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_judgement_is_made_of_probabilities(earlier: str, later: str) -> None:
    (found,) = READER.judge([(earlier, later)])
    assert 0 <= found.same <= 1
    assert 0 <= found.replaces <= 1
    assert found.same + found.replaces <= 1 + 1e-5


def test_a_statement_says_the_same_as_itself_and_nothing_of_another_matter() -> None:
    said = "the standup is at nine"
    same, other = READER.judge([(said, said), (said, "my cousin keeps bees in Umbria")])
    assert same.same > 0.5 > 0.1 > other.same
    assert other.replaces < 0.2


def test_another_value_of_the_same_thing_replaces_it() -> None:
    change, addition = READER.judge(
        [("I work as a nurse at St. Mary's", "handed in my notice at St. Mary's today"), ("I speak Thai", "I speak Lao too")]
    )
    assert change.replaces > 0.5 > addition.replaces


def test_a_pair_is_judged_the_same_alone_and_among_others() -> None:
    pairs = [(f"the code of door {n} is {n}{n}", f"door {n} opens with {n}{n + 1}") for n in range(6)]
    assert READER.judge(pairs) == [READER.judge([pair])[0] for pair in pairs]
    assert READER.judge([]) == []


@pytest.mark.parametrize("harm", ["missing", "cut", "garbled"])
def test_files_that_cannot_be_read_give_a_clear_error(tmp_path: Path, harm: str) -> None:
    place = files("engram.models").joinpath("pairs")
    for name in ("card.json", "model.onnx"):
        (tmp_path / name).write_bytes(place.joinpath(name).read_bytes())
    model = tmp_path / "model.onnx"
    if harm == "missing":
        model.unlink()
    elif harm == "cut":
        model.write_bytes(model.read_bytes()[:1000])
    else:
        shutil.copy(tmp_path / "card.json", model)
    with pytest.raises(EmbedderUnavailable, match="pair model"):
        PairReader(tmp_path).judge([("a", "b")])
