"""What an index lives on: the verbs that it asks of a store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from engram.guard.sealing import SealedFileReader, SealedFileWriter
from engram.types import Reader, Space

SpaceRow = tuple[int, int, str, str, str, int, bytes]
"""key, scope key, kind, status, category, when it happened or was learned (µs), the vector as `encoding` has it."""


class VectorSource(Protocol):
    """The verbs of the store that an index lives on."""

    def space_rows(self, reader: Reader, space: str, *, after: int, limit: int) -> Sequence[SpaceRow]:
        """Rows of a space with keys above `after`, in key order."""

    def space_rows_of(self, reader: Reader, space: str, keys: Sequence[int]) -> Sequence[SpaceRow]:
        """The rows of these keys that have a vector in the space, in any order."""

    def latest_change(self, reader: Reader) -> int:
        """The end of the change log; cheap, it is asked before every search."""

    def changed_keys(self, reader: Reader, after: int, limit: int) -> Sequence[tuple[int, int, str]]:
        """The log after a point: (seq, key, what). Numbers follow each other without a gap unless the log was cut."""

    def visible_scopes(self, reader: Reader) -> Collection[int] | None:
        """Keys of the scopes this reader sees; None for all."""

    def space(self, name: str) -> Space | None:
        """Whose vectors a space holds; None while it holds none."""

    def space_size(self, reader: Reader, space: str) -> int:
        """About how many rows there are to load."""

    def snapshot(self, reader: Reader, name: str) -> AbstractContextManager[SealedFileReader | None]:
        """What was put away under this name, if it still belongs to this vault."""

    def has_snapshot(self, name: str) -> bool:
        """Is there one? It goes when anything is erased."""

    def put_snapshot(self, reader: Reader, name: str, fill: Callable[[SealedFileWriter], int]) -> bool:
        """Put away what `fill` writes; it must look at the change log once more when it is called."""
