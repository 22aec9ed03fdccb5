"""A window as the messages of OpenAI and Anthropic, valid for their interfaces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from recall.vaults import open_engram

from engram.engine import Engram
from engram.text.tokens import count
from engram.types import Turn

MODEL = "gpt-4"
SYSTEM = "You are Rex. Answer briefly."
TALKS: dict[str, list[Any]] = {
    "nothing": [],
    "turns": [Turn("Hello.", "user"), Turn("Hi!", "assistant")],
    "the assistant first": [Turn("How can I help?", "assistant"), Turn("With the ledger.", "user"), Turn("Fine.", "assistant")],
    "the assistant only": [Turn("How can I help?", "assistant"), Turn("I am here.", "assistant")],
    "several people": [Turn("Hello.", "Ann"), Turn("Hello.", "Bob"), Turn("Hi!", "assistant"), Turn("Bye.", "Ann")],
    "with a system's": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Hello."}],
    "with tools, one maker": [
        {"role": "user", "content": "Read a.py."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "read"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "no such file: a.py"},
        {"role": "assistant", "content": "It is not there."},
    ],
    "with tools, another": [
        {"role": "user", "content": [{"type": "image", "source": {}}, {"type": "text", "text": "Read a.py."}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "read", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "no such file: a.py"}]},
    ],
    "blank ones": [Turn("Hello.", "user"), Turn("  \n", "assistant"), Turn("", "user"), Turn("Are you there?", "user")],
    "a long one": [Turn(f"This is remark number {n}, and it says no more.", ("user", "assistant")[n % 2]) for n in range(90)],
}  # fmt: skip


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engram]:
    with open_engram(tmp_path_factory.mktemp("shapes") / "vault") as mem:
        mem.remember("The ledger service runs on Fly")
        yield mem


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("talk", TALKS)
def test_both_message_formats_meet_the_rules_of_their_interfaces(mem: Engram, talk: str, known: bool) -> None:
    asked = "Where does the ledger service run?" if known else "Thanks!"
    window = mem.context(asked, model=MODEL, budget=600, history=TALKS[talk])

    ours = window.to_openai()
    assert [one["role"] for one in ours[1:]].count("system") == 0
    assert {one["role"] for one in ours} <= {"system", "user", "assistant"}  # a tool's result needs the call it answers

    theirs = window.to_anthropic()
    messages: Any = theirs["messages"]
    roles = [one["role"] for one in messages]
    assert roles == [("user", "assistant")[at % 2] for at in range(len(roles))]
    assert theirs.get("system", "x").strip()  # type: ignore[attr-defined]

    for one in (*ours, *messages):
        assert set(one) == {"role", "content"}
        assert one["content"].strip()
    assert ours[-1]["content"] == asked
    assert messages[-1]["content"].endswith(asked)

    said = " ".join(one["content"] for one in ours)
    again = " ".join([str(theirs.get("system", "")), *(one["content"] for one in messages)])
    for piece in window.history:
        if piece.first >= 84 or talk != "a long one":
            assert piece.text in said
            assert piece.text in again
    assert ("runs on Fly" in said) is known


@pytest.mark.parametrize("talk", TALKS)
def test_the_messages_have_no_more_tokens_than_the_window(mem: Engram, talk: str) -> None:
    """Only the words are counted; providers add tokens for each message."""
    asked = "Where does the ledger service run?"
    window = mem.context(asked, model=MODEL, budget=600, history=TALKS[talk])
    beside = count(asked) + (count(f"{window.instructions}\n\n") if window.instructions else 0)
    theirs: Any = window.to_anthropic()
    openai = sum(count(one["content"]) for one in window.to_openai())
    anthropic = count(theirs.get("system", "")) + sum(count(one["content"]) for one in theirs["messages"])
    assert openai <= window.tokens + beside
    assert anthropic <= window.tokens + beside + len(theirs["messages"])  # where two were joined


def test_instructions_come_first_and_complete_and_are_no_history(mem: Engram) -> None:
    long = f"{SYSTEM} " + "Never say that you are a program. " * 200
    history = [{"role": "system", "content": long}, {"role": "user", "content": "Hello."}]
    window = mem.context("Where does the ledger service run?", model=MODEL, budget=300, history=history)
    assert window.instructions == long
    assert "You are Rex" not in window.text
    assert window.to_openai()[0]["content"].startswith(SYSTEM)
    assert "runs on Fly" in window.to_openai()[0]["content"]
    assert [one["role"] for one in window.to_openai()] == ["system", "user", "user"]
    assert str(window.to_anthropic()["system"]).startswith(SYSTEM)


def test_instructions_reduce_the_room_in_the_models_window(mem: Engram) -> None:
    bare = mem.context("ledger", model=MODEL)
    told = mem.context("ledger", model=MODEL, history=[{"role": "developer", "content": "Be brief. " * 500}])
    assert bare.budget - told.budget == pytest.approx(1_500, abs=10)


def test_line_numbers_map_to_ids(mem: Engram) -> None:
    window = mem.context("Where does the ledger service run?", model=MODEL)
    assert "\n1: " in window.text or "\n1 ." in window.text
    kept = mem.get(window.ids[0])
    assert kept is not None
    assert kept.text == "The ledger service runs on Fly"


def test_a_message_without_words_adds_no_user_message(mem: Engram, tmp_path: Path) -> None:
    window = mem.context(" ", model=MODEL, history=[Turn("Hello.", "user")])
    assert window.to_openai()[-1] == {"role": "user", "content": "Hello."}
    assert window.to_anthropic() == {"messages": [{"role": "user", "content": "Hello."}]}
