"""Summaries (K1, §4.2): several facts of one subject as one sentence: "The user likes jazz, hiking and Thai food." Pure.

Covers only facts that form a whole sentence without a language model: one predicate with several objects, each object in the
words of the memory that states it. All other facts are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from engram.index.terms import STOP_WORDS
from engram.rules.inference import as_written, within_sentence
from engram.values.frozen import frozen

FEWEST, _MOST = 3, 6
_WORDS = 3
_WORD = re.compile(r"[^\W_][\w.+#/&-]*$")
_LIMITED = re.compile(r"\b(?:only|merely|nobody|no one|nothing|none|except|unless|if)\b", re.IGNORECASE)
"""Words that limit a statement ("only jazz", "jazz if it is live"); a list without them would be wrong."""
_FEELS = "feels about "
_FEELINGS = {"like": "likes", "dislike": "dislikes"}
_VERBS = {
    "uses": "uses",
    "depends on": "depends on",
    "requires": "requires",
    "needs": "needs",
    "contains": "contains",
    "member of": "is a member of",
    "speaks": "speaks",
    "owns": "owns",
    "plays": "plays",
}


@frozen
class SourcedFact:
    """A fact and the id of the memory that states it."""

    subject: str
    predicate: str
    object: str
    confidence: float
    memory: str


@frozen
class FactSummary:
    """Several facts in one sentence: its key (subject and verb), text, confidence, and the ids of its source memories."""

    about: str
    text: str
    confidence: float
    memories: tuple[str, ...]


def summarize(facts: Iterable[SourcedFact], words: Mapping[str, str]) -> list[FactSummary]:
    """Return a summary for each subject and verb with at least three facts from two memories.

    words: the text of each memory by id.
    """
    groups: dict[tuple[str, str], dict[str, SourcedFact]] = {}
    for fact in facts:
        verb, thing = _verb_and_object(fact)
        if verb and fact.memory in words and not _LIMITED.search(words[fact.memory]):
            best = groups.setdefault((fact.subject, verb), {})
            if thing not in best or best[thing].confidence < fact.confidence:
                best[thing] = fact
    summaries = (_summary(subject, verb, best, words) for (subject, verb), best in sorted(groups.items()))
    return [summary for summary in summaries if summary is not None]


def _verb_and_object(fact: SourcedFact) -> tuple[str, str]:
    """Return the verb and the object of a fact; the verb is empty for a predicate that is not summarized."""
    if fact.predicate.startswith(_FEELS):
        return _FEELINGS.get(fact.object, ""), fact.predicate.removeprefix(_FEELS)
    return _VERBS.get(fact.predicate, ""), fact.object


def _summary(subject: str, verb: str, best: Mapping[str, SourcedFact], words: Mapping[str, str]) -> FactSummary | None:
    names = {thing: within_sentence(as_written(thing, words[fact.memory])) for thing, fact in best.items()}
    plain = [thing for thing, name in names.items() if thing in words[best[thing].memory].casefold() and _is_plain(name)]
    surest = sorted(plain, key=lambda thing: (-best[thing].confidence, best[thing].memory))[:_MOST]
    chosen = sorted(surest, key=lambda thing: (best[thing].memory, thing))
    memories = tuple(dict.fromkeys(best[thing].memory for thing in chosen))
    if len(chosen) < FEWEST or len(memories) < 2:
        return None
    who = as_written(subject, words[memories[0]])
    text = f"{who} {verb} {_listed([names[thing] for thing in chosen])}."
    confidence = min(best[thing].confidence for thing in chosen)
    return FactSummary(f"{subject} {verb}", f"{text[0].upper()}{text[1:]}", confidence, memories)


def _is_plain(name: str) -> bool:
    """True for a name or a short noun phrase that stands by itself.

    Half of what people say they like is a clause or refers to the conversation ("how it is", "that", "the energy"); on
    development dialogues lists of those were unreadable.
    """
    words = name.split()
    return len(words) <= _WORDS and all(_WORD.match(word) and word.casefold() not in STOP_WORDS for word in words)


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
