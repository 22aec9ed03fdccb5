"""Compare two texts word by word: which share of their words is common, and whether one adds anything to the other. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engram.text.terms import marks, word_set, words


def overlap(one: str, other: str) -> float:
    """Return the share of common words, in one spelling."""
    a, b = (set(_spelt(text)) - {"now"} for text in (one, other))
    return len(a & b) / len(a | b) if a | b else 0.0


def adds_nothing(said: str, known: str) -> bool:
    """Return True if `known` has the words of `said` in their order, its names, numbers and signs, and both or neither turned.

    The encoder does not tell "May 5" from "May 6", "allergic" from "not allergic" (cosine .92 to .97), "before dinner" from
    "after dinner" or who chased whom: what differs in a number, a name, a direction, a sign, the order or any word but the
    lightest is news, and a second row is better than a lost truth.
    """
    new, old = ([term for term in _spelt(text) if term not in _LIGHT] for text in (said, known))
    if set(new) & _TURNS != set(old) & _TURNS or marks(said) != marks(known):
        return False
    return _in_order(new, old) and _in_order(_NAMED.findall(said), _NAMED.findall(known))


def _spelt(text: str) -> list[str]:
    """Return the words in one spelling, where they have two."""
    return [_SPELLINGS.get(word, word) for word in words(text)]


def _in_order(some: Sequence[str], of: Sequence[str]) -> bool:
    """Return True if these are among those, in the same order."""
    rest = iter(of)
    return all(word in rest for word in some)


_LIGHT = word_set("a an the this that and also too really very so just truly quite actually totally now")
# By name: a rule for -our would make "for" of "four".
_SPELLINGS = {
    british: british.replace("our", "or")
    for british in word_set(
        "colour colours coloured favour favours favourite favourites flavour flavours honour honours humour labour neighbour"
        " neighbours neighbourhood behaviour behaviours harbour rumour rumours vapour"
    )
} | {"centre": "center", "theatre": "theater", "grey": "gray", "programme": "program", "jewellery": "jewelry", "tyre": "tire"}
_TURNS = word_set(
    """
    not no never none nothing nobody neither nor cannot don doesn didn isn aren wasn weren won can t without
    hardly barely scarcely rarely seldom almost nearly less few only except but if unless until may might could would should
    maybe perhaps probably used stopped quit former ex wants want wanted plans plan hopes hope tried
    """
)
_NAMED = re.compile(r"[-−]?\b\d[\w.,:]*|\b[^\W\d_a-z]\w*")
