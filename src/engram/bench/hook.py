"""Measure the time that a coding agent waits for `engram hook`: each event in a process of its own, as the hosts call it.

The vault is temporary. The events alternate with a bare interpreter, so that other load on the machine affects all alike, and a
pause follows each round for the background process that a stop event leaves. CPU time is the figure to judge by: wall-clock time
also contains the work of other programs.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from engram.bench.store_sides import BATCH, question, sentence
from engram.engine import Engram
from engram.env import Env
from engram.guard.injection import VERSION
from engram.hosts import CLAUDE, HOOK_EVENTS, edits
from engram.rules.store_rules import MemoryRules
from engram.serve.operations.operation import ProgressCallback
from engram.settings import LiveSettings, environment_variable
from engram.store.credentials import Credentials
from engram.store.sqlite.vault import open_vault
from engram.types import Memory, Policy, Reader, Role
from engram.values.frozen import frozen

_OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)
_BAR_MS = 100.0
_SETTLE_S = 1.0  # pause for the process that a stop event starts, which would share the machine with the next round
_COURTESY = "ok, thank you very much!"
_UNRELATED = "Please translate zygomorphic into Esperanto"


@frozen
class HookTiming:
    """Median milliseconds of one event: CPU time (0 where the system does not report it) and wall-clock time.

    answered: the hook printed something.
    """

    event: str
    cpu_ms: float
    clock_ms: float
    answered: bool


@frozen
class Bar:
    """A limit that FEATURES S15 promises, and whether the slowest event stays below it."""

    bar: str
    value: float
    limit: float
    passed: bool


@frozen
class HookResults:
    """The figures of a run; `bare` is an interpreter that does nothing."""

    memories: int
    runs: int
    bare: HookTiming
    events: tuple[HookTiming, ...]
    bars: tuple[Bar, ...]


def run(memories: int, runs: int, *, progress: ProgressCallback) -> HookResults:
    """Call each event `runs` times on a vault of so many memories."""
    env = Env()
    with tempfile.TemporaryDirectory(prefix="engram-bench-") as folder:
        settings = {"key_source": "file", "key_file": f"{folder}/key"}
        _fill(Path(folder, "vault"), settings, memories, env, progress)
        calls = _calls(f"{folder}/vault", memories)
        timings: dict[str, list[HookTiming]] = {name: [] for name in calls}
        with environment_variable("ENGRAM_KEY_FILE", settings["key_file"]):
            for turn in range(runs + 1):
                progress("calling hooks", turn / (runs + 1))
                for name, (command, given) in calls.items():
                    timing = _timed_call(name, command, given, env)
                    if turn:  # the first round compiles modules and fills the file cache
                        timings[name].append(timing)
                env.sleep(_SETTLE_S)
    bare, *events = (_median(rounds) for rounds in timings.values())
    return HookResults(memories, runs, bare, tuple(events), _bars(events))


def render(results: HookResults) -> str:
    """Return the figures as text."""
    lines = [f"{results.memories:,} memories, {results.runs} runs; medians in ms", f"{'':34}{'CPU':>8}{'clock':>8}   says"]
    bars = (f"{'pass' if bar.passed else 'FAIL'}  {bar.bar}: {bar.value:.0f} ms (< {bar.limit:.0f})" for bar in results.bars)
    return "\n".join([*lines, *map(_line, (results.bare, *results.events)), "", *bars])


def _bars(events: Sequence[HookTiming]) -> tuple[Bar, ...]:
    slowest = {"CPU": max(event.cpu_ms for event in events), "on the clock": max(event.clock_ms for event in events)}
    return tuple(Bar(f"the slowest event, {name}", ms, _BAR_MS, ms < _BAR_MS) for name, ms in slowest.items())


def _line(timing: HookTiming) -> str:
    return f"{timing.event:34}{timing.cpu_ms:8.0f}{timing.clock_ms:8.0f}   {'something' if timing.answered else 'nothing'}"


def _fill(path: Path, settings: Mapping[str, object], memories: int, env: Env, progress: ProgressCallback) -> None:
    with Engram.open(path, settings={**settings, "model": "none"}, env=env) as mem:
        goal, decided = "Move the harbour timetable to the new server", ["The ferry comes first"]
        mem.working.hand_over(goal, decided=decided, sources=())
    live = LiveSettings({**settings, "backup_hours": 0.0}, monotonic=env.monotonic)
    store, _ = open_vault(path, live, env, MemoryRules(live), Credentials())
    try:
        for start in range(0, memories, BATCH):
            progress("filling a vault", start / memories)
            numbers = range(start, min(start + BATCH, memories))
            store.memories.add(_OWNER, [Memory(text=sentence(n), importance=n % 10 / 10, screened=VERSION) for n in numbers])
    finally:
        store.close()


def _calls(vault: str, memories: int) -> dict[str, tuple[list[str], bytes]]:
    """Return each call by its label: the command and its standard input. A bare interpreter comes first."""
    name, noun = question(memories // 2)
    wanted = {
        "a courtesy": ("user-prompt", {"prompt": _COURTESY}),
        "a prompt that nothing bears on": ("user-prompt", {"prompt": _UNRELATED}),
        "a prompt that something bears on": ("user-prompt", {"prompt": f"What about {name.capitalize()} and the {noun}?"}),
        "session start": ("session-start", {}),
        "stop, pre-compact, session end": ("stop", {"transcript_path": os.devnull}),
    }
    calls: dict[str, tuple[list[str], bytes]] = {"Python, doing nothing": ([sys.executable, "-c", "pass"], b"")}
    for label, (event, more) in wanted.items():
        given = {"hook_event_name": HOOK_EVENTS[event], "session_id": "bench", "cwd": tempfile.gettempdir(), **more}
        calls[label] = ([*edits.program(), f"--vault={vault}", "hook", event, "--client", CLAUDE], json.dumps(given).encode())
    return calls


def _timed_call(name: str, command: Sequence[str], given: bytes, env: Env) -> HookTiming:
    began = env.monotonic()
    with subprocess.Popen(  # noqa: S603  our own program
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        output = process.communicate(given)[0] if not hasattr(os, "wait4") else _exchange(process, given)
        cpu_ms = 0.0
        if hasattr(os, "wait4"):
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            cpu_ms = (usage.ru_utime + usage.ru_stime) * 1000
    return HookTiming(name, cpu_ms, (env.monotonic() - began) * 1000, bool(output))


def _exchange(process: subprocess.Popen[bytes], given: bytes) -> bytes:
    """Write the input and read the output without waiting for the process: only the first wait reports its CPU time."""
    if process.stdin is None or process.stdout is None:
        return b""
    with process.stdin as stdin:
        stdin.write(given)
    return process.stdout.read()


def _median(timings: Sequence[HookTiming]) -> HookTiming:
    cpu_ms = statistics.median(timing.cpu_ms for timing in timings)
    clock_ms = statistics.median(timing.clock_ms for timing in timings)
    return HookTiming(timings[0].event, cpu_ms, clock_ms, timings[0].answered)
