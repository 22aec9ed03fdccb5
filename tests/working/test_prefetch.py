"""Prefetching the result for the next message: only for its own reader, and never stale (X7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hand_clock import HandClock
from recall.vaults import KEY, hashing_encoder, settle, texts

from engram.engine import Engram
from engram.env import Env
from engram.models.embedders import CallableEmbedder
from engram.types import Policy, Reader, Recall, Role, Scope

MODEL = "gpt-4"
REX = Reader(Scope(agent="rex"))
ASKED = "How does the ledger service deploy through the blue pipeline?"


class Encoder:
    """An encoder that counts its calls."""

    def __init__(self) -> None:
        self.encoded: list[str] = []
        self._made = hashing_encoder()

    def embedder(self) -> CallableEmbedder:
        def embed(some: Sequence[str]) -> object:
            self.encoded += some
            return self._made.passages(some)

        return CallableEmbedder(embed, name="counting", dimensions=1024)  # type: ignore[arg-type]


@pytest.fixture
def encoder() -> Encoder:
    return Encoder()


@pytest.fixture
def mem(tmp_path: Path, env: Env, encoder: Encoder) -> Iterator[Engram]:
    given = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False}
    with Engram.open(tmp_path / "vault", reader=REX, key=KEY, settings=given, env=env, embedder=encoder.embedder()) as mem:
        for fact in ("The ledger service deploys through the blue pipeline", "Bread smells good in the kitchen"):
            mem.remember(fact)
        settle(mem)
        yield mem


def talk(mem: Engram, message: str = ASKED) -> None:
    mem.begin(message, model=MODEL, budget=400).end("Through the blue pipeline of the ledger service.")
    mem._vault.prefetcher.settle()


def ready(mem: Engram) -> int:
    return mem._vault.prefetcher.figures.ready


def ask(mem: Engram, message: str = "and then?", budget: int = 400) -> Recall:
    return mem.context(message, model=MODEL, budget=budget).recall


def lookups(mem: Engram) -> int:
    trail = mem.as_reader(replace(REX, role=Role.OWNER)).audit(limit=1000)
    return sum(entry.operation in ("search", "fetch") for entry in trail)


def test_a_dependent_message_is_answered_from_the_prefetch_without_encoding(mem: Engram, encoder: Encoder) -> None:
    talk(mem)
    encoder.encoded.clear()
    read = lookups(mem)
    found = ask(mem)
    assert ready(mem) == 1
    assert encoder.encoded == []
    assert lookups(mem) == read > 0
    assert texts(found)[0] == "The ledger service deploys through the blue pipeline"


def test_a_prefetched_result_equals_a_fresh_search(mem: Engram) -> None:
    talk(mem)
    served = ask(mem)
    mem.settings.set(anticipate_s=0)
    anew = ask(mem)
    assert ready(mem) == 1
    assert [(hit.memory, hit.score) for hit in served] == [(hit.memory, hit.score) for hit in anew]


def test_changes_since_the_prefetch_are_found(mem: Engram) -> None:
    talk(mem)
    mem.remember("The blue pipeline of the ledger service is closed today")
    assert "The blue pipeline of the ledger service is closed today" in texts(ask(mem))
    assert ready(mem) == 0


def test_changes_by_another_process_since_the_prefetch_are_found(mem: Engram, tmp_path: Path, env: Env, encoder: Encoder) -> None:
    talk(mem)
    given = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False}
    with Engram.open(tmp_path / "vault", reader=REX, key=KEY, settings=given, env=env, embedder=encoder.embedder()) as other:
        other.remember("The blue pipeline of the ledger service is closed today")
    assert "The blue pipeline of the ledger service is closed today" in texts(ask(mem))
    assert ready(mem) == 0


def test_a_prefetched_result_expires_after_a_minute(mem: Engram, clock: HandClock) -> None:
    talk(mem)
    clock.advance(59)
    ask(mem)
    assert ready(mem) == 1
    clock.advance(2)
    ask(mem)
    assert ready(mem) == 1


def test_a_prefetched_result_is_given_to_its_reader_only(mem: Engram) -> None:
    talk(mem)
    secret = mem.as_reader(Reader(Scope(agent="ann")))
    for other in (secret, mem.as_reader(replace(REX, policy=Policy.OWN)), mem.as_reader(replace(REX, role=Role.GUEST))):
        ask(other)
        assert ready(mem) == 0
    assert all("ledger" not in text for text in texts(ask(secret)))


def test_a_self_contained_message_is_searched(mem: Engram) -> None:
    talk(mem)
    found = ask(mem, "What smells good in the kitchen?")
    assert ready(mem) == 0
    assert texts(found)[0] == "Bread smells good in the kitchen"


def test_a_request_for_more_hits_is_searched(mem: Engram) -> None:
    talk(mem)
    ask(mem, budget=4000)
    assert ready(mem) == 0


def test_nothing_is_prefetched_for_a_reader_without_contexts(mem: Engram) -> None:
    mem.observe(user=ASKED)
    mem._vault.prefetcher.settle()
    assert mem._vault.prefetcher._results == {}


def test_prefetched_hits_count_as_used_when_shown(mem: Engram) -> None:
    talk(mem)
    owner = mem.as_reader(replace(REX, role=Role.OWNER))
    owner.audit()  # writes what waits
    before = {memory.text: memory.accesses for memory in mem.list()}
    ask(mem)
    owner.audit()
    after = {memory.text: memory.accesses for memory in mem.list()}
    assert after["The ledger service deploys through the blue pipeline"] == (
        before["The ledger service deploys through the blue pipeline"] + 1
    )
