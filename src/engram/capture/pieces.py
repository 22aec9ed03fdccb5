"""Cut the prose of a message into pieces, each one statement or none, and judge each piece.

Lines, list items and sentences are borders in any case; inside a sentence the statement model says where the next statement
begins. A piece is a stretch of the text as it stands. Words that only join two statements ("and", "but") belong to neither; every
other word belongs to a piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from engram.models.statement_reader import Judgement, StatementReader, TokenReading
from engram.text import sentences
from engram.values.frozen import frozen
from engram.values.memories import Name

Span = tuple[int, int]


@frozen(kw_only=True)
class PieceWeights:
    """Thresholds of the borders inside a sentence and of carried words."""

    border: float = 0.4  # probability from which a statement begins inside a sentence
    joint: float = 0.1  # probability from which a word only joins two statements; below that of a border, which it stands before
    needs: float = 0.5  # probability from which a piece is shown with the earlier words that it needs
    sure: float = 0.6  # probability from which the words that a piece points at are those
    carried_words: int = 8  # the most words that are carried
    unknown: float = 0.7  # share of letters without a sign in the model, from which a piece is kept without its judgement


@frozen
class Piece:
    """A stretch of a text, what it is, and the words from before it that it needs (empty if it stands alone)."""

    start: int
    end: int
    judgement: Judgement
    carries: str = ""
    names: tuple[Name, ...] | None = None  # in it and in the words that it carries; None if the model has not read it


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CJK = re.compile(r"[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_TRAILING = " \t\r\n,;:–—-、，；："
_LEADING = " \t\r\n,;:–—、，；："
_SEPARATORS = frozenset(' \t\n\r,;:、，；：。！？.!?…–—([（「"“')
_CJK_WORD = 2  # characters of a word in scripts without spaces, about
_LEAST_WORDS = 2
_POINT = re.compile(r"(?<!\.)\.\s*$")
_NUMBER = re.compile(r"(?:^|[\s(#])\d{1,4}\.\s*$")
_POINT_LOOK_BACK = 24
_LEAST_CHARACTERS = 3  # of scripts without spaces


UNREAD = Judgement(keep=1.0, needs=0.0, kinds={"fact": 1.0}, tenses={"none": 1.0})
"""The judgement on a sentence while the model cannot be read, or in a script that it does not know: it is kept."""


def pieces(reader: StatementReader | None, speaker: str, before: str, text: str, weights: PieceWeights) -> list[Piece]:
    """Return the pieces of a text in their order; only joints, white space and commas lie between two of them.

    Without a reader each sentence is a piece.
    """
    if reader is None:
        return [Piece(start, end, UNREAD) for start, end in sentences.spans(text)]
    found: list[Piece] = []
    for window in _windows(reader, text):
        low, high = window[0][0], window[-1][1]
        earlier = text[:low].rstrip() if low else before
        reading = reader.read(speaker, earlier, text[low:high])
        spans = [cut for start, end in window for cut in _cuts(reading, text[low:high], start - low, end - low, weights, reader)]
        if not spans:
            continue
        judged = reading.judge([tokens for _, tokens in spans])
        judged = [
            UNREAD if _unknown_share(reading, tokens, text[low:high]) >= weights.unknown else one
            for (_, tokens), one in zip(spans, judged, strict=True)
        ]
        sentence_starts = {start - low for start, _ in window}
        for number, (((start, end), tokens), judgement) in enumerate(zip(spans, judged, strict=True)):
            carries = ""
            if judgement.needs >= weights.needs:
                last = spans[number - 1][0] if number else None
                inside = last is not None and not any(last[1] <= begin <= start for begin in sentence_starts)
                context = _Context(text[low:high], earlier, last, inside, low > 0)
                carries = _carried(reading, tokens, (start, end), context, weights)
            found.append(Piece(low + start, low + end, judgement, carries, _names(reading, text[low:high], start, end, carries)))
    return found


def joined(first: Piece, second: Piece, judgement: Judgement) -> Piece:
    """Return two neighbouring pieces as one, with this judgement."""
    names = None if first.names is None else tuple(dict.fromkeys((*first.names, *(second.names or ()))))
    return Piece(first.start, second.end, judgement, first.carries, names)


def _names(reading: TokenReading, text: str, start: int, end: int, carries: str) -> tuple[Name, ...]:
    """Return the names in a piece, and those of its message in the words that it carries, each once."""
    inside = [
        Name(text[one.start : one.end], one.kind)
        for one in reading.names
        if (start <= one.start and one.end <= end) or text[one.start : one.end] in carries
    ]
    return tuple(dict.fromkeys(inside))


def _unknown_share(reading: TokenReading, tokens: Span, text: str) -> float:
    """Return the share of a piece's letters that stand in words unknown to the model.

    Emoji are no letters; a token of one letter is a Chinese character, and the model understands a sentence that lacks some.
    """
    if reading.unknown.isdisjoint(range(*tokens)):
        return 0.0
    letters = {n: sum(map(str.isalpha, text[slice(*reading.spans[n])])) for n in range(*tokens)}
    unknown = sum(letters[n] for n in reading.unknown.intersection(letters) if letters[n] > 1)
    return unknown / max(1, sum(letters.values()))


@frozen
class _Context:
    """The words before a piece: those of its window, what stands before the window, and the piece before in the same sentence."""

    text: str
    before: str
    last: Span | None
    inside: bool
    own: bool  # what stands before the window was said by the same speaker


def _windows(reader: StatementReader, text: str) -> Iterator[list[Span]]:
    """Yield groups of neighbouring sentences that are read at once. A sentence beyond the model's limit is cut inside."""
    longest = reader.longest
    window: list[Span] = []
    size = 0
    for start, end in sentences.spans(text):
        tokens = reader.tokens(text[start:end])
        parts = [(start, end, len(tokens))]
        if len(tokens) > longest:
            cuts = _word_starts(text[start:end], tokens, longest, reader.joints)
            borders = [start, *(start + tokens[n][0] for n in cuts), end]
            parts = [(low, high, longest) for low, high in pairwise(borders)]
        for low, high, length in parts:
            if window and size + length > longest:
                yield window
                window, size = [], 0
            window.append((low, high))
            size += length
    if window:
        yield window


