"""The verbs of work in progress."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engram.context.budget import plan_window
from engram.context.history import split_instructions, turns_of
from engram.context.resume import extra_sections, morning_of, record_gap, record_window
from engram.context.window import ContextWindow, build
from engram.guard.injection import InjectionVerdict, assess_cached
from engram.recall.plan import QUERY_CHARACTERS
from engram.rules.resume import Morning
from engram.rules.working import Resumed
from engram.store.limits import StoreLimits
from engram.text.transcripts import OpenAI
from engram.types import (
    Turn,
)
from engram.values.frozen import replace
from engram.verbs import recall
from engram.verbs.view import View
from engram.working.export import Form
from engram.working.memory import Working


def context(
    view: View,
    message: str,
    *,
    model: str,
    budget: int | None = None,
    history: Sequence[Turn | OpenAI] = (),
    now: datetime | None = None,
    profile: str = "chat",
    mode: str | None = None,
) -> ContextWindow:
    """What an agent should read for this message: memories and history within a budget, every token accounted for.

    history: what was said before, as turns or as messages of `role` and `content`; the system's go before all else.
    model: whose window and tokenizer count. budget: tokens of the whole, else what the model has room for. profile: how it
    is divided (chat, task, cron, orchestrator, swarm, flow). mode: how much is said unasked (minimal, standard, deep).
    """
    settings, sets, searcher = view.vault.live.now, view.vault.working_sets, view.vault.searcher
    instructions, said = split_instructions(turns_of(history))
    style, models_file = mode or settings.injection_mode, settings.models_file or None
    plan = plan_window(message, model, budget, profile, style, instructions=instructions, models_file=models_file)
    mind = Working(sets, view.reader)
    # What a long message wants mostly stands at its end, after what was pasted.
    most = min(plan.hits, view.vault.live.tuned(StoreLimits).page_limit // 2)
    asked = recall.as_query(view, message[-QUERY_CHARACTERS:], most, None, now, None, None, None)
    found = view.vault.prefetcher.answer(view.reader, message, asked)
    record_gap(sets, view.reader, message, found)
    window = build(
        message,
        found,
        budget=plan.room,
        profile=plan.profile,
        count=plan.count,
        measure=plan.measure,
        cost=plan.cost,
        working=lambda room: mind.export(Form.PLAIN, room).text if room > 0 else "",
        safe=lambda line: not settings.guard_injection or assess_cached(line).verdict is InjectionVerdict.CLEAN,
        relevant=searcher.is_relevant,
        history=said,
        extra=extra_sections(sets, searcher, view.reader, message, found, plan.mode),
    )
    window = replace(window, budget=plan.budget, instructions=instructions)
    standing = {item.memory.key for item in window.items if item.tier is not None}
    searcher.count_use(view.reader, replace(found, hits=tuple(hit for hit in found if hit.memory.key in standing)))
    record_window(sets, view.reader, window)
    if plan.count(message) >= plan.model.window:
        window = replace(window, notes=(*window.notes, "the message alone fills the model's window."))
    if plan.model.known:
        return window
    unknown = f"this model is not known here: its window is taken for {plan.model.window:,} tokens (`models_file`)."
    return replace(window, notes=(*window.notes, unknown))


def working(view: View) -> Working:
    """What is in mind where this reader stands: slots, `attend`, `hear`, `tick`, `export`, `suspend`, `checkpoint`."""
    return Working(view.vault.working_sets, view.reader, view.key)


def resume(view: View) -> Resumed:
    """What was being done here, decided and left open, and what of it is still in mind; for this very scope only."""
    return working(view).resume()


def morning(view: View) -> Morning:
    """What to know on coming back: what was being done, decided, open and in mind here, and what was learned since."""
    return morning_of(view.vault.working_sets, view.reader)
