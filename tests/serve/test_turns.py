"""Capturing what was said, listing what was dropped, and keeping it by hand: commands, routes and tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from serve.console import Engram
from serve.served import Api, serving
from serve.talking import call

from engram import engine
from engram import open as open_vault
from engram.types import Policy, Reader, Role, Scope, Turn

SAID = "Hello! My sister Lena is allergic to peanuts. What do you think?"


def test_what_is_observed_is_reported_piece_by_piece(engram: Engram) -> None:
    heard = engram("observe", "--speaker", "Ada", SAID)
    rows = [line.split("\t") for line in heard.lines]
    assert [(row[0], row[3]) for row in rows] == [
        ("dropped", "Hello!"),
        ("kept", "My sister Lena is allergic to peanuts."),
        ("dropped", "What do you think?"),
    ]
    assert [row[2] for row in rows if row[0] == "dropped"] == ["a greeting", "a question"]
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


def test_dropped_pieces_are_listed_with_their_reasons_and_one_is_kept(made: Engram) -> None:
    made("observe", SAID)
    listed = made("dropped")
    rows = {said: (piece, why) for piece, why, said in (line.split("\t") for line in listed.lines)}
    assert {said: why for said, (_, why) in rows.items()} == {
        "user: Hello!": "a greeting",
        "user: What do you think?": "a question",
    }
    assert "2 pieces dropped" in listed.err
    assert "engram keep" in listed.err
    kept = made("keep", rows["user: Hello!"][0])
    assert made("show", kept.id, "--json").json["memory"]["words"] == "Hello!"
    assert [line.split("\t")[2] for line in made("dropped").lines] == ["user: What do you think?"]
    made("keep", rows["user: What do you think?"][0])
    assert "Nothing was dropped" in made("dropped").err
    refused = made("keep", "1:900-901")
    assert (refused.code, refused.err[:6]) == (1, "E1008:")


def test_dropped_pieces_are_chosen_by_session_and_number_of_turns(made: Engram, tmp_path: Path) -> None:
    talk = tmp_path / "talk.jsonl"
    talk.write_text('{"text": "Good morning!", "session": "a"}\n{"text": "Thanks a lot!", "session": "b"}\n')
    made("observe", "--turns", str(talk))
    assert [one["words"] for one in made("dropped", "--json").json["pieces"]] == ["Thanks a lot!", "Good morning!"]
    assert [one["words"] for one in made("dropped", "--session", "a", "--json").json["pieces"]] == ["Good morning!"]
    assert [one["session"] for one in made("dropped", "-n", "1", "--json").json["pieces"]] == ["b"]
    assert made("dropped", "-n", "0").code == 2


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[engine.Engram]:
    with open_vault(tmp_path / "served", agent="rex", settings={"model": "none"}) as opened:
        opened.observe(Turn(SAID, session="s"))
        yield opened


def test_dropped_pieces_are_listed_and_kept_over_http(mem: engine.Engram) -> None:
    owner = mem.as_reader(Reader(policy=Policy.ALL, role=Role.OWNER))
    writer = owner.grant("writer", scope=Scope(agent="rex"), role=Role.AGENT, writes=True).secret
    reader = owner.grant("reader", scope=Scope(agent="rex"), role=Role.AGENT).secret
    with serving(owner) as server:
        listed = Api(server.port, reader).post("/v1/dropped", {"session": "s"})
        assert listed.status == 200
        pieces = {one["words"]: one for one in listed.json["pieces"]}
        assert pieces.keys() == {"Hello!", "What do you think?"}
        assert pieces["Hello!"]["reason"] == "a greeting"
        chosen = {"piece": pieces["Hello!"]["piece"]}
        assert Api(server.port, reader).post("/v1/keep", chosen).status == 403
        kept = Api(server.port, writer).post("/v1/keep", chosen)
        assert kept.status == 200, kept.body
        assert kept.json["words"] == "Hello!"
        assert Api(server.port, writer).post("/v1/keep", chosen).json["id"] == kept.json["id"]
        assert Api(server.port, writer).post("/v1/keep", {"piece": "no such piece"}).status == 404


def test_dropped_pieces_are_listed_and_kept_by_a_tool(mem: engine.Engram) -> None:
    listed = call(mem, "memory_dropped", {}, "full")
    assert [one["words"] for one in listed.structured_content["pieces"]] == ["What do you think?", "Hello!"]
    assert "Hello!" in listed.content[0].text
    kept = call(mem, "memory_keep", {"piece": listed.structured_content["pieces"][1]["piece"]}, "full")
    assert kept.structured_content["words"] == "Hello!"
    refused = call(mem, "memory_keep", {"piece": "no such piece"}, "full")
    assert refused.is_error
    assert refused.content[0].text.startswith("E1008")


def test_a_statement_is_taken_back_in_its_session(made: Engram) -> None:
    made("observe", "I live in Madrid.", "--session", "s1")
    made("observe", "Scratch that.", "--session", "s2")
    assert len(made("list", "--json").json["memories"]) == 1
    report = made("observe", "Scratch that.", "--session", "s1")
    assert "1 statement taken back." in report.err
    assert made("list", "--json").json["memories"] == []
