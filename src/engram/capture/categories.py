"""Sort a statement into one of ten categories, with its confidence and importance, and as an event or a note.

The ten categories and the six steps of the event-or-note question are those of the lifecycle specification. The statement model
decides (`sorted_by`); patterns of English add the categories that it does not know, and the six steps are the last resort.
"""

from __future__ import annotations

import re

from engram.models.statement_reader import Judgement
from engram.text.english.grammar import is_assistant, is_past
from engram.text.terms import word_set
from engram.types import Kind
from engram.values.frozen import frozen

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
    r"(?:wife|husband|spouse|partner|girlfriend|boyfriend|fianc[eé]e?|mother|father|mom|mum|dad|parents?|son|daughter|kids?|child"
    r"|children|brother|sister|siblings?|aunt|uncle|cousin|niece|nephew|grand(?:ma|pa|mother|father|son|daughter|parents)"
    r"|boss|manager|colleague|co-?worker|roommate|neighbou?r|mentor|friend|best friend|teammate)"
)


def _rule(*ways: str) -> re.Pattern[str]:
    """Any of these, as whole words. Apostrophes are straight: the text is made so first."""
    return re.compile("|".join(rf"\b(?:{way})\b" for way in ways), re.IGNORECASE)


REMEMBER = re.compile(
    r"(?:^[ \t]{0,8}|[.!?,:;]\s{0,4}|\b(?:please|pls|can you|could you|and|also) )remember\b(?! (?:when|how|if|the time))"
    r"|\bremember (?:that|this|to|my|i|we)\b"
    r"|\b(?:don't forget|keep in mind|note that|make a note|for future reference|fyi|remind me)\b"
    r"|\b(?:merk(?:e)? dir|vergiss nicht|denk daran|souviens-toi|n'oublie pas|retiens|recuerda|no olvides|acuérdate|lembra-te"
    r"|lembre-se|não (?:te )?esque[cç]|ricorda(?:ti)?|non dimenticare|onthoud|vergeet niet)|记住|記住|别忘了|覚えて(?:おいて|ね)",
    re.IGNORECASE | re.MULTILINE,
)
CORRECTION = re.compile(
    r"^[^\w\n]*(?:actually|no|sorry|wait|oops|correction)\b[,.!:\s-]+"
    r"(?:no\b|not\b|it(?:'s| is| was)|i (?:meant|was wrong)|that(?:'s| is|was) (?:not|wrong)|i don't|there)"
    r"|\bi (?:meant|misspoke|was wrong|was mistaken)\b|\bscratch that\b|\bto correct (?:myself|that)\b"
    r"|\bnot \w+ but (?:rather )?\w+|\bno longer\b",
    re.IGNORECASE | re.MULTILINE,
)
_BY_CATEGORY: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("correction", CORRECTION),
    (
        "decision",
        _rule(
            "decided|decision|chose|chosen|opted|picked|settled on|went with|going with|made up my mind|switched (?:to|from)",
            "we'll use|let's (?:use|go with)|we(?:'re| are) (?:using|moving to|switching)",
        ),
    ),
    (
        "preference",
        _rule(
            r"prefers?|favou?rite|fave|can't stand|not a fan|big fan|my go-to|i'd rather|loves|likes|enjoys|hates",
            r"i (?:\w+ )?(?:love|like|hate|adore|dislike|enjoy)|i (?:really )?(?:don't|do not) (?:really )?(?:love|like|enjoy)",
            r"i'm (?:\w+ )?(?:a (?:big |huge )?fan of|into|fond of|obsessed)",
        ),
    ),
    (
        "relationship",
        _rule(
            rf"(?:my|his|her|our|their) (?:\w+ )?{_KIN}(?:'s)? (?:is|was|are|name|named|works|lives|and i)",
            rf"(?:is|was) (?:my|our|his|her|\w+'s) (?:\w+ )?{_KIN}",
            rf"my {_KIN},? (?-i:[A-Z])\w+",
            r"married|engaged|dating|divorced|broke up|reports to|works (?:for|with)",
        ),
    ),
    (
        "commitment",
        _rule(
            r"(?:i|we)(?:'ll| will| promise| have to| need to| must| plan to| intend to| owe)",
            r"(?:i'm|we're) (?:\w+ )?(?:going to|gonna|planning|committed|signing up|signed up)",
            r"promised?|deadline|due (?:on|by|in)|remind me|scheduled|appointment|gonna",
        ),
    ),
    (
        "principle",
        _rule(
            r"(?:i|we) always|never (?:use|do|say|forget to)|must (?:always|never|not)|should always|the rule is",
            r"always (?:answer|reply|respond|write|call|address|format|cite|use|ask)",
            r"as a rule|policy|i believe (?:in|that)|is key|value most|what matters",
            r"it(?:'s| is) (?:\w+ )?(?:important|essential|crucial|vital|key) (?:to|that)",
        ),
    ),
    (
        "skill",
        _rule(
            r"learn(?:ed|t|ing)? (?:how )?to|knows? how to|good at|skilled|fluent|certified|taught myself|how to|the trick is",
            r"been (?:playing|practicing|practising|coding|training)",
            r"i can (?:play|speak|cook|code|sing|draw|write|swim|drive)",
        ),
    ),
    (
        "entity",
        _rule(
            r"my name is|i'm called|is called|named|stands for|also known as|aka",
            r"is a (?:kind|type|company|city|tool|library|band|team)",
        ),
    ),
    (
        "moment",
        _rule(
            r"never forget|unforgettable|proud(?:est)?|memorable|milestone|dream come true|first time|best day|highlight|blast",
            r"i (?:\w+ )?(?:cried|laughed|felt)|celebrat\w+|graduat\w+|wedding|born|won(?!')|passed away",
            r"was (?:so |really |such )?(?:happy|amazing|awesome|incredible|emotional|scary|powerful|special|magical)",
        ),
    ),
)
_SPECULATIVE = _rule(
    r"maybe|might|perhaps|possibly|probably|i think|i guess|i suppose|not sure|i'm unsure|could be|i wonder",
    r"thinking (?:about|of)|considering|may (?:be|have|try)",
)
_PLAIN_SELF = re.compile(
    r"^\W*(?:i am|i'm|i have|i've|i was|i \w+ed|i (?:live|work|went|got|bought|made|took|met|use|own|study)"
    r"|my name|my \w+ (?:is|are|was))\b",
    re.IGNORECASE,
)
_NAMES_A_THING = re.compile(r"(?<=[a-z,;] )[A-Z][\w'-]+|\d|\b[A-Z]{2,}\b|https?://|\w@\w")

