"""The statement model: tokens of a message with their scores, judgements on its pieces, and what happens without its files."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.errors import EmbedderUnavailable
from engram.models.statement_reader import Judgement, StatementReader

READER = StatementReader()
FILES = ("card.json", "tokenizer.json", "model.onnx", "judge.onnx")
LASTING = ("I am allergic to peanuts.", "My sister Carla lives in Lisbon.", "From now on always answer in German.")
IDLE = ("Thanks a lot!", "Hello there!", "What time is it?", "Write a poem about the sea.")


def judgement(text: str, speaker: str = "user", before: str = "") -> Judgement:
    """Return the judgement on a whole message."""
    reading = READER.read(speaker, before, text)
    return reading.judge([(0, len(reading.spans))])[0]


@given(st.text(max_size=80))
def test_every_token_has_its_place_and_its_scores(text: str) -> None:
    reading = READER.read("user", "", text)
    assert len(reading.spans) == len(reading.begins) == len(reading.outside)
    assert all(0 <= start <= end <= len(text) for start, end in reading.spans)
    assert list(reading.spans) == sorted(reading.spans)
    for scores in (reading.begins, reading.outside):
        assert ((scores >= 0) & (scores <= 1)).all()


@pytest.mark.parametrize("text", [*LASTING, *IDLE, "我住在柏林。", "x"])
def test_a_judgement_is_made_of_probabilities(text: str) -> None:
    found = judgement(text)
    assert 0 <= found.keep <= 1
    assert 0 <= found.needs <= 1
    for shares in (found.kinds, found.tenses):
        assert sum(shares.values()) == pytest.approx(1.0, abs=1e-4)
    assert found.kinds[found.kind] == max(found.kinds.values())
    assert found.tenses[found.tense] == max(found.tenses.values())


def test_each_piece_is_judged_by_itself() -> None:
    reading = READER.read("user", "", "Hello there! My sister Carla lives in Lisbon.")
    border = next(n for n, (start, _) in enumerate(reading.spans) if start == len("Hello there! "))
    greeting, fact = reading.judge([(0, border), (border, len(reading.spans))])
    assert greeting.kind == "greeting"
    assert greeting.keep < fact.keep


def test_what_lasts_is_worth_more_than_small_talk_questions_and_requests() -> None:
    assert min(judgement(text).keep for text in LASTING) > max(judgement(text).keep for text in IDLE)


def test_kinds_and_tenses_of_plain_sentences_are_told_apart() -> None:
    assert [judgement(text).kind for text in ("Hello there!", "What time is it?", "We moved to Leeds last May.")] == [
        "greeting", "question", "event",
    ]  # fmt: skip
    assert [judgement(text).tense for text in ("I will fly to Rome on Friday.", "I flew to Rome last Friday.")] == [
        "future", "past",
    ]  # fmt: skip


def test_only_the_end_of_the_message_before_is_read() -> None:
    end, text = "We talked about tea and boats. " * 40, "A golden retriever."
    near, far = (READER.read("user", f"{start}{end}", text) for start in ("", "What breed is your dog? " * 200))
    assert np.allclose(near.begins, far.begins, atol=1e-5)


def test_a_message_is_read_up_to_its_longest() -> None:
    reading = READER.read("user", "", "I like tea. " * 500)
    assert len(reading.spans) == READER.longest < len(READER.tokens("I like tea. " * 500))


def test_other_names_of_a_role_are_read_as_the_role_and_people_as_one() -> None:
    text = "My sister Carla lives in Lisbon."
    for one, other in (("user", "human"), ("user", " Me "), ("assistant", "AI"), ("Ann", "Ben Lee")):
        assert judgement(text, one) == judgement(text, other)


def test_a_piece_points_only_at_words_before_it() -> None:
    before, text = "What breed is your dog?", "It is a golden retriever."
    reading = READER.read("user", before, text)
    for piece in ((0, 2), (2, len(reading.spans))):
        found = reading.needed_by(piece)
        if found is not None:
            is_before, start, end = found
            assert 0 <= start < end <= (len(before) if is_before else reading.spans[piece[0]][0])
    assert READER.read("user", "", text).needed_by((0, 2)) is None
    assert reading.needed_by((0, 2), sure=1.1) is None


def test_threads_share_one_reader() -> None:
    reader = StatementReader()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: reader.read("user", "", LASTING[0]).begins.tolist(), range(8)))
    assert all(scores == found[0] for scores in found)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the model's files."""
    shutil.copytree(str(files("engram.models").joinpath("statements")), tmp_path / "statements")
    return tmp_path / "statements"


def test_the_files_may_lie_in_another_folder(folder: Path) -> None:
    reader = StatementReader(folder)
    reader.load()
    assert reader.joints == READER.joints


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["missing", "other", "half", "empty"])
def test_files_that_cannot_be_read_are_an_error_of_ours(folder: Path, name: str, damage: str) -> None:
    file = folder / name
    whole = file.read_bytes()
    file.unlink()
    if damage != "missing":
        file.write_bytes({"other": b"zebra" * 99, "half": whole[: len(whole) // 2], "empty": b""}[damage])
    with pytest.raises(EmbedderUnavailable, match="the statement model cannot be read"):
        StatementReader(folder).load()


def test_a_card_without_its_entries_is_an_error_of_ours(folder: Path) -> None:
    (folder / "card.json").write_text("{}")
    with pytest.raises(EmbedderUnavailable):
        StatementReader(folder).load()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My sister Melanie moved to Lisbon in May.", {"Melanie": "person", "Lisbon": "place"}),
        ("Priya's brother works at Siemens.", {"Priya": "person", "Siemens": "organisation"}),
        ("Much appreciated! Everyone loved it. Creativity matters to me.", {}),
        ("We had pasta on Monday and talked about the weather.", {}),
    ],
)
def test_names_are_told_from_other_words_with_a_capital(text: str, expected: dict[str, str]) -> None:
    found = {text[name.start : name.end]: name.kind for name in READER.read("user", "", text).names}
    assert found == expected


@given(st.text(max_size=80))
def test_names_stand_in_their_text_in_order(text: str) -> None:
    names = READER.read("user", "", text).names
    assert all(0 <= name.start < name.end <= len(text) for name in names)
    assert all(one.end <= other.start for one, other in pairwise(names))
