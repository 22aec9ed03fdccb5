"""The statement model: where the statements of a message begin, and what each of them is (`training/statements`).

A small network reads a message once, with the role of its speaker and the end of the message before. For every token it scores
whether a statement begins there and whether it is part of a name. For every piece it judges whether the piece is worth keeping,
of which kind it is, of which time it speaks, and which earlier words it needs. The weights lie in `statements/` beside this
module, and are read on first use.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from engram.models.bundled import read_model, session_of, tokenizer_of
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from pathlib import Path

Floats = npt.NDArray[np.float32]
Span = tuple[int, int]

_BEGIN, _INSIDE, _OUTSIDE = range(3)
_KEEP, _NEEDS, _KIND = 0, 1, 2
_ROLES = frozenset({"user", "assistant", "tool", "system"})
_UNKNOWN_NAME = "person"
_LONGEST_CARRY = 24
"""Tokens that a carried phrase may span."""


@frozen
class Judgement:
    """The judgement on one piece, in probabilities: that it is worth keeping, that it needs earlier words; kinds, tenses."""

    keep: float
    needs: float
    kinds: dict[str, float]
    tenses: dict[str, float]

    @property
    def kind(self) -> str:
        return max(self.kinds, key=self.kinds.__getitem__)

    @property
    def tense(self) -> str:
        return max(self.tenses, key=self.tenses.__getitem__)


@frozen
class NameSpan:
    """A name in a message: its place, and whether it is of a person, an organisation, a place, a project or a product."""

    start: int
    end: int
    kind: str


@frozen
class TokenReading:
    """A message as the network read it: its tokens by their places, with the scores and states of each.

    begins, outside: the probability of each token that a statement begins with it, and that it only joins two statements.
    earlier: the places in the message before of the tokens that stand before the message.
    unknown: the numbers of the tokens that the model has no sign for, as in scripts that it was not made for.
    names: the names in the message, in their order.
    """

    spans: Sequence[Span]
    begins: Floats
    outside: Floats
    earlier: Sequence[Span]
    unknown: frozenset[int]
    names: tuple[NameSpan, ...]
    _states: Floats
    _pointer: Floats
    _first: int
    _model: _Weights

    def judge(self, pieces: Sequence[Span]) -> list[Judgement]:
        """Return the judgement on each piece, given by the numbers of its first token and of the token after its last."""
        model = self._model
        pooled = np.stack([self._pooled(*piece) for piece in pieces])
        scores = model.judge.run(None, {"pooled": pooled})[0]
        kinds, tenses = model.kinds, model.tenses
        tense = _KIND + len(kinds)
        return [
            Judgement(
                keep=_sigmoid(row[_KEEP]),
                needs=_sigmoid(row[_NEEDS]),
                kinds=dict(zip(kinds, _softmax(row[_KIND:tense]).tolist(), strict=True)),
                tenses=dict(zip(tenses, _softmax(row[tense:]).tolist(), strict=True)),
            )
            for row in scores
        ]

    def needed_by(self, piece: Span, sure: float = 0.0) -> tuple[bool, int, int] | None:
        """Return the words that a piece needs, as their place before it: whether they stand in the message before, and from where
        to where; None if it points at nothing in particular."""
        low, high = self._first + piece[0], self._first + piece[1]
        size = self._model.pointer
        if low <= 1:
            return None
        query = self._pointer[low:high, :size].mean(0) / np.sqrt(size)
        keys = self._pointer[1:low, size:]
        first = _softmax(keys[:, :size] @ query)
        start = int(np.argmax(first)) + 1
        if first[start - 1] < sure:
            return None
        reach = keys[start - 1 : start - 1 + _LONGEST_CARRY, size:] @ query
        end = start + int(np.argmax(reach)) + 1
        if start >= self._first:
            return False, self.spans[start - self._first][0], self.spans[end - self._first - 1][1]
        end = min(end, len(self.earlier))
        if start >= len(self.earlier) or end <= start or self.earlier[start][1] <= self.earlier[start][0]:
            return None
        return True, self.earlier[start][0], self.earlier[end - 1][1]

    def _pooled(self, start: int, end: int) -> Floats:
        piece = self._states[self._first + start : self._first + end]
        made: Floats = np.concatenate((piece.mean(0), piece.max(0), self._states[0]))
        return made


class StatementReader:
    """Reads messages with the statement model. Its files are read on first use and shared by all threads."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._weights: _Weights | None = None

    @property
    def joints(self) -> frozenset[str]:
        """Words that join two statements and belong to neither."""
        return self._load().joints

    @property
    def longest(self) -> int:
        """The most tokens of a message that are read at once."""
        return self._load().turn_tokens

    def tokens(self, text: str) -> list[Span]:
        """Return the places of the tokens of a text."""
        return list(self._load().tokenizer.encode(text, add_special_tokens=False).offsets)

    def read(self, speaker: str, before: str, text: str) -> TokenReading:
        """Read one message, or as much of it as is read at once; `before` is the message before it."""
        weights = self._load()
        tokenizer = weights.tokenizer
        head = tokenizer.encode(_role(speaker), add_special_tokens=False).ids
        prior = tokenizer.encode(before[-_BEFORE:], add_special_tokens=False) if before else None
        skipped = max(0, len(before) - _BEFORE)
        turn = tokenizer.encode(text, add_special_tokens=False)
        prior_ids = prior.ids[-weights.before_tokens :] if prior else []
        offsets = prior.offsets[-weights.before_tokens :] if prior else []
        ids = [weights.cls, *head, *prior_ids, weights.sep, *turn.ids[: weights.turn_tokens], weights.sep]
        first = 2 + len(head) + len(prior_ids)
        segments = [0] * first + [1] * (len(ids) - first)
        spans = list(turn.offsets[: weights.turn_tokens])
        letters = np.zeros((1, len(ids), _LETTERS), np.float32)
        if spans:
            letters[0, first : first + len(spans)] = _letters(text, spans)
        feed = {"ids": _row(ids), "mask": np.ones((1, len(ids)), np.int64), "segments": _row(segments), "letters": letters}
        borders, pointer, states, tags = weights.session.run(None, feed)
        odds = _softmax(borders[0, first : first + len(spans)])
        earlier = [(0, 0)] * (1 + len(head)) + [(low + skipped, high + skipped) for low, high in offsets]
        unknown = frozenset(number for number, token in enumerate(turn.ids[: weights.turn_tokens]) if token == weights.unknown)
        names = _names(text, spans, _softmax(tags[0, first : first + len(spans)]), weights.names)
        return TokenReading(
            spans, odds[:, _BEGIN], odds[:, _OUTSIDE], earlier, unknown, names, states[0], pointer[0], first, weights
        )

    def load(self) -> None:
        """Read the files of the model; raise `EmbedderUnavailable` if they cannot be read."""
        self._load()

    def _load(self) -> _Weights:
        if self._weights is None:
            with self._lock:
                if self._weights is None:
                    self._weights = read_model("statement", self._folder, _read_weights)
        return self._weights


