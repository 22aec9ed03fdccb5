"""Split a plain text that is a conversation into the turns of its speakers; read a chat message as a turn. Pure.

A line that begins with a name and a colon begins a turn: "Bob: I am allergic to shellfish." is about Bob, not about the person
who handed over the text. The name may be bold ("**Bob:** …"), and a time may stand before or behind it ("[10:02] Bob: …", "Bob
(10:02): …"). A form ("Name: …", "Age: …"), a mail, a timetable or a glossary looks much the same: labels that are no names are
listed, and names that occur once each count only if a speaker says "I".

A chat message, as most programs hold it, has `role` and `content`.
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
    """The words of one speaker; the speaker is "" for text before the first name, and `at` needs a time with its day."""

    speaker: str
    text: str
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
_PREFACE = 3  # lines that may stand before a conversation of a user and an assistant
_SINGULAR = re.compile(
    r"\b(?:I|I['’](?:m|ve|ll|d)|[Mm]y|[Mm]e|[Mm]ine|[Ii]ch|[Mm]eine?|[Jj]e|[Yy]o|[Ee]u|[Яя]|[Мм]о[йя]|أنا)\b|[我私]"
)
_PLURAL = re.compile(r"\b(?:[Ww]e|[Oo]ur|[Ww]ir)\b")
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


def speeches(text: str) -> list[Speech] | None:
    """Return the speeches of a text in order; None if it is no conversation."""
    blocks: list[tuple[re.Match[str] | None, list[str]]] = []
    lines = 0
    for line in text.splitlines():
        lines += bool(line.strip())
        match = _speaker_match(line)
        if match is not None:
            blocks.append((match, [line[match.end() :]]))
        elif blocks:
            blocks[-1][1].append(line)
        elif line.strip():
            blocks.append((None, [line]))
    said = [(match, "\n".join(words).strip()) for match, words in blocks]
    named = [(match, text) for match, text in said if match is not None]
    roles = {_ROLES.get(match.group("name").lower()) for match, _ in named}
    preface = said[0][1].count("\n") if said and said[0][0] is None else 0
    people = roles != {"user", "assistant"} or preface > _PREFACE  # else they may be an example in a longer text
    if people and not _is_conversation(named, lines):
        return None
    return [Speech("" if match is None else _speaker(match.group("name"), people), text, _moment(match)) for match, text in said]


def _is_conversation(named: list[tuple[re.Match[str], str]], lines: int) -> bool:
    """Return True if these named blocks, of a text of so many lines, are people in conversation.

    A bold name may be a heading, and a name after a bare time an entry of a timetable: both need more evidence.
    """
    if len(named) < 2 or 2 * len(named) < lines:
        return False
    again = max(Counter(match.group("name") for match, _ in named).values()) > 1
    if any(match.group("bold") for match, _ in named):
        return len({match.group("name") for match, text in named if _SINGULAR.search(text)}) > (0 if again else 1)
    return again or any(_SINGULAR.search(text) or _PLURAL.search(text) for match, text in named if not _is_bare(match))


def _is_bare(match: re.Match[str]) -> bool:
    """Return True if a time without day and brackets stands before the name, as in a timetable."""
    time = match.group("before")
    return bool(time) and not match.group("open") and ":" in time[:3]


def _speaker(name: str, people: bool) -> str:
    """Return the speaker of a name or role; "Claude" is a person among people, and the assistant beside a user."""
    role = _ROLES.get(name.lower(), name)
    return name if people and role == "assistant" else role


def _moment(match: re.Match[str] | None) -> datetime | None:
    """Return the time beside a name if its day is an ISO date; other orders of day and month are ambiguous."""
    time = (match.group("before") or match.group("behind")) if match else None
    if time is None or not _DATED.match(time):
        return None
    try:
        return datetime.fromisoformat(time.replace(", ", " "))
    except ValueError:
        return None  # "10:02 PM", or no such day


def _speaker_match(line: str) -> re.Match[str] | None:
    match = _WHO.match(line)
    if match is None or match.group("name").split()[0].lower() in _LABELS:
        return None
    alone = match.end() == len(line)  # a name on a line of its own is a heading, unless it is bold or a role
    return None if alone and not match.group("bold") and match.group("name").lower() not in _ROLES else match


OpenAI = Mapping[str, object]
"""A message with `role`, and `content`, which is text or a list of parts."""

_WORDLESS = ("image", "audio", "video", "file", "document")


def turn_of(message: object) -> Turn | None:
    """Return a message as a turn, whose text may be empty, as in a tool call; None if it is no message."""
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
    """Return the text of a part, that of a tool's result, or the sort of a part without text, such as "[image]"."""
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
