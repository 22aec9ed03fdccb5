"""Vaults for the tests of the store: opened through the front door of the room, with a key in hand."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from engram.crypto.keys import MasterKey
from engram.env import Env
from engram.rules.store_rules import MemoryRules
from engram.settings import LiveSettings
from engram.store.credentials import Credentials
from engram.store.ports import Store
from engram.store.sqlite import connection as opening
from engram.store.sqlite.store import SqliteStore
from engram.store.sqlite.vault import open_vault
from engram.types import Counts, Policy, Reader, Role

KEY = bytes(range(32))
CREDENTIALS = Credentials(lambda: MasterKey(bytearray(KEY)))
OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder that costs no disk where there is one: the tests that make hundreds of vaults are not about durability."""
    memory = "/dev/shm"
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as place:
        yield Path(place)


def database_key(cipher: str = "aegis") -> opening.DatabaseKey:
    with MasterKey(bytearray(KEY)) as master:
        return opening.key_for(master, cipher)


def sqlite_store(path: Path, env: Env | None = None, *, tuning: Iterable[object] = (), **settings: object) -> SqliteStore:
    env = env or Env()
    live = LiveSettings(settings, monotonic=env.monotonic, tuning=tuning)
    store, _ = open_vault(path, live, env, MemoryRules(live), CREDENTIALS)
    return store


def connect(path: Path, cipher: str = "aegis") -> apsw.Connection:
    """Another connection to a database of ours. Not through `opening.writing`: the file is not to be opened twice over."""
    connection = apsw.Connection(path.absolute().as_uri(), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI)
    database_key(cipher).give_to(connection)
    return connection


def state(store: Store) -> tuple[Counts, int]:
    """What a call that was refused must leave as it was: the figures, and the end of the change log."""
    log = store.changes.since(OWNER, after=0, limit=100_000)
    return store.memories.counts(OWNER), log[-1].seq if log else 0
