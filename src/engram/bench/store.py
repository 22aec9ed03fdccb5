"""How fast the store is, as ratios to plain, unencrypted `sqlite3` doing the same work in the same run.

Comes in: sizes in memories. Goes out: figures as plain values (`run`) and as a page of text (`render`). Works in a
temporary folder with a key of its own and the settings that ship, whatever this machine's configuration says.

The baseline has our tables, indexes and text index (as our own migrations make them) and runs our own statements:
`Plain` lends the standard library's connection the names of apsw that they use. It writes what we write in one
transaction (memory, words, text index, change log, audit) to a write-ahead log with `synchronous=FULL` and a page cache
of the same size, and returns the same values under the same scope predicate. What only we do: encryption,
`secure_delete` (in pages and in the text index), padding, neutral file times, the queue, guards, and the audit of reads.

Both sides take turns in short rounds (A B B A …) and every ratio is the median over the rounds, so that what else this
machine does hits both. A second table leaves all but the cipher equal: one binding, one set of pragmas, with a key and without.
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
from engram.bench.store_sides import BATCH, Bench, Direct, Side, open_unkeyed, question
from engram.crypto.process import rss_bytes
from engram.env import Env
from engram.settings import Settings
from engram.store.sqlite import migrations
from engram.store.sqlite.writer import Writer
from engram.types import Memory
from engram.values.frozen import replace

Progress = Callable[[str, float], None]
Results = dict[str, Any]
T = TypeVar("T")

READERS = 8
_SINGLES, _READS, _SEARCHES = 25, 1000, 20  # in one round; so many reads that each round pays for writing their audit
_HOT = 500  # memories that warm reads go round in: their pages fit the page cache at every size
_CIPHER_SIZE = 10_000  # memories held while the cipher is measured alone
_SMALL = 5_000  # below this size a run is only a trial


# ── measuring ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def versus(
    rounds: int,
    prepare: Callable[[int], Sequence[T]],
    work: Callable[[int, T], object],
    after: Callable[[int], object] = lambda place: None,
    *,
    each: int = 1,
) -> Results:
    """Both sides in turns. Each round is prepared off the clock; the first one warms up and is not counted."""
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
                wall[place].append(spent / len(items) / each)
                cpu[place].append(max(spent_cpu, 1e-9) / len(items) / each)
    plain, ours = (statistics.median(times) for times in wall)
    return {
        "plain_ms": plain * 1000,
        "ours_ms": ours * 1000,
        "plain_per_s": 1 / plain,
        "ours_per_s": 1 / ours,
        "ratio": statistics.median(map(operator.truediv, wall[1], wall[0])),  # neighbours in time: a busy minute hits both
        "cpu_ratio": statistics.median(map(operator.truediv, cpu[1], cpu[0])),
    }


def workloads(bench: Bench, sides: tuple[Side, Side]) -> Results:
    """Inserts, then reads, of two stores that hold the same."""

    def add(place: int, new: Sequence[Memory]) -> None:
        bench.add(place, sides[place], new)

    def get(place: int, memory_id: str) -> None:
        sides[place].get(memory_id)

    def search(place: int, terms: Sequence[str]) -> None:
        sides[place].search(terms)

    def questions(place: int) -> list[tuple[str, str]]:
        return [question(number) for number in bench.some(range(bench.held[place]), _SEARCHES)]

    def settle(place: int) -> None:
        sides[place].settle()

    ids, rounds = bench.visible, bench.rounds
    batched = versus(rounds, lambda place: [bench.fresh(place, BATCH)], add, settle, each=BATCH)
    return {
        "single_inserts": versus(rounds, lambda place: [bench.fresh(place, 1) for _ in range(_SINGLES)], add),
        "batched_inserts": batched,
        "warm_reads": versus(rounds, lambda place: bench.some(ids[place][:_HOT], _READS), get),
        "any_reads": versus(rounds, lambda place: bench.some(ids[place], _READS), get),
        "searches": versus(rounds, questions, search),
    }


def opens(bench: Bench) -> Results:
    """From a closed vault to the first memory read, in a process that has done it before."""
    open_now: list[Direct | engine.Engram] = []

    def prepare(place: int) -> list[str]:
        while open_now:
            open_now.pop().close()
        return bench.some(bench.visible[place] or ["none"], 1)

    def open_and_read(place: int, memory_id: str) -> None:
        opened = bench.engram() if place else bench.plain()
        open_now.append(opened)
        opened.get(memory_id)

    figures = versus(bench.rounds, prepare, open_and_read)
    prepare(0)
    return figures


def processes(bench: Bench) -> Results:
    """A new interpreter for each side: imports, opening and the first read on the clock; then the memory that use adds."""
    figures: Results = {}
    script = f"import time; began = time.perf_counter(); from {__name__} import child; child(began)"
    for place, side in enumerate(("plain", "ours")):
        order = {"place": place, "folder": str(bench.folder), "key": bench.key.hex(), "held": bench.held}
        told = json.dumps({**order, "ids": bench.visible[place][:_HOT] or ["none"]})
        done = subprocess.run(  # noqa: S603  our own interpreter and words; the key goes through the pipe
            [sys.executable, "-c", script], input=told, capture_output=True, text=True, check=True
        )
        figures |= {f"{side}_{name}": value for name, value in json.loads(done.stdout).items()}
    return figures


def child(began: float) -> None:
    """What `processes` starts."""
    order = json.load(sys.stdin)
    place, ids = order["place"], order["ids"]
    bench = Bench(Path(order["folder"]), bytes.fromhex(order["key"]), held=order["held"])
    before = rss_bytes()
    with closing(bench.ours() if place else bench.plain()) as side:
        side.get(ids[0])
        first_ms = (time.perf_counter() - began) * 1000
        for memory_id in ids:
            side.get(memory_id)
        for number in bench.some(range(bench.held[place] + 1), _SEARCHES):
            side.search(question(number))
        side.add(bench.fresh(place, 1))
        print(json.dumps({"first_ms": first_ms, "rss_mib": (rss_bytes() - before) / 2**20}))


class Nothing:
    """Around the writer's transactions when only its queue is measured."""

    def opened(self, connection: apsw.Connection) -> None: ...

    before_commit = after_commit = closing = opened


