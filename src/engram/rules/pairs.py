"""Decide what a later statement does to an earlier one of the same owner: it says the same, replaces it, or neither. Pure.

The pair model scores the three answers, which exclude each other (`models/pair_reader.py`). The thresholds were chosen on the
labelled pairs of authors that the model was not fitted on (`training/pairs/README.md`): where it acts it is wrong on about 2 % of
the pairs that look alike, where it only challenges on about 10 %.

Capture, rest and import call the same decision.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from engram.rules.abridgement import content_words
from engram.rules.contradiction import MARGIN, weight_of
from engram.rules.duplicates import cardinal, means_the_same
from engram.rules.wording import adds_nothing, overlap
from engram.text.english.gazetteer import GIVEN_NAMES
from engram.text.english.hearsay import report
from engram.text.language import language_of
from engram.text.terms import marks, word_set, words
from engram.types import Edge, Memory, Proposition, Replacement, Source, Strength
from engram.values.facts import CONTRADICTS, OUTDATES, SUPERSEDES, Consequences
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from engram.models.pair_reader import PairJudgement


@frozen(kw_only=True)
class PairWeights:
    """Numbers that decide which pairs are read, and from which probability on something follows."""

    neighbours: int = 10  # nearest memories that a statement is compared with
    least_likeness: float = 0.5  # likeness from which two statements may have to do with each other: cosine over background
    most_at_once: int = 3  # pairs of a statement that are read while it is captured
    most_at_rest: int = 10  # pairs of a statement that are read at rest
    promising: float = -0.5  # log odds from which a pair is read
    longest: int = 280  # characters: a longer text is no single statement
    same: float = 0.8
    replaces: float = 0.8
    challenges: float = 0.2
    worded: float = 0.6  # share of common words from which the words decide whether two statements are the same
    alike: float = 0.5  # share of common words from which a replaced statement is challenged rather than superseded


def least_cosine(weights: PairWeights, background: float) -> float:
    """Return the cosine from which two statements are compared, for an encoder with this mean cosine of unrelated texts."""
    return background + (1.0 - background) * weights.least_likeness


class Relation(StrEnum):
    """The effect of a later statement on an earlier one."""

    SAME = "same"
    REPLACES = "replaces"
    CHALLENGES = "challenges"
    NEITHER = "neither"


def relation(judgement: PairJudgement, earlier: str, later: str, weights: PairWeights) -> Relation:
    """Return the effect of the later statement.

    Whatever the model says, statements are not the same if their numbers differ, if the same people or things change places in
    them ("I owe Marek", "Marek owes me"), or if only one of them reports what somebody says. Of statements that differ in a word
    or two the model cannot tell "sold" from "bought": there every word must be equal, light or a close synonym. A second memory
    is a smaller harm than a lost one. Statements about two people, sides or times have nothing to do with each other, however
    alike they are.
    """
    if concern_others(earlier, later):
        return Relation.NEITHER
    if judgement.same >= weights.same and judgement.same > judgement.replaces:
        equal = same_figures(earlier, later) and not change_places(earlier, later) and is_report(earlier) is is_report(later)
        reworded = overlap(earlier, later) < weights.worded
        return Relation.SAME if equal and (reworded or same_words(earlier, later)) else Relation.NEITHER
    if judgement.replaces >= weights.replaces:
        return Relation.REPLACES
    return Relation.CHALLENGES if judgement.replaces >= weights.challenges else Relation.NEITHER


def concern_others(earlier: str, later: str) -> bool:
    """Return True if two statements are about two relatives ("my uncle", "my aunt"), two sides, or the speaker and somebody
    else; or if the later one denies for one time ("I don't teach on Fridays") what the earlier one states for another."""
    first, second = words(earlier), words(later)
    old, new = ({_RELATIVES.get(word, word) for word in some} for some in (first, second))
    for apart in (_KIN, _SIDES):
        if old & apart and new & apart and old.isdisjoint(new & apart):
            return True
    if new & _DENIALS and old & _TIMES and new & _TIMES and old.isdisjoint(new & _TIMES):
        return True
    if bool(old & _SPEAKER) is bool(new & _SPEAKER):
        return False
    own, subject, text = (old, second[:1], later) if old & _SPEAKER else (new, first[:1], earlier)
    return any(name not in own and (name in GIVEN_NAMES or _FULL_NAME.match(text)) for name in subject)


_RELATIVES = {
    "mom": "mother", "mum": "mother", "mama": "mother", "dad": "father", "papa": "father", "grandma": "grandmother",
    "grandpa": "grandfather", "sis": "sister", "bro": "brother", "hubby": "husband",
}  # fmt: skip
_KIN = word_set("mother father sister brother aunt uncle son daughter wife husband grandmother grandfather niece nephew cousin")
_SIDES = word_set("left right")
_TIMES = word_set(
    """
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays
    weekday weekdays weekend weekends morning mornings afternoon afternoons evening evenings night nights summer winter
    """
)
_DENIALS = word_set("not don doesn didn never no stopped quit won isn aren without")
_SPEAKER = word_set("i me my mine we us our")
_FULL_NAME = re.compile(r"[^\W\d_a-z][^\W\d_A-Z]+ [^\W\d_a-z][^\W\d_A-Z]+\b")


def is_echo(judgement: PairJudgement, known: str, said: str, weights: PairWeights) -> bool:
    """Return True if an assistant's words say what is known already (C15). A word more or less, or "you" for "I", is no news."""
    return judgement.same >= weights.same and judgement.same > judgement.replaces and same_figures(known, said)


