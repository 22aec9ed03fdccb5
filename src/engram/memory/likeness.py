"""How like two short texts are by the words that tell what they are about. Needs no encoder, and so says the same everywhere."""

from __future__ import annotations

from collections.abc import Set

from engram.memory.shortening import telling

STEM = 5
LIKE = 0.6
"""From here on two goals, or two steps, are taken for the same thing: "deploy the API to staging" and "deploy API, staging"."""


def stems(text: str) -> frozenset[str]:
    """The first letters of its telling words: "deploying" and "deployed" are one."""
    return frozenset(word[:STEM] for word in telling(text))


def likeness(one: Set[str], other: Set[str]) -> float:
    """The share that two sets of stems have in common, 0 … 1 (Dice)."""
    return 2.0 * len(one & other) / (len(one) + len(other)) if one and other else 0.0


def alike(one: str, other: str) -> bool:
    """Texts without a telling word are alike only if they are the same."""
    mine, theirs = stems(one), stems(other)
    return likeness(mine, theirs) >= LIKE if mine and theirs else one.strip().casefold() == other.strip().casefold()
