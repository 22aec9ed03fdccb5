"""What was said before, in as many tokens as there are: all of it word for word if that fits; else the last turns so, those
before as one line each, the rest as what must not be lost (§8.3).

Extractive: every sentence stands as it was said, whole. What was decided, which files and what errors came up is kept longest;
long code and tool output is left out first, for it can be looked up again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from engram.errors import InvalidQuery
from engram.text import sentences
from engram.types import Turn

OpenAI = Mapping[str, object]
"""A message as most programs hold it: `role` and `content`, which is text or a list of parts."""

Count = Callable[[str], int]
VERBATIM, COMPRESSED, SUMMARY = "verbatim", "compressed", "summary"

_VERBATIM_TURNS = 6
_COMPRESSED_TURNS = 20
_SUMMARY_SHARE = 0.1  # of the tokens that the summarized turns had
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_CODE_LINES = 5
_LONGEST = 60  # tokens of a sentence that still stands for a turn
_TELLING: tuple[tuple[re.Pattern[str], float], ...] = (
    (
        re.compile(
            r"\b(?:decid|chose|agreed|settled|let's (?:use|go)|we(?:'ll| will) (?:use|go)|switch|instead|never|always|must)",
            re.IGNORECASE,
        ),
        3.0,
    ),
    (re.compile(r"\b(?:error|exception|fail|traceback|crash|broken|bug|cannot|refused|timeout)", re.IGNORECASE), 2.5),
    (
        re.compile(r"[\w./-]+\.(?:py|js|ts|tsx|md|json|toml|ya?ml|sql|go|rs|sh|txt|csv|html|css)\b|(?<!\w)[~/][\w.-]+/[\w./-]+"),
        2.0,
    ),
    (
        re.compile(
            r"\b(?:todo|next|deadline|by (?:mon|tues|wednes|thurs|fri)day|tomorrow|remember|open question)\b", re.IGNORECASE
        ),
        1.5,
    ),
    (re.compile(r"\d"), 0.7),
    (re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+"), 0.5),
)


def turns_of(history: Iterable[Turn | OpenAI]) -> list[Turn]:
    """What was said before as turns. A message without words, such as a call of a tool, says nothing."""
    if isinstance(history, str | bytes | Mapping) or not isinstance(history, Iterable):
        raise _no_history()
    turns = [one if isinstance(one, Turn) else _turn_of(one) for one in history]
    if any(not isinstance(words, str) for turn in turns for words in (turn.text, turn.speaker)):  # callers are others' programs
        raise _no_history()
    return [turn for turn in turns if turn.text]


def _turn_of(message: object) -> Turn:
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise _no_history()
    content = message.get("content")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        content = "\n".join(text for text in texts if isinstance(text, str))
    if content is not None and not isinstance(content, str):
        raise _no_history()
    return Turn(content or "", message["role"])


def _no_history() -> InvalidQuery:
    return InvalidQuery(
        "the history is not a list of turns.", way_out="Pass `engram.Turn`s, or messages of `role` and `content`."
    )


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of the history as it stands in the prompt; `turns` of those given it stands for, `first` of them."""

    text: str
    speaker: str
    form: str
    first: int
    turns: int
    tokens: int


def compress(turns: Sequence[Turn], budget: int, count: Count) -> list[Said]:
    """The history in the order it was said, in no more than `budget` tokens."""
    if fits(turns, budget, count):
        return [_whole(turns, at, count) for at in range(len(turns))]
    kept: list[Said] = []
    left = budget
    at = len(turns)
    while at > 0 and len(turns) - at < _VERBATIM_TURNS:
        one = _whole(turns, at - 1, count)
        if one.tokens > left:
            break
        kept.append(one)
        left -= one.tokens
        at -= 1
    lines_end = max(at - _COMPRESSED_TURNS, 0)
    room = _summary_room(turns[:lines_end], left, count)
    while at > lines_end:
        line = _line(turns, at - 1, count)
        if line is not None and line.tokens <= left - room:
            kept.append(line)
            left -= line.tokens
        at -= 1
    told = _summary(turns[:lines_end], min(room, left), count)
    return [*([told] if told is not None else []), *reversed(kept)]


def fits(turns: Sequence[Turn], budget: int, count: Count) -> bool:
    """Is there room for all of it, word for word?"""
    left = budget
    for turn in turns:
        left -= count(_shown(turn.speaker, turn.text))
        if left < 0:
            return False
    return True


def _whole(turns: Sequence[Turn], at: int, count: Count) -> Said:
    text = turns[at].text
    return Said(text, turns[at].speaker, VERBATIM, at, 1, count(_shown(turns[at].speaker, text)))


def _line(turns: Sequence[Turn], at: int, count: Count) -> Said | None:
    """The sentence that tells most of a turn; None if it has none that is worth a line."""
    ranked = sorted(_sentences(turns[at].text), key=lambda sentence: -_worth(sentence))
    for sentence in ranked:
        tokens = count(_shown(turns[at].speaker, sentence))
        if tokens <= _LONGEST:
            return Said(sentence, turns[at].speaker, COMPRESSED, at, 1, tokens)
    return None


def _summary_room(old: Sequence[Turn], left: int, count: Count) -> int:
    return min(int(_SUMMARY_SHARE * sum(count(turn.text) for turn in old)), left // 2) if old else 0


def _summary(old: Sequence[Turn], room: int, count: Count) -> Said | None:
    """The most telling sentences of all that is older, in their order, within the room."""
    head = f"Earlier ({len(old)} turns):"
    spent = count(head) + 2
    if not old or spent >= room:
        return None
    found = [(at, place, said) for at, turn in enumerate(old) for place, said in enumerate(_sentences(turn.text))]
    chosen = []
    for at, place, said in sorted(found, key=lambda one: (-_worth(one[2]), -one[0])):
        tokens = count(f" {old[at].speaker}: {said}") + 1
        if _worth(said) > 0 and tokens <= _LONGEST and spent + tokens <= room:
            chosen.append((at, place, f"{old[at].speaker}: {said}"))
            spent += tokens
    if not chosen:
        return None
    text = " ".join([head, *(said for _, _, said in sorted(chosen))])
    return Said(text, "", SUMMARY, 0, len(old), count(text) + 1)


def _sentences(text: str) -> list[str]:
    bare = _CODE.sub(lambda block: block.group() if block.group().count("\n") <= _CODE_LINES else " ", text)
    return [" ".join(bare[start:end].split()) for start, end in sentences.spans(bare) if bare[start:end].strip()]


def _worth(sentence: str) -> float:
    words = len(sentence.split())
    if words < 3:
        return 0.0
    return sum(weight for pattern, weight in _TELLING if pattern.search(sentence)) + min(words, 20) / 40


def _shown(speaker: str, text: str) -> str:
    """As it stands in the prompt, with the line end after it."""
    return f"{speaker}: {text}\n"
