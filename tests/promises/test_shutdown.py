"""Closing, signals and exit: queued writes are finished, files are tidied, no caller hangs, no core is dumped (V10, S11)."""

from __future__ import annotations

import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from promises.children import PATIENCE_S, Nursery
from promises.tiers import short_and_long
from promises.vaults_at_hand import OWNER, halves, open_vault, store_of, word

from engram.errors import EngramError
from engram.store.limits import StoreLimits


def acknowledged(printed: list[dict[str, str]]) -> list[str]:
    return [line["ack"] for line in printed if "ack" in line]


def assert_in_order(path: Path, acked: list[str]) -> None:
    """Check that the vault was closed in order: no log, no sign of a crash, every acknowledged memory stored."""
    assert not path.joinpath("vault.db-wal").exists(), "the log was left behind"
    with open_vault(path) as mem:
        assert not mem.health().crashed_before
        assert len(store_of(mem).memories.get(OWNER, acked)) == len(acked)
    assert halves(path) == {}


def test_closing_a_vault_finishes_the_writes_that_are_queued(path: Path) -> None:
    """V10: forty threads are writing; each gets an answer, and every acknowledged memory is stored."""
    mem = open_vault(path)
    acked, refused = write_from_threads_until_closed(mem.remember, mem.close, threads=40)
    assert not [error for error in refused if not isinstance(error, EngramError)]
    assert_in_order(path, acked)


@pytest.mark.parametrize("limit", [1, 3, 1000])
@short_and_long("rounds", 3, 20)
def test_no_thread_hangs_when_another_closes_the_vault(path: Path, limit: int, rounds: int) -> None:
    """V7, V10: threads that wait for room in a full queue are answered too."""
    for number in range(rounds):
        mem = open_vault(path, tuning=[StoreLimits(queue_limit=limit)])
        acked, refused = write_from_threads_until_closed(mem.remember, mem.close, threads=12, writes=3 + 7 * number)
        assert not [error for error in refused if not isinstance(error, EngramError)]
        assert_in_order(path, acked)


