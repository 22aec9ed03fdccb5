"""Sections of a context window beside recalled memories: the briefing after a break, and knowledge gaps (X8, X11)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from engram.capture import redaction
from engram.context.budget import Injection, reflection
from engram.context.sections import MORNING, UNKNOWN
from engram.context.window import ContextWindow
from engram.recall.plan import Query
from engram.recall.searcher import Searcher
from engram.recall.selection import is_flagged
from engram.rules.gaps import bears_on, question_in
from engram.rules.resume import Morning, morning
from engram.store.limits import StoreLimits
from engram.types import Outcome, Policy, Reader, Recall
from engram.values.frozen import replace
from engram.values.working import MIND
from engram.working.memory import Working
from engram.working.sets import WorkingSets

_LATEST = 50  # latest memories that may be news in a briefing
_OPEN = 50  # open questions that are compared with the message
_TRIES = 3  # of these, questions tried to find one that is still unanswered
_ASK = "Ask, if it fits: "
_LONGEST = 300  # characters of a question that may be offered


def morning_of(sets: WorkingSets, reader: Reader, *, besides: bool = False) -> Morning:
    """Return the briefing for a reader's scope; `besides`: without the slots that are in working memory now."""
    working_set = sets.of(reader)
    since = working_set.active_at
    saved = sets.store.working.load(reader, MIND)
    state = None if saved is None else sets.state_from(saved[1])
    latest = sets.store.memories.newest(reader, limit=min(_LATEST, sets.live.tuned(StoreLimits).page_limit))
    resumed = Working(sets, reader).resume()
    known = {slot.text for slot in resumed.slots} if besides else set()
    slots = [slot for slot in state.working.slots if slot.text not in known] if state is not None else ()
    news = [memory for memory in latest if not (sets.live.now.guard_injection and is_flagged(memory))]
    return morning(since, resumed, slots, news)


def extra_sections(
    sets: WorkingSets,
    searcher: Searcher,
    reader: Reader,
    message: str,
    recall: Recall,
    mode: Injection,
    safe: Callable[[str], bool],
) -> dict[str, str]:
    """Return the text of each section that the injection mode includes, by name, without stored lines that are not `safe`."""
    sections = {}
    if mode.morning and _is_back(sets, reader):
        lines = morning_of(sets, reader, besides=True).text.splitlines()
        sections[MORNING] = "\n".join(line for line in lines if safe(line))
    asked = question_in(message) if mode.reflects else ""
    unknown = [reflection(recall.outcome, asked, message)] if asked else []
    if mode.asks and (question := _gap(sets, searcher, reader, message, recall)) and safe(_ASK + question):
        unknown.append(_ASK + question)
    sections[UNKNOWN] = "\n".join(line for line in unknown if line)
    return {name: text for name, text in sections.items() if text}


def record_window(sets: WorkingSets, reader: Reader, window: ContextWindow) -> None:
    """Record a built window: the time of work in this scope, and the questions it offers, which are not offered again soon."""
    working_set = sets.of(reader)
    working_set.active_at = sets.env.now()
    text = next((section.text for section in window.sections if section.name == UNKNOWN), "")
    for line in text.splitlines():
        if line.startswith(_ASK):
            working_set.offered.add(line.removeprefix(_ASK))
            sets.store.gaps.put(reader, line.removeprefix(_ASK), offered=True)


def record_gap(sets: WorkingSets, reader: Reader, message: str, recall: Recall) -> None:
    """Record the question of a message as a gap if it found no answer, and as answered if it did. Written with the next batch."""
    if recall.outcome is Outcome.DEGRADED or not reader.writes:
        return
    question = question_in(redaction.cut(message, catch_secrets=sets.live.now.catch_secrets).text)
    if question:
        sets.store.gaps.put(reader, question, answered=recall.outcome is Outcome.ANSWERED)


def _is_back(sets: WorkingSets, reader: Reader) -> bool:
    active_at = sets.of(reader).active_at
    return active_at is not None and sets.env.now() - active_at >= timedelta(hours=sets.live.now.morning_after_h)


def _gap(sets: WorkingSets, searcher: Searcher, reader: Reader, message: str, recall: Recall) -> str:
    """Return a question to offer that bears on the message: one that the talk of this scope, or a dream over it, raised and that
    is still unanswered, else a doubt about a memory of the answer; empty if there is none or enough were offered.
    """
    offered = sets.of(reader).offered
    if not reader.writes or len(offered) >= sets.live.now.gap_questions:
        return ""
    open_gaps = sets.store.gaps.select(reader, limit=_OPEN, to_offer=True)
    bearing = [gap for gap in open_gaps if gap.text not in offered and gap.text not in message and bears_on(gap.text, message)]
    for gap in bearing[:_TRIES]:
        answer = searcher.recall_uncounted(reader, Query(text=gap.text, now=sets.env.now()))
        if answer.outcome is not Outcome.ANSWERED:
            return gap.text
        sets.store.gaps.put(reader, gap.text, answered=True)
    near = [hit.memory.key for hit in recall if searcher.is_relevant(hit)] if recall.outcome is Outcome.ANSWERED else []
    return _doubt(sets, reader, message, near)


def _doubt(sets: WorkingSets, reader: Reader, message: str, keys: Sequence[int]) -> str:
    """Return a question about those of these memories of this scope that are contested, or old and much used; empty if there is
    none, or it was offered lately.
    """
    offered = sets.of(reader).offered
    own = replace(reader, policy=Policy.OWN)
    doubts = sets.store.knowledge.doubts(own, keys=keys, limit=_TRIES + len(offered)) if keys else ()
    texts = [
        doubt.text for doubt in doubts if doubt.text not in offered and doubt.text not in message and len(doubt.text) <= _LONGEST
    ]
    recently = sets.store.gaps.recently_offered(reader, texts) if texts else set()
    return next((text for text in texts if text not in recently), "")
