"""What the next message will ask is looked up before it comes, and served to nobody else, and never stale (X7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hand_clock import HandClock
from recall.minds import KEY, settle, texts, words_apart

from engram.engine import Engram
from engram.env import Env
from engram.models.embedders import CallableEmbedder
from engram.types import Policy, Reader, Recall, Role, Scope

MODEL = "gpt-4"
REX = Reader(Scope(agent="rex"))
ASKED = "How does the ledger service deploy through the blue pipeline?"


class Encoder:
    """Counts what it encodes."""

    def __init__(self) -> None:
        self.encoded: list[str] = []
        self._made = words_apart()

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
    mem._vault.ahead.settle()


def ready(mem: Engram) -> int:
    return mem._vault.ahead.figures.ready


def ask(mem: Engram, message: str = "and then?", budget: int = 400) -> Recall:
    return mem.context(message, model=MODEL, budget=budget).recall


def lookups(mem: Engram) -> int:
    trail = mem.as_reader(replace(REX, role=Role.OWNER)).audit(limit=1000)
    return sum(entry.operation in ("search", "fetch") for entry in trail)


def test_a_message_that_says_nothing_is_answered_without_encoding_or_search(mem: Engram, encoder: Encoder) -> None:
    talk(mem)
    encoder.encoded.clear()
    read = lookups(mem)
    found = ask(mem)
    assert ready(mem) == 1
    assert encoder.encoded == []
    assert lookups(mem) == read > 0
    assert texts(found)[0] == "The ledger service deploys through the blue pipeline"


def test_it_is_the_answer_that_would_be_found_now(mem: Engram) -> None:
    talk(mem)
    served = ask(mem)
    mem.settings.set(anticipate_s=0)
    anew = ask(mem)
    assert ready(mem) == 1
    assert [(hit.memory, hit.score) for hit in served] == [(hit.memory, hit.score) for hit in anew]


def test_what_changed_since_is_found(mem: Engram) -> None:
    talk(mem)
    mem.remember("The blue pipeline of the ledger service is closed today")
    assert "The blue pipeline of the ledger service is closed today" in texts(ask(mem))
    assert ready(mem) == 0


def test_what_another_process_changed_is_found_too(mem: Engram, tmp_path: Path, env: Env, encoder: Encoder) -> None:
    talk(mem)
    given = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False}
    with Engram.open(tmp_path / "vault", reader=REX, key=KEY, settings=given, env=env, embedder=encoder.embedder()) as other:
        other.remember("The blue pipeline of the ledger service is closed today")
    assert "The blue pipeline of the ledger service is closed today" in texts(ask(mem))
    assert ready(mem) == 0


def test_after_a_minute_it_is_looked_up_anew(mem: Engram, clock: HandClock) -> None:
    talk(mem)
    clock.advance(59)
    ask(mem)
    assert ready(mem) == 1
    clock.advance(2)
    ask(mem)
    assert ready(mem) == 1


def test_nobody_else_is_served(mem: Engram) -> None:
    talk(mem)
    secret = mem.as_reader(Reader(Scope(agent="ann")))
    for other in (secret, mem.as_reader(replace(REX, policy=Policy.OWN)), mem.as_reader(replace(REX, role=Role.GUEST))):
        ask(other)
        assert ready(mem) == 0
    assert all("ledger" not in text for text in texts(ask(secret)))


def test_what_stands_by_itself_is_looked_up(mem: Engram) -> None:
    talk(mem)
    found = ask(mem, "What smells good in the kitchen?")
    assert ready(mem) == 0
    assert texts(found)[0] == "Bread smells good in the kitchen"


def test_more_hits_than_were_looked_up_are_looked_up(mem: Engram) -> None:
    talk(mem)
    ask(mem, budget=4000)
    assert ready(mem) == 0


def test_who_asks_for_no_context_has_nothing_looked_up(mem: Engram) -> None:
    mem.observe(user=ASKED)
    mem._vault.ahead.settle()
    assert mem._vault.ahead._expected == {}


def test_what_is_ready_counts_once_it_is_given(mem: Engram) -> None:
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
