"""What a window says unasked besides memories: what was left when work stopped, and what is not known (X8, X11)."""

from __future__ import annotations

from datetime import timedelta

from engram.capture import redaction
from engram.context.budget import MORNING, UNKNOWN, Injection, reflection
from engram.context.window import ContextWindow
from engram.recall.plan import Query
from engram.recall.searcher import Searcher
from engram.recall.selection import is_flagged
from engram.rules.gaps import question_in
from engram.rules.resume import Morning, morning
from engram.store.sqlite.working import MIND
from engram.types import Outcome, Policy, Reader, Recall
from engram.values.frozen import replace
from engram.working.memory import Working
from engram.working.sets import Desks

_LATEST = 50  # memories among which news is looked for
_TRIES = 3  # questions that are looked at to find one that has no answer yet
_ASK = "Ask, if it fits: "
_LONGEST = 300  # characters of a question that is offered


def morning_of(desks: Desks, reader: Reader, *, besides: bool = False) -> Morning:
    """What there is to go on with where this reader stands; `besides` what is in mind still."""
    desk = desks.of(reader)
    since = desk.here_at
    kept = desks.store.put_away_last(reader, MIND)
    mind = None if kept is None else desks.mind_of(kept[1])
    latest = desks.store.page(reader, limit=min(_LATEST, desks.live.now.page_limit))
    resumed = Working(desks, reader).resume()
    known = {slot.text for slot in resumed.slots} if besides else set()
    slots = [slot for slot in mind.working.slots if slot.text not in known] if mind is not None else ()
    news = [one for one in latest.memories if not (desks.live.now.guard_injection and is_flagged(one))]
    return morning(since, resumed, slots, news)


def asides(desks: Desks, searcher: Searcher, reader: Reader, message: str, found: Recall, mode: Injection) -> dict[str, str]:
    """Lines of the sections that this mode has, by name."""
    lines = {}
    if mode.morning and _is_back(desks, reader):
        lines[MORNING] = morning_of(desks, reader, besides=True).text
    unknown = [reflection(found.outcome)] if mode.reflects and question_in(message) else []
    if mode.asks and (asked := _gap(desks, searcher, reader, message)):
        unknown.append(_ASK + asked)
    lines[UNKNOWN] = "\n".join(one for one in unknown if one)
    return {name: text for name, text in lines.items() if text}


def shown(desks: Desks, reader: Reader, window: ContextWindow) -> None:
    """The window was made: somebody is at work here, and a question that stands in it is not offered again soon."""
    desk = desks.of(reader)
    desk.here_at = desks.env.now()
    text = next((section.text for section in window.sections if section.name == UNKNOWN), "")
    for line in text.splitlines():
        if line.startswith(_ASK):
            desk.offered.add(line.removeprefix(_ASK))
            desks.store.wondered(reader, line.removeprefix(_ASK), offered=True)


def wonder(desks: Desks, reader: Reader, message: str, found: Recall) -> None:
    """Note the question of a message if it found no answer, and that it has one if it did. Nothing is written yet."""
    if found.outcome is Outcome.DEGRADED or not reader.writes:
        return
    question = question_in(redaction.cut(message, catch_secrets=desks.live.now.catch_secrets).text)
    if question:
        desks.store.wondered(reader, question, answered=found.outcome is Outcome.ANSWERED)


def _is_back(desks: Desks, reader: Reader) -> bool:
    here_at = desks.of(reader).here_at
    return here_at is not None and desks.env.now() - here_at >= timedelta(hours=desks.live.now.morning_after_h)


def _gap(desks: Desks, searcher: Searcher, reader: Reader, message: str) -> str:
    """A question asked here before that still has no answer, else a doubt, if one more may be offered in this session."""
    offered = desks.of(reader).offered
    if not reader.writes or len(offered) >= desks.live.now.gap_questions:
        return ""
    for gap in desks.store.gaps(reader, limit=_TRIES + len(offered), to_offer=True):
        if gap.text in offered or gap.text in message:
            continue
        found = searcher.recall_uncounted(reader, Query(text=gap.text, now=desks.env.now()))
        if found.outcome is not Outcome.ANSWERED:
            return gap.text
        desks.store.wondered(reader, gap.text, answered=True)
    return _doubt(desks, reader, message)


def _doubt(desks: Desks, reader: Reader, message: str) -> str:
    """Memories of this very place that disagree, or one that is much used and old, if that was not asked about lately."""
    offered = desks.of(reader).offered
    doubts = desks.store.doubts(replace(reader, policy=Policy.OWN), limit=_TRIES + len(offered))
    texts = [one.text for one in doubts if one.text not in offered and one.text not in message and len(one.text) <= _LONGEST]
    lately = desks.store.offered_lately(reader, texts) if texts else set()
    return next((text for text in texts if text not in lately), "")
