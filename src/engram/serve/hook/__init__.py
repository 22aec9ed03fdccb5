"""`engram hook <event>`: what coding agents call while they work, and what they read of it.

Comes in: the agent's JSON on standard input. Goes out: its JSON on standard output, with what to read now, or nothing. Whatever
goes wrong, the exit code is 0 and nothing stands on standard output: a memory that fails must not stop the work. A remark on
standard error holds a code, or the type of a defect, and no words.

Every prompt waits for this, so nothing is loaded that is not needed: no typer, no numpy, no encoder. What is said is taken in by
a process of its own, which the agent does not wait for.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from engram.serve.hook import hosts
from engram.serve.hook.hosts import Event

_INPUT_BYTES = 16 << 20
_CAPTURES = ("pre-compact", "stop", "session-end")


def is_event(arguments: Sequence[str]) -> bool:
    """Is this command line an event, if one that nobody knows? A host takes 2, which a bad call ends with, for a veto."""
    return arguments[:1] == ["hook"] and len(arguments) > 1 and not {"install", "-h", "--help"} & set(arguments)


def run(arguments: Sequence[str], vault: str | None = None) -> int:
    """One event. `--client` names the host, `--wait` takes in what was said before it returns."""
    try:
        _attend(list(arguments), vault)
    except Exception as defect:  # noqa: BLE001  the one promise is that the host goes on
        what = str(defect) if isinstance(defect, hosts.NoEvent) else getattr(defect, "code", "") or type(defect).__name__
        print(f"engram hook: {what}", file=sys.stderr)
    return 0


def _attend(arguments: list[str], vault: str | None) -> None:
    wait = "--wait" in arguments
    words = [one for one in arguments if one != "--wait"]
    client = words[words.index("--client") + 1] if "--client" in words[:-1] else hosts.CLAUDE
    named = words[0] if words and not words[0].startswith("-") else ""
    event = hosts.read(sys.stdin.buffer.read(_INPUT_BYTES), client, named)
    if event.name in _CAPTURES:
        if wait:
            from engram.serve.hook.capture import capture

            capture(event, vault)
        else:
            _hand_to_another(event, vault)
    elif event.name == "session-start" or hosts.asks_something(event.prompt):
        from engram.serve.hook.glance import glance

        glance(event, vault, lambda text: _say(hosts.answer(event, text)))


def _say(text: str) -> None:
    if text:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def _hand_to_another(event: Event, vault: str | None) -> None:
    """The same call again, in a process that outlives this one: reading a transcript and encoding it takes seconds."""
    import subprocess  # late: a prompt needs none of it

    if not event.transcript:
        return
    options = [] if vault is None else ["--vault", vault]
    program = [sys.executable, "-P", "-m", "engram.serve.cli", *options]  # -P: no module of the folder an agent works in
    child = subprocess.Popen(  # noqa: S603  its arguments are our own words
        [*program, "hook", event.name, "--client", event.client, "--wait"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    if child.stdin is not None:
        with child.stdin:
            child.stdin.write(hosts.written(event))
    child.returncode = 0  # nobody waits for it, so that nothing is to be said of a child that still runs
