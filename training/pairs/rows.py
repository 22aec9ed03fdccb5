"""Labelled pairs of statements as training examples: an earlier one, a later one, and what the later does to the earlier."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

LABELS = ("neither", "same", "replaces")
NEITHER, SAME, REPLACES = range(3)
TOKENS = 48
"""Tokens of each statement that are read."""


@dataclass(frozen=True)
class Pair:
    earlier: str
    later: str
    label: int
    kind: str
    language: str
    author: str
    made: bool = False  # not written as a pair, but joined from two groups of one author


def read(path: Path) -> Iterator[list[Pair]]:
    """Yield the pairs of each line: one later statement beside one or several earlier ones. Doubtful pairs are left out."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            row: dict[str, Any] = json.loads(line)
            earlier = row.get("earlier") or [row]
            yield [
                Pair(one["a"], row["b"], LABELS.index(one["label"]), one["kind"], row["language"], path.stem)
                for one in earlier
                if not one.get("doubt")
            ]


def spoken(dice: random.Random, text: str) -> str:
    """Return a text as another hand might type it: without its full stop, in lower case, or with a capital."""
    chance = dice.random()
    if chance < 0.15:
        return text.rstrip(".!")
    if chance < 0.25:
        return text.lower()
    if chance < 0.35:
        return text[:1].upper() + text[1:] + ("" if text[-1:] in ".!?" else ".")
    return text


def varied(pair: Pair, dice: random.Random) -> Pair:
    """Return a training pair with its spelling varied; a pair of the same meaning is read in either order."""
    earlier, later = spoken(dice, pair.earlier), spoken(dice, pair.later)
    if pair.label == SAME and dice.random() < 0.5:
        earlier, later = later, earlier
    return Pair(earlier, later, pair.label, pair.kind, pair.language, pair.author, pair.made)


def joined(groups: Sequence[list[Pair]], dice: random.Random, share: float) -> list[Pair]:
    """Return pairs of statements from two different groups of one author, which have nothing to do with each other."""
    found = []
    for group in groups:
        if group and dice.random() < share:
            other = dice.choice(groups)
            if other and other is not group and other[0].language == group[0].language:
                earlier = dice.choice(other)
                said = earlier.earlier if dice.random() < 0.6 else earlier.later
                first = group[0]
                found.append(Pair(said, first.later, NEITHER, "unrelated", first.language, first.author, made=True))
    return found


def repeated(groups: Sequence[list[Pair]], dice: random.Random, share: float) -> list[Pair]:
    """Return statements beside themselves, in another spelling."""
    return [
        Pair(spoken(dice, pair.earlier), spoken(dice, pair.earlier), SAME, "verbatim", pair.language, pair.author, made=True)
        for group in groups
        for pair in group[:1]
        if dice.random() < share
    ]


def encoded(tokenizer: Tokenizer, earlier: str, later: str) -> tuple[list[int], list[int]]:
    """Return ids and segments of a pair."""
    cls, sep = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    first = tokenizer.encode(earlier, add_special_tokens=False).ids[:TOKENS]
    second = tokenizer.encode(later, add_special_tokens=False).ids[:TOKENS]
    return [cls, *first, sep, *second, sep], [0] * (len(first) + 2) + [1] * (len(second) + 1)
