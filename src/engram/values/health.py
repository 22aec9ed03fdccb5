"""The state of a vault: counts, latencies, encoder, language model, index, health, backups and changes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from engram.values.frozen import frozen


@frozen(kw_only=True)
class Counts:
    """Counts of what this reader can see."""

    memories: int
    by_kind: Mapping[str, int]
    by_status: Mapping[str, int]
    edges: int
    embeddings: int


class Severity(StrEnum):
    """The severity of a finding."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@frozen
class Finding:
    """A finding of `engram doctor`: the problem, its severity, and the way out."""

    check: str
    severity: Severity
    what: str
    way_out: str = ""
    mended: bool = False


@frozen
class Latency:
    """Percentiles, in milliseconds, of the last calls of one kind."""

    calls: int
    p50_ms: float
    p99_ms: float


@frozen
class EncoderState:
    """The encoder in use: fingerprint, vector length (0: not known yet), address, and the reason if it does not answer."""

    name: str
    fingerprint: str = ""
    dimensions: int = 0
    place: str = ""
    trouble: str = ""


@frozen
class LanguageModelState:
    """The language model in use: address, the reason if it would not answer, and its use in the last hour and day."""

    name: str
    place: str = ""
    trouble: str = ""
    calls_hour: int = 0
    tokens_hour: int = 0
    calls_day: int = 0
    tokens_day: int = 0


@frozen
class IndexState:
    """The vector index of a vault: rows loaded of about `total`, whether loading started and is complete, the backend that
    answers, the origin of the rows (snapshot or rows), and notes."""

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
    """The health of a vault as this process sees it.

    `degradation` is the mode in which recall would answer now: full, disk_vectors (vectors of the text index's hits are read
    one by one), words, or degraded. `writes` is open, read-only or damaged. `shed` lists what was dropped under memory pressure.
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
    """A backup. Its number is its name; the time of its making is read from its content."""

    number: int
    path: Path
    made_at: datetime | None
    memories: int
    intact: bool


@frozen
class ChangeEvent:
    """A change of a memory: its sequence number among all changes, the memory's id, and what was done."""

    seq: int
    id: str
    what: str


@frozen
class ChangeEvents:
    """Changes, oldest first, and the sequence number after which to continue. `missed`: older changes are no longer known."""

    events: tuple[ChangeEvent, ...]
    upto: int
    missed: bool = False


@frozen
class ChangeLogEntry:
    """An entry of the change log, which indexes and other processes follow."""

    seq: int
    key: int
    what: str
