"""The database file: check it, back it up, restore a backup, and salvage the rows of a damaged one.

No function overwrites a database: the old file is kept beside the backups, and the new one is renamed into place when complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import apsw

from engram.deadline import check_deadline, current_deadline, deadline_error
from engram.env import Env, from_micros, to_micros
from engram.errors import NotFound, VaultDamaged
from engram.settings import Settings
from engram.store.folder import (
    VaultFolder,
    clear_snapshots,
    discard,
    last_kept,
    name_newborn,
    neutralise,
    sync_folder,
    touch_private,
    write_private,
)
from engram.store.sqlite import migrations, text_index
from engram.store.sqlite.connection import DatabaseKey, connect_to_read, connect_to_write, engram_error
from engram.store.sqlite.gate import stop_at_deadline
from engram.store.sqlite.locks import VaultLock
from engram.store.sqlite.padding import Padding
from engram.types import Backup

_PAGES_AT_ONCE = 1_024


_TABLES: tuple[tuple[str, str], ...] = (
    ("meta", ""),
    ("scopes", "key"),
    ("spaces", "key"),
    ("turns", "key"),
    ("memories", "key"),
    ("contents", "memory"),
    ("attributes", "memory"),
    ("versions", "memory"),
    ("status_history", "memory"),
    ("embeddings", "memory"),
    ("sources", "memory"),
    ("edges", "source"),
    ("feedback", "key"),
    ("changes", "seq"),
    ("audit", "key"),
    ("working_snapshots", "scope"),
    ("episodes", "memory"),
    ("events", "memory"),
    ("participants", "memory"),
    ("skills", "memory"),
    ("skill_parts", "memory"),
    ("boxes", "key"),
    ("boxed", "memory"),
    ("questions", "key"),
    ("entities", "key"),
    ("aliases", "entity"),
    ("mentions", "memory"),
    ("entity_decisions", "key"),
    ("facts", "memory"),
    ("tokens", ""),
    ("receipts", ""),
    ("spendings", "minute"),
    ("probes", "tick"),
    ("passes", "key"),
    ("jobs", ""),
    ("dues", "memory"),
    ("undoing", "pass"),
)
"""Tables that are salvaged, in the order of references, each with the integer column that it is walked by."""

_OF_MEMORIES = (
    "contents", "attributes", "versions", "status_history", "embeddings", "sources", "feedback", "episodes", "skills", "boxed",
    "mentions", "facts", "dues", "undoing",
)  # fmt: skip
_OF_KINDS = (("events", "episodes"), ("participants", "episodes"), ("skill_parts", "skills"))

_COUNTED = ("memories", "changes", "audit", "boxes", "passes")
"""Tables whose keys are never reused."""


def check(connection: apsw.Connection, *, limit: int = 20) -> list[str]:
    """Return the problems of the file in SQLite's words (page numbers and table names, no content)."""
    problems: list[str] = []
    try:
        rows = [str(row[0]) for row in connection.execute(f"PRAGMA quick_check({int(limit)})")]
        problems += [line for row in rows for line in row.splitlines() if line != "ok" and not line.startswith("***")]
        if not problems:
            connection.execute("INSERT INTO lexicon (lexicon, rank) VALUES ('integrity-check', 0)")
    except apsw.ReadOnlyError:
        return problems  # only a connection that may write can check the text index
    except apsw.InterruptError as error:  # an interrupted check says nothing about the file
        raise deadline_error("the file was checked") from error
    except apsw.Error as error:
        problems.append(engram_error(error, "checking").message)
    return problems


def unread_pages(connection: apsw.Connection) -> list[str]:
    """Read every text once, which verifies the authentication tag of every page of `contents`; return the error, if any."""
    try:
        connection.execute("SELECT count(*), sum(length(text)) FROM contents").fetchall()
    except apsw.InterruptError as error:
        raise deadline_error("everything was read") from error
    except apsw.Error as error:
        return [engram_error(error, "reading everything").message]
    return []


