"""Labelled talk as training examples: tokens with borders, and per piece a fate, a kind, a tense and a carried span."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

KINDS = (
    "fact", "preference", "plan", "event", "decision", "relation", "commitment", "instruction",
    "request", "question", "greeting", "filler", "reaction", "joke", "hypothetical", "momentary", "advice", "quote", "code",
    "tool", "meta",
)  # fmt: skip
TENSES = ("past", "now", "future", "none")
NAME_KINDS = ("person", "organisation", "place", "project", "product")
NAME_TAGS = 1 + 2 * len(NAME_KINDS)
"""None, then the beginning and the inside of a name of each kind."""
BEGIN, INSIDE, OUTSIDE = range(3)
Span = tuple[int, int]
BEFORE_TOKENS = 32
TURN_TOKENS = 160
_CLOSING = re.compile(r"[.!?…。！？)\]\"'”’»」』]+")


@dataclass
class Piece:
    start: int  # token positions in the example
    end: int
    keep: bool
    kind: int
    tense: int
    carry: tuple[int, int] | None = None  # token positions, or None if nothing is carried
    needs: bool = False
    doubt: bool = False  # a second reader judged otherwise: its fate and kind are not learned


@dataclass
class Example:
    ids: list[int]
    segments: list[int]
    borders: list[int]  # -100 where there is no label
    pieces: list[Piece] = field(default_factory=list)
    offsets: list[tuple[int, int]] = field(default_factory=list)
    first: int = 0
    row: dict[str, Any] | None = None
    letters: list[list[float]] = field(default_factory=list)
    names: list[int] = field(default_factory=list)  # -100 where there is no label


LETTERS = 6
_WORD = re.compile(r"[^\W_]+")
_OPENING = re.compile(r"(?:^|[.!?:…\n])[^\w\n]*$")


def letters_of(text: str, offsets: list[Span]) -> list[list[float]]:
    """Return how the word of each token is written: a capital, all capitals, a later capital, a digit, first of its sentence, no
    beginning of a word. The tokenizer knows no capitals, and names mostly have one."""
    words = {}
    for word in _WORD.finditer(text):
        said, start = word.group(), word.start()
        opens = _OPENING.search(text[max(0, start - 8) : start]) is not None
        written = [
            said[0].isupper(),
            len(said) > 1 and said.isupper(),
            any(map(str.isupper, said[1:])),
            any(map(str.isdigit, said)),
        ]
        written = [float(value) for value in (*written, opens)]
        words.update(dict.fromkeys(range(start, word.end()), (start, written)))
    found = []
    for low, _ in offsets:
        start, written = words.get(low, (low, [0.0] * (LETTERS - 1)))
        found.append([*written, float(low > start)])
    return found


def tagged(row: dict[str, Any], offsets: list[Span]) -> list[int]:
    """Return the tag of each token of a row whose names are labelled; -100 for all tokens of another."""
    if "names" not in row:
        return [-100] * len(offsets)
    spans: list[tuple[int, int, int]] = []
    for surface, kind in sorted(row["names"], key=lambda name: -len(name[0])):
        for match in re.finditer(rf"(?<!\w){re.escape(surface)}(?!\w)", row["text"]):
            if not any(low < match.end() and high > match.start() for low, high, _ in spans):
                spans.append((match.start(), match.end(), NAME_KINDS.index(kind)))
    tags = []
    for low, high in offsets:
        inside = next((span for span in spans if low < span[1] and high > span[0]), None)
        tags.append(0 if inside is None else 1 + 2 * inside[2] + (low > inside[0]))
    return tags


def role(speaker: str) -> str:
    return speaker if speaker in ("user", "assistant", "tool", "system") else "person"


def read(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield json.loads(line)


def rejoined(labels: Path, talk: Path) -> Iterator[dict[str, Any]]:
    """Yield the labelled turns of a public set as rows: the labels lie in `names/` by store and reference, the texts in the set.

    Of a long turn the first characters are labelled.
    """
    wanted = {(row["store"], row["ref"]): row for row in read(labels)}
    for store in map(json.loads, gzip.decompress(talk.read_bytes()).decode().strip().split("\n")):
        before = ""
        for turn in store["turns"]:
            row = wanted.get((store["store"], turn["ref"]))
            if row is not None:
                names = [name[:2] for name in row["names"]]
                yield {
                    "text": turn["text"][: row["characters"]], "speaker": turn["speaker"], "before": before, "names": names,
                    "doubt": [name[0] for name in row.get("doubt", ())],
                }  # fmt: skip
            before = turn["text"]


def renamed(row: dict[str, Any], pool: dict[str, list[str]], dice: random.Random) -> dict[str, Any]:
    """Return a row with some of its names exchanged for others of their kind, in the text, its pieces and what they carry."""
    new: dict[str, str] = {}
    for surface, kind in row["names"]:
        if dice.random() < 0.5 and len(surface) > 2:
            other = dice.choice(pool[kind])
            new[surface] = other.lower() if surface.islower() else other
    if not new:
        return row
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in sorted(new, key=len, reverse=True)))

    def said(text: str | None) -> str | None:
        return text and pattern.sub(lambda match: new[match.group()], text)

    pieces = [{**piece, "text": said(piece["text"]), "carry": said(piece.get("carry"))} for piece in row.get("pieces", ())]
    names = [[new.get(surface, surface), kind] for surface, kind in row["names"]]
    made = {**row, "text": said(row["text"]), "before": said(row.get("before")), "names": names}
    return {**made, "pieces": pieces} if pieces else made


def places(row: dict[str, Any]) -> list[tuple[int, int]] | None:
    """Return the character span of every piece, closing punctuation included, or None if a piece is not in the text."""
    found, at = [], 0
    for piece in row.get("pieces", ()):
        start = row["text"].find(piece["text"], at)
        if start < 0 or not piece["text"].strip():
            return None
        at = start + len(piece["text"])
        closing = _CLOSING.match(row["text"], at)
        at = closing.end() if closing else at
        found.append((start, at))
    return found


def encode(
    tokenizer: Tokenizer, speaker: str, before: str, text: str
) -> tuple[list[int], list[int], list[Span], list[Span], int]:
    """Return ids, segments, offsets in `text`, offsets in `before`, and the position of the turn's first token."""
    head = tokenizer.encode(role(speaker), add_special_tokens=False).ids
    prior = tokenizer.encode(before, add_special_tokens=False) if before else None
    prior_ids = prior.ids[-BEFORE_TOKENS:] if prior else []
    prior_offsets = prior.offsets[-BEFORE_TOKENS:] if prior else []
    turn = tokenizer.encode(text, add_special_tokens=False)
    turn_ids, offsets = turn.ids[:TURN_TOKENS], turn.offsets[:TURN_TOKENS]
    cls, sep = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    ids = [cls, *head, *prior_ids, sep, *turn_ids, sep]
    first = 2 + len(head) + len(prior_ids)
    segments = [0] * first + [1] * (len(turn_ids) + 1)
    return ids, segments, offsets, [(0, 0)] * (1 + len(head)) + list(prior_offsets), first


