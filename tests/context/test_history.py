"""What was said before, in fewer tokens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engram.context.history import COMPRESSED, SUMMARY, VERBATIM, compress
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


def test_the_last_turns_stand_word_for_word() -> None:
    turns = _long(40)
    pieces = compress(turns, 500, count)
    assert [piece.text for piece in pieces if piece.form == VERBATIM] == [turn.text for turn in turns[-6:]]
    assert pieces[-1].text == turns[-1].text


def test_what_fits_stands_word_for_word() -> None:
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


def test_no_sentence_is_broken() -> None:
    turns = _long(150)
    said = " ".join(turn.text for turn in turns)
    for piece in compress(turns, 900, count):
        body = piece.text.partition("turns):")[2] if piece.form == SUMMARY else piece.text
        for sentence in body.replace("user: ", "\n").replace("assistant: ", "\n").split("\n"):
            assert sentence.strip() in said


def test_long_code_goes_first() -> None:
    code = "```python\n" + "\n".join(f"line_{n} = {n}" for n in range(40)) + "\n```"
    turns = [Turn(f"Here is what I decided to do for the parser. {code}", "assistant"), *_long(12)]
    text = "\n".join(piece.text for piece in compress(turns, 400, count))
    assert "decided to do for the parser" in text
    assert "line_17" not in text


@given(
    st.lists(st.builds(Turn, st.text(max_size=80), st.sampled_from(["user", "assistant", "Ann"])), max_size=40),
    st.integers(0, 400),
)
def test_it_keeps_within_its_tokens_and_in_order(turns: list[Turn], budget: int) -> None:
    pieces = compress(turns, budget, count)
    assert sum(piece.tokens for piece in pieces) <= budget
    assert [piece.first for piece in pieces] == sorted(piece.first for piece in pieces)
