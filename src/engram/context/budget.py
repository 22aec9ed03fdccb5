"""Tokens granted to each section before anything is fetched (§8.2, §8.5).

A section has a share of what there is, and a priority. What one does not use flows to those that want more, by priority. If there
is less than all minimums together, sections lose theirs from the lowest priority up: memory goes last.

How much of what is known is put before an agent unasked (X8): sections of a window, their shares, how many memories.

What a window is made with: the model's room, how it is divided, how its tokens are counted, how many hits to ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from engram.errors import InvalidQuery
from engram.models.capabilities import Capabilities, capabilities
from engram.text import tokens
from engram.types import Outcome
from engram.values.frozen import frozen, replace


@frozen
class Claim:
    """What a section may have: its share of the budget, its priority (higher goes first), and what it must have to be of use."""

    name: str
    share: float
    priority: int
    least: int = 0


@frozen
class Profile:
    """How a sort of run divides its window among its sections, and whether what is said in it is kept."""

    name: str
    claims: tuple[Claim, ...]
    captures: bool = True


MORNING, WORKING, RECALLED, UNKNOWN, HISTORY = "morning", "working", "recalled", "unknown", "history"

ASIDES = (Claim("morning", 0.15, 2, 0), Claim("unknown", 0.05, 0, 0))
"""What every profile has besides, if there is something to say: what was left when work stopped, and what is not known."""

PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("chat", (Claim(WORKING, 0.15, 3, 32), Claim(RECALLED, 0.40, 2, 64), Claim(HISTORY, 0.45, 1))),
        Profile("task", (Claim(WORKING, 0.20, 3, 32), Claim(RECALLED, 0.50, 2, 64), Claim(HISTORY, 0.30, 1))),
        Profile("cron", (Claim(WORKING, 0.10, 3, 32), Claim(RECALLED, 0.80, 2, 64), Claim(HISTORY, 0.10, 1))),
        Profile("orchestrator", (Claim(WORKING, 0.20, 3, 32), Claim(RECALLED, 0.45, 2, 64), Claim(HISTORY, 0.35, 1))),
        Profile("swarm", (Claim(WORKING, 0.15, 3, 32), Claim(RECALLED, 0.55, 2, 64), Claim(HISTORY, 0.30, 1))),
        Profile("flow", (Claim(WORKING, 0.15, 3, 32), Claim(RECALLED, 0.65, 2, 64), Claim(HISTORY, 0.20, 1)), captures=False),
    )
}


def grants(claims: Sequence[Claim], budget: int) -> dict[str, int]:
    """Tokens of each section, adding up to no more than `budget`: shares, but no one under its minimum while others can give."""
    total = sum(claim.share for claim in claims) or 1.0
    given = {claim.name: int(budget * claim.share / total) for claim in claims}
    for claim in sorted(claims, key=lambda claim: -claim.priority):
        lower = sorted((other for other in claims if other.priority < claim.priority), key=lambda other: other.priority)
        for other in lower:
            short = claim.least - given[claim.name]
            if short <= 0:
                break
            moved = min(short, given[other.name])
            given[other.name] -= moved
            given[claim.name] += moved
    return given


def flow_on(claims: Sequence[Claim], given: Mapping[str, int], wanted: Mapping[str, int]) -> dict[str, int]:
    """The grants again, once it is known what each section could use: what is left over goes to who wants more, by priority."""
    settled = {claim.name: min(given[claim.name], wanted.get(claim.name, 0)) for claim in claims}
    left = sum(given.values()) - sum(settled.values())
    for claim in sorted(claims, key=lambda claim: -claim.priority):
        more = min(left, max(wanted.get(claim.name, 0) - settled[claim.name], 0))
        settled[claim.name] += more
        left -= more
    return settled


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


_FEWEST, _MOST = 20, 500
_SHORTEST = 12  # tokens that a memory's line takes at least
_ANSWER = 4  # a quarter of a window at most is kept free for the answer
_RESERVE = 0.05  # kept free where tokens are estimated, which is off by so much (docs/notes/tokens.md)


@frozen(kw_only=True)
class Window:
    """Of one model and one call. `count` is the model's own, `measure` the same before it is rounded; `cost` makes it of what
    was counted when it was kept.

    `room`: what of the budget is filled; less than all of it where tokens are estimated.
    """

    model: Capabilities
    budget: int
    room: int
    profile: Profile
    mode: Injection
    hits: int
    count: Callable[[str], int]
    measure: Callable[[str], float]
    cost: Callable[[int], int]


def planned(
    message: str,
    model: str,
    budget: int | None,
    profile: str,
    mode: str = "standard",
    *,
    orders: str = "",
    models_file: str | None = None,
) -> Window:
    """Refuses what is no model's name, budget, profile or mode. `orders`: what takes of the window besides the message."""
    if not isinstance(message, str):
        raise InvalidQuery("the message must be text.")
    if not isinstance(model, str) or not model.strip():  # type: ignore[redundant-expr]
        raise InvalidQuery("the model must be named: its window and tokenizer decide the budget.")
    if budget is not None and (not isinstance(budget, int) or isinstance(budget, bool) or budget < 1):  # type: ignore[redundant-expr]
        raise InvalidQuery("the budget must be a whole number from 1.")
    if profile not in PROFILES:
        raise InvalidQuery(f"there is no such profile; there are {', '.join(PROFILES)}.")
    if mode not in MODES:
        raise InvalidQuery(f"there is no such mode; there are {', '.join(MODES)}.")
    injected = MODES[mode]
    known = capabilities(model, models_file)
    count = partial(tokens.count, family=known.tokenizer)
    room = known.window - min(known.output, known.window // _ANSWER) - count(message) - count(orders)
    granted = max(room, 1) if budget is None else budget
    hits = min(max(granted // _SHORTEST, _FEWEST), _MOST)  # where there is no history, memory has it all
    hits = min(hits, injected.most or hits)
    cost = partial(tokens.converted, family=known.tokenizer)
    exact = known.tokenizer in tokens.EXACT
    fill = granted if exact else max(int(granted * (1.0 - _RESERVE)), 1)
    divided = shared(PROFILES[profile], injected)
    return Window(
        model=known,
        budget=granted,
        room=fill,
        profile=divided,
        mode=injected,
        hits=hits,
        count=count,
        measure=partial(tokens.measured, family=known.tokenizer),
        cost=cost,
    )
