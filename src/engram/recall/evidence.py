"""A question that one look does not answer, taken apart: sub-questions, what is known to each, and what is missing (R17, §15.6).

Comes in: a question and a way to recall. Goes out: a tree of evidence, for whoever writes the answer. No language model is
asked and no answer is made up. A question is taken apart at its conjunctions, by the time it hangs on ("after the launch") and
by whom it names; what is then still missing is looked for with the names that the evidence brought ("Ada's boss is Bob" leads
to Bob). Depth and calls are bounded. Nothing here writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import dropwhile

from engram.index.term_plan import STOP_WORDS
from engram.text.english.dates.relative import resolve
from engram.text.terms import terms, word_set
from engram.types import Evidence, Hit, Memory, Reasoning, Recall
from engram.values.frozen import field, mutable, replace

Look = Callable[[str, datetime | None, datetime | None], Recall]

_SHOWN = 5
"""Hits that stand in a node of the tree."""

_JOINTS = re.compile(
    r"\s*[?;]\s+(?=\w)"
    r"|,?\s+(?:and|but|or)\s+(?=(?:also\s+|then\s+)?(?:who|whom|whose|what|when|where|why|which|how|did|does|do|is|are|was|were"
    r"|has|have|had|can|could|will|would|should)\b)",
    re.IGNORECASE,
)
_BORDER = re.compile(r"(.+?),?\s+\b(before|after|since|until)\s+(.+?)\s*\??$", re.IGNORECASE)
_NAME = re.compile(r"[A-Z][\w'’-]*(?:\s+(?:of\s+|de\s+|van\s+|von\s+)?[A-Z][\w'’-]*)*")
_MOST_NAMED = 8  # a question that names more asks of all of them at once
_POSSESSIVE = re.compile(r"['’]s$")
_NO_NAMES = word_set(
    """
    i who whom whose what when where why which how did does do is are was were has have had can could will would should may
    might must the a an my our your his her their its this that these those he she it we you they and but or if in on at for
    from with about since until before after monday tuesday wednesday thursday friday saturday sunday january february march
    april june july august september october november december yes no
    """
)
_THEM = word_set("he she it they him her them his hers its their theirs")
_ASKING = word_set("who whom whose what when where why which how long many much often know known tell does did has have")


def reason(question: str, look: Look, *, depth: int, calls: int) -> Reasoning:
    """Evidence for a question, at most so deep and with at most so many recalls."""
    search = _Search(look, calls)
    tree = search.grow(question, "what was asked", depth, asked=frozenset())
    nodes = list(tree.walk())
    gaps = tuple(dict.fromkeys(one.question for one in nodes if not one.hits and not one.parts))
    unasked = sum(one.outcome is None for one in nodes)
    notes = (*search.notes, *((f"{unasked} questions were not asked: {calls} recalls were allowed.",) if unasked else ()))
    return Reasoning(tree, gaps, search.calls, _height(tree), notes)


def _height(tree: Evidence) -> int:
    return 1 + max(map(_height, tree.parts), default=0)


@mutable
class _Search:
    """One reasoning while it goes: how often it looked, what recall said of itself, which memories it saw."""

    look: Look
    most: int
    calls: int = 0
    notes: tuple[str, ...] = ()
    seen: set[str] = field(default_factory=set)

    def grow(
        self,
        question: str,
        why: str,
        depth: int,
        asked: frozenset[str],
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Evidence:
        if self.calls >= self.most:
            return Evidence(question, why, None)
        found = self._recalled(question, since, until)
        missing = unsaid(question, found.hits)
        here = Evidence(question, why, found.outcome, found.hits[:_SHOWN], missing)
        asked |= {_known_by(question)}
        news = {hit.memory.id for hit in here.hits} - self.seen
        self.seen |= news
        if depth <= 1:
            return here
        parts = tuple(self._parts(question, depth - 1, asked))
        if not parts and news:  # what brought nothing new leads nowhere new
            parts = tuple(self._leads(here, depth - 1, asked))
        return replace(here, parts=parts)

    def _recalled(self, question: str, since: datetime | None, until: datetime | None) -> Recall:
        self.calls += 1
        found = self.look(question, since, until)
        self.notes = tuple(dict.fromkeys((*self.notes, *found.notes)))
        return found

    def _parts(self, question: str, depth: int, asked: frozenset[str]) -> Iterator[Evidence]:
        """What the question itself falls into; nothing if it is one."""
        if (pieces := conjuncts(question)) or (pieces := by_name(question)):
            for piece, why in pieces:
                if _known_by(piece) not in asked:
                    yield self.grow(piece, why, depth, asked)
        elif (hung := border(question)) is not None:
            what, side, event = hung
            found = self.grow(event, f"when was it: what is asked for is {side} it", 1, asked)
            yield found
            moment = _moment(found.hits[0].memory) if found.hits else None
            if moment is not None:
                later = side in ("after", "since")
                why = f"{side} {moment.date().isoformat()}"
                yield self.grow(what, why, depth, asked, moment if later else None, None if later else moment)

    def _leads(self, here: Evidence, depth: int, asked: frozenset[str]) -> Iterator[Evidence]:
        """What is missing, asked of those whom the evidence names and the question did not."""
        known = {word for name in names(here.question) for word in terms(name)}
        for hit in here.hits if here.missing else ():
            for name in names(hit.memory.text):
                following = f"{name} {' '.join(here.missing)}"
                if not known & set(terms(name)) and _known_by(following) not in asked:
                    asked |= {_known_by(following)}
                    yield self.grow(following, f"{name} stands in the evidence", depth, asked)


# ── taking a question apart: pure rules on its words ───────────────────────────────────────────────────────────────────


def conjuncts(question: str) -> list[tuple[str, str]]:
    """The questions that are joined in this one; each is told whom it is about, if only the first says so."""
    pieces = [piece.strip(" ,?") for piece in _JOINTS.split(_one_line(question))]
    pieces = [piece for piece in pieces if len(set(terms(piece))) > 1]
    if len(pieces) < 2:
        return []
    whom = names(pieces[0])
    return [(_about(piece, whom) + "?", "a part of what was asked") for piece in pieces]


def by_name(question: str) -> list[tuple[str, str]]:
    """The question asked of each one that it names, if it names several."""
    named = names(question)
    if not 2 <= len(named) <= _MOST_NAMED:
        return []
    return [(_without(question, [other for other in named if other != name]), f"what it asks of {name}") for name in named]


def border(question: str) -> tuple[str, str, str] | None:
    """What is asked, on which side, and the event that it hangs on; None if the border is a date, which recall reads itself."""
    match = _BORDER.match(_one_line(question))
    if match is None or any(word.isdigit() for word in terms(match[3])) or not set(terms(match[3])) - STOP_WORDS:
        return None
    return match[1] + "?", match[2].lower(), match[3]


def names(text: str) -> list[str]:
    """Names in a text, as far as capital letters tell: the first word of a sentence is one only if it is no common word."""
    found = []
    for match in _NAME.finditer(text):
        said = match.group().split()
        words = list(dropwhile(lambda word: _POSSESSIVE.sub("", word).lower() in _NO_NAMES, said))
        name = _POSSESSIVE.sub("", " ".join(words))
        if name and (not _opens_sentence(text, match) or len(words) < len(said) or _is_name(name)):
            found.append(name)
    return list(dict.fromkeys(found))


def _one_line(question: str) -> str:
    """With single spaces: patterns that allow for any number of them would try each run from each of its places."""
    return " ".join(question.split())


def unsaid(question: str, hits: tuple[Hit, ...]) -> tuple[str, ...]:
    """Telling words of a question that stand in none of its hits, in their order."""
    said = {_stem(word) for hit in hits[:_SHOWN] for word in terms(f"{hit.memory.text} {hit.memory.speaker}")}
    telling = [word for word in terms(question) if word not in STOP_WORDS and word not in _ASKING]
    return tuple(word for word in telling if _stem(word) not in said)


def _moment(memory: Memory) -> datetime | None:
    """When it happened: as its own words say, else as it was told."""
    told = memory.happened_at or memory.learned_at
    meant = resolve(memory.text, told) if told is not None else None
    return told if meant is None else meant[0]


def _about(piece: str, whom: list[str]) -> str:
    leans = whom and not names(piece) and _THEM & set(terms(piece))
    return f"{piece} ({whom[0]})" if leans else piece


def _without(question: str, others: list[str]) -> str:
    for other in others:
        name = rf"\b{re.escape(other)}\b(?:['’]s)?"
        question = re.sub(rf"(?:,|\band\b|\bor\b|\bwith\b)\s*{name}|{name}\s*(?:,|\band\b|\bor\b)?", " ", question)
    return re.sub(r"\s+([?.,])", r"\1", " ".join(question.split()))


def _is_name(word: str) -> bool:
    return word.lower() not in STOP_WORDS


def _opens_sentence(text: str, match: re.Match[str]) -> bool:
    before = text[: match.start()].rstrip()
    return not before or before[-1] in ".!?:"


def _known_by(question: str) -> str:
    return " ".join(sorted(set(terms(question)) - STOP_WORDS))


def _stem(word: str) -> str:
    """Enough to see that "live", "lives" and "lived" are one word."""
    for ending in ("ing", "ies", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            return word[: -len(ending)]
    return word
