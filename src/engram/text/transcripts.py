"""A plain text that is a conversation: lines that begin with a name and a colon are what that one said.

"Bob: I am allergic to shellfish." is about Bob, not about who handed the text over. The name may be bold ("**Bob:** …"), and a
time may stand before or behind it ("[10:02] Bob: …", "Bob (10:02): …"). A form ("Name: …", "Age: …"), a mail, a timetable or a
glossary looks much the same: labels that are no names are known, and names that come once each count only if someone speaks of
himself.

A message as most programs hold it, `role` and `content`, as a turn. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from datetime import datetime

from engram.text.terms import word_set
from engram.types import Turn
from engram.values.frozen import frozen


@frozen
class Speech:
    """Who, nobody ("") for what stands before the first name; what was said; and when, if the day is told, too."""

    who: str
    said: str
    at: datetime | None = None


_DAY = r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}"
_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?(?: ?[AaPp][Mm])?"
_TIME = rf"(?:(?:{_DAY})(?:,? |T))?{_CLOCK}"
_NAME = r"[^\W\d_a-z][^\W\d_]+(?:['’-][^\W\d_]+)?(?: [^\W\d_a-z][^\W\d_.]*\.?){0,2}|user|assistant|human|bot|me|you"
_WHO = re.compile(
    rf"[^\S\n]{{0,8}}(?:(?P<open>[\[(])?(?P<before>{_TIME})(?(open)[\])]) {{1,2}}(?:[-–—] )?)?"
    rf"(?P<bold>\*\*?|__)?(?P<name>{_NAME})(?: said)?(?P<inside>:)?(?(bold)(?P=bold))"
    rf"(?: ?[\[(](?P<behind>{_TIME})[\])])?(?(inside)|:)(?:[^\S\n]+(?=\S)|[^\S\n]*$)"
)
_DATED = re.compile(r"\d{4}-\d\d-\d\d")
_ROLES = dict.fromkeys(("user", "human", "me", "you"), "user")
_ROLES |= dict.fromkeys(("assistant", "bot", "ai", "chatgpt", "claude", "gemini", "copilot"), "assistant")
_PREFACE = 3  # lines that may stand before a talk of a user and a machine
_ONE = re.compile(
    r"\b(?:I|I['’](?:m|ve|ll|d)|[Mm]y|[Mm]e|[Mm]ine|[Ii]ch|[Mm]eine?|[Jj]e|[Yy]o|[Ee]u|[Яя]|[Мм]о[йя]|أنا)\b|[我私]"
)
_MANY = re.compile(r"\b(?:[Ww]e|[Oo]ur|[Ww]ir)\b")
_LABELS = word_set(
    """
    name names age city country address phone email mail date day time when where who what why how note notes nb warning caution
    todo fixme subject from to cc bcc re fw fwd fyi ps p.s title author authors source sources summary abstract example examples
    question questions answer answers ingredients method steps step tip tips hint result results error errors info debug input
    output usage key keys value total price cost status type kind version goal goals plan problem solution reason also update
    edit reminder remember fact facts birthday job work home hobby hobbies likes dislikes language languages favorite favourite
    location place event agenda attendees present absent action actions decision decisions topic topics conclusion introduction
    background purpose pros cons first second third finally important please yes no ok http https chapter section part figure
    table breakfast lunch dinner monday tuesday wednesday thursday friday saturday sunday description requirements task tasks
    """
)


def speaker_of(line: str) -> str | None:
    """Whose words a line holds, if it begins with a name and a colon."""
    found = _named(line)
    return found.group("name") if found else None


def speeches(text: str) -> list[Speech] | None:
    """What each one said, in order; None if the text is no conversation."""
    found: list[tuple[re.Match[str] | None, list[str]]] = []
    lines = 0
    for line in text.splitlines():
        lines += bool(line.strip())
        who = _named(line)
        if who is not None:
            found.append((who, [line[who.end() :]]))
        elif found:
            found[-1][1].append(line)
        elif line.strip():
            found.append((None, [line]))
    said = [(who, "\n".join(words).strip()) for who, words in found]
    named = [(who, words) for who, words in said if who is not None]
    roles = {_ROLES.get(who.group("name").lower()) for who, _ in named}
    preface = said[0][1].count("\n") if said and said[0][0] is None else 0
    people = roles != {"user", "assistant"} or preface > _PREFACE  # else they may be an example in a longer text
    if people and not _is_talk(named, lines):
        return None
    return [Speech("" if who is None else _called(who.group("name"), people), words, _moment(who)) for who, words in said]


def _is_talk(named: list[tuple[re.Match[str], str]], lines: int) -> bool:
    """Are these, in a text of so many lines, people who talk? A user and a machine are, however long each of them goes on.

    A bold name may be a heading, and one behind a bare time a point of a timetable: they need more to be taken for a speaker's.
    """
    if len(named) < 2 or 2 * len(named) < lines:
        return False
    again = max(Counter(who.group("name") for who, _ in named).values()) > 1
    if any(who.group("bold") for who, _ in named):
        return len({who.group("name") for who, words in named if _ONE.search(words)}) > (0 if again else 1)
    return again or any(_ONE.search(words) or _MANY.search(words) for who, words in named if not _is_bare(who))


def _is_bare(who: re.Match[str]) -> bool:
    told = who.group("before")
    return bool(told) and not who.group("open") and ":" in told[:3]


def _called(name: str, people: bool) -> str:
    """A speaker's name; "Claude" is one where people talk, and a machine where nobody but a user does."""
    role = _ROLES.get(name.lower(), name)
    return name if people and role == "assistant" else role


def _moment(who: re.Match[str] | None) -> datetime | None:
    """When it was said, if its day is written in the one way that everybody reads alike."""
    told = (who.group("before") or who.group("behind")) if who else None
    if told is None or not _DATED.match(told):
        return None
    try:
        return datetime.fromisoformat(told.replace(", ", " "))
    except ValueError:
        return None  # "10:02 PM", or no such day


def _named(line: str) -> re.Match[str] | None:
    found = _WHO.match(line)
    if found is None or found.group("name").split()[0].lower() in _LABELS:
        return None
    alone = found.end() == len(line)  # a name on a line of its own is a heading, unless it is marked as a speaker's
    return None if alone and not found.group("bold") and found.group("name").lower() not in _ROLES else found


OpenAI = Mapping[str, object]
"""`role`, and `content`, which is text or a list of parts."""

_WORDLESS = ("image", "audio", "video", "file", "document")


def turn_of(message: object) -> Turn | None:
    """What was said in it, which may be nothing, as in a call of a tool; None if it is no message."""
    if not isinstance(message, Mapping):
        return None
    role, content = message.get("role"), message.get("content")
    if isinstance(content, list | tuple):
        content = _joined(content)
    if not isinstance(role, str) or not isinstance(content, str | None):
        return None
    return Turn(content or "", role)


def _joined(parts: list[object] | tuple[object, ...]) -> str:
    return "\n".join(filter(None, map(_words, parts)))


def _words(part: object) -> str:
    """A part as words: its text, that of a tool's result, or what it is that has none."""
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return ""
    if isinstance(part.get("text"), str):
        return str(part["text"])
    inner = part.get("content")  # of a tool's result
    if isinstance(inner, list | tuple):
        return _joined(inner)
    if isinstance(inner, str):
        return inner
    kind = str(part.get("type"))
    return next((f"[{name}]" for name in _WORDLESS if name in kind), "")
