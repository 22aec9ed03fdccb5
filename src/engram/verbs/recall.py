"""The verbs that answer a question or a message."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TypeVar

from engram.context.budget import plan_window
from engram.context.history import split_instructions, turns_of
from engram.context.resume import extra_sections, record_gap, record_window
from engram.context.window import ContextWindow, build
from engram.deadline import if_time_allows, wait_limit
from engram.errors import DiskFull, NotFound, WriteFailed
from engram.guard import limits
from engram.guard.injection import InjectionVerdict, assess_cached
from engram.recall.evidence import reason
from engram.recall.plan import QUERY_CHARACTERS, Query
from engram.recall.selection import without_flagged
from engram.store.limits import StoreLimits
from engram.store.ports import Filter, Once
from engram.text.transcripts import OpenAI
from engram.types import Explanation, IndexState, Memory, Mode, Reasoning, Recall, Role, Status, Turn, scope_values
from engram.values.frozen import replace
from engram.verbs.view import View
from engram.working.export import Form
from engram.working.memory import Working

T = TypeVar("T")


class Asking(View):
    """Mixed into `Engram`."""

    def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        budget: int | None = None,
        now: datetime | None = None,
        as_of: datetime | None = None,
        mode: Mode | str | None = None,
        filters: Filter | None = None,
        explain: bool = False,
    ) -> Recall:
        """What is known about this, best first, each with its trust and its reasons. No fixed number of hits.

        limit, budget: hits and tokens at most. as_of: answer as the memory stood then. mode: `facts_only`,
        `facts_plus_rules` or `full_context`. explain: say of each candidate that is no hit why (`left_out`).
        """
        asked = self._asked(query, limit, budget, now, as_of, mode, filters)
        found = self._vault.searcher.recall(self._reader, asked, account=explain)
        if as_of is None and mode is None and not _narrows(filters):  # else it was not asked of all that is known
            record_gap(self._vault.working_sets, self._reader, query, found)
        return found

    def explain(
        self,
        query: str,
        memory_id: str,
        *,
        limit: int | None = None,
        budget: int | None = None,
        now: datetime | None = None,
        as_of: datetime | None = None,
        mode: Mode | str | None = None,
        filters: Filter | None = None,
    ) -> Explanation:
        """Why this memory is, or is not, in the answer to this question: the stage that dropped it, and by how much."""
        found = self._vault.store.memories.get(self._reader, [memory_id])
        if not found:
            raise NotFound("there is no memory of that id that this identity may see.")
        asked = self._asked(query, limit, budget, now, as_of, mode, filters)
        return self._vault.searcher.explain(self._reader, asked, found[0])

    def context(
        self,
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
        settings, sets, searcher = self._vault.live.now, self._vault.working_sets, self._vault.searcher
        instructions, said = split_instructions(turns_of(history))
        style, models_file = mode or settings.injection_mode, settings.models_file or None
        plan = plan_window(message, model, budget, profile, style, instructions=instructions, models_file=models_file)
        mind = Working(sets, self._reader)
        # What a long message wants mostly stands at its end, after what was pasted.
        most = min(plan.hits, self._vault.live.tuned(StoreLimits).page_limit // 2)
        asked = self._asked(message[-QUERY_CHARACTERS:], most, None, now, None, None, None)
        found = self._vault.prefetcher.answer(self._reader, message, asked)
        record_gap(sets, self._reader, message, found)
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
            extra=extra_sections(sets, searcher, self._reader, message, found, plan.mode),
        )
        window = replace(window, budget=plan.budget, instructions=instructions)
        standing = {item.memory.key for item in window.items if item.tier is not None}
        searcher.count_use(self._reader, replace(found, hits=tuple(hit for hit in found if hit.memory.key in standing)))
        record_window(sets, self._reader, window)
        if plan.count(message) >= plan.model.window:
            window = replace(window, notes=(*window.notes, "the message alone fills the model's window."))
        if plan.model.known:
            return window
        unknown = f"this model is not known here: its window is taken for {plan.model.window:,} tokens (`models_file`)."
        return replace(window, notes=(*window.notes, unknown))

    def reason(self, question: str, *, depth: int | None = None, calls: int | None = None) -> Reasoning:
        """Evidence for a question that one recall does not answer: it is taken apart, each part is recalled, and what is then
        missing is followed by the names that came up. A tree, with its gaps; the answer is for whoever reads it to write.

        depth, calls: how deep at most, and with how many recalls; else as `reason_depth` and `reason_calls` say.
        """
        settings = self._vault.live.now

        def look(part: str, since: datetime | None, until: datetime | None) -> Recall:
            where = Filter(since=since, until=until)
            return self._vault.searcher.recall(self._reader, self._asked(part, None, None, None, None, None, where))

        return reason(question, look, depth=depth or settings.reason_depth, calls=calls or settings.reason_calls)

    def ration(self, session: str | None = None) -> None:
        """Count a question that a caller from outside asks, over all processes; `RateLimited` if it is one too many.

        By the minute; in a session too, where it is asked in one. An agent is the user's own: its rate stops one
        that runs away. A guest may be anybody, and probe. A vault that cannot be written now answers uncounted.
        """
        vault, settings = self._vault, self._vault.live.now
        which = "guest_ask_per_minute" if self._reader.role is Role.GUEST else "ask_per_minute"
        rates = limits.RateLimits(getattr(settings, which), settings.ask_per_session if session else 0, which)
        if rates.per_minute or rates.per_session:
            with suppress(DiskFull, WriteFailed):
                vault.store.quotas.count_question(self._reader, session or "", vault.env.now(), rates)

    def release(self, since: float | None = None, timeout: float | None = None) -> float:
        """Hold back what was asked for at the moment `since` until the next point of the grid (`answer_grid_ms`); the moment now.

        A deadline is kept: nothing is held back beyond `timeout` seconds after `since`, or beyond one that is in force.
        """
        env = self._vault.env
        if since is not None:
            elapsed = env.monotonic() - since
            most = math.inf if timeout is None or not timeout > 0 else timeout - elapsed
            pause = wait_limit(limits.grid_delay(elapsed, self._vault.live.now.answer_grid_ms / 1000, most))
            if pause:
                env.sleep(pause)
        return env.monotonic()

    def coarse(self, answer: T) -> T:
        """An answer as callers from outside get it: its scores in steps, with noise if that is set, without timings."""
        env = self._vault.env
        return limits.coarsen(answer, self._vault.live.now.score_noise, lambda: int.from_bytes(env.random(6)) / (1 << 48))

    def sound(self, memories: Iterable[Memory]) -> list[Memory]:
        """Those of them that may stand in a prompt: what reads as an attack is left out."""
        return without_flagged(memories, self._vault.live.now)

    def _asked(
        self,
        query: str,
        limit: int | None,
        budget: int | None,
        now: datetime | None,
        as_of: datetime | None,
        mode: Mode | str | None,
        filters: Filter | None,
    ) -> Query:
        return Query(
            text=query,
            now=now or self._vault.env.now(),
            limit=limit,
            budget=budget,
            as_of=as_of,
            mode=mode,  # type: ignore[arg-type]  # a word for it is as good: `checked` knows them
            where=filters or Filter(),
        )

    def warm(self, timeout: float | None = None, *, progress: Callable[[IndexState], None] | None = None) -> bool:
        """Wait until the vector index has loaded; False if it has not in time, or there is no model to have one for."""
        index, most = self._vault.index, wait_limit(float("inf") if timeout is None else timeout)
        return index is not None and index.warm(None if most == float("inf") else most, progress)

    def feedback(
        self, memory_id: str, helpful: bool = True, *, query: str | None = None, correction: str | None = None
    ) -> Memory:
        """Say whether a memory helped, or with `correction` what is true instead: that is returned, and the old one retired.

        With the question it was recalled for, what did not help is left out of answers to such questions for
        `suppress_days`, unless it helps since; and recall learns which way of finding helps.
        """
        return self._made_once(
            ("feedback", memory_id, helpful, query, correction),
            lambda once: self._judged(memory_id, bool(helpful), query, correction, once),
            lambda memory: memory.id,
            self._again,
        )

    def _judged(self, memory_id: str, helpful: bool, query: str | None, correction: str | None, once: Once | None) -> Memory:
        if correction is not None:
            return self._vault.observer.correct(self._reader, memory_id, correction)  # made twice, it is made once
        if query is None:
            return self._vault.store.feedback.judge(self._reader, memory_id, helpful, once=once)
        searcher, asked = self._vault.searcher, self._asked(query, None, None, None, None, None, None)
        memory = self._vault.store.feedback.judge(self._reader, memory_id, helpful, searcher.judged_question(asked), once=once)
        with if_time_allows():  # the judgement is kept
            searcher.learn(self._reader, asked, memory, helpful)
        return memory


def _narrows(filters: Filter | None) -> bool:
    """Does a filter leave out anything that is known? Its lists may be lists."""
    if filters is None:
        return False
    others = filters.kinds, filters.categories, filters.without, filters.since, filters.until, filters.attributes, filters.as_of
    return any((*others, *scope_values(filters.scope))) or filters.fresh or list(filters.statuses) != [Status.ACTIVE]
