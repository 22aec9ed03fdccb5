"""What goes to a store's verbs and comes back, besides what flows (`types.py`). The verbs themselves: `contract.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from engram.frozen import frozen, mutable
from engram.types import Kind, Scope, Space, Status

_ANYWHERE = Scope()


@frozen(kw_only=True)
class Filter:
    """What a listing or a search is narrowed to, besides the reader's visibility.

    `without`: categories that are not wanted. `as_of`: only what was known at that moment, by the status it had then. `scope`:
    only what names these places, whatever else it names; it narrows what is visible and never widens it. `fresh`: of recall,
    without what has faded (`memory/lifecycle.py`); a listing shows it still.
    """

    kinds: tuple[Kind, ...] = ()
    categories: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    statuses: tuple[Status, ...] = (Status.ACTIVE,)
    since: datetime | None = None
    until: datetime | None = None
    attributes: Mapping[str, str] | None = None
    as_of: datetime | None = None
    scope: Scope = _ANYWHERE
    fresh: bool = False

    @property
    def indexed(self) -> bool:
        """Can a vector index apply all of it by what it holds itself? If not, it is told the keys."""
        return not self.attributes and self.as_of is None and self.scope == _ANYWHERE


@frozen
class Heard:
    """What recall asks of every candidate, in one look at an index: who said it and where, when it happened (µs), how much it
    tells and how many things it names. `lasts`: it says since when something goes on; looked up only where that is asked."""

    speaker: str = ""
    session: str = ""
    substance: float = 0.0
    named: int = 0
    happened: int | None = None
    until: int | None = None
    lasts: bool = False


@frozen(kw_only=True)
class Question:
    """A question as a store keeps it with a judgement: by its telling words (hashed there, with a key) and its vector."""

    words: str
    vector: bytes | None = None
    space: Space | None = None


@frozen
class Judgement:
    """What was said of one memory: when, whether it helped, whether the question had the same telling words as the present
    one, and its vector if that is of the same model; else it is empty."""

    key: int
    at: datetime
    helpful: bool
    same_words: bool
    vector: bytes


@mutable
class Once:
    """A write that is made once, however often it is asked for, by the key that its caller gave it.

    `about`: what is asked for, in words that are equal if it is the same. `answer`: what to tell whoever asks again, from what
    the write returns; it holds ids and numbers, no words of a memory. `made` is set when it is durable.
    """

    key: str
    about: str
    answer: Callable[[Any], str] = str
    made: bool = False


class Told(Exception):
    """This write was made before, and this is what was answered. Nothing was changed."""

    def __init__(self, answer: str) -> None:
        super().__init__("it was made before")
        self.answer = answer


class HeardBefore(Exception):
    """Turns with these refs are here by now, kept by another thread or process since they were looked up. Nothing was changed."""

    def __init__(self, refs: set[str]) -> None:
        super().__init__(f"{len(refs)} refs are known")
        self.refs = refs
