"""The words of one language that name times, read from its table, and the tokens of a text by these words.

A table is `dates.toml` under the name of its language. A token has roles: German "morgen" is both a day (tomorrow) and a part
of one (morning), "bis" both the end of a range and a deadline; the grammar takes the role that fits. Accents and case are
optional. In Chinese and Japanese, which have no spaces, the longest phrase that begins at a character is a token.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from engram.text.dates.calendar import FIRST_YEAR, LAST_YEAR
from engram.values.frozen import frozen

Roles = Mapping[str, Any]

TABLES = {
    "en": "english", "de": "german", "fr": "french", "es": "spanish", "pt": "portuguese", "it": "italian", "nl": "dutch",
    "zh": "chinese", "ja": "japanese",
}  # fmt: skip
"""The languages that have a table, by ISO code, and the folder that holds it."""

_NO_ROLES: Roles = {}


@frozen
class Token:
    """A word, a number, a date in digits or a mark, with its place in the text and its roles."""

    start: int
    end: int
    roles: Roles


@frozen
class Lexicon:
    """The phrases of one language.

    phrases: by first word (or first character), the other words and the roles, longest first. spaced: words stand apart.
    marks: endings of ordinal numbers, as in "3e". dotted: an ordinal number ends with a dot. month_first: 5/3 is 3 May.
    month_day: the day stands after the month, as in "May 3". ambiguous: both orders are in use, so that 5/3 is no date.
    decade_marks: endings of decades, as in "90s". subjects: the table has the words with which a clause goes on after a year.
    """

    phrases: Mapping[str, tuple[tuple[tuple[str, ...], Roles], ...]]
    spaced: bool
    marks: frozenset[str]
    dotted: bool
    month_first: bool
    month_day: bool
    ambiguous: bool
    decade_marks: frozenset[str]
    subjects: bool


def fold(text: str) -> str:
    """Return a text in lower case, without accents, and with plain digits and marks; every character keeps its place."""
    return text.lower().translate(_FOLDED) if text.isascii() else "".join(map(_folded, text))


@lru_cache(maxsize=4096)
def _folded(char: str) -> str:
    if "\u3040" <= char < "\u3100":  # the voicing of kana is no accent
        return char
    low = unicodedata.normalize("NFKD", char)[:1].lower()
    low = low if len(low) == 1 else char
    return _MARKS.get(low, low)


_MARKS = {"’": "'", "‘": "'", "–": "-", "—": "-", "−": "-", "～": "~", "〜": "~", "、": ",", "，": ",", "ß": "s", "ø": "o"}
_FOLDED = {ord(mark): plain for mark, plain in _MARKS.items()}

_WORD = re.compile(r"[^\W\d_]+|\d+|\S")
_WORDS = re.compile(r"[^\W\d_]+|\d+")
_NUMERIC = re.compile(
    r"(?P<y>\d{4})(?P<s>[-/.])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})(?![\d])(?:t[\d:.]+z?)?"
    r"|(?P<a>\d{1,2})(?P<t>[-/.])(?P<b>\d{1,2})(?P=t)(?P<z>\d{4}|\d\d)(?!\d|[./:-]\d)"
    r"|(?P<e>\d{1,2})/(?P<f>\d{1,2})(?![\d/])"
    r"|(?P<k>\d{1,2})[.-](?P<l>0\d|1[0-2])(?!\d|[.,:-]\d|(?<=\.\d\d)\.)"
    r"|(?P<n>0?[1-9]|1[0-2])[/-](?P<o>(?:19|20)\d\d)(?![\d/-])"
    r"|(?P<g>\d{1,2})\.\s?(?P<h>\d{1,2})\.(?!\d)"
    r"|(?P<clock>\d{1,2}(?::\d\d){1,2}|\d{1,2}\s?h\d\d)(?!\d)"
    r"|(?P<decimal>\d+(?:[.,]\d+)+)"
)
_ALWAYS = frozenset({(24, 7), (7, 7)})
"""Numbers with a slash that mean "around the clock" and "every day of the week" unless a word before them makes them a date."""

_COMMAS, _DASHES = frozenset(","), frozenset("-~")
_NUMERALS = re.compile(r"[〇零一二三四五六七八九十两廿百]+")
_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}


@lru_cache(maxsize=16)
def lexicon(language: str) -> Lexicon:
    """Return the words of a language that has a table."""
    table = tomllib.loads(files("engram.text").joinpath(TABLES[language], "dates.toml").read_text("utf-8"))
    spaced = table.get("spaced", True)
    roles: dict[tuple[str, ...], dict[str, Any]] = {}
    for role, value, phrase in _entries(table):
        words = tuple(_WORDS.findall(fold(phrase))) if spaced else tuple(fold(phrase))
        roles.setdefault(words, {})[role] = value
    first: dict[str, list[tuple[tuple[str, ...], Roles]]] = {}
    for words in sorted(roles, key=len, reverse=True):
        first.setdefault(words[0], []).append((words[1:], roles[words]))
    return Lexicon(
        {word: tuple(phrases) for word, phrases in first.items()}, spaced, frozenset(table.get("marks", "").split("|")) - {""},
        table.get("dotted", False), table.get("month_first", False), table.get("month_day", False), table.get("ambiguous", False),
        frozenset(table.get("decade_marks", "").split("|")) - {""}, "subject" in table["words"],
    )  # fmt: skip


def _entries(table: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """Yield role, value and phrase of each entry of a table."""
    for role in ("weekday", "month", "short_month", "short_weekday"):
        for number, phrases in enumerate(table.get(role, ())):
            for phrase in _split(phrases):
                yield role, number + ("month" in role), phrase
    for role, from_number in (("number", 0), ("ordinal", 1)):
        for number, phrases in enumerate(table.get(f"{role}s", "").split(), from_number):
            for phrase in _split(phrases.replace("_", " ")):
                for ending in table.get(f"{role}_endings", "").split("|"):
                    yield role, number, phrase + ending
    for thousand in _split(table.get("two_thousand", "")):
        for number, phrases in enumerate(table["numbers"].split()):
            for phrase in _split(phrases.replace("_", " ")):
                yield "year", 2000 + number, thousand + phrase
    for phrase, value in table.get("counts", {}).items():
        yield "number", value, phrase
    for section, role in _SECTIONS.items():
        for value, phrases in table.get(section, {}).items():
            for phrase in _split(phrases):
                yield role, int(value) if role in ("day", "which", "days_on") else value, phrase
    for role in ("day_part", "unit_step", "edge_unit", "holiday", "length"):
        for value, phrases in table.get(f"{role}s", {}).items():
            one, two = value.split()
            pair = (int(one), int(two)) if role == "holiday" else (int(one), two) if role == "length" else (one, two)
            for phrase in _split(phrases):
                yield role, pair, phrase
    for role, phrases in table.get("words", {}).items():
        for phrase in _split(phrases):
            yield role, True, phrase
    for number, phrases in enumerate(table.get("weekday", ()) if table.get("compound") else ()):
        for part, names in table["parts"].items():
            for name in _split(names):
                yield "weekday_part", (number, part), _split(phrases)[0] + name


_SECTIONS = {"days": "day", "units": "unit", "steps": "which", "parts": "part", "seasons": "season", "edges": "edge",
             "weeks_on": "days_on"}  # fmt: skip
"""Sections of a table whose keys are the values of one role."""


def _split(phrases: str) -> list[str]:
    return [phrase for phrase in phrases.split("|") if phrase]


def tokens(text: str, words: Lexicon) -> list[Token]:
    """Return the tokens of a folded text."""
    return list(_spaced(text, words) if words.spaced else _unspaced(text, words))


def _numeric(text: str, at: int, words: Lexicon) -> Token | None:
    """Return a date or a time in digits that begins at this place."""
    match = _NUMERIC.match(text, at)
    if match is None or (at and (text[at - 1] in ".,/-:" and at > 1 and text[at - 2].isdigit())):
        return None
    if match["clock"]:
        return Token(at, match.end(), {"clock": True})
    if match["y"]:
        return _date_token(match, int(match["y"]), int(match["m"]), int(match["d"]))
    if match["a"]:
        year = int(match["z"]) + (0 if len(match["z"]) == 4 else 2000 if int(match["z"]) <= 60 else 1900)
        return _in_order(match, year, int(match["a"]), int(match["b"]), words)
    if match["e"]:
        return _slashed(match, int(match["e"]), int(match["f"]), words)
    if match["k"] and words.spaced and not words.ambiguous and int(match["k"]) <= 31:
        return _led(_date_token(match, 0, int(match["l"]), int(match["k"])))
    if match["n"]:
        return Token(at, match.end(), {"month_of": (int(match["o"]), int(match["n"]))})
    if match["g"] and words.dotted:
        day = _in_order(match, 0, int(match["g"]), int(match["h"]), words)
        return Token(at, match.end(), {**day.roles, "dotted": True}) if day.roles else day
    return Token(at, match.end(), _fraction(match.group())) if match["decimal"] else None


def _fraction(digits: str) -> Roles:
    """Return the roles of a number with one or two decimals, as "1.5"; three are thousands, and whole numbers may be versions."""
    whole, _, decimals = digits.replace(",", ".").partition(".")
    is_count = len(whole) <= 4 and decimals.isdigit() and len(decimals) <= 2 and int(decimals)
    return {"number": float(f"{whole}.{decimals}")} if is_count else _NO_ROLES


def _led(day: Token) -> Token | None:
    """Return a date that is one only after an article or a weekday; None if there is no such day."""
    return Token(day.start, day.end, {**day.roles, "led": True}) if day.roles else None


def _slashed(match: re.Match[str], one: int, two: int, words: Lexicon) -> Token:
    if (one, two) not in _ALWAYS:
        return _in_order(match, 0, one, two, words)
    token = None if words.month_first else _led(_in_order(match, 0, one, two, words))
    return token or Token(match.start(), match.end(), _NO_ROLES)


def _in_order(match: re.Match[str], year: int, one: int, two: int, words: Lexicon) -> Token:
    if words.ambiguous and one != two and max(one, two) <= 12:
        return Token(match.start(), match.end(), _NO_ROLES)
    month, day = (one, two) if words.month_first else (two, one)
    if month > 12 >= day:
        month, day = day, month
    return _date_token(match, year, month, day)


def _date_token(match: re.Match[str], year: int, month: int, day: int) -> Token:
    if not (1 <= month <= 12 and 1 <= day <= 31) or (year and not FIRST_YEAR <= year <= LAST_YEAR):
        return Token(match.start(), match.end(), _NO_ROLES)
    return Token(match.start(), match.end(), {"date": (year, month, day)})


def _mark(char: str) -> Roles:
    return {"comma": True} if char in _COMMAS else {"dash": True} if char in _DASHES else _NO_ROLES


def _number(digits: str, *, ordinal: bool = False) -> Roles:
    value = int(digits) if len(digits) <= 4 else -1
    if value < 0:
        return _NO_ROLES
    roles: dict[str, Any] = {"digits": True, "number": value}
    if ordinal:
        roles["ordinal"] = value
    if len(digits) == 4 and FIRST_YEAR <= value <= LAST_YEAR and not ordinal:
        roles["year"] = value
    return roles


def _spaced(text: str, words: Lexicon) -> Iterator[Token]:
    spans = [(match.start(), match.end(), match.group()) for match in _WORD.finditer(text)]
    at = over = 0
    while at < len(spans):
        start, end, word = spans[at]
        if start < over or word == "'":
            at += 1
        elif word.isdigit():
            numeric = _numeric(text, start, words)
            token = numeric or _count(text, start, end, spans[at + 1] if at + 1 < len(spans) else None, words)
            over = token.end
            yield token
            at += 1
        elif word in words.phrases:
            roles, end, at = _phrase(spans, at, words)
            yield Token(start, end, roles)
        else:
            yield Token(start, end, _NO_ROLES if word[0].isalnum() else _mark(word))
            at += 1


def _count(text: str, start: int, end: int, after: tuple[int, int, str] | None, words: Lexicon) -> Token:
    """Return a number in digits with its ordinal mark: 3, "3e", "3."."""
    digits = text[start:end]
    if after is not None and after[0] == end:
        if after[2] in words.decade_marks and int(digits[:4]) % 10 == 0 and len(digits) in (2, 4):
            return Token(start, after[1], {"decade": int(digits)})
        if after[2] in words.marks:
            return Token(start, after[1], _number(digits, ordinal=True))
        if after[2] == "." and words.dotted and len(digits) <= 2:
            return Token(start, after[1], _number(digits, ordinal=True))
    return Token(start, end, _number(digits))


def _phrase(spans: list[tuple[int, int, str]], at: int, words: Lexicon) -> tuple[Roles, int, int]:
    """Return the roles and the end of the longest phrase that begins with this word, and the place of the next word."""
    for rest, roles in words.phrases[spans[at][2]]:
        place = at + 1
        for word in rest:
            if place < len(spans) and spans[place][2] in "-'/" and spans[place][0] == spans[place - 1][1]:
                place += 1
            if place >= len(spans) or spans[place][2] != word:
                break
            place += 1
        else:
            end = spans[place - 1][1]
            if place < len(spans) and spans[place][2] == "." and spans[place][0] == end and _SHORT & roles.keys():
                return roles, spans[place][1], place + 1
            return roles, end, place
    return _NO_ROLES, spans[at][1], at + 1


_SHORT = frozenset({"short_month", "short_weekday"})


def _unspaced(text: str, words: Lexicon) -> Iterator[Token]:
    at = 0
    while at < len(text):
        char = text[at]
        if char.isspace():
            at += 1
            continue
        token = _character_phrase(text, at, words)
        if token is None or token.end == at + 1:  # 一月 is a number and a unit, 一 a number
            numeral = _numeric(text, at, words) if char.isdigit() and char.isascii() else None
            token = numeral or _numeral(text, at) or token
        if token is None:
            token = Token(at, at + 1, _mark(char))
        yield token
        at = token.end


def _character_phrase(text: str, at: int, words: Lexicon) -> Token | None:
    for rest, roles in words.phrases.get(text[at], ()):
        end = at + 1 + len(rest)
        if text.startswith("".join(rest), at + 1):
            return Token(at, end, roles)
    return None


_ASCII_DIGITS = re.compile(r"[0-9]+")


def _numeral(text: str, at: int) -> Token | None:
    """Return a number in digits or numerals; with 月, 日, 号 or 年 after it as a month, a day or a year."""
    match = _ASCII_DIGITS.match(text, at)
    if match is not None:
        roles = dict(_number(match.group()))
        value = roles.get("number", -1)
    else:
        match = _NUMERALS.match(text, at)
        if match is None:
            return None
        value = numeral(match.group())
        roles = {"number": value} if value >= 0 else {}
    end = match.end()
    space = end + (text[end : end + 1] == " ")
    mark = text[space : space + 1]
    if mark == "月" and 1 <= value <= 12 and not text.startswith("曜", space + 1):
        return Token(at, space + (2 if text.startswith("份", space + 1) else 1), {"month": value})
    if mark in ("日", "号", "號") and 1 <= value <= 31 and text[space + 1 : space + 2] not in ("间", "間", "线", "楼"):
        return Token(at, space + 1, {"nth": value} if mark != "日" else {"nth": value, "length": (value, "day")})
    if mark == "年" and value >= 0:
        year = value if len(match.group()) == 4 else 2000 + value if len(match.group()) == 2 and value <= 60 else 0
        is_year = FIRST_YEAR <= year <= LAST_YEAR
        lasts = {"length": (value, "year")} if value < 1000 else {}
        whole = {"year": year, "whole_year": len(match.group()) == 4} if is_year else {}
        end = space + (2 if text.startswith("度", space + 1) else 1)
        return (
            Token(at, end, {**whole, **lasts})
            if text[space + 1 : space + 2] not in ("级", "間", "间")
            else Token(at, end, _NO_ROLES)
        )
    return Token(at, end, roles)


def numeral(digits: str) -> int:
    """Return the value of a Chinese numeral, by tens (二十三) or by digits (二〇二六); -1 if it has none."""
    if "百" in digits:
        return -1
    digits = digits.replace("廿", "二十")
    if "十" not in digits:
        return int("".join(str(_DIGITS[char]) for char in digits)) if len(digits) <= 4 else -1
    tens, _, ones = digits.partition("十")
    if len(tens) > 1 or len(ones) > 1 or "十" in ones:
        return -1
    return (_DIGITS[tens] if tens else 1) * 10 + (_DIGITS[ones] if ones else 0)
