"""Read what a role says beside its name: "Ada's new manager" is somebody who has just become Ada's manager. Pure.

A role is written as `mentions` writes it, folded: whose it is, and what ("user's manager", "ada's sister").
"""

from __future__ import annotations

import re
from enum import StrEnum

from engram.text.terms import word_set
from engram.values.frozen import frozen


class Holding(StrEnum):
    """The state of a role at the time of a statement: somebody has it, has just got it, or had it."""

    HAS = "has"
    NEW = "new"
    FORMER = "former"


@frozen
class Role:
    """A role by its name, without "new" or "former", and how it is held."""

    name: str
    holding: Holding = Holding.HAS


_ROLE = re.compile(r"(?P<whose>.+?'s )(?P<change>new |former |ex[- ]|old |previous )?(?P<noun>.+)")
KIN = word_set("""
    sister brother mother mom mum father dad son daughter cousin aunt uncle nephew niece grandmother grandma grandfather grandpa
    """)
_SHARED = KIN - word_set("mother mom mum father dad") | word_set("""
    friend colleague coworker teammate roommate flatmate neighbour neighbor teacher dog cat puppy kitten horse parrot
    """)
_AGED = KIN | word_set("friend dog cat puppy kitten horse parrot")


def read_role(name: str) -> Role | None:
    """Return the role of this folded name; None if it is another name."""
    match = _ROLE.fullmatch(name)
    if match is None:
        return None
    change, noun = (match["change"] or "").strip(" -"), match["noun"]
    if change == "old" and noun.split()[-1] in _AGED:  # an old dog is a dog still
        return Role(name)
    holding = Holding.HAS if not change else Holding.NEW if change == "new" else Holding.FORMER
    return Role(f"{match['whose']}{noun}", holding)


def is_shared(role: str) -> bool:
    """True if several people can have a role at a time, as sisters and colleagues do."""
    noun = role.rpartition("'s ")[2]
    return noun.split()[-1] in _SHARED and noun != "best friend"
