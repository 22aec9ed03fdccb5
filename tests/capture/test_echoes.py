"""No recall → re-store loop: what Engram put into a prompt comes back into no memory, fenced, quoted or repeated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from capture.test_observer import covered
from recall.vaults import open_engram

from engram.engine import Engram
from engram.text.marks import fence
from engram.types import Fate, Memory, Turn

FACT = "I adopted a grey cat named Miso in Oslo."


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Engram]:
    with open_engram(tmp_path / "vault") as mem:
        yield mem


@pytest.fixture
def known(mem: Engram) -> Memory:
    kept = mem.get(mem.observe(user=FACT).ids[0])
    assert kept is not None
    return kept


def quoted(text: str, prefix: str) -> str:
    return "\n".join(prefix + line for line in text.split("\n"))


@pytest.mark.parametrize("prefix", ["", "> ", ">> ", "    ", "| "])
@pytest.mark.parametrize("speaker", ["user", "assistant"])
def test_a_fenced_recall_is_not_kept_again(mem: Engram, known: Memory, prefix: str, speaker: str) -> None:
    turn = Turn(f"Here is what I know.\n{quoted(fence(known.text), prefix)}\nThe weather in Bergen is wet.", speaker)
    report = mem.observe(turn)
    covered(report, turn)
    assert all("Miso" not in memory.text for memory in mem.list() if memory.id != known.id)
    assert all("Miso" not in said.text for one in report.ids for said in mem.words(one))
    assert mem.get(known.id) == known


@pytest.mark.parametrize("echo", ["{}", "> {}", '"{}"', "“{}”", "* {}"])
def test_an_assistant_that_repeats_a_memory_is_no_witness(mem: Engram, known: Memory, echo: str) -> None:
    turn = Turn(echo.format(known.text), "assistant")
    report = mem.observe(turn)
    covered(report, turn)
    assert report.ids == ()
    assert [verdict.memory for verdict in report.verdicts if verdict.fate is Fate.MERGED] == [known.id]
    assert mem.get(known.id) == known, "neither surer nor said more often"


def test_a_person_who_quotes_it_is_no_witness_either(mem: Engram, known: Memory) -> None:
    assert mem.observe(user=f"> {known.text}").ids == ()
    assert mem.get(known.id) == known


def test_only_a_part_of_a_fence_that_is_quoted_runs_to_its_end(mem: Engram, known: Memory) -> None:
    head = quoted(fence(f"{known.text}\nMore of it."), "> ").split("\n")[:2]
    report = mem.observe(Turn("As you said:\n" + "\n".join(head), "assistant"))
    assert report.ids == ()
