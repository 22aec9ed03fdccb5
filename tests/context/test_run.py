"""A run: one message and its answer, with recall before, capture after, and cancellation."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from recall.vaults import open_engram, settle, texts

from engram.context.sections import PROFILES
from engram.engine import Engram
from engram.errors import InvalidQuery
from engram.types import Policy, Reader, Role, Scope, Stage, Turn

MODEL = "gpt-4"


@pytest.fixture
def mem(tmp_path: Path) -> Engram:
    return open_engram(tmp_path / "vault")


def test_a_run_recalls_before_and_remembers_after(mem: Engram) -> None:
    with mem:
        mem.remember("The ledger service runs on Fly")
        run = mem.begin("Where does the ledger service run?", model=MODEL, budget=300)
        assert "runs on Fly" in run.window.text
        report = run.end("It runs on Fly. By the way, my sister Carla moved the invoices to Lisbon.")
        assert report.counts["turns"] == 2
        assert mem.working.turns[0].text == "Where does the ledger service run?"
        with pytest.raises(InvalidQuery):
            run.end("again")


def test_a_cancelled_run_stores_nothing_and_keeps_the_message_in_working_memory(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault") as mem:
        before = len(mem.list(status=None))
        with pytest.raises(KeyboardInterrupt), mem.begin("My sister Carla lives in Lisbon now.", model=MODEL):
            raise KeyboardInterrupt
        assert len(mem.list(status=None)) == before
        assert mem.working.just_said is not None
    with open_engram(tmp_path / "vault") as again:
        assert again.resume().saved_at is not None, "it was put away at once"


def test_a_cancelled_run_leaves_no_thread_episode_or_memory(tmp_path: Path) -> None:
    threads = set(threading.enumerate())
    with open_engram(tmp_path / "vault") as mem:
        mem.remember("The ledger service runs on Fly")
        for number in range(5):
            run = mem.begin(f"My sister Carla moved {number} invoices to Lisbon.", model=MODEL)
            run.cancel()
            run.cancel()
            with pytest.raises(InvalidQuery):
                run.end("Too late.")
        assert not mem.episodes()
    assert not [thread.name for thread in set(threading.enumerate()) - threads]
    with open_engram(tmp_path / "vault") as again:
        assert texts(again.list(status=None)) == ["The ledger service runs on Fly"], "nothing comes in later either"


def test_two_agents_in_one_vault_do_not_see_each_others_turns(mem: Engram) -> None:
    with mem:
        ann, bob = (mem.as_reader(Reader(Scope(agent=name), Policy.OWN)) for name in ("ann", "bob"))
        first = ann.begin("I moved the invoices to Lisbon.", model=MODEL)
        second = bob.begin("I moved the boats to Porto.", model=MODEL)
        second.end("Noted.")
        first.end("Noted.")
        assert "Porto" not in ann.context("Where did I move what?", model=MODEL).text
        assert "Lisbon" not in bob.context("Where did I move what?", model=MODEL).text
        assert [turn.text for turn in ann.working.turns] == ["I moved the invoices to Lisbon.", "Noted."]


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_every_profile_runs_and_captures_as_it_says(mem: Engram, profile: str) -> None:
    with mem, mem.begin("My sister Carla lives in Lisbon now.", model=MODEL, profile=profile) as run:
        kept = run.end("Noted.").counts["kept"]
        assert kept == (1 if PROFILES[profile].captures else 0)


def test_a_guest_reads_and_changes_nothing(mem: Engram) -> None:
    with mem:
        mem.remember("The ledger service runs on Fly")
        guest = mem.as_reader(Reader(Scope(agent="rex"), role=Role.GUEST))
        run = guest.begin("Where does the ledger service run? I am Carla from Lisbon.", model=MODEL)
        assert "Fly" in run.window.text
        assert run.end("On Fly.").counts["kept"] == 0
        assert len(mem.list()) == 1


# ── the talk so far ────────────────────────────────────────────────────────────────────────────────────────────────────

CRASH, REASON = "The ledger service crashed at noon", "Noon crash of the ledger service: the disk was full of old invoices"
OTHERS = ("Bread smells good in the kitchen", "Carla plays chess in the harbour", "The audit moved to June")


def with_facts(mem: Engram) -> None:
    for fact in (REASON, *OTHERS):
        mem.remember(fact)
    settle(mem)


def test_a_why_finds_the_reason_of_what_the_history_is_about(mem: Engram) -> None:
    with mem:
        with_facts(mem)
        history = [{"role": "user", "content": CRASH}, {"role": "assistant", "content": "Yes, at noon."}]
        assert texts(mem.recall("why?", limit=1, history=history)) == [REASON]
        assert REASON in mem.context("why?", model=MODEL, history=history).text
        assert REASON not in mem.context("why?", model=MODEL).text


def test_a_why_finds_the_reason_of_what_working_memory_heard(mem: Engram, tmp_path: Path) -> None:
    with mem:
        with_facts(mem)
        mem.begin(CRASH, model=MODEL).end("Yes, at noon.")
        assert REASON in mem.context("why?", model=MODEL).text
    with open_engram(tmp_path / "vault") as again:  # the last turns are not saved, the slots made of them are
        settle(again)
        assert again.working.turns == ()
        assert REASON in again.context("why?", model=MODEL).text


def test_a_self_contained_message_is_not_drawn_to_the_history(mem: Engram) -> None:
    with mem:
        with_facts(mem)
        plain, drawn = (
            mem.recall("What smells good in the kitchen?", limit=5, history=history) for history in ((), [Turn(CRASH)])
        )
        assert [(hit.memory.id, hit.score) for hit in plain] == [(hit.memory.id, hit.score) for hit in drawn]


def test_what_stands_in_the_history_is_not_recalled_again(mem: Engram) -> None:
    with mem:
        with_facts(mem)
        stored = mem.remember(CRASH)
        settle(mem)
        history = [Turn(f"Listen: {CRASH}."), Turn("You are the assistant.", "system")]
        asked = "When did the ledger service crash?"
        assert stored.id in [hit.memory.id for hit in mem.recall(asked, limit=5)]
        answer = mem.recall(asked, limit=5, history=history)
        assert [(one.id, one.stage, one.reason) for one in answer.left_out] == [
            (stored.id, Stage.SAID, "its words stand in the history that was given")
        ]
        assert stored.id not in [hit.memory.id for hit in answer]
        window = mem.context(asked, model=MODEL, history=history)
        assert stored.id not in window.ids
        assert window.text.count(CRASH) == 1
        assert "1 memory is left out: the history has the same words." in window.notes
        tight = mem.context(asked, model=MODEL, history=[*history, Turn("blah " * 400)], budget=120)
        assert stored.id in [item.memory.id for item in tight.items], "the history has no room for it"


def test_a_question_that_the_history_answers_is_no_gap(mem: Engram) -> None:
    with mem:
        mem.remember("The ferry Aurora leaves from the harbour of Bergen")
        settle(mem)
        asked = "Which harbour does the ferry Aurora leave from?"
        history = [Turn("The ferry Aurora leaves from the harbour of Bergen")]
        assert mem.recall(asked, history=history).outcome is mem.recall(asked).outcome
        assert mem.gaps() == []


@pytest.mark.parametrize("history", ["why", [{"speaker": 5}], [3]])
def test_a_history_of_no_turns_is_refused(mem: Engram, history: Any) -> None:
    with mem, pytest.raises(InvalidQuery, match="history"):
        mem.recall("why?", history=history)
