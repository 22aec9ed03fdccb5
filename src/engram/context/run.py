"""A message and its answer as a pair of calls: the window before the answer, capture and working memory after it (§17.5).

The profiles chat, task, cron, orchestrator, swarm and flow take the same path; a profile divides the window and decides whether
the turns are captured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from engram.context.window import ContextWindow
from engram.deadline import without_deadline
from engram.errors import EngramError, InvalidQuery
from engram.types import Reader, Report, Turn
from engram.working.memory import Working
from engram.working.sets import WorkingSets


class Run:
    """A run that has begun. `end` it with the answer; left without one, it is cancelled and nothing of it is captured."""

    def __init__(
        self,
        window: ContextWindow,
        message: Turn,
        reader: Reader,
        sets: WorkingSets,
        capture: Callable[[Sequence[Turn]], Report] | None,
    ) -> None:
        """capture: stores turns; None if the profile or the reader does not allow it."""
        self.window = window
        self._message = message
        self._reader = reader
        self._sets = sets
        self._capture = capture
        self._ended = False

    def end(self, answer: str) -> Report:
        """Capture the message and the answer, and add both to working memory, which is saved. A run ends once."""
        if self._ended:
            raise InvalidQuery("this run is over.", way_out="Begin another run for another answer.")
        self._ended = True
        reply = Turn(answer, "assistant", session=self._message.session)
        report = Report(operation="observe", counts={"turns": 0, "kept": 0, "merged": 0, "dropped": 0})
        if self._capture is not None:
            try:
                report = self._capture((self._message, reply))
            except EngramError:
                self._ended = False  # nothing was stored: the run can be ended again, or cancelled
                raise
        self._attend(self._message, reply)
        return report

    def cancel(self) -> None:
        """End the run without an answer: the message stays in working memory and is not captured.

        It works after a deadline has passed too. Cancelling twice is harmless.
        """
        if not self._ended:
            self._ended = True
            self._attend(self._message)

    def _attend(self, *turns: Turn) -> None:
        """Add turns to working memory and save it, so that the next process continues here if this one ends now."""
        if not self._reader.writes:
            return
        with without_deadline():
            working = Working(self._sets, self._reader)
            working.hear(*(turn for turn in turns if turn.text.strip()), known=True)  # evicted turns are not captured again
            working.suspend()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.cancel()
