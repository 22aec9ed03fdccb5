"""Ways to run the command line: in this process, in a process of its own, and on a pseudo-terminal."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from patience import PATIENCE_S

COMMAND = (sys.executable, "-m", "engram.serve.cli")


@dataclass(frozen=True)
class Ran:
    """The exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        assert self.code == 0, self.err
        return self.out.splitlines()

    @property
    def id(self) -> str:
        assert self.code == 0, self.err
        return self.out.strip()


Engram = Callable[..., Ran]


def in_process_of_its_own(*arguments: str, given: bytes = b"", environment: Mapping[str, str] | None = None) -> Ran:
    done = subprocess.run(
        [*COMMAND, *arguments], input=given, capture_output=True, env={**os.environ, **(environment or {})}, timeout=120
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def heed_interrupts() -> None:
    """Restore SIGINT: a background job of a shell ignores it, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """A command on a pseudo-terminal: `wait_for` text on the screen, `type` an answer, then `end`."""

    def __init__(self, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        import pty  # not on every platform

        self._screen, line = pty.openpty()
        self._seen = b""
        plain = {"TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
        self._process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=line,
            stdout=line,
            stderr=line,
            env={**os.environ, **plain, **(environment or {})},
            start_new_session=True,
            preexec_fn=heed_interrupts,
        )
        os.close(line)

    def wait_for(self, words: str, timeout: float = PATIENCE_S) -> None:
        deadline = time.monotonic() + timeout
        while words.encode() not in self._seen:
            assert time.monotonic() < deadline, f"{words!r} did not come; the screen shows {self._seen!r}"
            self._read(0.1)

    def type(self, text: str) -> None:
        self._seen = b""
        os.write(self._screen, text.encode())

    def send(self, number: int) -> None:
        self._process.send_signal(number)

    def end(self, timeout: float = PATIENCE_S) -> tuple[int, str]:
        """Wait for the end; return the exit code and what the screen showed since the last input."""
        deadline = time.monotonic() + timeout
        while self._process.poll() is None:
            assert time.monotonic() < deadline, f"the command does not end; the screen shows {self._seen!r}"
            self._read(0.05)
        while self._read(0.0):
            pass
        os.close(self._screen)
        return self._process.returncode, self._seen.decode()

    def _read(self, patience: float) -> bool:
        ready, _, _ = select.select([self._screen], [], [], patience)
        with contextlib.suppress(OSError):  # the command has ended
            if ready and (piece := os.read(self._screen, 65536)):
                self._seen += piece
                return True
        return False
