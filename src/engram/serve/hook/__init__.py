"""`engram hook <event>`: what coding agents call while they work, and what they read of it.

Comes in: the agent's JSON on standard input. Goes out: its JSON on standard output, with what to read now, or nothing. Whatever
goes wrong, the exit code is 0 and nothing stands on standard output: a memory that fails must not stop the work. A remark on
standard error holds a code, or the type of a defect, and no words.

Every prompt waits for this, so nothing is loaded that is not needed: no typer, no numpy, no encoder. What is said is taken in by
a process of its own, which the agent does not wait for.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Mapping, Sequence

from engram.serve.hook import events
from engram.serve.hook.events import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_INPUT_BYTES = 16 << 20
_NAMED = ("--vault", "--agent", "--project", "--squad", "--channel", "--user")  # as the command line has them before a command
_FLAGS = ("--json", "--quiet", "-q", "--debug", "--")
_HELP = ("-h", "--help")
_ENDING = (*_HELP, "--version", "--show-completion", "--install-completion")  # whatever follows, these are done and nothing else
_CAPTURES = ("pre-compact", "stop", "session-end")


def meant(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]] | None:
    """What stands after `hook`, and who and which vault was named before it, if this command line is an event. A call that nobody
    understands is one too, and begins with an option that is none: a host takes 2, which bad calls end with, for a veto."""
    named, is_odd, rest = _before(arguments)
    match rest:
        case ["hook", *after]:
            pass
        case [_, "hook", event, *_] if is_odd and event in events.EVENTS:  # the option that nobody knows has a value
            after = rest[2:]
        case [event, *_] if "hook" in named.values() and event in events.EVENTS:  # taken for a value that came out empty
            is_odd, after = True, rest
        case _:
            return None
    if _is_for_a_person(after):
        return None
    return (["--", *after] if is_odd else after), named


def _before(arguments: Sequence[str]) -> tuple[dict[str, str], bool, list[str]]:
    """What the options before the command name, whether one of them is none of ours, and what follows them."""
    named: dict[str, str] = {}
    is_odd, rest = False, list(arguments)
    while rest and rest[0].startswith("-"):
        name, equals, value = rest.pop(0).partition("=")
        if name in _NAMED and (equals or rest):
            named[name.removeprefix("--")] = value if equals else rest.pop(0)
        elif name in _ENDING:
            return named, is_odd, []
        elif name not in _FLAGS:
            is_odd = True
    return named, is_odd, rest


def _is_for_a_person(after: Sequence[str]) -> bool:
    """Help, installing, and `engram hook` alone on a terminal; from a host, its JSON says which event it is."""
    if not after:
        return os.isatty(0)
    asks_help = after[-1] in _HELP and (len(after) == 1 or (len(after) == 2 and after[0] in events.EVENTS))
    return after[0] == "install" or asks_help


def run(arguments: Sequence[str], named: Mapping[str, str]) -> int:
    """One event. `--client` names the host, `--wait` takes in what was said before it returns."""
    identity = {name: value for name, value in named.items() if name != "vault"}
    try:
        _attend(list(arguments), named.get("vault"), identity)
    except Exception as defect:  # noqa: BLE001  the one promise is that the host goes on
        what = str(defect) if isinstance(defect, events.NoEvent) else getattr(defect, "code", "") or type(defect).__name__
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, full, or none at all
            sys.stderr.write(f"engram hook: {what}\n")
            sys.stderr.flush()
    return 0


def run_and_leave(arguments: Sequence[str], named: Mapping[str, str]) -> NoReturn:
    """The same as a program of its own, which ends once all is said and closed: collecting garbage and taking the interpreter
    apart would take a fifth of the time. No garbage is collected when it is called; what takes in a conversation makes some."""
    if "--wait" in arguments:
        gc.enable()
    code = run(arguments, named)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or none at all
            stream.flush()
    os._exit(code)


def _attend(arguments: list[str], vault: str | None, identity: Mapping[str, str]) -> None:
    named, client, wait = _asked(arguments)
    event = events.read(b"" if sys.stdin is None else sys.stdin.buffer.read(_INPUT_BYTES), client, named)
    if event.name in _CAPTURES:
        if wait:
            from engram.serve.hook.capture import capture

            capture(event, vault, identity)
        else:
            _hand_to_another(event, vault, identity)
    elif event.name == "session-start" or events.asks_something(event.prompt):
        from engram.serve.hook.prompt import glance

        glance(event, vault, identity, lambda text: _say(events.answer(event, text)))


def _asked(arguments: list[str]) -> tuple[str, str, bool]:
    """Which event, of which host, and whether to wait for it. What else is said would be done as somebody else than was meant."""
    named, client, wait = "", events.CLAUDE, False
    rest = list(arguments)
    while rest:
        word, _, value = rest.pop(0).partition("=")
        if word == "--client" and (value or rest):
            client = value or rest.pop(0)
        elif word == "--wait":
            wait = True
        elif word.startswith("-") or named:
            raise events.NoEvent(
                f"nothing was done: there are {', '.join(_NAMED)} before `hook`, --client and --wait after an event."
            )
        else:
            named = word
    return named, client, wait


def _say(text: str) -> None:
    if text:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def _hand_to_another(event: Event, vault: str | None, identity: Mapping[str, str]) -> None:
    """The same call again, in a process that outlives this one: reading a transcript and encoding it takes seconds."""
    import subprocess  # late: a prompt needs none of it

    if not event.transcript:
        return
    named = {**({} if vault is None else {"vault": vault}), **identity}
    options = [f"--{name}={value}" for name, value in named.items()]
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
            child.stdin.write(events.written(event))
    child.returncode = 0  # nobody waits for it, so that nothing is to be said of a child that still runs
