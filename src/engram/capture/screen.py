"""Judge incoming text twice: the tier it must be kept with, and whether it reads as an attack on the model.

An attack is refused where that is plain, else kept with a mark that keeps it out of every answer.

A turn is judged as a whole. In one that is flagged, the statements that are suspicious by themselves bear the mark; where none
is, the attack lies in all of them together, and all do.

What was kept before the present rules against attacks is judged by them too, beside the use and not only at recall.
"""

from __future__ import annotations

from collections.abc import Sequence

from engram.errors import InjectionBlocked
from engram.guard import injection, personal_data
from engram.guard.injection import VERSION, Assessment, InjectionVerdict
from engram.settings import Settings
from engram.store.ports import Store
from engram.types import Memory, Reader, Sensitivity, Turn
from engram.values.frozen import replace
from engram.values.identity import strictest

REFUSED = "[refused: it reads as an attack on the model]"
"""The text archived in the place of a refused turn, so that it is known when it comes again."""

_CLEAN = Assessment(InjectionVerdict.CLEAN, 0.0)


def tier_of(text: str, settings: Settings) -> Sensitivity:
    """Return the tier that the words ask for."""
    return personal_data.sensitivity_of(personal_data.find_sensitive(text)) if settings.guard_personal else Sensitivity.CLEARTEXT


def tier_after(old: Memory, text: str, settings: Settings) -> Sensitivity:
    """Return the tier of a memory that gets other words.

    Where somebody had it kept otherwise than its words asked for, that holds on: more closely in any case, less closely unless
    the new words ask for more than the old ones did.
    """
    asked, before = tier_of(text, settings), tier_of(old.text, settings)
    if strictest(old.tier, before) is not before:
        return strictest(old.tier, asked)
    return old.tier if old.tier is not before and strictest(asked, before) is before else asked


def heard(turn: Turn, settings: Settings) -> Turn:
    """A turn as it may be archived: with its tier, and without its words if they are plainly an attack."""
    if judged(turn.text, settings).verdict is InjectionVerdict.REJECTED:
        return replace(turn, text=REFUSED)
    return replace(turn, tier=tier_of(turn.text, settings))


def judged(text: str, settings: Settings) -> Assessment:
    return injection.assess_cached(text) if settings.guard_injection else _CLEAN


def is_sound(text: str, settings: Settings) -> bool:
    """May it stand in a prompt?"""
    return judged(text, settings).verdict is InjectionVerdict.CLEAN


def why(seen: Assessment) -> str:
    return f"refused: it reads as an attack on the model ({', '.join(seen.reasons)})"


def reason_of(seen: Assessment) -> str:
    """Why something is flagged, as its history tells it; empty if it is clean."""
    return "" if seen.verdict is InjectionVerdict.CLEAN else f"reads as an attack on the model ({', '.join(seen.reasons)})"


def marks(turn: Assessment, statements: Sequence[str], settings: Settings) -> list[bool]:
    """Return for each statement of a judged turn whether it bears the mark."""
    if turn.verdict is InjectionVerdict.CLEAN:
        return [False] * len(statements)
    suspicious = [judged(text, settings).verdict is not InjectionVerdict.CLEAN for text in statements]
    return suspicious if any(suspicious) else [True] * len(statements)


def screened(text: str, settings: Settings) -> dict[str, bool | int]:
    """The mark of one statement, as a memory has it; an error if it is plainly an attack."""
    seen = judged(text, settings)
    if seen.verdict is InjectionVerdict.REJECTED:
        raise InjectionBlocked(
            f"this reads as an attack on the model that would read it ({', '.join(seen.reasons)}), and is not kept.",
            way_out="Say it in other words; or switch `guard_injection` off.",
        )
    return {"flagged": seen.verdict is InjectionVerdict.FLAGGED, "screened": version(settings)}


def version(settings: Settings) -> int:
    return injection.VERSION if settings.guard_injection else 0


def rescreen(store: Store, reader: Reader, settings: Settings, *, after: int, page: int) -> int | None:
    """Judge the next memories above a key that other rules, or none, have judged; the key to go on from, None at the end.

    What reads as an attack is flagged, and so left out of every answer; nothing is removed.
    """
    found = store.sensitivity.screened_otherwise(reader, VERSION, after=after, limit=page)
    if not found:
        return None
    seen = {memory.key: judged(memory.text, settings) for memory in found}
    store.sensitivity.put_screened(reader, VERSION, {key: reason_of(one) for key, one in seen.items()})
    return max(seen)
