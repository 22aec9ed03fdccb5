"""The one thread of this process that writes, and the upkeep of the vault's files around its commits.

Callers queue a job and wait. Jobs that wait together share one commit (group commit), each under its own savepoint, so that a
job that fails takes no other with it. The queue is bounded and callers block when it is full: no write is dropped. A job whose
caller gives up before it begins is never run; a job whose deadline passes is stopped between two of its statements and rolled
back; a job that is part of a commit always reports its outcome.

`FileUpkeep` pads the database, checkpoints the log and hides file times (§10.4, §10.6).
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import apsw

from engram.deadline import Deadline, acquire_in_time, deadline_within, wait_for, without_deadline
from engram.env import Env
from engram.errors import DiskFull, EngramError, InvalidContent, VaultDamaged, WriteFailed
from engram.log import Log
from engram.settings import LiveSettings, Settings
from engram.store.limits import StoreLimits
from engram.store.sqlite import connection as opening
from engram.store.sqlite.connection import engram_error
from engram.store.sqlite.locks import begin_with_retry
from engram.store.sqlite.padding import Padding, checkpoint_if_free, hide_times
from engram.store.sqlite.vault import VaultHandle
from engram.values.frozen import field, mutable

log = Log("engram.store.writer")

_PAGES_LEFT = "the pages could not be rewritten, so traces may be left in them (encrypted): erase again once there is room."
_LOG_STILL_READ = "a reader was still using the log, so it keeps the erased pages (encrypted) until that reader is done."

_BRIEF_LOG_PAGES = 16  # room for one transaction with a few audit entries, whichever pages they fall on

T = TypeVar("T")
Work = Callable[[apsw.Connection], T]


class CommitHooks(Protocol):
    """Callbacks around the writer's connection and its commits."""

    def opened(self, connection: apsw.Connection) -> None: ...

    def before_commit(self, connection: apsw.Connection) -> None: ...

    def after_commit(self, connection: apsw.Connection) -> None: ...

    def closing(self, connection: apsw.Connection) -> None: ...


@mutable
class _Job:
    """Work that waits for the writing thread, and its outcome."""

    work: Work[Any]
    doing: str
    outside: bool = False
    until: Deadline | None = None
    _claimed: threading.Lock = field(default_factory=threading.Lock)  # taken by the writer to begin, or by the caller to give up
    _begun: bool = False
    _over: threading.Event = field(default_factory=threading.Event)
    _outcome: Any = field(default=None, repr=False)  # may hold the words of a memory

    def begins(self) -> bool:
        """Claim the job for the writer; False if its caller has given up or it is finished. May be called more than once."""
        self._begun = self._begun or self._claimed.acquire(blocking=False)
        return self._begun and not self._over.is_set()

    def give_up(self) -> bool:
        """Withdraw the job; False if it has begun, so that the caller must wait for its outcome."""
        return self._claimed.acquire(blocking=False)

    def answer(self, outcome: Any) -> None:
        """Finish the job with its result or its error."""
        self._outcome = outcome
        self._over.set()

    def waits(self, seconds: float) -> bool:
        return self._over.wait(seconds)

    def outcome(self) -> Any:
        self._over.wait()
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        return self._outcome


@contextmanager
def _until(connection: apsw.Connection, until: Deadline | None) -> Iterator[None]:
    """Stop between two statements when the deadline passes.

    A statement under way is not interrupted: SQLite would roll back the whole transaction, with the other jobs in it.
    """
    if until is None:
        yield
        return
    connection.exec_trace = lambda *_: not until.passed
    try:
        yield
    except apsw.ExecTraceAbort:
        raise WriteFailed("the deadline passed during this write.") from None
    finally:
        connection.exec_trace = None


