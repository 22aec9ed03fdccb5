"""A long text in parts: nothing lost, no part too long, no paragraph or word cut that need not be."""

from __future__ import annotations

import pytest

from engram.capture.chunks import in_parts

PROSE = "\n\n".join(f"Paragraph {n} says that the lighthouse keeper counted {n * 7} ships before dawn." for n in range(2_000))


@pytest.mark.parametrize("text", ["", "one", PROSE, "x" * 50_000, "€" * 20_000, "word " * 20_000, " \n" * 9_000])
@pytest.mark.parametrize("most", [1_048_576, 1_000])
def test_parts_are_the_text_and_fit(text: str, most: int) -> None:
    parts = [turn.text for turn in in_parts(text, most, str.upper)]
    assert "".join(parts) == text
    assert all(len(part.encode()) <= most for part in parts)


def test_paragraphs_stay_whole_and_else_words_do() -> None:
    assert all(turn.text.startswith("Paragraph") for turn in in_parts(PROSE, 1_048_576, str.upper))
    assert all(turn.text.startswith("word") for turn in in_parts("word " * 20_000, 1_048_576, str.upper))


def test_a_long_text_is_many_parts() -> None:
    """So that an ingest stores it, and tells its progress, batch by batch."""
    assert len(list(in_parts(PROSE, 1_048_576, str.upper))) > 32


def test_a_conversation_is_the_turns_of_its_speakers() -> None:
    text = "Bob: Yes.\nEve: I live in Rome.\nBob: Yes.\nEve: " + "word " * 9_000
    found = list(in_parts(text, 1_048_576, str.upper))
    assert [(turn.speaker, turn.text) for turn in found[:3]] == [("Bob", "Yes."), ("Eve", "I live in Rome."), ("Bob", "Yes.")]
    assert len(found) > 4
    assert {turn.speaker for turn in found[3:]} == {"Eve"}
    assert len({turn.ref for turn in found[:4]}) == 4, "said twice is not heard once"
    assert [turn.ref for turn in in_parts(text + "\nBob: I see.", 1_048_576, str.upper)][:4] == [turn.ref for turn in found[:4]]
