"""Rate how much a statement tells: names, titles and deeds rather than remarks, advice and courtesies.

A question about someone's books is answered by "I read Middlemarch last week", not by "books are such a joy", though the
second is nearer in meaning. Measured on the development split: of two candidates that are equally near, the one that names
things, tells of a deed or quotes a title is evidence more often; one that speaks to "you", or states a principle, less.
"""

from __future__ import annotations

import re

from engram.text.english.grammar import IRREGULAR_PAST, is_past

_ASIDE = re.compile(r"\(asked: .*?\)|, asked \"[^\"]*\"|\[[^\]]*\]")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][A-Za-z]+")
_TITLE = re.compile(r'"[^"]{2,80}"|“[^”]{2,80}”')
_YOU = re.compile(r"\byou(?:r|rs|rself|['’](?:re|ve|ll|d))?\b", re.IGNORECASE)
_WORD = re.compile(r"[a-z]{3,}")
_SHORT_PAST = frozenset(word for word in IRREGULAR_PAST if not word.endswith("ed"))
_LONGEST = 2_000
_MOST = 3


def told(text: str, speaker: str = "", category: str = "") -> tuple[float, int]:
    """Return how much a statement tells, about −1 to 2 with 0 for a plain one; and how many things it names, counted to 3.

    The speaker, and whom they speak to, are not told: they stand in every line of a talk.
    """
    body = text[:_LONGEST]
    if "asked" in body or "[" in body:
        body = _ASIDE.sub("", body)
    addressed, known = False, {speaker}
    head, colon, rest = body.partition(": ")
    if colon and len(head) < 80 and speaker and head.startswith(speaker):
        addressed, body = " to " in head, rest
        known.update(head.replace(" to ", " ").split())
    names = len({name for name in _NAME.findall(body) if name not in known and name != "I"})
    titles = len(_TITLE.findall(body)) if '"' in body or "“" in body else 0
    low = body.lower()
    words = _WORD.findall(low)
    past = sum(map(_SHORT_PAST.__contains__, words)) + sum(is_past(word) for word in words if word[-2:] == "ed")
    value = 0.2 * min(names, _MOST) + 0.4 * bool(titles) + 0.1 * min(past, _MOST)
    value -= 0.4 * bool("you" in low and _YOU.search(body)) + 0.2 * addressed + 0.5 * (category == "principle")
    return value, min(names + titles, _MOST)
