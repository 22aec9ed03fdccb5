"""What recall learns from how it went: a warning when answers get poor, and a little more of the arm that helps (§5.3)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence

from engram.types import ArmSignal, Quality

_WINDOW, _FEW = 50, 10
_POOR = 0.3
_RATE = 0.05
_FURTHEST = 0.15


class Tuning:
    """Looks back on the last recalls of this process. Holds figures only, never words."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._relevancy: deque[float] = deque(maxlen=_WINDOW)

    def note(self, quality: Quality) -> None:
        if quality.returned and "vectors" in quality.strategy:
            with self._lock:
                self._relevancy.append(quality.relevancy)

    @property
    def warnings(self) -> tuple[str, ...]:
        with self._lock:
            seen = list(self._relevancy)
        if len(seen) < _FEW or (mean := sum(seen) / len(seen)) >= _POOR:
            return ()
        return (f"the last {len(seen)} answers were far from their questions (mean relevancy {mean:.2f}): is the model right?",)


def shifted(shift: float, weight: float, signals: Sequence[ArmSignal], helpful: bool) -> float:
    """The shift of the vector arm's weight after one more judgement on a hit.

    A hit that helped pulls the weight towards the share that vectors had in finding it; one that did not pushes it away. A
    judgement moves it by a twentieth of the difference, and all together by no more than 0.15 either way.
    """
    total = sum(abs(signal.share) for signal in signals)
    if not total:
        return shift
    share = sum(abs(signal.share) for signal in signals if signal.arm == "vectors") / total
    moved = shift + _RATE * (share - weight) * (1 if helpful else -1)
    return min(max(moved, -_FURTHEST), _FURTHEST)