@cache
def shared_reader() -> StatementReader:
    """Return the reader of the model in the package, one for all vaults of this process."""
    return StatementReader()


_BEFORE = 400
"""Characters at the end of the message before that are looked at: more than its last tokens span."""


@frozen
class _Weights:
    session: Any
    judge: Any
    tokenizer: Any
    kinds: tuple[str, ...]
    tenses: tuple[str, ...]
    names: tuple[str, ...]
    joints: frozenset[str]
    pointer: int
    before_tokens: int
    turn_tokens: int
    cls: int
    sep: int
    unknown: int


def _read_weights(place: Traversable) -> _Weights:
    card = json.loads(place.joinpath("card.json").read_text("utf-8"))
    tokenizer = tokenizer_of(place)
    return _Weights(
        session=session_of(place, "model.onnx"),
        judge=session_of(place, "judge.onnx"),
        tokenizer=tokenizer,
        kinds=tuple(card["kinds"]),
        tenses=tuple(card["tenses"]),
        names=tuple(card["names"]),
        joints=frozenset(card["glue"]),
        pointer=card["pointer"],
        before_tokens=card["before_tokens"],
        turn_tokens=card["turn_tokens"],
        cls=tokenizer.token_to_id("[CLS]") or 0,
        sep=tokenizer.token_to_id("[SEP]") or 0,
        unknown=tokenizer.token_to_id("[UNK]") or 0,
    )


