"""Capabilities of language models, and the lookup of their names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.errors import ConfigInvalid
from engram.models.capabilities import Capabilities, capabilities
from engram.text import tokens

# The table of §17.5.2.
WINDOWS = {
    "codex-5.3": 256_000,
    "codex-5": 256_000,
    "gpt-4o": 128_000,
    "gpt-4o-mini": 128_000,
    "gpt-4-turbo": 128_000,
    "gpt-4": 8_192,
    "gpt-3.5-turbo": 16_384,
    "o1": 200_000,
    "o1-mini": 128_000,
    "o1-pro": 200_000,
    "o3": 200_000,
    "o3-mini": 200_000,
    "o4-mini": 200_000,
    "claude-opus-4-6": 200_000,
    "claude-sonnet-4-6": 200_000,
    "claude-haiku-4-5": 200_000,
    "claude-sonnet-4-5": 200_000,
    "claude-opus-4": 200_000,
    "claude-sonnet-4": 200_000,
    "claude-haiku-4": 200_000,
    "claude-3-5-sonnet": 200_000,
    "claude-3-5-haiku": 200_000,
    "claude-3-opus": 200_000,
    "gemini-3.1-pro": 2_097_152,
    "gemini-3-pro": 1_048_576,
    "gemini-3-flash": 1_048_576,
    "gemini-2.5-pro": 1_048_576,
    "gemini-2.5-flash": 1_048_576,
    "gemini-2.5-flash-lite": 1_048_576,
    "gemini-2.0-flash": 1_048_576,
    "gemini-2.0-pro": 1_048_576,
    "deepseek-chat": 128_000,
    "deepseek-reasoner": 128_000,
    "mistral-large": 128_000,
    "mistral": 32_000,
    "mixtral": 32_000,
    "grok-3": 131_072,
    "grok-2": 131_072,
    "llama-4": 128_000,
    "llama-3": 128_000,
    "llama3.2": 8_192,
    "llama3.1": 128_000,
    "qwen2.5": 128_000,
}


@pytest.mark.parametrize(("model", "window"), WINDOWS.items())
def test_the_windows_of_the_specification(model: str, window: int) -> None:
    found = capabilities(model)
    assert (found.window, found.known) == (window, True)


def test_all_capabilities_of_a_frontier_model() -> None:
    assert capabilities("claude-opus-4-6-20260115") == Capabilities(
        name="claude-opus-4-6-20260115",
        window=200_000,
        output=32_768,
        tokenizer="claude",
        provider="anthropic",
        tools=True,
        vision=True,
        thinking=True,
    )


@pytest.mark.parametrize(
    ("model", "tokenizer"),
    [
        ("gpt-4", "cl100k"),
        ("gpt-4o", "o200k"),
        ("o3", "o200k"),
        ("claude-2.1", "claude-2"),
        ("claude-3-opus", "claude"),
        ("claude-opus-4-6", "claude"),
        ("claude-opus-4-7", "claude-4.7"),
        ("claude-sonnet-5", "claude-4.7"),
        ("gemini-3-pro", "gemini"),
        ("mixtral", "sentencepiece"),
        ("llama3.1", "llama3"),
        ("qwen3.5", "qwen3.5"),
    ],
)
def test_every_model_has_the_right_tokenizer(model: str, tokenizer: str) -> None:
    assert capabilities(model).tokenizer == tokenizer


@pytest.mark.parametrize(
    ("model", "same"),
    [
        ("gpt-4o-mini-2024-07-18", "gpt-4o"),
        ("gpt-4-1106-preview", "gpt-4-0125-preview"),
        ("gpt-4-turbo-2024-04-09", "gpt-4-turbo"),
        ("claude-opus-4.6", "claude-opus-4-6"),
        ("gemini-3-1-pro-preview", "gemini-3.1-pro"),
        ("  Claude-3.5-Sonnet ", "claude-3-5-sonnet"),
        ("anthropic/claude-3.5-sonnet", "claude-3-5-sonnet"),
        ("us.anthropic.claude-3-5-sonnet-20240620-v1:0", "claude-3-5-sonnet"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4"),
        ("models/gemini-2.0-flash", "gemini-2.0"),
        ("openrouter/mistralai/mistral-large-2411", "mistral-large"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral"),
        ("ollama:llama3.2:latest", "llama3.2"),
        ("llama3.2:3b", "llama3.2"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3"),
        ("meta.llama3-1-70b-instruct-v1:0", "llama3.1"),
        ("ft:gpt-4o-mini:org::id", "gpt-4o"),
        ("opus", "claude-opus-4-6"),
        ("anthropic/opus", "claude-opus-4-6"),
        ("gemini-pro", "gemini-3.1-pro"),
    ],
)
def test_a_model_is_found_under_every_spelling_of_its_name(model: str, same: str) -> None:
    found, named = capabilities(model), capabilities(same)
    assert found.known
    assert _without_name(found) == _without_name(named)


def test_the_longest_known_prefix_wins_and_does_not_split_numbers() -> None:
    assert capabilities("gpt-4.1-mini").window == 1_047_576
    assert capabilities("gpt-4-1106-preview").window == 128_000
    assert capabilities("o1-mini").output != capabilities("o1").output
    assert not capabilities("o10").known


def test_an_unknown_name_gets_cautious_defaults() -> None:
    assert capabilities("someone/Brand-New") == Capabilities(
        name="brand-new", window=32_000, output=4_096, tokenizer="estimate", tools=True, known=False
    )


@given(st.text(max_size=60))
def test_every_name_has_capabilities(model: str) -> None:
    assert capabilities(model).window > 0


def test_a_users_file_overrides_the_shipped_table(tmp_path: Path) -> None:
    own = _file(
        tmp_path,
        """
        [unknown]
        window = 8000
        [aliases]
        Mine = "House-Model-7"
        [models."gpt-4o"]
        window = 64000
        [models."House-Model"]
        like = "GPT-4o"
        output = 1000
        tokenizer = "gemini"
        """,
    )
    assert capabilities("gpt-4o", own).window == 64_000
    assert capabilities("gpt-4o", own).output == capabilities("gpt-4o").output
    mine = capabilities("mine", own)
    assert (mine.name, mine.window, mine.output, mine.tokenizer, mine.vision) == ("house-model-7", 64_000, 1000, "gemini", True)
    assert capabilities("nobody", own).window == 8000
    assert capabilities("gpt-4o").window == 128_000
    assert capabilities("claude-3-opus", str(own)) == capabilities("claude-3-opus")


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    own = _file(tmp_path, '[models."gpt-4o"]\nwindow = 1000')
    assert capabilities("gpt-4o", own).window == 1000
    _file(tmp_path, '[models."gpt-4o"]\nwindow = 2000')
    os.utime(own, ns=(1, 1))
    assert capabilities("gpt-4o", own).window == 2000


@pytest.mark.parametrize(
    "content",
    [
        "[models",
        "models = 3",
        "[extra]\na = 1",
        "[models]\nx = 3",
        '[models.x]\nwindow = 100\noutput = 10\ntokenizer = "abacus"',
        '[models.x]\nwindow = "wide"\noutput = 10\ntokenizer = "gemini"',
        '[models.x]\nwindow = 0\noutput = 10\ntokenizer = "gemini"',
        '[models.x]\nwindow = true\noutput = 10\ntokenizer = "gemini"',
        "[models.x]\nwindow = 100",
        '[models.x]\nlike = "nothing"',
        '[models.x]\nlike = "y"\n[models.y]\nlike = "x"',
        '[models.x]\nlike = "x"',
        '[models.x]\nlike = "gpt-4o"\nspeed = 3',
        "[aliases]\nx = 3",
        '[models.""]\nlike = "gpt-4o"',
        '[unknown]\nlike = "gpt-4o"',
    ],
)
def test_a_broken_file_is_refused_with_its_code_and_a_way_out(tmp_path: Path, content: str) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        capabilities("gpt-4o", _file(tmp_path, content))
    assert refused.value.code == "E5003"
    assert "models_file" in refused.value.way_out


def test_a_file_that_cannot_be_read_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    for path in (tmp_path / "absent.toml", tmp_path, tmp_path / "bytes.toml"):
        with pytest.raises(ConfigInvalid) as refused:
            capabilities("gpt-4o", path)
        assert refused.value.code == "E5003"


def test_the_defaults_may_be_given_any_known_tokenizer(tmp_path: Path) -> None:
    for family in tokens.families():
        own = tmp_path / f"{family}.toml"
        own.write_text(f'[unknown]\ntokenizer = "{family}"', "utf-8")
        assert capabilities("nobody", own).tokenizer == family


def _file(folder: Path, content: str) -> Path:
    path = folder / "models.toml"
    path.write_text(content, "utf-8")
    return path


def _without_name(found: Capabilities) -> tuple[object, ...]:
    return (found.window, found.output, found.tokenizer, found.provider, found.tools, found.vision, found.thinking)
