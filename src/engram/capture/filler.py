"""Find sentences that say nothing worth keeping: greetings, thanks, reactions, questions, requests, an assistant's small talk.

`reason` looks at one sentence and names why it is dropped, or returns None for a statement. When in doubt it is a
statement: what is dropped here can never be recalled, what is kept too much is only a little noise.
"""

from __future__ import annotations

import re

from engram.text.english import phrases
from engram.text.english.grammar import is_finite, is_past
from engram.text.terms import word_set

WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
QUESTION_MARK = re.compile(r"[?？؟\u037e]")
_QUESTION_END = re.compile(r"[?？؟\u037e][\s\"'”’)\]!]*[^\w\s]*$")
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'll|i'd|my|mine|we|we've|we're|our)\b", re.IGNORECASE)
_FIRST_PERSON_SUBJECT = re.compile(
    r"^\W*(?:(?:yes|yeah|no|well|so|also|and|but|oh|ok|okay|by the way|btw|actually|hi|hey|hello|thanks"
    r"|recently|currently|since|as)[\s,!.]+)*"
    r"(?:i|i'm|i've|i'll|i'd|my|we|we've|we're|we'll|our)\b",
    re.IGNORECASE,
)
# A question that carries news of its asker: "… for the tent I bought last week?", "now that I've moved to Oslo?"
_NEWS_IN_QUESTION = re.compile(
    r"\b(?:i|we)(?:'ve| have| had| just| recently| already| also)+ (?!any\b|ever\b|to\b|been able)\w+"
    r"|\b(?:i'm|i am|we're|we are) (?:\w+ )?\w+ing\b"
    r"|\b(?:my|our) (?:new|old|own|upcoming|favou?rite|first|last|current|recent|wife|husband|son|daughter"
    r"|kids?|mom|mum|dad|sister|brother|dog|cat|friend|boss|partner)\b"
    r"|\bi (?:used to|usually|always|often)\b",
    re.IGNORECASE,
)
_I_FIRST = re.compile(r"^\W*(?:\w+[\s,!]+)?i(?:'m| am|'ll)? ", re.IGNORECASE)
_OTHER = frozenset({"you", "you're", "you've", "you'll", "you'd", "your", "yourself"})
_GLOWING = word_set(
    "inspiring impressive rewarding encouraging motivating breathtaking remarkable outstanding solid smart perfectly peaceful"
    " talented gifted skilled dedicated passionate determined caring creative genuine"
)
_SHOWN = word_set("pic pics photo photos picture pictures shot image view painting colors colours")
_AS_AN_AI = re.compile(
    r"\bas an? (?:\w+ )?ai\b|\b(?:ai|language) (?:language )?model,? i\b|\bi(?:'m| am) (?:just |only )?an? (?:ai|language)\b",
    re.IGNORECASE,
)
_SELF = re.compile(r"\b(?:i|i'm|i've|i'll|i'd|my|mine)\b", re.IGNORECASE)
_TELLING = re.compile(r"\b(?:my|our|mine|me|i|i've|i'll|i'd)\b(?!'m sure)", re.IGNORECASE)
_MINE = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)
_OWN = re.compile(r"(?:i|i'm|i've|im|ive|my|we|we're|we've|our)\b(?!'| will\b| would\b)", re.IGNORECASE)
_COME_TO_ASK = re.compile(
    r"(?:i|we)(?:'m| am|'re| are|'ve| have)? (?:(?:just|also|really|an?|one|more|got|have|need|some|your|here)\b ?)*"
    r"(?:quick )?(?:questions?|help|assistance|advice|back|fine)?\W*$",
    re.IGNORECASE,
)
_REACTION = 4  # words with content that a reaction may have
_NO_SUBJECT = phrases.CONTENTLESS | word_set("less same")
_DETERMINERS = word_set("the a an this that these those his her their every each")
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
    question = question.replace("’", "'")
    if _FIRST_PERSON_SUBJECT.match(question) and not phrases.WISH.match(question):
        return len(content(words(question))) >= 3
    if _NEWS_IN_QUESTION.search(question):
        return True
    return any(is_past(match.group(1).rsplit(" ", 1)[-1].lower()) for match in _I_PAST.finditer(question))


def reason(sentence: str, names: frozenset[str] = frozenset()) -> str | None:
    """Why a person's sentence is no statement; None if it is one. `names` are those who are addressed, lower case."""
    sentence = sentence.replace("’", "'")
    found = words(sentence)
    if not found:
        return "empty"
    if is_question(sentence):
        return None if holds_news(sentence) else "question"
    rest = content(found, names)
    sentence = _unaddressed(sentence, names)
    return _courtesy(sentence, rest) or _demand(sentence, found, rest) or _reaction(sentence, found, rest)


def _unaddressed(sentence: str, names: frozenset[str]) -> str:
    """ "Ann, hope you're well" → "hope you're well"."""
    first = WORD.match(sentence)
    if first and first.group().lower() in names and sentence[first.end() : first.end() + 1] in (",", "!"):
        return sentence[first.end() + 1 :].lstrip() or sentence
    return sentence


