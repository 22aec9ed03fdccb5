"""A run: one message and its answer, with recall before, capture after, and cancellation."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from recall.vaults import open_engram, texts

from engram.context.sections import PROFILES
from engram.engine import Engram
from engram.errors import InvalidQuery
from engram.types import Policy, Reader, Role, Scope

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
        mem._vault.prefetcher.settle()
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


def test_the_vector_of_a_follow_up_moves_towards_the_topic_of_the_conversation(mem: Engram) -> None:
    with mem:
        for fact in ("The ledger service deploys through the blue pipeline", "Bread deploys its smell through the kitchen"):
            mem.remember(fact)
        for turn in ("Tell me about the ledger service and its blue pipeline.", "The ledger service has a blue pipeline."):
            mem.begin(turn, model=MODEL).end("The ledger service uses the blue pipeline, yes.")
        assert mem.working.confidence > 0
        plain = mem.recall("ok, do it", limit=20)
        drawn = mem.context("ok, do it", model=MODEL).recall
        cosine = {hit.memory.text: hit.why.signals[0].score for hit in drawn}
        before = {hit.memory.text: hit.why.signals[0].score for hit in plain}
        ledger = "The ledger service deploys through the blue pipeline"
        assert cosine[ledger] > before[ledger]
