"""Tokens granted to each section before anything is fetched (§8.2, §8.5).

A section has a share of what there is, and a priority. What one does not use flows to those that want more, by priority. If there
is less than all minimums together, sections lose theirs from the lowest priority up: memory goes last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engram.frozen import frozen


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