def back_up(folder: VaultFolder, source: apsw.Connection, key: DatabaseKey, settings: Settings, env: Env) -> Path:
    """Copy the database, still encrypted, while readers and writers go on; return the path. One process at a time does this."""
    folder.backups.mkdir(mode=0o700, exist_ok=True)
    folder.backups.chmod(0o700)
    turn = VaultLock(folder.turn, env)
    turn.acquire_exclusive(settings.write_patience_s)
    try:
        _remove_unfinished(folder)
        target = folder.backups / f"{max((number for number, _ in _numbered(folder)), default=0) + 1:06d}.db"
        part = target.with_suffix(".part")
        try:
            _copy(source, part, key, settings, env.now())
            write_private(target.with_suffix(".toml"), folder.header.read_bytes())
            part.replace(target)
        except BaseException:
            _remove_unfinished(folder)  # most of all on a full disk
            raise
        neutralise(target)
        sync_folder(folder.backups)
        for _, path in sorted(_numbered(folder))[: -settings.backups_kept]:
            discard(path)
            path.with_suffix(".toml").unlink(missing_ok=True)
    finally:
        turn.release()
    return target


def _copy(source: apsw.Connection, part: Path, key: DatabaseKey, settings: Settings, now: datetime) -> None:
    """Copy page by page; if an unused page is damaged, copy only the pages in use."""
    copy = connect_to_write(part, key, synchronous="full", cache_kib=settings.page_cache_kib)
    try:
        copy_pages(source, copy)
    except apsw.CorruptError:
        copy.close()
        discard(part)
        touch_private(part)
        source.execute("PRAGMA query_only = OFF")  # SQLite counts the new file as a change
        source.execute("VACUUM INTO ?", (str(part),)).fetchall()
        source.execute("PRAGMA query_only = ON")
        copy = connect_to_write(part, key, synchronous="full", cache_kib=settings.page_cache_kib)
    try:
        copy.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('backed_up_at', ?)", (to_micros(now),))
        copy.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        copy.close()


def _remove_unfinished(folder: VaultFolder) -> None:
    """Remove the files of an interrupted backup."""
    for path in folder.backups.glob("*.part*"):
        path.unlink(missing_ok=True)
    for path in folder.backups.glob("*.toml"):
        if not path.with_suffix(".db").exists():
            path.unlink(missing_ok=True)


def backups(folder: VaultFolder, key: DatabaseKey) -> list[Backup]:
    """Return all backups, newest first, each opened and checked."""
    immutable = not folder.has_room_to_write()
    return [_inspect(number, path, key, immutable) for number, path in sorted(_numbered(folder), reverse=True)]


def restore(folder: VaultFolder, key: DatabaseKey, number: int | None, settings: Settings) -> Backup:
    """Replace the database by a backup: the given number, or the newest intact one. Needs the exclusive lock."""
    known = backups(folder, key)
    chosen = [backup for backup in known if backup.intact and (number is None or backup.number == number)]
    if not chosen:
        which = "an intact backup" if number is None else f"an intact backup number {number}"
        raise NotFound(f"there is no {which.removeprefix('an ')} in {folder.backups}.", way_out="See `engram backups`.")
    source = connect_to_read(chosen[0].path, key, cache_kib=settings.page_cache_kib)
    try:
        _replace_database(folder, key, settings, lambda target: copy_pages(source, target))
    finally:
        source.close()
    return chosen[0]


def salvage(folder: VaultFolder, key: DatabaseKey, settings: Settings, env: Env) -> dict[str, int]:
    """Write every readable row into a new database and put it in place; the old file is kept.

    Returns the number of rows saved by table, and of those lost. Needs the exclusive lock.
    """
    if not folder.database.exists() or not folder.database.stat().st_size:  # opening it would create an empty one
        raise VaultDamaged("the database is missing or empty: no row can be saved.", way_out="Run `engram restore-backup`.")
    try:
        source = connect_to_write(folder.database, key, synchronous="full", cache_kib=settings.page_cache_kib)
    except apsw.Error as error:
        raise VaultDamaged(
            "the page that lists the tables does not verify, so no row can be read.",
            way_out="Run `engram restore-backup`.",
        ) from error
    figures: dict[str, int] = {}
    try:
        _replace_database(folder, key, settings, lambda target: figures.update(_save_rows(source, target, settings, env)))
    finally:
        source.close()
    return figures


