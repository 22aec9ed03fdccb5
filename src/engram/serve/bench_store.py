"""How fast the store is, as ratios to plain, unencrypted `sqlite3` doing the same work in the same run.

Comes in: sizes in memories. Goes out: figures as plain values (`run`) and as a page of text (`render`). Works in
temporary folders with a key of its own and the settings that ship, whatever this machine's configuration says.

The baseline has our tables, indexes and text index (copied out of our own migrations) and runs our own statements:
`_Plain` lends the standard library's connection the three names of apsw that they use. It writes what we write in one
transaction (memory, words, text index, change log, audit), through a write-ahead log with `synchronous=FULL` and a page
cache of the same size, and gives back the same values under the same scope predicate. What only we do: encryption,
`secure_delete` (in pages and in the text index), padding and neutral file times, the queue, guards and audit of reads.

Both sides take turns in short rounds (A B B A …), and every figure is the ratio of their medians: what else this machine
does hits both. The second table leaves everything but the cipher equal: one binding, one set of pragmas and functions,
with a key and without.
"""

from __future__ import annotations

import sqlite3  # noqa: TID251  the baseline: what is measured here is that it encrypts nothing
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, Protocol, cast

import apsw

from engram import engine
from engram.env import Env
from engram.guard.scopes import readable
from engram.settings import LiveSettings, Settings
from engram.store.sqlite import audit, memories, schema
from engram.store.sqlite.store import SqliteStore
from engram.store.sqlite.vault import open_vault
from engram.types import AuditEntry, Memory, Policy, Reader, Role, Scope, TextHit

Progress = Callable[[str, float], None]
Results = dict[str, Any]
Work = Callable[[], object]

BATCH = 1000
_ROUNDS = 7
_SINGLES = 25
_READS = 250
_SEARCHES = 25
_FOUND = 10
_OPENS = 5
_SCALING_S = 0.4

_OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)
_ASKER = Reader(Scope(project="atlas", agent="rex"))
_PLACES = (
    Scope(project="atlas", agent="rex"),
    Scope(project="atlas"),
    Scope(agent="rex"),
    Scope(),
    Scope(project="atlas", agent="ada"),  # one place in five that the asker may not see
)


# ── what is remembered ─────────────────────────────────────────────────────────────────────────────────────────────────

_SYLLABLES = ["bel", "cor", "dan", "fen", "gar", "hol", "jun", "kas", "lor", "mar", "nor", "pel", "quin", "ros", "sal", "tor", "ul", "vin", "wes", "yar"]
_NOUNS = ["deployment", "invoice", "meeting", "garden", "recipe", "password", "router", "schedule", "budget", "contract", "holiday", "keyboard", "server", "editor", "theme", "customer", "ticket", "package", "workshop", "bicycle", "passport", "allergy", "medicine", "library", "concert", "apartment", "database", "backup", "release", "branch", "review", "deadline", "contractor", "warehouse", "printer", "laptop", "camera", "guitar", "museum", "airport", "station", "harbour", "bridge", "kitchen", "window", "carpet", "painting", "novel", "chapter", "lecture", "seminar", "exam", "thesis", "grant", "laboratory", "microscope", "sample", "sensor", "battery", "engine", "tyre", "insurance", "mortgage", "pension", "salary", "interview", "candidate", "mentor", "neighbour", "cousin", "daughter", "nephew", "birthday", "wedding", "anniversary", "dinner", "breakfast", "coffee", "espresso", "noodles", "pancake", "salad", "cheese", "chocolate", "orchard", "vineyard", "mountain", "glacier", "valley", "island", "peninsula", "forest", "meadow", "river", "canal", "ferry", "tram", "timetable", "platform", "compass", "telescope", "calendar"]
_VERBS = ["prefers", "postponed", "cancelled", "approved", "rejected", "reviewed", "finished", "started", "moved", "renamed", "bought", "sold", "borrowed", "returned", "forgot", "remembered", "explained", "described", "measured", "repaired", "painted", "booked", "visited", "recommended", "avoids", "likes", "dislikes", "owns", "manages", "supports", "tested", "deployed", "archived", "translated"]
_TAILS = ["before|lunch", "after|the|holidays", "since|last|spring", "because|of|the|weather", "together|with|the|platform|team", "without|telling", "anyone", "twice|a|week", "every|second|Tuesday", "for|the|new|office", "until|further|notice", "in|spite|of|the|delay", "on|short|notice"]


