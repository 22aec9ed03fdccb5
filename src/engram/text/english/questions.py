"""English questions taken apart: the questions that are joined in one, the things it compares, the event it depends on.

Every part is a sentence that a person would ask. The rules read grammar (question words, conjunctions, auxiliary verbs, pronouns)
and never a topic; a question that no rule is sure of has no parts.
"""

from __future__ import annotations

import re
from itertools import dropwhile

from engram.text.english.courtesy import STOP_WORDS
from engram.text.english.grammar import is_past
from engram.text.terms import terms, word_set
from engram.values.frozen import frozen

_ASKS = r"who|whom|whose|what|when|where|why|which|how"
_AUXILIARY = r"did|does|do|is|are|was|were|has|have|had|can|could|will|would|should"
_SUBJECT = r"i|you|he|she|it|we|they|there|the|my|our|your|his|her|their|this|that|these|those"
_JOINT = re.compile(
    r"\s*[?;]\s+(?=\w)"
    rf"|,?\s+(?:and|but|or)\s+(?:also\s+|then\s+)?(?=(?:{_ASKS})\b(?!\s+to\b)|(?:{_AUXILIARY})\s+(?:(?:{_SUBJECT})\b|(?-i:[A-Z])))",
    re.IGNORECASE,
)
_LEAD = re.compile(
    rf"(?!(?:{_ASKS}|(?!do you (?:know|remember))(?:{_AUXILIARY}))\b)(?:[a-z]+\s+){{1,4}}"
    rf"(?<!\b(?:to|in|on|at|by|of)\s)(?<!\bfor\s)(?<!\b(?:from|with)\s)(?<!\b(?:about|since|until)\s)(?=(?:{_ASKS})\b)",
    re.IGNORECASE,
)
"""Words before an indirect question: "tell me", "please summarise"."""
_QUESTION = re.compile(rf"(?:{_ASKS}|{_AUXILIARY})\b", re.IGNORECASE)
_ASKING = re.compile(rf"\b(?:{_ASKS})\b|^(?:{_AUXILIARY})\b", re.IGNORECASE)
_CLAUSE = re.compile(rf"(?:{_ASKS})\s+(?:i|we|you|he|she|they)\b", re.IGNORECASE)
_REFERS_BACK = re.compile(rf"(?:{_AUXILIARY})\s+(?:that|this|these|those)\b", re.IGNORECASE)
_BORDER = re.compile(
    r"(.+?),?\s+\b(before|after|since|until)\s+(?!or\b|and\b|an?\b)(?![^?]*\b(?:it|this|that)\b\W*$)([^,?]+?)[\s?.!]*$",
    re.IGNORECASE,
)
_EITHER_SIDE = re.compile(r"(?P<event>.+?),?\s+(?:before or after|after or before)\s+(?P<other>.+?)[\s?.!]*$", re.IGNORECASE)
_TOPIC = re.compile(
    rf"(?P<whom>(?:the|my|our|that)\s+[^,?]{{3,80}}),\s+(?P<rest>(?:{_ASKS}|(?:{_AUXILIARY})\s)[^?]+)\?*$", re.IGNORECASE
)
_BOTH = re.compile(r"\bboth\s+(?P<one>[^,?]+?)\s+and\s+(?P<two>[^,?]+?)(?=\?*$)", re.IGNORECASE)
_BETWEEN = re.compile(
    r"\bbetween\s+(?P<one>[^?]+?)\s+and\s+(?P<two>[^?]+?)[?.]*$|\bcompare\s+(?!with\b|to\b)(?P<first>[^?]+?)\s+(?:and|with|to)\s+(?P<second>[^?]+?)[?.]*$",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"(?P<question>[^?]*?[\w)])\s*(?P<mark>[:,])\s+(?:including\s+)?(?!(?:and|or|but)\b)(?P<list>[^?:]+?)\s*[?.]*$"
)
_SEPARATOR = re.compile(r"\s*,\s*(?:and|or|plus|vs\.?|versus)\s+|\s*,\s*|\s+(?:and|or|plus|vs\.?|versus)\s+", re.IGNORECASE)
_CONJUNCTION = re.compile(r"\b(?:and|or|plus|vs\.?|versus)\b", re.IGNORECASE)
_NAME = re.compile(r"[A-Z][\w'’-]*(?:\s+(?:of\s+|de\s+|van\s+|von\s+)?[A-Z][\w'’-]*)*")
_ONE_NAME = r"[A-Z][\w-]*(?:\s+[A-Z][\w-]*)*(?:['’]s?)?"
_NAMES = re.compile(
    rf"(?:\b[Bb]oth\s+)?\b(?P<names>{_ONE_NAME}(?:,\s+{_ONE_NAME})*(?:,?\s+(?:and|or|&|vs\.?|versus)\s+{_ONE_NAME}))(?!\w)"
)
_COMPARED = re.compile(
    r"\b(?:between|compare\w*|difference|in common|alike|each other|related|or|which of|(?:which|what) order)\b", re.IGNORECASE
)
_TOGETHER = re.compile(r"\s+\b(?:both|each|either|together)\b", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’]s?$")
_PRONOUN = re.compile(r"\b(?:(he|she|they|him|them)|(his|their|her)(?=\s+\w)|(her|hers|theirs))\b", re.IGNORECASE)
_IT = re.compile(r"\bit\b", re.IGNORECASE)
_THING_LAST = re.compile(r"\b(?:is|are|was|were|about|of|for|with) (?P<thing>(?:the|my|our)(?: [a-z][\w-]*){1,3})$")
_KIN = re.compile(r"\b(?:my|our)\s+[a-z][\w-]+\b")
_PLURAL = {"do": "does", "have": "has", "are": "is", "were": "was"}
_THING = re.compile(rf"(?:the|an?|me|i|{_SUBJECT}|{_ASKS}|\w+ing\s)\b", re.IGNORECASE)
_FIRST_PERSON = re.compile(r"\bi\b(?!\.)")
_DESCRIPTION = re.compile(
    rf"\b[Tt]he (?P<role>[a-z][\w-]*(?: [a-z][\w-]*)?) of (?P<owner>{_ONE_NAME}|my|our)"
    rf"|(?P<whose>\b[Mm]y|\b[Oo]ur|{_ONE_NAME}['’]s?) (?P<of>[a-z][\w-]*(?: [a-z][\w-]*)?)"
)
_ASKED_ABOUT = re.compile(r"\b(?:did|does|do|has|have|had|can|could|will|would|should) $", re.IGNORECASE)
_MOST = 8  # a list that is longer is asked for at once
_LONGEST = 600  # characters of a question that are taken apart
_NO_NAMES = word_set(
    """
    i who whom whose what when where why which how did does do is are was were has have had can could will would should may
    might must the a an my our your his her their its this that these those he she it we you they and but or if in on at for
    from with about since until before after monday tuesday wednesday thursday friday saturday sunday january february march
    april june july august september october november december yes no
    """
)
_FINITE = word_set("is are was were am has have had did does do can could will would should")


