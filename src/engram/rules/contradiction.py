"""Contradiction (M6, K2): which of two facts stands when they disagree. Pure.

A fact is outdated by a newer one with the same subject and predicate and another object, if a subject has one such object at a
time and both objects are of one type (`text/english/object_types.py`); or by a statement that it no longer holds. The newer fact
wins unless its confidence is lower by more than `MARGIN`: then both are contested until corroboration decides. A fact about an
earlier time than the known one outdates nothing: it held until then. The newer fact takes over a share of the older one's
confidence, because that the subject has such an object at all was known already.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from engram.text.english.facts import Fact
from engram.text.english.object_types import clash, covers, same
from engram.values.frozen import frozen

MARGIN = 0.3
SHARE = 0.2
_LATELY_DAYS = 62
SOON_DAYS = 14  # appointments further apart than this are different appointments


class Epistemic(StrEnum):
    HELD = "held"
    CONTESTED = "contested"
    RETRACTED = "retracted"


class Ruling(StrEnum):
    """The effect of a new fact on a known one. `past`: the known fact stands, and the new one held before it."""

    STANDS = "stands"
    PAST = "past"
    OUTDATED = "outdated"
    CONTESTED = "contested"


@frozen
class FactClaim:
    """A fact with its confidence, start and time of statement. `dated`: the start was stated, not assumed."""

    fact: Fact
    confidence: float
    since: datetime | None = None
    said: datetime | None = None
    dated: bool = True


def disagree(new: Fact, old: Fact) -> bool:
    """True if the two facts cannot both hold now."""
    if (new.subject, new.predicate) != (old.subject, old.predicate) or not old.holds:
        return False
    if not new.holds:
        return covers(new.object, old.object) if new.predicate == "uses" else same(new.object, old.object)
    return new.single and old.single and clash(new.predicate, new.object, old.object)


def ruling(new: FactClaim, old: FactClaim) -> Ruling:
    if not disagree(new.fact, old.fact):
        return Ruling.STANDS
    if new.since is not None and old.since is not None:
        if new.fact.predicate == "scheduled" and abs(new.since - old.since).days > SOON_DAYS:
            return Ruling.STANDS
        if _earlier(new, old):
            return Ruling.PAST if new.fact.holds and new.since < old.since else Ruling.STANDS
    return Ruling.OUTDATED if new.confidence >= old.confidence - MARGIN else Ruling.CONTESTED


def _earlier(new: FactClaim, old: FactClaim) -> bool:
    """True if the new fact is about a time before the old one.

    An undated old fact may have been outdated when it was stated: a move in April, told in May, outdates an address mentioned in
    between. A new fact about a time over `_LATELY_DAYS` before the old statement does not.
    """
    if new.since is None or old.since is None or new.said is None or old.said is None:
        return new.since is not None and old.since is not None and new.since < old.since
    if old.dated or not new.dated:
        return new.since < old.since
    return new.said < old.said or (old.said - new.since).days > _LATELY_DAYS


def transferred_confidence(confidence: float, outdated: Sequence[float]) -> float:
    """Return the confidence of a fact that replaces others (§4.3)."""
    return min(confidence + SHARE * max(outdated, default=0.0), 1.0)


def epistemic_status(confidence: float, against: Sequence[float]) -> Epistemic:
    """Return the status of a fact: contested while a contradicting fact has about the same confidence."""
    strongest = max(against, default=0.0)
    if strongest >= confidence + MARGIN:
        return Epistemic.RETRACTED
    return Epistemic.CONTESTED if against and strongest > confidence - MARGIN else Epistemic.HELD
