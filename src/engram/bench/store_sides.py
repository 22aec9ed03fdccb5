"""The two sides that `bench store` compares, and the sentences that they store.

`EngramSide` is the store as the engine uses it. `DirectSide` runs the store's own statements on a bare connection: with
`PlainConnection`, the standard library's unencrypted `sqlite3`, it is the baseline; with apsw, once without a key and once with
one, it isolates the cost of the cipher. All have our tables, indexes and text index, made by our own migrations.
"""

from __future__ import annotations

import sqlite3  # noqa: TID251  the baseline; that it encrypts nothing is what is measured
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, TypeVar, cast

import apsw

from engram.crypto.keys import MasterKey
from engram.engine import Engram
from engram.env import Env
from engram.guard.visibility import readable
from engram.rules.store_rules import MemoryRules
from engram.settings import LiveSettings, Settings
from engram.store.sqlite import audit, memory_rows, migrations, text_index
from engram.store.sqlite import connection as opening
from engram.store.sqlite.store import SqliteStore
from engram.store.sqlite.vault import open_vault
from engram.text.english.informativeness import told
from engram.text.metadata import languages
from engram.types import AuditEntry, Memory, Policy, Reader, Role, Scope, TextHit
from engram.values.frozen import field, mutable, replace
from engram.vault import credentials_from

T = TypeVar("T")

BATCH = 1000
_HITS = 10  # limit of a search

_OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)
_READER = Reader(Scope(project="atlas", agent="rex"))
_HIDDEN = Scope(project="atlas", agent="ada")  # one memory in five is invisible to the reader
_SCOPES = (_READER.scope, Scope(project="atlas"), Scope(agent="rex"), Scope(), _HIDDEN)
_SETTINGS: dict[str, Any] = {"harden_process": False, "close_on_sigterm": False, "backup_hours": 0.0}
"""Changes to the defaults: the process belongs to the caller, and a daily backup is no part of opening."""


# ── sentences ──────────────────────────────────────────────────────────────────────────────────────────────────────────

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
    """Return the sentence of this number, always the same. Names are many and rare, nouns few and frequent, as in real notes."""
    verb, noun, other = _pick(_VERBS, number, 1), _pick(_NOUNS, number, 2), _pick(_NOUNS, number, 3)
    return f"{_name(number)} {verb} the {noun} of {_name(number * 31 + 7)} and then asked about the {other} again."


def question(number: int) -> tuple[str, str]:
    """Return two terms of the sentence of this number: a rare one and a frequent one."""
    words = sentence(number).split()
    return words[0].lower(), words[3]


def drafts(numbers: Sequence[int]) -> list[Memory]:
    """Return new memories with the sentences of these numbers, in five scopes."""
    return [Memory(text=sentence(n), scope=_SCOPES[n % len(_SCOPES)], importance=n % 10 / 10) for n in numbers]


def _name(number: int) -> str:
    return "".join(_pick(_SYLLABLES, number, salt) for salt in (5, 6, 7)).capitalize()


def _pick(words: Sequence[str], number: int, salt: int) -> str:
    return words[dice(number, salt) % len(words)]


def dice(number: int, salt: int = 9) -> int:
    """Return a pseudo-random number that depends on the arguments only: the same on every machine."""
    mixed = (number * 2_654_435_761 + salt * 2_246_822_519 + 374_761_393) & 0xFFFFFFFF
    mixed = ((mixed ^ mixed >> 15) * 2_246_822_519) & 0xFFFFFFFF
    return ((mixed ^ mixed >> 13) * 3_266_489_917 & 0xFFFFFFFF) >> 8


# ── the sides ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class PlainCursor(sqlite3.Cursor):
    """A cursor of the standard library with apsw's `get`."""

    @property
    def get(self) -> Any:
        """The first row, or its only value; None if there is no row."""
        row = self.fetchone()
        return row[0] if row is not None and len(row) == 1 else row


