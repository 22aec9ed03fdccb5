"""Working memory: the last turns (M1), the slots with decay and eviction, and export (M2, M3)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from xml.etree import ElementTree

import pytest
from hand_clock import HandClock
from hypothesis import given
from hypothesis import strategies as st

from engram.rules import working
from engram.rules.abridgement import content_words, shorten, statement
from engram.rules.topics import Topic
from engram.rules.working import (
    Evicted,
    EvictionReason,
    LastTurns,
    SlotLimits,
    SlotSource,
    Strategy,
    WorkingMemory,
    add_turn,
    take_aged,
)
from engram.text.tokens import count
from engram.types import Turn
from engram.working.export import Form, export

LONG = (
    "The deploy to Frankfurt fails because the health check needs ninety seconds. The team raised the limit to two minutes. "
    "After that the second region came up, but the certificate was still the old one."
)


def filled(
    clock: HandClock, texts: list[str], limits: SlotLimits = SlotLimits(), **named: Any
) -> tuple[WorkingMemory, list[Evicted]]:
    memory, gone = WorkingMemory(), []
    for text in texts:
        memory, left = working.attend(memory, text, clock.now(), limits, **named)
        gone += left
        clock.advance(1)
    return memory, gone


def texts(memory: WorkingMemory) -> list[str]:
    return [slot.text for slot in memory.slots]


def test_an_eighth_statement_evicts_the_least_active_slot(clock: HandClock) -> None:
    memory, gone = filled(clock, [f"statement number {number}" for number in range(7)])
    assert gone == []
    memory = working.refresh(memory, 0, clock.now())
    spared = memory.slots[0].text
    memory, left = working.attend(memory, "one more", clock.now(), SlotLimits())
    assert len(memory.slots) == 7
    assert [(one.reason, one.candidate) for one in left] == [(EvictionReason.ROOM, True)]
    assert spared in texts(memory)
    assert "one more" in texts(memory)


def test_the_newest_slot_is_kept_however_low_its_activation(clock: HandClock) -> None:
    memory, _ = filled(clock, [f"statement number {number}" for number in range(7)])
    memory, _ = working.attend(memory, "a faint remark", clock.now(), SlotLimits(), activation=0.15)
    assert "a faint remark" in texts(memory)


def test_equally_active_slots_are_ordered_newest_first(clock: HandClock) -> None:
    memory, _ = filled(clock, ["the mast is broken", "the sail is torn"])
    assert texts(memory) == ["the sail is torn", "the mast is broken"]


def test_attending_again_refreshes_the_same_slot(clock: HandClock) -> None:
    memory, _ = filled(clock, ["The API runs on Fly", "the api runs on fly."], activation=0.5)
    assert len(memory.slots) == 1
    assert memory.slots[0].activation == pytest.approx(0.8)
    memory, _ = working.attend(memory, "The API runs on Fly", clock.now(), SlotLimits(), memory_id="01A")
    memory, _ = working.attend(memory, "The API now runs on Fly.io", clock.now(), SlotLimits(), memory_id="01A")
    assert [(slot.text, slot.memory_id) for slot in memory.slots] == [("The API now runs on Fly.io", "01A")]


def test_a_slot_from_a_memory_is_not_stored_again(clock: HandClock) -> None:
    _, gone = filled(clock, ["kept", "said"], SlotLimits(slots=1), memory_id="01A")
    assert gone == []  # the same id is the same slot
    memory, _ = filled(clock, ["kept"], memory_id="01A")
    _, gone = working.attend(memory, "said", clock.now(), SlotLimits(slots=1))
    assert [one.candidate for one in gone] == [False]


def test_a_slot_halves_in_its_half_life_however_many_ticks(clock: HandClock) -> None:
    limits = SlotLimits(half_life_s=600, tick=1.0, floor=0.05)
    once, _ = filled(clock, ["a statement that fades"], activation=0.8)
    often = once
    for _ in range(10):
        clock.advance(60)
        often, _ = working.tick(often, clock.now(), limits)
    once, _ = working.tick(once, clock.now(), limits)
    assert once.slots[0].activation == pytest.approx(0.4, rel=0.01)
    assert often.slots[0].activation == pytest.approx(once.slots[0].activation)


def test_turns_weaken_slots_and_faint_ones_are_evicted(clock: HandClock) -> None:
    limits = SlotLimits(tick=0.5, floor=0.3)
    memory, _ = filled(clock, ["about the deploy", "about the invoice"], activation=0.5)
    memory = working.mention(memory, "is the deploy through?", clock.now())
    memory, gone = working.tick(memory, clock.now(), limits)
    assert texts(memory) == ["about the deploy"]
    assert [(one.slot.text, one.reason, one.candidate) for one in gone] == [("about the invoice", EvictionReason.FADED, True)]


def test_a_mention_raises_activation_by_the_shared_words(clock: HandClock) -> None:
    memory, _ = filled(clock, ["the deploy of the API", "the invoice of March"], activation=0.5)
    memory = working.mention(memory, "when is the next deployment of the API?", clock.now())
    by_text = {slot.text: slot.activation for slot in memory.slots}
    assert by_text == {"the deploy of the API": pytest.approx(0.8), "the invoice of March": 0.5}
    assert memory.slots[0].touched_at == clock.now()


def test_a_change_of_topic_weakens_all_but_the_goal_and_evicts_the_faint(clock: HandClock) -> None:
    memory, _ = filled(clock, ["lively", "middling", "faint"], activation=0.9)
    levels = {"lively": 0.9, "middling": 0.5, "faint": 0.25}
    memory = replace(memory, slots=tuple(replace(slot, activation=levels[slot.text]) for slot in memory.slots))
    memory, _ = working.attend(memory, "ship it", clock.now(), SlotLimits(), source=SlotSource.GOAL, activation=0.6)
    assert working.change_topic(memory, Topic.CONTINUATION) == (memory, ())
    drifted, gone = working.change_topic(memory, Topic.DRIFT)
    assert {slot.text: round(slot.activation, 3) for slot in drifted.slots} == {"lively": 0.63, "ship it": 0.6, "middling": 0.35}
    assert [one.slot.text for one in gone] == ["faint"]
    left, gone = working.change_topic(memory, Topic.SWITCH)
    assert {slot.text: round(slot.activation, 3) for slot in left.slots} == {"ship it": 0.6, "lively": 0.36, "middling": 0.2}
    assert [(one.slot.text, one.reason, one.candidate) for one in gone] == [("faint", EvictionReason.TOPIC, True)]
    again, gone = working.change_topic(left, Topic.SWITCH)
    assert texts(again) == ["ship it"]
    assert {one.slot.text for one in gone} == {"lively", "middling"}


def test_a_statement_over_the_token_limit_is_shortened_to_whole_sentences(clock: HandClock) -> None:
    memory, gone = filled(clock, [LONG], SlotLimits(tokens=20))
    assert texts(memory) == ["The deploy to Frankfurt fails because the health check needs ninety seconds."]
    assert gone == []


# ── when there is no room ──────────────────────────────────────────────────────────────────────────────────────────────


def crowd(clock: HandClock, strategy: Strategy) -> tuple[WorkingMemory, list[Evicted]]:
    limits = SlotLimits(tokens=85, strategy=strategy)
    memory, _ = filled(clock, [LONG, LONG.replace("Frankfurt", "Oslo")], limits, activation=0.4)
    memory, gone = working.attend(
        memory, "The certificate runs out on Friday, which is the day of the audit.", clock.now(), limits
    )
    assert memory.tokens <= 85
    return memory, list(gone)


def test_evict_lowest_evicts_the_least_active_slot(clock: HandClock) -> None:
    memory, gone = crowd(clock, Strategy.EVICT_LOWEST)
    assert len(memory.slots) == 2
    assert [one.reason for one in gone] == [EvictionReason.ROOM]


def test_compress_lowest_halves_the_least_active_slot(clock: HandClock) -> None:
    memory, gone = crowd(clock, Strategy.COMPRESS_LOWEST)
    assert len(memory.slots) == 3
    assert [(one.slot.text, one.reason) for one in gone] == [(LONG, EvictionReason.COMPRESSED)]
    assert all(slot.text.endswith((".", "…")) for slot in memory.slots)


def test_summarize_batch_merges_the_least_active_slots(clock: HandClock) -> None:
    memory, gone = crowd(clock, Strategy.SUMMARIZE_BATCH)
    assert len(memory.slots) == 2
    assert [one.reason for one in gone] == [EvictionReason.SUMMED_UP] * 2
    summed = next(slot for slot in memory.slots if not slot.text.startswith("The certificate"))
    assert "Frankfurt" in summed.text
    assert "Oslo" in summed.text
    assert summed.tokens <= sum(one.slot.tokens for one in gone) / 2


@pytest.mark.parametrize("limits", [SlotLimits(slots=2), SlotLimits(tokens=55)], ids=["too many slots", "too many tokens"])
def test_each_strategy_makes_room_in_its_own_way_and_says_which(clock: HandClock, limits: SlotLimits) -> None:
    """Slots, or tokens, are short: what is left differs by strategy, and so does the reason given."""
    left, reasons = {}, {}
    story = "Ann went to Oslo. She met Bob there. They had tea in town. Then they took the ferry."
    for strategy in Strategy:
        chosen = replace(limits, strategy=strategy)
        memory, _ = filled(clock, [story, story.replace("Oslo", "Rome")], chosen, activation=0.4)
        memory, gone = working.attend(memory, "The certificate runs out on Friday, the day of the audit.", clock.now(), chosen)
        assert len(memory.slots) <= limits.slots
        assert memory.tokens <= limits.tokens
        left[strategy], reasons[strategy] = tuple(texts(memory)), {one.reason.value for one in gone}
    assert len(set(left.values())) == len(Strategy)
    assert reasons == {
        Strategy.EVICT_LOWEST: {"room"},
        Strategy.COMPRESS_LOWEST: {"compressed"},
        Strategy.SUMMARIZE_BATCH: {"summed up"},
        Strategy.HIERARCHICAL: {"abridged"},
    }


def test_a_slot_that_was_shortened_is_handed_on_once(clock: HandClock) -> None:
    """Its full words are a candidate for the vault; the short form that stays is not one later."""
    memory, gone = crowd(clock, Strategy.COMPRESS_LOWEST)
    assert [one.candidate for one in gone] == [True]
    shortened = next(slot for slot in memory.slots if slot.text not in (LONG, LONG.replace("Frankfurt", "Oslo")) and slot.known)
    assert not Evicted(shortened, EvictionReason.ROOM).candidate


def test_hierarchical_drops_detail_and_keeps_every_subject(clock: HandClock) -> None:
    memory, gone = crowd(clock, Strategy.HIERARCHICAL)
    assert {one.reason for one in gone} == {EvictionReason.ABRIDGED}
    assert any(text == "The deploy to Frankfurt fails because the health check needs ninety seconds." for text in texts(memory))
    assert any("Oslo" in text for text in texts(memory))


# ── whatever happens ───────────────────────────────────────────────────────────────────────────────────────────────────

SAID = st.text(st.sampled_from("abc de. fg, hi! 日本é\n—;"), max_size=300)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("attend"), SAID, st.floats(-1, 2)),
        st.tuples(st.just("mention"), SAID, st.none()),
        st.tuples(st.just("tick"), st.integers(0, 7200), st.integers(0, 5)),
        st.tuples(st.just("topic"), st.sampled_from(Topic), st.none()),
    ),
    max_size=25,
)


@given(STEPS, st.sampled_from(Strategy), st.integers(1, 9), st.integers(16, 200), st.sampled_from(Form), st.integers(1, 200))
def test_working_memory_never_exceeds_its_limits(
    steps: list[Any], strategy: Strategy, slots: int, tokens: int, form: Form, budget: int
) -> None:
    clock, memory, limits = HandClock(), WorkingMemory(), SlotLimits(slots=slots, tokens=tokens, strategy=strategy)
    for what, first, second in steps:
        if what == "attend":
            memory, _ = working.attend(memory, first, clock.now(), limits, activation=second)
        elif what == "mention":
            memory = working.mention(memory, first, clock.now())
        elif what == "tick":
            clock.advance(first)
            memory, _ = working.tick(memory, clock.now(), limits, second)
        else:
            memory, _ = working.change_topic(memory, first)
        assert len(memory.slots) <= slots
        assert sum(count(slot.text) for slot in memory.slots) == memory.tokens <= tokens
        assert all(0.0 <= slot.activation <= 1.0 and slot.text for slot in memory.slots)
        assert list(memory.slots) == sorted(memory.slots, key=lambda slot: -slot.activation)
        shown = export(memory, form, budget)
        assert count(shown.text) == shown.tokens <= budget


@given(SAID, st.integers(0, 60))
def test_shortened_text_fits_the_token_limit(text: str, most: int) -> None:
    assert count(shorten(text, most)) <= most


# ── as text ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_working_memory_exports_in_three_forms(clock: HandClock) -> None:
    memory, _ = filled(clock, ["Ann <owns> the API & more"], activation=0.5)
    memory, _ = working.attend(memory, "ship by Friday", clock.now(), SlotLimits(), source=SlotSource.GOAL, activation=1.0)
    assert export(memory).text == "ship by Friday\n\nAnn <owns> the API & more"
    assert export(memory, Form.STRUCTURED).text == "- (goal, 1.00) ship by Friday\n- (said, 0.50) Ann <owns> the API & more"
    tree = ElementTree.fromstring(f"<all>{export(memory, Form.XML).text}</all>")
    assert [(one.get("source"), one.get("relevance"), (one.text or "").strip()) for one in tree] == [
        ("goal", "1.00", "ship by Friday"),
        ("said", "0.50", "Ann <owns> the API & more"),
    ]


def test_the_most_active_slot_is_shortened_rather_than_dropped(clock: HandClock) -> None:
    memory, _ = filled(clock, [LONG], activation=0.9)
    memory, _ = working.attend(memory, "short", clock.now(), SlotLimits(), activation=0.3)
    shown = export(memory, Form.PLAIN, 20)
    assert shown.text.startswith("The deploy to Frankfurt fails")
    assert 0 < shown.tokens <= 20


def test_a_turn_becomes_its_telling_sentence_after_its_speakers_name_and_small_talk_becomes_none() -> None:
    said = "Hi there! Thanks a lot. I prefer dark mode in every editor. Okay?"
    assert statement(Turn(said)) == "The user: I prefer dark mode in every editor."
    assert statement(Turn("We use Postgres for the ledger.", "Ann")) == "Ann: We use Postgres for the ledger."
    assert [statement(Turn(said, "assistant")) for said in ("ok, thanks!", "Noted.", "Understood!")] == ["", "", ""]
    assert count(statement(Turn(LONG * 40))) <= 40
    assert content_words("what about it?") == ()


def test_the_written_reasons_for_an_eviction_stay() -> None:
    assert [reason.value for reason in EvictionReason] == ["room", "faded", "topic", "summed up", "compressed", "abridged"]


def test_the_last_turn_is_available_and_twenty_turns_are_kept(clock: HandClock) -> None:
    last_turns = LastTurns()
    assert not last_turns.waiting
    for number in range(25):
        last_turns, _ = add_turn(last_turns, Turn(f"turn {number}"), clock.now(), 20)
    assert last_turns.turns[-1].turn == Turn("turn 24")
    assert [heard.turn.text for heard in last_turns.turns] == [f"turn {number}" for number in range(5, 25)]


def test_a_turn_is_handed_on_after_thirty_seconds_and_stays_available(clock: HandClock) -> None:
    last_turns, _ = add_turn(LastTurns(), Turn("make it blue"), clock.now(), 20)
    clock.advance(29.9)
    assert take_aged(last_turns, clock.now(), 30.0)[1] == ()
    clock.advance(0.1)
    last_turns, ripe = take_aged(last_turns, clock.now(), 30.0)
    assert [heard.turn for heard in ripe] == [Turn("make it blue")]
    assert last_turns.turns[-1].turn == Turn("make it blue")
    assert take_aged(last_turns, clock.now(), 30.0)[1] == ()  # each turn is handed on once


@given(st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=60), st.integers(1, 8))
def test_every_turn_is_handed_on_at_most_once_and_in_order(steps: list[tuple[int, bool]], capacity: int) -> None:
    clock, last_turns, handed = HandClock(), LastTurns(), []
    for number, (wait, look) in enumerate(steps):
        clock.advance(wait)
        last_turns, pushed = add_turn(last_turns, Turn(str(number)), clock.now(), capacity)
        handed += pushed
        if look:
            last_turns, ripe = take_aged(last_turns, clock.now(), 30.0)
            handed += ripe
        assert len(last_turns.turns) <= capacity
    assert [heard.turn.text for heard in handed] == [str(number) for number in range(len(handed))]
    assert len(handed) + len(last_turns.turns) - last_turns.handed_on == len(steps)  # none is lost


def test_a_clock_set_back_hands_on_no_turn_early(clock: HandClock) -> None:
    last_turns, _ = add_turn(LastTurns(), Turn("a"), clock.now(), 20)
    clock.set(clock.now() - timedelta(hours=1))
    assert take_aged(last_turns, clock.now(), 30.0)[1] == ()
