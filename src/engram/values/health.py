"""How a vault is: counts, latencies, its encoder, its index, its health, its changes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from engram.values.frozen import frozen


@frozen(kw_only=True)
class Counts:
    """How much of it this reader can see."""

    memories: int
    by_kind: Mapping[str, int]
    by_status: Mapping[str, int]
    edges: int
    embeddings: int


class Severity(StrEnum):
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@frozen
class Finding:
    """One thing the doctor saw: what is wrong, how bad, what to do."""

    check: str
    severity: Severity
    what: str
    way_out: str = ""
    mended: bool = False


@frozen
class Latency:
    """Milliseconds over the last calls of one kind."""

    calls: int
    p50_ms: float
    p99_ms: float


@frozen
class EncoderState:
    """The encoder in use: its fingerprint, its vectors' length (0: not known yet), where it is, why it does not answer."""

    name: str
    fingerprint: str = ""
    dimensions: int = 0
    place: str = ""
    trouble: str = ""


@frozen
class LanguageModelState:
    """The language model in use: where it is, why it would not answer now, and what it cost in the last hour and day."""

    name: str
    place: str = ""
    trouble: str = ""
    calls_hour: int = 0
    tokens_hour: int = 0
    calls_day: int = 0
    tokens_day: int = 0


@frozen
class IndexState:
    """How far the vector index of a vault is: rows loaded of about how many, whether it was asked for at all and answers,
    which tier does, what it was loaded from (snapshot or rows), and what there is to say about it."""

    loaded: int
    total: int
    started: bool
    ready: bool
    backend: str
    origin: str
    memory_bytes: int
    notes: tuple[str, ...] = ()


@frozen(kw_only=True)
class Health:
    """The figures of one vault as this process sees it.

    `degradation` is how recall would answer now: full, disk_vectors (the vectors of what the words find are read one by
    one), words, or degraded. `writes` is open, read-only or damaged. `shed` is what memory pressure cost.
    """

    path: str
    format: int
    cipher: str
    counts: Counts
    latencies: Mapping[str, Latency]
    queue_depth: int
    queue_limit: int
    readers_idle: int
    readers_open: int
    rss_bytes: int
    pressure: str
    vault_bytes: int
    wal_bytes: int
    pending_embeddings: int
    degradation: str
    writes: str
    index: IndexState | None
    shed: tuple[str, ...]
    crashed_before: bool
    last_backup: datetime | None
    backups: int
    warnings: tuple[str, ...]


@frozen
class Backup:
    """One backup: its number is its name; when it was made is told by what is inside."""

    number: int
    path: Path
    made_at: datetime | None
    memories: int
    intact: bool


@frozen
class ChangeEvent:
    """A memory that changed, by its id: what was done to it, and the place of that in the order of all changes."""

    seq: int
    id: str
    what: str


@frozen
class ChangeEvents:
    """What changed, oldest first, and the point after which to ask on. `missed`: some of it is not known any more."""

    events: tuple[ChangeEvent, ...]
    upto: int
    missed: bool = False


@frozen
class ChangeLogEntry:
    """One entry of the change log that indexes and other processes follow."""

    seq: int
    key: int
    what: str