@frozen
class Part:
    """A question that is part of another one, and the reason why it is asked."""

    question: str
    why: str


@frozen
class Bounded:
    """A question about the time before or after an event: the question without the event, the side, and the question for it."""

    question: str
    side: str
    event: str


@frozen
class Described:
    """A question about somebody who is described, not named: the question for the name, and the rest with a pronoun."""

    who: str
    rest: str

    def named(self, name: str) -> str:
        """Return the rest of the question with the name in the place of its pronoun."""
        return sentence(_with_name(self.rest, name))


def parts(question: str) -> list[Part]:
    """Return the questions that this one consists of, in their order; nothing if it asks for one thing."""
    text = " ".join(question[:_LONGEST].split())
    return _joined(text) or _either_side(text) or _by_name(text) or _by_thing(text)


def bounded(question: str) -> Bounded | None:
    """Return a question that an event bounds in time, taken apart; None if a date takes its place, which recall reads itself."""
    match = _BORDER.match(" ".join(question[:_LONGEST].split()))
    if match is None or any(word.isdigit() for word in terms(match[3])) or not set(terms(match[3])) - STOP_WORDS:
        return None
    return Bounded(sentence(match[1]), match[2].lower(), when(match[3]))


def described(question: str) -> Described | None:
    """Return a question that first describes whom it is about ("the friend I ran with, where does she live?")."""
    match = _TOPIC.match(" ".join(question[:_LONGEST].split()))
    if match is None or _PRONOUN.search(match["rest"]) is None:
        return None
    return Described(sentence(f"who is {match['whom'][0].lower()}{match['whom'][1:]}"), match["rest"])


