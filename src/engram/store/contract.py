"""The verbs that every store has. `sqlite/` is the default; another database stands behind the same contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from engram.store.protocol import Filter
from engram.types import AuditEntry, Change, Counts, Edge, Memory, Page, Reader, Report, Status, StatusChange, TextHit, Version

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

    def changes(self, reader: Reader, *, after: int, limit: int) -> list[Change]: ...

    def audit(self, reader: Reader, *, limit: int) -> list[AuditEntry]: ...

    def close(self) -> None: ...
