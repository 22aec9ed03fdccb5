"""Rate a turn by local patterns alone: it is read at once, in a batch, or without hurry.

High: said to be remembered, corrected, decided, promised, preferred. Medium: facts about the speaker, names, numbers,
dates, identifiers. Low: other statements. None: greetings, thanks, reactions, questions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum

from engram.capture import categories, filler
from engram.text.english import phrases
from engram.text.english.grammar import is_assistant
from engram.values.frozen import frozen

_LOOKED_AT = 4_000  # characters; keeps a pasted document under a millisecond


class Level(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    NONE = "none"


@frozen
class Signal:
    """The level, and the names of the patterns that led to it, strongest first."""

    level: Level
    reasons: tuple[str, ...] = ()


def _rule(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE).search


_STRONG: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("remember", categories.REMEMBER.search),
    ("correction", categories.CORRECTION.search),
    (
        "preference",
        _rule(
            r"\b(?:i|we) (?:\w+ )?(?:prefer|hate|love|adore|dislike|can't stand)\b|\bmy favou?rite\b|\bi(?:'d"
            r"| would) rather\b|\bplease (?:always|never)\b"
        ),
    ),
    (
        "decision",
        _rule(
            r"\b(?:i|we)(?:'ve| have)? (?:\w+ )?(?:decided|chose|agreed|settled on|went with|switched)\b"
            r"|\blet(?:'s) (?:go with|use)\b|\bthe decision\b"
        ),
    ),
    (
        "commitment",
        _rule(
            r"\b(?:i|we)(?:'ll| will| promise to| have to| must| need to) \w+ (?:\w+ ){0,8}(?:by|before|until|on"
            r"|tomorrow|next|tonight)\b|\bdeadline\b|\bremind me\b|\bi promise\b"
        ),
    ),
    (
        "identity",
        _rule(
            r"\bmy (?:\w+ )?(?:name|birthday|address|phone|email|age|job|password hint|allergy|allergies) (?:is|are)\b"
            r"|\bi(?:'m| am) (?:allergic|vegan|vegetarian|diabetic|pregnant|\d{1,3} years? old)\b|\bcall me [A-Z]"
        ),
    ),
)
_SOME: tuple[tuple[str, Callable[[str], object]], ...] = (
    (
        "first-person",
        _rule(
            r"\b(?:i(?:'m|'ve| am| have| was| had| work| live| use| own| bought| got| went| made| met| \w+ed)|my \w+"
            r"|we(?:'re|'ve| are| have| \w+ed))\b"
        ),
    ),
    (
        "date",
        _rule(
            r"\b(?:yesterday|tomorrow|tonight|last (?:week|month|year|night)|next (?:week|month|year)|\w+day|\d{4}-\d\d-\d\d"
            r"|(?:jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec)\w* \d{1,2})\b"
        ),
    ),
    ("number", _rule(r"(?<![\w.])[$€£¥]?\d[\d.,:]*")),
    (
        "identifier",
        re.compile(
            r"https?://|\b[\w.+-]{1,64}@[\w-]+\.\w|\b[A-Z]{2,}-?\d+\b|\b[a-z]+_[a-z_]+\b"
            r"|\b\w{1,64}\.(?:py|js|ts|md|json|toml|sql|go|rs)\b|(?<!\w)[~/][\w.-]+/[\w./-]+"
        ).search,
    ),
    ("name", re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+").search),
)


def scan(text: str, speaker: str = "user") -> Signal:
    """The signal of one turn. An assistant's words are never urgent: what counts is what people say."""
    text = text[:_LOOKED_AT].replace("’", "'")
    if not filler.WORD.search(text):
        return Signal(Level.NONE, ("empty",))
    if is_assistant(speaker):
        return Signal(Level.NONE if filler.boilerplate(text) and len(text) < 200 else Level.LOW, ("assistant",))
    strong = tuple(name for name, found in _STRONG if found(text))
    some = tuple(name for name, found in _SOME if found(text))
    if strong:
        return Signal(Level.HIGH, strong + some)
    idle = _idle(text)
    if idle:
        return Signal(Level.NONE, (idle,))
    return Signal(Level.MEDIUM, some) if some else Signal(Level.LOW, ("statement",))


def _idle(text: str) -> str:
    """Why a short turn says nothing: every sentence of it is filler. Long ones are not looked into."""
    if len(text) > 300:
        return ""
    reason = ""
    for part in re.split(r"(?<=[.!?…。！？])\s*|\n+", text):
        if filler.WORD.search(part):
            found = filler.reason(part)
            if found is None:
                return ""
            reason = reason or found
    return reason or ("greeting" if phrases.GREETING.match(text) else "")
