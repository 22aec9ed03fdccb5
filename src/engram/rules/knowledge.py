"""Knowledge of a subject (§38): confidence, level and summary sentence, from figures about its memories. Pure.

Confidence is the probability that the memories found are about the subject, lowered if they are few, uncertain, contested or old
(§45, contract 2). A question needs one memory that answers it; a subject is known by several.

Also timeline buckets (R4, §39): moments counted by day, week, month or year, and the peaks among them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import fmean, pstdev

from engram.values.entities import Bucket, Gap, GapKind, Knowledge, KnowledgeFigures, KnowledgeLevel, KnowledgeMap
from engram.values.frozen import frozen

_STATED_ONCE = 0.5  # the confidence of a memory stated once; a lower mean lowers the confidence in the subject
_LEAST_FRESHNESS = 0.4  # lowest freshness factor: a subject that was well known never becomes unknown by age alone
_DAY_S = 86_400.0
_LEVEL_WORDS = {
    KnowledgeLevel.CONFIDENT: "Well known",
    KnowledgeLevel.UNCERTAIN: "Known in part",
    KnowledgeLevel.UNKNOWN: "Next to nothing is known",
}


@frozen(kw_only=True)
class KnowledgeWeights:
    """The numbers that tune how well a subject counts as known (§38, §45)."""

    known_confident: float = 0.7  # confidence from which a subject is well known
    known_unknown: float = 0.1  # confidence below which it is unknown
    known_fresh_days: float = 30.0  # how long confidence stays as it was when a memory was last learned
    known_half_days: float = 365.0  # after that, the time in which it halves


def confidence(
    covered: float, figures: KnowledgeFigures, now: datetime, weights: KnowledgeWeights, *, asked: bool = False
) -> float:
    """Return the confidence in a subject, 0 … 1; `asked`: in the answer to a question instead."""
    count = figures.memories
    if not count:
        return 0.0
    depth = 1.0 if asked else count / (count + 1)
    undisputed = 1.0 - figures.contested / count
    return covered * depth * min(figures.sure / _STATED_ONCE, 1.0) * undisputed * freshness(figures.last, now, weights)


def freshness(last: datetime | None, now: datetime, weights: KnowledgeWeights) -> float:
    """Return the factor by which confidence has dropped since the last memory about the subject."""
    days = 0.0 if last is None else (now - last).total_seconds() / _DAY_S - weights.known_fresh_days
    return max(float(0.5 ** (max(days, 0.0) / weights.known_half_days)), _LEAST_FRESHNESS)


def level(confidence: float, weights: KnowledgeWeights) -> KnowledgeLevel:
    if confidence >= weights.known_confident:
        return KnowledgeLevel.CONFIDENT
    return KnowledgeLevel.UNCERTAIN if confidence >= weights.known_unknown else KnowledgeLevel.UNKNOWN


def summary_sentence(level: KnowledgeLevel, figures: KnowledgeFigures, gaps: Sequence[Gap]) -> str:
    """Return a sentence that states the level, the figures and the open questions."""
    if not figures.memories:
        return " ".join(filter(None, ("Nothing is known of this.", _unanswered(gaps))))
    sessions = f" from {_many(figures.sessions, 'session')}" if figures.sessions else ""
    since = f", the latest of {figures.last:%Y-%m-%d}" if figures.last is not None else ""
    notes = [f"{number} {what}" for number, what in ((figures.contested, "in dispute"), (figures.stale, "old")) if number]
    head = f"{_LEVEL_WORDS[level]}: {_many(figures.memories, 'memory', 'memories')}{sessions}{since}"
    return " ".join(filter(None, (f"{', '.join([head, *notes])}.", _unanswered(gaps))))


def _unanswered(gaps: Sequence[Gap]) -> str:
    unanswered = [gap for gap in gaps if gap.kind is GapKind.UNANSWERED]
    if not unanswered:
        return ""
    return f"{_many(len(unanswered), 'question')} about it {'has' if len(unanswered) == 1 else 'have'} no answer yet."


def knowledge_map(domains: Sequence[Knowledge], memories: int) -> KnowledgeMap:
    """Return the knowledge map of these domains, the best known first."""
    ordered = tuple(sorted(domains, key=lambda domain: (-domain.confidence, -domain.figures.memories, domain.subject)))
    well = [domain.subject for domain in ordered if domain.level is KnowledgeLevel.CONFIDENT]
    weak = [domain.subject for domain in reversed(ordered) if domain.level is not KnowledgeLevel.CONFIDENT]
    parts = [f"{title}: {', '.join(subjects[:3])}" for title, subjects in (("best known", well), ("least", weak)) if subjects]
    summary = "; ".join(parts) or "no subject is named often enough to tell"
    return KnowledgeMap(ordered, memories, f"{summary[:1].upper()}{summary[1:]}.")


def _many(number: int, thing: str, things: str = "") -> str:
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


_WIDTHS = (("day", timedelta(days=31)), ("week", timedelta(days=182)), ("month", timedelta(days=5 * 365)))
"""The longest timeline that is counted by days, by weeks and by months; longer ones are counted by years."""


def buckets(moments: Sequence[datetime]) -> tuple[str, tuple[Bucket, ...]]:
    """Return the width and the buckets of the time between the first and the last moment, empty buckets included.

    A peak has more than the mean plus one standard deviation; if all buckets are equal there is none.
    """
    if not moments:
        return "", ()
    first, last = min(moments), max(moments)
    width = next((name for name, longest in _WIDTHS if last - first <= longest), "year")
    counted = Counter(_start(moment, width) for moment in moments)
    starts = [_start(first, width)]
    while (after := _next(starts[-1], width)) is not None and after <= _start(last, width):
        starts.append(after)
    counts = [counted[start] for start in starts]
    high = fmean(counts) + pstdev(counts)
    result = tuple(
        Bucket(start, _next(start, width) or last, count, peak=count > high) for start, count in zip(starts, counts, strict=True)
    )
    return width, result


def _start(moment: datetime, width: str) -> datetime:
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if width == "week":
        return day - timedelta(days=min(day.weekday(), day.toordinal() - 1))  # year 1 does not begin on a Monday
    if width == "month":
        return day.replace(day=1)
    return day.replace(month=1, day=1) if width == "year" else day


def _next(start: datetime, width: str) -> datetime | None:
    """Return the start of the next bucket; None if it lies after the last representable date."""
    try:
        if width == "month":
            return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
        return start.replace(year=start.year + 1) if width == "year" else start + timedelta(days=7 if width == "week" else 1)
    except (ValueError, OverflowError):
        return None