def sentence(number: int) -> str:
    """The same number gives the same sentence; names are many and rare, nouns few and frequent, as in real notes."""
    noun, other = _NOUNS[_mix(number, 1) % len(_NOUNS)], _NOUNS[_mix(number, 2) % len(_NOUNS)]
    verb, tail = _VERBS[_mix(number, 3) % len(_VERBS)], _TAILS[_mix(number, 4) % len(_TAILS)].replace("|", " ")
    return f"{_name(number)} {verb} the {noun} of {_name(number * 31 + 7)} and asked about the {other} {tail}."


def question(number: int) -> tuple[str, str]:
    """Two terms of that sentence: a rare one and a frequent one."""
    words = sentence(number).split()
    return words[0].lower(), words[3]


def _name(number: int) -> str:
    a, b, c = (_SYLLABLES[_mix(number, salt) % len(_SYLLABLES)] for salt in (5, 6, 7))
    return (a + b + c).capitalize()


def _mix(number: int, salt: int) -> int:
    mixed = (number * 2_654_435_761 + salt * 40_503 + 1) & 0xFFFFFFFF
    return (mixed ^ (mixed >> 15)) * 2_246_822_519 >> 13 & 0xFFFFFF


def drafts(numbers: Sequence[int]) -> list[Memory]:
    return [Memory(text=sentence(n), scope=_PLACES[n % len(_PLACES)], importance=n % 10 / 10) for n in numbers]


# ── the two sides ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Side(Protocol):
    def add(self, new: Sequence[Memory]) -> Sequence[Memory]: ...

    def get(self, memory_id: str) -> Sequence[Memory]: ...

    def search(self, terms: Sequence[str]) -> Sequence[TextHit]: ...

    def close(self) -> None: ...


class _PlainCursor(sqlite3.Cursor):
    @property
    def get(self) -> Any:
        row = self.fetchone()
        return row if row is None or len(row) > 1 else row[0]


class _Plain(sqlite3.Connection):
    """The standard library's connection with the names of apsw's that the store's statements use."""

    _last: sqlite3.Cursor

    def execute(self, sql: str, values: Any = (), /) -> _PlainCursor:
        self._last = cursor = self.cursor(_PlainCursor)
        cursor.execute(sql, values)
        return cursor

    def last_insert_rowid(self) -> int:
        return self._last.lastrowid or 0

    def total_changes_(self) -> int:
        return self.total_changes


def plain(path: Path, *, cache_kib: int) -> _Plain:
    """Our tables in an unencrypted file. The defaults of a careful programmer: a log, full syncing, a page cache."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=_Plain, timeout=10.0)
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        "secure_delete = OFF",
        "temp_store = MEMORY",
        f"cache_size = -{cache_kib}",
    ):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    if not connection.execute("SELECT 1 FROM sqlite_master").get:
        for statement in _tables():
            connection.execute(statement)
    return connection


def _tables() -> list[str]:
    """The schema as the migrations leave it, without the text index's own shadow tables."""
    model = apsw.Connection(":memory:")
    schema.migrate(model, Env().now())
    found = model.execute(
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'lexicon\\__%' ESCAPE '\\'"
        " AND name NOT LIKE 'sqlite\\__%' ESCAPE '\\'"
    )
    return [str(sql) for (sql,) in found]


