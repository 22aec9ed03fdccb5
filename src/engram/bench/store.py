"""Measure the store as ratios to plain, unencrypted `sqlite3` doing the same work in the same run.

Input: sizes in memories. Output: figures as plain values (`run`) and as text (`render`). The run works in a temporary folder with
a key of its own and the default settings, whatever this machine's configuration says.

The baseline has our tables, indexes and text index, made by our own migrations, and runs our own statements (`store_sides`). It
writes the same rows in one transaction (memory, words, text index, change log, audit) to a write-ahead log with
`synchronous=FULL` and a page cache of the same size, and returns the same values under the same scope predicate. Only our side
has encryption, `secure_delete` (in pages and in the text index), padding, neutral file times, the queue, guards and the audit of
reads.

Both sides alternate in short rounds (A B B A …) and every ratio is the median over the rounds, so that other load on the machine
affects both alike. A second table isolates the cipher: one binding and one set of pragmas, with a key and without.
"""

from __future__ import annotations

import json
import operator
import os
import platform
import shutil
import sqlite3  # noqa: TID251  for its version
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import apsw

from engram import engine
from engram.bench.store_sides import BATCH, DirectSide, Side, StoreBench, open_unkeyed, question
from engram.crypto.hardening import rss_bytes
from engram.env import Env
from engram.serve.operations.operation import ProgressCallback
from engram.settings import Settings
from engram.store.sqlite import migrations
from engram.store.sqlite.writer import Writer
from engram.types import Memory
from engram.values.frozen import replace

Results = dict[str, Any]
T = TypeVar("T")

READERS = 8
_SINGLES, _READS, _SEARCHES = 25, 1000, 20  # a round; enough reads that each round includes the cost of writing their audit
_HOT = 500  # memories among which warm reads choose: their pages fit the page cache at every size
_CIPHER_SIZE = 10_000  # memories held while the cipher is measured alone
_SMALL = 5_000  # a run below this size is a trial


# ── measuring ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def versus(
    rounds: int,
    prepare: Callable[[int], Sequence[T]],
    work: Callable[[int, T], object],
    after: Callable[[int], object] = lambda place: None,
    *,
    units: int = 1,
) -> Results:
    """Run `work` on both sides in alternating rounds and return times and ratios.

    Each round is prepared off the clock; the first round warms up and is not counted. units: the units of work in one item.
    """
    wall: tuple[list[float], list[float]] = ([], [])
    cpu: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + 1):
        for place in (0, 1) if number % 2 else (1, 0):
            items = prepare(place)
            began, began_cpu = time.perf_counter(), time.process_time()
            for item in items:
                work(place, item)
            after(place)
            spent, spent_cpu = time.perf_counter() - began, time.process_time() - began_cpu
            if number:
                wall[place].append(spent / len(items) / units)
                cpu[place].append(max(spent_cpu, 1e-9) / len(items) / units)
    plain, ours = (statistics.median(times) for times in wall)
    return {
        "plain_ms": plain * 1000,
        "ours_ms": ours * 1000,
        "plain_per_s": 1 / plain,
        "ours_per_s": 1 / ours,
        "ratio": statistics.median(map(operator.truediv, wall[1], wall[0])),  # of the same round: other load affects both
        "cpu_ratio": statistics.median(map(operator.truediv, cpu[1], cpu[0])),
    }


def workloads(bench: StoreBench, sides: tuple[Side, Side]) -> Results:
    """Measure inserts, reads and searches of two stores that hold the same memories."""

    def add(place: int, new: Sequence[Memory]) -> None:
        bench.add(place, sides[place], new)

    def get(place: int, memory_id: str) -> None:
        sides[place].get(memory_id)

    def search(place: int, terms: Sequence[str]) -> None:
        sides[place].search(terms)

    def questions(place: int) -> list[tuple[str, str]]:
        return [question(number) for number in bench.sample(range(bench.held[place]), _SEARCHES)]

    def settle(place: int) -> None:
        sides[place].settle()

    ids, rounds = bench.visible, bench.rounds
    batched = versus(rounds, lambda place: [bench.fresh(place, BATCH)], add, settle, units=BATCH)
    return {
        "single_inserts": versus(rounds, lambda place: [bench.fresh(place, 1) for _ in range(_SINGLES)], add),
        "batched_inserts": batched,
        "warm_reads": versus(rounds, lambda place: bench.sample(ids[place][:_HOT], _READS), get),
        "any_reads": versus(rounds, lambda place: bench.sample(ids[place], _READS), get),
        "searches": versus(rounds, questions, search),
    }


