"""The one thread of this process that writes.

Callers hand over a piece of work and wait; what waits together is committed together (group commit), each piece under
its own savepoint, so that one that fails takes nothing else with it. The queue is bounded and callers block when it is
full: nothing is dropped. A caller that gives up before its turn leaves no trace; work whose deadline passes is stopped between
two of its statements and undone; once it is part of a commit, its caller gets the outcome.

What the writer does around its transactions: padding, the log, file times (§10.4, §10.6).
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
from engram.store.sqlite.connection import explain
from engram.store.sqlite.locks import take_turn
from engram.store.sqlite.padding import Silence, fold_in_if_free, hide_times
from engram.store.sqlite.vault import Opened
from engram.values.frozen import field, mutable

log = Log("engram.store.writer")

T = TypeVar("T")
Work = Callable[[apsw.Connection], T]


class Around(Protocol):
    """What happens around the writer's transactions: before each commit, and after it."""

    def opened(self, connection: apsw.Connection) -> None: ...

    def before_commit(self, connection: apsw.Connection) -> None: ...

    def after_commit(self, connection: apsw.Connection) -> None: ...

    def closing(self, connection: apsw.Connection) -> None: ...


@mutable
class _Job:
    work: Work[Any]
    doing: str
    aside: bool = False
    until: Deadline | None = None
    _claimed: threading.Lock = field(default_factory=threading.Lock)  # by the writer that begins it, or the caller who gives up
    _begun: bool = False
    _over: threading.Event = field(default_factory=threading.Event)
    _outcome: Any = field(default=None, repr=False)  # may be anybody's words

    def begins(self) -> bool:
        """From now on its caller waits for the outcome; False if the caller has given up. It may be asked more than once."""
        self._begun = self._begun or self._claimed.acquire(blocking=False)
        return self._begun and not self._over.is_set()

    def give_up(self) -> bool:
        """False if it has begun, so that its outcome is to be waited for."""
        return self._claimed.acquire(blocking=False)

    def answer(self, outcome: Any) -> None:
        """What it made, or the error it met."""
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
    """Stop between two statements when the deadline passes. One that is under way is not interrupted: where it writes, SQLite
    would undo the whole transaction, which is others' too."""
    if until is None:
        yield
        return
    connection.exec_trace = lambda *_: not until.passed
    try:
        yield
    except apsw.ExecTraceAbort:
        raise WriteFailed("time ran out while this was written.") from None
    finally:
        connection.exec_trace = None


