"""No recall → re-store loop: what Engram put into a prompt comes back into no memory, fenced, quoted or repeated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from capture.test_observer import covered
from recall.vaults import open_engram

from engram.capture.statements import StatementWeights
from engram.engine import Engram
from engram.rules.pairs import PairWeights
from engram.text.marks import fence
from engram.types import Fate, Memory, Turn

FACT = "I adopted a grey cat named Miso in Oslo."
EVERYTHING = StatementWeights(keep=0.0, keep_between_people=0.0, keep_answer=0.0)
"""Weights that drop nothing: an echo must be known for one, whatever the statement model thinks of it."""


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


@pytest.mark.parametrize("echo", ["{}", "> {}", '"{}"', "“{}”", "* {}", "3: {}"])
def test_an_assistant_that_repeats_a_memory_is_no_witness(mem: Engram, known: Memory, echo: str) -> None:
    turn = Turn(echo.format(known.text), "assistant")
    report = mem.observe(turn)
    covered(report, turn)
    assert report.ids == ()
    assert mem.get(known.id) == known, "neither surer nor said more often"


@pytest.mark.parametrize("echo", ["{}", '"{}"', "“{}”", "* {}", "3: {}", "12 .4: {}"])
@pytest.mark.parametrize("bare", [True, False])
def test_the_words_of_a_memory_are_known_again_with_any_mark_before_them(
    mem: Engram, known: Memory, echo: str, bare: bool
) -> None:
    mem.settings.tune(EVERYTHING)
    report = mem.observe(Turn(echo.format(FACT if bare else known.text), "assistant"))
    assert [(verdict.fate, verdict.memory) for verdict in report.verdicts] == [(Fate.MERGED, known.id)]
    assert mem.get(known.id) == known


def test_a_person_who_quotes_it_is_no_witness_either(mem: Engram, known: Memory) -> None:
    for quotation in (f"> {known.text}", f"3: {known.text}"):
        assert mem.observe(user=quotation).ids == ()
        assert mem.get(known.id) == known


@pytest.mark.parametrize("speaker", ["user", "assistant", "Ann"])
@pytest.mark.parametrize("echo", ['You told me "{}"', 'In my notes it says: "{}"', "As you noted, “{}”", 'It says "{}" here.'])
@pytest.mark.parametrize("bare", [True, False])
def test_a_memory_that_is_quoted_inside_a_sentence_is_not_kept_again(
    mem: Engram, known: Memory, speaker: str, echo: str, bare: bool
) -> None:
    mem.settings.tune(EVERYTHING)
    turn = Turn(echo.format(FACT if bare else known.text), speaker)
    report = mem.observe(turn)
    covered(report, turn)
    assert not any("Miso" in memory.text for memory in mem.list() if memory.id != known.id)
    assert mem.get(known.id) == known


def test_what_is_said_about_a_quoted_memory_is_kept(mem: Engram, known: Memory) -> None:
    said = f'You noted "{FACT[:-1]}", but since last week that cat of mine lives with my sister Carla in Bergen and not with me.'
    mem.observe(user=said)
    assert any("Bergen" in memory.words for memory in mem.list())
    assert mem.get(known.id) == known


def test_who_repeats_a_statement_with_a_quotation_in_it_is_a_witness(mem: Engram) -> None:
    said = 'My grandmother always said "slow is smooth and smooth is fast" to me.'
    (first,) = mem.observe(Turn(said, ref="a")).ids
    mem.observe(Turn(said, ref="b"))
    kept = mem.get(first)
    assert kept is not None
    assert (kept.corroborations, kept.refs) == (1, ("a", "b"))


def test_only_a_part_of_a_fence_that_is_quoted_runs_to_its_end(mem: Engram, known: Memory) -> None:
    head = quoted(fence(f"{known.text}\nMore of it."), "> ").split("\n")[:2]
    report = mem.observe(Turn("As you said:\n" + "\n".join(head), "assistant"))
    assert report.ids == ()


REWORDED = (
    "You adopted a grey cat called Miso in Oslo.",
    "Your grey cat Miso was adopted in Oslo.",
)


@pytest.fixture
def comparing(tmp_path: Path) -> Iterator[Engram]:
    """A vault that compares statements, though its encoder knows words only, and that drops nothing as idle."""
    with open_engram(tmp_path / "comparing", tuning=[PairWeights(least_likeness=0.2), EVERYTHING]) as mem:
        yield mem


@pytest.mark.parametrize("echo", REWORDED)
@pytest.mark.parametrize("speaker", ["user", "Ann"])
def test_an_assistant_that_rewords_a_memory_adds_neither_a_witness_nor_a_memory(
    comparing: Engram, echo: str, speaker: str
) -> None:
    (first,) = comparing.observe(Turn(FACT, speaker)).ids
    known = comparing.get(first)
    report = comparing.observe(Turn(echo, "assistant"))
    assert [(verdict.fate, verdict.memory) for verdict in report.verdicts] == [(Fate.MERGED, first)]
    assert comparing.get(first) == known
    assert len(comparing.list()) == 1


@pytest.mark.parametrize("echo", [FACT, *REWORDED])
def test_an_assistant_that_repeats_the_user_in_the_same_batch_is_no_witness(comparing: Engram, echo: str) -> None:
    comparing.observe(user=FACT, assistant=echo)
    (kept,) = comparing.list()
    assert (kept.words, kept.corroborations) == (FACT, 0)


def test_a_user_who_rewords_a_memory_is_a_witness(comparing: Engram) -> None:
    (first,) = comparing.observe(Turn("our team standup is at nine every morning", ref="a")).ids
    comparing.observe(Turn("the team meets for standup each morning, nine o'clock", ref="b"))
    kept = comparing.get(first)
    assert kept is not None
    assert kept.corroborations == 1


def test_news_from_an_assistant_is_kept(comparing: Engram) -> None:
    comparing.observe(Turn(FACT))
    report = comparing.observe(Turn("Your cat Miso has a vet appointment on Monday.", "assistant"))
    assert report.counts["kept"] == 1