def opens(bench: StoreBench) -> Results:
    """Measure the time from a closed vault to the first memory read, in a process that has loaded its modules."""
    open_now: list[DirectSide | engine.Engram] = []

    def prepare(place: int) -> list[str]:
        while open_now:
            open_now.pop().close()
        return bench.sample(bench.visible[place] or ["none"], 1)

    def open_and_read(place: int, memory_id: str) -> None:
        opened = bench.engram() if place else bench.plain()
        open_now.append(opened)
        opened.get(memory_id)

    figures = versus(bench.rounds, prepare, open_and_read)
    prepare(0)
    return figures


def processes(bench: StoreBench) -> Results:
    """Measure each side in a new interpreter: imports, opening and the first read together; then the RAM that use adds."""
    figures: Results = {}
    script = f"import time; began = time.perf_counter(); from {__name__} import child; child(began)"
    for place, side in enumerate(("plain", "ours")):
        order = {"place": place, "folder": str(bench.folder), "key": bench.key.hex(), "held": bench.held}
        orders = json.dumps({**order, "ids": bench.visible[place][:_HOT] or ["none"]})
        done = subprocess.run(  # noqa: S603  our own interpreter and script; the key goes through the pipe
            [sys.executable, "-c", script], input=orders, capture_output=True, text=True, check=True
        )
        figures |= {f"{side}_{name}": value for name, value in json.loads(done.stdout).items()}
    return figures


def child(began: float) -> None:
    """Measure one side in the process that `processes` starts; the orders come on standard input."""
    order = json.load(sys.stdin)
    place, ids = order["place"], order["ids"]
    bench = StoreBench(Path(order["folder"]), bytes.fromhex(order["key"]), held=order["held"])
    before = rss_bytes()
    with closing(bench.ours() if place else bench.plain()) as side:
        side.get(ids[0])
        first_ms = (time.perf_counter() - began) * 1000
        for memory_id in ids:
            side.get(memory_id)
        for number in bench.sample(range(bench.held[place] + 1), _SEARCHES):
            side.search(question(number))
        side.add(bench.fresh(place, 1))
        print(json.dumps({"first_ms": first_ms, "rss_mib": (rss_bytes() - before) / 2**20}))


class NoTransactionHooks:
    """Hooks of the writer that do nothing, for measuring its queue alone."""

    def opened(self, connection: apsw.Connection) -> None: ...

    before_commit = after_commit = closing = opened


def queueing(bench: StoreBench) -> Results:
    """Measure an empty transaction through the idle writer's queue, and the same one without it."""
    spent: tuple[list[float], list[float]] = ([], [])
    writer = Writer(lambda: bench.keyed("queue.db"), lambda: bench.settings, bench.env, NoTransactionHooks())
    with closing(bench.keyed("queue.db")) as connection:
        for number in range(32 if bench.trial else 128):
            bench.env.sleep(0.002)  # long enough for the writer's thread to block on its empty queue
            began = time.perf_counter()
            if number % 2:
                writer.run(lambda connection: None, "nothing")
            else:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("COMMIT")
            spent[number % 2].append(time.perf_counter() - began)
        writer.close(1.0)
    direct, queued = (statistics.median(times) * 1000 for times in spent)
    return {"direct_ms": direct, "queued_ms": queued, "queue_ms": queued - direct}


def crowds(bench: StoreBench, sides: tuple[Side, Side]) -> Results:
    """Measure the reads a second of one thread and of eight, while another thread writes without pause."""
    figures: Results = {}
    for work in ("reads", "searches"):
        for place, side in enumerate(("plain", "ours")):
            rates: dict[int, list[float]] = {1: [], READERS: []}
            for _ in range(1 if bench.trial else 5):
                for readers, measured in rates.items():
                    measured.append(_crowd(bench, place, sides[place], readers, work))
            single, eight = (statistics.median(measured) for measured in rates.values())
            figures |= {f"{side}_{work}_1": single, f"{side}_{work}_8": eight, f"{side}_{work}_scaling": eight / single}
    return figures


