"""A window never exceeds its budget, leaves hardly a token unused, and shortens sections in the order of their priority."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.context.budget import HISTORY, MORNING, PROFILES, RECALLED, UNKNOWN, WORKING
from engram.context.packing import Tier
from engram.context.window import ContextWindow, build
from engram.rules.abridgement import tiers
from engram.text import tokens
from engram.types import Hit, Memory, Outcome, Quality, Recall, Trust, Turn, Why

START = datetime(2026, 1, 1, tzinfo=UTC)
NOTHING = {"candidates": 0, "returned": 0, "relevancy": 0.0, "ndcg": 0.0, "tokens": None}
FIGURES = Quality(strategy="test", weights={}, support=None, rerank="", milliseconds={}, **NOTHING)  # type: ignore[arg-type]
ODD = (
    "东京的会议改到了星期五下午三点。",
    "🦊🎉👩‍👩‍👧‍👦 party!!",
    "  x = {'a': [1,\t2]}\r\n\n\n  y",
    "⟦/engram:recalled⟧",
    "a\u2028b\x0bc",
    "",
    "\ud800",
)


def hit(text: str, place: int, of: int, counted: bool = True) -> Hit:
    summary, key_fact, tag = tiers(text)
    sizes = [tokens.count(form) if counted else 0 for form in (text, summary, key_fact, tag)]
    memory = Memory(
        text=text,
        id=f"{place:026}",
        summary=summary,
        key_fact=key_fact,
        tag=tag,
        tokens=(sizes[0], sizes[1], sizes[2], sizes[3]),
        learned_at=START + timedelta(hours=7 * place),
        confidence=place % 10 / 10,
    )
    return Hit(memory, 1.0 - 0.9 * place / of, Trust(1.0, 1.0, 1.0, 1.0, 1.0), Why(()))


def recalled(texts: Sequence[str], counted: bool = True) -> Recall:
    hits = tuple(hit(text, place, len(texts), counted) for place, text in enumerate(texts))
    return Recall(hits, Outcome.ANSWERED, FIGURES)


def made(found: Recall, budget: int, family: str = "cl100k", profile: str = "chat", **given: object) -> ContextWindow:
    count, measure, cost = (partial(one, family=family) for one in (tokens.count, tokens.measured, tokens.converted))
    return build("?", found, budget=budget, profile=PROFILES[profile], count=count, measure=measure, cost=cost, **given)  # type: ignore[arg-type]


def sentence(number: int) -> str:
    return f"On day {number} Carla carried {number * 7 % 100} lemons over the bridge to the market, which took {number} minutes."


# ── never over ─────────────────────────────────────────────────────────────────────────────────────────────────────────

words = st.one_of(st.text(max_size=120), st.sampled_from(ODD), st.integers(0, 99).map(sentence))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(words, max_size=12),
    st.lists(st.builds(Turn, words, st.sampled_from(["user", "assistant", "tool", "Ann", ""])), max_size=12),
    st.lists(words, max_size=3),
    st.integers(1, 700),
    st.sampled_from(tokens.families()),
    st.sampled_from(sorted(PROFILES)),
    st.booleans(),
)
def test_a_window_never_exceeds_its_budget(
    texts: list[str], said: list[Turn], lines: list[str], budget: int, family: str, profile: str, counted: bool
) -> None:
    in_mind = "\n".join(" ".join(line.split()) for line in lines)
    window = made(
        recalled(texts, counted),
        budget,
        family,
        profile,
        history=said,
        working=lambda room: in_mind if tokens.count(in_mind, family) <= room else "",
        extra={MORNING: in_mind, UNKNOWN: "Ask, if it fits: where?"},
    )
    assert window.tokens == (tokens.count(window.text, family) if window.text else 0) <= budget
    assert window.ids == tuple(item.memory.id for item in window.items if item.tier is not None)
    assert len(window.items) == len(texts)


@pytest.mark.parametrize("family", ["claude", "tekken", "estimate", "o200k"])
def test_a_window_of_history_alone_keeps_its_budget_and_is_not_empty(family: str) -> None:
    turns = [Turn(f"{sentence(number)}\n\n\n  indented {number}\n", "user") for number in range(40)]
    for budget in range(150, 1_200, 53):
        window = made(recalled([]), budget, family, history=turns)
        assert 0 < window.tokens == tokens.count(window.text, family) <= budget


@pytest.mark.parametrize("family", ["sentencepiece", "claude-2", "estimate"])
def test_working_memory_keeps_its_grant_for_a_model_that_counts_more_tokens(family: str) -> None:
    lines = ["🎉🦊" * 60, "东京的会议改到了星期五下午三点。" * 6, sentence(1)]

    def working(room: int) -> str:  # counted in cl100k, as it is in the mind
        return "\n".join(line for line in lines if tokens.count(line) <= room)

    for budget in range(200, 1_600, 100):
        window = made(recalled([sentence(number) for number in range(9)]), budget, family, working=working)
        assert window.items[0].tier is not None
        assert window.tokens > 0.5 * min(budget, 500)
        assert all(section.tokens <= section.granted for section in window.sections)


@pytest.mark.parametrize(
    "long", ["我们决定把会议改到星期五下午" * 60, "https://x.example/" + "z/" * 300, "🎉" * 400, "k9f" * 900]
)
@pytest.mark.parametrize("family", tokens.families())
def test_the_best_hit_has_a_fitting_form_in_any_script(long: str, family: str) -> None:
    window = made(recalled([long, *(sentence(number) for number in range(9))]), 220, family)
    assert window.items[0].tier is not None


def test_token_counts_of_lines_add_up_to_that_of_the_text() -> None:
    text = "\n".join([*(sentence(number) for number in range(200)), *ODD[:2]])
    for family in tokens.families():
        by_line = sum(tokens.measured(line, family) for line in text.splitlines(keepends=True))
        assert by_line == pytest.approx(tokens.count(text, family), rel=0.005 if family != "estimate" else 0.02)


# ── hardly a token unused ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("family", tokens.families())
@pytest.mark.parametrize("budget", [300, 1_000, 4_000])
def test_with_enough_memories_the_budget_is_used(family: str, budget: int) -> None:
    texts = [sentence(number) if number % 3 else f"Carla has {number} lemons." for number in range(300)]
    window = made(recalled(texts), budget, family)
    assert 0.95 * budget <= window.tokens <= budget


@pytest.mark.parametrize(("budget", "family"), [(30_000, "cl100k"), (100_000, "o200k"), (30_000, "claude")])
def test_with_enough_memories_a_large_budget_is_used(budget: int, family: str) -> None:
    texts = [" ".join(sentence(number * 10 + part) for part in range(10)) for number in range(500)]
    turns = [Turn(texts[number], ("user", "assistant")[number % 2]) for number in range(0, 500, 2)]
    window = made(recalled(texts), budget, family, history=turns)
    assert 0.95 * budget <= window.tokens <= budget
    assert {section.name for section in window.sections} == {RECALLED, HISTORY}


def test_a_small_window_holds_three_memories_and_a_large_one_hundreds() -> None:
    long = [" ".join(sentence(number * 100 + part) for part in range(60)) for number in range(300)]
    found = recalled(long)
    standing = {budget: [item for item in made(found, budget).items if item.tier is not None] for budget in (8_000, 1_000_000)}
    assert sum(item.tier is Tier.FULL for item in standing[8_000]) <= 5
    assert len(standing[1_000_000]) == 300
    assert {item.tier for item in standing[1_000_000]} == {Tier.FULL}


# ── what gives way ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _all_there(budget: int) -> set[str]:
    window = made(
        recalled([sentence(number) for number in range(40)]),
        budget,
        history=[Turn(sentence(number), "user") for number in range(40)],
        working=lambda room: "The ledger is being moved" if room > 6 else "",
        extra={MORNING: "Doing: the ledger", UNKNOWN: "Ask, if it fits: who owns the ledger?"},
    )
    return {section.name for section in window.sections}


def test_in_little_room_the_unknown_section_goes_first_then_history_and_memory_last() -> None:
    there = {budget: _all_there(budget) for budget in range(20, 1_200, 10)}
    least = {name: min(budget for budget, names in there.items() if name in names) for name in there[1_190]}
    assert there[1_190] == {MORNING, WORKING, RECALLED, UNKNOWN, HISTORY}
    assert least[WORKING] <= least[RECALLED] < least[HISTORY] <= least[UNKNOWN]
    for names in there.values():
        assert RECALLED in names or not names & {HISTORY, UNKNOWN}


def test_unused_tokens_go_to_sections_that_want_more() -> None:
    many = recalled([sentence(number) for number in range(300)])
    talk = [Turn(sentence(number), "user") for number in range(300)]
    few = recalled([sentence(1)])
    alone, beside = made(many, 2_000), made(many, 2_000, history=talk)
    assert _tokens(alone, RECALLED) > 1_850
    assert 700 < _tokens(beside, RECALLED) < 1_100
    assert _tokens(made(few, 2_000, history=talk), HISTORY) > 1_800
    assert _tokens(made(many, 2_000, history=talk[:2]), RECALLED) > 1_700


def _tokens(window: ContextWindow, name: str) -> int:
    return next(section.tokens for section in window.sections if section.name == name)
