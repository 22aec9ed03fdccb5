"""What sort of statement it is: one of ten categories, how sure, how important, and whether it is an event or a note.

The ten categories and the six steps of the event-or-note question are those of the lifecycle specification; the rules
are local patterns, the first that matches counts, and the order goes from the most telling to the most common.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engram.text.verbs import is_past
from engram.text.wordlist import word_set
from engram.types import Kind

CATEGORIES = (
    "fact", "preference", "correction", "entity", "decision", "relationship", "principle", "commitment", "moment", "skill",
)  # fmt: skip

# Tiers of the specification: explicit ≥ .95, implied .70–.94, inferred .40–.69, speculative < .40 (expires unconfirmed).
EXPLICIT, IMPLIED, INFERRED, SPECULATIVE = 0.95, 0.8, 0.55, 0.35

IMPORTANCE = {
    "correction": 0.8, "decision": 0.75, "commitment": 0.7, "relationship": 0.7, "preference": 0.65, "principle": 0.65,
    "entity": 0.6, "skill": 0.6, "moment": 0.55, "fact": 0.5,
}  # fmt: skip
_TOLD_TO_REMEMBER = 0.9
_IDENTIFIED = 0.1  # added for names, numbers and dates: what is looked for later

_KIN = (
    r"(?:wife|husband|spouse|partner|girlfriend|boyfriend|fianc[eé]e?|mother|father|mom|mum|dad|parents?|son"
    r"|daughter|kids?|child|children"
    r"|brother|sister|siblings?|aunt|uncle|cousin|niece|nephew|grand(?:ma|pa|mother|father|son|daughter"
    r"|parents)|boss|manager|colleague"
    r"|coworker|co-worker|roommate|neighbou?r|mentor|friend|best friend|teammate)"
)


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


REMEMBER = _rule(
    r"\b(?:remember (?:that|this|to|my|i|we)|don't forget|keep in mind|note that|make a note"
    r"|for future reference|fyi|remind me)\b"
)
CORRECTION = _rule(
    r"^\W*(?:actually|no|sorry|wait|oops|correction)\b[,.!:\s-]+(?:no\b|not\b|it(?:'s|’s| is| was)|i (?:meant"
    r"|was wrong)|that(?:'s|’s| is|was) (?:not|wrong)|i don't|there)"
    r"|\bi meant\b|\bi misspoke\b|\bscratch that\b|\bi was (?:wrong|mistaken)\b|\bto correct (?:myself|that)\b"
    r"|\bnot \w+ but (?:rather )?\w+|\bno longer\b|\binstead of what i\b"
)
_BY_CATEGORY: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("correction", CORRECTION),
    (
        "decision",
        _rule(
            r"\b(?:decided|decision|chose|chosen|opted|settled on|went with|going with|made up my mind|switched (?:to"
            r"|from)|we'll use|let's (?:use|go with)"
            r"|we(?:'re| are) (?:using|moving to|switching)|picked)\b"
        ),
    ),
    (
        "preference",
        _rule(
            r"\b(?:prefer|prefers|favou?rite|fave|can't stand|i (?:\w+ )?(?:love|like|hate|adore|dislike|enjoy)"
            r"|i'm (?:\w+ )?(?:a (?:big |huge )?fan of|into|fond of|obsessed)"
            r"|big fan|i'd rather|not a fan|my go-to|loves|likes|enjoys|hates)\b"
        ),
    ),
    (
        "relationship",
        _rule(
            rf"\b(?:my|his|her|our|their) (?:\w+ )?{_KIN}(?:['’]s)? (?:is|was|are|name|named|works|lives|and i)\b"
            rf"|\b(?:married|engaged|dating|divorced|broke up|reports to|works (?:for|with))\b"
            rf"|\b(?:is|was) (?:my|our|his|her|\w+['’]s) (?:\w+ )?{_KIN}\b|\bmy {_KIN},? [A-Z]\w+"
        ),
    ),
    (
        "commitment",
        _rule(
            r"\b(?:i|we)(?:'ll|’ll| will| promise| have to| need to| must| plan to| intend to| owe)\b|\b(?:i'm|i’m"
            r"|we're|we’re) (?:\w+ )?(?:going to|gonna|planning|committed|signing up|signed up)\b"
            r"|\bpromised?\b|\bdeadline\b|\bdue (?:on|by|in)\b|\bremind me\b|\bscheduled\b|\bappointment\b|\bgonna\b"
        ),
    ),
    (
        "principle",
        _rule(
            r"\b(?:i always|we always|never (?:use|do|say|forget to)|must (?:always|never|not)|should always"
            r"|the rule is|policy|i believe (?:in|that)|it(?:'s|’s| is) (?:\w+ )?(?:important|essential|crucial|vital"
            r"|key) (?:to|that)"
            r"|is key|as a rule|value most|what matters)\b"
        ),
    ),
    (
        "skill",
        _rule(
            r"\b(?:learn(?:ed|t|ing)? (?:how )?to|know(?:s)? how to|good at|skilled|fluent|certified|been (?:playing"
            r"|practicing|practising|coding|training)|i can (?:play|speak|cook|code|sing|draw|write|swim|drive)"
            r"|taught myself|how to|step by step|the trick is)\b"
        ),
    ),
    (
        "entity",
        _rule(
            r"\b(?:my name is|i'm called|is called|named|is a (?:kind|type|company|city|tool|library|band|team)"
            r"|stands for|also known as|aka)\b"
        ),
    ),
    (
        "moment",
        _rule(
            r"\b(?:never forget|unforgettable|proud(?:est)?|memorable|milestone|dream come true|first time"
            r"|i (?:\w+ )?(?:cried|laughed|felt)|was (?:so |really |such )?(?:happy|amazing|awesome|incredible"
            r"|emotional|scary|powerful|special|magical)"
            r"|best day|highlight|blast|celebrat\w+|graduat\w+|wedding|born|won|passed away)\b"
        ),
    ),
)
_SPECULATIVE = _rule(
    r"\b(?:maybe|might|perhaps|possibly|i think|i guess|i suppose|probably|not sure|i'm unsure|could be"
    r"|thinking (?:about|of)|considering|i wonder|may (?:be|have|try))\b"
)
_PLAIN_SELF = _rule(
    r"^\W*(?:i am|i'm|i’m|my name|i live|i work|i have|i've|i’ve|my \w+ (?:is|are|was)|i was|i \w+ed|i (?:went"
    r"|got|bought|made|took|met|started|use|own|study))\b"
)
_NAMES_A_THING = re.compile(r"(?<=[a-z,;] )[A-Z][\w'’-]+|\d|\b[A-Z]{2,}\b|https?://|\w@\w")

# Step 1: words that put a statement at a time of its own.
_TEMPORAL = _rule(
    r"\b(?:yesterday|today|tonight|tomorrow|last (?:night|week|weekend|month|year|summer|winter|spring|fall"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|fri|sat|sun|mon|tues|wed|thurs)"
    r"|this (?:morning|afternoon|evening|week|weekend|month)|\w+ (?:day|week|weekend|month|year|hour)s? ago"
    r"|the other day|just now|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|recently)\b|\b\d{4}-\d\d-\d\d\b"
)
# Step 2.
_NOTES = frozenset({"preference", "decision", "commitment", "principle", "relationship", "entity", "skill", "correction"})
_EVENTS = frozenset({"moment"})
# Step 3: hashtags.
_TAG = re.compile(r"(?<!\w)#([a-z][\w-]{1,30})", re.IGNORECASE)
_NOTE_TAGS = word_set("note decision preference rule policy principle todo fact config setting reference idea")
_EVENT_TAGS = word_set("event incident meeting log journal diary trip milestone release deploy")
# Step 5.
_NOTE_WORDS = _rule(
    r"\b(?:prefers?|always|never|must|usually|every (?:day|week|morning|year)|often|is an?|are|has|have|lives?"
    r"|works?|owns?|means|should)\b"
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


@dataclass(frozen=True, slots=True)
class Sort:
    """What a statement is."""

    category: str
    confidence: float
    importance: float
    kind: Kind


def sort(said: str, *, inferred: bool = False) -> Sort:
    """The sort of a person's statement. `inferred`: it was read out of a question or a bare answer."""
    told = REMEMBER.search(said) is not None
    category = next((name for name, pattern in _BY_CATEGORY if pattern.search(said)), "fact")
    importance = IMPORTANCE[category] + (_IDENTIFIED if _NAMES_A_THING.search(said) else 0.0)
    return Sort(
        category=category,
        confidence=_confidence(said, category, told, inferred),
        importance=round(max(importance, _TOLD_TO_REMEMBER) if told else importance, 2),
        kind=Kind.EPISODE if is_event(said, category) else Kind.FACT,
    )


def _confidence(said: str, category: str, told: bool, inferred: bool) -> float:
    if told or category == "correction":
        return EXPLICIT
    if _SPECULATIVE.search(said):
        return SPECULATIVE
    if inferred:
        return INFERRED
    return EXPLICIT if _PLAIN_SELF.match(said) else IMPLIED


def is_event(said: str, category: str) -> bool:
    """The six steps: time words, category, tags, past action, note words, and an event if nothing else."""
    if _TEMPORAL.search(said):
        return True
    if category in _NOTES or category in _EVENTS:
        return category in _EVENTS
    tags = {match.group(1).lower() for match in _TAG.finditer(said)}
    if tags & (_NOTE_TAGS | _EVENT_TAGS):
        return not tags & _NOTE_TAGS
    if any(is_past(match.group().lower()) for match in _WORD.finditer(said)):
        return True
    return _NOTE_WORDS.search(said) is None
