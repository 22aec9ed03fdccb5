"""Sentences from templates: `{a|b|}` is one of these, `<name>` one of a list, `‹a›` is `<|a|>`. Braces without a bar stay."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

_CHOICE = re.compile(r"\{([^{}|]*(?:\|[^{}|]*)+)\}")
_LIST = re.compile(r"<([a-z_]+)>")
_SPACES = re.compile(r" {2,}")


def grow(template: str, lists: Mapping[str, Sequence[str]], dice: random.Random) -> str:
    """One sentence of a template."""
    text = template
    for _ in range(12):
        grown = _LIST.sub(lambda found: dice.choice(lists[found.group(1)]) if found.group(1) in lists else found.group(), text)
        grown = _CHOICE.sub(lambda found: dice.choice(found.group(1).split("|")), grown)
        if grown == text:
            break
        text = grown
    text = _SPACES.sub(" ", text).strip().replace(" ,", ",").replace(" .", ".").replace("‹", "<|").replace("›", "|>")
    return text[:1].upper() + text[1:] if dice.random() < 0.75 else text


def roughened(text: str, dice: random.Random) -> str:
    """As people type who do not want to be caught, or are in a hurry: capitals, dropped or doubled letters, no stops."""
    way = dice.random()
    if way < 0.70:
        return text
    if way < 0.78:
        return text.upper()
    if way < 0.86:
        return text.lower().rstrip(".!")
    letters = list(text)
    for _ in range(max(1, len(letters) // 60)):
        at = dice.randrange(len(letters))
        if letters[at].isalpha():
            letters[at] = dice.choice(("", letters[at] * 2, letters[at].swapcase()))
    return "".join(letters)