def _word_starts(text: str, tokens: Sequence[Span], every: int, joints: frozenset[str]) -> Iterator[int]:
    """Yield token numbers at most `every` apart where a long sentence may best be cut.

    That is before a word that joins statements, best behind a comma; else behind a comma; else before any word.
    """
    at = 0
    while at + every < len(tokens):
        places = range(at + every // 2 + 1, at + every + 1)
        at = max(places, key=lambda n: (_cut_rank(text, tokens[n][0], joints), n))
        at = at if _cut_rank(text, tokens[at][0], joints) else places[-1]
        yield at


def _cut_rank(text: str, place: int, joints: frozenset[str]) -> int:
    """Return how well a sentence may be cut at a place: 0 inside a word."""
    before = text[place - 1]
    if not before.isspace():
        return 2 if before in "，、；。" else 0
    word = _WORD.match(text, place)
    is_joint = word is not None and word.group().lower() in joints
    is_apart = text[max(0, place - 8) : place].rstrip()[-1:] in tuple(",;:–—")
    return 1 + is_apart + (2 if is_joint else 0)


def _cuts(
    reading: TokenReading, text: str, start: int, end: int, weights: PieceWeights, reader: StatementReader
) -> list[tuple[Span, Span]]:
    """Return the pieces of one sentence: the place of each, and its tokens."""
    # The tokenizer leaves out some characters that end a line: a token may reach over such a border.
    inside = [n for n, (low, high) in enumerate(reading.spans) if low < end and high > start and high > low]
    if not inside:
        return [((start, end), (0, 1))] if _WORD.search(text, start, end) else []
    first, last = inside[0], inside[-1] + 1
    inner = (n for n in range(first + 1, last) if reading.begins[n] >= weights.border)
    begins = [first, *(n for n in inner if _may_begin(text, start, reading.spans[n][0]))]
    begins = _long_enough(reading, text, begins, last, weights, reader)
    found = []
    for n, stop in zip(begins, [*begins[1:], last], strict=True):
        low, high = n, stop
        if stop < last:
            high = _without_joint(reading, text, low, high, weights, reader)
        if n == first:
            low = _past_joint(reading, text, low, high, weights, reader)
        begin = start if low == first else reading.spans[low][0]
        place = _trimmed(text, begin, reading.spans[high - 1][1] if stop < last else end, stop == last)
        if place[0] < place[1]:
            found.append((place, (low, high)))
    return found


def _may_begin(text: str, start: int, place: int) -> bool:
    """Return True at the beginning of a word outside a quotation: "Fly.io" and a quoted sentence are one."""
    before = text[place - 1]
    if before not in _SEPARATORS and not _CJK.match(before):
        return False
    if not before.isspace() and before in ".!?:,-–—" and text[place : place + 1].isascii():
        return False
    said = text[start:place]
    if _POINT.search(said[-_POINT_LOOK_BACK:]):
        # "3. Mai", "z.B. in Wien": the rules for sentences have looked at this point and found no end. They are not sure of a
        # number before a small letter, which may end a sentence where nobody writes capitals: "on feb 3. push slips".
        if not _NUMBER.search(said[-_POINT_LOOK_BACK:]) or not text[place].islower() or sentences.ends_in_ordinal(said):
            return False
    return said.count('"') % 2 == 0 and said.count("“") == said.count("”") and said.count("(") == said.count(")")


def _long_enough(
    reading: TokenReading, text: str, begins: list[int], last: int, weights: PieceWeights, reader: StatementReader
) -> list[int]:
    """Drop borders that would leave a piece of one word."""
    kept = [begins[0]]
    for n in begins[1:]:
        if _is_enough(text[reading.spans[kept[-1]][0] : reading.spans[n - 1][1]], reader.joints):
            kept.append(n)
        elif len(kept) > 1:
            kept[-1] = n if reading.begins[n] > reading.begins[kept[-1]] else kept[-1]
    while len(kept) > 1 and not _is_enough(text[reading.spans[kept[-1]][0] : reading.spans[last - 1][1]], reader.joints):
        kept.pop()
    return kept


def _is_enough(said: str, joints: frozenset[str]) -> bool:
    words = [word for word in _WORD.findall(said) if word.lower() not in joints]
    if all(word.isdigit() for word in words):
        return False  # a number by itself belongs to what it numbers
    return len(words) >= _LEAST_WORDS or len(_CJK.findall(said)) >= _LEAST_CHARACTERS


def _without_joint(reading: TokenReading, text: str, low: int, high: int, weights: PieceWeights, reader: StatementReader) -> int:
    """Return the end of a piece before the words that only join it to the next one."""
    stop = high
    while stop - 1 > low and reading.outside[stop - 1] >= weights.joint:
        stop -= 1
    return stop if _is_joint(text[reading.spans[stop][0] : reading.spans[high - 1][1]] if stop < high else "", reader) else high


def _past_joint(reading: TokenReading, text: str, low: int, high: int, weights: PieceWeights, reader: StatementReader) -> int:
    """Return the first token of a piece after the words that only join it to what was said before."""
    start = low
    while start + 1 < high and reading.outside[start] >= weights.joint and reading.begins[start + 1] < weights.border:
        start += 1
    if start + 1 < high and reading.outside[start] >= weights.joint and reading.begins[start + 1] >= weights.border:
        start += 1
        head = text[reading.spans[low][0] : reading.spans[start][0]]
        return start if _is_joint(head, reader) and _may_begin(text, 0, reading.spans[start][0]) else low
    return low


def _is_joint(words: str, reader: StatementReader) -> bool:
    plain = " ".join(_WORD.findall(words.lower()))
    return not plain or plain in reader.joints


def _trimmed(text: str, start: int, end: int, is_last: bool) -> Span:
    while start < end and text[start] in _LEADING:
        start += 1
    while end > start and (text[end - 1].isspace() or (not is_last and text[end - 1] in _TRAILING)):
        end -= 1
    return start, end


def _carried(reading: TokenReading, tokens: Span, place: Span, context: _Context, weights: PieceWeights) -> str:
    """Return the earlier words that a piece is shown with, at most so many; empty if it has them already.

    A later piece of a sentence is shown with the piece before it, if that is short; another piece with the words that it points
    at, or with the question that it answers.
    """
    most = weights.carried_words
    before = "" if context.last is None else context.text[slice(*context.last)]
    pointed = _pointed(reading, tokens, place, context, weights.sure)
    if context.inside:
        short = before if len(before.split()) <= most else ""
        chosen = [short, pointed]
    else:
        question = "" if context.own or context.last is not None else _question(context.before)
        chosen = [pointed, " ".join(question.split()[-most:])]
    said = context.text[slice(*place)].lower()
    for phrase in chosen:
        plain = phrase.strip(_TRAILING + ".!…\"'“”()")
        shown = " ".join(plain.split()[:most])
        is_short = len(shown.split()) + len(_CJK.findall(shown)) // _CJK_WORD <= most
        if _WORD.search(plain) and plain.lower() not in said and not set("[]") & set(plain) and is_short:
            return shown
    return ""


def _pointed(reading: TokenReading, tokens: Span, place: Span, context: _Context, sure: float) -> str:
    """Return the earlier words that a piece points at, in whole words of one sentence; empty if it points at none surely."""
    found = reading.needed_by(tokens, sure)
    if found is None:
        return ""
    is_before, low, high = found
    source = context.before if is_before else context.text[: place[0]]
    while 0 < low < len(source) and source[low - 1].isalnum() and source[low].isalnum():
        low -= 1
    while 0 < high < len(source) and source[high - 1].isalnum() and source[high].isalnum():
        high += 1
    return _SENTENCE_END.split(source[low:high])[-1]


def _question(before: str) -> str:
    """Return the last sentence of a message if it is a question."""
    said = before.rstrip()
    mark = said[len(said.rstrip("?？ \n")) :]
    return _SENTENCE_END.split(said[-_QUESTION:].rstrip("?？ \n"))[-1] + mark[:1] if mark else ""


_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|[。！？\n]")
_QUESTION = 200