def queueing(bench: Bench) -> Results:
    """An empty transaction through the idle writer's queue, and the same one without."""
    spent: tuple[list[float], list[float]] = ([], [])
    writer = Writer(lambda: bench.keyed("queue.db"), lambda: bench.settings, bench.env, Nothing())
    with closing(bench.keyed("queue.db")) as connection:
        for number in range(32 if bench.trial else 128):
            bench.env.sleep(0.002)  # idle: the thread has gone to sleep on its queue
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


def crowds(bench: Bench, sides: tuple[Side, Side]) -> Results:
    """Reads a second of one thread and of eight, while another writes without pause."""
    figures: Results = {}
    for what in ("reads", "searches"):
        for place, side in enumerate(("plain", "ours")):
            rates: dict[int, list[float]] = {1: [], READERS: []}
            for _ in range(1 if bench.trial else 5):
                for readers, found in rates.items():
                    found.append(_crowd(bench, place, sides[place], readers, what))
            one, eight = (statistics.median(found) for found in rates.values())
            figures |= {f"{side}_{what}_1": one, f"{side}_{what}_8": eight, f"{side}_{what}_scaling": eight / one}
    return figures


def _crowd(bench: Bench, place: int, side: Side, readers: int, what: str) -> float:
    stop = threading.Event()
    done: list[int] = []
    ids = bench.some(bench.visible[place], _READS)
    questions = [question(number) for number in bench.some(range(bench.held[place]), _READS)]

    def write() -> None:
        while not stop.is_set():
            bench.add(place, side, bench.fresh(place, 1))

    def read(start: int) -> None:
        mine = side if place else bench.plain()  # our store has a pool; plain threads bring their own connection
        reads = start
        while not stop.is_set():
            if what == "reads":
                mine.get(ids[reads % _READS])
            else:
                mine.search(questions[reads % _READS])
            reads += 1
        done.append(reads - start)
        if not place:
            mine.close()

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


