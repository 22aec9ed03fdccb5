"""The writer thread and the pool of readers: no write is lost or half done, and no caller waits for ever."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
from hand_clock import HandClock
from store.vaults import KEY, OWNER, connect

from engram.env import Env
from engram.errors import DiskFull, EngramError, SearchTimeout, VaultBusy, VaultDamaged, WriteFailed
from engram.settings import Settings
from engram.store.folder import VaultFolder
from engram.store.limits import StoreLimits
from engram.store.sqlite.gate import Readers
from engram.store.sqlite.store import SqliteStore
from engram.store.sqlite.writer import Writer, _Job
from engram.types import Memory, Reader, Scope, Status

ME = Reader(Scope(agent="rex"))
SOON = 120.0
"""Seconds: longer than anything here takes on a loaded machine; a test that waits this long has found a thread that hangs."""

OpenStore = Callable[..., SqliteStore]


class Counting:
    """What stands around the writer's transactions, counted."""

    def __init__(self) -> None:
        self.commits = 0
        self.trouble: dict[str, BaseException] = {}

    def _meet(self, where: str) -> None:
        if where in self.trouble:
            raise self.trouble.pop(where)

    def opened(self, connection: apsw.Connection) -> None:
        self._meet("opened")

    def before_commit(self, connection: apsw.Connection) -> None:
        self._meet("before_commit")

    def after_commit(self, connection: apsw.Connection) -> None:
        self.commits += 1
        self._meet("after_commit")

    def closing(self, connection: apsw.Connection) -> None:
        self._meet("closing")


class Bench:
    """A writer on a plain table of its own."""

    def __init__(self, place: Path, env: Env | None = None, **limits: Any) -> None:
        self.path = place / "numbers.db"
        self.around = Counting()
        self._connect().execute("PRAGMA journal_mode = WAL; CREATE TABLE numbers (n INTEGER PRIMARY KEY)").fetchall()
        self.writer = Writer(self._connect, Settings, env or Env(), self.around, StoreLimits(**limits))

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(str(self.path))
        connection.set_busy_timeout(100)
        return connection

    def put(self, number: int, **how: Any) -> int:
        return self.writer.run(put(number), f"putting {number}", **how)

    @property
    def numbers(self) -> list[int]:
        return [n for (n,) in self._connect().execute("SELECT n FROM numbers ORDER BY n")]

    @contextmanager
    def held_up(self) -> Iterator[threading.Event]:
        """The writer is busy with one piece of work until the event is set, or the block is left."""
        begun, go = threading.Event(), threading.Event()

        def work(connection: apsw.Connection) -> None:
            begun.set()
            assert go.wait(SOON)

        thread = threading.Thread(target=lambda: self.writer.run(work, "holding up"))
        thread.start()
        assert begun.wait(SOON)
        try:
            yield go
        finally:
            go.set()
            thread.join(SOON)


def put(number: int) -> Callable[[apsw.Connection], int]:
    def work(connection: apsw.Connection) -> int:
        connection.execute("INSERT INTO numbers VALUES (?)", (number,))
        return number

    return work


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.writer.close(0.1)


