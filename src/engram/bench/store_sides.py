"""The two sides that `bench_store` compares, and what they are given to remember.

`Ours` is the store as the engine uses it. `Direct` runs the store's own statements on a bare connection: on `Plain`, the
standard library's unencrypted `sqlite3`, it is the baseline; on apsw, without a key and with one, it shows the cipher
alone. All have our tables, indexes and text index, as our own migrations make them.
"""

from __future__ import annotations

import sqlite3  # noqa: TID251  the baseline; that it encrypts nothing is what is measured
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any, TypeVar, cast

import apsw

from engram.crypto.keys import MasterKey
from engram.engine import Engram
from engram.env import Env
from engram.guard.visibility import readable
from engram.settings import LiveSettings, Settings
from engram.store.sqlite import audit, memories, migrations, text_index
from engram.store.sqlite import connection as opening
from engram.store.sqlite.store import SqliteStore
from engram.store.sqlite.vault import open_vault
from engram.types import AuditEntry, Memory, Policy, Reader, Role, Scope, TextHit
from engram.values.frozen import field, mutable, replace
from engram.vault import credentials_from

T = TypeVar("T")

BATCH = 1000
_FOUND = 10  # hits asked of a search

_OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)
_ASKER = Reader(Scope(project="atlas", agent="rex"))
_HIDDEN = Scope(project="atlas", agent="ada")  # one memory in five is not the asker's to see
_PLACES = (_ASKER.scope, Scope(project="atlas"), Scope(agent="rex"), Scope(), _HIDDEN)
_SETTINGS: dict[str, Any] = {"harden_process": False, "close_on_sigterm": False, "backup_hours": 0.0}
"""Over the defaults: the process is the caller's, and a daily backup is no part of opening."""


# ── what is remembered ─────────────────────────────────────────────────────────────────────────────────────────────────

_SYLLABLES = ("bel", "cor", "dan", "fen", "gar", "hol", "jun", "kas", "lor", "mar", "nor", "pel", "ros", "sal", "tor", "vin")
_WORDS = (
    """approved archived avoids booked borrowed bought cancelled deployed dislikes explained finished forgot likes manages moved
    owns painted postponed prefers recommended rejected renamed repaired returned reviewed sold supports tested visited""",
    """airport allergy apartment backup battery bicycle birthday breakfast bridge budget calendar camera chapter cheese coffee
    concert contract cousin customer database deadline dinner editor engine exam ferry garden glacier guitar harbour holiday
    invoice island keyboard kitchen laptop lecture library medicine meeting mentor mountain museum neighbour novel orchard
    package painting passport pension printer recipe release river router salary schedule sensor server station telescope
    theme thesis ticket timetable tram valley vineyard warehouse wedding window workshop""",
)
_VERBS, _NOUNS = (words.split() for words in _WORDS)


def sentence(number: int) -> str:
    """The same number gives the same sentence. Names are many and rare, nouns few and frequent, as in real notes."""
    verb, noun, other = _pick(_VERBS, number, 1), _pick(_NOUNS, number, 2), _pick(_NOUNS, number, 3)
    return f"{_name(number)} {verb} the {noun} of {_name(number * 31 + 7)} and then asked about the {other} again."


def question(number: int) -> tuple[str, str]:
    """Two terms of that sentence: a rare one and a frequent one."""
    words = sentence(number).split()
    return words[0].lower(), words[3]


def drafts(numbers: Sequence[int]) -> list[Memory]:
    return [Memory(text=sentence(n), scope=_PLACES[n % len(_PLACES)], importance=n % 10 / 10) for n in numbers]


def _name(number: int) -> str:
    return "".join(_pick(_SYLLABLES, number, salt) for salt in (5, 6, 7)).capitalize()


def _pick(some: Sequence[str], number: int, salt: int) -> str:
    return some[dice(number, salt) % len(some)]


def dice(number: int, salt: int = 9) -> int:
    """They fall the same on every machine."""
    mixed = (number * 2_654_435_761 + salt * 2_246_822_519 + 374_761_393) & 0xFFFFFFFF
    mixed = ((mixed ^ mixed >> 15) * 2_246_822_519) & 0xFFFFFFFF
    return ((mixed ^ mixed >> 13) * 3_266_489_917 & 0xFFFFFFFF) >> 8


# ── the sides ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class PlainCursor(sqlite3.Cursor):
    @property
    def get(self) -> Any:
        row = self.fetchone()
        return row[0] if row is not None and len(row) == 1 else row


class Plain(sqlite3.Connection):
    """The standard library's connection, with the names of apsw that the store's statements use."""

    _last: sqlite3.Cursor

    def execute(self, sql: str, values: Any = (), /) -> PlainCursor:
        self._last = cursor = self.cursor(PlainCursor)
        cursor.execute(sql, values)
        return cursor

    def last_insert_rowid(self) -> int:
        return self._last.lastrowid or 0


