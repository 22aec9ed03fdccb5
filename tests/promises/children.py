"""Child processes for the promises: forked in a few milliseconds, driven over pipes, killed with SIGKILL.

One nursery process imports the engine once and then forks a child for every request; it never opens a vault itself, so
a child is as fresh as a new interpreter would be. Each child runs one function of `programs.py`, reads lines from its
input, writes JSON lines to its output, and ends as an interpreter ends: exit handlers run unless it is killed.

Run as a script, this file is the nursery.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent

PATIENCE_S = 120.0  # a safety net against a program that hangs; a loaded machine must never reach it


class Child:
    """A running program of `programs.py`."""

    def __init__(self, nursery: Nursery, pid: int, into: int, out: int) -> None:
        self.pid = pid
        self._nursery = nursery
        self._into = into
        self._out = out
        self._buffer = b""
        self._status: int | None = None

    def line(self, timeout: float = PATIENCE_S) -> Any:
        """Return the next value that the program printed; fail if it ends or prints nothing."""
        while b"\n" not in self._buffer:
            if not self._more(timeout):
                raise AssertionError(f"the program ended (exit {self.wait()}) instead of speaking")
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)

    def rest(self, timeout: float = PATIENCE_S) -> list[Any]:
        """Return all that the program prints until it ends."""
        while self._more(timeout):
            pass
        lines, self._buffer = self._buffer.splitlines(keepends=True), b""
        return [json.loads(line) for line in lines if line.endswith(b"\n")]

    def tell(self, value: object = None) -> None:
        os.write(self._into, (json.dumps(value) + "\n").encode())

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> list[Any]:
        """Send SIGKILL and return what the program had printed before."""
        with contextlib.suppress(ProcessLookupError):
            self.signal(signal.SIGKILL)
        said = self.rest()
        self.wait()
        return said

    def wait(self, timeout: float = PATIENCE_S) -> int:
        """Return the exit status, negative for a signal; fail if the program does not end."""
        deadline = time.monotonic() + timeout
        while self._status is None:
            self._status = self._nursery.status(self.pid)
            if self._status is None and time.monotonic() > deadline:
                stuck = _where(self.pid)
                self.signal(signal.SIGKILL)
                raise AssertionError(f"the program did not end within {timeout} s {stuck}")
            time.sleep(0 if self._status is not None else 0.005)
        return self._status

    def end(self) -> None:
        if self._status is None:
            with contextlib.suppress(ProcessLookupError, AssertionError):
                self.signal(signal.SIGKILL)
                self.wait()
        for descriptor in (self._into, self._out):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _more(self, timeout: float) -> bool:
        ready, _, _ = select.select([self._out], [], [], timeout)
        if not ready:
            raise AssertionError(f"the program said nothing for {timeout} s {_where(self.pid)}")
        piece = os.read(self._out, 65536)
        self._buffer += piece
        return bool(piece)


class Nursery:
    """The parent's end of the nursery process: starts programs and reports their exit status."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        command = [sys.executable, str(_HERE / "children.py"), str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()
        self._children: list[Child] = []

    def start(self, program: str, **arguments: object) -> Child:
        their_in, into = os.pipe()
        out, their_out = os.pipe()
        request = {"program": program, "arguments": arguments, "environ": dict(os.environ)}
        answer = self._ask(request, their_in, their_out)
        os.close(their_in)
        os.close(their_out)
        child = Child(self, int(answer), into, out)
        self._children.append(child)
        return child

    def run(self, program: str, **arguments: object) -> list[Any]:
        """Run a program to its end and return what it printed; fail if its exit status is not 0."""
        child = self.start(program, **arguments)
        said = child.rest()
        status = child.wait()
        assert status == 0, f"{program} ended with {status} after saying {said[-3:]}"
        return said

    def status(self, pid: int) -> int | None:
        answer = self._ask({"wait": pid})
        return None if answer == "" else int(answer)

    def clear(self) -> None:
        for child in self._children:
            child.end()
        self._children = []

    def close(self) -> None:
        self.clear()
        self._socket.close()
        self._process.wait(120)

    def _ask(self, request: dict[str, object], *descriptors: int) -> str:
        body = json.dumps(request).encode()
        extra = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        self._socket.sendmsg([len(body).to_bytes(4)], extra)
        self._socket.sendall(body)
        return self._socket.recv(64).decode().strip()


def _where(pid: int) -> str:
    try:
        return f"(its main thread waits in {Path(f'/proc/{pid}/wchan').read_text() or '?'})"
    except OSError:
        return ""


def _nurse(channel: socket.socket) -> None:
    """Answer requests until the parent hangs up. A forked child returns from here to run its program."""
    while True:
        head, descriptors, _, _ = socket.recv_fds(channel, 4, 2)
        if not head:
            sys.exit()
        body = b""
        while len(body) < int.from_bytes(head):
            body += channel.recv(int.from_bytes(head) - len(body))
        request = json.loads(body)
        if "wait" in request:
            pid, status = os.waitpid(request["wait"], os.WNOHANG)
            channel.sendall(f"{os.waitstatus_to_exitcode(status) if pid else ''}\n".encode())
            continue
        pid = os.fork()
        if not pid:
            channel.close()
            os.dup2(descriptors[0], 0)
            os.dup2(descriptors[1], 1)
            for descriptor in descriptors:
                os.close(descriptor)
            _grow_up(request)
            return
        for descriptor in descriptors:
            os.close(descriptor)
        channel.sendall(f"{pid}\n".encode())


def _grow_up(request: dict[str, Any]) -> None:
    from promises import programs

    os.environ.clear()
    os.environ.update(request["environ"])
    getattr(programs, request["program"])(**request["arguments"])


if __name__ == "__main__":
    sys.path.insert(0, str(_HERE.parent))
    from promises import programs as _loaded  # noqa: F401  imported once, here, for all children

    from engram.text import tokens
    from engram.text.english import affect, facts

    # Tables and patterns that are made at their first use: a second of CPU that every child would spend again.
    tokens.count("x")
    affect.affect("x")
    facts.facts("x", "user")
    _nurse(socket.socket(fileno=int(sys.argv[1])))