class Writer:
    """The queue of writes and its thread. The thread and its connection are made with the first write."""

    def __init__(
        self,
        connect: Callable[[], apsw.Connection],
        settings: Callable[[], Settings],
        env: Env,
        hooks: CommitHooks,
        limits: StoreLimits = StoreLimits(),
    ) -> None:
        self._connect = connect
        self._settings = settings
        self._limits = limits
        self._env = env
        self._hooks = hooks
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self.limit = limits.queue_limit
        self._places = threading.Semaphore(self.limit)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._abandon = False
        self._refuse: DiskFull | None = None
        self._refuse_until = 0.0
        self.damage: VaultDamaged | None = None

    @property
    def depth(self) -> int:
        return self._queue.qsize()

    @property
    def started(self) -> bool:
        """True once a write was accepted: the thread runs."""
        return self._thread is not None

    @property
    def full(self) -> bool:
        """True while writes are refused because the disk was full."""
        return self._refuse is not None

    def run(self, work: Work[T], doing: str, *, timeout: float | None = None) -> T:
        """Run `work` in a transaction and return its result once the commit is durable."""
        job = _Job(work, doing, until=deadline_within(timeout, self._env.monotonic))
        self._accept(job)
        outcome: T = self._wait_for(job)
        return outcome

    def run_outside_transaction(self, work: Work[T], doing: str, late: T) -> T:
        """Run `work` on the writer's connection between transactions.

        If the deadline passes first, return `late`; the work goes on.
        """
        job = _Job(work, doing, outside=True)
        with without_deadline():
            self._accept(job)
        outcome: T = late if not wait_for(job.waits) else self._wait_for(job)
        return outcome

    def _wait_for(self, job: _Job) -> Any:
        try:
            if not wait_for(job.waits, job.until) and job.give_up():
                raise WriteFailed(f"the deadline passed before {job.doing} began.")
            return job.outcome()  # its transaction is under way and will end soon
        except BaseException:
            job.give_up()  # an interrupt while waiting; without effect if the job has run
            raise

    def run_later(self, work: Work[Any], doing: str) -> bool:
        """Queue `work` without waiting; False if the queue is full or writes are refused."""
        try:
            self._refuse_if_needed()
            if not self._places.acquire(blocking=False):
                return False
            self._put(_Job(work, doing))
        except EngramError:
            return False
        return True

    def close(self, drain_s: float) -> None:
        """Refuse new jobs, finish queued ones within `drain_s`, checkpoint and end the thread."""
        with self._lock:  # nothing is queued after the None, because `_put` holds the lock too
            self._closed = True
            thread = self._thread
            self._queue.put(None)
        if thread is None:
            return
        thread.join(drain_s)
        if thread.is_alive():
            self._abandon = True  # jobs that have not begun fail with an error instead of being lost
            thread.join()

    def _accept(self, job: _Job) -> None:
        self._refuse_if_needed()
        if not acquire_in_time(self._places, None, job.until):
            raise WriteFailed(f"the write queue stayed full until the deadline passed, so {job.doing} did not begin.")
        self._put(job)

    def _put(self, job: _Job) -> None:
        """Queue a job that has a place. Raises if the vault was closed while the caller waited for the place."""
        try:
            with self._lock:
                self._refuse_if_needed()
                self._start()
                self._queue.put(job)
        except BaseException:
            self._places.release()
            raise

    def _refuse_if_needed(self) -> None:
        if self._closed:
            raise WriteFailed("the vault is closed.", way_out="Open it again.")
        # A new error each time: an exception raised repeatedly collects the frames of all its callers.
        if self.damage is not None:
            raise VaultDamaged(self.damage.message, way_out=self.damage.way_out)
        if self._refuse is not None and self._env.monotonic() < self._refuse_until:
            raise DiskFull(self._refuse.message, way_out=self._refuse.way_out)

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="engram-writer", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        connection: apsw.Connection | None = None
        while True:
            batch, last = self._gather(self._queue.get())
            if batch:
                connection = self._serve(connection, batch)
            batch.clear()  # or the last results would stay in memory until the next write
            if last:
                break
        if connection is not None:
            try:
                self._hooks.closing(connection)
            except Exception as error:  # noqa: BLE001  closing goes on: everything acknowledged is durable
                log.warning("the final checkpoint failed; the next session makes it: %s", _to_engram_error(error, "closing").code)
            connection.close()

    def _gather(self, first: _Job | None) -> tuple[list[_Job], bool]:
        """Return the jobs of the next commit, and True if the writer is to end after it."""
        batch: list[_Job] = []
        job: _Job | None = first
        limit = self._limits.group_limit
        while job is not None:
            self._places.release()
            if self._abandon and job.begins():
                job.answer(WriteFailed("the vault was closed before this write began."))
            elif not self._abandon:
                batch.append(job)
            if len(batch) >= limit:
                return batch, False
            try:
                job = self._queue.get_nowait()
            except queue.Empty:
                return batch, False
        return batch, True

    def _serve(self, connection: apsw.Connection | None, batch: list[_Job]) -> apsw.Connection | None:
        """Commit one batch; every job in it gets an outcome, also if the commit fails."""
        try:
            connection = connection or self._open()
            outcomes = self._commit(connection, [job for job in batch if not job.outside])
            outcomes += [(job, self._run_outside(connection, job)) for job in batch if job.outside and job.begins()]
        except Exception as error:  # noqa: BLE001  the job runner: its thread outlives whatever a batch meets
            self._fail(connection, batch, _to_engram_error(error, batch[0].doing))
            return connection
        self._recovered()
        for job, outcome in outcomes:
            job.answer(outcome)
        self._after(connection)
        return connection

    def _open(self) -> apsw.Connection:
        connection = self._connect()
        try:
            self._hooks.opened(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _commit(self, connection: apsw.Connection, batch: list[_Job]) -> list[tuple[_Job, Any]]:
        """Run and commit jobs; return those that still have a caller, each with its result or error."""
        if not batch:
            return []
        self._begin(connection)
        outcomes = [(job, self._run_job(connection, job)) for job in batch if job.begins()]
        if all(isinstance(outcome, BaseException) for _, outcome in outcomes):
            connection.execute("ROLLBACK")
            return outcomes
        self._hooks.before_commit(connection)
        connection.execute("COMMIT")
        return outcomes

    def _begin(self, connection: apsw.Connection) -> None:
        """Begin a transaction, retrying while another process writes, in short waits so that no process starves."""
        deadline = self._env.monotonic() + self._settings().write_patience_s
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except apsw.BusyError:
                if self._abandon or self._env.monotonic() >= deadline:
                    raise

    def _run_job(self, connection: apsw.Connection, job: _Job) -> Any:
        """Run one job under its savepoint. An error that ended the transaction fails the whole batch."""
        connection.execute("SAVEPOINT job")
        try:
            with _until(connection, job.until):
                result = job.work(connection)
        except BaseException as error:
            if _ends_everything(error):
                raise
            if not connection.in_transaction:
                raise WriteFailed(f"the transaction ended early while {job.doing}.") from error
            connection.execute("ROLLBACK TO job")
            result = _answer(error, job.doing)
        connection.execute("RELEASE job")
        return result

    def _run_outside(self, connection: apsw.Connection, job: _Job) -> Any:
        try:
            return job.work(connection)
        except BaseException as error:  # noqa: BLE001  as above
            return _answer(error, job.doing)

    def _fail(self, connection: apsw.Connection | None, batch: list[_Job], error: EngramError) -> None:
        if connection is not None and connection.in_transaction:
            connection.execute("ROLLBACK")
        if isinstance(error, DiskFull):
            if self._refuse is None and connection is not None:  # a vault that was never writable says so in `health`
                log.error("%s: the vault is read-only until the disk has room", error.code)
            self._refuse = error
            self._refuse_until = self._env.monotonic() + self._limits.full_retry_s
        for job in batch:
            if job.begins():
                job.answer(error)

    def _recovered(self) -> None:
        if self._refuse is not None:
            log.warning("the disk has room again: the vault accepts writes")
            self._refuse = None

    def _after(self, connection: apsw.Connection) -> None:
        try:
            self._hooks.after_commit(connection)
        except Exception as error:  # noqa: BLE001  the write is durable and answered; the next commit tries again
            log.warning("a checkpoint failed and is retried later: %s", _to_engram_error(error, "checkpointing").code)


def _to_engram_error(error: Exception, doing: str) -> EngramError:
    if isinstance(error, EngramError):
        return error
    if isinstance(error, apsw.Error):
        return engram_error(error, doing)
    if isinstance(error, OSError):
        return DiskFull(f"the file system refused ({error.strerror}) while {doing}.")
    return WriteFailed(f"an unexpected error ({type(error).__name__}) occurred while {doing}.")


def _answer(error: BaseException, doing: str) -> BaseException:
    """Return the error for the caller. An encoder's error carries the words it could not encode, so it is replaced."""
    if isinstance(error, UnicodeEncodeError | OverflowError):
        return InvalidContent(
            f"a value given to {doing} is half a character or too large a number.",
            way_out="Pass whole characters and 64-bit numbers.",
        )
    return engram_error(error, doing) if isinstance(error, apsw.Error) else error


def _ends_everything(error: BaseException) -> bool:
    """Return True for a full disk or a damaged page, which concern every job of the batch."""
    return isinstance(error, apsw.Error) and isinstance(engram_error(error, ""), DiskFull | VaultDamaged)


class FileUpkeep:
    """Padding, checkpoints and file times around the writer's commits."""

    def __init__(self, opened: VaultHandle, live: LiveSettings, env: Env) -> None:
        self._opened = opened
        self._live = live
        self._env = env
        self._limits = live.tuned(StoreLimits)
        self._padding = Padding(lambda: live.now, env, self._limits)
        self._log_pages = 0

    def opened(self, connection: apsw.Connection) -> None:
        connection.set_wal_hook(self._grew)
        self._padding.prime(connection, self._opened.folder.wal)

    def checkpoint(self, connection: apsw.Connection) -> bool:
        """Copy the log into the database and truncate it; False if a reader still uses it."""
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:
            return False
        try:
            self._padding.prime(connection, self._opened.folder.wal)
        except apsw.Error as error:  # the checkpoint is done; only the length of the log is missing
            log.warning("the log could not be extended to its full length: %s", engram_error(error, "priming").code)
        return True

    def scrub(self, connection: apsw.Connection) -> str:
        """Rewrite every page: `secure_delete` does not reach the copies that moved cells leave in pages.

        Returns a sentence about what could not be done, or "".
        """
        try:
            begin_with_retry(connection, "VACUUM", self._live.now.write_patience_s, self._env)
            begin_with_retry(connection, "BEGIN IMMEDIATE", self._live.now.write_patience_s, self._env)
            self._padding.pad(connection)
            connection.execute("COMMIT")
        except apsw.Error as error:  # the rows are gone; the report names the traces that may be left in pages
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            log.warning("the pages were not rewritten: %s", engram_error(error, "rewriting").code)
            return _PAGES_LEFT
        return "" if self.checkpoint(connection) else _LOG_STILL_READ

    def before_commit(self, connection: apsw.Connection) -> None:
        keep = self._limits.change_log_rows
        connection.execute("DELETE FROM changes WHERE seq <= (SELECT max(seq) FROM changes) - ?", (keep,))
        self._padding.pad(connection)

    def after_commit(self, connection: apsw.Connection) -> None:
        if self._log_pages >= self._limits.wal_pages:
            checkpoint_if_free(connection)
        if self._live.now.neutral_times:
            hide_times(self._opened.folder)

    def write_once(self, connection: apsw.Connection, work: Work[None]) -> None:
        """Commit `work` on a reading connection that is closed next, for a brief store: opening a second connection and writing
        the log to its full length would take longer than all that it reads.

        The commit is synced at the next checkpoint: by closing, or by another process that has the vault open.
        """
        opening.allow_changes(connection)
        opening.sync_commits(connection, "normal")
        connection.wal_autocheckpoint(self._limits.wal_pages)
        begin_with_retry(connection, "BEGIN IMMEDIATE", self._live.now.write_patience_s, self._env)
        self._padding.lengthen(self._opened.folder.wal, _BRIEF_LOG_PAGES)
        work(connection)
        self.before_commit(connection)
        connection.execute("COMMIT")

    def closing(self, connection: apsw.Connection) -> None:
        begin_with_retry(connection, "BEGIN IMMEDIATE", self._limits.drain_s, self._env)
        self._padding.shrink(connection)
        connection.execute("COMMIT")
        # Not TRUNCATE: other processes may have the vault open, and a short log would show their single writes by its size.
        # The last connection to close removes it.
        checkpoint_if_free(connection)

    def _grew(self, connection: apsw.Connection, database: str, pages: int) -> int:
        self._log_pages = pages
        return apsw.SQLITE_OK
