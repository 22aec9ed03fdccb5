"""Fewer words for the same thing, taken from its own: whole sentences, then the leading clause, then words.

Extractive, so that nothing is said that was not; what a model could say better it may say instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from engram.index.lexical import STOP_WORDS
from engram.text import sentences
from engram.text.person import named, third_person
from engram.text.terms import terms
from engram.text.tokens import count
from engram.text.wordlist import word_set
from engram.types import Turn

_CLAUSE_END = re.compile(r"[,;]\s|\s[–—-]\s|\s(?=(?:because|which|while|although|though|since|but)\b)", re.IGNORECASE)
_LEAST_WORDS = 4
_STATEMENT_TOKENS = 40
_TOKEN_CHARACTERS = 32
"""Characters of a token at most, nearly always."""
_SMALL_TALK = word_set(
    """
    ah aha alright awesome bye cheers cool fine glad good great haha hello hey hi hm hmm lol nice oh ok okay perfect please really
    right sorry sure thank thanks thx welcome well wow yeah yep yes nope absolutely definitely exactly indeed lovely morning
    noted understood acknowledged
    """
)


def telling(text: str) -> tuple[str, ...]:
    """The words of a text that say what it is about."""
    return tuple(term for term in terms(text) if term not in STOP_WORDS and term not in _SMALL_TALK)


def split(text: str) -> list[str]:
    """Its sentences, each on one line."""
    return [" ".join(text[start:end].split()) for start, end in sentences.spans(text)]


def statement(turn: Turn, most: int = _STATEMENT_TOKENS) -> str:
    """A turn as one statement that stands by itself: its most telling sentence, said of its speaker; empty for small talk."""
    ranked = sorted(split(turn.text), key=lambda sentence: -len(telling(sentence)))
    if not ranked or not telling(ranked[0]):
        return ""
    turned = third_person(ranked[0], turn.speaker)
    name = named(turn.speaker)
    said = turned or f"{name[:1].upper()}{name[1:]}: {ranked[0]}"
    return shorten(f"{said[:1].upper()}{said[1:]}", most)


def shorten(text: str, most: int) -> str:
    """As much of the beginning as `most` tokens hold, and no broken sentence where it can be helped; empty if nothing fits."""
    text = " ".join(text.split())
    if count(text) <= most:
        return text
    found = split(text[: most * _TOKEN_CHARACTERS + 1])
    if whole := _most(lambda end: " ".join(found[:end]), range(1, len(found)), most):
        return whole
    first = found[0] if found else text
    clause = _most(lambda end: first[:end], [match.start() for match in _CLAUSE_END.finditer(first)], most)
    return clause if len(clause.split()) >= _LEAST_WORDS else _cut(first, most)


def _most(head: Callable[[int], str], ends: Sequence[int], most: int) -> str:
    """The longest beginning that fits; empty if none does. Halving, because to count each of a thousand takes minutes."""
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high + 1) // 2
        if count(head(ends[middle - 1])) <= most:
            low = middle
        else:
            high = middle - 1
    return head(ends[low - 1]) if low else ""


def _cut(text: str, most: int) -> str:
    """The longest beginning that fits, to a word's end where the script has one. Longer text has more tokens, nearly always."""
    low, high = 0, min(len(text), most * _TOKEN_CHARACTERS)
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[:middle] + "…") <= most:
            low = middle
        else:
            high = middle - 1
    head = text[:low]
    whole = head if low == len(text) or text[low].isspace() else head[: head.rfind(" ")] if " " in head else head
    shown = whole.rstrip(" ,;:")
    while shown and count(shown + "…") > most:
        shown = shown[:-1]
    return shown + "…" if shown else ""


def level_down(text: str) -> str:
    """One level less of detail: its first sentence; of a single one the leading clause; the same text if there is none."""
    found = split(text)
    if len(found) > 1:
        return found[0]
    for match in _CLAUSE_END.finditer(text):
        if len(text[: match.start()].split()) >= _LEAST_WORDS:
            return text[: match.start()]
    return text
