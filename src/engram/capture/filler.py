"""What says nothing worth keeping: greetings, thanks, reactions, questions, requests, an assistant's small talk.

`reason` looks at one sentence and names why it is dropped, or returns None for a statement. When in doubt it is a
statement: what is dropped here can never be recalled, what is kept too much is only a little noise.
"""

from __future__ import annotations

import re

from engram.capture import phrases
from engram.text.verbs import is_past

WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
_QUESTION_END = re.compile(r"[?？؟;][\s\"'”’)\]!]*[^\w\s]*$")
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'll|i'd|my|mine|we|we've|we're|our)\b", re.IGNORECASE)
_FIRST_PERSON_SUBJECT = re.compile(
    r"^\W*(?:(?:yes|yeah|no|well|so|also|and|but|oh|ok|okay|by the way|btw|actually|hi|hey|hello|thanks|recently|currently|since|as)[\s,!.]+)*"
    r"(?:i|i'm|i've|i'll|i'd|my|we|we've|we're|we'll|our)\b",
    re.IGNORECASE,
)
# A question that carries news of its asker: "… for the tent I bought last week?", "now that I've moved to Oslo?"
_NEWS_IN_QUESTION = re.compile(
    r"\b(?:i|we)(?:'ve|’ve| have| had| just| recently| already| also)+ (?!any\b|ever\b|to\b|been able)\w+|\b(?:i'm|i am|we're|we are) (?:\w+ )?\w+ing\b"
    r"|\b(?:my|our) (?:new|old|own|upcoming|favou?rite|first|last|current|recent|wife|husband|son|daughter|kids?|mom|mum|dad|sister|brother|dog|cat|friend|boss|partner)\b"
    r"|\bas an? \w+|\bi (?:used to|usually|always|often)\b",
    re.IGNORECASE,
)
_I_PAST = re.compile(r"\b(?:i|we) ((?:\w+ly |just |also )?\w+)", re.IGNORECASE)


def words(sentence: str) -> list[str]:
    return [match.group().lower().replace("’", "'") for match in WORD.finditer(sentence)]


def content(found: list[str], names: frozenset[str] = frozenset()) -> list[str]:
    """The words that carry something: not grammar, not praise, not small talk, not the name of the one addressed."""
    return [word for word in found if word not in phrases.CONTENTLESS and word not in names]


def is_question(sentence: str) -> bool:
    return _QUESTION_END.search(sentence[-12:]) is not None


def is_substantive_question(sentence: str) -> bool:
    """Worth repeating with its answer: not "How are you?"."""
    return is_question(sentence) and not phrases.PLEASANTRY.search(sentence) and len(content(words(sentence))) >= 1


def holds_news(question: str) -> bool:
    """Does a question state something about the one who asks?"""
    if _FIRST_PERSON_SUBJECT.match(question) and not phrases.WISH.match(question):
        return len(content(words(question))) >= 3
    if _NEWS_IN_QUESTION.search(question):
        return True
    return any(is_past(match.group(1).rsplit(" ", 1)[-1].lower()) for match in _I_PAST.finditer(question))


def reason(sentence: str, names: frozenset[str] = frozenset()) -> str | None:
    """Why a person's sentence is no statement; None if it is one. `names` are those who are addressed, lower case."""
    found = words(sentence)
    if not found:
        return "empty"
    if is_question(sentence):
        return None if holds_news(sentence) else "question"
    rest = content(found, names)
    if phrases.FAREWELL.match(sentence) and len(rest) <= 1:
        return "farewell"
    if phrases.GREETING.match(sentence) and len(rest) <= _vocative(sentence):
        return "greeting"
    if phrases.THANKS.match(sentence) and (len(rest) <= 2 or not _FIRST_PERSON.search(_after_thanks(sentence))):
        return "thanks"
    if not rest:
        return "reaction" if any(word in phrases.FEELING for word in found) else "filler"
    if phrases.WISH.match(sentence) or (phrases.REQUEST.match(sentence) and not holds_news(sentence)):
        return "request"
    if phrases.QUESTION_WORD.match(sentence) and len(found) <= 3 and len(rest) <= 1:
        return "question"
    return "reaction" if _is_applause(sentence, found, rest) else None


def _vocative(sentence: str) -> int:
    """A greeting may hold one more word: whom it greets."""
    return 1 if re.match(r"^\W*\w+,?\s+[A-Z]", sentence) else 0


def _after_thanks(sentence: str) -> str:
    match = phrases.THANKS.match(sentence)
    return sentence[match.end() :] if match else sentence


def _is_applause(sentence: str, found: list[str], rest: list[str]) -> bool:
    """Praise of what the other one said or is: little in it but praise, and nothing about the speaker."""
    if not phrases.APPLAUSE.match(sentence) or any(word[:1].isdigit() for word in found):
        return False
    about_other = any(word in ("you", "you're", "you've", "you'll", "you'd", "your", "yourself") for word in found)
    praise = sum(word in phrases.FEELING for word in found)
    if _FIRST_PERSON.search(sentence) and not re.match(r"^\W*(?:\w+[\s,!]+)?i(?:'m| am|'ll)? ", sentence, re.IGNORECASE):
        return False
    if about_other:
        return praise >= 1 and len(rest) <= 1 + praise and len(rest) <= 3
    return not _FIRST_PERSON.search(sentence) and praise >= 1 and len(rest) <= 1 and len(found) <= 8


def boilerplate(sentence: str) -> str | None:
    """Why an assistant's sentence is no part of its answer; None if it is."""
    found = words(sentence)
    if not found:
        return "empty"
    if is_question(sentence):
        return "question"
    if phrases.BOILERPLATE.match(sentence) and not _opens_into_content(sentence, found):
        return "boilerplate"
    return None if content(found) else "filler"


def _opens_into_content(sentence: str, found: list[str]) -> bool:
    """ "Sure, the capital of Norway is Oslo and it lies on a fjord": an opening word before an answer."""
    return bool(re.match(r"^\W*(?:sure|certainly|of course|absolutely|yes)\b[\s,!]", sentence, re.IGNORECASE)) and len(content(found)) >= 5
