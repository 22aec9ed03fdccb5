"""What is held to be so when facts disagree (M6, K2). Pure.

A fact is outdated by a newer one of the same subject and predicate with another object, if a subject has one such object at a
time and both are values of one sort (`text/english/object_types.py`); or by being said to be so no more. The newer wins,
unless it is less
sure than the older by more than `MARGIN`: then both stand, contested, until one has more witnesses, each of whom makes it surer.
What tells of an earlier time than what is known outdates nothing: it was so until then. The newer takes over a share of how sure
the older was: that there is such a thing at all was known already.
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
SOON_DAYS = 14  # an appointment of another month is another appointment


class Epistemic(StrEnum):
    HELD = "held"
    CONTESTED = "contested"
    RETRACTED = "retracted"


class Ruling(StrEnum):
    """What becomes of a fact that is known by one that comes in; `past`: it stands, and the other was so before it."""

    STANDS = "stands"
    PAST = "past"
    OUTDATED = "outdated"
    CONTESTED = "contested"


@frozen
class Claim:
    """A fact with how sure it is, since when it is so, and when it was said. `dated`: its own words tell since when."""

    fact: Fact
    confidence: float
    since: datetime | None = None
    said: datetime | None = None
    dated: bool = True


def disagree(new: Fact, old: Fact) -> bool:
    """Can these two not both be so now?"""
    if (new.subject, new.predicate) != (old.subject, old.predicate) or not old.holds:
        return False
    if not new.holds:
        return covers(new.object, old.object) if new.predicate == "uses" else same(new.object, old.object)
    return new.single and old.single and clash(new.predicate, new.object, old.object)


def ruling(new: Claim, old: Claim) -> Ruling:
    if not disagree(new.fact, old.fact):
        return Ruling.STANDS
    if new.since is not None and old.since is not None:
        if new.fact.predicate == "scheduled" and abs(new.since - old.since).days > SOON_DAYS:
            return Ruling.STANDS
        if _earlier(new, old):
            return Ruling.PAST if new.fact.holds and new.since < old.since else Ruling.STANDS
    return Ruling.OUTDATED if new.confidence >= old.confidence - MARGIN else Ruling.CONTESTED


def _earlier(new: Claim, old: Claim) -> bool:
    """Does the new one tell of a time before the old? What was only said on a day may have been outdated then already: who says
    in May to have moved in April is not held to what he said in between. But what is long past is no news."""
    if new.since is None or old.since is None or new.said is None or old.said is None:
        return new.since is not None and old.since is not None and new.since < old.since
    if old.dated or not new.dated:
        return new.since < old.since
    return new.said < old.said or (old.said - new.since).days > _LATELY_DAYS


def transferred(confidence: float, outdated: Sequence[float]) -> float:
    """How sure a fact is that takes the place of others (§4.3)."""
    return min(confidence + SHARE * max(outdated, default=0.0), 1.0)


def status(confidence: float, against: Sequence[float]) -> Epistemic:
    """How a fact is held: contested, while something that is about as sure disagrees with it."""
    strongest = max(against, default=0.0)
    if strongest >= confidence + MARGIN:
        return Epistemic.RETRACTED
    return Epistemic.CONTESTED if against and strongest > confidence - MARGIN else Epistemic.HELD