def when(event: str) -> str:
    """Return the question for the time of an event, which is a noun ("the launch") or a clause ("we moved")."""
    first, *others = terms(event)
    is_clause = first in ("i", "we", "he", "she", "they", "you", "it") or any(is_past(word) or word in _FINITE for word in others)
    return sentence(f"when was it that {event}" if is_clause else f"when was {event}")


def about(thing: str) -> str:
    """Return the question for everything about a thing."""
    return sentence(f"what is known about {thing}")


def sentence(text: str) -> str:
    """Return a text as a sentence: a capital letter, and a question mark unless it is a request."""
    bare = _FIRST_PERSON.sub("I", text.strip(" ,;:?.!"))
    lead = _LEAD.match(bare)
    is_request = not lead.group().lower().startswith("do ") if lead else not _ASKING.search(bare)
    return f"{bare[:1].upper()}{bare[1:]}{'.' if is_request else '?'}"


def names(text: str) -> list[str]:
    """Return the names in a text by their capital letters; the first word of a sentence is one only if it is no common word."""
    found: list[str] = []
    for match in _NAME.finditer(text):
        capitalized = match.group().split()
        words = list(dropwhile(lambda word: _POSSESSIVE.sub("", word).lower() in _NO_NAMES, capitalized))
        name = _POSSESSIVE.sub("", " ".join(words))
        if name and (not _opens_sentence(text, match) or len(words) < len(capitalized) or name.lower() not in STOP_WORDS):
            found.append(name)
    return list(dict.fromkeys(found))


def resolved(question: str, statement: str, speaker: str) -> tuple[str, str] | None:
    """Return the name that a statement gives to somebody whom the question describes, and the question with that name.

    "My sister is called Ana" resolves "Where does my sister live?" to "Where does Ana live?".
    """
    for match in _DESCRIPTION.finditer(question):
        owner, words = _POSSESSIVE.sub("", match["owner"] or match["whose"]), (match["role"] or match["of"]).split()
        ends_early = _ASKED_ABOUT.search(question[: match.start()])  # "does my aunt work": the second word is a verb
        for role in dict.fromkeys((" ".join(words), words[0])) if ends_early else (" ".join(words),):
            name = _name_of(owner, role, statement, speaker)
            if name and name not in question:
                end = match.end() if match["role"] or role == match["of"] else match.start("of") + len(role)
                return name, sentence(question[: match.start()] + name + question[end:])
    return None


def _name_of(owner: str, role: str, statement: str, speaker: str) -> str:
    """Return the name of an owner's role ("my", "boss") in a statement, or "". A speaker calls his own "my" and "our"."""
    of, whose = re.escape(owner), re.escape(role)
    is_own = owner.lower() in ("my", "our") or owner.lower() == speaker.lower()
    known = [rf"the {whose} of {of}", rf"{of}['’]s? {whose}", *([rf"(?:my|our) {whose}"] if is_own else [])]
    described = rf"(?i:\b(?:{'|'.join(known)}))"
    named = rf"{described}(?:,? (?:is|was)(?: called| named)?|,? (?:called|named))? (?P<after>{_ONE_NAME})"
    match = re.search(rf"{named}|\b(?P<before>{_ONE_NAME}) (?:is|was) {described}\b", statement)
    name = _POSSESSIVE.sub("", match["after"] or match["before"]) if match else ""
    return "" if name.lower() in _NO_NAMES else name


# ── the ways in which a question has parts ─────────────────────────────────────────────────────────────────────────────


def _joined(text: str) -> list[Part]:
    """Return the questions joined in this one; a pronoun in a later one is replaced by the name in the first."""
    found = _LEAD.match(text)
    lead = found.group() if found else ""
    pieces = [piece.strip(" ,?") for piece in _JOINT.split(text[len(lead) :])]
    first, *others = pieces
    others = [_with_thing(piece, first) for piece in others]
    others = [piece for piece in others if _QUESTION.match(piece) and not _REFERS_BACK.match(piece) and len(terms(piece)) > 1]
    if not others or len(terms(first)) < 2 or (not lead and any(map(_CLAUSE.match, others))):
        return []
    whom = _antecedent(first)
    asked = [first, *(_with_name(piece, whom) if whom else piece for piece in others)]
    return [Part(sentence(lead + piece), "a part of the question") for piece in asked]


