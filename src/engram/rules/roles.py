"""Roles over time (R6): who has a role, since when, and who had it before. Pure.

A role is a name that an entity has for a time. Its tenures follow from the dated statements of it alone, whatever order these
come in: "my manager is Ada" in March and "Tom is my manager now" in June make Ada's end where Tom's begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engram.text.english.roles import Holding
from engram.values.entities import Tenure
from engram.values.frozen import frozen, replace


@frozen
class RoleStatement:
    """A statement that an entity has or had a role. `at`: when it was said; None: before all others."""

    at: datetime | None
    entity: int
    holding: Holding


def tenures(statements: Sequence[RoleStatement], *, shared: bool) -> list[Tenure]:
    """Return who has and had a role, in order. `shared`: several can have it at a time."""
    spans: list[Tenure] = []
    first = [one for one in statements if one.at is None]
    for one in first + sorted((one for one in statements if one.at is not None), key=lambda one: (one.at, one.entity)):
        held = [span for span in spans if span.until is None and (span.entity == one.entity or not shared)]
        if one.holding is Holding.FORMER:
            spans = _ended(spans, one, held)
        elif all(span.entity != one.entity for span in held):
            spans = [replace(span, until=one.at) if span in held else span for span in spans]
            spans.append(Tenure(one.entity, one.at))
    return spans


def _ended(spans: list[Tenure], one: RoleStatement, held: Sequence[Tenure]) -> list[Tenure]:
    """Return the tenures after a statement that an entity no longer has the role. When it had it may not be known."""
    if any(span.entity == one.entity and span.until is None for span in spans):
        return [replace(span, until=one.at) if span in held and span.entity == one.entity else span for span in spans]
    if any(span.entity == one.entity for span in spans):
        return spans
    successor = next((span.since for span in held), None)
    return [Tenure(one.entity, None, successor or one.at), *spans]


def has_role(spans: Sequence[Tenure], entity: int, at: datetime | None) -> bool:
    """True if an entity is known to have a role at a time since before: then a statement of it then changes nothing."""
    return any(span.entity == entity and span.since is not None and _covers(span, at) for span in spans)


def holder(spans: Sequence[Tenure], at: datetime | None) -> int | None:
    """Return the one who has a role at a time; None if nobody has it or several have.

    Before the first known tenure it is the one who has it first: "my manager is Ada" says nothing of a change.
    """
    there = [span for span in spans if _covers(span, at)]
    if not there and at is not None:
        there = [span for span in spans if span.since is not None and at < span.since][:1]
    return there[0].entity if len({span.entity for span in there}) == 1 else None


def _covers(span: Tenure, at: datetime | None) -> bool:
    if at is None:
        return span.until is None
    return (span.since is None or span.since <= at) and (span.until is None or at < span.until)