# Step 1: words that put a statement at a time of its own.
_DAY_NAME = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_TEMPORAL = _rule(
    r"yesterday|today|tonight|tomorrow|the other day|just now|recently|\d{4}-\d\d-\d\d",
    rf"last (?:night|week|weekend|month|year|summer|winter|spring|fall|{_DAY_NAME}|mon|tues?|wed|thurs?|fri|sat|sun)",
    r"this (?:morning|afternoon|evening|week|weekend|month)",
    r"\w+ (?:day|week|weekend|month|year|hour)s? ago",
    rf"on {_DAY_NAME}",
)
# True for a life, whatever date it names: no time of its own.
_FOR_LIFE = _rule(r"(?:birthday|birth ?date|date of birth|anniversary) is|(?:was|were) born (?:in|on)")
# Step 2.
_NOTES = frozenset({"preference", "decision", "commitment", "principle", "relationship", "entity", "skill", "correction"})
_EVENTS = frozenset({"moment"})
# Step 3: hashtags.
_TAG = re.compile(r"(?<!\w)#([a-z][\w-]{1,30})", re.IGNORECASE)
_NOTE_TAGS = word_set("note decision preference rule policy principle todo fact config setting reference idea")
_EVENT_TAGS = word_set("event incident meeting log journal diary trip milestone release deploy")
# Step 4: "is located", "I'm retired" are states, whatever the form of their last word.
_STATE_OF = _rule(r"(?:am|is|are|isn't|aren't|i'm|we're|they're|he's|she's|it's) (?:not |now |\w+ly )?\w+ed")
# Step 5: what lasts. What one is for an hour does not, nor what one is just doing.
_NOTE_WORDS = _rule(
    r"prefers?|always|never|must|usually|often|every (?:day|week|morning|year)",
    r"are|has|have|lives?|works?|owns?|means|should|knows?|likes?|speaks?|plays?|uses?|needs?|wants?|costs?|belongs?|contains?",
)
_PASSING = (
    r"(?!(?:not |all |now |just |still |also |really |so |very |too |pretty |super |\w+ly )*"
    r"(?:\w+ing|going|gonna|back|here|there|ready|busy|tired|excited|hungry|sick|ill|glad|happy|sad|sorry|sure|afraid|nervous|stressed"
    r"|thrilled|proud|late|fine|ok|okay|good|great|done|about to)\b)"
)
_IS = re.compile(rf"\b(?:am|is|isn't|i'm|he's|she's|it's|there's) {_PASSING}", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


@frozen
class Sort:
    """The category of a statement, with its confidence, importance and kind."""

    category: str
    confidence: float
    importance: float
    kind: Kind


_OF_KIND = {
    "preference": "preference", "plan": "commitment", "decision": "decision", "relation": "relationship",
    "commitment": "commitment", "instruction": "principle",
}  # fmt: skip
"""The category of a statement by the kind that the statement model gives it; facts and events are told apart by their words."""
_SURE = 0.6
"""Probability of an event, or against one, from which the six steps are not asked."""


_DENIES_REQUEST = re.compile(
    r"(?:\b(?:i|we|you|he|she|they|it|who|people|do|does|did|to|not|never|will|would|can|could|should|may|might|cannot)|n't|'ll|'d)"
    r"(?: (?:still|also|even|ever|only|just|barely|hardly|always|really|fondly|\w+ly))?\s*$",
    re.IGNORECASE,
)
"""Words before a verb that make it a report or a question ("I don't remember that") and not a request."""
_MAKES_REQUEST = re.compile(
    r"\b(?:(?:can|could|will|would) you(?: please| also)?|(?:you|please|sure) to|you (?:must|should)|please (?:do )?)\s*$",
    re.IGNORECASE,
)
_REMEMBERED = re.compile(r"\b(?:remember|don't forget|keep in mind|note that|make a note|remind me)\b", re.IGNORECASE)
_TELLS = re.compile(r"\b(?:remember|note|keep in mind|remind me) (?:that|to|of|about)\b", re.IGNORECASE)


def asks_to_remember(words: str, speaker: str = "") -> bool:
    """Return True if a person asks for something to be remembered. A question, a report and an assistant's words do not."""
    plain = words.replace("’", "'")
    asked = REMEMBER.search(plain)
    if asked is None or is_assistant(speaker):
        return False
    verb = _REMEMBERED.search(plain, asked.start())
    before = plain[max(0, verb.start() - 40) : verb.start()] if verb else ""
    makes_request = _MAKES_REQUEST.search(before) is not None
    if plain.rstrip(" \"')”").endswith(("?", "？")):
        return makes_request and _TELLS.search(plain) is not None
    return makes_request or _DENIES_REQUEST.search(before) is None


def sorted_by(words: str, judgement: Judgement, language: str, speaker: str = "") -> Sort:
    """Return the sort of a statement by the statement model's judgement, with patterns of English where those say more."""
    plain = words.replace("’", "'")
    told, english = asks_to_remember(plain, speaker), language in ("en", "")
    by_words = next((name for name, pattern in _BY_CATEGORY if pattern.search(plain)), "fact") if english else "fact"
    kind = max(_LASTING, key=lambda name: judgement.kinds.get(name, 0.0))
    preferred = by_words == "preference" and judgement.kinds.get("preference", 0.0) >= _LIKELY
    category = by_words if by_words in _WORDED or preferred else _OF_KIND.get(kind) or _fact_or_moment(kind, by_words)
    importance = IMPORTANCE[category] + (_IDENTIFIED if _NAMES_A_THING.search(plain) else 0.0)
    return Sort(
        category=category,
        confidence=_confidence(plain, category, told, False) if english else EXPLICIT if told else IMPLIED,
        importance=round(max(importance, _TOLD_TO_REMEMBER) if told else importance, 2),
        kind=Kind.EPISODE if _is_event(plain, category, judgement, english) else Kind.FACT,
    )


_LIKELY = 0.1
"""Probability of a preference from which the words of one decide."""
_LASTING = ("fact", "preference", "plan", "event", "decision", "relation", "commitment", "instruction")
_WORDED = frozenset({"correction", "entity", "skill"})
"""Categories that the model has no kind for."""


def _fact_or_moment(kind: str, by_words: str) -> str:
    if kind == "event":
        return "moment" if by_words in ("fact", "moment") else by_words
    return by_words if by_words in ("relationship", "preference", "decision") else "fact"


def _is_event(words: str, category: str, judgement: Judgement, english: bool) -> bool:
    total = sum(judgement.kinds.get(name, 0.0) for name in _LASTING) or 1.0
    chance = (judgement.kinds.get("event", 0.0) + judgement.kinds.get("plan", 0.0)) / total
    if chance >= _SURE or chance <= 1 - _SURE or not english:
        return chance >= _SURE
    return is_event(words, category)


def sort(said: str, *, inferred: bool = False) -> Sort:
    """Return the sort of a person's statement by its words alone. `inferred`: it was read out of a bare answer."""
    said = said.replace("’", "'")
    told = asks_to_remember(said)
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
    timed = _TEMPORAL.search(said)
    if _FOR_LIFE.search(said):
        return timed is not None and not timed.group()[-1].isdigit()
    if timed:
        return True
    if category in _NOTES or category in _EVENTS:
        return category in _EVENTS
    tags = {match.group(1).lower() for match in _TAG.finditer(said)}
    if tags & (_NOTE_TAGS | _EVENT_TAGS):
        return not tags & _NOTE_TAGS
    if any(is_past(match.group().lower()) for match in _WORD.finditer(_STATE_OF.sub("is", said))):
        return True
    return _NOTE_WORDS.search(said) is None and _IS.search(said) is None
