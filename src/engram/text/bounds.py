"""Within what bounds a statement holds: "in the evening", "on Windows", "for uploads", "this week". Pure.

What is said within bounds is compatible with what is said in general. A time at which something changed ("in May", "last week")
is no bound, nor is "anymore".
"""

from __future__ import annotations

import re

_BESIDES = re.compile(
    r"\b(?:also|too|as well|another|either|both|sometimes|occasionally|part[- ]time|temporarily|partly"
    r"|side (?:job|gig|project)|on the side|mostly|usually)\b",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"^(?:,? (?:now|anymore|any more|any longer|at all|again|instead|already|so much|right now|for now|at the moment|these days"
    r"|(?:last|two|three|a few|\d+) \w+(?: ago)?))+(?=$|[ .,;!?])"
)
_CHANGE = re.compile(
    r"^ (?:in (?:(?:early|late) )?(?:January|February|March|April|May|June|July|August|September|October|November"
    r"|December|\d{4})(?=$|[.,;!?]| \d| and\b| because\b)"
    r"|on (?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|on the \d|in the (?:meantime|end)"
    r"|for (?:now|good|ever|life|years|months|ages)\b"
    r"|for (?:\d{1,2}|a|an|two|three|four|five|six|ten|several|many|some|over|almost|about|more than)"
    r" (?:\w+ )?(?:days?|weeks?|months?|years?|decades?|while|time)\b"
    r"|at (?:last|least|all|the moment)\b|as of\b)"
)
_DENIED = re.compile(
    r"^ (?:in|on|at|for|with|without|when|whenever|while|if|unless|during|before|after|as|than|until|till|by|from|that|which|who"
    r"|where|this|today|tonight|tomorrow|next|and(?! (?:the user|I|am|is|now|never|have|has|so|prefers?|uses?|switched|moved"
    r"|went|joined|started|got|we|he|she|they)\b))\b"
)
_STATED = re.compile(
    r"^ (?:in (?:the )?(?:(?:early|late) )?(?:mornings?|evenings?|afternoons?|nights?|winters?|summers?|spring|autumn|fall"
    r"|staging|production|prod|dev|development|tests?|testing|ci|\w+ (?:mode|environment|branch)"
    r"|(?:my|our|this|these|those|some|most)\b)"
    r"|on (?!\d)|at (?:home|work|night|school|my|our|the|weekends|least|most)\b|for |during|when|whenever|while (?!I)|if|unless"
    r"|until|till|every|most|half|today|tonight|tomorrow|this|next|except|only|who|which|where)\b"
)
_LEFT = re.compile(r"^ (?:at (?:\d|noon|midnight|lunch|night)|for (?![A-Z])|with|on (?:foot|time)|today|tonight|early|late)\b")
_HAPPENED = re.compile(
    r"\b(?:moved|relocated|joined|started|got|took|switched|migrated|changed|converted|replaced|promoted|turned|went|dropped|rose"
    r"|married|became|rescheduled|postponed|pushed)\b"
)
_LEAVING = re.compile(r"\b(?:left|quit|resigned|fired|laid off)\b")
_TIMED = re.compile(r"(?:^scheduled|\bdate|\bdeadline|\bbirthday)$")
_LONGEST = 60


def is_besides(sentence: str) -> bool:
    """Does it add to what is so, or hold now and then? "Nadia maintains the parser too"."""
    return _BESIDES.search(sentence) is not None


def tells_a_change(sentence: str) -> bool:
    """Does it tell that something became so, and not that it is? Who was said not to live there may have moved there."""
    return _HAPPENED.search(sentence) is not None


def bound(predicate: str, holds: bool, said: str, rest: str) -> str:
    """The bound that follows a fact, from the words that told it and the rest of its sentence; empty if it holds in general."""
    after = _FILLER.sub("", rest)
    if _TIMED.search(predicate) or _CHANGE.match(after):
        return ""
    if not holds and _LEAVING.search(said):
        pattern = _LEFT
    elif not holds or predicate.startswith(("feels about ", "number of ")):
        pattern = _DENIED
    elif _HAPPENED.search(said):
        return ""
    else:
        pattern = _STATED
    return re.split(r"[.,;!?]", after.strip())[0][:_LONGEST].strip() if pattern.match(after) else ""