def cropped(row: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """Return a message of one or two neighbouring pieces that need nothing from elsewhere: short messages hold facts too."""
    free = [number for number, piece in enumerate(row["pieces"]) if not piece.get("carry")]
    if not free:
        return row
    first = dice.choice(free)
    last = first + 1 if first + 1 in free and dice.random() < 0.3 else first
    spans = places(row)
    if spans is None:
        return row
    text = row["text"][spans[first][0] : spans[last][1]]
    text = text.rstrip(".!") if dice.random() < 0.5 else text
    return {**row, "text": text, "before": "", "pieces": row["pieces"][first : last + 1]}


def example(
    row: dict[str, Any],
    tokenizer: Tokenizer,
    dice: random.Random | None = None,
    pool: dict[str, list[str]] | None = None,
) -> Example | None:
    if dice is not None and pool and row.get("names") and dice.random() < 0.5:
        row = renamed(row, pool, dice)
    if dice is not None and dice.random() < 0.45 and row.get("pieces"):
        row = cropped(row, dice)
    spans = places(row)
    if spans is None:
        return None
    speaker, before = row["speaker"], row.get("before") or ""
    if dice is not None:
        if dice.random() < 0.25:
            before = ""
        if role(speaker) in ("user", "person") and dice.random() < 0.3:
            speaker = dice.choice(("user", "Ann"))
    ids, segments, offsets, prior, first = encode(tokenizer, speaker, before, row["text"])
    borders = [-100] * len(ids)
    pieces: list[Piece] = []
    at = 0
    for number, (low, _) in enumerate(offsets):
        while at < len(spans) and spans[at][1] <= low:
            at += 1
        place = first + number
        if at < len(spans) and spans[at][0] <= low < spans[at][1]:
            if len(pieces) <= at or not pieces:
                while len(pieces) < at:
                    pieces.append(Piece(-1, -1, False, 0, 3))
                gold = row["pieces"][at]
                carry = gold.get("carry") or ""
                pieces.append(
                    Piece(
                        start=place,
                        end=place + 1,
                        keep=gold["keep"],
                        kind=KINDS.index(gold["kind"]),
                        tense=TENSES.index(gold["tense"]) if gold.get("tense") else -1,
                        carry=_carried(carry, (row["text"], offsets, first), (before, prior), low),
                        needs=bool(carry),
                        doubt=bool(gold.get("doubt")),
                    )
                )
                borders[place] = BEGIN
            else:
                pieces[at].end = place + 1
                borders[place] = INSIDE
        elif row.get("pieces"):
            borders[place] = OUTSIDE
    outside = len(ids) - first - len(offsets)
    letters = letters_of(row["text"], offsets)
    if dice is not None and dice.random() < 0.15:
        letters = [[0.0] * (LETTERS - 1) + [last] for *_, last in letters]  # as in a message without capitals
    made = Example(
        ids, segments, borders, [p for p in pieces if p.start >= 0], offsets, first, row,
        letters=[[0.0] * LETTERS] * first + letters + [[0.0] * LETTERS] * outside,
        names=[-100] * first + tagged(row, offsets) + [-100] * outside,
    )  # fmt: skip
    return _dictated(made, tokenizer, dice) if dice is not None and dice.random() < 0.12 else made


def _dictated(example: Example, tokenizer: Tokenizer, dice: random.Random) -> Example:
    """Return an example without most of its punctuation, as dictated and hurried talk has none."""
    marks = {tokenizer.token_to_id(mark) for mark in (",", ".", ";", ":", "!", "-")}
    keep = [
        place < example.first or token not in marks or dice.random() < 0.2 or example.borders[place] == BEGIN
        for place, token in enumerate(example.ids)
    ]
    new = [sum(keep[:place]) for place in range(len(keep) + 1)]
    some = lambda values: [value for value, stays in zip(values, keep, strict=True) if stays]  # noqa: E731
    for piece in example.pieces:
        piece.start, piece.end = new[piece.start], new[piece.end]
        piece.carry = piece.carry and (new[piece.carry[0]], max(new[piece.carry[1]], new[piece.carry[0]] + 1))
    return Example(
        some(example.ids), some(example.segments), some(example.borders), example.pieces, [], example.first,
        letters=some(example.letters), names=some(example.names),
    )  # fmt: skip


def _carried(
    carry: str, turn: tuple[str, list[Span], int], earlier: tuple[str, list[Span]], limit: int
) -> tuple[int, int] | None:
    """Return the token positions of a carried span: its last place in the turn before the piece, else in the message before."""
    (text, offsets, first), (before, prior) = turn, earlier
    if not carry:
        return None
    low = text.lower().rfind(carry.lower(), 0, limit)
    if low >= 0:
        inside = [first + n for n, (a, b) in enumerate(offsets) if a >= low and b <= low + len(carry)]
        return (inside[0], inside[-1] + 1) if inside else None
    low = before.lower().rfind(carry.lower())
    if low >= 0:
        inside = [n for n, (a, b) in enumerate(prior) if b > a and a >= low and b <= low + len(carry)]
        return (inside[0], inside[-1] + 1) if inside else None
    return None