def _replace_database(
    folder: VaultFolder, key: DatabaseKey, settings: Settings, fill: Callable[[apsw.Connection], object]
) -> None:
    """Create a new database, fill it and put it in place of the old one, which is kept among the backups."""
    part = folder.newborn.with_suffix(".part")  # renamed to `newborn` only when complete
    discard(part)
    discard(folder.newborn)
    fresh = connect_to_write(part, key, synchronous="full", cache_kib=settings.page_cache_kib)
    try:
        fill(fresh)
        problems = check(fresh)
        if problems:
            raise VaultDamaged(f"the new file does not verify: {problems[0]}")
        fresh.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        fresh.close()
    clear_snapshots(folder)  # made from the rows of the old database
    part.replace(folder.newborn)
    sync_folder(folder.path)
    if folder.database.exists():
        folder.backups.mkdir(mode=0o700, exist_ok=True)
        kept = folder.backups / f"replaced-{last_kept(folder) + 1:03d}.db"
        folder.database.replace(kept)
        neutralise(kept)
        sync_folder(folder.backups)
    name_newborn(folder)


def copy_pages(source: apsw.Connection, target: apsw.Connection) -> None:
    """Copy all pages: at once, or in steps if there is a deadline, from the state that the source's transaction sees."""
    pages = -1 if current_deadline() is None else _PAGES_AT_ONCE
    with target.backup("main", source, "main") as backup:
        while not backup.step(pages):
            check_deadline("pages were copied")


def _save_rows(source: apsw.Connection, target: apsw.Connection, settings: Settings, env: Env) -> dict[str, int]:
    migrations.migrate(target, env.now())
    target.execute("PRAGMA foreign_keys = OFF")
    figures: dict[str, int] = {}
    present = {str(name) for (name,) in source.execute("SELECT name FROM sqlite_schema")}
    with target:
        for table, key in ((table, key) for table, key in _TABLES if table in present):  # older vaults have fewer
            saved = 0
            for row in _readable_rows(source, table, key):
                marks = ", ".join("?" * len(row))
                target.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", row)
                saved += 1
            figures[table] = saved
        figures["lost"] = _drop_orphans(target)
        figures["memories"] = int(target.execute("SELECT count(*) FROM memories").get)
        text_index.reindex(target)
        _continue_sequences(source, target)
        Padding(lambda: settings, env).pad(target)
    target.execute("PRAGMA foreign_keys = ON")
    return figures


def _continue_sequences(source: apsw.Connection, target: apsw.Connection) -> None:
    """Copy the sequences, so that no key is reused, not even one whose row was erased or lost."""
    for name, number in _range(source, "SELECT name, seq FROM sqlite_sequence", ()) or ():
        if name in _COUNTED:
            target.execute("DELETE FROM sqlite_sequence WHERE name = ? AND seq < ?", (name, number))
            target.execute(
                "INSERT INTO sqlite_sequence (name, seq) SELECT ?1, ?2 WHERE ?1 NOT IN (SELECT name FROM sqlite_sequence)",
                (name, number),
            )