class Direct:
    """The store's own functions on a bare connection: what the work costs without queue, guards and silence."""

    def __init__(self, connection: apsw.Connection | _Plain, env: Env, settings: Settings, *, by_hand: bool = False) -> None:
        self.connection = cast(apsw.Connection, connection)
        self._env = env
        self._keep_audit = settings.audit_rows
        self._keep_changes = settings.change_log_rows
        self._by_hand = by_hand
        self._wal_pages = settings.wal_pages
        self._seen = readable(_ASKER)

    def add(self, new: Sequence[Memory]) -> Sequence[Memory]:
        now = self._env.now()
        ready = [replace(one, id=self._env.new_id(), learned_at=now, updated_at=now) for one in new]
        self.connection.execute("BEGIN IMMEDIATE")
        kept = [memories.insert(self.connection, memory) for memory in ready]
        audit.write(self.connection, [AuditEntry(now, "add", m.id, m.scope, 1, "0" * 16, True) for m in kept], self._keep_audit)
        self.connection.execute("COMMIT")
        if self._by_hand:
            self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        return kept

    def get(self, memory_id: str) -> Sequence[Memory]:
        return memories.by_ids(self.connection, self._seen, (memory_id,))

    def search(self, terms: Sequence[str]) -> Sequence[TextHit]:
        return memories.search_text(self.connection, self._seen, memories.Filter(), terms, _FOUND)

    def close(self) -> None:
        self.connection.close()


class Ours:
    """The store as the engine uses it."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def add(self, new: Sequence[Memory]) -> Sequence[Memory]:
        return self._store.add(_OWNER, new)

    def get(self, memory_id: str) -> Sequence[Memory]:
        return self._store.get(_ASKER, (memory_id,))

    def search(self, terms: Sequence[str]) -> Sequence[TextHit]:
        return self._store.search_text(_ASKER, terms, limit=_FOUND)

    def close(self) -> None:
        self._store.close()


@dataclass(slots=True)
class Bench:
    """One run: a folder with a vault and a plain database that hold the same memories."""

    folder: Path
    key: bytes
    env: Env = field(default_factory=Env)
    ids: list[list[str]] = field(default_factory=lambda: [[], []])
    numbers: Iterator[int] = field(default_factory=count)
    settings: Settings = field(default_factory=lambda: Settings(**_SETTINGS))

    def plain(self) -> Direct:
        return Direct(plain(self.folder / "plain.db", cache_kib=self.settings.page_cache_kib), self.env, self.settings)

    def ours(self) -> Ours:
        live = LiveSettings(asdict(self.settings), monotonic=self.env.monotonic)
        return Ours(open_vault(self.folder / "vault", live, self.env, engine.credentials_from(self.key, None))[0])

    def engram(self) -> engine.Engram:
        return engine.Engram.open(
            self.folder / "vault", reader=_ASKER, key=self.key, settings=asdict(self.settings), env=self.env
        )


_SETTINGS: dict[str, Any] = {"harden_process": False, "close_on_sigterm": False, "backup_hours": 0.0}
"""Over the defaults: this process belongs to someone else, and a daily backup is not part of opening."""


def versus(plain: Work, ours: Work, *, each: int, rounds: int = _ROUNDS) -> Results:
    """Run both in turns; `each` operations a call. The first round warms up and is not counted."""
    wall: tuple[list[float], list[float]] = ([], [])
    cpu: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + 1):
        for side in (0, 1) if number % 2 else (1, 0):
            began, began_cpu = time.perf_counter(), time.process_time()
            (plain, ours)[side]()
            spent, spent_cpu = time.perf_counter() - began, time.process_time() - began_cpu
            if number:
                wall[side].append(spent / each)
                cpu[side].append(spent_cpu / each)
    base, own = (statistics.median(times) for times in wall)
    base_cpu, own_cpu = (max(statistics.median(times), 1e-9) for times in cpu)
    return {
        "plain_us": base * 1e6,
        "ours_us": own * 1e6,
        "plain_cpu_us": base_cpu * 1e6,
        "ours_cpu_us": own_cpu * 1e6,
        "ratio": own / base,
        "cpu_ratio": own_cpu / base_cpu,
    }
