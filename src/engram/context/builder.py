"""Build the context window of a message: plan the budget, recall, pack, record what was shown and what was not known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from engram.context.budget import WindowPlan, plan_window
from engram.context.history import split_instructions, turns_of
from engram.context.resume import extra_sections, record_gap, record_window
from engram.context.run import Run
from engram.context.sections import HISTORY, PROFILES, RECALLED, WORKING, ContextSection, check_sections
from engram.context.window import ContextWindow, build
from engram.guard.injection import InjectionVerdict, assess_cached
from engram.recall.plan import QUERY_CHARACTERS, Query
from engram.recall.searcher import Searcher
from engram.store.limits import StoreLimits
from engram.text.transcripts import OpenAI
from engram.types import Reader, Recall, Report, Turn
from engram.values.frozen import replace
from engram.working.export import Form
from engram.working.memory import Working
from engram.working.prefetch import Prefetcher
from engram.working.sets import WorkingSets


class ContextBuilder:
    """Builds context windows from the working memory and the stored memories of one vault."""

    def __init__(self, sets: WorkingSets, searcher: Searcher, prefetcher: Prefetcher) -> None:
        self._sets = sets
        self._searcher = searcher
        self._prefetcher = prefetcher

    def build(
        self,
        reader: Reader,
        message: str,
        *,
        model: str,
        budget: int | None = None,
        history: Sequence[Turn | OpenAI] = (),
        now: datetime | None = None,
        profile: str = "chat",
        mode: str | None = None,
        sections: Sequence[ContextSection] = (),
    ) -> ContextWindow:
        """Return the window for a message, and record its use: the memories shown, the questions offered and unanswered."""
        settings = self._sets.live.now
        instructions, turns = split_instructions(turns_of(history))
        injection, models_file = mode or settings.injection_mode, settings.models_file or None
        plan = plan_window(
            message,
            model,
            budget,
            profile,
            injection,
            instructions=instructions,
            models_file=models_file,
            history=turns,
            sections=check_sections(sections),
            most=settings.context_tokens,
            weights={WORKING: settings.context_working, RECALLED: settings.context_recalled, HISTORY: settings.context_history},
        )
        now = now or self._sets.env.now()
        recall = self._recall(reader, message, plan, now)
        record_gap(self._sets, reader, message, recall)
        window = self._window(reader, message, plan, recall, turns, now)
        shown = {item.memory.key for item in window.items if item.tier is not None}
        hits = tuple(hit for hit in recall if hit.memory.key in shown)
        self._searcher.count_use(reader, replace(recall, hits=hits))
        record_window(self._sets, reader, window)
        notes = (*window.notes, *_notes(plan, message))
        return replace(window, budget=plan.budget, instructions=instructions, notes=notes)

    def begin(
        self,
        reader: Reader,
        message: str,
        capture: Callable[[Sequence[Turn]], Report],
        *,
        model: str,
        budget: int | None = None,
        history: Sequence[Turn | OpenAI] = (),
        now: datetime | None = None,
        profile: str = "chat",
        mode: str | None = None,
        session: str | None = None,
        sections: Sequence[ContextSection] = (),
    ) -> Run:
        """Return a run with the window of its message. capture: stores the turns when the run ends, if the profile allows it."""
        window = self.build(
            reader, message, model=model, budget=budget, history=history, now=now, profile=profile, mode=mode, sections=sections
        )
        captures = PROFILES[profile].captures and reader.writes
        turn = Turn(message, "user", at=now, session=session)
        return Run(window, turn, reader, self._sets, self._prefetcher, capture if captures else None)

    def _recall(self, reader: Reader, message: str, plan: WindowPlan, now: datetime) -> Recall:
        # The question of a long message mostly stands at its end, after pasted text.
        text = message[-QUERY_CHARACTERS:]
        limit = min(plan.hits, self._sets.live.tuned(StoreLimits).page_limit // 2)
        query = Query(text=text, now=now, limit=limit)
        return self._prefetcher.answer(reader, message, query)

    def _window(
        self,
        reader: Reader,
        message: str,
        plan: WindowPlan,
        recall: Recall,
        history: Sequence[Turn],
        now: datetime,
    ) -> ContextWindow:
        working, guarded = Working(self._sets, reader), self._sets.live.now.guard_injection

        def safe(line: str) -> bool:
            return not guarded or assess_cached(line).verdict is InjectionVerdict.CLEAN

        return build(
            message,
            recall,
            budget=plan.room,
            profile=plan.profile,
            count=plan.count,
            measure=plan.measure,
            cost=plan.cost,
            working=lambda room: working.export(Form.PLAIN, room).text if room > 0 else "",
            safe=safe,
            relevant=self._searcher.is_relevant,
            history=history,
            extra=extra_sections(self._sets, self._searcher, reader, message, recall, plan.mode, safe),
            sections=plan.sections,
            now=now,
        )


def _notes(plan: WindowPlan, message: str) -> list[str]:
    notes = []
    if plan.count(message) >= plan.model.window:
        notes.append("the message alone fills the model's window.")
    if not plan.model.known:
        notes.append(f"this model is not known here: its window is taken for {plan.model.window:,} tokens (`models_file`).")
    return notes