def promise(earlier: Memory | Proposition, later: Memory | Proposition, *, of_slot: bool = False) -> float:
    """Return the log odds that two statements have to do with each other, before the model reads them: two that are near by
    meaning, or that share a slot.

    A logistic regression on the pairs of `training/pairs/stories` by four authors. Among the nearest, nearness by meaning adds
    nothing to it: of a fifth author's links it finds .37 as the best pair of a statement and .69 among the best three, where the
    nearest by meaning are .29 and .46.
    """
    first, second = content_words(earlier.words), content_words(later.words)
    shared = len(set(first) & set(second)) / max(1, min(len(set(first)), len(set(second))))
    figures = {word for word in words(earlier.words) if word[:1].isdigit()}
    return (
        -1.0
        + 6.6 * overlap(earlier.words, later.words)
        + 2.7 * shared
        + 0.6 * bool(figures)
        + 0.8 * (not figures.isdisjoint(words(later.words)))
        + _EARLIER.get(earlier.category, 0.0)
        + 1.7 * (later.category == _CORRECTION)
        + 3.0 * of_slot
    )


_EARLIER = {"moment": -0.5, "commitment": 0.5, "decision": 0.5}
"""Log odds by the category of the earlier statement: an event is seldom replaced, a plan often."""


def is_report(text: str) -> bool:
    """Return True if a statement gives somebody else's words or a guess. Only English is read."""
    return language_of(text) in ("en", "") and report(text).strength is not None


def is_weaker(later: Memory, earlier: Memory) -> bool:
    """Return True for what is only heard, supposed, inferred or an assistant's, if the earlier statement is much stronger."""
    heard = report(later.words).strength if is_report(later.words) else None
    if heard is None and later.source not in (Source.ASSISTANT, Source.INFERRED):
        return False
    known = report(earlier.words).strength if is_report(earlier.words) else None
    return _weight(later, heard) < _weight(earlier, known) - MARGIN


def _weight(memory: Memory, strength: Strength | None) -> float:
    return weight_of(strength, memory.source, memory.confidence, memory.corroborations)


