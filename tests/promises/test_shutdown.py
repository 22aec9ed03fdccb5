"""The end, however it comes: what is queued is written, files are tidied, nobody hangs, nothing dumps (V10, S11)."""

from __future__ import annotations

import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from promises.children import Nursery
from promises.vaults_at_hand import OWNER, halves, open_vault, store_of, word

from engram.errors import EngramError


def acknowledged(said: list[dict[str, str]]) -> list[str]:
    return [line["ack"] for line in said if "ack" in line]


def assert_in_order(path: Path, acked: list[str]) -> None:
    """Closed as one closes: no log, no sign of a crash, everything acknowledged there."""
    assert not path.joinpath("vault.db-wal").exists(), "the log was left behind"
    with open_vault(path) as mem:
        assert not mem.health().crashed_before
        assert len(store_of(mem).get(OWNER, acked)) == len(acked)
    assert halves(path) == {}


def test_closing_drains_what_is_queued(path: Path) -> None:
    """V10: forty callers are in the middle of their writes; each is answered, and what was acknowledged is there."""
    mem = open_vault(path)
    acked, refused = write_from_threads_until_closed(mem.remember, mem.close, threads=40)
    assert not [error for error in refused if not isinstance(error, EngramError)]
    assert_in_order(path, acked)


@pytest.mark.parametrize("limit", [1, 3, 1000])
def test_no_caller_hangs_when_the_vault_is_closed_under_it(path: Path, limit: int) -> None:
    """V7, V10: callers that wait for a place in a full queue are answered too."""
    for number in range(6):
        mem = open_vault(path, queue_limit=limit)
        acked, refused = write_from_threads_until_closed(mem.remember, mem.close, threads=12, seconds=0.03 + 0.01 * number)
        assert not [error for error in refused if not isinstance(error, EngramError)]
        assert_in_order(path, acked)


def write_from_threads_until_closed(remember, close, *, threads: int, seconds: float = 0.1):  # type: ignore[no-untyped-def]
    acked: list[str] = []
    refused: list[BaseException] = []

    def write(name: int) -> None:
        try:
            for number in range(10**6):
                kept = remember(f"{word(number, f'thread{name}')} said")
                acked.append(kept.id)
        except Exception as error:
            refused.append(error)

    crowd = [threading.Thread(target=write, args=(name,), daemon=True) for name in range(threads)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in crowd:
            thread.start()
        time.sleep(seconds)
        close()
        deadline = time.monotonic() + 5
        for thread in crowd:
            thread.join(max(deadline - time.monotonic(), 0.01))
    finally:
        sys.setswitchinterval(interval)
    stuck = sum(thread.is_alive() for thread in crowd)
    assert stuck == 0, f"{stuck} callers were never answered"
    return acked, refused


def test_closing_from_several_threads_is_closing_once_and_all_return_after_it(path: Path) -> None:
    """V10: whoever returns from `close` may delete the folder."""
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
            thread.join(10)
        assert left == [False] * 5, "close returned to somebody before the vault was closed"


def test_verbs_after_close_say_that_it_is_closed(path: Path) -> None:
    """V10, V17: a sentence and a way out, from every verb."""
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
    """V10: at several instants, writing from the main thread or beside it."""
    open_vault(path).close()
    for number in range(5):
        child = children.start(program, path=str(path))
        child.line()
        time.sleep(0.02 + 0.03 * number)
        child.signal(signal.SIGTERM)
        acked = acknowledged(child.rest())
        assert child.wait(10) == -signal.SIGTERM
        assert_in_order(path, acked)


def test_sigterm_at_any_line_of_a_call_does_not_hang(children: Nursery, path: Path) -> None:
    """V10: the main thread is inside a lock (the queue's, a future's, ours) when the signal comes."""
    open_vault(path).close()
    child = children.start("terminate_at_step", path=str(path), step=0)
    said = child.rest(timeout=15)
    total = next(line["steps"] for line in said if "steps" in line)
    wrong = []
    for step in range(total // 3, total * 9 // 10, max(total // 3 // 14, 1)):  # a wait that is over at once takes fewer lines
        child = children.start("terminate_at_step", path=str(path), step=step)
        try:
            acked = acknowledged(child.rest(timeout=5))
            assert child.wait(5) == -signal.SIGTERM
            assert_in_order(path, acked)
        except AssertionError as error:
            child.kill()
            wrong.append(f"line {step} of {total}: {str(error).splitlines()[0]}")
            open_vault(path).close()
            if sum("said nothing" in one for one in wrong) > 2:
                break
    assert wrong == []


def test_an_interrupt_in_a_with_block_closes_in_order(children: Nursery, path: Path) -> None:
    """V10: Ctrl-C."""
    open_vault(path).close()
    for number in range(6):
        child = children.start("interrupt_in_with", path=str(path))
        child.line()
        time.sleep(0.02 + 0.02 * number)
        child.signal(signal.SIGINT)
        acked = acknowledged(child.rest())
        assert child.wait(10) == -signal.SIGINT
        assert_in_order(path, acked)


def test_a_program_that_ends_without_closing_closes_in_order(children: Nursery, path: Path) -> None:
    """V10: nobody called `close`; the interpreter's exit does."""
    open_vault(path).close()
    acked = acknowledged(children.run("exit_without_close", path=str(path)))
    assert len(acked) == 5
    assert_in_order(path, acked)


def test_a_fork_that_ends_does_not_harm_the_vault_of_its_parent(children: Nursery, path: Path) -> None:
    """V8, V10: the child of a fork inherits open files; its end must not close, empty or unlock anything of the parent's."""
    open_vault(path).close()
    for _ in range(3):
        child = children.start("fork_while_open", path=str(path))
        said = child.rest()
        assert child.wait() == 0
        assert next(line["child"] for line in said if "child" in line) == 0
        assert_in_order(path, acknowledged(said))


def test_the_process_dumps_no_core_and_cannot_be_attached_to(children: Nursery, path: Path) -> None:
    """S11: in a real process, and switched off for debuggers."""
    closed = children.run("hardening", path=str(path), harden=True)[0]
    assert closed == {"core": [0, 0], "dumpable": 0}
    opened = children.run("hardening", path=str(path), harden=False)[0]
    assert opened["dumpable"] == 1


def test_a_dumpable_child_shows_its_memory_and_a_hardened_one_does_not(children: Nursery, path: Path) -> None:
    """S11: /proc/PID/mem is owned by root once the process is not dumpable."""
    open_vault(path).close()
    child = children.start("hold_open", path=str(path))
    child.line()
    assert Path(f"/proc/{child.pid}/environ").stat().st_uid == 0
    child.tell()
    assert child.wait() == 0


def test_files_are_tidied_after_every_kind_of_end(children: Nursery, path: Path) -> None:
    """V10, V11: in its bucket, neutral date, closed to others."""
    open_vault(path).close()
    child = children.start("write_until_signalled", path=str(path))
    child.line()
    time.sleep(0.05)
    child.signal(signal.SIGTERM)
    child.rest()
    child.wait()
    stat = path.joinpath("vault.db").stat()
    assert stat.st_size % (512 * 1024) == 0
    assert stat.st_mtime_ns == 86_400 * 10**9
    assert stat.st_mode & 0o777 == 0o600