def _drop_orphans(target: apsw.Connection) -> int:
    """Delete memories without words, words without memory, and rows that refer to them; return the number of memories lost."""
    lost = target.execute(
        "SELECT count(*) FROM memories WHERE key NOT IN (SELECT memory FROM contents) OR scope NOT IN (SELECT key FROM scopes)"
    ).get
    lost += target.execute("SELECT count(*) FROM contents WHERE memory NOT IN (SELECT key FROM memories)").get
    target.execute("DELETE FROM memories WHERE key NOT IN (SELECT memory FROM contents) OR scope NOT IN (SELECT key FROM scopes)")
    for table, column in (
        *((table, "memory") for table in _OF_MEMORIES),
        ("edges", "source"),
        ("edges", "target"),
        ("undoing", "coalesce(other, memory)"),
    ):
        target.execute(f"DELETE FROM {table} WHERE {column} NOT IN (SELECT key FROM memories)")
    for table, whole in _OF_KINDS:
        target.execute(f"DELETE FROM {table} WHERE memory NOT IN (SELECT memory FROM {whole})")
    target.execute("DELETE FROM undoing WHERE pass NOT IN (SELECT key FROM passes)")
    target.execute("DELETE FROM questions WHERE scope NOT IN (SELECT key FROM scopes)")
    target.execute("DELETE FROM boxed WHERE box NOT IN (SELECT key FROM boxes)")
    target.execute("DELETE FROM entity_decisions WHERE scope NOT IN (SELECT key FROM scopes)")
    target.execute("DELETE FROM aliases WHERE entity NOT IN (SELECT key FROM entities)")
    target.execute("UPDATE mentions SET entity = NULL WHERE entity NOT IN (SELECT key FROM entities)")
    target.execute("DELETE FROM sources WHERE turn NOT IN (SELECT key FROM turns)")
    target.execute("DELETE FROM embeddings WHERE space NOT IN (SELECT key FROM spaces)")
    target.execute("DELETE FROM feedback WHERE scope NOT IN (SELECT key FROM scopes) OR space NOT IN (SELECT key FROM spaces)")
    return int(lost)


def _readable_rows(source: apsw.Connection, table: str, key: str) -> Iterator[tuple[apsw.SQLiteValue, ...]]:
    """Yield every row that can be read. A range that fails is halved until only single keys fail."""
    if not key:
        yield from _range(source, f"SELECT * FROM {table}", ()) or ()
        return
    waiting = [(-1, _highest(source, table, key))]
    while waiting:
        low, high = waiting.pop()
        rows = _range(source, f"SELECT * FROM {table} WHERE {key} > ? AND {key} <= ? ORDER BY {key}", (low, high))
        if rows is not None:
            yield from rows
        elif high - low > 1:
            middle = (low + high) // 2
            waiting += [(middle, high), (low, middle)]


def _range(source: apsw.Connection, sql: str, values: tuple[int, ...]) -> list[tuple[apsw.SQLiteValue, ...]] | None:
    try:
        return source.execute(sql, values).fetchall()
    except apsw.Error:
        return None


def _highest(source: apsw.Connection, table: str, key: str) -> int:
    for sql in (f"SELECT max({key}) FROM {table}", "SELECT max(seq) FROM sqlite_sequence"):
        try:
            return int(source.execute(sql).get or 0)
        except apsw.Error:
            continue
    return 1 << 24


def _numbered(folder: VaultFolder) -> Iterator[tuple[int, Path]]:
    for path in folder.backups.glob("*.db"):
        if path.stem.isdigit():
            yield int(path.stem), path


def _inspect(number: int, path: Path, key: DatabaseKey, immutable: bool) -> Backup:
    """Open and check one backup. `immutable`: no file can be written beside it."""
    try:
        connection = connect_to_read(path, key, cache_kib=1024, immutable=immutable)
    except apsw.Error:
        return Backup(number, path, None, 0, intact=False)
    try:
        made_at = connection.execute("SELECT value FROM meta WHERE name = 'backed_up_at'").get
        memories = connection.execute("SELECT count(*) FROM memories").get
        stop_at_deadline(connection)
        intact = not check(connection)
    except apsw.Error:
        return Backup(number, path, None, 0, intact=False)
    finally:
        connection.close()
        if not immutable:
            for suffix in ("-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            neutralise(path)
    return Backup(number, path, None if made_at is None else from_micros(made_at), int(memories), intact)
