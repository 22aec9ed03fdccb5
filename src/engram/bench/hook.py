"""What a coding agent waits for: each event of `engram hook` in a process of its own, as the hosts call it.

A vault is made for it and is gone afterwards. The events take turns with a bare interpreter, so that what else the machine does
falls on all alike, and wait for what the last one left to a process of its own. CPU time is the figure to go by: time on the
clock also holds what other programs take.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from engram.bench.store_sides import BATCH, question, sentence
from engram.engine import Engram
from engram.env import Env
from engram.guard.injection import VERSION
from engram.hosts import edits
from engram.serve.hook.events import CLAUDE, EVENTS
from engram.settings import LiveSettings, told
from engram.store.sqlite.vault import Credentials, open_vault
from engram.types import Memory, Policy, Reader, Role
from engram.values.frozen import frozen

_OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)
_BAR_MS = 100.0
_SETTLES_S = 1.0  # what a stop leaves to another process would share the machine with the next turn
_NODS = "ok, thank you very much!"
_NOTHING = "Please translate zygomorphic into Esperanto"

Progress = Callable[[str, float | None], None]


@frozen
class Waited:
    """Milliseconds of one event: of the processor (0 where the system does not tell) and on the clock, medians; and whether
    it had something to say."""

    event: str
    cpu_ms: float
    clock_ms: float
    answered: bool


@frozen
class Bar:
    """What is promised (FEATURES S15), and whether the event that takes longest keeps it."""

    bar: str
    value: float
    limit: float
    passed: bool


@frozen
class Hooked:
    memories: int
    runs: int
    bare: Waited
    events: tuple[Waited, ...]
    bars: tuple[Bar, ...]


def run(memories: int, runs: int, *, progress: Progress) -> Hooked:
    env = Env()
    with tempfile.TemporaryDirectory(prefix="engram-bench-") as folder:
        settings = {"key_source": "file", "key_file": f"{folder}/key"}
        _fill(Path(folder, "vault"), settings, memories, env, progress)
        calls = _calls(f"{folder}/vault", memories)
        took: dict[str, list[Waited]] = {name: [] for name in calls}
        with told("ENGRAM_KEY_FILE", settings["key_file"]):
            for turn in range(runs + 1):
                progress("calling hooks", turn / (runs + 1))
                for name, (command, given) in calls.items():
                    waited = _called(name, command, given, env)
                    if turn:  # the first one compiles, and reads files that nobody has read yet
                        took[name].append(waited)
                env.sleep(_SETTLES_S)
    bare, *events = (_median(several) for several in took.values())
    return Hooked(memories, runs, bare, tuple(events), _bars(events))


def render(found: Hooked) -> str:
    lines = [f"{found.memories:,} memories, {found.runs} runs; medians in ms", f"{'':34}{'CPU':>8}{'clock':>8}   says"]
    bars = (f"{'pass' if one.passed else 'FAIL'}  {one.bar}: {one.value:.0f} ms (< {one.limit:.0f})" for one in found.bars)
    return "\n".join([*lines, *map(_line, (found.bare, *found.events)), "", *bars])


def _bars(events: Sequence[Waited]) -> tuple[Bar, ...]:
    slowest = {"CPU": max(one.cpu_ms for one in events), "on the clock": max(one.clock_ms for one in events)}
    return tuple(Bar(f"the slowest event, {name}", ms, _BAR_MS, ms < _BAR_MS) for name, ms in slowest.items())


def _line(one: Waited) -> str:
    return f"{one.event:34}{one.cpu_ms:8.0f}{one.clock_ms:8.0f}   {'something' if one.answered else 'nothing'}"


def _fill(path: Path, settings: Mapping[str, object], memories: int, env: Env, progress: Progress) -> None:
    with Engram.open(path, settings={**settings, "model": "none"}, env=env) as mem:
        goal, decided = "Move the harbour timetable to the new server", ["The ferry comes first"]
        mem.working.hand_over(goal, decided=decided, sources=())
    live = LiveSettings({**settings, "backup_hours": 0.0}, monotonic=env.monotonic)
    store, _ = open_vault(path, live, env, Credentials())
    try:
        for start in range(0, memories, BATCH):
            progress("filling a vault", start / memories)
            numbers = range(start, min(start + BATCH, memories))
            store.add(_OWNER, [Memory(text=sentence(n), importance=n % 10 / 10, screened=VERSION) for n in numbers])
    finally:
        store.close()


def _calls(vault: str, memories: int) -> dict[str, tuple[list[str], bytes]]:
    """Each by its name: the command and what stands on its standard input. A bare interpreter comes first."""
    name, noun = question(memories // 2)
    wanted = {
        "a courtesy": ("user-prompt", {"prompt": _NODS}),
        "a prompt that nothing bears on": ("user-prompt", {"prompt": _NOTHING}),
        "a prompt that something bears on": ("user-prompt", {"prompt": f"What about {name.capitalize()} and the {noun}?"}),
        "session start": ("session-start", {}),
        "stop, pre-compact, session end": ("stop", {"transcript_path": os.devnull}),
    }
    calls: dict[str, tuple[list[str], bytes]] = {"Python, doing nothing": ([sys.executable, "-c", "pass"], b"")}
    for label, (event, more) in wanted.items():
        given = {"hook_event_name": EVENTS[event], "session_id": "bench", "cwd": tempfile.gettempdir(), **more}
        calls[label] = ([*edits.program(), f"--vault={vault}", "hook", event, "--client", CLAUDE], json.dumps(given).encode())
    return calls


def _called(name: str, command: Sequence[str], given: bytes, env: Env) -> Waited:
    began = env.monotonic()
    with subprocess.Popen(  # noqa: S603  our own program
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        said = process.communicate(given)[0] if not hasattr(os, "wait4") else _exchange(process, given)
        spent = 0.0
        if hasattr(os, "wait4"):
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            spent = (usage.ru_utime + usage.ru_stime) * 1000
    return Waited(name, spent, (env.monotonic() - began) * 1000, bool(said))


def _exchange(process: subprocess.Popen[bytes], given: bytes) -> bytes:
    """Without waiting for its end, which tells what it cost to whoever waits first."""
    if process.stdin is None or process.stdout is None:
        return b""
    with process.stdin as stdin:
        stdin.write(given)
    return process.stdout.read()


def _median(several: Sequence[Waited]) -> Waited:
    cpu, clock = (statistics.median(times) for times in zip(*((one.cpu_ms, one.clock_ms) for one in several), strict=True))
    return Waited(several[0].event, cpu, clock, several[0].answered)
