"""The verbs that every store has, and what goes to them and comes back besides what flows (`types.py`).

`sqlite/` is the default; another database stands behind the same protocol.

The part of a store that a vector index reads from.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from engram.crypto.ciphers import SealedFileReader, SealedFileWriter
from engram.types import (
    AuditEntry,
    ChangeLogEntry,
    Counts,
    Edge,
    Kind,
    Memory,
    Page,
    Reader,
    Report,
    Scope,
    Space,
    Status,
    StatusChange,
    TextHit,
    Version,
)
from engram.values.frozen import frozen, mutable

_ANYWHERE = Scope()


@frozen(kw_only=True)
class Filter:
    """What a listing or a search is narrowed to, besides the reader's visibility.

    `without`: categories that are not wanted. `as_of`: only what was known at that moment, by the status it had then. `scope`:
    only what names these places, whatever else it names; it narrows what is visible and never widens it. `fresh`: of recall,
    without what has faded (`rules/lifecycle.py`); a listing shows it still.
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


Changes = Mapping[str, object] | Callable[[Memory], Mapping[str, object]]
"""New values by their names, or what makes them of the memory as it is when they are written."""


class Store(Protocol):
    """Where memories are kept. A verb that writes returns once the write is durable."""

    def add(self, reader: Reader, drafts: Sequence[Memory], *, timeout: float | None = None) -> list[Memory]: ...

    def update(self, reader: Reader, memory_id: str, changes: Changes, *, timeout: float | None = None) -> Memory: ...

    def set_status(
        self, reader: Reader, memory_id: str, status: Status, reason: str, *, timeout: float | None = None
    ) -> Memory: ...

    def set_statuses(
        self, reader: Reader, ids: Sequence[str], status: Status, reason: str, *, timeout: float | None = None
    ) -> list[Memory]: ...

    def erase(self, reader: Reader, ids: Sequence[str], *, timeout: float | None = None) -> Report: ...

    def relate(self, reader: Reader, edges: Sequence[Edge], *, timeout: float | None = None) -> int: ...

    def put_vectors(
        self,
        reader: Reader,
        space: str,
        vectors: Mapping[int, bytes],
        *,
        model: str,
        dimensions: int,
        said: Mapping[int, str] | None = None,
    ) -> int: ...

    def get(self, reader: Reader, ids: Sequence[str]) -> list[Memory]: ...

    def fetch(self, reader: Reader, keys: Sequence[int]) -> list[Memory]: ...

    def page(self, reader: Reader, *, limit: int, cursor: str | None = None, where: Filter = Filter()) -> Page: ...

    def search_text(self, reader: Reader, terms: Sequence[str], *, limit: int, where: Filter = Filter()) -> list[TextHit]: ...

    def vectors(self, reader: Reader, space: str, *, where: Filter = Filter()) -> Iterator[tuple[int, bytes]]: ...

    def edges(self, reader: Reader, ids: Sequence[str]) -> list[Edge]: ...

    def versions(self, reader: Reader, memory_id: str) -> list[Version]: ...

    def status_history(self, reader: Reader, memory_id: str) -> list[StatusChange]: ...

    def counts(self, reader: Reader) -> Counts: ...

    def changes(self, reader: Reader, *, after: int, limit: int) -> list[ChangeLogEntry]: ...

    def audit(self, reader: Reader, *, limit: int) -> list[AuditEntry]: ...

    def close(self) -> None: ...


SpaceRow = tuple[int, int, str, str, str, int, bytes]
"""Key, scope key, kind, status, category, time of the event or else of learning it (µs), vector as `encoding` stores it."""


class VectorRows(Protocol):
    """The vectors of a space as an index loads them, and its snapshots."""

    def rows(self, reader: Reader, space: str, *, after: int, limit: int) -> Sequence[SpaceRow]:
        """Return rows of a space with keys above `after`, in key order."""

    def rows_of(self, reader: Reader, space: str, keys: Sequence[int]) -> Sequence[SpaceRow]:
        """Return the rows of these keys that have a vector in the space, in any order."""

    def space(self, name: str) -> Space | None:
        """Return the model and dimensions of a space; None while it holds no vector."""

    def size(self, reader: Reader, space: str) -> int:
        """Return about how many rows there are to load."""

    def snapshot(self, reader: Reader, name: str) -> AbstractContextManager[SealedFileReader | None]:
        """Open the snapshot stored under this name; None if there is none that belongs to this vault."""

    def has_snapshot(self, name: str) -> bool:
        """True if a snapshot is stored under this name. Every erasure deletes it."""

    def put_snapshot(self, reader: Reader, name: str, fill: Callable[[SealedFileWriter], int]) -> bool:
        """Store as a snapshot what `fill` writes. `fill` must read the change log again when it is called."""


class ChangeFeed(Protocol):
    """The change log as an index follows it."""

    def latest(self, reader: Reader) -> int:
        """Return the number of the last change in the log. Called before every search, so it must be cheap."""

    def keys_since(self, reader: Reader, after: int, limit: int) -> Sequence[tuple[int, int, str]]:
        """Return changes after a number, as (seq, key, what). Numbers have no gap unless the log was truncated."""

    def visible_scopes(self, reader: Reader) -> Collection[int] | None:
        """Return the keys of the scopes this reader sees; None for all."""


class VectorSource(Protocol):
    """The parts of a store that a vector index reads."""

    @property
    def vectors(self) -> VectorRows: ...

    @property
    def changes(self) -> ChangeFeed: ...
