"""Read the words with which speakers correct themselves: "no, it's …", "I meant …", "not Amir, Amin", "scratch that". Pure."""

from __future__ import annotations

import re

from engram.text.terms import word_set, words
from engram.values.frozen import frozen

_WEAK = r"(?:no|nope|nah|sorry|wait|oops|whoops|actually|hold on|hang on|hmm|uh|um|oh|ah|argh|ugh)"
_MARK = r"\s*[,.!:;…—–-]+\s*"
_GAP = rf"(?:{_MARK}|\s+)"
_STRONG = (
    r"(?:(?:correction|scratch that|strike that|typo|i misspoke|i was (?:wrong|mistaken)|my (?:mistake|bad)"
    rf"|let me correct (?:myself|that)|to correct (?:myself|that)|i meant){_MARK}"
    r"|(?:i meant(?: to say)?|i mean(?!,))\s+)"
)
_MAKE = r"(?:(?:make (?:that|it)|(?:it|that) should (?:be|have been))\s+)"
_CUE = re.compile(
    rf"\W*(?P<weak>(?:{_WEAK}\b{_GAP})*{_MAKE}?)(?P<strong>{_STRONG}*)(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_SIGN = re.compile(
    rf"{_WEAK}{_MARK}|{_MAKE}|(?:no (?:wait|sorry|actually)|actually no)\b"
    r"|(?:no|wait|sorry|oops|actually) (?:it|he|she|they|we)\b",
    re.IGNORECASE,
)
_TAIL = re.compile(r"[\s,.!…—–-]+(?:sorry|my (?:mistake|bad)|oops)?[\s.!…]*$", re.IGNORECASE)
_LAST = r"that last (?:one|bit|part|message)|my last (?:message|remark)"
_RETRACTION = re.compile(
    rf"\W*(?:{_WEAK}\b{_GAP}|please\s+|ok(?:ay)?\b{_GAP})*"
    r"(?:(?:scratch|strike) that(?: last (?:one|bit|part))?|i take (?:that|it) back"
    rf"|(?:forget|ignore|disregard) (?:what i (?:just |have just )?said|that|{_LAST})"
    rf"|(?:never ?mind|forget it|scratch that|strike that){_MARK}(?:that|it)(?:'s| is) (?:off|not happening|cancell?ed|wrong)"
    r"|that(?:'s| is) off(?: again| now)?)\W*",
    re.IGNORECASE,
)
_NOT_BUT = re.compile(
    rf"(?:it(?:'s| is)\s+)?not (?P<wrong>[^,;.]{{1,40}}?)(?:{_MARK}(?:but |it(?:'s| is) |rather )?|\s+but\s+)"
    r"(?P<right>[^,;]{1,60})",
    re.IGNORECASE,
)
_RIGHT_NOT = re.compile(r"(?P<right>[^,;]{1,60}?)[,;]?\s+(?:and )?not (?P<wrong>[^,;.]{1,40})", re.IGNORECASE)
_IDIOM = re.compile(
    r"(?:way|kidding|problem|worries|idea|doubt|need|thanks|thank you|really|seriously|offen[cs]e|rush|matter|wonder|luck|for"
    r"|to|about|if|that|but|what|how|when|where|why|who|can|could|would|do|did|does|is|are|i have|i've|i had|i need|i can't"
    r"|i cannot)\b",
    re.IGNORECASE,
)
"""Words after "no" or "sorry" that correct nothing: "no problem", "sorry for the delay", "sorry, I have to run"."""
_PURPOSE = re.compile(r"(?:to|well|no|every|it,|what|that)\b", re.IGNORECASE)
_LONGEST = 300  # characters of a correction
_MOST_WORDS = 5  # of a value that stands alone for a statement
_FINITE = word_set(
    """
    is are was were am be been has have had do does did will would can could should must may might i he she it they we you this
    that there what who which when where my our
    """
)


@frozen
class Correction:
    """Words by which a speaker corrects an earlier statement.

    rest: the corrected words behind the cue; empty if the statement is only taken back. wrong: the words that are said to be
    wrong, if they are named. explicit: the cue says that something is corrected; else it may be an answer. answers: it begins
    with "no".
    """

    rest: str = ""
    wrong: str = ""
    explicit: bool = False
    answers: bool = False

    @property
    def is_value(self) -> bool:
        """True for a value without a statement: "Thursday", "the fifth floor"."""
        found = words(self.rest)
        return 0 < len(found) <= _MOST_WORDS and _FINITE.isdisjoint(found)


def correction_in(text: str) -> Correction | None:
    """Return the correction that a sentence is; None for any other sentence."""
    said = text.replace("’", "'").strip()
    if len(said) > _LONGEST or said.endswith("?") or said[:1] in "\"'“«>":
        return None
    if _RETRACTION.fullmatch(said):
        return Correction(explicit=True)
    match = _CUE.fullmatch(said)
    if match is None:
        return None
    weak, strong, rest = match["weak"].lower(), match["strong"].lower(), _TAIL.sub("", match["rest"]).strip()
    if not rest:
        return None
    if strong.startswith("i mean") and _PURPOSE.match(rest):
        return None
    explicit = bool(strong)
    if not explicit and (not weak or _SIGN.match(said) is None or _IDIOM.match(rest)):
        weak = ""
    swapped = _NOT_BUT.fullmatch(rest) or (_RIGHT_NOT.fullmatch(rest) if explicit or weak else None)
    answers = re.match(r"\W*(?:no|nope|nah)\b", said, re.IGNORECASE) is not None
    if swapped is not None and _is_short(swapped["wrong"]) and _is_short(swapped["right"]):
        return Correction(swapped["right"].strip(), swapped["wrong"].strip(), explicit, answers)
    return Correction(rest, "", explicit, answers) if explicit or weak else None


def _is_short(value: str) -> bool:
    found = words(value)
    return 0 < len(found) <= _MOST_WORDS and _FINITE.isdisjoint(found)


def values_in(text: str) -> dict[str, set[str]]:
    """Return the values that a text names, by their sort: days, months, numbers, names."""
    found: dict[str, set[str]] = {}
    for number, match in enumerate(_WORD.finditer(text)):
        word = match.group()
        low = word.lower()
        sort = (
            "day" if low in _DAYS
            else "month" if low in _MONTHS
            else "ordinal" if low in _ORDINALS or re.fullmatch(r"\d+(?:st|nd|rd|th)", low)
            else "number" if low[0].isdigit() or low in _NUMBERS
            else "name" if word[0].isupper() and number and low not in _FINITE
            else ""
        )  # fmt: skip
        if sort:
            found.setdefault(sort, set()).add(low)
    return found


_WORD = re.compile(r"\d[\w:.,]*\w|\d|[^\W\d_]+")
_DAYS = word_set("monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday tonight")
_MONTHS = word_set("january february march april may june july august september october november december")
_NUMBERS = word_set(
    "one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty hundred noon midnight"
)
_ORDINALS = word_set("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth")
