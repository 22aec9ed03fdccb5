"""How much of what is known is put before an agent unasked (X8): sections of a window, their shares, how many memories."""

from __future__ import annotations

from collections.abc import Mapping

from engram.context.budget import RECALLED, Profile
from engram.frozen import frozen, replace
from engram.types import Outcome


@frozen(kw_only=True)
class Injection:
    """`most` memories, if there is a most; `recalled`: what their share is multiplied by; whether it is said what changed since
    the last session, what is not known, and what could be asked."""

    name: str
    most: int | None = None
    recalled: float = 1.0
    morning: bool = True
    reflects: bool = True
    asks: bool = True


MODES: Mapping[str, Injection] = {
    mode.name: mode
    for mode in (
        Injection(name="minimal", most=5, recalled=0.5, morning=False, reflects=False, asks=False),
        Injection(name="standard"),
        Injection(name="deep", recalled=1.5),
    )
}

_DOUBT = "What is remembered may not answer this question."


def shared(profile: Profile, mode: Injection) -> Profile:
    """The profile with the shares of this mode."""
    claims = (replace(one, share=one.share * (mode.recalled if one.name == RECALLED else 1.0)) for one in profile.claims)
    return replace(profile, claims=tuple(claims))


def reflection(outcome: Outcome) -> str:
    """What an agent should know of how well it knows (§38.3). Where nothing is shown nothing misleads, and nothing is said."""
    return _DOUBT if outcome is Outcome.BELOW_THRESHOLD else ""
