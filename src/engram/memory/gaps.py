"""What was asked and is not known: which words of a message are a question worth keeping, to be asked back some day (§4.5)."""

from __future__ import annotations

import re

from engram.memory.shortening import split, telling
from engram.text.terms import terms
from engram.text.wordlist import word_set

_ASKING = word_set(
    """
    who whom whose what which where when why how is are am was were do does did can could will would should shall has have had may
    """
)
_ASKS_FOR_WORK = re.compile(
    r"(?:(?:please|so|and|but|ok|okay|hey|hi|now)[, ]+)*(?:(?:can|could|will|would) you (?:please |maybe |also |just )*|please )"
    r"(?!(?:tell|remind|recall|remember|say|name|confirm|know|find out|look up|let me know)\b)",
    re.IGNORECASE,
)
"""Something to be done, not something to be known: no memory would answer it."""
_MARKS = "?？؟\u037e"
_LEAST_WORDS = 2
_LONGEST = 240


def question_in(text: str) -> str:
    """The last question of a message that says itself what it asks; empty if there is none."""
    for sentence in reversed(split(text)):
        words = terms(sentence)
        asks = sentence.rstrip("\"'”’)]! ").endswith(tuple(_MARKS)) or (bool(words) and words[0] in _ASKING)
        own = [word for word in telling(sentence) if word not in _ASKING]
        if asks and not _ASKS_FOR_WORK.match(sentence.strip()) and len(own) >= _LEAST_WORDS and len(sentence) <= _LONGEST:
            return sentence
    return ""