def cipher_alone(bench: Bench, size: int) -> Results:
    """The same binding, pragmas and functions on the same rows: `plain` without a key, `ours` with one."""
    other = replace(bench, folder=bench.folder / "cipher", held=[0, 0], visible=([], []))
    other.folder.mkdir()
    with closing(open_unkeyed(other.folder / "unkeyed.db", other.settings)) as unkeyed, closing(other.keyed("keyed.db")) as keyed:
        for connection in (unkeyed, keyed):
            migrations.migrate(connection, other.env.now())
        sides = (Direct(unkeyed, other.env, other.settings), Direct(keyed, other.env, other.settings))
        other.grow(sides, size)
        return workloads(other, sides)


# ── the run ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def run(sizes: Sequence[int] = (0, 10_000, 100_000), *, progress: Progress | None = None) -> Results:
    """All figures, and each bar with whether it holds. Takes under three minutes with the default sizes."""
    rising = sorted(set(sizes))
    steps = 2 * len(rising) + 2
    taken = count()

    def step(what: str) -> None:
        if progress is not None:
            progress(what, next(taken) / steps)

    folder = Path(tempfile.mkdtemp(prefix="engram-bench-store-"))
    try:
        bench = Bench(folder, Env().random(32), trial=rising[-1] < _SMALL)
        results: Results = {"environment": environment(folder), "sizes": []}
        for size in rising:
            step(f"filling up to {size:,} memories")
            if min(bench.held) > size:  # what was inserted while measuring is more than the next size holds
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
    """What the store promises, at the largest size measured."""
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
    """The figures as a page of text; `×` is our time, or processor time, over the baseline's."""
    env, crowd, queue = results["environment"], results["crowds"], results["queue"]
    lines = [
        f"{env['platform']}, {env['cpus']} CPUs, Python {env['python']}, in {env['folder']}",
        f"plain: sqlite3 {env['sqlite_plain']}; ours: SQLite {env['sqlite_ours']}, {env['cipher']}",
    ]
    for found in results["sizes"]:
        lines += ["", *_table(f"{found['memories']:,} memories", "plain", "ours", found)]
        process = found["process"]
        lines.append(_row("open to first read, ms", found["open"]["plain_ms"], found["open"]["ours_ms"], found["open"]))
        lines.append(_row("… new process, with imports, ms", process["plain_first_ms"], process["ours_first_ms"]))
        lines.append(_row("memory that use adds, MiB", process["plain_rss_mib"], process["ours_rss_mib"]))
    lines += ["", *_table("the cipher alone, same binding", "no key", "key", results["cipher"])]
    lines += ["", f"{'beside a writer, /s':36} {'1 reader':>10} {'8 readers':>10} {'×':>8}"]
    for side in ("plain", "ours"):
        for what in ("reads", "searches"):
            one, eight, times = (crowd[f"{side}_{what}_{name}"] for name in ("1", "8", "scaling"))
            lines.append(f"{f'{side}, {what}':36} {one:10,.0f} {eight:10,.0f} {times:8.2f}")
    lines.append("(a point read holds the interpreter's lock for most of its time, so threads add little to it)")
    lines += ["", f"an empty write: {queue['direct_ms']:.3f} ms directly, {queue['queued_ms']:.3f} ms through the queue", ""]
    for bar in results["bars"]:
        verdict = "pass" if bar["passed"] else "FAIL"
        lines.append(f"{verdict}  {bar['bar']}: {bar['value']:.2f} {bar['unit']} ({bar['sign']} {bar['limit']:g})")
    return "\n".join(lines)


def _table(title: str, plain: str, ours: str, found: Results) -> list[str]:
    head = f"{title:36} {plain:>10} {ours:>10} {'time ×':>8} {'CPU ×':>8}"
    return [
        head,
        *(_row(label, found[name]["plain_per_s"], found[name]["ours_per_s"], found[name]) for name, label in _ROWS.items()),
    ]


def _row(label: str, plain: float, ours: float, ratios: Results | None = None) -> str:
    end = "" if ratios is None else f" {ratios['ratio']:8.2f} {ratios['cpu_ratio']:8.2f}"
    return f"{label:36} {plain:10,.1f} {ours:10,.1f}{end}"