def _courtesy(sentence: str, rest: list[str]) -> str | None:
    if phrases.FAREWELL.match(sentence) and len(rest) <= 1:
        return "farewell"
    if (opening := phrases.GREETING.match(sentence)) and len(rest) <= _vocative(sentence):
        return None if _tells(sentence[opening.end() :]) else "greeting"
    if phrases.CATCHING_UP.search(sentence) and len(rest) <= 4 and len(sentence) <= 60:
        return "greeting"
    if phrases.THANKS.match(sentence) and (len(rest) <= 2 or not _FIRST_PERSON.search(_after_thanks(sentence))):
        return None if _tells(_after_thanks(sentence)) else "thanks"
    return None


def _demand(sentence: str, found: list[str], rest: list[str]) -> str | None:
    if phrases.OFFER.search(sentence) and len(rest) <= 5 and not _NEWS_IN_QUESTION.search(sentence):
        return "offer"
    if (phrases.WISH.match(sentence) or phrases.ASKING.search(sentence)) and not _NEWS_IN_QUESTION.search(sentence):
        return "request"
    if phrases.REQUEST.match(sentence) and not holds_news(sentence):
        return None if re.search(r"\bmy\b", sentence, re.IGNORECASE) and len(rest) >= 2 else "request"
    if phrases.QUESTION_WORD.match(sentence) and len(found) <= 3 and len(rest) <= 1 and rest != found[-1:]:
        return "question"
    if phrases.INVERSION.match(sentence) and sentence[-1] not in ".!" and not holds_news(sentence):
        return "question"
    return None


def _reaction(sentence: str, found: list[str], rest: list[str]) -> str | None:
    if not rest:
        return "reaction" if any(word in phrases.FEELING for word in found) else "filler"
    numbered = any(word[:1].isdigit() for word in found)
    opening = phrases.REACTING.match(sentence)
    if opening and len(rest) <= _REACTION and not numbered and not _SELF.search(sentence, opening.end()):
        return "reaction"
    if phrases.CHEERING.search(sentence) and len(rest) <= 5 and not numbered and not _TELLING.search(sentence):
        return "reaction"
    return "reaction" if _is_applause(sentence, found, rest) else None


def _tells(after: str) -> bool:
    """Is what follows a greeting or thanks a statement by itself: "hi I like fish", "thanks, it works on Linux only"?"""
    after = after.lstrip(" ,.!:;–—-")
    if _COME_TO_ASK.match(after) or reason(after) is not None:
        return False
    return _OWN.match(after) is not None or (len(content(words(after))) >= 2 and is_clause(after))


def is_clause(sentence: str) -> bool:
    """ "Kim quit", "The server crashed": a subject and its verb right at the head, however little else there is."""
    found = words(re.split("[,;:]", sentence.replace("’", "'"), maxsplit=1)[0])
    if len(found) > 2 and found[0] in _DETERMINERS:
        return any(is_finite(found[at], found[at - 1]) for at in range(2, min(len(found), 4)))
    if len(found) < 2 or found[0].endswith("ly") or is_finite(found[0], ""):
        return False
    return is_finite(found[1], found[0]) and (found[0] not in _NO_SUBJECT or len(content(found)) > 1)


def _vocative(sentence: str) -> int:
    """A greeting may hold one more word: whom it greets."""
    return 1 if re.match(r"^\W*\w+,?\s+[A-Z]", sentence) else 0


def _after_thanks(sentence: str) -> str:
    match = phrases.THANKS.match(sentence)
    return sentence[match.end() :] if match else sentence


def _is_applause(sentence: str, found: list[str], rest: list[str]) -> bool:
    """Praise of what the other one said or is: little in it but praise, and nothing about the speaker."""
    if any(word[:1].isdigit() for word in found):
        return False
    if not phrases.APPLAUSE.match(sentence) and found[0] not in phrases.FEELING and found[0] not in _GLOWING:
        return False
    if _MINE.search(sentence) or (_FIRST_PERSON.search(sentence) and _OTHER.isdisjoint(found) and not _I_FIRST.match(sentence)):
        return False
    if len(_SELF.findall(sentence)) > 1:  # "I agree, I love travelling too"
        return False
    rest = [word for word in rest if word not in _SHOWN]
    praise = sum(word in phrases.FEELING or word in _GLOWING for word in found)
    if not _OTHER.isdisjoint(found):
        return praise >= 1 and len(rest) <= min(3, 1 + praise)
    return not _FIRST_PERSON.search(sentence) and praise >= 1 and len(rest) <= 1 and len(found) <= 8


def boilerplate(sentence: str) -> str | None:
    """Why an assistant's sentence is no part of its answer; None if it is."""
    sentence = sentence.replace("’", "'")
    found = words(sentence)
    if not found:
        return "empty"
    if is_question(sentence):
        return "question"
    if _AS_AN_AI.search(sentence) or (phrases.BOILERPLATE.match(sentence) and not _opens_into_content(sentence, found)):
        return "boilerplate"
    if phrases.RECEIPT.match(sentence) or phrases.NODDING.match(sentence):
        return "boilerplate"
    if phrases.REACTING.match(sentence) and len(content(found)) <= _REACTION and not any(word[:1].isdigit() for word in found):
        return "reaction"
    return None if content(found) else "filler"


def _opens_into_content(sentence: str, found: list[str]) -> bool:
    """ "Sure, the capital of Norway is Oslo and it lies on a fjord": an opening word before an answer."""
    return (
        bool(re.match(r"^\W*(?:sure|certainly|of course|absolutely|yes)\b[\s,!]", sentence, re.IGNORECASE))
        and len(content(found)) >= 5
    )
