"""Numbers that are written as words, as digits: "twenty-first" is 21st, "nineteen seventy eight" 1978, "a dozen" 12.

Only runs of number words are touched; every other word stays as it is. For text that is read for its times.
"""

from __future__ import annotations

import re

_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
_ONES = {word: value for value, word in enumerate(re.split(" ", f"{_UNITS} eighteen nineteen"))} | {"oh": 0}
_DOZENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_TENS = {word: 10 * value for value, word in enumerate(_DOZENS, 2)}
_CARDINALS = _ONES | _TENS
_NTH = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth"
    " seventeenth eighteenth nineteenth twentieth"
)
_ORDINALS = {word: value for value, word in enumerate(re.split(" ", _NTH), 1)} | {"thirtieth": 30, "fortieth": 40, "fiftieth": 50}
_DECADES = {f"{word[:-1]}ies": value for word, value in _TENS.items()} | {"tens": 10, "thousands": 1000, "hundreds": 100}
_POWERS = {"hundred": 100, "thousand": 1000}
_WORD = "|".join(sorted([*_CARDINALS, *_ORDINALS, *_DECADES, *_POWERS], key=len, reverse=True))
_RUN = re.compile(rf"\b(?:{_WORD})(?:(?:\s+and\s+|[\s-]+)(?:{_WORD}))*\b")
_HAS = re.compile(rf"\b(?:{_WORD})\b")
_SPLIT = re.compile(r"[\s-]+")


def digits(text: str) -> str:
    """The lower-case text with its number words as digits."""
    return _RUN.sub(_as_digits, text) if _HAS.search(text) else text


def _as_digits(match: re.Match[str]) -> str:
    before = match.string[max(match.start() - 3, 0) : match.start()]
    words = [word for word in _SPLIT.split(match.group()) if word != "and"]
    if words == ["second"] and before.strip()[-1:].isdigit():  # 30 second: a length of time
        return match.group()
    return _said(words)


def _said(words: list[str]) -> str:
    """The number of a run; a run that is no single number is told as its numbers apart."""
    last = words[-1]
    for place, word in enumerate(words[:-1], 1):  # nothing is counted on from an ordinal
        if word in _ORDINALS or word in _DECADES:
            return f"{_said(words[:place])} {_said(words[place:])}"
    if last in _DECADES:
        base = _value(words[:-1]) if words[:-1] else None
        return _decade(base, _DECADES[last])
    ordinal = _ORDINALS.get(last)
    if ordinal is not None:
        head = _value(words[:-1]) if words[:-1] else 0
        if head is None or (head % 10 and ordinal < 10 and head < 100):
            return f"{_said(words[:-1])} {_with_ending(ordinal)}"
        return _with_ending(head + ordinal)
    value = _value(words)
    if value is not None:
        return str(value)
    return f"{_said(words[:1])} {_said(words[1:])}"


def _decade(base: int | None, tens: int) -> str:
    if tens >= 100:  # the two thousands
        return f"{(base or 1) * tens}s"
    return f"{tens}s" if base is None else f"{base * 100 + tens}s"


def _with_ending(number: int) -> str:
    teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _value(words: list[str]) -> int | None:
    """As one number: by powers (two thousand eighteen), by pairs (nineteen seventy eight), or by tens and units."""
    if any(word in _POWERS for word in words):
        return _by_powers(words)
    values = [_CARDINALS.get(word) for word in words]
    if any(value is None for value in values):
        return None
    numbers = [value for value in values if value is not None]
    low = _tens_and_units(numbers)
    if low is not None:
        return low
    for cut in (1, 2):  # nineteen | seventy eight; twenty one | fifteen
        century, year = _tens_and_units(numbers[:cut]), _tens_and_units(numbers[cut:], padded=True)
        if century is not None and year is not None and century >= 10 and (year >= 10 or numbers[cut] == 0):
            return century * 100 + year
    return None


def _tens_and_units(numbers: list[int], *, padded: bool = False) -> int | None:
    if len(numbers) == 1:
        return numbers[0]
    if len(numbers) == 2 and numbers[1] < 10 and (numbers[0] >= 20 or (padded and numbers[0] == 0)):
        return numbers[0] + numbers[1] if numbers[1] else None
    return None


def _by_powers(words: list[str]) -> int | None:
    total = pending = 0
    for word in words:
        if word in _POWERS:
            pending = (pending or 1) * _POWERS[word]
            if word == "thousand" or pending >= 1000:
                total, pending = total + pending, 0
        elif word in _CARDINALS:
            if pending % 10 and pending < 100:
                return None
            pending += _CARDINALS[word]
        else:
            return None
    return total + pending
