"""Connections for reading: at most so many, opened when first needed, each used by one thread at a time.

In write-ahead mode a reader never waits for a writer, and each new statement sees what any process has committed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import apsw

from engram.deadline import acquire_in_time, current_deadline, deadline_error, deadline_passed
from engram.errors import InvalidQuery, SearchTimeout, StorageError
from engram.settings import Settings
from engram.store.sqlite.binding import explain

_STEPS = 4_000
"""Instructions of SQLite's machine between two looks at the deadline: about a tenth of a millisecond."""


def stop_in_time(connection: apsw.Connection) -> None:
    """A statement that is under way ends when the deadline passes; one that only reads leaves nothing behind."""
    if (until := current_deadline()) is not None:
        connection.set_progress_handler(lambda: until.passed, _STEPS)


class Readers:
    def __init__(
        self, connect: Callable[[], apsw.Connection], settings: Callable[[], Settings], first: apsw.Connection | None = None
    ) -> None:
        """first: a connection that is open already."""
        self._connect = connect
        self._settings = settings
        self._idle: list[apsw.Connection] = [] if first is None else [first]
        self._outdated: set[apsw.Connection] = set()
        self._limit = settings().reader_limit
        self._places = threading.BoundedSemaphore(self._limit)
        self._lock = threading.Lock()
        self._all: set[apsw.Connection] = set(self._idle)
        self._closed = False

    @property
    def idle(self) -> int:
        return len(self._idle)

    @property
    def open(self) -> int:
        return len(self._all)

    @contextmanager
    def use(self, doing: str) -> Iterator[apsw.Connection]:
        """A connection inside one read transaction: all statements see the same state of the vault."""
        if self._closed:
            raise StorageError("the vault is closed.", way_out="Open it again.")
        if not acquire_in_time(self._places, self._settings().read_patience_s):
            raise SearchTimeout(f"no connection was free in time for {doing}.")
        try:
            until = current_deadline()
            if until is not None and until.passed:
                raise deadline_error(f"asking the vault for {doing}")
            connection = self._take()
            refused = sound = False
            try:
                stop_in_time(connection)
                connection.execute("BEGIN")
                yield connection
                sound = True
            except apsw.InterruptError as error:
                raise (deadline_error(f"asking the vault for {doing}") if deadline_passed() else explain(error, doing)) from error
            except apsw.Error as error:
                raise explain(error, doing) from error
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
        """Take no more; wait this long for reads that are under way, whose connections would keep the log in use."""
        with self._lock:
            self._closed = True
        free = sum(self._places.acquire(timeout=patience_s) for _ in range(self._limit))
        self.renew()
        if free == self._limit:
            # Nobody reads: what is still open was lost by an interrupt between two lines of `use`.
            for connection in list(self._all):
                self._let_go(connection)
        for _ in range(free):  # a thread that waits for a connection learns at once that the vault is closed
            self._places.release()

    def renew(self) -> None:
        """Let go of all connections, those in use when they come back; the next read opens anew."""
        with self._lock:
            idle, self._idle = self._idle, []
            self._outdated = self._all - set(idle)
        for connection in idle:
            self._let_go(connection)

    def _take(self) -> apsw.Connection:
        with self._lock:
            if self._closed:
                raise StorageError("the vault is closed.", way_out="Open it again.")
            if self._idle:
                return self._idle.pop()
        try:
            connection = self._connect()
        except apsw.Error as error:
            raise explain(error, "opening a connection to read") from error
        self._all.add(connection)
        return connection

    def _give_back(self, connection: apsw.Connection, sound: bool) -> None:
        """A read that was cut short may have left a statement open, which would hold its connection in the past."""
        if sound and connection.in_transaction:
            connection.execute("ROLLBACK")
        with self._lock:
            if sound and not self._closed and connection not in self._outdated:
                self._idle.append(connection)
                return
        self._let_go(connection)

    def _let_go(self, connection: apsw.Connection) -> None:
        self._all.discard(connection)
        self._outdated.discard(connection)
        connection.close(True)
