"""The store on SQLite: every verb of the protocol, each with its reader's visibility, its audit entry and its timing.

This class joins the parts (writer, readers, statements, silence, audit) and decides nothing that they decide.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

import apsw

from engram.env import Env, from_micros, to_micros
from engram.errors import DiskFull, EngramError, InvalidQuery, StorageError, VaultDamaged
from engram.guard.keys import wipe
from engram.guard.process import rss_bytes
from engram.guard.scopes import readable, require_owner, require_writable, require_writer, writable
from engram.settings import LiveSettings
from engram.store.admission import (
    bounded,
    check_edges,
    check_memory,
    check_status,
    check_terms,
    check_vectors,
    dated,
)
from engram.store.meter import Meter
from engram.store.protocol import Filter
from engram.store.sqlite import care, memories, schema
from engram.store.sqlite import open as opening
from engram.store.sqlite.audit import Audit
from engram.store.sqlite.audit import read as read_audit
from engram.store.sqlite.audit import write as write_audit
from engram.store.sqlite.readers import Readers
from engram.store.sqlite.silence import hide_times
from engram.store.sqlite.tides import Opened, Tides
from engram.store.sqlite.writer import Work, Writer
from engram.types import (
    AuditEntry,
    Change,
    Counts,
    Edge,
    Health,
    Memory,
    Page,
    Reader,
    Report,
    Role,
    Status,
    StatusChange,
    TextHit,
    Version,
)

log = logging.getLogger("engram.store")
T = TypeVar("T")

_FIXED = {"id", "key", "scope", "version", "learned_at", "updated_at", "status"}
"""What `update` may not touch: identity and place never change, the rest has verbs of its own."""


class SqliteStore:
    """Made by `vault.open_vault`."""

    def __init__(self, opened: Opened, live: LiveSettings, env: Env) -> None:
        settings = live.now
        self._opened = opened
        self._closed = False
        self._live = live
        self._env = env
        self._backing_up = threading.Lock()
        self._meter = Meter(env.monotonic, settings.latency_window)
        self._audit = Audit(env, opened.audit_key, settings.audit_ring)
        self._tides = Tides(opened, live, env)
        self._writer = Writer(self._connect_to_write, lambda: live.now, env, self._tides)
        self._readers = Readers(self._connect_to_read, lambda: live.now)

    # ── writing ────────────────────────────────────────────────────────────────────────────────────────────────────

    def add(self, reader: Reader, drafts: Sequence[Memory], *, timeout: float | None = None) -> list[Memory]:
        """Keep new memories, all or none; returns them with ids, keys and dates."""
        with self._watched(reader, "add"):
            settings = self._live.now
            for draft in drafts:
                check_memory(draft, settings)
                require_writable(reader, draft.scope)
            now = self._env.now()
            ready = [
                replace(draft, id=draft.id or self._env.new_id(), learned_at=draft.learned_at or now, updated_at=now, version=1)
                for draft in map(dated, drafts)
            ]
            if not ready:
                return []
            return self._write(
                reader,
                "add",
                lambda connection: [memories.insert(connection, memory) for memory in ready],
                entries=[
                    self._audit.entry(reader, "add", subject=memory.id, count=1, digest=self._audit.digest(memory.text))
                    for memory in ready
                ],
                timeout=timeout,
            )

    def update(self, reader: Reader, memory_id: str, changes: Mapping[str, object], *, timeout: float | None = None) -> Memory:
        """Change a memory; an earlier wording stays as a version."""
        with self._watched(reader, "update", memory_id):
            wrong = sorted(set(changes) & _FIXED | (set(changes) - set(Memory.__dataclass_fields__)))
            if wrong:
                raise InvalidQuery(f"a memory's {wrong[0]!r} cannot be changed by an update.")

            def work(connection: apsw.Connection) -> Memory:
                old = memories.one(connection, writable(reader), memory_id)
                version = old.version + ("text" in changes and changes["text"] != old.text)
                new = replace(old, **changes, version=version, updated_at=self._env.now())  # type: ignore[arg-type]
                check_memory(new, self._live.now)
                new = dated(new)
                memories.rewrite(connection, old, new)
                return new

            return self._write(reader, "update", work, subject=memory_id, timeout=timeout)

    def set_status(self, reader: Reader, memory_id: str, status: Status, reason: str, *, timeout: float | None = None) -> Memory:
        return self.set_statuses(reader, [memory_id], status, reason, timeout=timeout)[0]

    def set_statuses(
        self, reader: Reader, ids: Sequence[str], status: Status, reason: str, *, timeout: float | None = None
    ) -> list[Memory]:
        """Change the status of memories, all or none."""
        with self._watched(reader, "status"):
            check_status(status, reason, self._live.now)
            now = self._env.now()

            def work(connection: apsw.Connection) -> list[Memory]:
                return [self._move(connection, reader, memory_id, status, reason, now) for memory_id in dict.fromkeys(ids)]

            entries = [self._audit.entry(reader, f"status:{status}", subject=memory_id, count=1) for memory_id in ids]
            return self._write(reader, "status", work, entries=entries, timeout=timeout)

    def _move(
        self, connection: apsw.Connection, reader: Reader, memory_id: str, status: Status, reason: str, now: datetime
    ) -> Memory:
        old = memories.one(connection, writable(reader), memory_id)
        if old.status is status:
            return old
        new = replace(old, status=status, updated_at=now)
        memories.rewrite(connection, old, new, reason)
        return new

    def erase(self, reader: Reader, ids: Sequence[str], *, timeout: float | None = None) -> Report:
        """Remove memories so that no word of them is left in the database, its log or any backup made later."""
        with self._watched(reader, "erase"):

            def work(connection: apsw.Connection) -> list[Memory]:
                doomed = [memories.one(connection, writable(reader), memory_id) for memory_id in dict.fromkeys(ids)]
                for memory in doomed:
                    memories.wipe_out(connection, memory)
                return doomed

            entries = [self._audit.entry(reader, "erase", subject=memory_id, count=1) for memory_id in dict.fromkeys(ids)]
            gone = self._write(reader, "erase", work, entries=entries, timeout=timeout)
            notes = [] if self._writer.aside(self._tides.scrub, "rewriting the pages") else [_LOG_STILL_READ]
            older = sum(1 for _ in self._opened.folder.backups.glob("*.db"))
            if older:
                notes.append(f"{older} backups made before this still hold what was erased; delete them if they must not.")
            return Report(
                operation="erase", ids=tuple(memory.id for memory in gone), counts={"memories": len(gone)}, notes=tuple(notes)
            )

    def relate(self, reader: Reader, edges: Sequence[Edge], *, timeout: float | None = None) -> int:
        with self._watched(reader, "relate"):
            check_edges(edges)
            return self._write(
                reader,
                "relate",
                lambda connection: memories.put_edges(connection, writable(reader), edges, self._env.now()),
                count=len(edges),
                timeout=timeout,
            )

    def put_vectors(self, reader: Reader, space: str, vectors: Mapping[int, bytes], *, model: str, dimensions: int) -> int:
        with self._watched(reader, "put_vectors"):
            require_writer(reader)
            check_vectors(vectors, dimensions)
            return self._write(
                reader,
                "put_vectors",
                lambda connection: memories.put_vectors(connection, writable(reader), space, vectors, model, dimensions),
                count=len(vectors),
            )

    # ── reading ────────────────────────────────────────────────────────────────────────────────────────────────────

    def get(self, reader: Reader, ids: Sequence[str]) -> list[Memory]:
        """The visible ones among `ids`, in that order."""
        with self._read(reader, "get") as connection:
            found = memories.by_ids(connection, readable(reader), ids)
        for memory in found:
            self._note(reader, "get", subject=memory.id, count=1)
        if not found:
            self._note(reader, "get")
        return found

    def fetch(self, reader: Reader, keys: Sequence[int]) -> list[Memory]:
        with self._read(reader, "fetch") as connection:
            found = memories.by_keys(connection, readable(reader), keys)
        self._note(reader, "fetch", count=len(found))
        return found

    def page(self, reader: Reader, *, limit: int, cursor: str | None = None, where: Filter = Filter()) -> Page:
        """Newest first."""
        bounded(limit, self._live.now.page_limit, "a page")
        before = None if cursor is None else _key_of(cursor)
        with self._read(reader, "list") as connection:
            found = memories.page(connection, readable(reader), where, before=before, limit=limit + 1)
        self._note(reader, "list", count=min(len(found), limit))
        more = len(found) > limit
        return Page(tuple(found[:limit]), str(found[limit - 1].key) if more else None)

    def search_text(self, reader: Reader, terms: Sequence[str], *, limit: int, where: Filter = Filter()) -> list[TextHit]:
        """Memories that hold any of the terms, best first."""
        check_terms(terms)
        if not terms:
            return []
        bounded(limit, self._live.now.page_limit, "a search")
        with self._read(reader, "search") as connection:
            found = memories.search_text(connection, readable(reader), where, terms, limit)
        self._note(reader, "search", count=len(found), digest=self._audit.digest(" ".join(terms)))
        return found

    def vectors(self, reader: Reader, space: str, *, where: Filter = Filter()) -> Iterator[tuple[int, bytes]]:
        """The stored vectors this reader may search among."""
        with self._read(reader, "vectors") as connection:
            self._note(reader, "vectors")
            yield from memories.vectors(connection, readable(reader), where, space)

    def edges(self, reader: Reader, ids: Sequence[str]) -> list[Edge]:
        with self._read(reader, "edges") as connection:
            found = memories.edges_at(connection, readable(reader), ids) if ids else []
        self._note(reader, "edges", count=len(found))
        return found

    def versions(self, reader: Reader, memory_id: str) -> list[Version]:
        with self._read(reader, "versions") as connection:
            found = memories.versions(connection, readable(reader), memory_id)
        self._note(reader, "versions", subject=memory_id, count=len(found))
        return found

    def status_history(self, reader: Reader, memory_id: str) -> list[StatusChange]:
        with self._read(reader, "status_history") as connection:
            found = memories.status_history(connection, readable(reader), memory_id)
        self._note(reader, "status_history", subject=memory_id, count=len(found))
        return found

    def counts(self, reader: Reader) -> Counts:
        with self._read(reader, "counts") as connection:
            return memories.counts(connection, readable(reader))

    def changes(self, reader: Reader, *, after: int, limit: int) -> list[Change]:
        """The change log after a point: keys and verbs only, for whoever may see the whole vault's rhythm."""
        with self._watched(reader, "changes"):
            require_owner(reader, "the change log")
        bounded(limit, self._live.now.change_log_rows, "the change log")
        with self._read(reader, "changes") as connection:
            found = connection.execute("SELECT seq, memory, what FROM changes WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit))
            return [Change(seq, key, what) for seq, key, what in found]

    def audit(self, reader: Reader, *, limit: int) -> list[AuditEntry]:
        """Newest first: one's own entries, or the owner's view of all."""
        bounded(limit, self._live.now.audit_rows, "the audit trail")
        self._flush_audit(wait=True)
        with self._read(reader, "audit") as connection:
            return read_audit(connection, None if reader.role is Role.OWNER else reader.scope, limit)

    # ── care ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def unchecked(self) -> bool:
        """Was the vault too large to be verified before it was opened?"""
        return self._opened.unchecked

    def check(self, reader: Reader) -> list[str]:
        """Read and verify the whole file; what is wrong, or nothing. Damage found stops all writing."""
        with self._watched(reader, "check"):
            require_owner(reader, "checking the vault")
        with self._read(reader, "check") as connection:
            problems = care.check(connection) or care.unread_pages(connection)
        if problems:
            self._writer.damage = VaultDamaged(f"the vault is damaged: {problems[0]}")
            log.error("%s: a check found %d problems; the vault is read-only", self._writer.damage.code, len(problems))
        return problems

    def back_up(self, reader: Reader) -> care.Backup:
        """Make a backup now."""
        with self._watched(reader, "backup"):
            require_owner(reader, "making a backup")
            with self._backing_up, self._read(reader, "backup") as connection:
                upto = connection.execute("SELECT coalesce(max(seq), 0) FROM changes").get
                connection.execute("ROLLBACK")  # a backup brings its own transaction
                try:
                    path = care.back_up(self._opened.folder, connection, self._opened.key, self._live.now, self._env)
                except OSError as error:
                    raise DiskFull(f"the backup could not be written ({error.strerror}).") from error
            made = next(b for b in self.backups(reader) if b.path == path)
            self._write(
                reader,
                "backup",
                lambda connection: connection.execute(
                    "INSERT OR REPLACE INTO meta (name, value) VALUES ('last_backup', ?), ('last_backup_seq', ?)",
                    (to_micros(made.made_at or self._env.now()), upto),
                ).fetchall(),
            )
        return made

    def backup_due(self) -> bool:
        """Is the last backup old, and has anything changed since?"""
        hours = self._live.now.backup_hours
        if not hours or self._opened.read_only:
            return False
        with self._readers.use("looking up the last backup") as connection:
            made = _meta(connection, "last_backup")
            upto = _meta(connection, "last_backup_seq") or 0
            latest = connection.execute("SELECT coalesce(max(seq), 0) FROM changes").get
        # Either way: a clock that was set back must not put the next backup off for years.
        old = made is None or abs(to_micros(self._env.now()) - made) >= hours * 3_600_000_000
        return old and int(latest) > upto

    def backups(self, reader: Reader) -> list[care.Backup]:
        require_owner(reader, "looking into backups")
        if self._closed:
            raise StorageError("the vault is closed.", way_out="Open it again.")
        return care.backups(self._opened.folder, self._opened.key)

    def health(self, reader: Reader) -> Health:
        """The figures of V19 as this process sees them."""
        settings = self._live.now
        counts = self.counts(reader)
        with self._readers.use("health") as connection:
            made = _meta(connection, "last_backup")
        folder = self._opened.folder
        rss = rss_bytes()
        mib = rss / 2**20
        pressure = "critical" if mib >= settings.ram_critical_mib else "elevated" if mib >= settings.ram_warning_mib else "normal"
        return Health(
            path=str(folder.path),
            format=schema.VERSION,
            cipher=self._opened.key.cipher,
            counts=counts,
            latencies=self._meter.latencies(),
            queue_depth=self._writer.depth,
            queue_limit=self._writer.limit,
            readers_idle=self._readers.idle,
            readers_open=self._readers.open,
            rss_bytes=rss,
            pressure=pressure,
            vault_bytes=folder.database.stat().st_size,
            wal_bytes=folder.wal.stat().st_size if folder.wal.exists() else 0,
            pending_embeddings=counts.memories - counts.embeddings,
            degradation=self._degradation(),
            crashed_before=self._opened.crashed_before,
            last_backup=None if made is None else from_micros(made),
            backups=sum(1 for path in folder.backups.glob("*.db") if path.stem.isdigit()),
            warnings=self._warnings(pressure),
        )

    def close(self) -> None:
        """Stop intake, drain, tidy, let go. Closing twice is closing once."""
        if self._closed:
            return
        self._closed = True
        self._flush_audit(wait=False)
        self._readers.close(
            self._live.now.drain_s
        )  # before the writer, whose connection is the last one out and takes the log with it
        self._writer.close(self._live.now.drain_s)
        if self._live.now.neutral_times and not self._opened.read_only:
            hide_times(self._opened.folder)
        self._opened.lock.release()
        self._opened.key.wipe()
        wipe(self._opened.audit_key)

    # ── the one path ───────────────────────────────────────────────────────────────────────────────────────────────

    def _write(
        self,
        reader: Reader,
        operation: str,
        work: Work[T],
        *,
        entries: Sequence[AuditEntry] = (),
        subject: str = "",
        count: int = 1,
        timeout: float | None = None,
    ) -> T:
        """Run `work` and its audit entries as one commit."""
        made = entries or [self._audit.entry(reader, operation, subject=subject, count=count)]
        keep = self._live.now.audit_rows

        def both(connection: apsw.Connection) -> T:
            result = work(connection)
            write_audit(connection, made, keep)
            return result

        result = self._writer.run(both, operation, timeout=timeout)
        self._audit.saw(made)
        return result

    @contextmanager
    def _read(self, reader: Reader, operation: str) -> Iterator[apsw.Connection]:
        with self._watched(reader, operation), self._readers.use(operation) as connection:
            yield connection

    @contextmanager
    def _watched(self, reader: Reader, operation: str, subject: str = "") -> Iterator[None]:
        """Time the call; a refusal or failure leaves an entry too."""
        try:
            with self._meter.time(operation):
                yield
        except EngramError:
            # What was passed as an id may be anything, words included: only its keyed hash is kept.
            self._note(reader, operation, digest=self._audit.digest(subject) if subject else "", ok=False)
            raise

    def _note(
        self, reader: Reader, operation: str, *, subject: str = "", count: int = 0, digest: str = "", ok: bool = True
    ) -> None:
        waiting = self._audit.note(self._audit.entry(reader, operation, subject=subject, count=count, digest=digest, ok=ok))
        if waiting >= self._live.now.audit_batch:
            self._flush_audit(wait=False)

    def _flush_audit(self, *, wait: bool) -> None:
        """Write the entries that wait. What cannot be written now waits on, within the ring's length."""
        entries = self._audit.take_waiting()
        if not entries:
            return
        keep = self._live.now.audit_rows

        def work(connection: apsw.Connection) -> None:
            write_audit(connection, entries, keep)

        try:
            if wait:
                self._writer.run(work, "writing the audit trail")
            elif not self._writer.later(work, "writing the audit trail"):
                self._audit.put_back(entries)
        except EngramError:
            self._audit.put_back(entries)

    def _connect_to_write(self) -> apsw.Connection:
        settings = self._live.now
        try:
            if self._opened.read_only:
                self._become_writable()
            return opening.writing(
                self._opened.folder.database,
                self._opened.key,
                synchronous=settings.synchronous,
                cache_kib=settings.page_cache_kib,
            )
        except OSError as error:
            raise DiskFull(f"the vault cannot be opened for writing ({error.strerror}).") from error

    def _become_writable(self) -> None:
        """What was open for reading only is opened for the first write: join the others, and read with the log from now on."""
        if not self._opened.folder.has_room_to_write():
            raise DiskFull("the vault's folder cannot be written.")
        self._opened.lock.share(self._live.now.write_patience_s)
        self._opened.read_only = False
        self._opened.warnings[:] = [one for one in self._opened.warnings if "reading only" not in one]
        self._readers.renew()

    def _connect_to_read(self) -> apsw.Connection:
        return opening.reading(
            self._opened.folder.database,
            self._opened.key,
            cache_kib=self._live.now.page_cache_kib,
            immutable=self._opened.immutable,
        )

    def _degradation(self) -> str:
        if self._writer.damage is not None:
            return "damaged"
        return "read-only" if self._opened.read_only or self._writer.full else "none"

    def _warnings(self, pressure: str) -> tuple[str, ...]:
        found = [*self._live.warnings, *self._opened.warnings]
        if self._writer.damage is not None:
            found.append(str(self._writer.damage))
        if self._writer.full or self._opened.read_only:
            found.append("nothing can be written now; reads go on")
        if pressure != "normal":
            found.append(f"memory pressure is {pressure}")
        return tuple(found)


_LOG_STILL_READ = "a reader was still using the log, so it keeps the erased pages (encrypted) until that reader is done."


def _meta(connection: apsw.Connection, name: str) -> int | None:
    value = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).get
    return None if value is None else int(value)


_CURSOR_DIGITS = 40


def _key_of(cursor: object) -> int:
    if not isinstance(cursor, str) or not cursor.isascii() or not cursor.isdigit() or len(cursor) > _CURSOR_DIGITS:
        raise InvalidQuery("that cursor was not made by a listing of this vault.")
    return min(int(cursor), (1 << 63) - 1)
