"""The compression of the history."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.context.history import COMPRESSED, SUMMARY, VERBATIM, HistoryPiece, compress, turns_of
from engram.text.tokens import count
from engram.types import Turn

_TALK = (
    "That sounds good to me. I have been thinking about it for a while and I am not sure yet.",
    "We could look at the logs again tomorrow morning. There is quite a lot in them, as far as I remember it.",
    "Yes, I agree with most of it. The rest we can talk about later when everybody is back in the office.",
    "Nice weather today, by the way. I went out for a walk with the dog before breakfast.",
)


def _long(number: int) -> list[Turn]:
    turns = [Turn(_TALK[n % 4], ("user", "assistant")[n % 2]) for n in range(number)]
    turns[3] = Turn("We looked at both. We decided to use PostgreSQL for the ledger. It took an hour.", "user")
    turns[7] = Turn("The build fails with error E1234 in src/ledger/post.py. I am looking into it.", "assistant")
    return turns


def test_the_last_turns_stand_verbatim() -> None:
    turns = _long(40)
    pieces = compress(turns, 500, count)
    assert [piece.text for piece in pieces if piece.form == VERBATIM] == [turn.text for turn in turns[-6:]]
    assert pieces[-1].text == turns[-1].text


def test_a_history_that_fits_stands_verbatim() -> None:
    turns = _long(60)
    pieces = compress(turns, 5_000, count)
    assert [(piece.text, piece.form) for piece in pieces] == [(turn.text, VERBATIM) for turn in turns]


def test_a_long_history_takes_a_quarter_and_decisions_files_and_errors_survive() -> None:
    turns = _long(150)
    whole = sum(count(f"{turn.speaker}: {turn.text}\n") for turn in turns)
    pieces = compress(turns, whole // 4, count)
    assert whole >= 4 * sum(piece.tokens for piece in pieces)
    text = "\n".join(piece.text for piece in pieces)
    for kept in ("decided to use PostgreSQL", "src/ledger/post.py", "E1234"):
        assert kept in text
    assert {piece.form for piece in pieces} == {VERBATIM, COMPRESSED, SUMMARY}


def test_no_sentence_is_cut() -> None:
    turns = _long(150)
    said = " ".join(turn.text for turn in turns)
    for piece in compress(turns, 900, count):
        body = piece.text.partition("turns):")[2] if piece.form == SUMMARY else piece.text
        for line in filter(str.strip, body.splitlines()):
            assert line.removeprefix("- ").removeprefix("user: ").removeprefix("assistant: ") in said


@pytest.fixture(scope="module")
def huge() -> list[Turn]:
    """180 different turns of a thousand tokens each; every thirtieth says something that must not be lost."""
    words = ["harbour", "ledger", "window", "pepper", "violin", "meadow", "copper", "lantern"]
    turns = []
    for turn in range(180):
        said = [
            f"In part {turn}-{place} the {words[(turn + place) % 8]} stood beside the {words[turn * place % 8]}, as it does."
            for place in range(40)
        ]
        if turn % 30 == 5:
            said[17] = f"We decided to keep ledger number {turn} in PostgreSQL."
            said[23] = f"The build failed with error E{turn:04} in src/ledger/part_{turn}.py."
        turns.append(Turn(" ".join(said), ("user", "assistant")[turn % 2]))
    return turns


def must_not_be_lost() -> list[str]:
    kept = range(5, 180, 30)
    return [text for n in kept for text in (f"ledger number {n} in PostgreSQL", f"error E{n:04} in src/ledger/part_{n}.py")]


def _check_whole_sentences(turns: list[Turn], pieces: list[HistoryPiece]) -> None:
    for piece in pieces:
        if piece.form == VERBATIM:
            assert piece.text == turns[piece.first].text
            continue
        lines = piece.text.splitlines()[1:] if piece.form == SUMMARY else [piece.text]
        for line in lines:
            for said in re.findall(r"[A-Z].*?\.(?= |$)", line):
                assert any(said in turn.text for turn in turns[piece.first : piece.first + piece.turns])
            assert line.endswith(".")


@pytest.mark.parametrize("grant", [83_000, 20_000, 4_000])
def test_a_huge_history_fills_its_grant_and_keeps_what_matters(huge: list[Turn], grant: int) -> None:
    pieces = compress(huge, grant, count)
    text = "\n".join(piece.shown for piece in pieces)
    assert 0.95 * grant <= count(text) <= grant
    assert [lost for lost in must_not_be_lost() if lost not in text] == []
    _check_whole_sentences(huge, pieces)


def test_compressed_turns_take_a_fourth_at_most(huge: list[Turn]) -> None:
    pieces = compress(huge, 83_000, count)
    short = [piece for piece in pieces if piece.form != VERBATIM]
    whole = sum(count(huge[piece.first + turn].text) for piece in short for turn in range(piece.turns))
    assert sum(piece.turns for piece in pieces) == len(huge)
    assert len(pieces) > 40  # most of the room is for what was said last, as it was said
    assert whole >= 4 * sum(piece.tokens for piece in short)


def test_a_pasted_text_stands_as_an_excerpt_and_leaves_room_for_turns_before_it() -> None:
    log = "\n".join(f"line {number} of the log says that all is well." for number in range(600))
    paste = Turn(f"Here it is.\n{log}\nThe job failed with error E77.\n{log}", "user")
    turns = [*_long(30), paste, Turn("I see. The last line tells it.", "assistant"), Turn("Thanks.", "user")]
    pieces = compress(turns, 1_000, count)
    assert sum(piece.tokens for piece in pieces) <= 1_000
    excerpt = next(piece for piece in pieces if piece.first == 30)
    assert "The job failed with error E77." in excerpt.text
    assert excerpt.form == COMPRESSED
    assert {piece.form for piece in pieces if piece.first in (28, 29, 31, 32)} == {VERBATIM}


def test_a_long_run_without_spaces_is_replaced_by_a_note() -> None:
    turns = [*_long(8), Turn("a" * 200_000, "user"), Turn("b/" * 100_000, "tool")]
    pieces = compress(turns, 150, count)
    assert sum(piece.tokens for piece in pieces) <= 150
    assert ["tokens left out]" in piece.text for piece in pieces[-2:]] == [True, True]


def test_small_talk_fills_its_grant() -> None:
    turns = [Turn(f"Hm {number}", "user") for number in range(3_000)]
    pieces = compress(turns, 4_000, count)
    assert 0.95 * 4_000 <= sum(piece.tokens for piece in pieces) <= 4_000
    assert pieces[-1].text == "Hm 2999"


def test_parts_of_messages_are_text_or_a_note_of_their_sort() -> None:
    theirs = [
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}, {"type": "image", "source": {}}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "A cat"}]}]},
        {"role": "tool", "tool_call_id": "t2", "content": "no such file: a.py"},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "content": " \n"},
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]},
    ]
    assert [(turn.speaker, turn.text) for turn in turns_of(theirs)] == [
        ("user", "What is this?\n[image]"),
        ("user", "A cat"),
        ("tool", "no such file: a.py"),
        ("user", "[audio]"),
    ]


def test_long_code_is_left_out_first() -> None:
    code = "```python\n" + "\n".join(f"line_{n} = {n}" for n in range(40)) + "\n```"
    turns = [Turn(f"Here is what I decided to do for the parser. {code}", "assistant"), *_long(12)]
    text = "\n".join(piece.text for piece in compress(turns, 400, count))
    assert "decided to do for the parser" in text
    assert "line_17" not in text


@given(
    st.lists(st.builds(Turn, st.text(max_size=80), st.sampled_from(["user", "assistant", "Ann"])), max_size=40),
    st.integers(0, 400),
)
def test_a_compressed_history_keeps_its_budget_and_order(turns: list[Turn], budget: int) -> None:
    pieces = compress(turns, budget, count)
    assert sum(piece.tokens for piece in pieces) <= budget
    assert [piece.first for piece in pieces] == sorted(piece.first for piece in pieces)


def test_repeated_sentences_leave_room_for_unique_ones() -> None:
    turns = [Turn("It failed with a timeout in db/main.py, as always.", "user") for _ in range(200)]
    turns[5] = Turn("The error E4711 came up in billing.", "assistant")
    text = "\n".join(piece.shown for piece in compress(turns, 500, count))
    assert "E4711" in text


def test_a_decision_in_a_script_without_spaces_survives() -> None:
    turns = [Turn(f"今天天气很好，我们去公园散步，然后回家吃饭看书第{number}次。", "user") for number in range(150)]
    turns[4] = Turn("好的。我们决定使用向量数据库。谢谢你。", "assistant")
    text = "\n".join(piece.shown for piece in compress(turns, 900, count))
    assert "我们决定使用向量数据库。" in text


def test_intentions_and_questions_of_a_person_outlive_an_assistants_long_answers() -> None:
    answer = "Here is some more advice on that matter for you to consider at leisure, with many further words. " * 12
    turns = [Turn(answer, "assistant") if number % 2 else Turn("Fine, thank you for this.", "user") for number in range(30)]
    turns[4] = Turn("That is kind. I think I'll take the smaller flat by the river. So it goes.", "user")
    turns[8] = Turn("It rained all day. Which of the two vets is open on Sundays? So it goes.", "user")
    whole = sum(count(f"{turn.speaker}: {turn.text}\n") for turn in turns)
    text = "\n".join(piece.shown for piece in compress(turns, whole * 15 // 100, count))
    assert "I'll take the smaller flat by the river." in text
    assert "Which of the two vets is open on Sundays?" in text
