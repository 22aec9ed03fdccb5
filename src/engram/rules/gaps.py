"""Knowledge gaps (§4.5): the question of a message that is worth keeping, and fields that an entity lacks and its peers have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set

from engram.rules.abridgement import content_words, split_sentences
from engram.text.terms import terms, word_set

_ASKING = word_set(
    """
    who whom whose what which where when why how is are am was were do does did can could will would should shall has have had may
    """
)
_ASKS_FOR_WORK = re.compile(
    r"(?:(?:please|so|and|but|ok|okay|hey|hi|now)[, ]+)*(?:(?:can|could|will|would) you (?:please |maybe |also |just )*|please )"
    r"(?!(?:tell|remind|recall|remember|say|name|confirm|know|find out|look up|let me know)\b)",
    re.IGNORECASE,
)
"""A request to do something rather than a question: no memory would answer it."""
_MARKS = "?？؟\u037e"
_LEAST_WORDS = 2
_LONGEST = 240


def question_in(text: str) -> str:
    """Return the last question of a message that is understandable by itself; empty if there is none."""
    for sentence in reversed(split_sentences(text)):
        words = terms(sentence)
        asks = sentence.rstrip("\"'”’)]! ").endswith(tuple(_MARKS)) or (bool(words) and words[0] in _ASKING)
        content = [word for word in content_words(sentence) if word not in _ASKING]
        if asks and not _ASKS_FOR_WORK.match(sentence.strip()) and len(content) >= _LEAST_WORDS and len(sentence) <= _LONGEST:
            return sentence
    return ""


_STEM = 5  # leading letters by which words count as forms of one
_BEARING = 0.5  # share of a question's content words that a message holds if the question bears on it


def bears_on(question: str, message: str) -> bool:
    """Return True if a message holds at least half of the content words of a question."""
    asked, said = ({word[:_STEM] for word in content_words(text) if word not in _ASKING} for text in (question, message))
    return bool(asked) and len(asked & said) >= _BEARING * len(asked)


_PEERS, _USUAL = 3, 0.75
_VERBS = {
    "lives in": "Where does {} live?",
    "works at": "Where does {} work?",
    "runs on": "What does {} run on?",
    "owner": "Who owns {}?",
    "manager": "Who is the manager of {}?",
    "lead": "Who leads {}?",
}
_NOUN = re.compile(r"[a-z]+(?: [a-z]+){0,2}$")
_NO_NOUN = re.compile(r"\b(?:feels about|number of|in|on|at|of|to|by|with|from|is|has|uses|a|the)\b")


def missing_fields(own: Set[str], peers: Sequence[Set[str]]) -> list[str]:
    """Return the fields that most peers have and this entity lacks, the most frequent first.

    own: the entity's fields. peers: the fields of each comparable entity.
    """
    if len(peers) < _PEERS:
        return []
    counts = Counter(field for fields in peers for field in fields - own)
    return [
        field for field, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if count >= _USUAL * len(peers)
    ]


def question_for(field: str, name: str, *, ask: Mapping[str, str] = _VERBS) -> str:
    """Return the question that asks for a missing field; empty if the field has no wording."""
    if field in ask:
        return ask[field].format(name)
    if not _NOUN.match(field) or _NO_NOUN.search(field):
        return ""
    return f"What is the user's {field}?" if name == "the user" else f"What is the {field} of {name}?"