class PlainConnection(sqlite3.Connection):
    """A connection of the standard library with the methods of apsw that the store's statements use."""

    _last: sqlite3.Cursor

    def execute(self, sql: str, values: Any = (), /) -> PlainCursor:
        self._last = cursor = self.cursor(PlainCursor)
        cursor.execute(sql, values)
        return cursor

    def last_insert_rowid(self) -> int:
        return self._last.lastrowid or 0


def open_plain(path: Path, settings: Settings) -> PlainConnection:
    """Open an unencrypted database with our tables and the pragmas that a careful programmer would set."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=PlainConnection, timeout=10.0)
    cache = f"cache_size = -{settings.page_cache_kib}"
    sync = f"synchronous = {settings.synchronous}"
    for pragma in ("journal_mode = WAL", sync, "foreign_keys = ON", "secure_delete = OFF", "temp_store = MEMORY", cache):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    for name, (function, arguments) in _NO_SEALING.items():
        connection.create_function(name, arguments, function)
    if not connection.execute("SELECT 1 FROM sqlite_master").get:
        for statement in _tables():
            connection.execute(statement)
    return connection


def _tables() -> list[str]:
    """Return the statements that create the present schema, without the shadow tables that the text index makes itself."""
    with closing(apsw.Connection(":memory:")) as model:
        migrations.migrate(model, Env().now())
        rows = model.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return [str(sql) for name, sql in rows if not str(name).startswith(("lexicon_", "sqlite_"))]


def open_unkeyed(path: Path, settings: Settings) -> apsw.Connection:
    """Open a database as `opening.writing` does, but without a key and without the check that there is one."""
    path.touch()
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOMUTEX)
    opening.keep_query_plans(connection)
    opening.vacuum_incrementally(connection)
    opening.use_write_ahead_log(connection)
    opening.zero_deleted_content(connection)
    opening.enforce_foreign_keys(connection)
    opening.sync_commits(connection, settings.synchronous)
    opening.disable_automatic_checkpoints(connection)
    opening.set_cache_size(connection, settings.page_cache_kib)
    opening.keep_temporary_data_in_memory(connection)
    for name, (function, arguments) in _NO_SEALING.items():
        connection.create_scalar_function(name, function, arguments)
    return connection


_informativeness = lru_cache(1)(told)

_NO_SEALING: dict[str, tuple[Callable[..., Any], int]] = {
    "seal": (lambda tier, value, row, column: value, 4),
    "unseal": (lambda value, row, column: value, 3),
    "project": (lambda vector: vector, 1),
    "straighten": (lambda vector: vector, 1),
    "seal_side": (lambda tier, value, place: value, 3),
    "unseal_side": (lambda value, place: value, 2),
    "blind": (lambda digest: digest, 1),
    "mask": (lambda text: "", 1),
    "substance": (lambda *said: _informativeness(*said)[0], 3),
    "named": (lambda *said: _informativeness(*said)[1], 3),
    "languages": (lambda text: " ".join(languages(text)), 1),
}
"""The SQL functions of the store's statements: sealing is here without effect."""


class DirectSide:
    """The store's own statements on a bare connection, without queue, guards, padding and the audit of reads."""

    def __init__(self, connection: apsw.Connection | PlainConnection, env: Env, settings: Settings) -> None:
        self.connection = cast(apsw.Connection, connection)
        self._env = env
        self._audit_rows = settings.audit_rows
        self._visible = readable(_READER)

    def add(self, new: Sequence[Memory]) -> Sequence[Memory]:
        now = self._env.now()
        ready = [replace(draft, id=self._env.new_id(), learned_at=now, updated_at=now) for draft in new]
        self.connection.execute("BEGIN IMMEDIATE")
        stored = [memory_rows.insert(self.connection, memory) for memory in ready]
        entries = [AuditEntry(now, "add", memory.id, memory.scope, 1, "0" * 16, True) for memory in stored]
        audit.write(self.connection, entries, self._audit_rows)
        self.connection.execute("COMMIT")
        return stored

    def get(self, memory_id: str) -> Sequence[Memory]:
        return memory_rows.by_ids(self.connection, self._visible, (memory_id,))

    def search(self, terms: Sequence[str]) -> Sequence[TextHit]:
        hits = text_index.search_text(self.connection, self._visible, text_index.ACTIVE, terms, _HITS, 0.0)
        return [TextHit(key, score) for key, score in hits]

    def settle(self) -> None:
        """Do the work that was deferred until after the answer: checkpoint the log."""
        if isinstance(self.connection, apsw.Connection):  # the standard library's connection checkpoints by itself
            self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def close(self) -> None:
        self.connection.close()