def may_be_outdated(earlier: Memory | Proposition, later: Memory | Proposition) -> bool:
    """Return False for an event: it has happened, whatever happens later. Only a correction takes it back."""
    return earlier.category not in _EVENTS or later.category == _CORRECTION


_EVENTS = ("moment", "event")  # as capture names it, and as callers do
_CORRECTION = "correction"


def same_figures(one: str, other: str) -> bool:
    """Return True if neither text has a number or sign that the other lacks."""
    first, second = ({cardinal(word) for word in words(text) if word[:1].isdigit()} for text in (one, other))
    return (first == second or not first or not second) and marks(one) == marks(other)


def change_places(one: str, other: str) -> bool:
    """Return True if two or more people or things that both texts name stand in another order."""
    first, second = _participants(one), _participants(other)
    shared = [name for name in first if name in second]
    return len(shared) > 1 and shared != [name for name in second if name in first]


def _participants(text: str) -> list[str]:
    """Return the names in a text and the pronouns of people, each once, in order."""
    found: dict[str, None] = {}
    for match in _WORD.finditer(text):
        word, low = match.group(), match.group().lower()
        if low in _PRONOUNS:
            found[_PRONOUNS[low]] = None
        elif word[0].isupper() and low not in _CALENDAR:
            found[low] = None
    return list(found)


_WORD = re.compile(r"[^\W\d_]+(?!['’]s\b)\b")
_PRONOUNS = {
    "i": "i", "me": "i", "we": "we", "us": "we", "he": "he", "him": "he", "she": "she", "they": "they", "them": "they",
}  # fmt: skip
_CALENDAR = word_set(
    """
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays
    january february march april may june july august september october november december on in at the a an and but so my our
    every each when since from for until after before no not yes still
    """
)


def same_words(one: str, other: str) -> bool:
    """Return True if each word of one text is in the other, light, or a close synonym."""
    return means_the_same(one, other) or (adds_nothing(one, other) and adds_nothing(other, one))


def shown(statement: Memory | Proposition) -> str:
    """Return a statement as the pair model reads it: the words with what they carry, behind the name of another than the user."""
    carried = f" [{statement.carries}]" if statement.carries else ""
    name = " ".join(statement.speaker.split())
    return f"{statement.words}{carried}" if name.lower() in _USER else f"{name}: {statement.words}{carried}"


_USER = frozenset({"", "user", "human", "me"})


def reason(replaces: float, *, sure: bool) -> str:
    """Return the reason in the history of a memory that was replaced, or perhaps was."""
    return f"a later statement {'replaces' if sure else 'may replace'} it ({replaces:.2f})"


def replaced(memory: Memory, earlier: Sequence[tuple[Memory, Replacement]], weights: PairWeights) -> Consequences:
    """Return what follows for the memories that a new one replaces.

    A much weaker statement replaces nothing: the two contradict each other, and the stronger one stands as it was.
    Surely replaced ones are superseded. A pinned one is only challenged, and so is one that differs from the new one in a word or
    two, or shares no telling word with it: such statements may be about two things. Of a sure challenge the edge is
    `outdates`, of an unsure one `contradicts`.
    """
    edges, superseded, challenged = [], [], []
    for old, one in earlier:
        if is_weaker(memory, old):
            edges.append(Edge(memory.id, old.id, CONTRADICTS))
            continue
        shares = not set(content_words(old.words)).isdisjoint(content_words(memory.words))
        doubtful = not one.corrects and (not shares or overlap(old.words, memory.words) >= weights.alike)
        spared = old.pinned or doubtful
        if one.sure and not spared:
            superseded.append((old.id, one.reason))
        else:
            challenged.append((old.id, one.reason))
        kind = CONTRADICTS if not one.sure or old.pinned else OUTDATES if spared else SUPERSEDES
        edges.append(Edge(memory.id, old.id, kind))
    return Consequences(
        confidence=memory.confidence, edges=tuple(edges), superseded=tuple(superseded), challenged=tuple(challenged)
    )
