"""The part of a store that a vector index reads from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from engram.guard.sealing import SealedFileReader, SealedFileWriter
from engram.types import Reader, Space

SpaceRow = tuple[int, int, str, str, str, int, bytes]
"""Key, scope key, kind, status, category, time of the event or else of learning it (µs), vector as `encoding` stores it."""


class VectorSource(Protocol):
    """The methods of a store that a vector index calls."""

    def space_rows(self, reader: Reader, space: str, *, after: int, limit: int) -> Sequence[SpaceRow]:
        """Return rows of a space with keys above `after`, in key order."""

    def space_rows_of(self, reader: Reader, space: str, keys: Sequence[int]) -> Sequence[SpaceRow]:
        """Return the rows of these keys that have a vector in the space, in any order."""

    def latest_change(self, reader: Reader) -> int:
        """Return the number of the last change in the log. Called before every search, so it must be cheap."""

    def changed_keys(self, reader: Reader, after: int, limit: int) -> Sequence[tuple[int, int, str]]:
        """Return changes after a number, as (seq, key, what). Numbers have no gap unless the log was truncated."""

    def visible_scopes(self, reader: Reader) -> Collection[int] | None:
        """Return the keys of the scopes this reader sees; None for all."""

    def space(self, name: str) -> Space | None:
        """Return the model and dimensions of a space; None while it holds no vector."""

    def space_size(self, reader: Reader, space: str) -> int:
        """Return about how many rows there are to load."""

    def snapshot(self, reader: Reader, name: str) -> AbstractContextManager[SealedFileReader | None]:
        """Open the snapshot stored under this name; None if there is none that belongs to this vault."""

    def has_snapshot(self, name: str) -> bool:
        """True if a snapshot is stored under this name. Every erasure deletes it."""

    def put_snapshot(self, reader: Reader, name: str, fill: Callable[[SealedFileWriter], int]) -> bool:
        """Store as a snapshot what `fill` writes. `fill` must read the change log again when it is called."""
