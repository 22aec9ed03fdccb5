"""How a vault is: counts, latencies, its encoder, its index, its health, its changes, its vector spaces. Values of `types`, told
apart for their number."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from engram.frozen import frozen


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
class Encoder:
    """The encoder in use: its fingerprint, its vectors' length (0: not known yet), where it is, why it does not answer."""

    name: str
    fingerprint: str = ""
    dimensions: int = 0
    place: str = ""
    trouble: str = ""


@frozen
class Language:
    """The language model in use: where it is, why it would not answer now, and what it cost in the last hour and day."""

    name: str
    place: str = ""
    trouble: str = ""
    calls_hour: int = 0
    tokens_hour: int = 0
    calls_day: int = 0
    tokens_day: int = 0


@frozen
class Warmth:
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
    index: Warmth | None
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
class Event:
    """A memory that changed, by its id: what was done to it, and the place of that in the order of all changes."""

    seq: int
    id: str
    what: str


@frozen
class Events:
    """What changed, oldest first, and the point after which to ask on. `missed`: some of it is not known any more."""

    events: tuple[Event, ...]
    upto: int
    missed: bool = False


@frozen
class Space:
    """A vector space: its name, the fingerprint of the model whose vectors it holds, and their length."""

    name: str
    model: str
    dimensions: int


@frozen
class Version:
    """An earlier wording of a memory."""

    number: int
    text: str
    replaced_at: datetime


@frozen
class Change:
    """One entry of the change log that indexes and other processes follow."""

    seq: int
    key: int
    what: str


@frozen
class Fact:
    """What is said of somebody or something. `single`: it has one such at a time; `holds` is false for what is so no more."""

    subject: str
    predicate: str
    object: str
    single: bool = True
    holds: bool = True


@frozen
class Affect:
    """What a memory feels like: valence (bad to good) and dominance (at its mercy to in control) -1 … 1; arousal and surprise
    0 … 1."""

    valence: float = 0.0
    arousal: float = 0.0
    dominance: float = 0.0
    surprise: float = 0.0

    @property
    def sentiment(self) -> str:
        return "positive" if self.valence >= 0.2 else "negative" if self.valence <= -0.2 else "neutral"


NEUTRAL = Affect()


@frozen
class Trust:
    """How far to rely on a hit, each 0 … 1. Relevance is about the question, the rest about the memory (§7)."""

    relevance: float
    accuracy: float
    freshness: float
    utility: float
    composite: float


@frozen
class Signal:
    """What one arm said of a hit: its rank there (1 is best; 0 if the arm did not find it), its score, its share."""

    arm: str
    rank: int
    score: float
    share: float
