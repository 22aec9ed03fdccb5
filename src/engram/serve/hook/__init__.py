"""`engram hook <event>`: called by coding agents at a session's start, with each prompt and when they stop.

In: the agent's JSON on standard input. Out: JSON on standard output with memories for the model, or nothing. A hook that fails
must not stop the agent: the exit code is always 0, and an error is one line on standard error with its code or type, without
stored text.

Every prompt waits for a hook, so it loads no typer, no numpy and no encoder. Transcripts are captured by a background process,
for which the agent does not wait.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Mapping, Sequence

from engram.hosts import CLAUDE, HOOK_EVENTS
from engram.serve.hook import events
from engram.serve.hook.events import HookEvent, InvalidEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_INPUT_BYTES = 16 << 20
_VALUE_OPTIONS = ("--vault", "--agent", "--project", "--squad", "--channel", "--user")  # global options of the command line
_FLAGS = ("--json", "--quiet", "-q", "--debug", "--")
_HELP = ("-h", "--help")
_EXITING_FLAGS = (*_HELP, "--version", "--show-completion", "--install-completion")  # the command after them is not run
_CAPTURING_EVENTS = ("pre-compact", "stop", "session-end")


def event_call(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]] | None:
    """Return the arguments after `hook` and the values of the options before it, or None if this command line is not an event.

    A call with unknown options is an event too; its arguments then begin with "--", which `run` refuses. If it were left to
    typer, it would end with exit code 2, which hosts take for a veto.
    """
    options, has_unknown, rest = _global_options(arguments)
    match rest:
        case ["hook", *after]:
            pass
        case [_, "hook", event, *_] if has_unknown and event in HOOK_EVENTS:  # the unknown option has a value
            after = rest[2:]
        case [event, *_] if "hook" in options.values() and event in HOOK_EVENTS:  # `--agent $UNSET hook …`
            has_unknown, after = True, rest
        case _:
            return None
    if _is_for_a_person(after):
        return None
    return (["--", *after] if has_unknown else after), options


def _global_options(arguments: Sequence[str]) -> tuple[dict[str, str], bool, list[str]]:
    """Return the values of the options before the command, whether one of them is unknown, and the remaining arguments."""
    options: dict[str, str] = {}
    has_unknown, rest = False, list(arguments)
    while rest and rest[0].startswith("-"):
        name, equals, value = rest.pop(0).partition("=")
        if name in _VALUE_OPTIONS and (equals or rest):
            options[name.removeprefix("--")] = value if equals else rest.pop(0)
        elif name in _EXITING_FLAGS:
            return options, has_unknown, []
        elif name not in _FLAGS:
            has_unknown = True
    return options, has_unknown, rest


def _is_for_a_person(after: Sequence[str]) -> bool:
    """Return whether typer handles this call: help, `install`, and `engram hook` alone on a terminal. A host may call `engram
    hook` alone too; then its JSON names the event."""
    if not after:
        return os.isatty(0)
    asks_help = after[-1] in _HELP and (len(after) == 1 or (len(after) == 2 and after[0] in HOOK_EVENTS))
    return after[0] == "install" or asks_help


def run(arguments: Sequence[str], options: Mapping[str, str]) -> int:
    """Handle one event and return 0. `--client` names the host; `--wait` captures the transcript before returning."""
    identity = {name: value for name, value in options.items() if name != "vault"}
    try:
        _handle(list(arguments), options.get("vault"), identity)
    except Exception as defect:  # noqa: BLE001  broad on purpose: a hook must never fail its host
        reason = str(defect) if isinstance(defect, InvalidEvent) else getattr(defect, "code", "") or type(defect).__name__
        with contextlib.suppress(OSError, ValueError, AttributeError):  # standard error is closed, full or None
            sys.stderr.write(f"engram hook: {reason}\n")
            sys.stderr.flush()
    return 0


def run_and_exit(arguments: Sequence[str], options: Mapping[str, str]) -> NoReturn:
    """Handle one event and end the process at once: garbage collection and the interpreter's teardown would take a fifth of the
    time. The caller has switched garbage collection off; a capture needs it on."""
    if "--wait" in arguments:
        gc.enable()
    code = run(arguments, options)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # the stream is closed or None
            stream.flush()
    os._exit(code)


def _handle(arguments: list[str], vault: str | None, identity: Mapping[str, str]) -> None:
    named, client, wait = _parse(arguments)
    event = events.read(b"" if sys.stdin is None else sys.stdin.buffer.read(_INPUT_BYTES), client, named)
    if event.name in _CAPTURING_EVENTS:
        if wait:
            from engram.serve.hook.capture import capture

            capture(event, vault, identity)
        else:
            _capture_in_background(event, vault, identity)
    elif event.name == "session-start" or events.asks_something(event.prompt):
        from engram.serve.hook.prompt import answer_event

        answer_event(event, vault, identity, lambda text: _print(events.answer(event, text)))


def _parse(arguments: list[str]) -> tuple[str, str, bool]:
    """Return the event's name, the host, and whether to wait for a capture. Other options are refused: an identity option after
    `hook`, for example, would otherwise be ignored and the event handled as somebody else."""
    named, client, wait = "", CLAUDE, False
    rest = list(arguments)
    while rest:
        word, _, value = rest.pop(0).partition("=")
        if word == "--client" and (value or rest):
            client = value or rest.pop(0)
        elif word == "--wait":
            wait = True
        elif word.startswith("-") or named:
            raise InvalidEvent(
                f"nothing was done: there are {', '.join(_VALUE_OPTIONS)} before `hook`, --client and --wait after an event."
            )
        else:
            named = word
    return named, client, wait


def _print(text: str) -> None:
    if text:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def _capture_in_background(event: HookEvent, vault: str | None, identity: Mapping[str, str]) -> None:
    """Call the same event with `--wait` in a process that outlives this one: reading and encoding a transcript takes seconds."""
    import subprocess  # late: a prompt does not need it

    if not event.transcript:
        return
    named = {**({} if vault is None else {"vault": vault}), **identity}
    options = [f"--{name}={value}" for name, value in named.items()]
    program = [sys.executable, "-P", "-m", "engram.serve.cli", *options]  # -P: imports nothing from the agent's working folder
    child = subprocess.Popen(  # noqa: S603  the arguments are our own
        [*program, "hook", event.name, "--client", event.client, "--wait"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    if child.stdin is not None:
        with child.stdin:
            child.stdin.write(events.to_json(event))
    child.returncode = 0  # marks the child as ended, else `Popen.__del__` warns of one that still runs
