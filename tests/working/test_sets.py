"""Working memory of an open vault: what is in mind, put away, and taken up again (M2, M3, M18)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hand_clock import HandClock
from recall.minds import words_apart

from engram.engine import Engram
from engram.env import Env
from engram.errors import AccessDenied, ContentTooLarge, EngramError, InvalidContent, InvalidQuery
from engram.models.embedders import CallableEmbedder
from engram.rules.topics import Topic
from engram.rules.working import Age, Leaving, SlotSource, Strategy
from engram.types import Policy, Reader, Role, Scope, Turn

KEY = bytes(range(32))
REX = Reader(Scope(agent="rex"))
ANN = Reader(Scope(agent="ann"))
HOUR = 3600.0


@pytest.fixture(autouse=True)
def gentle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_HARDEN_PROCESS", "0")
    monkeypatch.setenv("ENGRAM_CLOSE_ON_SIGTERM", "0")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vault"


@pytest.fixture
def mem(path: Path, env: Env) -> Iterator[Engram]:
    with opened(path, env) as mem:
        yield mem


def opened(path: Path, env: Env, reader: Reader = REX, embedder: CallableEmbedder | None = None, **settings: Any) -> Engram:
    wanted = {"backup_hours": 0, "model": "none", **settings}
    return Engram.open(path, reader=reader, key=KEY, settings=wanted, env=env, embedder=embedder)


def in_mind(mem: Engram) -> list[str]:
    return [slot.text for slot in mem.working.slots]


def test_what_is_attended_to_is_in_mind_and_exported_within_its_tokens(mem: Engram) -> None:
    kept = mem.remember("The payment API runs in Frankfurt")
    mem.working.attend("ship the release", source="goal", activation=1.0)
    mem.working.attend(kept)
    assert [(slot.text, slot.source, slot.memory_id) for slot in mem.working.slots] == [
        ("ship the release", SlotSource.GOAL, ""),
        ("The payment API runs in Frankfurt", SlotSource.RECALLED, kept.id),
    ]
    assert mem.working.export("structured").text.startswith("- (goal, 1.00) ship the release\n")
    assert mem.working.export("xml", budget=40).tokens <= 40
    mem.working.refresh(1)
    assert mem.working.slots[1].activation == pytest.approx(1.0)


def test_the_settings_say_how_much_there_is_room_for(path: Path, env: Env) -> None:
    with opened(path, env, working_slots=3, working_strategy="evict-lowest") as mem:
        gone = [left for number in range(5) for left in mem.working.attend(f"statement {number}")]
        assert len(in_mind(mem)) == 3
        assert [(one.slot.text, one.reason) for one in gone] == [("statement 0", Leaving.ROOM), ("statement 1", Leaving.ROOM)]


def test_the_strategy_that_is_set_makes_the_room(path: Path, env: Env) -> None:
    found = {}
    with opened(path, env, working_tokens=22) as mem:
        for strategy in Strategy:
            mem.settings.set(working_strategy=strategy.value)
            mem.working.clear()
            mem.working.attend(
                "Ann plays chess. She does so on most of the evenings in winter, and on some in autumn.", activation=0.5
            )
            mem.working.attend("Bob runs the harbour office.", activation=0.7)
            mem.working.attend("The invoices moved to Lisbon.", activation=0.9)
            assert mem.working.tokens <= 22
            found[strategy] = in_mind(mem)
    assert found[Strategy.EVICT_LOWEST] == ["The invoices moved to Lisbon.", "Bob runs the harbour office."]
    assert found[Strategy.COMPRESS_LOWEST] == [*found[Strategy.EVICT_LOWEST], "Ann plays chess."]


def test_what_was_heard_comes_to_mind_after_half_a_minute_as_a_statement(mem: Engram, clock: HandClock) -> None:
    mem.working.hear(Turn("Hi! I want to move the payment API to Frankfurt before the audit."), Turn("Sure.", "assistant"))
    assert mem.working.just_said == Turn("Sure.", "assistant")
    assert in_mind(mem) == []
    clock.advance(31)
    mem.working.tick()
    assert in_mind(mem) == ["The user wants to move the payment API to Frankfurt before the audit."]


def test_a_change_of_topic_clears_the_mind_with_what_was_just_said(path: Path, env: Env, clock: HandClock) -> None:
    with opened(path, env, embedder=words_apart()) as mem:
        for text in ("The payment API fails on its health check.", "The health check of the payment API takes a minute."):
            mem.working.hear(Turn(text))
            clock.advance(40)
        mem.working.attend("find out why", source="goal")
        assert any("health check" in text for text in in_mind(mem))
        reading = mem.working.hear(Turn("By the way, do you like jazz concerts?"))
        assert reading is not None
        assert reading.topic is Topic.SWITCH
        assert in_mind(mem) == ["find out why"]
        left = mem.working.candidates()
        assert any("health check" in one.slot.text and one.reason is Leaving.TOPIC for one in left)
        assert mem.working.candidates() == ()
        clock.advance(40)
        mem.working.tick()
        assert all("health" not in text for text in in_mind(mem))  # the ring does not bring back what was left


def test_private_recalled_and_secret_words_do_not_come_to_mind(mem: Engram, clock: HandClock) -> None:
    mem.working.hear(Turn("The code word is <private>zebrafish</private>, and the deploy runs in Oslo on Tuesday."))
    mem.working.hear(Turn("⟦engram:recalled⟧\nThe gargoyle is green.\n⟦/engram:recalled⟧"))
    mem.working.attend("the server needs AKIAIOSFODNN7QWERTYU to start")
    clock.advance(60)
    mem.working.tick()
    held = " ".join([*in_mind(mem), *(turn.text for turn in mem.working.turns)])
    assert "Oslo" in held
    for word in ("zebrafish", "gargoyle", "AKIAIOSFODNN7QWERTYU"):
        assert word not in held


def test_what_leaves_the_mind_is_kept_by_itself_if_it_is_new_and_says_something(path: Path, env: Env, clock: HandClock) -> None:
    with opened(path, env, embedder=words_apart(), working_slots=1) as mem:
        mem.remember("The invoices of the payment API go to Lisbon")
        for text in (
            "The payment API fails on its health check in Frankfurt",
            "The invoices of the payment API go to Lisbon",
            "ok thanks",
            "Which region is the payment API in?",
            "The last one stays in mind",
        ):
            mem.working.attend(text)
        assert [memory.text for memory in mem.list()] == ["The invoices of the payment API go to Lisbon"]
        mem.working.suspend()
        kept = {memory.text: memory for memory in mem.list()}
        assert set(kept) == {
            "The payment API fails on its health check in Frankfurt",
            "The invoices of the payment API go to Lisbon",
        }
        assert all(memory.corroborations == 0 for memory in kept.values())  # a thought is no witness
        mem.working.suspend()
        assert len(mem.list()) == 2


def test_whoever_takes_the_candidates_keeps_them_himself(path: Path, env: Env) -> None:
    with opened(path, env, working_slots=1) as mem:
        mem.working.attend("The payment API fails on its health check in Frankfurt")
        mem.working.attend("The last one stays in mind")
        assert [one.slot.text for one in mem.working.candidates()] == ["The payment API fails on its health check in Frankfurt"]
        mem.working.suspend()
        assert len(mem.list()) == 0


def test_what_is_observed_goes_through_the_mind_once_and_is_kept_once(path: Path, env: Env, clock: HandClock) -> None:
    said = "The payment API moves to Frankfurt before the audit in May."
    with opened(path, env, embedder=words_apart(), working_slots=1) as mem:
        mem.observe(Turn(said))
        mem.observe(Turn("An old story of the payment API.", at=clock.now() - timedelta(days=3)))
        assert [turn.text for turn in mem.working.turns] == [said]
        clock.advance(40)
        mem.working.tick()
        assert len(in_mind(mem)) == 1
        mem.working.attend("The next release is planned for June")
        with mem.begin("And the ledger of the payment API stays in Oslo.", model="gpt-4o") as run:
            run.end("Noted.")
        assert [turn.text for turn in mem.working.turns[1:]] == ["And the ledger of the payment API stays in Oslo.", "Noted."]
        before = [memory.text for memory in mem.list()]
        assert len([text for text in before if "Frankfurt" in text]) == 1
    with opened(path, env, embedder=words_apart()) as mem:
        assert [memory.text for memory in mem.list()] == before


def test_what_was_observed_last_is_in_mind_when_the_vault_is_opened_again(path: Path, env: Env, clock: HandClock) -> None:
    with opened(path, env, embedder=words_apart()) as mem:
        mem.observe(user="The payment API moves to Frankfurt before the audit in May.")
        assert mem.working.confidence > 0
    with opened(path, env, embedder=words_apart()) as mem:
        assert mem.working.confidence > 0


# ── stopping and going on ──────────────────────────────────────────────────────────────────────────────────────────────


def test_closing_puts_it_away_and_the_next_open_takes_it_up(path: Path, env: Env, clock: HandClock) -> None:
    with opened(path, env, embedder=words_apart()) as mem:
        mem.working.hear(Turn("The payment API fails on its health check."), Turn("Which region is the payment API in?"))
        mem.working.attend("The deploy fails in Frankfurt", activation=0.9)
        confidence, left = mem.working.confidence, mem.working.slots
        assert confidence > 0
    clock.advance(3.9 * HOUR)
    with opened(path, env, embedder=words_apart()) as mem:
        assert set(mem.working.slots) > set(left)
        assert "The payment API fails on its health check." in " ".join(in_mind(mem))  # what was just said, too
        assert mem.working.confidence == pytest.approx(confidence)
        assert mem.resume().age is Age.FRESH
        reading = mem.working.hear(Turn("Frankfurt, near the health check service of the payment API."))
        assert reading is not None
        assert reading.near is not None  # the way goes on where it was left
        assert reading.topic is Topic.CONTINUATION


@pytest.mark.parametrize(
    ("hours", "age", "activation"),
    [(3.99, Age.FRESH, 0.9), (4.01, Age.DECAYED, 0.9), (14, Age.DECAYED, 0.54), (24, Age.DROPPED, None)],
)
def test_it_ages_while_it_is_away(
    path: Path, env: Env, clock: HandClock, hours: float, age: Age, activation: float | None
) -> None:
    with opened(path, env) as mem:
        mem.working.attend("The deploy fails in Frankfurt", activation=0.9)
        mem.working.attend("a faint remark", activation=0.15)
        assert mem.working.suspend()
    clock.advance(hours * HOUR)
    with opened(path, env) as mem:
        assert mem.resume().age is age
        found = {slot.text: slot.activation for slot in mem.working.slots}
        if activation is None:
            assert found == {}
        else:
            assert found["The deploy fails in Frankfurt"] == pytest.approx(activation, abs=0.01)
            assert ("a faint remark" in found) is (hours < 10)


def test_a_checkpoint_says_what_was_being_done_however_long_ago(path: Path, env: Env, clock: HandClock) -> None:
    with opened(path, env) as mem:
        mem.working.checkpoint("move the API", decided=["one region", "no downtime"], open=["who owns DNS?"])
        noted = clock.now()
    clock.advance(90 * 24 * HOUR)
    with opened(path, env) as mem:
        found = mem.resume()
        assert (found.goal, found.decided, found.open) == ("move the API", ("one region", "no downtime"), ("who owns DNS?",))
        assert (found.noted_at, found.age, found.slots) == (noted, Age.DROPPED, ())
        mem.working.clear()
        assert mem.resume().goal == ""
    with opened(path, env) as mem:
        assert (mem.resume().goal, mem.resume().age) == ("", Age.NOTHING)


def test_it_is_for_the_very_same_scope_only(mem: Engram) -> None:
    mem.working.checkpoint("move the API", open=["who owns DNS?"])
    owner = Reader(policy=Policy.ALL, role=Role.OWNER)
    others = [
        ANN,
        owner,
        Reader(),
        Reader(Scope(agent="rex", user="ann")),
        Reader(Scope(project="api", agent="rex")),
        Reader(Scope(project="api"), Policy.PROJECT, Role.ORCHESTRATOR),
    ]
    for reader in others:
        found = mem.as_reader(reader).resume()
        assert (found.goal, found.slots, found.age) == ("", (), Age.NOTHING), reader
    mem.as_reader(ANN).working.attend("Ann's own thread")
    assert in_mind(mem) == ["move the API"]
    assert mem.as_reader(replace(REX, policy=Policy.OWN)).resume().goal == "move the API"


def test_who_may_only_read_changes_nothing(mem: Engram) -> None:
    mem.working.attend("the deploy fails")
    guest = mem.as_reader(Reader(REX.scope, role=Role.GUEST)).working
    for call in (
        lambda: guest.attend("x"),
        lambda: guest.tick(),
        lambda: guest.hear(Turn("x")),
        lambda: guest.mention("deploy"),
        lambda: guest.turn_to("switch"),
        lambda: guest.suspend(),
        lambda: guest.clear(),
        lambda: guest.checkpoint("x"),
    ):
        with pytest.raises(AccessDenied):
            call()
    assert in_mind(mem) == ["the deploy fails"]


def test_erasing_takes_it_out_of_every_mind(path: Path, env: Env) -> None:
    with opened(path, env) as mem:
        kept = mem.remember("The payment API runs in Frankfurt")
        other = mem.as_reader(ANN)
        other.working.checkpoint("buy a boat")
        mem.working.attend(kept)
        other.working.attend("Rex says the payment API runs in Frankfurt")
        mem.working.suspend()
        other.working.suspend()
        mem.forget(kept.id, erase=True)
        assert in_mind(mem) == in_mind(other) == []
        assert other.resume().goal == "buy a boat"
    with opened(path, env) as mem:
        assert mem.resume().age is Age.NOTHING


def test_a_mind_from_before_an_erasure_elsewhere_is_not_put_away(path: Path, env: Env) -> None:
    with opened(path, env) as mem, opened(path, env) as elsewhere:
        kept = mem.remember("The payment API runs in Frankfurt")
        elsewhere.working.attend(kept.text)
        mem.forget(kept.id, erase=True)
        assert elsewhere.working.suspend() is False
        assert in_mind(elsewhere) == []
        elsewhere.working.attend("something new")
        assert elsewhere.working.suspend() is True
        assert [slot.text for slot in mem.resume().slots] == ["something new"]


def test_after_the_vault_was_closed_nothing_comes_to_mind(path: Path, env: Env) -> None:
    mem = opened(path, env)
    mind = mem.working
    mind.attend("The kettle is on the stove")
    mem.close()
    for call in (lambda: mind.attend("Turn the kettle off"), mind.tick, lambda: mind.slots, lambda: mind.hear(Turn("hello"))):
        with pytest.raises(EngramError, match="closed"):
            call()
    assert "1 slots" in repr(mind)


def test_bad_calls_are_refused_by_name(mem: Engram) -> None:
    for call, problem in (
        (lambda: mem.working.attend("   "), InvalidContent),
        (lambda: mem.working.attend("half a \ud800 character"), InvalidContent),
        (lambda: mem.working.attend("x", source="dreamt"), InvalidQuery),
        (lambda: mem.working.export("yaml"), InvalidQuery),
        (lambda: mem.working.turn_to("elsewhere"), InvalidQuery),
        (lambda: mem.working.refresh(3), InvalidQuery),
        (lambda: mem.working.attend("x", activation="x"), InvalidQuery),
        (lambda: mem.working.attend("x", activation=float("nan")), InvalidQuery),
        (lambda: mem.working.tick("a"), InvalidQuery),
        (lambda: mem.working.mention(5), InvalidContent),
        (lambda: mem.working.checkpoint("g", decided=None), InvalidContent),
        (lambda: mem.working.checkpoint(""), InvalidContent),
        (lambda: mem.working.checkpoint("a", decided="no list"), InvalidContent),
        (lambda: mem.working.checkpoint("a" * 2_000_000), ContentTooLarge),
    ):
        with pytest.raises(problem):
            call()


def test_an_encoder_that_is_another_one_leaves_its_vectors_behind(path: Path, env: Env) -> None:
    with opened(path, env, embedder=words_apart()) as mem:
        mem.working.hear(Turn("The payment API fails."), Turn("The payment API is slow."))
        mem.working.attend("look into it")
    with opened(path, env) as mem:
        assert in_mind(mem)[0] == "look into it"
        assert mem.working.course is None
        assert mem.working.hear(Turn("The payment API is up."))  # no vectors, no failure


def test_an_encoder_that_fails_is_none(path: Path, env: Env) -> None:
    def broken(texts: object) -> Any:
        raise OSError("gone")

    with opened(path, env, embedder=CallableEmbedder(broken, name="broken", dimensions=4)) as mem:
        reading = mem.working.hear(Turn("The payment API fails."))
        assert reading is not None
        assert reading.near is None


def test_what_is_in_mind_stands_in_the_context(mem: Engram) -> None:
    mem.remember("The payment API runs in Frankfurt")
    mem.working.attend("ship the release by Friday", source="goal", activation=1.0)
    window = mem.context("where does the payment API run?", model="gpt-4o", budget=400)
    assert "ship the release by Friday" in window.text
    assert window.tokens <= 400
    assert "ship the release" not in mem.as_reader(ANN).context("where does the payment API run?", model="gpt-4o").text
