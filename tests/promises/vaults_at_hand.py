"""Vaults as the promises use them: a fixed key, an owner who sees all, and the database read from inside and outside."""

from __future__ import annotations

import hashlib
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from engram.crypto.keys import MasterKey
from engram.engine import Engram
from engram.env import Env
from engram.store.credentials import Credentials
from engram.store.folder import VaultFolder
from engram.store.header import read_header
from engram.store.limits import StoreLimits
from engram.store.sqlite import connection as opening
from engram.store.sqlite.store import SqliteStore
from engram.types import Policy, Reader, Role, Scope
from engram.values.query import Filter

KEY = bytes(range(32))
OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)
ANY_STATUS = Filter(statuses=())
SPACE = "test-space"


def agent(name: str, project: str = "") -> Reader:
    return Reader(Scope(project=project, agent=name))


def open_vault(
    path: Path | str,
    *,
    reader: Reader = OWNER,
    key: bytes | str | None = KEY,
    env: Env | None = None,
    tuning: Iterable[object] = (),
    **settings: object,
) -> Engram:
    """Open a vault with its key in hand, without automatic backups, and with patience for a loaded machine."""
    # `halves` looks for the audit entry of every row: long rounds read so much that the default limit would drop the oldest.
    given = {"backup_hours": 0, "write_patience_s": 60.0, "audit_rows": 10_000_000, **settings}
    patient = [StoreLimits(read_patience_s=60.0), *tuning]
    return Engram.open(path, reader=reader, key=key, settings=given, env=env, tuning=patient)


def credentials(key: bytes = KEY) -> Credentials:
    return Credentials(lambda: MasterKey(bytearray(key)))


def store_of(mem: Engram) -> SqliteStore:
    return mem._vault.store


def dated(path: Path) -> list[str]:
    """Return the names of files and folders of a vault, its own included, whose date of change is not the neutral one."""
    return [file.name for file in (path, *path.rglob("*")) if file.stat().st_mtime_ns != 86_400 * 10**9]


def word(number: int, salt: str = "") -> str:
    """Return a word of fourteen letters that occurs nowhere else: no stemmer changes it, no chance makes it."""
    digest = hashlib.sha256(f"{salt}{number}".encode()).digest()
    return "zq" + "".join("abcdfghjklmnpqrtvwxz"[byte % 20] for byte in digest[:12])


def everything(mem: Engram) -> dict[str, Any]:
    """Return all that a vault holds, read through its store, in a form that compares."""
    store = store_of(mem)
    memories, cursor = [], None
    while True:
        page = store.memories.page(OWNER, limit=1000, cursor=cursor, where=ANY_STATUS)
        memories += page.memories
        cursor = page.cursor
        if cursor is None:
            break
    ids = [memory.id for memory in memories]
    return {
        "memories": [{**asdict_(memory), "attributes": dict(memory.attributes)} for memory in memories],
        "again": [memory.text for memory in store.memories.get(OWNER, ids)],
        "versions": {id_: store.memories.versions(OWNER, id_) for id_ in ids[::3]},
        "statuses": {id_: store.memories.status_history(OWNER, id_) for id_ in ids[::3]},
        "edges": store.edges.of(OWNER, ids),
        "vectors": list(store.vectors.visible(OWNER, SPACE, where=ANY_STATUS)),
        "counts": store.memories.counts(OWNER),
        "changes": store.changes.since(OWNER, after=0, limit=100_000),
        "found": {
            memory.id: [hit.key for hit in store.text.search(OWNER, [memory.text.split()[0]], limit=9, where=ANY_STATUS)]
            for memory in memories[::9]
        },
    }


def asdict_(memory: Any) -> dict[str, Any]:
    return {name: getattr(memory, name) for name in memory.__dataclass_fields__}


@contextmanager
def inside(path: Path, key: bytes = KEY, database: Path | None = None, *, write: bool = False) -> Iterator[apsw.Connection]:
    """Open a connection to the decrypted database, beside the processes that have the vault open."""
    folder = VaultFolder(path)
    with MasterKey(bytearray(key)) as master:
        secret = opening.key_for(master, read_header(folder.header).cipher)
    file = database or folder.database
    make = opening.connect_to_write(file, secret, synchronous="full", cache_kib=1024) if write else None
    connection = make or opening.connect_to_read(file, secret, cache_kib=1024)
    secret.wipe()
    try:
        yield connection
    finally:
        connection.close()


def image(path: Path, key: bytes = KEY, database: Path | None = None) -> bytes:
    """Return every page of the database in plaintext, free ones included."""
    with inside(path, key, database) as connection:
        return connection.serialize("main")


HALVES = {
    "rows without words": "SELECT count(*) FROM memories WHERE key NOT IN (SELECT memory FROM contents)",
    "words without a row": "SELECT count(*) FROM contents WHERE memory NOT IN (SELECT key FROM memories)",
    "rows not in the text index": "SELECT count(*) FROM memories WHERE key NOT IN (SELECT id FROM lexicon_docsize)",
    "text index without a row": "SELECT count(*) FROM lexicon_docsize WHERE id NOT IN (SELECT key FROM memories)",
    "rows not in the change log": "SELECT count(*) FROM memories WHERE key NOT IN"
    " (SELECT memory FROM changes WHERE what = 'add')",
    "rows without an audit entry": "SELECT count(*) FROM memories WHERE id NOT IN"
    " (SELECT subject FROM audit WHERE operation = 'add' AND ok)",
    "erased in the change log, yet there": "SELECT count(*) FROM changes WHERE what = 'erase'"
    " AND memory IN (SELECT key FROM memories)",
    "gone without an entry": "SELECT count(*) FROM changes WHERE what = 'add' AND memory NOT IN (SELECT key FROM memories)"
    " AND memory NOT IN (SELECT memory FROM changes WHERE what = 'erase')",
    "versions that do not add up": "SELECT count(*) FROM memories AS m"
    " WHERE version - 1 <> (SELECT count(*) FROM versions WHERE memory = m.key)",
    "padding left behind": "SELECT count(*) FROM padding",
    "broken references": "SELECT count(*) FROM pragma_foreign_key_check",
}


def halves(path: Path) -> dict[str, int]:
    """Count the rows that lack a part, by kind: empty, or the promise is broken."""
    with inside(path) as connection:
        found = {what: connection.execute(sql).get for what, sql in HALVES.items()}
        found["integrity"] = sum(1 for (line,) in connection.execute("PRAGMA integrity_check") if line != "ok")
    with inside(path, write=True) as connection:
        connection.execute("INSERT INTO lexicon (lexicon, rank) VALUES ('integrity-check', 0)")
    return {what: count for what, count in found.items() if count}


def files(path: Path) -> dict[str, tuple[int, str]]:
    """Return every file below a folder with its size and the hash of its bytes."""
    return {
        str(file.relative_to(path)): (file.stat().st_size, hashlib.sha256(file.read_bytes()).hexdigest())
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }


def entropy(content: bytes) -> float:
    """Return the Shannon entropy in bits per byte."""
    total = len(content)
    return -sum(count / total * math.log2(count / total) for count in Counter(content).values())


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
