"""Gather evidence for a question that one recall does not answer: sub-questions, their hits, and the gaps (R17, §15.6).

A question and a function that recalls come in; a tree of evidence goes out, from which the caller writes the answer. No language
model is used. A question is split at its conjunctions, by the event that it depends on ("after the launch") and by the people it
names. Words that no hit holds are then looked for with the names that the evidence brought ("Ada's boss is Bob" leads to Bob).
Depth and number of recalls are bounded. Nothing here writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import dropwhile

from engram.index.terms import STOP_WORDS
from engram.text.dates import resolve
from engram.text.terms import terms, word_set
from engram.types import Evidence, Hit, Memory, Reasoning, Recall
from engram.values.frozen import field, mutable, replace

Look = Callable[[str, datetime | None, datetime | None], Recall]

_SHOWN = 5
"""Hits in one node of the tree."""

_JOINTS = re.compile(
    r"\s*[?;]\s+(?=\w)"
    r"|,?\s+(?:and|but|or)\s+(?=(?:also\s+|then\s+)?(?:who|whom|whose|what|when|where|why|which|how|did|does|do|is|are|was|were"
    r"|has|have|had|can|could|will|would|should)\b)",
    re.IGNORECASE,
)
_BORDER = re.compile(r"(.+?),?\s+\b(before|after|since|until)\s+(.+?)\s*\??$", re.IGNORECASE)
_NAME = re.compile(r"[A-Z][\w'’-]*(?:\s+(?:of\s+|de\s+|van\s+|von\s+)?[A-Z][\w'’-]*)*")
_MOST_NAMED = 8  # a question that names more asks about all of them at once
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
    """Return the evidence for a question, at most `depth` levels deep and with at most `calls` recalls."""
    search = _Search(look, calls)
    tree = search.grow(question, "the question", depth, asked=frozenset())
    nodes = list(tree.walk())
    gaps = tuple(dict.fromkeys(node.question for node in nodes if not node.hits and not node.parts))
    unasked = sum(node.outcome is None for node in nodes)
    notes = (*search.notes, *((f"{unasked} questions were not asked: {calls} recalls were allowed.",) if unasked else ()))
    return Reasoning(tree, gaps, search.calls, _height(tree), notes)


def _height(tree: Evidence) -> int:
    return 1 + max(map(_height, tree.parts), default=0)


@mutable
class _Search:
    """The state of one reasoning: recalls made, notes of these recalls, ids of the memories found."""

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
        """Return the evidence for one question and its sub-questions. `asked` are signatures of the questions above it."""
        if self.calls >= self.most:
            return Evidence(question, why, None)
        answer = self._recall(question, since, until)
        node = Evidence(question, why, answer.outcome, answer.hits[:_SHOWN], missing_words(question, answer.hits))
        asked |= {_signature(question)}
        new = {hit.memory.id for hit in node.hits} - self.seen
        self.seen |= new
        if depth <= 1:
            return node
        parts = tuple(self._parts(question, depth - 1, asked))
        if not parts and new:  # without new memories there are no new names to follow
            parts = tuple(self._leads(node, depth - 1, asked))
        return replace(node, parts=parts)

    def _recall(self, question: str, since: datetime | None, until: datetime | None) -> Recall:
        self.calls += 1
        answer = self.look(question, since, until)
        self.notes = tuple(dict.fromkeys((*self.notes, *answer.notes)))
        return answer

    def _parts(self, question: str, depth: int, asked: frozenset[str]) -> Iterator[Evidence]:
        """Yield the evidence for the parts of a question; nothing if it has none."""
        if (pieces := conjuncts(question)) or (pieces := by_name(question)):
            for piece, why in pieces:
                if _signature(piece) not in asked:
                    yield self.grow(piece, why, depth, asked)
        elif (bounded := split_at_event(question)) is not None:
            rest, side, event = bounded
            dated = self.grow(event, f"the event: the question is about the time {side} it", 1, asked)
            yield dated
            moment = _moment(dated.hits[0].memory) if dated.hits else None
            if moment is not None:
                later = side in ("after", "since")
                why = f"{side} {moment.date().isoformat()}"
                yield self.grow(rest, why, depth, asked, moment if later else None, None if later else moment)

    def _leads(self, node: Evidence, depth: int, asked: frozenset[str]) -> Iterator[Evidence]:
        """Yield the evidence for the missing words together with each name that the hits have and the question has not."""
        known = {word for name in names(node.question) for word in terms(name)}
        for hit in node.hits if node.missing else ():
            for name in names(hit.memory.text):
                following = f"{name} {' '.join(node.missing)}"
                if not known & set(terms(name)) and _signature(following) not in asked:
                    asked |= {_signature(following)}
                    yield self.grow(following, f"the evidence names {name}", depth, asked)


# ── splitting a question: pure rules on its words ──────────────────────────────────────────────────────────────────────


def conjuncts(question: str) -> list[tuple[str, str]]:
    """Return the questions joined in this one, each with its reason; the name in the first is added to pronouns in the others."""
    pieces = [piece.strip(" ,?") for piece in _JOINTS.split(_one_line(question))]
    pieces = [piece for piece in pieces if len(set(terms(piece))) > 1]
    if len(pieces) < 2:
        return []
    whom = names(pieces[0])
    return [(_with_name(piece, whom) + "?", "a part of the question") for piece in pieces]


def by_name(question: str) -> list[tuple[str, str]]:
    """Return the question asked about each name in it, if it has several."""
    named = names(question)
    if not 2 <= len(named) <= _MOST_NAMED:
        return []
    return [(_without(question, [other for other in named if other != name]), f"the question for {name}") for name in named]


def split_at_event(question: str) -> tuple[str, str, str] | None:
    """Return the question without its event, "before" or "after" and the like, and the event; None if a date takes its place.

    Recall reads dates itself.
    """
    match = _BORDER.match(_one_line(question))
    if match is None or any(word.isdigit() for word in terms(match[3])) or not set(terms(match[3])) - STOP_WORDS:
        return None
    return match[1] + "?", match[2].lower(), match[3]


def names(text: str) -> list[str]:
    """Return the names in a text by their capital letters; the first word of a sentence is one only if it is no common word."""
    found: list[str] = []
    for match in _NAME.finditer(text):
        capitalized = match.group().split()
        words = list(dropwhile(lambda word: _POSSESSIVE.sub("", word).lower() in _NO_NAMES, capitalized))
        name = _POSSESSIVE.sub("", " ".join(words))
        if name and (not _opens_sentence(text, match) or len(words) < len(capitalized) or _is_name(name)):
            found.append(name)
    return list(dict.fromkeys(found))


def _one_line(question: str) -> str:
    """Return the question with single spaces: on long runs of spaces the patterns would take quadratic time."""
    return " ".join(question.split())


def missing_words(question: str, hits: tuple[Hit, ...]) -> tuple[str, ...]:
    """Return the content words of a question that none of its hits holds, in their order."""
    held = {_stem(word) for hit in hits[:_SHOWN] for word in terms(f"{hit.memory.text} {hit.memory.speaker}")}
    content = [word for word in terms(question) if word not in STOP_WORDS and word not in _ASKING]
    return tuple(word for word in content if _stem(word) not in held)


def _moment(memory: Memory) -> datetime | None:
    """Return the moment that a memory's own words name, else the one it is dated with."""
    dated = memory.happened_at or memory.learned_at
    is_read = memory.happened_until is not None  # only a date that was read from words has an end
    named = resolve(memory.text, dated) if dated is not None and not is_read else None
    return dated if named is None else named[0]


def _with_name(piece: str, whom: list[str]) -> str:
    has_pronoun = whom and not names(piece) and _THEM & set(terms(piece))
    return f"{piece} ({whom[0]})" if has_pronoun else piece


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


def _signature(question: str) -> str:
    """Return the content words of a question, sorted, by which it is recognized in other forms."""
    return " ".join(sorted(set(terms(question)) - STOP_WORDS))


def _stem(word: str) -> str:
    """Return a word without its ending, so that "live", "lives" and "lived" are equal."""
    for ending in ("ing", "ies", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            return word[: -len(ending)]
    return word
