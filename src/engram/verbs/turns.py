"""One message and its answer as one call pair: what to read before, and what to keep after (§17.5).

Chat, task, cron, orchestrator, swarm and flow go the same way; their profiles say how the window is divided and whether what
was said is captured.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from types import TracebackType
from typing import Self

from engram.context.budget import PROFILES
from engram.context.window import ContextWindow
from engram.deadline import without_deadline
from engram.errors import EngramError, InvalidQuery
from engram.types import Report, Turn
from engram.verbs.context import Minding
from engram.verbs.memories import Keeping
from engram.verbs.recall import Asking


class Run:
    """A run that has begun. `end` it with the answer; left without one, it is cancelled: nothing of it is captured."""

    def __init__(self, mem: Running, message: Turn, window: ContextWindow, captures: bool) -> None:
        self.window = window
        self._mem = mem
        self._message = message
        self._captures = captures
        self._over = False

    def end(self, answer: str) -> Report:
        """Keep what was said, take it to mind, and put the mind away. Once; a second answer belongs to a second run."""
        if self._over:
            raise InvalidQuery("this run is over.")
        self._over = True
        reply = Turn(answer, "assistant", session=self._message.session)
        report = Report(operation="observe", counts={"turns": 0, "kept": 0, "merged": 0, "dropped": 0})
        if self._captures:
            try:
                report = self._mem._captured(self._message, reply)
            except EngramError:
                self._over = False  # nothing was kept: it can be ended again, or is cancelled
                raise
        self._mem._attended(self._message, reply)
        return report

    def cancel(self) -> None:
        """The message was heard, but nothing came of it: it stays in mind and out of the vault. Cancelling twice is once.

        A deadline that has passed does not keep it from that.
        """
        if not self._over:
            self._over = True
            self._mem._attended(self._message)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.cancel()


class Running(Asking, Keeping, Minding):
    """Mixed into `Engram`."""

    def begin(
        self,
        message: str,
        *,
        model: str,
        budget: int | None = None,
        history: Sequence[Turn] = (),
        now: datetime | None = None,
        profile: str = "chat",
        mode: str | None = None,
        session: str | None = None,
    ) -> Run:
        """What an agent should read for this message (`.window`), as a run to be ended with its answer."""
        window = self.context(message, model=model, budget=budget, history=history, now=now, profile=profile, mode=mode)
        captures = PROFILES[profile].captures and self._reader.writes
        return Run(self, Turn(message, "user", at=now, session=session), window, captures)

    def _attended(self, *turns: Turn) -> None:
        """To mind, and the mind put away: if the process ends now, the next one goes on here."""
        if self._reader.writes:
            with without_deadline():
                self._put_to_mind(*turns)
                self._vault.prefetcher.start(self._reader)

    def _put_to_mind(self, *turns: Turn) -> None:
        mind = self.working
        mind.hear(*(turn for turn in turns if turn.text.strip()), known=True)  # what is not captured is not to be
        mind.suspend()
