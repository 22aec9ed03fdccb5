"""The gate that every call on the store passes: deadline, latency, write queue or read pool, audit trail and receipt.

Reads use a bounded pool of connections, opened when first needed, each used by one thread at a time. In write-ahead mode a
reader never waits for a writer, and each new transaction sees all that any process has committed.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import TypeVar

import apsw

from engram.crypto.digests import hmac_sha256
from engram.deadline import acquire_in_time, current_deadline, deadline_error, deadline_passed, without_deadline
from engram.env import Env, to_micros
from engram.errors import DiskFull, EngramError, InvalidQuery, SearchTimeout, StorageError
from engram.settings import LiveSettings, Settings
from engram.store.limits import StoreLimits
from engram.store.receipts import ReceiptRequest
from engram.store.rule_ports import StoreRules
from engram.store.sqlite import connection as opening
from engram.store.sqlite import receipts
from engram.store.sqlite.audit import Audit
from engram.store.sqlite.audit import write as write_audit
from engram.store.sqlite.changes import Accesses
from engram.store.sqlite.changes import write as write_accesses
from engram.store.sqlite.connection import engram_error
from engram.store.sqlite.gaps import Questions
from engram.store.sqlite.gaps import write as write_questions
from engram.store.sqlite.padding import hide_times
from engram.store.sqlite.vault import VaultHandle
from engram.store.sqlite.writer import FileUpkeep, Work, Writer
from engram.store.validation import dated
from engram.values.health import Latency
from engram.values.identity import AuditEntry, Reader, Scope, scope_values
from engram.values.memories import Memory

T = TypeVar("T")
_BACKGROUND: ContextVar[bool] = ContextVar("engram-background", default=False)

_STEPS = 4_000
"""Instructions of SQLite's virtual machine between two checks of the deadline: about a tenth of a millisecond."""


