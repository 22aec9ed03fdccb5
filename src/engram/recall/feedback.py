"""Learn from answers: warn when they get poor, and shift weight to the arm that finds helpful memories (§5.3)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence

from engram.types import ArmSignal, Quality

_WINDOW, _FEWEST = 50, 10  # recalls that are remembered, and that are needed for a warning
_POOR = 0.3  # mean relevancy
_RATE = 0.05
_MOST_SHIFT = 0.15


class Tuning:
    """The relevancy of the last recalls of this process. Holds figures only, never words."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._relevancy: deque[float] = deque(maxlen=_WINDOW)

    def note(self, quality: Quality) -> None:
        """Record the relevancy of an answer that has hits and used vectors."""
        if quality.returned and "vectors" in quality.strategy:
            with self._lock:
                self._relevancy.append(quality.relevancy)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning if the mean relevancy of the last recalls is poor."""
        with self._lock:
            last = list(self._relevancy)
        if len(last) < _FEWEST or (mean := sum(last) / len(last)) >= _POOR:
            return ()
        return (f"the last {len(last)} answers were far from their questions (mean relevancy {mean:.2f}): is the model right?",)


def shifted(shift: float, weight: float, signals: Sequence[ArmSignal], helpful: bool) -> float:
    """Return the shift of the vector arm's weight after one more judgement on a hit.

    A helpful hit pulls the weight towards the share that vectors had in finding it; an unhelpful one pushes it away. One
    judgement moves it by a twentieth of the difference; all together move it by at most 0.15 either way.
    """
    total = sum(abs(signal.share) for signal in signals)
    if not total:
        return shift
    share = sum(abs(signal.share) for signal in signals if signal.arm == "vectors") / total
    moved = shift + _RATE * (share - weight) * (1 if helpful else -1)
    return min(max(moved, -_MOST_SHIFT), _MOST_SHIFT)
