"""Build the context window of a message: plan the budget, recall, pack, record what was shown and what was not known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from engram.context.budget import WindowPlan, grants, plan_window
from engram.context.history import VERBATIM, compress, split_instructions, turns_of
from engram.context.resume import extra_sections, record_gap, record_window
from engram.context.run import Run
from engram.context.sections import (
    EXTRA_SECTIONS,
    HISTORY,
    PROFILES,
    RECALLED,
    WORKING,
    ContextSection,
    SectionShare,
    check_sections,
)
from engram.context.window import ContextWindow, build
from engram.guard.injection import InjectionVerdict, assess_cached
from engram.recall.plan import QUERY_CHARACTERS, Query, asks_nothing, is_unrestricted
from engram.recall.searcher import NOTHING_ASKED, Searcher
from engram.rules.topics import talk_of
from engram.store.limits import StoreLimits
from engram.text.transcripts import OpenAI
from engram.types import Reader, Recall, Report, Stage, Turn
from engram.values.frozen import replace
from engram.values.query import Filter
from engram.working.export import Form
from engram.working.memory import Working
from engram.working.sets import WorkingSets


class ContextBuilder:
    """Builds context windows from the working memory and the stored memories of one vault."""

    def __init__(self, sets: WorkingSets, searcher: Searcher) -> None:
        self._sets = sets
        self._searcher = searcher

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
        filters: Filter = Filter(),
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
        query = self._query(reader, message, plan, self._shown(turns, plan, budget), turns, now, filters)
        recall = NOTHING_ASKED if asks_nothing(message) else self._searcher.recall_uncounted(reader, query)
        if is_unrestricted(query):
            record_gap(self._sets, reader, message, recall)
        window = self._window(reader, message, plan, recall, turns, now)
        shown = {item.memory.key for item in window.items if item.tier is not None}
        hits = tuple(hit for hit in recall if hit.memory.key in shown)
        self._searcher.count_use(reader, replace(recall, hits=hits))
        record_window(self._sets, reader, window)
        notes = (*window.notes, *_notes(plan, message, recall))
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
        return Run(window, turn, reader, self._sets, capture if captures else None)

    @staticmethod
    def _shown(history: Sequence[Turn], plan: WindowPlan, budget: int | None) -> tuple[str, ...]:
        """Return the turns of the history that the window will show verbatim; without a budget that is all it can hold."""
        own = (SectionShare(one.title, one.share, one.priority, one.least) for one in plan.sections)
        claims = (*own, *plan.profile.claims, *(() if budget is None else EXTRA_SECTIONS))
        room = grants(claims, plan.room).get(HISTORY, 0)
        return tuple(piece.text for piece in compress(history, room, plan.count) if piece.form == VERBATIM)

    def _query(
        self,
        reader: Reader,
        message: str,
        plan: WindowPlan,
        shown: tuple[str, ...],
        history: Sequence[Turn],
        now: datetime,
        filters: Filter,
    ) -> Query:
        """Return the query of a message, read with the history, else with what working memory heard last."""
        # The question of a long message mostly stands at its end, after pasted text.
        text = message[-QUERY_CHARACTERS:]
        limit = min(plan.hits, self._sets.live.tuned(StoreLimits).page_limit // 2)
        talk = talk_of(history) if history else Working(self._sets, reader).talk
        return Query(text=text, now=now, limit=limit, where=filters, talk=talk, said=shown)

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


def _notes(plan: WindowPlan, message: str, recall: Recall) -> list[str]:
    notes = []
    if said := sum(candidate.stage is Stage.SAID for candidate in recall.left_out):
        notes.append(f"{said} {'memory is' if said == 1 else 'memories are'} left out: the history has the same words.")
    if plan.count(message) >= plan.model.window:
        notes.append("the message alone fills the model's window.")
    if not plan.model.known:
        notes.append(f"this model is not known here: its window is taken for {plan.model.window:,} tokens (`models_file`).")
    return notes
