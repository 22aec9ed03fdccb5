"""A plain text that is a conversation: lines that begin with a name and a colon are what that one said.

"Bob: I am allergic to shellfish." is about Bob, not about who handed the text over. A form ("Name: …", "Age: …"), a mail or a
glossary looks much the same: labels that are no names are known, and names that come once each count only if someone
speaks of himself.
"""

from __future__ import annotations

import re
from collections import Counter

from engram.text.wordlist import word_set

Speech = tuple[str, str]
"""Who, and what was said; nobody ("") for what stands before the first name."""

_WHO = re.compile(
    r"[^\S\n]{0,8}(?P<name>[^\W\d_a-z][^\W\d_]+(?:['’-][^\W\d_]+)?(?: [^\W\d_a-z][^\W\d_.]*\.?){0,2}"
    r"|user|assistant|human|bot|me|you):[^\S\n]+(?=\S)"
)
_FIRST = re.compile(r"\b(?:I|I['’](?:m|ve|ll|d)|[Mm]y|[Mm]e|[Mm]ine|[Ww]e|[Oo]ur)\b")
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
    found: list[tuple[str, list[str]]] = []
    lines = counted = 0
    for line in text.splitlines():
        lines += bool(line.strip())
        who = _named(line)
        if who is not None:
            counted += 1
            found.append((who.group("name"), [line[who.end() :]]))
        elif found:
            found[-1][1].append(line)
        elif line.strip():
            found.append(("", [line]))
    if counted < 2 or 2 * counted < lines:
        return None
    times = Counter(name for name, _ in found if name)
    if max(times.values()) < 2 and not any(_FIRST.search(line) for name, said in found if name for line in said):
        return None
    return [(name, "\n".join(said).strip()) for name, said in found]


def _named(line: str) -> re.Match[str] | None:
    found = _WHO.match(line)
    return None if found is None or found.group("name").split()[0].lower() in _LABELS else found
