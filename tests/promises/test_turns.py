"""Erasing a memory erases its turns, their words around other memories, and every copy in the file (V12)."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

from promises.vaults_at_hand import image, word
from recall.vaults import OWNER, open_engram

from engram.types import Turn


def traces(path: Path, words: list[str]) -> list[str]:
    held = image(path)
    found = set(re.findall(rb"zq[a-z]{8}", held))
    found |= {wide.replace(b"\0", b"") for wide in re.findall(rb"z\0q\0(?:[a-z]\0){8}", held)}
    return [one for one in words if one[:10].encode() in found]


def test_no_word_of_an_erased_turn_is_left_anywhere_and_others_stay(tmp_path: Path) -> None:
    """V12: rows, turns, refs, text index of the memory and of its neighbours, vectors, free pages and the log."""
    path = tmp_path / "vault"
    with open_engram(path) as mem:
        ids, said = [], []
        for number in range(30):
            names = [word(number, "a"), word(number, "b")]
            report = mem.observe(
                Turn(f"I bought the {names[0]} in {names[1]}.", session=f"s{number // 10}", ref=word(number, "r"))
            )
            ids.append(report.ids[0])
            said.append([*names, word(number, "r")])
        doomed = list(range(0, 30, 3))
        assert traces(path, list(itertools.chain(*said))) != []
        mem.forget(*(ids[n] for n in doomed), erase=True)
        assert traces(path, [name for n in doomed for name in said[n]]) == []
        for number in set(range(30)) - set(doomed):
            assert mem.recall(said[number][0], limit=1)[0].memory.id == ids[number]
            assert [turn.ref for turn in mem.words(ids[number])] == [said[number][2]]
        for number in doomed:
            for hit in mem.recall(said[number][0], limit=50):
                assert {s.arm: s.rank for s in hit.why.signals}.get("words", 0) == 0
        assert mem.as_reader(OWNER).check() == []
    assert traces(path, [name for n in doomed for name in said[n]]) == []


def test_turns_of_one_session_erased_one_by_one_leave_no_word(tmp_path: Path) -> None:
    """V12: in every order; the words around each memory are indexed anew each time."""
    names = [word(n, "n") for n in range(5)]
    for number, order in enumerate([(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 1, 3, 0, 4)]):
        path = tmp_path / f"vault{number}"
        with open_engram(path, words_only=True) as mem:
            report = mem.observe(*(Turn(f"I bought the {name} in Oslo.", session="s") for name in names))
            for done, place in enumerate(order, 1):
                mem.forget(report.ids[place], erase=True)
                assert traces(path, [names[n] for n in order[:done]]) == []
                assert len(traces(path, [names[n] for n in order[done:]])) == 5 - done


def test_erasing_a_memory_erases_every_turn_that_said_it(tmp_path: Path) -> None:
    """V12: other statements of these turns are gone from the archive and stay in their own memories."""
    path = tmp_path / "vault"
    with open_engram(path, words_only=True) as mem:
        for number in range(3):
            mem.observe(Turn(f"I bought the {word(0, 'x')} in Oslo. My dog is {word(number, 'y')} today.", session=f"s{number}"))
        doomed = next(m.id for m in mem.list() if word(0, "x") in m.text)
        mem.forget(doomed, erase=True)
        assert traces(path, [word(0, "x")]) == []
        assert len(mem.list()) == 3


def test_words_marked_private_never_reach_the_database(tmp_path: Path) -> None:
    """V12: not in a turn, a memory, a shorter form, the index or the log."""
    path = tmp_path / "vault"
    with open_engram(path) as mem:
        mem.observe(
            Turn(f"I like tea. <private>the code is {word(1)}</private> My dog is Rex.", session="s", ref="a"),
            Turn(f"I live in Oslo. <private>{word(2)}", session="s"), Turn("I moved to Rome last spring.", session="s"),
        )  # fmt: skip
        assert traces(path, [word(1), word(2)]) == []
    assert traces(path, [word(1), word(2)]) == []


def test_a_turn_without_memories_is_erased_with_the_last_memory_of_its_session(tmp_path: Path) -> None:
    """V12: a question is archived without a memory; it is erased with the last memory of its session."""
    path = tmp_path / "vault"
    with open_engram(path, words_only=True) as mem:
        report = mem.observe(Turn(f"What is a {word(4)}?", session="s"), Turn("I bought the boat in Oslo.", session="s"))
        mem.forget(*report.ids, erase=True)
        assert len(mem.list(status=None)) == 0
        assert traces(path, [word(4)]) == []