def _role(speaker: str) -> str:
    name = " ".join(speaker.split()).lower()
    return name if name in _ROLES else _ALIASES.get(name, _UNKNOWN_NAME)


_ALIASES = {"human": "user", "me": "user", "": "user", "ai": "assistant", "bot": "assistant", "model": "assistant"}


def _letters(text: str, spans: Sequence[Span]) -> list[list[float]]:
    """Return how the word of each token is written: a capital, all capitals, a later capital, a digit, first of its sentence, no
    beginning of a word. The tokenizer knows no capitals, and names mostly have one."""
    words: dict[int, tuple[int, list[float]]] = {}
    for word in _WORD.finditer(text):
        said, start = word.group(), word.start()
        opens = _OPENING.search(text[max(0, start - _OPENING_SIZE) : start]) is not None
        capitals = [letter.isupper() for letter in said]
        signs = (capitals[0], len(said) > 1 and said.isupper(), any(capitals[1:]), any(map(str.isdigit, said)), opens)
        words |= dict.fromkeys(range(start, word.end()), (start, [float(sign) for sign in signs]))
    found = []
    for low, _ in spans:
        start, written = words.get(low, (low, _UNWRITTEN))
        found.append([*written, float(low > start)])
    return found


def _names(text: str, spans: Sequence[Span], tags: Floats, kinds: Sequence[str]) -> tuple[NameSpan, ...]:
    """Return the names that the odds of each token's tags mean: no name, or the beginning or inside of a name of a kind.

    A word is of one piece: it has the mean odds of its tokens. It goes on with the name of the word before it unless its first
    token begins another.
    """
    found: list[tuple[int, int, Floats]] = []
    is_open, number = False, 0
    for word in _WORD.finditer(text):
        start, end = word.span()
        while number < len(spans) and spans[number][1] <= start:
            number += 1
        last = number
        while last < len(spans) and spans[last][0] < end:
            last += 1
        odds = tags[number:last]
        if not len(odds) or float(odds[:, 0].mean()) > _NO_NAME:
            is_open = False
            continue
        of_kind: Floats = (odds[:, 1::2] + odds[:, 2::2]).mean(0)
        between = text[found[-1][1] : start] if found else ""
        goes_on = is_open and len(between) <= _BETWEEN and "\n" not in between and float(odds[0, 1::2].sum()) < _BEGINS
        if goes_on:
            found[-1] = (found[-1][0], end, found[-1][2] + of_kind)
        else:
            found.append((start, end, of_kind))
        is_open = True
    return tuple(NameSpan(start, end, kinds[int(of_kind.argmax())]) for start, end, of_kind in found)


_NO_NAME = 0.3
"""Probability above which a word is part of no name."""
_BEGINS = 0.5
"""Probability from which a word begins another name than the word before it."""
_BETWEEN = 3
"""Characters between two words of one name."""
_LETTERS = 6
_UNWRITTEN = [0.0] * (_LETTERS - 1)
_WORD = re.compile(r"[^\W_]+")
_OPENING = re.compile(r"(?:^|[.!?:…\n])[^\w\n]*$")
_OPENING_SIZE = 8


def _row(values: Sequence[int]) -> npt.NDArray[np.int64]:
    return np.asarray([values], dtype=np.int64)


def _sigmoid(value: float) -> float:
    return float(1.0 / (1.0 + np.exp(-np.clip(value, -30.0, 30.0))))


def _softmax(rows: Floats) -> Floats:
    odds: Floats = np.exp(rows - rows.max(axis=-1, keepdims=True))
    made: Floats = odds / odds.sum(axis=-1, keepdims=True)
    return made
