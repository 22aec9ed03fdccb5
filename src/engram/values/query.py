"""Filters of a listing or a search, and the values that pass between recall and the store while a question is answered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from engram.values.frozen import frozen
from engram.values.identity import Scope
from engram.values.memories import VALID, Kind, Space, Status

_ANYWHERE = Scope()


@frozen(kw_only=True)
class Filter:
    """Conditions that narrow a listing or a search, besides the reader's visibility.

    `without`: categories that are not wanted. `as_of`: only what was known at that moment, by the status it had then. `scope`:
    only what names these places, whatever else it names; it narrows what is visible and never widens it. `fresh`: of recall,
    without what has faded (`rules/lifecycle.py`); a listing shows it still.

    The last six are what was read from the words (R21): each takes names of which one must fit. `people`, `technologies`,
    `files`: what a memory mentions, by any name that it is known by; a file also by the end of its path. A sealed memory lists no
    names and does not fit. `languages`: the code of the language that it is written in ("de"; "en" where none was recognized), or
    the programming language that it is about ("python"). `topics`: its category, or the subject of the talk that it belongs to.
    `speakers`: who said it.
    """

    kinds: tuple[Kind, ...] = ()
    categories: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    statuses: tuple[Status, ...] = VALID
    since: datetime | None = None
    until: datetime | None = None
    attributes: Mapping[str, str] | None = None
    as_of: datetime | None = None
    scope: Scope = _ANYWHERE
    fresh: bool = False
    people: tuple[str, ...] = ()
    technologies: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()


READ_FIELDS = ("people", "technologies", "files", "languages", "topics", "speakers")
"""The fields of a filter on what was read from the words of memories."""


def read_conditions(where: Filter) -> dict[str, tuple[str, ...]]:
    """Return the conditions of a filter on what was read from the words of memories, by field; only those that are set."""
    return {name: tuple(values) for name in READ_FIELDS if (values := getattr(where, name))}


@frozen
class CandidateTraits:
    """Traits of a candidate that recall scores, all in one index: its speaker and session, `happened` and `until` (µs), how much
    it tells (`substance`) and how many names it has (`named`). `lasts`: it says since when something goes on; read only where the
    question asks for a time."""

    speaker: str = ""
    session: str = ""
    substance: float = 0.0
    named: int = 0
    happened: int | None = None
    until: int | None = None
    lasts: bool = False


@frozen(kw_only=True)
class JudgedQuestion:
    """A question as a store keeps it with a judgement: by its telling words (hashed there, with a key) and its vector."""

    words: str
    vector: bytes | None = None
    space: Space | None = None


@frozen
class Judgement:
    """A judgement of one memory: when, whether it helped, whether its question had the same content words as the present one,
    and the vector of that question, empty if another model made it."""

    key: int
    at: datetime
    helpful: bool
    same_words: bool
    vector: bytes


SpaceRow = tuple[int, int, str, str, str, int, bytes]
"""Key, scope key, kind, status, category, time of the event or else of learning it (µs), vector as `encoding` stores it."""


class Hop(NamedTuple):
    """From one memory to the next, by keys; `sure` is how much of what there is goes over, `by` the kind of link, or the name
    that both have (`named`)."""

    here: int
    there: int
    by: str
    sure: float
    named: bool = False


def is_narrow(where: Filter) -> bool:
    """Does a filter ask for more than a status? Then few memories usually pass."""
    moments = (where.since, where.until, where.as_of)
    named = where.scope != Scope() or bool(read_conditions(where))
    return bool(where.kinds or where.categories or where.without or where.attributes or named or any(moments))