class Caller(threading.Thread):
    """Somebody who calls and waits; `outcome` is what it got."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._call = call
        self.outcome: Any = "still waiting"
        self.start()

    def run(self) -> None:
        try:
            self.outcome = self._call()
        except BaseException as error:
            self.outcome = error

    def answer(self) -> Any:
        self.join(SOON)
        assert not self.is_alive(), "left waiting for ever"
        return self.outcome


def waits_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        time.sleep(0.002)


# ── the queue ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_full_queue_makes_callers_wait_and_drops_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, queue_limit=2)
    with bench.held_up():
        callers = [Caller(lambda n=n: bench.put(n)) for n in range(40)]
        waits_for(lambda: bench.writer.depth == 2)
        assert all(caller.is_alive() for caller in callers)
        assert bench.writer.depth <= 2
    assert sorted(caller.answer() for caller in callers) == bench.numbers == list(range(40))
    bench.writer.close(2.0)


def test_queued_writes_share_one_commit(bench: Bench) -> None:
    bench.put(1000)
    before = bench.around.commits
    watcher = apsw.Connection(str(bench.path))
    with bench.held_up():
        callers = [Caller(lambda n=n: bench.put(n)) for n in range(30)]
        waits_for(lambda: bench.writer.depth == 30)
        version = watcher.execute("PRAGMA data_version").get
    assert sorted(caller.answer() for caller in callers) == list(range(30))
    assert bench.around.commits - before == 2  # the one that held them up, and all of them
    assert watcher.execute("PRAGMA data_version").get != version


def test_the_writer_keeps_no_reference_to_the_last_write(bench: Bench) -> None:
    class Words:
        pass

    made = Words()
    gone = weakref.ref(made)
    assert bench.writer.run(lambda _, words=made: words, "writing") is made
    del made
    waits_for(lambda: gone() is None)  # the writer tidies up after it has answered


def test_a_commit_holds_at_most_group_limit_writes(tmp_path: Path) -> None:
    bench = Bench(tmp_path, group_limit=10)
    with bench.held_up():
        callers = [Caller(lambda n=n: bench.put(n)) for n in range(30)]
        waits_for(lambda: bench.writer.depth == 30)
    for caller in callers:
        caller.answer()
    assert bench.around.commits == 4
    bench.writer.close(2.0)


def test_a_failing_write_leaves_the_others_of_its_commit_alone(bench: Bench) -> None:
    def half(connection: apsw.Connection) -> None:
        connection.execute("INSERT INTO numbers VALUES (777)")
        raise ValueError("half way")

    with bench.held_up():
        good = [Caller(lambda n=n: bench.put(n)) for n in (1, 2)]
        bad = [
            Caller(lambda: bench.writer.run(half, "failing half way")),
            Caller(lambda: bench.put(1)),
            Caller(lambda: bench.writer.run(lambda c: c.execute("no sql at all"), "failing")),
        ]
        more = [Caller(lambda n=n: bench.put(n)) for n in (3, 4)]
        waits_for(lambda: bench.writer.depth == 7)
    assert {caller.answer() for caller in more} == {3, 4}
    answers = [caller.answer() for caller in (*good, *bad)]
    assert sum(isinstance(answer, ValueError) for answer in answers) == 1
    assert sum(isinstance(answer, EngramError) for answer in answers) == 2  # the second 1, and what is no SQL
    assert bench.numbers == [1, 2, 3, 4]


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), MemoryError(), RuntimeError("x"), GeneratorExit()])
def test_an_exception_in_a_write_is_raised_to_its_caller(bench: Bench, error: BaseException) -> None:
    def work(connection: apsw.Connection) -> None:
        raise error

    assert Caller(lambda: bench.writer.run(work, "raising")).answer() is error
    assert Caller(lambda: bench.put(1)).answer() == 1


@pytest.mark.parametrize("where", ["opened", "before_commit", "after_commit"])
@pytest.mark.parametrize("error", [OSError(5, "input/output error"), RuntimeError("x"), apsw.BusyError("x"), DiskFull("x")])
def test_an_error_before_or_after_a_commit_is_raised_and_the_writer_goes_on(tmp_path: Path, where: str, error: Exception) -> None:
    """Padding and the length of the log are read from the file system, which may fail."""
    bench = Bench(tmp_path, full_retry_s=0.0)
    bench.around.trouble[where] = error
    answer = Caller(lambda: bench.put(1)).answer()
    assert isinstance(answer, Exception) or answer == 1
    assert bench.numbers == ([1] if answer == 1 else [])
    assert Caller(lambda: bench.put(2)).answer() == 2
    bench.writer.close(2.0)


def test_an_error_in_work_between_transactions_is_raised_to_its_caller(bench: Bench) -> None:
    def work(connection: apsw.Connection) -> None:
        raise OSError(5, "input/output error")

    assert isinstance(Caller(lambda: bench.writer.run_outside_transaction(work, "looking", None)).answer(), Exception)
    assert Caller(lambda: bench.put(2)).answer() == 2


# ── giving up ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_deadline_that_passes_before_the_write_begins_leaves_nothing(bench: Bench) -> None:
    with bench.held_up():
        for timeout in (0.05, 0.0, -1.0):
            with pytest.raises(WriteFailed, match="deadline"):
                bench.put(1, timeout=timeout)
    assert bench.put(2) == 2
    assert bench.numbers == [2]


def test_a_deadline_that_passes_while_the_queue_is_full_leaves_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, queue_limit=1)
    with bench.held_up():
        waiting = Caller(lambda: bench.put(1))
        waits_for(lambda: bench.writer.depth == 1)
        with pytest.raises(WriteFailed, match="full"):
            bench.put(2, timeout=0.05)
    assert waiting.answer() == 1
    assert bench.numbers == [1]
    bench.writer.close(2.0)


def test_a_deadline_that_passes_between_two_statements_undoes_the_write(tmp_path: Path, env: Env, clock: HandClock) -> None:
    bench = Bench(tmp_path, env)

    def slow(connection: apsw.Connection) -> None:
        connection.execute("INSERT INTO numbers VALUES (1)")
        clock.advance(60)
        connection.execute("INSERT INTO numbers VALUES (2)")

    with pytest.raises(WriteFailed, match="deadline"):
        bench.writer.run(slow, "being slow", timeout=30)
    assert bench.put(3) == 3
    assert bench.numbers == [3]
    bench.writer.close(SOON)


def test_a_deadline_that_passes_after_the_last_statement_lets_the_write_commit(
    tmp_path: Path, env: Env, clock: HandClock
) -> None:
    bench = Bench(tmp_path, env)

    def slow(connection: apsw.Connection) -> str:
        connection.execute("INSERT INTO numbers VALUES (1)")
        clock.advance(60)
        return "done"

    assert bench.writer.run(slow, "being slow", timeout=30) == "done"
    assert bench.numbers == [1]
    bench.writer.close(SOON)


def test_an_interrupt_of_the_waiting_caller_leaves_nothing(bench: Bench) -> None:
    """Ctrl-C raises an exception in the waiting thread."""
    import ctypes

    with bench.held_up():
        caller = Caller(lambda: bench.put(1, timeout=0.3))
        waits_for(lambda: bench.writer.depth == 1)
        assert caller.ident is not None
        raised = ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(caller.ident), ctypes.py_object(KeyboardInterrupt))
        assert raised == 1
        assert isinstance(caller.answer(), KeyboardInterrupt | WriteFailed)
    assert bench.put(2) == 2
    assert bench.numbers == [2]


# ── closing ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_closing_the_writer_finishes_the_queued_writes(bench: Bench) -> None:
    with bench.held_up() as go:
        callers = [Caller(lambda n=n: bench.put(n)) for n in range(20)]
        waits_for(lambda: bench.writer.depth == 20)
        closing = Caller(lambda: bench.writer.close(SOON))
        waits_for(lambda: bench.writer._closed)
        go.set()
        assert closing.answer() is None
    assert sorted(caller.answer() for caller in callers) == bench.numbers == list(range(20))


def test_writes_that_have_not_begun_when_closing_runs_out_of_time_get_an_error(bench: Bench) -> None:
    with bench.held_up() as go:
        callers = [Caller(lambda n=n: bench.put(n)) for n in range(20)]
        waits_for(lambda: bench.writer.depth == 20)
        closing = Caller(lambda: bench.writer.close(0.05))
        waits_for(lambda: bench.writer._abandon)
        go.set()
        assert closing.answer() is None
    answers = [caller.answer() for caller in callers]
    kept = sorted(answer for answer in answers if isinstance(answer, int))
    assert kept == bench.numbers
    assert all(isinstance(answer, int | WriteFailed) for answer in answers)
    assert len(kept) < 20


def test_callers_that_wait_for_a_full_queue_are_answered_when_it_closes(tmp_path: Path) -> None:
    bench = Bench(tmp_path, queue_limit=2)
    with bench.held_up() as go:
        callers = [Caller(lambda n=n: bench.put(n)) for n in range(20)]
        waits_for(lambda: bench.writer.depth == 2)
        closing = Caller(lambda: bench.writer.close(0.5))
        waits_for(lambda: bench.writer._closed)
        go.set()
        closing.answer()
    answers = [caller.answer() for caller in callers]
    assert sorted(answer for answer in answers if isinstance(answer, int)) == bench.numbers
    assert all(isinstance(answer, int | WriteFailed) for answer in answers)


def test_writers_racing_with_a_close_are_all_answered(tmp_path: Path) -> None:
    for round_ in range(15):
        place = tmp_path / str(round_)
        place.mkdir()
        bench = Bench(place, queue_limit=3)
        bench.put(-1)
        stop = threading.Event()
        kept: list[int] = []

        def hammer(base: int, bench: Bench = bench, stop: threading.Event = stop, kept: list[int] = kept) -> None:
            for n in range(base, base + 100_000):
                if stop.is_set():
                    return
                try:
                    kept.append(bench.put(n))
                except WriteFailed:
                    return

        callers = [Caller(lambda i=i: hammer(i * 100_000)) for i in range(6)]
        time.sleep(0.01)
        bench.writer.close(1.0)
        stop.set()
        assert [caller.answer() for caller in callers] == [None] * 6
        assert sorted([-1, *kept]) == bench.numbers


def test_a_closed_writer_refuses_writes(bench: Bench) -> None:
    bench.put(1)
    bench.writer.close(1.0)
    bench.writer.close(1.0)
    with pytest.raises(WriteFailed, match="closed"):
        bench.put(2)
    with pytest.raises(WriteFailed, match="closed"):
        bench.writer.run_outside_transaction(lambda c: None, "looking", None)
    assert bench.writer.run_later(put(3), "later") is False
    assert bench.numbers == [1]


def test_a_writer_that_never_wrote_closes_at_once(tmp_path: Path) -> None:
    Bench(tmp_path).writer.close(60.0)


# ── a full disk ────────────────────────────────────────────────────────────────────────────────────────────────────────


def full(connection: apsw.Connection) -> None:
    raise apsw.FullError("database or disk is full")


def test_after_a_full_disk_writes_are_refused_until_the_next_try_is_due(tmp_path: Path, clock: HandClock) -> None:
    bench = Bench(tmp_path, Env(now=clock.now, monotonic=clock.monotonic, sleep=clock.sleep), full_retry_s=5.0)
    with bench.held_up():
        callers = [Caller(lambda: bench.put(1)), Caller(lambda: bench.writer.run(full, "filling")), Caller(lambda: bench.put(2))]
        waits_for(lambda: bench.writer.depth == 3)
    assert all(isinstance(caller.answer(), DiskFull) for caller in callers)
    assert bench.numbers == []
    assert bench.writer.full
    with pytest.raises(DiskFull):
        bench.put(3)
    assert bench.writer.run_later(put(3), "later") is False
    clock.advance(5.0)
    assert bench.put(4) == 4
    assert not bench.writer.full
    assert bench.numbers == [4]
    bench.writer.close(2.0)


def test_a_damaged_database_stops_all_writing(bench: Bench) -> None:
    bench.writer.damage = VaultDamaged("a page does not verify.")
    with pytest.raises(VaultDamaged):
        bench.put(1)


def test_a_refusal_raised_often_does_not_grow(tmp_path: Path, clock: HandClock) -> None:
    """One error object raised again and again would collect the frames of every caller, and what they hold."""
    bench = Bench(tmp_path, Env(now=clock.now, monotonic=clock.monotonic, sleep=clock.sleep))
    with pytest.raises(DiskFull):
        bench.writer.run(full, "filling")
    lengths = []
    for _ in range(3):
        with pytest.raises(DiskFull) as caught:
            bench.put(1)
        lengths.append(len(traceback.extract_tb(caught.value.__traceback__)))
    assert len(set(lengths)) == 1
    bench.writer.close(2.0)


# ── with the store around it ───────────────────────────────────────────────────────────────────────────────────────────


def test_many_threads_write_through_a_short_queue(open_store: OpenStore) -> None:
    store = open_store(tuning=[StoreLimits(queue_limit=2)])
    with ThreadPoolExecutor(16) as threads:
        kept = list(threads.map(lambda n: store.memories.add(ME, [Memory(text=f"number {n}", scope=ME.scope)])[0], range(200)))
    assert store.memories.counts(ME).memories == 200
    assert len({m.key for m in kept}) == len({m.id for m in kept}) == 200
    assert store.memories.get(ME, [m.id for m in kept]) == kept


def test_reads_go_on_while_another_connection_holds_a_long_write(open_store: OpenStore, folder: VaultFolder) -> None:
    store = open_store()
    kept = store.memories.add(ME, [Memory(text="before", scope=ME.scope)])[0]
    other = connect(folder.database)
    other.execute("BEGIN IMMEDIATE; UPDATE contents SET text = 'under way'")
    with ThreadPoolExecutor(8) as threads:
        seen = list(threads.map(lambda _: store.memories.get(ME, [kept.id])[0].text, range(64)))
    assert seen == ["before"] * 64
    other.execute("ROLLBACK")
    other.close()


def test_eight_readers_read_at_once(tmp_path: Path) -> None:
    opened: list[apsw.Connection] = []

    def new() -> apsw.Connection:
        opened.append(apsw.Connection(str(tmp_path / "a.db")))
        return opened[-1]

    readers = Readers(new, Settings, limits=StoreLimits(read_patience_s=0.05))
    all_in = threading.Barrier(8)

    def read(_: int) -> bool:
        with readers.use("reading") as connection:
            all_in.wait(SOON)
            return connection.in_transaction

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(read, range(8)))
    assert (readers.open, readers.idle, len(opened)) == (8, 8, 8)
    readers.close()
    assert (readers.open, readers.idle) == (0, 0)


def test_a_read_gives_up_when_no_connection_becomes_free(open_store: OpenStore) -> None:
    store = open_store(reader_limit=2, tuning=[StoreLimits(read_patience_s=0.2)])
    kept = store.memories.add(ME, [Memory(text=f"number {n}", scope=ME.scope) for n in range(3)])
    store.vectors.put(ME, "s", {m.key: b"12345" for m in kept}, model="m", dimensions=1)
    half_read = [store.vectors.visible(ME, "s") for _ in range(2)]
    for one in half_read:
        next(one)
    with pytest.raises(SearchTimeout) as caught:
        store.memories.get(ME, [kept[0].id])
    assert caught.value.code == "E2001"
    half_read[0].close()
    assert store.memories.get(ME, [kept[0].id]) == kept[:1]


def test_a_thread_that_waits_for_a_connection_learns_at_once_that_the_vault_is_closed(bench: Bench) -> None:
    readers = Readers(bench._connect, lambda: Settings(reader_limit=1), limits=StoreLimits(read_patience_s=600.0))

    def read() -> None:
        with readers.use("reading"):
            pass

    with readers.use("reading"):
        waiting = Caller(read)
        closing = Caller(lambda: readers.close(SOON))
        waits_for(lambda: readers.closed)
    assert closing.answer() is None
    answer = waiting.answer()
    assert answer is None or "closed" in str(answer)


def test_an_interrupted_read_leaves_no_connection_on_an_old_snapshot(bench: Bench) -> None:
    """An exception between two rows (an interrupt, say) must not leave its snapshot open for the next reader."""
    readers = Readers(bench._connect, lambda: Settings(reader_limit=1))
    for n in range(10):
        bench.put(n)

    def rows(cursor: apsw.Cursor) -> Iterator[int]:
        for (n,) in cursor:
            if n == 3:
                raise KeyboardInterrupt
            yield n

    def cut_short() -> None:
        with readers.use("reading") as connection:
            list(rows(connection.execute("SELECT n FROM numbers")))

    with pytest.raises(KeyboardInterrupt):
        cut_short()
    bench.put(10)
    with readers.use("reading") as connection:
        assert connection.execute("SELECT count(*) FROM numbers").get == 11
    readers.close()


def test_every_read_sees_what_was_committed_before_it(open_store: OpenStore) -> None:
    ours, theirs = open_store(), open_store()
    for n in range(20):
        kept = ours.memories.add(ME, [Memory(text=f"word{n}", scope=ME.scope)])[0]
        assert theirs.memories.get(ME, [kept.id]) == [kept]
        assert [hit.key for hit in theirs.text.search(ME, [f"word{n}"], limit=1)] == [kept.key]


# ── other processes ────────────────────────────────────────────────────────────────────────────────────────────────────

HOLD = """
import sys, time
from pathlib import Path
import apsw
from engram.crypto.keys import MasterKey, Purpose
from engram.store.sqlite import connection as opening
path, key, seconds = sys.argv[1:]
with MasterKey(bytearray.fromhex(key)) as master:
    database = opening.key_for(master, "aegis")