def _with_thing(piece: str, first: str) -> str:
    """Return a later question with the thing that the first one ends with in the place of "it"; "" if "it" is unclear."""
    if not _IT.search(piece) or _IT.search(first):
        return piece
    thing = _THING_LAST.search(first)
    return _IT.sub(thing["thing"], piece, count=1) if thing else ""


def _antecedent(question: str) -> str:
    """Return the person or the people whom a pronoun in the next question means, or ""."""
    several, kin = _NAMES.search(question), _KIN.search(question)
    if several is not None:
        return several["names"]
    return next(iter(names(question)), kin.group() if kin else "")


def _either_side(text: str) -> list[Part]:
    """Return the questions for the times of two events, for a question whether one came before or after the other."""
    match = _EITHER_SIDE.match(text)
    if match is None:
        return []
    return [Part(sentence(match["event"]), "the one event"), Part(when(match["other"]), "the other event")]


def _by_name(text: str) -> list[Part]:
    """Return the question asked for each of the names that a conjunction joins."""
    match = _NAMES.search(text)
    if match is None:
        return []
    opening = match["names"].partition(" ")[0]  # a question opens with a capital, too: "Do Ada and Bob …"
    start = match.start() + len(opening) + 1 if opening.lower() in _NO_NAMES else match.start()
    said = _SEPARATOR.split(text[start : match.end()].removeprefix("both ").replace("&", "and"))
    listed = [_POSSESSIVE.sub("", name) for name in said]
    if not 2 <= len(listed) <= _MOST:
        return []
    if _COMPARED.search(text):
        return [Part(about(name), f"the question for {name}") for name in listed]
    owned = said[-1] != listed[-1]
    before, after = text[:start], _TOGETHER.sub("", text[match.end() :])
    if owned:
        return [Part(sentence(f"{before}{name}'s{after}"), f"the question for {name}") for name in listed]
    return [Part(_singular(before, name, after), f"the question for {name}") for name in listed]


def _by_thing(text: str) -> list[Part]:
    """Return a question for each of the things that are compared or listed."""
    if (both := _BOTH.search(text)) is not None:
        return [Part(sentence(text[: both.start()] + thing), f"the question for {thing}") for thing in both.groups()]
    if (pair := _BETWEEN.search(text)) is not None:
        return [Part(about(thing), f"the question for {thing}") for thing in pair.groups() if thing]
    tail = _TAIL.match(text)
    if tail is None or (tail["mark"] == "," and _QUESTION.match(tail["list"])):
        return []
    things = [thing for thing in _SEPARATOR.split(tail["list"]) if set(terms(thing)) - STOP_WORDS]
    if not 2 <= len(things) <= _MOST or not _CONJUNCTION.search(tail["list"]):
        return []
    head = text[: tail.start("list")]
    return [
        Part(about(thing) if _THING.match(thing) else sentence(head + thing), f"the question for {thing}") for thing in things
    ]


def _singular(before: str, name: str, after: str) -> str:
    """Return a question about several people with one of them in their place, and the verb beside the name in the singular."""
    head, space, verb = before.rstrip().rpartition(" ")
    if verb.lower() in _PLURAL:
        return sentence(f"{head}{space}{_PLURAL[verb.lower()]} {name}{after}")
    first, space, rest = after.strip().partition(" ")
    return sentence(f"{before}{name} {_PLURAL[first]} {rest}" if first in _PLURAL else f"{before}{name}{after}")


def _with_name(piece: str, name: str) -> str:
    """Return the question with the name in the place of its first pronoun, unless it names somebody before."""
    match = _PRONOUN.search(piece)
    if match is None or names(piece[: match.start()]):
        return piece
    return piece[: match.start()] + (name if match[1] or match[3] else f"{name}'s") + piece[match.end() :]


def _opens_sentence(text: str, match: re.Match[str]) -> bool:
    before = text[: match.start()].rstrip()
    return not before or before[-1] in ".!?:"