def _crowd(bench: StoreBench, place: int, side: Side, readers: int, work: str) -> float:
    """Return the reads or searches a second of so many threads beside a writer."""
    stop = threading.Event()
    done: list[int] = []
    ids = bench.sample(bench.visible[place], _READS)
    questions = [question(number) for number in bench.sample(range(bench.held[place]), _READS)]

    def write() -> None:
        while not stop.is_set():
            bench.add(place, side, bench.fresh(place, 1))

    def read(start: int) -> None:
        own = side if place else bench.plain()  # our store has a pool; a plain connection is one thread's own
        reads = start
        while not stop.is_set():
            if work == "reads":
                own.get(ids[reads % _READS])
            else:
                own.search(questions[reads % _READS])
            reads += 1
        done.append(reads - start)
        if not place:
            own.close()

    threads = [
        threading.Thread(target=write),
        *(threading.Thread(target=read, args=(n * _READS // READERS,)) for n in range(readers)),
    ]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    bench.env.sleep(0.1 if bench.trial else 0.5)
    stop.set()
    for thread in threads:
        thread.join()
    return sum(done) / (time.perf_counter() - began)


def cipher_alone(bench: StoreBench, size: int) -> Results:
    """Measure the cipher alone: the same binding, pragmas, functions and rows, `plain` without a key and `ours` with one."""
    other = replace(bench, folder=bench.folder / "cipher", held=[0, 0], visible=([], []))
    other.folder.mkdir()
    with closing(open_unkeyed(other.folder / "unkeyed.db", other.settings)) as unkeyed, closing(other.keyed("keyed.db")) as keyed:
        for connection in (unkeyed, keyed):
            migrations.migrate(connection, other.env.now())
        sides = (DirectSide(unkeyed, other.env, other.settings), DirectSide(keyed, other.env, other.settings))
        other.grow(sides, size)
        return workloads(other, sides)


# ── the run ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def run(sizes: Sequence[int] = (0, 10_000, 100_000), *, progress: ProgressCallback | None = None) -> Results:
    """Return all figures, and each bar with whether it holds. The default sizes take under three minutes."""
    rising = sorted(set(sizes))
    steps = 2 * len(rising) + 2
    taken = count()

    def step(stage: str) -> None:
        if progress is not None:
            progress(stage, next(taken) / steps)

    folder = Path(tempfile.mkdtemp(prefix="engram-bench-store-"))
    try:
        bench = StoreBench(folder, Env().random(32), trial=rising[-1] < _SMALL)
        results: Results = {"environment": environment(folder), "sizes": []}
        for size in rising:
            step(f"filling up to {size:,} memories")
            if min(bench.held) > size:  # the measured inserts already exceed this size: begin with a new folder
                bench = replace(bench, folder=folder / str(size), held=[0, 0], visible=([], []))
                bench.folder.mkdir()
            with bench.both() as sides:
                bench.grow(sides, size)
            step(f"measuring at {size:,} memories")
            opened = {"memories": size, "open": opens(bench), "process": processes(bench)}
            with bench.both() as sides:
                results["sizes"].append({**opened, **workloads(bench, sides)})
        step("readers beside a writer")
        with bench.both() as sides:
            results["crowds"] = crowds(bench, sides)
        step("the queue and the cipher alone")
        results["queue"] = queueing(bench)
        results["cipher"] = cipher_alone(bench, min(rising[-1], _CIPHER_SIZE))
        step("done")
        return {**results, "bars": bars(results)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def environment(folder: Path) -> Results:
    """Describe the machine and the versions in use."""
    return {
        "cpus": os.cpu_count() or 1,
        "platform": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite_plain": sqlite3.sqlite_version,
        "sqlite_ours": apsw.sqlite_lib_version(),
        "cipher": f"{Settings().cipher}, {getattr(apsw, 'mc_version', '')}",
        "folder": str(folder.parent),
    }


def bars(results: Results) -> list[Results]:
    """Return the limits that the store promises, each with its value at the largest size measured."""
    largest, crowd, alone = results["sizes"][-1], results["crowds"], results["cipher"]
    measured = (
        ("warm reads, time against plain sqlite3", largest["warm_reads"]["ratio"], "≤", 1.15, "×"),
        ("text searches, time against plain sqlite3", largest["searches"]["ratio"], "≤", 1.15, "×"),
        ("batched inserts, time against plain sqlite3", largest["batched_inserts"]["ratio"], "≤", 1.25, "×"),
        ("warm reads, the cipher alone", alone["warm_reads"]["ratio"], "≤", 1.15, "×"),
        ("batched inserts, the cipher alone", alone["batched_inserts"]["ratio"], "≤", 1.25, "×"),
        (f"open to first read at {largest['memories']:,} memories", largest["open"]["ours_ms"], "<", 300.0, "ms"),
        ("queueing at idle", results["queue"]["queue_ms"], "<", 1.0, "ms"),
        ("8 readers against 1 beside a writer, searches", crowd["ours_searches_scaling"], ">", 1.0, "×"),
    )
    holds: dict[str, Callable[[float, float], bool]] = {"≤": operator.le, "<": operator.lt, ">": operator.gt}
    return [
        {"bar": bar, "value": value, "sign": sign, "limit": limit, "unit": unit, "passed": holds[sign](value, limit)}
        for bar, value, sign, limit, unit in measured
    ]


_ROWS = {
    "single_inserts": "durable inserts, one by one, /s",
    "batched_inserts": f"durable inserts, {BATCH:,} a batch, /s",
    "warm_reads": "point reads, warm, /s",
    "any_reads": "point reads, anywhere, /s",
    "searches": "text searches, /s",
}


def render(results: Results) -> str:
    """Return the figures as text; `×` is our time, or CPU time, over the baseline's."""
    env, crowd, queue = results["environment"], results["crowds"], results["queue"]
    lines = [
        f"{env['platform']}, {env['cpus']} CPUs, Python {env['python']}, in {env['folder']}",
        f"plain: sqlite3 {env['sqlite_plain']}; ours: SQLite {env['sqlite_ours']}, {env['cipher']}",
    ]
    for figures in results["sizes"]:
        lines += ["", *_table(f"{figures['memories']:,} memories", "plain", "ours", figures)]
        process, opening = figures["process"], figures["open"]
        lines.append(_row("open to first read, ms", opening["plain_ms"], opening["ours_ms"], opening))
        lines.append(_row("… new process, with imports, ms", process["plain_first_ms"], process["ours_first_ms"]))
        lines.append(_row("memory that use adds, MiB", process["plain_rss_mib"], process["ours_rss_mib"]))
    lines += ["", *_table("the cipher alone, same binding", "no key", "key", results["cipher"])]
    lines += ["", f"{'beside a writer, /s':36} {'1 reader':>10} {'8 readers':>10} {'×':>8}"]
    for side in ("plain", "ours"):
        for work in ("reads", "searches"):
            single, eight, times = (crowd[f"{side}_{work}_{name}"] for name in ("1", "8", "scaling"))
            lines.append(f"{f'{side}, {work}':36} {single:10,.0f} {eight:10,.0f} {times:8.2f}")
    lines.append("(a point read holds the interpreter's lock for most of its time, so threads add little to it)")
    lines += ["", f"an empty write: {queue['direct_ms']:.3f} ms directly, {queue['queued_ms']:.3f} ms through the queue", ""]
    for bar in results["bars"]:
        verdict = "pass" if bar["passed"] else "FAIL"
        lines.append(f"{verdict}  {bar['bar']}: {bar['value']:.2f} {bar['unit']} ({bar['sign']} {bar['limit']:g})")
    return "\n".join(lines)


def _table(title: str, plain: str, ours: str, figures: Results) -> list[str]:
    head = f"{title:36} {plain:>10} {ours:>10} {'time ×':>8} {'CPU ×':>8}"
    rows = [(label, figures[name]) for name, label in _ROWS.items()]
    return [head, *(_row(label, row["plain_per_s"], row["ours_per_s"], row) for label, row in rows)]


def _row(label: str, plain: float, ours: float, ratios: Results | None = None) -> str:
    end = "" if ratios is None else f" {ratios['ratio']:8.2f} {ratios['cpu_ratio']:8.2f}"
    return f"{label:36} {plain:10,.1f} {ours:10,.1f}{end}"
