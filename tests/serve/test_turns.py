"""Commands that capture what was said."""

from __future__ import annotations

from pathlib import Path

import pytest
from serve.console import Engram

SAID = "Hello! My sister Lena is allergic to peanuts. What do you think?"


def test_what_is_observed_is_reported_piece_by_piece(engram: Engram) -> None:
    heard = engram("observe", "--speaker", "Ada", SAID)
    rows = [line.split("\t") for line in heard.lines]
    assert [(row[0], row[3]) for row in rows] == [
        ("dropped", "Hello!"),
        ("kept", "My sister Lena is allergic to peanuts."),
        ("dropped", "What do you think?"),
    ]
    assert [row[2] for row in rows if row[0] == "dropped"] == ["greeting", "question"]
    assert "1 turn: 1 kept, 0 merged, 2 dropped." in heard.err
    again = engram(
        "observe",
        "--speaker",
        "Ada",
        "-",
        given=SAID.encode(),
    ).lines
    assert [line.split("\t")[:2] for line in again][1] == ["merged", rows[1][1]]


def test_an_exchange_is_observed_as_two_turns(made: Engram) -> None:
    report = made("observe", "--user", "I bought a red bicycle.", "--assistant", "Great!", "--json").json
    assert report["counts"]["turns"] == 2
    assert {one["fate"] for one in report["verdicts"]} == {"kept", "dropped"}
    assert all(one["reason"] for one in report["verdicts"])
    assert made("list", "--json").json["memories"][0]["id"] == report["ids"][0]


@pytest.mark.parametrize("arguments", [("observe",), ("observe", "x", "--user", "y")])
def test_observe_takes_its_turns_in_exactly_one_way(engram: Engram, vault: Path, arguments: tuple[str, ...]) -> None:
    assert engram(*arguments).code == 2
    assert not vault.exists()
