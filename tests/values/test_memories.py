"""The verbatim words of a memory or a statement, and the words it carries."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engram.types import Memory, Proposition

HEAD, WORDS = "The user: ", "She comes home on Saturday"
AT = (len(HEAD), len(HEAD) + len(WORDS))


def memory(text: str, words_at: tuple[int, int] = (0, 0)) -> Memory:
    return Memory(text=text, words_at=words_at)


def proposition(text: str, words_at: tuple[int, int] = (0, 0)) -> Proposition:
    return Proposition(text=text, words_at=words_at, speaker="user", category="fact", confidence=1.0)


@pytest.mark.parametrize("made", [memory, proposition])
def test_the_words_stand_between_the_speaker_and_what_they_carry(made: Callable[..., Memory]) -> None:
    found = made(f"{HEAD}{WORDS} [mum's surgery]", AT)
    assert (found.words, found.carries) == (WORDS, "mum's surgery")


@pytest.mark.parametrize("made", [memory, proposition])
def test_words_that_stand_alone_carry_nothing(made: Callable[..., Memory]) -> None:
    found = made(f"{HEAD}{WORDS}", AT)
    assert (found.words, found.carries) == (WORDS, "")


@pytest.mark.parametrize("made", [memory, proposition])
def test_a_text_without_places_is_its_own_words(made: Callable[..., Memory]) -> None:
    found = made(f"{WORDS} [a note]")
    assert (found.words, found.carries) == (f"{WORDS} [a note]", "")
