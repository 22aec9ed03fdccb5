"""Sections of a window beside recalled memories: injection modes, knowledge gaps, the briefing after a break (X8, X11)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hand_clock import HandClock
from recall.vaults import FACTS, KEY, hashing_encoder, settle

from engram.engine import Engram
from engram.env import Env
from engram.errors import InvalidQuery
from engram.recall.weights import RecallWeights
from engram.rules.gaps import bears_on, question_in
from engram.text.tokens import count
from engram.types import Outcome, Reader, Role, Scope, Turn
from engram.values.query import Filter

MODEL = "gpt-4"
REX = Reader(Scope(agent="rex"))
UNKNOWN = "Which harbour does the ferry Aurora leave from?"
PLAIN = "Let us go on with the garden party."
HARBOUR = "Let us go on with the harbour that opens at eight."
DAY = 86_400.0


def opened(path: Path, env: Env, **settings: Any) -> Engram:
    quiet = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False}
    given = {**quiet, **settings}
    stricter = RecallWeights(support_least=0.7)  # hashed words: memories that share only small words are no answer
    mem = Engram.open(path, reader=REX, key=KEY, settings=given, env=env, embedder=hashing_encoder(), tuning=[stricter])
    settle(mem)
    return mem


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vault"


@pytest.fixture
def mem(path: Path, env: Env) -> Iterator[Engram]:
    with opened(path, env) as mem:
        for fact in FACTS:
            mem.remember(fact)
        yield mem


def section(mem: Engram, name: str, message: str = "Where does my sister Carla live?", **more: Any) -> str:
    window = mem.context(message, model=MODEL, **more)
    assert (count(window.text) if window.text else 0) <= window.tokens <= window.budget
    return next((one.text for one in window.sections if one.name == name), "")


# ── how much ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_injection_mode_decides_memories_and_sections(mem: Engram) -> None:
    for _ in range(2):
        mem.begin(UNKNOWN, model=MODEL).end("I do not know.")
    mem.gaps()
    shown = {}
    for mode in ("minimal", "standard", "deep"):
        window = mem.context(
            "What of Carla, green tea, chess, Rust, winters, lemon trees, the garage door, the marathon, harbour and ferry?",
            model=MODEL,
            budget=700,
            mode=mode,
        )
        shown[mode] = sum(item.tier is not None for item in window.items)
        assert ("unknown" in {one.name for one in window.sections}) == (mode != "minimal")
    assert shown["minimal"] <= 5 < shown["standard"] <= shown["deep"]
    mem.settings.set(injection_mode="minimal")
    assert len(mem.context("Where does Carla live?", model=MODEL).items) <= 5
    with pytest.raises(InvalidQuery, match="minimal, standard, deep"):
        mem.context("Where does Carla live?", model=MODEL, mode="loud")


def test_deep_mode_gives_the_history_budget_to_memories(mem: Engram) -> None:
    mem.ingest([Turn(f"Carla does live with {number} lemon trees, and they live well.", "Ann") for number in range(40)])
    history = [Turn(f"We talked at length about {fact}, and about what came of it. " * 3) for fact in FACTS]
    given = {}
    for mode in ("standard", "deep"):
        window = mem.context("Where does Carla live?", model=MODEL, budget=500, history=history, mode=mode)
        given[mode] = {one.name: one.granted for one in window.sections}
    assert given["deep"]["recalled"] > given["standard"]["recalled"]
    assert given["deep"]["history"] < given["standard"]["history"]


# ── what is not known ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("message", "question"),
    [
        ("Hi! Which harbour does the ferry leave from? Thanks a lot.", "Which harbour does the ferry leave from?"),
        ("where does the ferry Aurora leave from", "where does the ferry Aurora leave from"),
        ("and then?", ""),
        ("ok, deploy it", ""),
        ("The ferry leaves from Oslo.", ""),
        ("What " + "long " * 60 + "ferry?", ""),
    ],
)
def test_a_self_contained_question_is_recorded(message: str, question: str) -> None:
    assert question_in(message) == question


def test_an_unanswered_question_is_a_gap_until_answered(mem: Engram) -> None:
    mem.recall("Where does my sister Carla live?")
    mem.recall("Which lighthouse stands on the island of Skagen?", filters=Filter(categories=("decision",)))
    mem.recall("Which windmill stands on the isle of Texel?", filters=Filter(scope=Scope(user="ann")))
    for number in range(3):
        mem.recall(UNKNOWN, filters=Filter() if number else None)
    (gap,) = mem.gaps()
    assert (gap.text, gap.times, gap.scope) == (UNKNOWN, 3, REX.scope)
    mem.remember("The ferry Aurora leaves from the harbour of Bergen")
    assert mem.gaps() == []
    assert mem._vault.store.gaps.select(REX, limit=9) == []  # it is gone, and not only hidden


def test_recall_itself_writes_nothing(mem: Engram) -> None:
    written = mem._vault.store.changes.latest(REX)
    mem.recall(UNKNOWN)
    assert mem._vault.store.gaps.select(REX, limit=9, to_offer=True) == []  # it waits for the next batch
    assert mem._vault.store.changes.latest(REX) == written


def test_a_recorded_question_survives_the_process(path: Path, env: Env) -> None:
    with opened(path, env) as mem:
        mem.remember("Green tea tastes better than coffee")
    with opened(path, env) as mem:
        mem.recall(UNKNOWN)
    with opened(path, env) as mem:
        assert [gap.text for gap in mem.gaps()] == [UNKNOWN]


def test_a_window_states_that_the_answer_is_unknown(mem: Engram) -> None:
    assert section(mem, "unknown", UNKNOWN) == "Nothing that is known seems to answer this."
    assert section(mem, "unknown", f"I am in a hurry. {UNKNOWN}") == f"Nothing that is known seems to answer this: {UNKNOWN}"
    assert section(mem, "unknown") == ""


def test_gaps_are_limited_per_window_session_and_week(path: Path, env: Env, clock: HandClock) -> None:
    asked = [UNKNOWN, "Who painted the ferry Aurora?", "When was the harbour of Aurora rebuilt?"]
    sailing = "Let us go on with the Aurora, that ferry in the harbour."

    def shown(mem: Engram) -> str:
        return section(mem, "unknown", sailing)

    with opened(path, env) as mem:
        for fact in FACTS:
            mem.remember(fact)
        for question in asked:
            mem.begin(question, model=MODEL).end("I do not know.")
        assert len(mem.gaps()) == 3
        offered = [shown(mem) for _ in range(4)]
        assert [text.count("Ask, if it fits: ") for text in offered] == [1, 1, 0, 0]
        first = {text.removeprefix("Ask, if it fits: ") for text in offered if text}
    clock.advance(DAY)
    with opened(path, env) as mem:
        assert shown(mem).removeprefix("Ask, if it fits: ") in set(asked) - first
        assert shown(mem) == ""
    clock.advance(6.5 * DAY)
    with opened(path, env) as mem:
        assert shown(mem).removeprefix("Ask, if it fits: ") in first


def test_only_a_question_of_the_talk_that_bears_on_the_message_is_offered(mem: Engram) -> None:
    message = "We take the ferry Aurora on Friday."
    mem.recall(UNKNOWN)  # a search, as by the page or the command line
    mem.context(UNKNOWN, model=MODEL)
    assert [gap.text for gap in mem.gaps()] == [UNKNOWN]
    assert section(mem, "unknown", message) == ""
    ann = mem.as_reader(Reader(Scope(agent="ann")))
    ann.observe(user=UNKNOWN, assistant="I do not know.")
    ann.context("And then?", model=MODEL)
    mem.gaps()
    assert section(mem, "unknown", message) == "", "another agent's talk"
    mem.observe(user="Please help me. " + UNKNOWN, assistant="I do not know.")
    assert mem.working.turns
    mem.working.tick()
    mem.gaps()
    assert section(mem, "unknown", PLAIN) == "", "it does not bear on the message"
    assert section(mem, "unknown", message) == "Ask, if it fits: " + UNKNOWN


@pytest.mark.parametrize(
    ("question", "message", "bears"),
    [
        (UNKNOWN, "We take the ferry Aurora on Friday.", True),
        (UNKNOWN, "When do we leave for the garden party?", False),
        ("Who owns Draco?", "Draco is slow today", True),
        ("Who is the president of Brazil?", "deploy the API", False),
        ("and then?", "and then?", False),
    ],
)
def test_a_question_bears_on_a_message_that_has_half_of_its_words(question: str, message: str, bears: bool) -> None:
    assert bears_on(question, message) is bears


def test_contested_memories_are_asked_about_once_a_week_in_their_scope(path: Path, env: Env, clock: HandClock) -> None:
    question = "Ask, if it fits: Which holds: “The harbour opens at eight” or “The harbour opens at nine”?"
    with opened(path, env) as mem:
        one, other = (mem.remember(f"The harbour opens at {hour}.").id for hour in ("eight", "nine"))
        mem.relate(one, other, "contradicts")
        settle(mem)
        assert section(mem, "unknown", PLAIN) == "", "no memory of the harbour bears on it"
        assert section(mem, "unknown", HARBOUR) == question
        assert section(mem, "unknown", HARBOUR) == ""
        assert section(mem.as_reader(Reader(Scope(agent="ann"))), "unknown", HARBOUR) == ""
        assert not mem._vault.store.gaps.select(mem.reader, limit=10)  # nobody asked for it
    clock.advance(6 * DAY)
    with opened(path, env) as mem:
        assert section(mem, "unknown", HARBOUR) == ""
    clock.advance(2 * DAY)
    with opened(path, env) as mem:
        assert section(mem, "unknown", HARBOUR) == question
        mem.forget(other)
    clock.advance(9 * DAY)
    with opened(path, env) as mem:
        assert section(mem, "unknown", HARBOUR) == ""


def test_gaps_stay_in_their_scope_and_guests_record_none(mem: Engram) -> None:
    mem.recall(UNKNOWN)
    assert len(mem.gaps()) == 1
    ann = mem.as_reader(Reader(Scope(agent="ann")))
    assert ann.gaps() == []
    assert "Ask, if it fits" not in section(ann, "unknown")
    mem.as_reader(replace(REX, role=Role.GUEST)).recall("Who painted the mural behind the bakery?")
    assert [gap.text for gap in mem.gaps()] == [UNKNOWN]


def test_a_question_that_the_reader_can_answer_is_no_gap(mem: Engram) -> None:
    nobody = mem.as_reader(Reader(Scope()))
    nobody.recall(UNKNOWN)
    assert [gap.text for gap in mem.gaps()] == [UNKNOWN]
    mem.remember("The ferry Aurora leaves from the harbour of Bergen")
    assert mem.recall(UNKNOWN).outcome is Outcome.ANSWERED
    assert mem.gaps() == []
    assert [gap.text for gap in nobody.gaps()] == [UNKNOWN]


@pytest.mark.parametrize(
    ("message", "question"),
    [
        ("can you write a poem about rivers?", ""),
        ("Hey, could you please refactor the parser module?", ""),
        ("Please draft a letter to the landlord?", ""),
        ("Can you tell me where the ferry Aurora leaves?", "Can you tell me where the ferry Aurora leaves?"),
        ("Can we deploy the parser on Fridays?", "Can we deploy the parser on Fridays?"),
    ],
)
def test_requests_for_work_are_not_recorded_as_questions(message: str, question: str) -> None:
    assert question_in(message) == question


def test_private_and_secret_text_stays_out_of_gaps(mem: Engram) -> None:
    mem.recall("Which harbour has the <private>zebrafish</private> ferry with AKIAIOSFODNN7QWERTYU aboard?")
    kept = " ".join(gap.text for gap in mem.gaps())
    assert "zebrafish" not in kept
    assert "AKIA" not in kept


def test_an_erasure_removes_gaps_about_the_memory(mem: Engram) -> None:
    fact = mem.remember("The Aurora is a ferry that carries lemons")
    mem.recall("Who painted the mural behind the bakery?")
    mem.recall("Which captain sails the Aurora?", limit=1)
    assert {gap.text for gap in mem._vault.store.gaps.select(REX, limit=9)} >= {"Who painted the mural behind the bakery?"}
    mem.forget(fact.id, erase=True)
    assert [gap.text for gap in mem._vault.store.gaps.select(REX, limit=9)] == ["Who painted the mural behind the bakery?"]


# ── the morning after ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_first_context_after_a_break_has_a_briefing(path: Path, env: Env, clock: HandClock) -> None:
    with opened(path, env) as mem:
        mem.working.checkpoint("ship the release", decided=["deploy on Monday"], open=["who tests it?"])
        mem.working.attend("The health check takes a minute")
        mem.remember("An old fact about lemons")
        assert section(mem, "morning") == ""  # nobody was away
    clock.advance(3 * DAY)
    with opened(path, env) as mem:
        mem.as_reader(Reader()).remember("The audit was moved to June", importance=0.9)
        text = section(mem, "morning")
        for line in (
            "Doing: ship the release",
            "Decided: deploy on Monday",
            "Open: who tests it?",
            "In mind: The health check takes a minute",
            "New since: The audit was moved to June",
        ):
            assert line in text.splitlines()
        assert "lemons" not in text
        assert section(mem, "morning") == ""  # told once
        clock.advance(5 * 3600)
        assert "Doing: ship the release" in section(mem, "morning")  # and again after the next break


def test_a_short_break_or_small_budget_gives_no_briefing(path: Path, env: Env, clock: HandClock) -> None:
    with opened(path, env) as mem:
        mem.working.checkpoint("ship the release")
    clock.advance(3 * 3600)
    with opened(path, env) as mem:
        assert section(mem, "morning") == ""
    clock.advance(DAY)
    with opened(path, env) as mem:
        assert section(mem, "morning", budget=40) == ""


def test_a_briefing_covers_one_scope_and_lists_known_memories_in_a_new_one(mem: Engram) -> None:
    mem.working.checkpoint("ship the release")
    assert "Doing: ship the release" in mem.morning().text
    elsewhere = mem.as_reader(Reader(Scope(agent="ann"))).morning()
    assert elsewhere.text == ""
    mem.as_reader(Reader()).remember("The office is closed in August")
    assert mem.as_reader(Reader(Scope(agent="ann"))).morning().text == "Known: The office is closed in August"


def test_flagged_memories_are_not_in_a_briefing(path: Path, env: Env, clock: HandClock) -> None:
    with opened(path, env) as mem:
        mem.working.checkpoint("ship the release")
        mem.context("Where does Carla live?", model=MODEL)
    clock.advance(3 * DAY)
    with opened(path, env) as mem:
        everyone = mem.as_reader(Reader())
        kept = everyone.remember("The audit was moved to June")
        mem._vault.store.memories.update(everyone.reader, everyone.remember("The zebra house is closed").id, {"flagged": True})
        assert mem.morning().news == (kept,)
        text = section(mem, "morning")
        assert "audit" in text
        assert "zebra" not in text