def open_plain(path: Path, settings: Settings) -> Plain:
    """An unencrypted database with our tables, set up as a careful programmer would."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=Plain, timeout=10.0)
    cache = f"cache_size = -{settings.page_cache_kib}"
    sync = f"synchronous = {settings.synchronous}"
    for pragma in ("journal_mode = WAL", sync, "foreign_keys = ON", "secure_delete = OFF", "temp_store = MEMORY", cache):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    for name, (function, arguments) in _SEALS_NOTHING.items():
        connection.create_function(name, arguments, function)
    if not connection.execute("SELECT 1 FROM sqlite_master").get:
        for statement in _tables():
            connection.execute(statement)
    return connection


def _tables() -> list[str]:
    """The schema as the migrations leave it; the text index makes its shadow tables itself."""
    with closing(apsw.Connection(":memory:")) as model:
        migrations.migrate(model, Env().now())
        found = model.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return [str(sql) for name, sql in found if not str(name).startswith(("lexicon_", "sqlite_"))]


def open_unkeyed(path: Path, settings: Settings) -> apsw.Connection:
    """What `opening.writing` does, without the key and without the check that there is one."""
    path.touch()
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOMUTEX)
    opening.keep_plans(connection)
    opening.give_back_free_pages_on_request(connection)
    opening.use_write_ahead_log(connection)
    opening.overwrite_what_is_deleted(connection)
    opening.keep_references_whole(connection)
    opening.sync_commits(connection, settings.synchronous)
    opening.checkpoint_by_hand(connection)
    opening.cache_pages(connection, settings.page_cache_kib)
    opening.keep_temporary_data_in_memory(connection)
    for name, (function, arguments) in _SEALS_NOTHING.items():
        connection.create_scalar_function(name, function, arguments)
    return connection


_SEALS_NOTHING: dict[str, tuple[Callable[..., Any], int]] = {
    "seal": (lambda tier, value, row, column: value, 4),
    "unseal": (lambda value, row, column: value, 3),
    "project": (lambda vector: vector, 1),
    "straighten": (lambda vector: vector, 1),
    "shut": (lambda tier, value, place: value, 3),
    "unshut": (lambda value, place: value, 2),
    "blind": (lambda digest: digest, 1),
}
"""What the store's statements call for fields that are kept closely, where nothing is."""


class Direct:
    """The store's own statements on a bare connection: the work without queue, guards and silence."""

    def __init__(self, connection: apsw.Connection | Plain, env: Env, settings: Settings) -> None:
        self.connection = cast(apsw.Connection, connection)
        self._env = env
        self._keep = settings.audit_rows
        self._seen = readable(_ASKER)

    def add(self, new: Sequence[Memory]) -> Sequence[Memory]:
        now = self._env.now()
        ready = [replace(draft, id=self._env.new_id(), learned_at=now, updated_at=now) for draft in new]
        self.connection.execute("BEGIN IMMEDIATE")
        kept = [memories.insert(self.connection, memory) for memory in ready]
        entries = [AuditEntry(now, "add", memory.id, memory.scope, 1, "0" * 16, True) for memory in kept]
        audit.write(self.connection, entries, self._keep)
        self.connection.execute("COMMIT")
        return kept

    def get(self, memory_id: str) -> Sequence[Memory]:
        return memories.by_ids(self.connection, self._seen, (memory_id,))

    def search(self, terms: Sequence[str]) -> Sequence[TextHit]:
        hits = text_index.search_text(self.connection, self._seen, text_index.ACTIVE, terms, _FOUND, 0.0)
        return [TextHit(key, score) for key, score in hits]

    def settle(self) -> None:
        """Do, or wait for, what was put off until after the answer."""
        if isinstance(self.connection, apsw.Connection):  # the standard library's folds the log in by itself
            self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

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

    def settle(self) -> None:
        self._store.relate(_OWNER, ())  # a write's turn comes after the tidying of the one before it

    def close(self) -> None:
        self._store.close()


Side = Direct | Ours


@mutable
class Bench:
    """One run: a folder with a vault and a plain database that hold the same memories."""

    folder: Path
    key: bytes
    trial: bool = False  # few and short rounds: do all figures come out at all?
    env: Env = field(default_factory=Env)
    settings: Settings = field(default_factory=lambda: Settings(**_SETTINGS))
    held: list[int] = field(default_factory=lambda: [0, 0])  # memories on each side: the next sentence's number
    visible: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    throws: Iterator[int] = field(default_factory=count)

    @property
    def rounds(self) -> int:
        return 1 if self.trial else 7

    def plain(self) -> Direct:
        return Direct(open_plain(self.folder / "plain.db", self.settings), self.env, self.settings)

    def ours(self) -> Ours:
        live = LiveSettings(asdict(self.settings), monotonic=self.env.monotonic)
        return Ours(open_vault(self.folder / "vault", live, self.env, credentials_from(self.key, None))[0])

    def engram(self) -> Engram:
        path = self.folder / "vault"
        return Engram.open(path, reader=_ASKER, key=self.key, settings=asdict(self.settings), env=self.env)

    def keyed(self, name: str) -> apsw.Connection:
        with MasterKey(bytearray(self.key)) as master:
            key = opening.key_for(master, self.settings.cipher)
        path, settings = self.folder / name, self.settings
        return opening.writing(path, key, synchronous=settings.synchronous, cache_kib=settings.page_cache_kib)

    @contextmanager
    def both(self) -> Iterator[tuple[Side, Side]]:
        with closing(self.plain()) as plain, closing(self.ours()) as ours:
            yield plain, ours

    def fresh(self, place: int, number: int) -> list[Memory]:
        start = self.held[place]
        self.held[place] += number
        return drafts(range(start, start + number))

    def add(self, place: int, side: Side, new: Sequence[Memory]) -> None:
        self.visible[place].extend(memory.id for memory in side.add(new) if memory.scope != _HIDDEN)

    def grow(self, sides: tuple[Side, Side], size: int) -> None:
        while min(self.held) < size:
            for place, side in enumerate(sides):
                self.add(place, side, self.fresh(place, max(min(BATCH, size - self.held[place]), 0)))

    def some(self, among: Sequence[T], number: int) -> list[T]:
        return [among[dice(next(self.throws)) % len(among)] for _ in range(number)]
