"""Where sentences begin and end."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.text import sentences
from engram.text.sentences import spans

# Text that is made of what the rules look at, so that the invariants are tried where they could break.
TRICKY = st.lists(
    st.sampled_from(
        ["I went home", " ", ".", "!", "?", "…", "。", "\n", "```", "~~~", "\n```\n", '"', "(", ")", "[", "]", "Mr", "e.g", "5",
         "😀", "- a", "|", "#", "a"]
    ),
    max_size=40,
).map("".join)  # fmt: skip


def pieces(text: str) -> list[str]:
    return [text[start:end] for start, end in spans(text)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("I came. I saw. I won!", ["I came.", "I saw.", "I won!"]),
        ("It cost $3.50 at shop.example/a.b?c=d today. Cheap!", ["It cost $3.50 at shop.example/a.b?c=d today.", "Cheap!"]),
        ("Mr. Lee met Dr. J. R. Hart. They talked.", ["Mr. Lee met Dr. J. R. Hart.", "They talked."]),
        ("We met at 5 p.m. It rained.", ["We met at 5 p.m.", "It rained."]),
        ("Use e.g. Paris or so.", ["Use e.g. Paris or so."]),
        ("I said no. We left. No. 5 is alive.", ["I said no.", "We left.", "No. 5 is alive."]),
        ('He said "Go home. Now!" and left.', ['He said "Go home. Now!" and left.']),
        ('"Stop!" he said. Then he ran.', ['"Stop!" he said.', "Then he ran."]),
        ("It was fine (really. yes). End", ["It was fine (really. yes).", "End"]),
        ("Well… maybe not. Hmm... I see.", ["Well… maybe not.", "Hmm...", "I see."]),
        ("So fun 😀 I went twice. 🎉 Wow!", ["So fun 😀", "I went twice. 🎉", "Wow!"]),
        ("i went home. then i slept", ["i went home.", "then i slept"]),
        ("Done. [shares a photo: a cat. asleep] Next", ["Done.", "[shares a photo: a cat. asleep]", "Next"]),
        ("Version 2.0.1 is out. Get it", ["Version 2.0.1 is out.", "Get it"]),
        ("Tips: 1. Rest well. 2. Eat.", ["Tips: 1. Rest well.", "2. Eat."]),
        ("1. First. More\n2. Second", ["1. First.", "More", "2. Second"]),
        ("# Title\ntext\n\n| a | b |", ["# Title", "text", "| a | b |"]),
        ("see\n```py\na = 1. \nb\n```\nthen", ["see", "```py\na = 1. \nb\n```", "then"]),
        ("~~~\nnever closed. Really", ["~~~\nnever closed. Really"]),
        ("今天天气很好。我们去公园吧！好的", ["今天天气很好。", "我们去公园吧！", "好的"]),
        ("मैं घर गया। वह आया।", ["मैं घर गया।", "वह आया।"]),
        ("مرحبا! كيف حالك؟ أنا بخير.", ["مرحبا!", "كيف حالك؟", "أنا بخير."]),
        ("Er kam z.B. heute. Dann ging er.", ["Er kam z.B. heute.", "Dann ging er."]),
        ("Ich fliege am 3. Mai nach Rom. Dann ist Ruhe.", ["Ich fliege am 3. Mai nach Rom.", "Dann ist Ruhe."]),
        ("Das ist zum 31.12. kündbar. Gut so.", ["Das ist zum 31.12. kündbar.", "Gut so."]),
        ("Er war das 2. Mal hier. Schön.", ["Er war das 2. Mal hier.", "Schön."]),
        ("i'm 34. i live in graz", ["i'm 34.", "i live in graz"]),
        ("im 34. I live in Graz", ["im 34.", "I live in Graz"]),
        ("I am 34. Married. Two kids.", ["I am 34.", "Married.", "Two kids."]),
        ("Ich wohne im 2. Stock. Schön.", ["Ich wohne im 2. Stock.", "Schön."]),
        ("Er wohnt im 3. Bezirk in Wien.", ["Er wohnt im 3. Bezirk in Wien."]),
        ("Mila hat am 7.11. Geburtstag. Sie wird 5.", ["Mila hat am 7.11. Geburtstag.", "Sie wird 5."]),
        ("Das war am 3. Ich war dabei.", ["Das war am 3.", "Ich war dabei."]),
        ("Geboren ist er der 7. 11. 1984 in Graz. Gut.", ["Geboren ist er der 7. 11. 1984 in Graz.", "Gut."]),
        ("Ich wohne in der Bahnhofstr. 12 in Graz. Komm!", ["Ich wohne in der Bahnhofstr. 12 in Graz.", "Komm!"]),
        ("Mein Arzt ist Dr. med. Huber. Er ist gut.", ["Mein Arzt ist Dr. med. Huber.", "Er ist gut."]),
        ("We live on 5th Ave. in New York. It is loud.", ["We live on 5th Ave. in New York.", "It is loud."]),
        ("The house no. is 12. I said no. Then I left.", ["The house no. is 12.", "I said no.", "Then I left."]),
        ("I am 5 ft. 9 in. tall. My dog is not.", ["I am 5 ft. 9 in. tall.", "My dog is not."]),
        ("He came in. then we left", ["He came in.", "then we left"]),
        ("It was 3 to 2. Ann won.", ["It was 3 to 2.", "Ann won."]),
        ("We use Fly.io, ask Prof. Weber. She knows.", ["We use Fly.io, ask Prof. Weber.", "She knows."]),
        ("Он пришёл. Потом ушёл.", ["Он пришёл.", "Потом ушёл."]),
        ("", []),
        (" \n\t ", []),
    ],
)
def test_sentences_are_told_apart(text: str, wanted: list[str]) -> None:
    assert pieces(text) == wanted


@given(st.text(max_size=200) | TRICKY)
def test_nothing_but_white_space_lies_between_sentences(text: str) -> None:
    position = 0
    for start, end in spans(text):
        assert position <= start < end
        assert not text[position:start].strip()
        assert text[start:end] == text[start:end].strip()
        position = end
    assert not text[position:].strip()


@pytest.mark.parametrize("unit", ["I went. ", "一。", ".", "a. ", '" . ', "( . ", "[", "😀", "```\n", "! ", ".\u00a0", "Mr. "])
def test_work_grows_with_the_text_and_not_faster(unit: str) -> None:
    """Counted in calls, not in time: twice the text costs about twice the calls."""
    assert calls(unit * 4_000) <= 2.5 * calls(unit * 2_000) + 50


def calls(text: str) -> int:
    count = 0

    def count_one(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(count_one)
    try:
        sentences.spans(text)
    finally:
        sys.setprofile(None)
    return count