class Writer:
    """Made cheap: the thread and its connection come with the first write."""

    def __init__(
        self,
        connect: Callable[[], apsw.Connection],
        settings: Callable[[], Settings],
        env: Env,
        around: Around,
        limits: StoreLimits = StoreLimits(),
    ) -> None:
        self._connect = connect
        self._settings = settings
        self._limits = limits
        self._env = env
        self._around = around
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
        """Is the vault read-only for now because nothing could be written?"""
        return self._refuse is not None

    def run(self, work: Work[T], doing: str, *, timeout: float | None = None) -> T:
        """Do `work` in a transaction; returns its result once that is durable."""
        job = _Job(work, doing, until=deadline_within(timeout, self._env.monotonic))
        self._accept(job)
        outcome: T = self._wait_for(job)
        return outcome

    def aside(self, work: Work[T], doing: str, late: T) -> T:
        """Do `work` on the writer's connection between transactions. When the deadline passes it goes on, and this is `late`."""
        job = _Job(work, doing, aside=True)
        with without_deadline():
            self._accept(job)
        outcome: T = late if not wait_for(job.waits) else self._wait_for(job)
        return outcome

    def _wait_for(self, job: _Job) -> Any:
        try:
            if not wait_for(job.waits, job.until) and job.give_up():
                raise WriteFailed(f"time ran out before {job.doing} had its turn.")
            return job.outcome()  # if its transaction is under way: a moment more, and the outcome is known
        except BaseException:
            job.give_up()  # an interrupt while waiting; without effect if the job has run
            raise

    def later(self, work: Work[Any], doing: str) -> bool:
        """Queue `work` without waiting; False if there is no room or no writing now."""
        try:
            self._refuse_if_needed()
            if not self._places.acquire(blocking=False):
                return False
            self._put(_Job(work, doing))
        except EngramError:
            return False
        return True

    def close(self, drain_s: float) -> None:
        """Take no more, finish what is queued within `drain_s`, tidy up, end the thread."""
        with self._lock:  # nothing is queued after the None, because `_put` holds the lock too
            self._closed = True
            thread = self._thread
            self._queue.put(None)
        if thread is None:
            return
        thread.join(drain_s)
        if thread.is_alive():
            self._abandon = True  # what has not begun is answered with an error, not silently lost
            thread.join()

    def _accept(self, job: _Job) -> None:
        self._refuse_if_needed()
        if not acquire_in_time(self._places, None, job.until):
            raise WriteFailed(f"the queue was full and time ran out before {job.doing} had its turn.")
        self._put(job)

    def _put(self, job: _Job) -> None:
        """Queue a job that has a place. Whoever waited for the place while the vault was closed hears of it here."""
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
        # A new error each time: one that is raised again and again gathers the frames of all its callers.
        if self.damage is not None:
            raise VaultDamaged(self.damage.message, way_out=self.damage.way_out)
        if self._refuse is not None and self._env.monotonic() < self._refuse_until:
            raise DiskFull(self._refuse.message, way_out=self._refuse.way_out)

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._live, name="engram-writer", daemon=True)
            self._thread.start()

    def _live(self) -> None:
        connection: apsw.Connection | None = None
        while True:
            batch, last = self._gather(self._queue.get())
            if batch:
                connection = self._serve(connection, batch)
            batch.clear()  # what was written last is not held until something else is
            if last:
                break
        if connection is not None:
            try:
                self._around.closing(connection)
            except Exception as error:  # noqa: BLE001  closing goes on: everything acknowledged is durable
                log.warning("tidying up while closing was cut short: %s", _as_ours(error, "closing").code)
            connection.close()

    def _gather(self, first: _Job | None) -> tuple[list[_Job], bool]:
        """The jobs that share the next commit, and whether the end has come."""
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
        """Commit one batch; every future in it is answered, whatever happens."""
        try:
            connection = connection or self._open()
            outcomes = self._commit(connection, [job for job in batch if not job.aside])
            outcomes += [(job, self._apart(connection, job)) for job in batch if job.aside and job.begins()]
        except Exception as error:  # noqa: BLE001  the job runner: its thread outlives whatever a batch meets
            self._fail(connection, batch, _as_ours(error, batch[0].doing))
            return connection
        self._recovered()
        for job, outcome in outcomes:
            job.answer(outcome)
        self._after(connection)
        return connection

    def _open(self) -> apsw.Connection:
        connection = self._connect()
        try:
            self._around.opened(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _commit(self, connection: apsw.Connection, batch: list[_Job]) -> list[tuple[_Job, Any]]:
        """What became of each job that still has a caller."""
        if not batch:
            return []
        self._begin(connection)
        outcomes = [(job, self._one(connection, job)) for job in batch if job.begins()]
        if all(isinstance(outcome, BaseException) for _, outcome in outcomes):
            connection.execute("ROLLBACK")
            return outcomes
        self._around.before_commit(connection)
        connection.execute("COMMIT")
        return outcomes

    def _begin(self, connection: apsw.Connection) -> None:
        """Wait for our turn among processes, in short tries so that none starves behind a long sleeper."""
        deadline = self._env.monotonic() + self._settings().write_patience_s
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except apsw.BusyError:
                if self._abandon or self._env.monotonic() >= deadline:
                    raise

    def _one(self, connection: apsw.Connection, job: _Job) -> Any:
        """Run one job under its savepoint. An error that ended the whole transaction ends the batch."""
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

    def _apart(self, connection: apsw.Connection, job: _Job) -> Any:
        try:
            return job.work(connection)
        except BaseException as error:  # noqa: BLE001  as above
            return _answer(error, job.doing)

    def _fail(self, connection: apsw.Connection | None, batch: list[_Job], error: EngramError) -> None:
        if connection is not None and connection.in_transaction:
            connection.execute("ROLLBACK")
        if isinstance(error, DiskFull):
            if self._refuse is None and connection is not None:  # where nothing ever could be written, `health` says so
                log.error("%s: the vault is read-only until there is room again", error.code)
            self._refuse = error
            self._refuse_until = self._env.monotonic() + self._limits.full_retry_s
        for job in batch:
            if job.begins():
                job.answer(error)

    def _recovered(self) -> None:
        if self._refuse is not None:
            log.warning("writing works again")
            self._refuse = None

    def _after(self, connection: apsw.Connection) -> None:
        try:
            self._around.after_commit(connection)
        except Exception as error:  # noqa: BLE001  the write is durable and answered; tidying can wait
            log.warning("folding the log in was put off: %s", _as_ours(error, "checkpointing").code)


def _as_ours(error: Exception, doing: str) -> EngramError:
    if isinstance(error, EngramError):
        return error
    if isinstance(error, apsw.Error):
        return explain(error, doing)
    if isinstance(error, OSError):
        return DiskFull(f"the file system refused ({error.strerror}) while {doing}.")
    return WriteFailed(f"something unforeseen ({type(error).__name__}) happened while {doing}.")


def _answer(error: BaseException, doing: str) -> BaseException:
    """The caller's answer. An encoder's error carries the words it could not encode, so it is not passed on."""
    if isinstance(error, UnicodeEncodeError | OverflowError):
        return InvalidContent(
            f"a value given to {doing} is half a character or too large a number.",
            way_out="Pass whole characters and 64-bit numbers.",
        )
    return explain(error, doing) if isinstance(error, apsw.Error) else error


def _ends_everything(error: BaseException) -> bool:
    """A full disk or a damaged page concerns every job of the batch, not the one that met it."""
    return isinstance(error, apsw.Error) and isinstance(explain(error, ""), DiskFull | VaultDamaged)


_PAGES_LEFT = "the pages could not be rewritten, so traces may be left in them (encrypted): erase again once there is room."
_LOG_STILL_READ = "a reader was still using the log, so it keeps the erased pages (encrypted) until that reader is done."


_BRIEF_LOG_PAGES = 16  # room for one transaction with a few audit entries, whichever pages they fall on


class Tides:
    def __init__(self, opened: Opened, live: LiveSettings, env: Env) -> None:
        self._opened = opened
        self._live = live
        self._env = env
        self._limits = live.tuned(StoreLimits)
        self._silence = Silence(lambda: live.now, env, self._limits)
        self._log_pages = 0

    def opened(self, connection: apsw.Connection) -> None:
        connection.set_wal_hook(self._grew)
        self._silence.prime(connection, self._opened.folder.wal)

    def fold_in(self, connection: apsw.Connection) -> bool:
        """Empty the log of what it held; False if a reader still uses it."""
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:
            return False
        try:
            self._silence.prime(connection, self._opened.folder.wal)
        except apsw.Error as error:  # what was asked for is done; the length of the log can wait
            log.warning("the log was not made to its full length: %s", explain(error, "priming").code)
        return True

    def scrub(self, connection: apsw.Connection) -> str:
        """Rewrite every page, because `secure_delete` does not reach the copies that moving cells about leaves in them.

        Returns what could not be done, as a sentence; empty if all was.
        """
        try:
            take_turn(connection, "VACUUM", self._live.now.write_patience_s, self._env)
            take_turn(connection, "BEGIN IMMEDIATE", self._live.now.write_patience_s, self._env)
            self._silence.settle(connection)
            connection.execute("COMMIT")
        except apsw.Error as error:  # the rows are gone; what is left of them in the pages is told in the report
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            log.warning("the pages were not rewritten: %s", explain(error, "rewriting").code)
            return _PAGES_LEFT
        return "" if self.fold_in(connection) else _LOG_STILL_READ

    def before_commit(self, connection: apsw.Connection) -> None:
        keep = self._limits.change_log_rows
        connection.execute("DELETE FROM changes WHERE seq <= (SELECT max(seq) FROM changes) - ?", (keep,))
        self._silence.settle(connection)

    def after_commit(self, connection: apsw.Connection) -> None:
        if self._log_pages >= self._limits.wal_pages:
            fold_in_if_free(connection)
        if self._live.now.neutral_times:
            hide_times(self._opened.folder)

    def write_once(self, connection: apsw.Connection, work: Work[None]) -> None:
        """Commit `work` on a reading connection that is closed next, for a brief store: opening a second connection and writing
        the log to its full length would take longer than all that it reads.

        The commit is synced when the log is folded in: by closing, or by another process that has the vault open."""
        opening.allow_changes(connection)
        opening.sync_commits(connection, "normal")
        connection.wal_autocheckpoint(self._limits.wal_pages)
        take_turn(connection, "BEGIN IMMEDIATE", self._live.now.write_patience_s, self._env)
        self._silence.lengthen(self._opened.folder.wal, _BRIEF_LOG_PAGES)
        work(connection)
        self.before_commit(connection)
        connection.execute("COMMIT")

    def closing(self, connection: apsw.Connection) -> None:
        take_turn(connection, "BEGIN IMMEDIATE", self._limits.drain_s, self._env)
        self._silence.shrink(connection)
        connection.execute("COMMIT")
        # Not TRUNCATE: others may have the vault open, and the log would show their single writes. The last connection
        # to close removes it.
        fold_in_if_free(connection)

    def _grew(self, connection: apsw.Connection, database: str, pages: int) -> int:
        self._log_pages = pages
        return apsw.SQLITE_OK