class Gate:
    """The only way from a part of the store to the database, shared by all parts.

    Every read and write passes here, so none can miss the deadline, latency, audit entry or receipt.
    `brief`: as for `open_vault`.
    """

    def __init__(self, opened: VaultHandle, live: LiveSettings, env: Env, rules: StoreRules, *, brief: bool = False) -> None:
        limits = live.tuned(StoreLimits)
        self.opened = opened
        self.rules = rules
        opened.key.rules = rules
        self._brief = brief
        self._pid = os.getpid()
        self.closed = False
        self.checking: apsw.Connection | None = None
        self.stopped = False
        self.live = live
        self.env = env
        self.maintenance_thread = 0  # id of the thread whose calls do not count as use of the vault
        self.used_at = env.monotonic()
        self.backing_up = threading.Lock()
        self.latency = Meter(env.monotonic, limits.latency_window)
        self.audit = Audit(env, opened.audit_key, limits.audit_ring)
        self.accesses = Accesses()
        self.held_passes: dict[str, str] = {}  # pass id → name under which this process holds its lease
        self.questions = Questions()
        self.file_upkeep = FileUpkeep(opened, live, env)
        self.writer = Writer(self._connect_to_write, lambda: live.now, env, self.file_upkeep, limits)
        self.readers = Readers(self._connect_to_read, lambda: live.now, opened.first_reader, limits)

    @property
    def limits(self) -> StoreLimits:
        return self.live.tuned(StoreLimits)

    def write(
        self,
        reader: Reader,
        operation: str,
        work: Work[T],
        *,
        entries: Sequence[AuditEntry] = (),
        subject: str = "",
        count: int = 1,
        timeout: float | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> T:
        """Run `work`, its audit entries and its receipt as one commit. Raise `AlreadyDone` if the receipt is there already."""
        made = entries or [self.audit.entry(reader, operation, subject=subject, count=count)]
        keep = self.live.now.audit_rows
        digests = None if receipt is None else self.request_digests(reader, receipt)

        def transaction(connection: apsw.Connection) -> T:
            if digests is not None:
                receipts.raise_if_done(connection, digests)
            result = work(connection)
            write_audit(connection, made, keep)
            if receipt is not None and digests is not None:
                receipts.write(connection, digests, receipt.answer(result))
            return result

        result = self.writer.run(transaction, operation, timeout=timeout)
        self.audit.add_written(made)
        return result

    def request_digests(self, reader: Reader, receipt: ReceiptRequest) -> receipts.RequestDigests:
        """Return the digests under which the receipt of this request is stored."""
        now = to_micros(self.env.now())
        kept = int(self.live.now.receipt_hours * 3_600_000_000)
        name = self.receipt_name(reader, receipt.key)
        return receipts.RequestDigests(name, self.keyed_digest(receipt.request), now, now - kept)

    def receipt_name(self, reader: Reader, key: str) -> bytes:
        """Return the digest of an idempotency key and its reader: the keys of one caller mean nothing to another."""
        who = (*scope_values(reader.scope), reader.policy, reader.role)
        return self.keyed_digest("\0".join((*who, key)))

    def keyed_digest(self, text: str) -> bytes:
        return hmac_sha256(self.opened.token_key, b"receipt\0" + text.encode("utf-8", "surrogatepass"))

    @contextmanager
    def read(self, reader: Reader, operation: str) -> Iterator[apsw.Connection]:
        with self.watched(reader, operation), self.readers.use(operation) as connection:
            yield connection

    @contextmanager
    def watched(self, reader: Reader, operation: str, subject: str = "") -> Iterator[None]:
        """Time the call, count it as use of the vault, and write an audit entry if it fails."""
        if os.getpid() != self._pid:  # a fork copies no threads: a write would wait for ever
            raise StorageError("this vault was opened before the process forked.", way_out="Open it anew in the child.")
        if threading.get_ident() != self.maintenance_thread and not _BACKGROUND.get():
            self.used_at = self.env.monotonic()
        try:
            with self.latency.time(operation):
                yield
        except EngramError:
            # The id that was passed may hold any words, so only its keyed digest is stored.
            self.note(reader, operation, digest=self.audit.digest(subject) if subject else "", ok=False)
            raise

    @contextmanager
    def background(self) -> Iterator[None]:
        """Mark reads in this block as maintenance: no audit entry unless they fail, and not counted as use.

        A pass over a large vault would otherwise push readers' entries out of the audit trail. Writes still leave entries.
        """
        token = _BACKGROUND.set(True)
        try:
            yield
        finally:
            _BACKGROUND.reset(token)

    def note(
        self, reader: Reader, operation: str, *, subject: str = "", count: int = 0, digest: str = "", ok: bool = True
    ) -> None:
        if ok and _BACKGROUND.get():
            return
        waiting = self.audit.note(self.audit.entry(reader, operation, subject=subject, count=count, digest=digest, ok=ok))
        if waiting >= self.limits.audit_batch:
            self.flush_audit(wait=False)

    def flush_audit(self, *, wait: bool) -> None:
        """Write waiting audit entries, access counts and questions.

        Entries that cannot be written now are kept for the next flush, up to the length of the ring.
        """
        entries, work = self._take_waiting()
        if work is None:
            return
        try:
            if wait:
                self.writer.run(work, "writing the audit trail")
            elif not self.writer.run_later(work, "writing the audit trail"):
                self.audit.put_back(entries)
        except EngramError:
            self.audit.put_back(entries)

    def _take_waiting(self) -> tuple[list[AuditEntry], Work[None] | None]:
        """Return the waiting audit entries, and the job that writes them with counts and questions; None if nothing waits."""
        entries, asked = self.audit.take_waiting(), self.questions.take_waiting()
        if not entries and not asked:
            return [], None
        settings, now, counts = self.live.now, to_micros(self.env.now()), self.accesses.take_waiting()

        def work(connection: apsw.Connection) -> None:
            write_audit(connection, entries, settings.audit_rows)
            write_accesses(connection, counts, now)
            write_questions(connection, asked, now, self.limits.gap_rows)

        return entries, work

    def _write_audit_once(self) -> None:
        """Write waiting entries on a reading connection: a brief store that only reads starts no writing thread."""
        _, work = self._take_waiting()
        if work is None or self.opened.read_only:
            return
        try:
            with without_deadline(), self.readers.use("writing the audit trail") as connection:
                connection.execute("ROLLBACK")  # of the transaction for reading
                self.file_upkeep.write_once(connection, work)
        except OSError as error:
            raise DiskFull(f"the vault's log cannot be written ({error.strerror}).") from error

    def _connect_to_write(self) -> apsw.Connection:
        settings = self.live.now
        try:
            if self.opened.read_only:
                self._become_writable()
            return opening.connect_to_write(
                self.opened.folder.database,
                self.opened.key,
                synchronous=settings.synchronous,
                cache_kib=settings.page_cache_kib,
            )
        except OSError as error:
            raise DiskFull(f"the vault cannot be opened for writing ({error.strerror}).") from error

    def _become_writable(self) -> None:
        """Turn a read-only handle into one that writes: take the shared lock, and read through the log."""
        if not self.opened.folder.has_room_to_write():
            raise DiskFull("the vault's folder cannot be written.")
        self.opened.lock.acquire_shared(self.live.now.write_patience_s)
        self.opened.read_only = False
        self.opened.warnings[:] = [one for one in self.opened.warnings if "reading only" not in one]
        self.readers.renew()

    def _connect_to_read(self) -> apsw.Connection:
        return opening.connect_to_read(
            self.opened.folder.database,
            self.opened.key,
            cache_kib=self.live.now.page_cache_kib,
            immutable=self.opened.immutable,
        )

    def new_memory(self, memory: Memory, scope: Scope, now: datetime) -> Memory:
        """Return the memory with a new id, its scope and its dates in UTC."""
        return dated(memory, id=self.env.new_id(), scope=scope, learned_at=memory.learned_at or now, updated_at=now)

    def close(self) -> None:
        """Refuse new calls, finish queued writes, close every connection and release the lock. A second call does nothing.

        A brief store raises if its audit entries cannot be written, and is closed then too.
        """
        if self.closed or os.getpid() != self._pid:
            return
        self.closed = True
        try:
            if self._brief and not self.writer.started:
                self._write_audit_once()
            else:
                self.flush_audit(wait=False)
        finally:
            # Readers first: the last connection to close, the writer's, removes the log.
            self.readers.close(self.limits.drain_s)
            self.writer.close(self.limits.drain_s)
            self.opened.lock.release()
            if self.live.now.neutral_times:  # also if read-only: on a full disk reading leaves a log, and its date
                hide_times(self.opened.folder)
            self.opened.wipe()

    def write_state(self) -> str:
        if self.writer.damage is not None:
            return "damaged"
        return "read-only" if self.opened.read_only or self.writer.full else "open"

    def warnings(self, pressure: str) -> tuple[str, ...]:
        found = [*self.live.warnings, *self.opened.warnings]
        if self.writer.damage is not None:
            found.append(str(self.writer.damage))
        if self.writer.full or self.opened.read_only:
            found.append("nothing can be written now; reads go on")
        if pressure != "normal":
            found.append(f"memory pressure is {pressure}")
        return tuple(found)


def stop_at_deadline(connection: apsw.Connection) -> None:
    """Interrupt the connection's statements when the current deadline passes. For reads only: a write would lose its batch."""
    if (until := current_deadline()) is not None:
        connection.set_progress_handler(lambda: until.passed, _STEPS)


class Readers:
    """A bounded pool of connections for reading."""

    def __init__(
        self,
        connect: Callable[[], apsw.Connection],
        settings: Callable[[], Settings],
        first: apsw.Connection | None = None,
        limits: StoreLimits = StoreLimits(),
    ) -> None:
        """Make the pool; `first` is a connection that is already open."""
        self._connect = connect
        self._patience_s = limits.read_patience_s
        self._idle: list[apsw.Connection] = [] if first is None else [first]
        self._outdated: set[apsw.Connection] = set()
        self._limit = settings().reader_limit
        self._places = threading.BoundedSemaphore(self._limit)
        self._lock = threading.Lock()
        self._all: set[apsw.Connection] = set(self._idle)
        self.closed = False

    @property
    def idle(self) -> int:
        return len(self._idle)

    @property
    def open(self) -> int:
        return len(self._all)

    @contextmanager
    def use(self, doing: str) -> Iterator[apsw.Connection]:
        """Lend a connection inside one read transaction: all its statements see the same state of the vault."""
        if self.closed:
            raise StorageError("the vault is closed.", way_out="Open it again.")
        if not acquire_in_time(self._places, self._patience_s):
            raise SearchTimeout(f"no connection was free in time for {doing}.")
        try:
            until = current_deadline()
            if until is not None and until.passed:
                raise deadline_error(f"asking the vault for {doing}")
            connection = self._take()
            refused = sound = False
            try:
                stop_at_deadline(connection)
                connection.execute("BEGIN")
                yield connection
                sound = True
            except apsw.InterruptError as error:
                raise (
                    deadline_error(f"asking the vault for {doing}") if deadline_passed() else engram_error(error, doing)
                ) from error
            except apsw.Error as error:
                raise engram_error(error, doing) from error
            except (UnicodeEncodeError, OverflowError):
                refused = True  # raised below, outside the handler: an encoder's error in the context carries the words
            finally:
                if sound and until is not None:
                    connection.set_progress_handler(None)
                self._give_back(connection, sound)
            if refused:
                raise InvalidQuery(f"a value given to {doing} is half a character or too large a number.")
        finally:
            self._places.release()

    def close(self, patience_s: float = 0.0) -> None:
        """Refuse new reads and close all connections.

        Reads under way get `patience_s` to finish: their connections would keep the write-ahead log in use.
        """
        with self._lock:
            self.closed = True
        free = sum(self._places.acquire(timeout=patience_s) for _ in range(self._limit))
        self.renew()
        if free == self._limit:
            # No read is under way: a connection still open was lost by an interrupt between two lines of `use`.
            for connection in list(self._all):
                self._discard(connection)
        for _ in range(free):  # wakes threads that wait for a connection, so that they see that the vault is closed
            self._places.release()

    def renew(self) -> None:
        """Close all connections, those in use once they are returned; the next read opens a new one."""
        with self._lock:
            idle, self._idle = self._idle, []
            self._outdated = self._all - set(idle)
        for connection in idle:
            self._discard(connection)

    def _take(self) -> apsw.Connection:
        with self._lock:
            if self.closed:
                raise StorageError("the vault is closed.", way_out="Open it again.")
            if self._idle:
                return self._idle.pop()
        try:
            connection = self._connect()
        except apsw.Error as error:
            raise engram_error(error, "opening a connection to read") from error
        self._all.add(connection)
        return connection

    def _give_back(self, connection: apsw.Connection, sound: bool) -> None:
        """Return a connection to the pool, or close it.

        A read that failed may have left a statement open, which would pin its connection to an old state of the vault.
        """
        if sound and connection.in_transaction:
            connection.execute("ROLLBACK")
        with self._lock:
            if sound and not self.closed and connection not in self._outdated:
                self._idle.append(connection)
                return
        self._discard(connection)

    def _discard(self, connection: apsw.Connection) -> None:
        self._all.discard(connection)
        self._outdated.discard(connection)
        connection.close(True)


class Meter:
    """The latencies of the last calls of each operation; safe to use from several threads, and cheap enough to be always on."""

    def __init__(self, monotonic: Callable[[], float], window: int) -> None:
        self._monotonic = monotonic
        self._window = window
        self._seen: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def time(self, operation: str) -> Iterator[None]:
        """Record the time of a call that succeeds; the time of a failing one says nothing about speed."""
        start = self._monotonic()
        yield
        spent = self._monotonic() - start
        with self._lock:
            self._seen.setdefault(operation, deque(maxlen=self._window)).append(spent)

    def latencies(self) -> Mapping[str, Latency]:
        """Return the number of calls and the percentiles by operation."""
        with self._lock:
            seen = {operation: sorted(times) for operation, times in self._seen.items()}
        return {
            operation: Latency(len(times), _percentile(times, 0.50), _percentile(times, 0.99))
            for operation, times in sorted(seen.items())
        }


def _percentile(ordered: list[float], share: float) -> float:
    """Return the nearest-rank percentile in milliseconds."""
    return round(ordered[min(int(share * len(ordered)), len(ordered) - 1)] * 1000, 3)
