"""Working memory of an open vault: slots, saving, loading and checkpoints (M2, M3, M18)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hand_clock import HandClock
from recall.vaults import hashing_encoder

from engram.engine import Engram
from engram.env import Env
from engram.errors import AccessDenied, ContentTooLarge, EngramError, InvalidContent, InvalidQuery
from engram.models.embedders import CallableEmbedder
from engram.rules.topics import Topic
from engram.rules.working import EvictionReason, SavedAge, SlotSource, Strategy
from engram.types import Policy, Reader, Role, Scope, Turn

KEY = bytes(range(32))
REX = Reader(Scope(agent="rex"))
ANN = Reader(Scope(agent="ann"))
HOUR = 3600.0


@pytest.fixture(autouse=True)
def unhardened_process(monkeypatch: pytest.MonkeyPatch) -> None:
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


def slot_texts(mem: Engram) -> list[str]:
    return [slot.text for slot in mem.working.slots]


def test_attended_statements_are_in_slots_and_exported_within_the_budget(mem: Engram) -> None:
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


def test_settings_limit_slots_and_tokens(path: Path, env: Env) -> None:
    with opened(path, env, working_slots=3, working_strategy="evict-lowest") as mem:
        gone = [left for number in range(5) for left in mem.working.attend(f"statement {number}")]
        assert len(slot_texts(mem)) == 3
        assert [(one.slot.text, one.reason) for one in gone] == [
            ("statement 0", EvictionReason.ROOM),
            ("statement 1", EvictionReason.ROOM),
        ]


def test_the_configured_strategy_makes_room(path: Path, env: Env) -> None:
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
            found[strategy] = slot_texts(mem)
    assert found[Strategy.EVICT_LOWEST] == ["The invoices moved to Lisbon.", "Bob runs the harbour office."]
    assert found[Strategy.COMPRESS_LOWEST] == [*found[Strategy.EVICT_LOWEST], "Ann plays chess."]


def test_a_turn_becomes_a_slot_after_half_a_minute(mem: Engram, clock: HandClock) -> None:
    mem.working.hear(Turn("Hi! I want to move the payment API to Frankfurt before the audit."), Turn("Sure.", "assistant"))
    assert mem.working.just_said == Turn("Sure.", "assistant")
    assert slot_texts(mem) == []
    clock.advance(31)
    mem.working.tick()
    assert slot_texts(mem) == ["The user: I want to move the payment API to Frankfurt before the audit."]


def test_a_change_of_topic_weakens_slots_and_last_turns(path: Path, env: Env, clock: HandClock) -> None:
    with opened(path, env, embedder=hashing_encoder()) as mem:
        for text in ("The payment API fails on its health check.", "The health check of the payment API takes a minute."):
            mem.working.hear(Turn(text))
            clock.advance(40)
        mem.working.attend("find out why", source="goal")
        assert any("health check" in text for text in slot_texts(mem))
        reading = mem.working.hear(Turn("By the way, do you like jazz concerts?"))
        assert reading is not None
        assert reading.topic is Topic.SWITCH
        assert slot_texts(mem)[0] == "find out why"
        assert any("health check" in text for text in slot_texts(mem)), "one task goes through several topics"
        mem.working.turn_to("switch")
        assert slot_texts(mem) == ["find out why"]
        left = mem.working.candidates()
        assert any("health check" in one.slot.text and one.reason is EvictionReason.TOPIC for one in left)
        assert mem.working.candidates() == ()
        clock.advance(40)
        mem.working.tick()
        assert all("health" not in text for text in slot_texts(mem))  # the last turns do not bring the old topic back


def test_the_last_turns_are_read_without_encoding(path: Path, env: Env) -> None:
    made, encoded = hashing_encoder(), []

    def embed(some: Sequence[str]) -> Any:
        encoded.extend(some)
        return made.passages(some)

    with opened(path, env, embedder=CallableEmbedder(embed, name="counting", dimensions=1024)) as mem:
        mem.working.hear(Turn("The payment API fails."))
        mem.observe(user="The token is <private>zebrafish</private> in Oslo.", assistant="Noted, in Oslo.")
        encoded.clear()
        assert mem.working.just_said == Turn("Noted, in Oslo.", "assistant")
        assert mem.working.turns[0].text == "The payment API fails."
        assert not any("zebrafish" in turn.text for turn in mem.working.turns)
        assert mem.working.talk
        assert encoded == []
        heard = mem.working.turns
        assert mem.working.slots == ()
        assert encoded, "the topic is assessed when slots are read"
        assert mem.working.turns == heard


def test_an_erasure_drops_turns_that_wait(mem: Engram) -> None:
    fact = mem.remember("The ledger service runs on Fly")
    mem.observe(user="The ledger service moves to Oslo.")
    mem.forget(fact.id, erase=True)
    assert mem.working.just_said is None


def test_private_recalled_and_secret_text_stays_out_of_working_memory(mem: Engram, clock: HandClock) -> None:
    mem.working.hear(Turn("The code word is <private>zebrafish</private>, and the deploy runs in Oslo on Tuesday."))
    mem.working.hear(Turn("⟦engram:recalled⟧\nThe gargoyle is green.\n⟦/engram:recalled⟧"))
    mem.working.attend("the server needs AKIAIOSFODNN7QWERTYU to start")
    clock.advance(60)
    mem.working.tick()
    held = " ".join([*slot_texts(mem), *(turn.text for turn in mem.working.turns)])
    assert "Oslo" in held
    for word in ("zebrafish", "gargoyle", "AKIAIOSFODNN7QWERTYU"):
        assert word not in held


def test_evicted_slots_are_stored_if_they_are_new_and_informative(path: Path, env: Env, clock: HandClock) -> None:
    with opened(path, env, embedder=hashing_encoder(), working_slots=1) as mem:
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
        assert all(memory.corroborations == 0 for memory in kept.values())  # a slot does not corroborate a memory
        mem.working.suspend()
        assert len(mem.list()) == 2


def test_candidates_taken_by_the_caller_are_not_stored(path: Path, env: Env) -> None:
    with opened(path, env, working_slots=1) as mem:
        mem.working.attend("The payment API fails on its health check in Frankfurt")
        mem.working.attend("The last one stays in mind")
        assert [one.slot.text for one in mem.working.candidates()] == ["The payment API fails on its health check in Frankfurt"]
        mem.working.suspend()
        assert len(mem.list()) == 0


def test_observed_turns_enter_working_memory_once_and_are_stored_once(path: Path, env: Env, clock: HandClock) -> None:
    said = "The payment API moves to Frankfurt before the audit in May."
    with opened(path, env, embedder=hashing_encoder(), working_slots=1) as mem:
        mem.observe(Turn(said))
        mem.observe(Turn("An old story of the payment API.", at=clock.now() - timedelta(days=3)))
        assert [turn.text for turn in mem.working.turns] == [said]
        clock.advance(40)
        mem.working.tick()
        assert len(slot_texts(mem)) == 1
        mem.working.attend("The next release is planned for June")
        with mem.begin("And the ledger of the payment API stays in Oslo.", model="gpt-4o") as run:
            run.end("Noted.")
        assert [turn.text for turn in mem.working.turns[1:]] == ["And the ledger of the payment API stays in Oslo.", "Noted."]
        before = [memory.text for memory in mem.list()]
        assert len([text for text in before if "Frankfurt" in text]) == 1
    with opened(path, env, embedder=hashing_encoder()) as mem:
        evicted = "The next release is planned for June"  # by the last turns, which became slots on closing
        assert [memory.text for memory in mem.list()] == [evicted, *before]


def test_the_last_observed_turns_are_in_working_memory_after_reopening(path: Path, env: Env, clock: HandClock) -> None:
    with opened(path, env, embedder=hashing_encoder()) as mem:
        mem.observe(user="The payment API moves to Frankfurt before the audit in May.")
        assert mem.working.confidence > 0
    with opened(path, env, embedder=hashing_encoder()) as mem:
        assert mem.working.confidence > 0


# ── stopping and going on ──────────────────────────────────────────────────────────────────────────────────────────────


def test_working_memory_is_saved_on_close_and_loaded_on_open(path: Path, env: Env, clock: HandClock) -> None:
    with opened(path, env, embedder=hashing_encoder()) as mem:
        mem.working.hear(Turn("The payment API fails on its health check."), Turn("Which region is the payment API in?"))
        mem.working.attend("The deploy fails in Frankfurt", activation=0.9)
        confidence, left = mem.working.confidence, mem.working.slots
        assert confidence > 0
    clock.advance(3.9 * HOUR)
    with opened(path, env, embedder=hashing_encoder()) as mem:
        assert set(mem.working.slots) > set(left)
        assert "The payment API fails on its health check." in " ".join(slot_texts(mem))  # the last turns were saved too
        assert mem.working.confidence == pytest.approx(confidence)
        assert mem.resume().age is SavedAge.FRESH
        reading = mem.working.hear(Turn("Frankfurt, near the health check service of the payment API."))
        assert reading is not None
        assert reading.to_last is not None  # the momentum continues where it was
        assert reading.topic is Topic.CONTINUATION


@pytest.mark.parametrize(
    ("hours", "age", "activation"),
    [(3.99, SavedAge.FRESH, 0.9), (4.01, SavedAge.DECAYED, 0.9), (14, SavedAge.DECAYED, 0.54), (24, SavedAge.DROPPED, None)],
)
def test_saved_working_memory_decays_during_a_pause(
    path: Path, env: Env, clock: HandClock, hours: float, age: SavedAge, activation: float | None
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


def test_a_checkpoint_is_resumed_however_old(path: Path, env: Env, clock: HandClock) -> None:
    with opened(path, env) as mem:
        mem.working.checkpoint("move the API", decided=["one region", "no downtime"], open=["who owns DNS?"])
        noted = clock.now()
    clock.advance(90 * 24 * HOUR)
    with opened(path, env) as mem:
        found = mem.resume()
        assert (found.goal, found.decided, found.open) == ("move the API", ("one region", "no downtime"), ("who owns DNS?",))
        assert (found.noted_at, found.age, found.slots) == (noted, SavedAge.DROPPED, ())
        mem.working.clear()
        assert mem.resume().goal == ""
    with opened(path, env) as mem:
        assert (mem.resume().goal, mem.resume().age) == ("", SavedAge.NOTHING)


def test_working_memory_belongs_to_exactly_one_scope(mem: Engram) -> None:
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
        assert (found.goal, found.slots, found.age) == ("", (), SavedAge.NOTHING), reader
    mem.as_reader(ANN).working.attend("Ann's own thread")
    assert slot_texts(mem) == ["move the API"]
    assert mem.as_reader(replace(REX, policy=Policy.OWN)).resume().goal == "move the API"


def test_a_read_only_reader_cannot_change_working_memory(mem: Engram) -> None:
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
    assert slot_texts(mem) == ["the deploy fails"]


def test_an_erasure_clears_all_working_memory(path: Path, env: Env) -> None:
    with opened(path, env) as mem:
        kept = mem.remember("The payment API runs in Frankfurt")
        other = mem.as_reader(ANN)
        other.working.checkpoint("buy a boat")
        mem.working.attend(kept)
        other.working.attend("Rex says the payment API runs in Frankfurt")
        mem.working.suspend()
        other.working.suspend()
        mem.forget(kept.id, erase=True)
        assert slot_texts(mem) == slot_texts(other) == []
        assert other.resume().goal == "buy a boat"
    with opened(path, env) as mem:
        assert mem.resume().age is SavedAge.NOTHING


def test_working_memory_loaded_before_an_erasure_elsewhere_is_not_saved(path: Path, env: Env) -> None:
    with opened(path, env) as mem, opened(path, env) as elsewhere:
        kept = mem.remember("The payment API runs in Frankfurt")
        elsewhere.working.attend(kept.text)
        mem.forget(kept.id, erase=True)
        assert elsewhere.working.suspend() is False
        assert slot_texts(elsewhere) == []
        elsewhere.working.attend("something new")
        assert elsewhere.working.suspend() is True
        assert [slot.text for slot in mem.resume().slots] == ["something new"]


def test_working_memory_is_closed_with_the_vault(path: Path, env: Env) -> None:
    mem = opened(path, env)
    mind = mem.working
    mind.attend("The kettle is on the stove")
    mem.close()
    for call in (lambda: mind.attend("Turn the kettle off"), mind.tick, lambda: mind.slots, lambda: mind.hear(Turn("hello"))):
        with pytest.raises(EngramError, match="closed"):
            call()
    assert "1 slots" in repr(mind)


def test_invalid_arguments_raise_their_error(mem: Engram) -> None:
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


def test_vectors_of_another_encoder_are_dropped_on_load(path: Path, env: Env) -> None:
    with opened(path, env, embedder=hashing_encoder()) as mem:
        mem.working.hear(Turn("The payment API fails."), Turn("The payment API is slow."))
        mem.working.attend("look into it")
    with opened(path, env) as mem:
        assert slot_texts(mem)[0] == "look into it"
        assert mem.working.hear(Turn("The payment API is up."))  # no vectors, no failure


def test_a_failing_encoder_counts_as_none(path: Path, env: Env) -> None:
    def broken(texts: object) -> Any:
        raise OSError("gone")

    with opened(path, env, embedder=CallableEmbedder(broken, name="broken", dimensions=4)) as mem:
        reading = mem.working.hear(Turn("The payment API fails."))
        assert reading is not None
        assert reading.to_last is None


def test_context_contains_working_memory(mem: Engram) -> None:
    mem.remember("The payment API runs in Frankfurt")
    mem.working.attend("ship the release by Friday", source="goal", activation=1.0)
    window = mem.context("where does the payment API run?", model="gpt-4o", budget=400)
    assert "ship the release by Friday" in window.text
    assert window.tokens <= 400
    assert "ship the release" not in mem.as_reader(ANN).context("where does the payment API run?", model="gpt-4o").text
