"""Tell which parts of a stated fact are names, and of what kind: "Ada works at Acme" names a person and an organisation. Pure.

A kind is that of an "is a" fact beside it, else the one that the predicate asks for. A value that is no name (a date, a number,
an address, how something is) is a property of the subject and no entity.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engram.text.english.entities import CAPITALS, KINDS, ORGANISATION, PERSON, PLACE, PROJECT, TECHNOLOGY, THING, UNSURE, folded
from engram.text.english.gazetteer import GIVEN_NAMES, is_technology, place_level
from engram.text.english.object_types import calendar, is_property
from engram.types import Fact
from engram.values.entities import Mention

IS_A = "is a"
_SELF = frozenset({"user", "the user", "i", "we"})
_ASKED_FOR: dict[str, tuple[str, str]] = {
    predicate: kinds
    for predicates, kinds in {
        "works at|works for|employed by|employer|joined|member of|studies at|founded|ceo of|cto of": (PERSON, ORGANISATION),
        "lives in|born in|moved to|grew up in|is from": (PERSON, PLACE),
        "located in|based in|is in|headquartered in|near": ("", PLACE),
        "manager|boss|wife|husband|partner|girlfriend|boyfriend|sister|brother|mother|father|son|daughter|friend|colleague"
        "|doctor|dentist|therapist|landlord|teacher|coach|knows|reports to|married to|manages|mentor": (PERSON, PERSON),
        "owner|maintainer|lead|reviewer|contact|author|created by|written by|owned by|maintained by": ("", PERSON),
        "works on|owns project|contributes to": (PERSON, PROJECT),
        "uses|runs on|written in|built with|hosted on|depends on|requires": ("", TECHNOLOGY),
    }.items()
    for predicate in predicates.split("|")
}
"""The kinds that a predicate asks of its subject and its object; empty where it asks for none."""

_NAME = re.compile(rf"[{CAPITALS}]")


def mentions_of(facts: Sequence[Fact], text: str) -> tuple[Mention, ...]:
    """Return the entities that stated facts name, as the text of their memory writes them."""
    stated = {fact.subject: fact.object for fact in facts if fact.predicate == IS_A and fact.object in KINDS}
    found: dict[str, Mention] = {}
    for fact in facts:
        for name, asked_for in _parts(fact):
            written = _as_written(name, text)
            kind = stated.get(name) or _kind(name, asked_for)
            if name not in _SELF and (kind or _NAME.match(written)):
                known = found.get(name)
                if known is None or known.kind == THING:
                    found[name] = Mention(written, kind or THING)
    return tuple(found.values())


def _parts(fact: Fact) -> Iterator[tuple[str, str]]:
    """Yield the parts of a fact that may be names, each with the kind that the predicate asks for."""
    subject, thing = _ASKED_FOR.get(fact.predicate, ("", ""))
    yield fact.subject, subject
    if fact.predicate != IS_A and not (calendar(fact.object) or fact.object[:1].isdigit() or is_property(fact.predicate)):
        yield fact.object, thing


def _kind(name: str, asked_for: str) -> str:
    if name.split(" ")[0] in GIVEN_NAMES and asked_for in ("", PERSON):
        return PERSON
    if asked_for == TECHNOLOGY:
        return TECHNOLOGY if is_technology(name) else ""
    return asked_for or (PLACE if place_level(name) else TECHNOLOGY if is_technology(name) else "")


def _as_written(name: str, text: str) -> str:
    match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)
    return match.group() if match else name


def merged(named: Sequence[Mention], stated: Sequence[Mention]) -> tuple[Mention, ...]:
    """Return the mentions of a text and of its stated facts, each name once; a stated kind goes before one that was read."""
    by_name = {folded(mention.name): mention for mention in named}
    for mention in stated:
        known = by_name.get(folded(mention.name))
        if known is None or known.kind == UNSURE or mention.kind != THING:
            by_name[folded(mention.name)] = mention if known is None else Mention(known.name, mention.kind, known.aliases)
    return tuple(by_name.values())