connection = apsw.Connection(Path(path).as_uri(), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI)
database.give_to(connection)
connection.execute("BEGIN IMMEDIATE; INSERT INTO meta VALUES ('held', 1)")
print("held", flush=True)
time.sleep(float(seconds))
connection.execute("ROLLBACK")
connection.close()
"""


@contextmanager
def writing_elsewhere(folder: VaultFolder, seconds: float) -> Iterator[None]:
    """Another process that holds the write lock."""
    arguments = [sys.executable, "-c", HOLD, str(folder.database), KEY.hex(), str(seconds)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield
        finally:
            process.kill()


@pytest.mark.parametrize("has_written", [True, False])
def test_a_write_gives_e1006_when_another_process_writes_for_too_long(
    open_store: OpenStore, folder: VaultFolder, has_written: bool
) -> None:
    store = open_store(write_patience_s=0.6)
    if has_written:
        store.memories.add(ME, [Memory(text="before", scope=ME.scope)])
    with writing_elsewhere(folder, 600):
        with pytest.raises(VaultBusy) as caught:
            store.memories.add(ME, [Memory(text="during", scope=ME.scope)])
        assert caught.value.code == "E1006"
        assert store.memories.counts(ME).memories == has_written  # reads go on
    store.memories.add(ME, [Memory(text="after", scope=ME.scope)])
    assert "during" not in [m.text for m in store.memories.page(ME, limit=9)]


@pytest.mark.parametrize("has_written", [True, False])
def test_a_write_waits_for_another_process_that_writes(open_store: OpenStore, folder: VaultFolder, has_written: bool) -> None:
    store = open_store(write_patience_s=SOON)
    if has_written:
        store.memories.add(ME, [Memory(text="before", scope=ME.scope)])
    with writing_elsewhere(folder, 0.7):
        kept = store.memories.add(ME, [Memory(text="after", scope=ME.scope)])[0]
    assert store.memories.get(ME, [kept.id]) == [kept]


def test_a_process_killed_in_a_transaction_does_not_block_the_next_write(open_store: OpenStore, folder: VaultFolder) -> None:
    store = open_store(write_patience_s=SOON)
    store.memories.add(ME, [Memory(text="before", scope=ME.scope)])
    with writing_elsewhere(folder, 600):
        pass  # killed here, in the midst of its transaction
    store.memories.set_status(ME, store.memories.page(ME, limit=1)[0].id, Status.ARCHIVED, "fine")
    assert store.health.check(OWNER) == []


def test_a_store_closed_while_threads_use_it_answers_all_of_them(open_store: OpenStore) -> None:
    store = open_store()
    store.memories.add(ME, [Memory(text="before", scope=ME.scope)])
    stop = threading.Event()
    strange: list[BaseException] = []

    def use(n: int) -> None:
        while not stop.is_set():
            try:
                store.memories.add(ME, [Memory(text=f"number {n}", scope=ME.scope)])
                store.memories.page(ME, limit=5)
                store.text.search(ME, ["number"], limit=5)
            except EngramError as error:
                if "closed" in str(error):
                    return
                strange.append(error)
            except BaseException as error:
                strange.append(error)

    callers = [Caller(lambda n=n: use(n)) for n in range(6)]
    time.sleep(0.2)
    store.close()
    waits_for(lambda: not any(caller.is_alive() for caller in callers))
    stop.set()
    assert strange == []


def test_the_repr_of_a_write_job_does_not_show_its_result() -> None:
    job = _Job(lambda connection: None, "looking")
    job.answer(Memory(text="Lena is allergic to peanuts"))
    assert "peanuts" not in repr(job)