class EngramSide:
    """The store as the engine uses it."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def add(self, new: Sequence[Memory]) -> Sequence[Memory]:
        return self._store.memories.add(_OWNER, new)

    def get(self, memory_id: str) -> Sequence[Memory]:
        return self._store.memories.get(_READER, (memory_id,))

    def search(self, terms: Sequence[str]) -> Sequence[TextHit]:
        return self._store.text.search(_READER, terms, limit=_HITS)

    def settle(self) -> None:
        """Wait for the work that was deferred until after the answer: an empty write queues behind it."""
        self._store.edges.put(_OWNER, ())

    def close(self) -> None:
        self._store.close()


Side = DirectSide | EngramSide


@mutable
class StoreBench:
    """A run: a folder with a vault and a plain database that hold the same memories.

    A side is named by its place: 0 is the plain database, 1 is our store. trial: few and short rounds, to see that the run works.
    held: the number of memories on each side, which is the number of the next sentence. visible: the ids on each side that the
    reader may see.
    """

    folder: Path
    key: bytes
    trial: bool = False
    env: Env = field(default_factory=Env)
    settings: Settings = field(default_factory=lambda: Settings(**_SETTINGS))
    held: list[int] = field(default_factory=lambda: [0, 0])
    visible: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    throws: Iterator[int] = field(default_factory=count)

    @property
    def rounds(self) -> int:
        return 1 if self.trial else 7

    def plain(self) -> DirectSide:
        """Open the plain database."""
        return DirectSide(open_plain(self.folder / "plain.db", self.settings), self.env, self.settings)

    def ours(self) -> EngramSide:
        """Open the vault's store."""
        live = LiveSettings(asdict(self.settings), monotonic=self.env.monotonic)
        return EngramSide(
            open_vault(self.folder / "vault", live, self.env, MemoryRules(live), credentials_from(self.key, None))[0]
        )

    def engram(self) -> Engram:
        """Open the vault."""
        path = self.folder / "vault"
        return Engram.open(path, reader=_READER, key=self.key, settings=asdict(self.settings), env=self.env)

    def keyed(self, name: str) -> apsw.Connection:
        """Open an encrypted database of this name without a store around it."""
        with MasterKey(bytearray(self.key)) as master:
            key = opening.key_for(master, self.settings.cipher)
        key.rules = MemoryRules(LiveSettings(asdict(self.settings), monotonic=self.env.monotonic))
        path, settings = self.folder / name, self.settings
        return opening.connect_to_write(path, key, synchronous=settings.synchronous, cache_kib=settings.page_cache_kib)

    @contextmanager
    def both(self) -> Iterator[tuple[Side, Side]]:
        with closing(self.plain()) as plain, closing(self.ours()) as ours:
            yield plain, ours

    def fresh(self, place: int, number: int) -> list[Memory]:
        """Return the next `number` new memories for a side."""
        start = self.held[place]
        self.held[place] += number
        return drafts(range(start, start + number))

    def add(self, place: int, side: Side, new: Sequence[Memory]) -> None:
        """Store new memories on a side."""
        self.visible[place].extend(memory.id for memory in side.add(new) if memory.scope != _HIDDEN)

    def grow(self, sides: tuple[Side, Side], size: int) -> None:
        """Fill both sides up to `size` memories."""
        while min(self.held) < size:
            for place, side in enumerate(sides):
                self.add(place, side, self.fresh(place, max(min(BATCH, size - self.held[place]), 0)))

    def sample(self, items: Sequence[T], number: int) -> list[T]:
        """Return `number` items picked at random, with repetitions; the same in every run."""
        return [items[dice(next(self.throws)) % len(items)] for _ in range(number)]
