"""What reads as an attack on the model: refused where that is plain, else kept with a mark that keeps it out of every answer.

A turn is judged as a whole. In one that is flagged, the statements that are suspicious by themselves bear the mark; where none
is, the attack lies in all of them together, and all do.
"""

from __future__ import annotations

from collections.abc import Sequence

from engram.errors import InjectionBlocked
from engram.guard import injection
from engram.guard.injection import Assessment, Verdict
from engram.settings import Settings

REFUSED = "[refused: it reads as an attack on the model]"
"""What is archived in the place of such a turn, so that it is known when it comes again."""

_CLEAN = Assessment(Verdict.CLEAN, 0.0)


def judged(text: str, settings: Settings) -> Assessment:
    return injection.judged(text) if settings.guard_injection else _CLEAN


def why(seen: Assessment) -> str:
    return f"refused: it reads as an attack on the model ({', '.join(seen.reasons)})"


def marks(turn: Assessment, statements: Sequence[str], settings: Settings) -> list[bool]:
    """Which statements of a turn that was judged bear the mark."""
    if turn.verdict is Verdict.CLEAN:
        return [False] * len(statements)
    suspicious = [judged(text, settings).verdict is not Verdict.CLEAN for text in statements]
    return suspicious if any(suspicious) else [True] * len(statements)


def screened(text: str, settings: Settings) -> dict[str, bool | int]:
    """The mark of one statement, as a memory has it; an error if it is plainly an attack."""
    seen = judged(text, settings)
    if seen.verdict is Verdict.REJECTED:
        raise InjectionBlocked(
            f"this reads as an attack on the model that would read it ({', '.join(seen.reasons)}), and is not kept.",
            way_out="Say it in other words; or switch `guard_injection` off.",
        )
    return {"flagged": seen.verdict is Verdict.FLAGGED, "screened": version(settings)}


def version(settings: Settings) -> int:
    return injection.VERSION if settings.guard_injection else 0
