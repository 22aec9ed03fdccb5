"""Corrections in talk retire the last thing that their speaker said about it, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from recall.vaults import open_engram

from engram.engine import Engram
from engram.errors import NotFound
from engram.text.english.corrections import correction_in
from engram.types import Fate, Reader, Scope, Status, Turn

LABELLED = Path(__file__).parent.parent / "labelled" / "spoken_corrections.jsonl"
SPOKEN = ("corrected by its speaker", "taken back by its speaker")
FLIGHT = "My flight to Oslo leaves on Wednesday."


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Engram]:
    with open_engram(tmp_path / "vault") as mem:
        yield mem


def retired(mem: Engram) -> list[tuple[str, Status, str]]:
    """Return the words of memories that are no longer active, with their status and its reason."""
    gone = [memory for memory in mem.list(status=None, limit=50) if memory.status is not Status.ACTIVE]
    return [(memory.words, memory.status, mem.status_history(memory.id)[-1].reason) for memory in gone]


def say(mem: Engram, *said: str, speaker: str = "user", session: str = "s") -> None:
    for text in said:
        mem.observe(Turn(text, speaker, session=session))


@pytest.mark.parametrize("together", [True, False])
def test_labelled_corrections_are_found_and_nothing_else_is_retired(mem: Engram, together: bool) -> None:
    rows = [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]
    missed, wrong = [], []
    for number, row in enumerate(rows):
        here = mem.as_reader(Reader(Scope(agent=f"a{number}")))
        turns = [Turn(text, speaker, session="s") for speaker, text in row["talk"]]
        if together:
            here.ingest(turns)
        else:
            for turn in turns:
                here.observe(turn)
        gone = [words for words, status, reason in retired(here) if reason in SPOKEN and status is not Status.CHALLENGED]
        if row["retired"] is None:
            wrong += gone
        elif not any(row["retired"] in words for words in gone):
            missed.append(row["talk"][-1][1])
    assert not wrong
    assert len(missed) <= 4, missed


def test_a_correction_is_linked_to_what_it_corrects_and_carries_it(mem: Engram) -> None:
    say(mem, FLIGHT, "Sorry, Thursday.")
    assert retired(mem) == [(FLIGHT, Status.SUPERSEDED, "corrected by its speaker")]
    (new,) = mem.list()
    assert (new.words, new.carries) == ("Sorry, Thursday.", FLIGHT[:-1])
    (edge,) = mem.edges(new.id)
    assert (edge.source, edge.kind) == (new.id, "supersedes")


def test_what_was_taken_back_is_invalidated_and_may_be_restored(mem: Engram) -> None:
    report = mem.observe(user=f"{FLIGHT} Scratch that.")
    assert report.counts["taken back"] == 1
    last = report.verdicts[-1]
    assert (last.fate, last.reason) == (Fate.DROPPED, "takes back what was said before")
    assert retired(mem) == [(FLIGHT, Status.INVALIDATED, "taken back by its speaker")]
    assert mem.restore(report.ids[0]).status is Status.ACTIVE


def test_taking_back_with_nothing_left_is_no_memory(mem: Engram) -> None:
    for text in ("I take that back", FLIGHT, "scratch that", "I take that back"):
        report = mem.observe(Turn(text, session="s"))
    (last,) = report.verdicts
    assert (last.fate, last.reason) == (Fate.DROPPED, "takes something back, but nothing was found to take back")
    assert [memory.words for memory in mem.list(status=None)] == [FLIGHT]
    with pytest.raises(NotFound):
        mem.remember("I take that back")


def test_a_correction_in_talk_is_undone_by_restoring_or_confirming(mem: Engram) -> None:
    say(mem, FLIGHT, "Sorry, Thursday.")
    (old,) = mem.list(status=Status.SUPERSEDED)
    assert mem.restore(old.id).status is Status.ACTIVE
    mem.review(old.id, "invalidate")
    assert mem.review(old.id, "confirm").status is Status.ACTIVE


def test_what_its_speaker_corrected_does_not_come_back(mem: Engram) -> None:
    say(mem, FLIGHT, "Sorry, Thursday.")
    assert [verdict.reason for verdict in mem.observe(Turn(FLIGHT, session="later")).verdicts] == ["was corrected"]


@pytest.mark.parametrize("session", ["other", ""])
def test_nothing_of_another_session_is_corrected(mem: Engram, session: str) -> None:
    say(mem, FLIGHT)
    say(mem, "Sorry, Thursday.", "Scratch that.", session=session)
    assert FLIGHT not in [words for words, _, _ in retired(mem)]


def test_a_pinned_statement_is_challenged_or_left(mem: Engram) -> None:
    say(mem, FLIGHT)
    mem.pin(mem.list()[0].id)
    say(mem, "Sorry, Thursday.")
    assert retired(mem) == [(FLIGHT, Status.CHALLENGED, "corrected by its speaker")]


def test_scratch_that_after_a_question_or_several_statements_takes_nothing_back(mem: Engram) -> None:
    say(mem, FLIGHT, "What should I pack for it?", "Scratch that.")
    say(mem, "I live in Ghent. My sister lives in Porto.", "Scratch that.", session="t")
    assert retired(mem) == []


def test_a_remembered_correction_retires_what_was_remembered_just_before(mem: Engram) -> None:
    old = mem.remember(FLIGHT)
    new = mem.remember("Sorry, Thursday.")
    assert (new.words, new.carries) == ("Sorry, Thursday.", FLIGHT[:-1])
    assert retired(mem) == [(FLIGHT, Status.SUPERSEDED, "corrected by its speaker")]
    assert mem.remember("Scratch that.").id == new.id
    assert mem.get(new.id).status is Status.INVALIDATED  # type: ignore[union-attr]
    assert mem.restore(old.id).status is Status.ACTIVE


def test_a_correction_within_a_text_to_be_remembered_stays_with_what_it_corrects(mem: Engram) -> None:
    text = "Our standup is at half past nine. No, it's at ten."
    kept = mem.remember(text)
    assert (kept.text, kept.others) == (text, ())


@pytest.mark.parametrize(
    "text",
    [
        "No, it's fine?", "No problem at all.", "Sorry for the delay.", "Sorry, what?", "I mean, it is what it is.", "No.",
        "I meant to call you.", "Never mind.", "Make it happen!", '"Scratch that, we go to Spain."', "Actually I like it.",
    ],
)  # fmt: skip
def test_what_only_sounds_like_a_correction_is_none(text: str) -> None:
    found = correction_in(text)
    assert found is None or not (found.explicit or found.wrong)


def test_a_turn_with_a_secret_in_it_corrects_nothing_by_the_wrong_words(mem: Engram) -> None:
    say(mem, FLIGHT, "Sorry, Thursday. The key is sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ.")
    assert all("sk-ant" not in memory.text for memory in mem.list(status=None))
    assert retired(mem) == []