def write_from_threads_until_closed(remember, close, *, threads: int, writes: int = 30):  # type: ignore[no-untyped-def]
    """Write from threads, close after so many acknowledged writes, and return the ids and the errors of the threads."""
    acked: list[str] = []
    refused: list[BaseException] = []

    def write(name: int) -> None:
        try:
            for number in range(10**6):
                kept = remember(f"{word(number, f'thread{name}-')} said")
                acked.append(kept.id)
        except Exception as error:
            refused.append(error)

    crowd = [threading.Thread(target=write, args=(name,), daemon=True) for name in range(threads)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in crowd:
            thread.start()
        while len(acked) < writes and not refused:
            time.sleep(0.001)
        close()
        for thread in crowd:
            thread.join(PATIENCE_S)
    finally:
        sys.setswitchinterval(interval)
    stuck = sum(thread.is_alive() for thread in crowd)
    assert stuck == 0, f"{stuck} callers were never answered"
    return acked, refused


def test_close_returns_to_every_thread_that_calls_it_only_when_the_vault_is_closed(path: Path) -> None:
    """V10: a caller that returned from `close` may delete the folder."""
    for _ in range(5):
        mem = open_vault(path)
        for number in range(20):
            mem.remember(f"{word(number, 'several')} said")
        left: list[bool] = []

        def close(mem=mem, left=left) -> None:  # type: ignore[no-untyped-def]
            mem.close()
            left.append(path.joinpath("vault.db-wal").exists())

        crowd = [threading.Thread(target=close) for _ in range(5)]
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join(PATIENCE_S)
        assert left == [False] * 5, "close returned before the vault was closed"


def test_every_verb_of_a_closed_vault_raises_an_error_that_says_so(path: Path) -> None:
    """V10, V17: with a way out."""
    mem = open_vault(path)
    one, other = mem.remember("kept").id, mem.remember("another").id
    mem.close()
    mem.close()
    for verb in (
        lambda: mem.remember("x"),
        lambda: mem.update(one, text="x"),
        lambda: mem.forget(one),
        lambda: mem.forget(one, erase=True),
        lambda: mem.get(one),
        mem.list,
        lambda: mem.versions(one),
        lambda: mem.relate(one, other),
        mem.health,
        mem.audit,
        mem.check,
        mem.backup,
        mem.backups,
    ):
        with pytest.raises(EngramError, match="closed") as caught:
            verb()
        assert caught.value.way_out


@pytest.mark.parametrize("program", ["write_until_signalled", "write_in_threads_until_signalled"])
def test_sigterm_closes_in_order_and_ends_by_the_signal(children: Nursery, path: Path, program: str) -> None:
    """V10: at several instants, with the main thread or others writing."""
    open_vault(path).close()
    for number in range(4):
        child = children.start(program, path=str(path))
        printed = [child.line() for _ in range(1 + 5 * number)]
        child.signal(signal.SIGTERM)
        acked = acknowledged([*printed, *child.rest()])
        assert child.wait() == -signal.SIGTERM
        assert_in_order(path, acked)


@short_and_long("places", 8, 40)
def test_sigterm_at_any_line_of_a_call_does_not_hang(children: Nursery, path: Path, places: int) -> None:
    """V10: the main thread holds a lock (the queue's, a future's, ours) when the signal comes."""
    open_vault(path).close()
    child = children.start("terminate_at_step", path=str(path), step=0)
    printed = child.rest()
    total = next(line["steps"] for line in printed if "steps" in line)
    wrong, ended = [], 0
    for step in range(total // 3, total * 9 // 10, max(total // 2 // places, 1)):
        child = children.start("terminate_at_step", path=str(path), step=step)
        try:
            printed = child.rest()
            if child.wait() == 0 and "steps" in printed[-1]:
                continue  # a wait that is over at once takes fewer lines: this one was never reached
            assert child.wait() == -signal.SIGTERM
            assert_in_order(path, acknowledged(printed))
            ended += 1
        except AssertionError as error:
            child.kill()
            wrong.append(f"line {step} of {total}: {str(error).splitlines()[0]}")
            open_vault(path).close()
    assert wrong == []
    assert ended > places / 2, "most lines were never reached"


def test_ctrl_c_in_a_with_block_closes_the_vault_in_order(children: Nursery, path: Path) -> None:
    """V10: at several instants of writing."""
    open_vault(path).close()
    for number in range(4):
        child = children.start("interrupt_in_with", path=str(path))
        printed = [child.line() for _ in range(1 + 5 * number)]
        child.signal(signal.SIGINT)
        acked = acknowledged([*printed, *child.rest()])
        assert child.wait() == -signal.SIGINT
        assert_in_order(path, acked)


def test_a_program_that_ends_without_close_leaves_a_vault_that_is_closed_in_order(children: Nursery, path: Path) -> None:
    """V10: the interpreter's exit handlers close it."""
    open_vault(path).close()
    acked = acknowledged(children.run("exit_without_close", path=str(path)))
    assert len(acked) == 5
    assert_in_order(path, acked)


def test_a_fork_that_ends_does_not_harm_the_vault_of_its_parent(children: Nursery, path: Path) -> None:
    """V8, V10: a forked child inherits open files; its exit must not close, empty or unlock anything of its parent's."""
    open_vault(path).close()
    for _ in range(2):
        child = children.start("fork_while_open", path=str(path))
        printed = child.rest()
        assert child.wait() == 0
        assert next(line["child"] for line in printed if "child" in line) == 0
        assert_in_order(path, acknowledged(printed))


def test_the_process_dumps_no_core_and_cannot_be_attached_to(children: Nursery, path: Path) -> None:
    """S11: `harden_process = false` switches this off for debuggers."""
    closed = children.run("hardening", path=str(path), harden=True)[0]
    assert closed == {"core": [0, 0], "dumpable": 0}
    opened = children.run("hardening", path=str(path), harden=False)[0]
    assert opened["dumpable"] == 1


def test_the_memory_of_a_process_with_an_open_vault_belongs_to_root(children: Nursery, path: Path) -> None:
    """S11: the kernel gives /proc/PID to root once the process is not dumpable."""
    open_vault(path).close()
    child = children.start("hold_open", path=str(path))
    child.line()
    assert Path(f"/proc/{child.pid}/environ").stat().st_uid == 0
    child.tell()
    assert child.wait() == 0


def test_sigterm_leaves_a_database_of_bucket_size_with_a_neutral_date_and_closed_to_others(children: Nursery, path: Path) -> None:
    """V10, V11."""
    open_vault(path).close()
    child = children.start("write_until_signalled", path=str(path))
    for _ in range(10):
        child.line()
    child.signal(signal.SIGTERM)
    child.rest()
    child.wait()
    stat = path.joinpath("vault.db").stat()
    assert stat.st_size % (512 * 1024) == 0
    assert stat.st_mtime_ns == 86_400 * 10**9
    assert stat.st_mode & 0o777 == 0o600
