"""Past forms of English verbs, and the names of speakers as they stand inside a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.text.english.grammar import is_assistant, is_past, is_tool, named


@pytest.mark.parametrize("word", ["went", "bought", "was", "told", "visited", "deployed", "crashed"])
def test_past_forms_are_known(word: str) -> None:
    assert is_past(word)


@pytest.mark.parametrize("word", ["go", "buy", "need", "feed", "red", "bed", "indeed", "speed", "ed", "visiting", ""])
def test_other_words_are_no_past_forms_also_if_they_end_alike(word: str) -> None:
    assert not is_past(word)


@pytest.mark.parametrize("speaker", ["assistant", "AI", "Bot", " model ", "SYSTEM"])
def test_assistants_are_known_by_their_role(speaker: str) -> None:
    assert is_assistant(speaker)
    assert named(speaker) == "the assistant"


@pytest.mark.parametrize(
    "speaker", ["gpt-4", "ChatGPT", "claude-3-opus", "Claude 3.5 Sonnet", "Claude Code", "claude", "o3-mini"]
)
def test_language_models_are_assistants(speaker: str) -> None:
    assert is_assistant(speaker)
    assert named(speaker) == "the assistant"


@pytest.mark.parametrize("speaker", ["tool", "tool_result", "Tool Output", "function_call", "bash", "stderr"])
def test_tools_are_known_by_their_role(speaker: str) -> None:
    assert is_tool(speaker)


@pytest.mark.parametrize("speaker", ["user", "Human", " me ", "", "  "])
def test_the_user_is_called_the_user(speaker: str) -> None:
    assert not is_assistant(speaker)
    assert named(speaker) == "the user"


def test_people_keep_their_names() -> None:
    assert not any(is_assistant(name) or is_tool(name) for name in ("Aidan", "Claude", "Claude Monet", "Phil", "Basho", "user"))
    assert named("  Ann \n Lee ") == "Ann Lee"


@given(st.text(max_size=20))
def test_every_speaker_has_a_name(speaker: str) -> None:
    assert named(speaker)
