"""Analyze what a question asks for: a fact, many things, a comparison, a time, a procedure, a cause, or a person (R3). Pure.

Rules on the grammar of English questions; `tests/recall/queries.csv` holds labelled ones, and its test states how many must be
classified correctly. A question that no rule is sure of is a plain look-up.
"""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum

from engram.frozen import frozen
from engram.text.timex import read
from engram.text.timex.frame import PAST


class Intent(StrEnum):
    LOOKUP = "lookup"
    EXPLORATORY = "exploratory"
    COMPARATIVE = "comparative"
    TEMPORAL = "temporal"
    PROCEDURAL = "procedural"
    CAUSAL = "causal"
    ENTITY = "entity"


@frozen
class QueryAnalysis:
    """What the words of a question ask for.

    `when`: the time it names. `asks_when`, `asks_name`: it asks for a time, or for something with a name. `asks_now`: it asks for
    the present state, not a former one. `about`: the person or thing it asks everything about. `connects`: it asks how things
    are related.
    """

    intent: Intent = Intent.LOOKUP
    when: tuple[datetime, datetime] | None = None
    asks_when: bool = False
    asks_name: bool = False
    asks_now: bool = True
    about: str = ""
    connects: bool = False

    @property
    def gathers(self) -> bool:
        """True if the answer is likely spread over several memories."""
        return self.intent in (Intent.EXPLORATORY, Intent.COMPARATIVE, Intent.ENTITY)


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_ENTITY = _any(
    r"^(?:so |and )?who(?:['’]s| is| was| are) (?!(?:the|a|an|my|our|your|in|on|at|with|going|coming|\w+ing)\b)"
    r"[\w'’.-]+(?: [\w'’.-]+)?\??$",
    r"\beverything (?:you know |we know |i (?:said|told you) )?about\b",
    r"\b(?:what|all) (?:do|did|have) (?:you|we|i) (?:know|have|learned?) (?:about|on)\b",
    r"^(?:tell|remind) me (?:more )?about (?!(?:how|why|when|what)\b)",
    r"^(?:describe|profile|summari[sz]e what you know about) ",
)
_COMPARATIVE = _any(
    r"\bdifferen(?:ce|ces|t) (?:between|from)\b",
    r"\bcompar(?:e|ed|ison|ing)\b",
    r"\b(?:vs|versus)\b",
    r"\bin common\b|\bsimilarit",
    r"\bboth\b.*\band\b|\band\b.*\bboth\b|^do both\b",
    r"\b(?:better|worse|faster|slower|cheaper|older|younger|bigger|smaller|more \w+|less \w+|rather)\b.* than\b",
    r"^(?:which|who|what)\b.*[,:] .*\bor\b",
    r"\b(?:prefer|like|love|use|choose|pick|enjoy)\w*\b [\w' ]+ or [\w' ]+\?",
)
_PROCEDURAL = _any(
    r"^how (?:do|can|could|should|would|must) (?:i|we|you|one|someone)\b(?! (?:feel|know each))",
    r"\bhow to\b",
    r"\b(?:steps?|instructions?|procedure|process|recipe|command|way|workflow) (?:to|for|of)\b",
    r"\bwalk me through\b|\bset(?:ting)? .* up\b.*\?$",
    r"\bhow (?:is|are) .* (?:done|deployed|installed|configured|set up|built|made)\b",
)
_CAUSAL = _any(
    r"\bwhy\b",
    r"\bhow come\b",
    r"\breasons?\b|\bbecause of what\b|\bconsequences?\b|\bas a result\b",
    r"^what (?:\w+ )?(?:caused?|led|made|triggered|motivat\w+|inspir\w+|prompted|drove|convinced|broke|sparked)\b",
    r"\bwhat(?:['’]s| is| was) (?:behind|the cause|causing)\b",
)
_TEMPORAL = _any(
    r"\bwhen (?:did|was|is|will|does|do|were|has|have|am|are|should|would)\b|^when\b",
    r"^(?:on |in |by |since )?(?:what|which) (?:date|day|week|month|year|time|season|weekday)\b",
    r"\bhow long (?:ago|since|did|has|have|was|were|will|does|until|before)\b|\bsince when\b|\bhow (?:old|recently|soon)\b",
    r"\b(?:last|first|next) time\b",
    r"\b(?:timeline|history|chronology|sequence of events) of\b|\bover time\b|\b(?:changed|evolved?|developed) since\b",
    r"^what (?:happened|did .* do|was .* doing|were .* doing|have .* been doing)\b.*"
    r"\b(?:yesterday|last|ago|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|in (?:19|20)\d\d|this (?:week|month|year))\b",
    r"\b(?:before|after) or (?:before|after)\b|\b(?:which|what) (?:came|happened) (?:first|last|before|after)\b",
)
_CONNECTS = _any(
    r"\bhow (?:is|are|was|were|does|do|did) .+ (?:connected|related|linked|tied|relate|connect|fit together)\b",
    r"\b(?:connection|relation(?:ship)?|link|tie)s? (?:between|of|from) .+ (?:and|to|with)\b",
    r"\bwhat (?:connects|links|ties|relates)\b|\bha(?:s|ve|d) to do with\b|\bknow each other\b",
)
_LENGTH = _any(r"^how many (?:more )?(?:days|nights|weeks|months|years)\b")
_MANY = _any(
    r"^(?:and |so )?(?:what|which|where|who)\b.*?\b(?:has|have)\b(?! to\b| been\b)",
    r"^how (?:many|often)\b|\bin what ways\b|^(?:what|which|who) (?:all )?are\b",
    r"^(?:what|which) (?:kinds?|types?|sorts?) of\b.*\b(?:do|does)\b",
    r"^(?:what|which)(?: [\w'’/+.-]+){0,3}? (?!does\b|was\b|is\b|his\b|this\b)[a-z]+[^s\W]s"
    r"(?: [\w'’]+){0,4}? (?:do|does|did|is|are|were)\b",
    r"^what (?:do|does) [\w'’ ]+? (?:like|do|enjoy|collect|play|love|own)\b",
    r"^(?:list|name|give me|show me)\b.*\b(?:all|every|the|some|any)\b",
    r"^(?:what|which) (?:else|other)\b|\ball (?:the|my|our|of)\b",
    r"\b(?:overview|summary|summari[sz]e|ideas?|suggestions|recommendations)\b|\banything (?:about|on|else)\b",
)
_ONE = _any(
    r"\bon \d",
    r"\b\d{1,2}(?:st|nd|rd|th)?,? (?:january|february|march|april|may|june|july|august|september|october|november|december)\b",
    r"\b(?:after|when|while)\b",
)
_NAMED = _any(
    r"\b(?:cit(?:y|ies)|countr(?:y|ies)|places?|states?|locations?|books?|games?|authors?|bands?|artists?|names?|movies?|films?"
    r"|series|titles?|songs?|albums?|organi[sz]ations?|compan(?:y|ies)|teams?|schools?|brands?|restaurants?|players?|areas?"
    r"|tools?|librar(?:y|ies)|languages?|projects?|products?|called|named)\b",
    r"^(?:who|where)\b",
)
_WHOM = _any(
    r"(?:\babout|^(?:so |and )?who(?:['’]s| is| was| are)|^describe|\bknow on)"
    r" (?:project |the )?(?P<name>[^?.!]{1,60}?)(?: team| project)?[?.!]*$"
)
_THEN = _any(r"\b(?:initial\w*|first|originally|used to|previously|formerly|before|when|did|was|were|had|history)\b")
_A_TIME = _any(
    r"\d|\b(?:january|february|march|april|may|june|july|august|september|october|november|december|today|tonight|yesterday"
    r"|tomorrow|last|past|this|previous|ago|weekend|spring|summer|autumn|fall|winter|week|month|(?:mon|tues|wednes|thurs|fri"
    r"|satur|sun)day)\b"
)
_ORDER = (
    (_ENTITY, Intent.ENTITY),
    (_COMPARATIVE, Intent.COMPARATIVE),
    (_PROCEDURAL, Intent.PROCEDURAL),
    (_CAUSAL, Intent.CAUSAL),
    (_TEMPORAL, Intent.TEMPORAL),
)
_AMBIGUOUS = frozenset({"may", "march", "mar", "sun", "sat", "mon", "wed", "the second", "the week"})
"""Words for times that, standing alone, more often mean something else."""
_LONGEST = 600  # characters of a question that are analyzed


def analyze(question: str, now: datetime) -> QueryAnalysis:
    """Return what a question, asked at `now`, asks for."""
    text = question[:_LONGEST].strip()
    intent = intent_of(text)
    when = _time(text, now)
    present = when is None and intent is not Intent.TEMPORAL and not _THEN.search(text)
    whom = _WHOM.search(text) if intent is Intent.ENTITY else None
    about = whom["name"] if whom is not None else ""
    asks_when = intent is Intent.TEMPORAL or bool(_LENGTH.search(text))
    return QueryAnalysis(intent, when, asks_when, bool(_NAMED.search(text)), present, about, bool(_CONNECTS.search(text)))


def intent_of(question: str) -> Intent:
    """Return the intent of the first pattern that matches; LOOKUP if none does."""
    for pattern, intent in _ORDER:
        if pattern.search(question):
            return intent
    return Intent.EXPLORATORY if _MANY.search(question) and not _ONE.search(question) else Intent.LOOKUP


def _time(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    """Return the period that a question names, or None. A single moment is none: no memory is dated to the second."""
    named = read(text, now, PAST) if _A_TIME.search(text) else None
    if named is None or named[0] >= named[1] or named[2] in _AMBIGUOUS:
        return None
    return named[0], named[1]
