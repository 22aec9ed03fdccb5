"""Read the slot of a plain statement with a value of a known type: "the budget for the offsite is 8k". Pure.

The shape is a thing, a verb of state and a value at the end: a quantity with its unit, an hour or a day, a place, a technology of
a known sort, or a name after a role. Whether two values of a slot exclude each other is a matter of their types
(`object_types.clash`); a value of no known type makes no slot, and nothing is retired for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from engram.text.english.entities import CAPITALS
from engram.text.english.gazetteer import place_level
from engram.text.english.object_types import calendar, is_name, is_role, platform
from engram.values.frozen import frozen

_WORD = r"[\w&/.'’+-]*\w"
_THING = rf"(?P<thing>(?:[Tt]he|[Mm]y|[Oo]ur|[{CAPITALS}][\w-]+['’]s) (?:{_WORD} ){{0,5}}?{_WORD})"
_HOW = r"(?:(?:now|currently|still|only|just|about|around|roughly|actually|officially|up to) )*"
_END = (
    r"(?=(?:,? (?:now|again|anymore|instead|already|from now on|these days|at the moment|right now|for now|currently|today on"
    r"|going forward|as of (?:now|today)))*[.!,;]?(?:$|[,;] | (?:and|but|because|since|so|instead|not)\b))"
)
_AMOUNT = (
    r"(?P<value>[$€£]?\d[\d.,]*(?<=\d)(?:k|m)?(?: ?(?:%|percent|°C|°F|[a-zA-Z]+(?: (?:a|per|an) [a-z]+|/[a-z]+)?))?"
    r"|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|ninety) [a-z]+)"
)
_CLOCK = r"(?P<value>(?:half past )?\d{1,2}(?:[:.]\d\d)?(?: ?[ap]\.?m\.?)?(?: o'clock)?|noon|midnight)"
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = (
    rf"(?P<value>(?i:{_WEEKDAY}(?: at \d[\d:]*(?: ?[ap]m)?)?|(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? \d{{4}})?"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|the \d{{1,2}}(?:st|nd|rd|th)))"
)
_NAME = rf"(?P<value>(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?[{CAPITALS}][\w-]+(?: [{CAPITALS}][\w-]+){{0,2}})"
_WORDS = rf"(?P<value>(?:the )?[\w.+#-]*[\w+#](?: [{CAPITALS}][\w-]*)?)"
_IS = r"(?:is|are|['’]s|has (?:been )?(?:moved|changed|pushed|raised|lowered|cut) to|is set to|(?:went|is) (?:up|down) to)"


@frozen
class TypedValue:
    """A thing, what is said of it, and the value."""

    thing: str
    predicate: str
    value: str
    end: int  # the place in the sentence where the value ends


_SHAPES: tuple[tuple[str, str], ...] = (
    ("is", rf"^{_THING} {_IS} {_HOW}{_AMOUNT}{_END}"),
    (
        "",
        rf"^{_THING} (?P<verb>costs|lasts|takes|weighs|holds|seats|pays|expires in|expires after|measures) {_HOW}{_AMOUNT}{_END}",
    ),
    ("has", rf"^{_THING} (?:has|have|['’]s got) {_HOW}(?P<value>\d[\d.,]*(?: ?[GMTK]B)?) (?:of )?(?P<what>[a-zA-Z]+){_END}"),
    (
        "",
        rf"^{_THING} (?P<verb>opens|closes|starts|begins|ends|leaves|departs|arrives|lands|runs)"
        rf" (?:at|from) {_HOW}{_CLOCK}{_END}",
    ),
    ("scheduled", rf"^{_THING} {_IS} {_HOW}(?:scheduled )?(?:at|for) {_CLOCK}{_END}"),
    ("scheduled", rf"^{_THING} (?:is|are|['’]s|falls) {_HOW}(?:due |scheduled |set )?(?:on |for |by )?{_DAY}{_END}"),
    ("is in", rf"^{_THING} (?:is|are|['’]s|sits|stands) {_HOW}(?:located |based |situated |hosted )?in {_WORDS}{_END}"),
    ("written in", rf"^{_THING} (?:is|are|['’]s) {_HOW}(?:written|implemented|coded|built) (?:in|with|on) {_WORDS}{_END}"),
    ("runs on", rf"^{_THING} (?:runs|is running|is hosted|is deployed|are hosted) {_HOW}(?:on|at) (?!port ){_WORDS}{_END}"),
    ("name", rf"^{_THING} (?:is|['’]s) (?:now |currently )?{_NAME}{_END}"),
)


def typed_values(sentence: str) -> Iterator[TypedValue]:
    """Yield the slot of a sentence, if it has the shape of one and the value is of a type that fits."""
    for kind, pattern in _compiled():
        match = pattern.match(sentence)
        if match is None:
            continue
        groups = match.groupdict()
        thing, value = match["thing"], match["value"]
        predicate = kind or groups["verb"]
        if kind == "has":
            predicate = f"has {groups['what'].lower()}"
        if _fits(kind, thing, value):
            yield TypedValue(thing, predicate, value, match.end("value"))
            return


def _fits(kind: str, thing: str, value: str) -> bool:
    low = value.lower()
    if kind == "is in":
        return bool(place_level(low))
    if kind == "written in":
        return bool(platform(low))
    if kind == "runs on":
        return bool(platform(low)) or value[:1].isupper() or "." in value
    if kind == "name":
        return is_role(thing.split(" ")[-1].lower()) and is_name(value) and not calendar(low)
    return True


@cache
def _compiled() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the shapes, compiled when the first statement is read."""
    return tuple((kind, re.compile(pattern)) for kind, pattern in _SHAPES)
