"""Read a turn as statements: verbatim pieces of it, each with what is known about it, and a reason for every other character.

Comes in: a turn, and the turn before it. Goes out: statements with their places in the turn, and verdicts for everything else;
together they cover every character of the turn exactly once. No store and no clock.

A turn is routed by its speaker and its shape first. Prose goes through the statement model (`pieces`). The output of tools, and
code, logs, tables and quotations inside a message, are left to the stored turn. Long answers of an assistant are kept in chunks,
so that they can be found again without pretending that they are facts about somebody.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import takewhile

from engram.capture import categories, chunks, redaction, shapes
from engram.capture.pieces import UNREAD, Piece, PieceWeights, joined, pieces
from engram.models.statement_reader import Judgement, StatementReader
from engram.text import sentences
from engram.text.dates import began, resolve
from engram.text.english.corrections import correction_in
from engram.text.english.entities import mentions
from engram.text.english.grammar import is_assistant, is_tool, named
from engram.text.language import language_of
from engram.types import Fate, Kind, Proposition, Turn, Verdict
from engram.values.frozen import frozen, replace
from engram.values.memories import Mention, Name

Span = tuple[int, int]


@frozen(kw_only=True)
class StatementWeights:
    """Probabilities from which a piece is kept, by who said it and how; drops are few where the model is unsure."""

    keep: float = 0.04  # talk with an assistant
    keep_between_people: float = 0.1  # talk in which no assistant takes part
    keep_one: float = 0.002  # the best piece of a turn in such talk, if no other is kept
    keep_answer: float = 0.3  # an assistant's short message
    keep_told: float = 0.05  # a piece of a text that somebody asked to be kept
    keep_document: float = 0.05  # a text that was handed over to be kept
    document: int = 2_000  # characters: longer than this is pasted, not said
    answer: int = 400  # characters: a longer message of an assistant is kept in chunks


@frozen
class Statement:
    """A proposition and the places in its turn that it was taken from, in order."""

    proposition: Proposition
    spans: tuple[Span, ...]


@frozen
class Reading:
    """The model and the thresholds that turns are read with; without a model each sentence is a statement."""

    reader: StatementReader | None
    weights: StatementWeights = StatementWeights()
    borders: PieceWeights = PieceWeights()


_Read = tuple[int, int, Proposition | None, str]
"""A stretch of the turn: its place, and its statement or the reason why it is none."""

_QUESTION_SIZE = 160
_QUESTION_WORDS = 4
_QUESTION_MARK = re.compile(r"[?？؟\u037e][\s\"'”’)\]!]*[^\w\s]*$")
_ASSISTANT_IMPORTANCE = 0.3
_LOOKED_AT = 300  # characters of a paragraph of an answer that may be small talk
_WORD = re.compile(r"[^\W_]")
_WORDS = re.compile(r"[^\W\d_]+")
_MARK = re.compile(r"(?P<before>[\s>]*)(?:(?:[-*+•·‣▪–]|\(?\d{1,3}\)|(?P<number>\d{1,3})\.|#{1,6})[ \t]+)?")
_NUMBERED = re.compile(r"^[ \t>]*(\d{1,3})\.[ \t]", re.MULTILINE)
_NEAR = 1_000  # characters around an item in which its neighbours are looked for
_CAPTION = re.compile(r"\[[^\[\]]{3,500}\]$")
JOINT = "only joins two statements"
NOT_KEPT = {
    "request": "a request of the moment", "question": "a question", "greeting": "a greeting", "filler": "small talk",
    "reaction": "a reaction", "joke": "a joke", "hypothetical": "hypothetical", "momentary": "true only for the moment",
    "advice": "general advice", "quote": "a quotation", "code": "code", "tool": "tool output", "meta": "talk about the talk",
}  # fmt: skip
_KEPT = {
    "fact": "states a fact", "preference": "states a preference", "commitment": "tells a plan", "moment": "tells of an event",
    "decision": "states a decision", "relationship": "tells how people are related", "principle": "gives a standing instruction",
    "correction": "corrects something", "entity": "names something", "skill": "tells of a skill",
}  # fmt: skip


def propositions(
    turn: Turn, reading: Reading, *, previous: Turn | None = None, number: int = 0, left: redaction.Cut | None = None
) -> tuple[list[Statement], list[Verdict]]:
    """Return the statements of a turn, and verdicts on the rest of it. `number` is the turn's place in its batch.

    `left`: what is left of the turn after redaction, if that is known.
    """
    left = redaction.cut(turn.text) if left is None else left
    verdicts = [Verdict(Fate.DROPPED, piece.reason, number, piece.start, piece.end) for piece in left.removed]
    statements: list[Statement] = []
    for start, end, proposition, reason in _covered(left.text, list(_read(left.text, turn, previous, reading))):
        places = left.original(start, end)
        if proposition is None:
            verdicts += [Verdict(Fate.DROPPED, reason, number, low, high) for low, high in places]
        elif places:
            statements.append(Statement(proposition, places))
    return statements, sorted(verdicts, key=lambda verdict: verdict.start)


def _covered(text: str, found: list[_Read]) -> Iterator[_Read]:
    """Yield the pieces, widened over white space and punctuation, and the words between them as joints, from end to end."""
    if not found:
        if text:
            yield 0, len(text), None, "empty"
        return
    begin = 0
    for at, (start, end, proposition, reason) in enumerate(found):
        if _WORD.search(text, begin, start):
            yield begin, start, None, JOINT
            begin = start
        following = found[at + 1][0] if at + 1 < len(found) else len(text)
        joint = _WORD.search(text, end, following)
        stop = joint.start() if joint else following
        yield begin, stop, proposition, reason
        begin = stop
    if begin < len(text):
        yield begin, len(text), None, JOINT


def _read(text: str, turn: Turn, previous: Turn | None, reading: Reading) -> Iterator[_Read]:
    """Yield the pieces of a turn by the way that its speaker and shape call for."""
    if is_tool(turn.speaker):
        yield from _whole(text, "tool output: the turn keeps it")
    elif is_assistant(turn.speaker):
        plain = len(text) <= reading.weights.answer and not chunks.is_laid_out(text)
        yield from _speech(text, turn, previous, reading) if plain else _answer(text, turn, reading)
    elif len(text) > reading.weights.document or chunks.is_laid_out(text):
        yield from _document(text, turn, reading)
    else:
        yield from _speech(text, turn, previous, reading)


def _whole(text: str, reason: str) -> Iterator[_Read]:
    if text.strip():
        yield 0, len(text), None, reason


def statements_to_remember(text: str, now: datetime, reading: Reading) -> list[Proposition]:
    """Return the statements of a text that somebody asked to be kept. A piece that is none stays with the one before it.

    A correction stays with what it corrects. The whole text is one statement if fewer than two pieces of it are, or if it holds
    more than prose.
    """
    turn = Turn(text, "", now)
    found: list[Piece] = []
    whole: Piece | None = None
    for block in shapes.blocks(text):
        if block.shape != shapes.PROSE:
            return [statement_to_remember(text, now, reading)]
        for one in _judged(text[block.start : block.end], turn, "", reading):
            piece = replace(one, start=block.start + one.start, end=block.start + one.end)
            whole = piece if whole is None else joined(whole, piece, whole.judgement)
            told = _is_told(piece.judgement, reading.weights) and (not found or _is_told(found[-1].judgement, reading.weights))
            if found and (not told or correction_in(text[piece.start : piece.end]) is not None):
                best = max((found[-1], piece), key=lambda one: one.judgement.keep)
                found[-1] = joined(found[-1], piece, best.judgement)
            else:
                found.append(piece)
    if whole is None or sum(piece.judgement.keep >= _SURELY_TOLD for piece in found) < 2:
        return [_as_one(text, whole, turn)]
    starts = [piece.start + _mark(text, piece.start, piece.end) for piece in found]
    return [_bare(text[start : piece.end], piece, turn) for start, piece in zip(starts, found, strict=True)]


_SURELY_TOLD = 0.5
"""Probability of each of two statements from which a text is kept as several memories."""


def _is_told(judgement: Judgement, weights: StatementWeights) -> bool:
    """Return False for courtesies and questions. Whoever asks to keep "restart the workers" makes no request of the moment."""
    return judgement.keep >= weights.keep_told or judgement.kind not in _IDLE or judgement.kind == "request"


def statement_to_remember(text: str, now: datetime, reading: Reading) -> Proposition:
    """Return a text as one statement, with the time that its words name."""
    turn = Turn(text, "", now)
    whole: Piece | None = None
    for piece in _judged(text, turn, "", reading):
        whole = piece if whole is None else joined(whole, piece, whole.judgement)
    return _as_one(text, whole, turn)


def _as_one(text: str, whole: Piece | None, turn: Turn) -> Proposition:
    """Return a text as one statement, with the judgement on its first piece; None if it has no piece."""
    return Proposition(text=text, speaker="", category="fact", confidence=1.0) if whole is None else _bare(text, whole, turn)


def mentions_of(text: str, speaker: str, reading: Reading) -> tuple[Mention, ...] | None:
    """Return the things that a text names, read with the model; None without a model."""
    names = _names_in(text, Turn(text, speaker), reading)
    return None if names is None else mentions(text, speaker, names)


def _names_in(text: str, turn: Turn, reading: Reading) -> tuple[Name, ...] | None:
    """Return the names in a text of a turn, each once; None without a model."""
    if reading.reader is None:
        return None
    return tuple(dict.fromkeys(name for piece in _judged(text, turn, "", reading) for name in piece.names or ()))


def statement_by_hand(turn: Turn, words: str, reading: Reading) -> Proposition:
    """Return words of a turn as a statement that somebody chose to keep."""
    language = language_of(words)
    judged = _judged(words, turn, "", reading)
    judgement = max((piece.judgement for piece in judged), key=lambda one: one.keep, default=UNREAD)
    sort = replace(categories.sorted_by(words, judgement, language), confidence=categories.EXPLICIT)
    return _proposition(turn, words, "", sort, "kept by hand", judgement.tense, language)


def _bare(words: str, piece: Piece, turn: Turn) -> Proposition:
    """Return a piece without a speaker's name before it."""
    language = language_of(words)
    sort = categories.sorted_by(words, piece.judgement, language)
    made = _proposition(turn, words, piece.carries, sort, "", piece.judgement.tense, language, names=piece.names)
    head = made.words_at[0]
    carried = (0, len(words)) if piece.carries else (0, 0)
    return replace(made, text=made.text[head:], words_at=carried, passage="")


# ── an assistant's long answers ────────────────────────────────────────────────────────────────────────────────────────


def _answer(text: str, turn: Turn, reading: Reading) -> Iterator[_Read]:
    """Yield an answer in chunks, each under its heading, without the small talk at its beginning and end."""
    small_talk = _small_talk(text, turn, reading)
    sort = categories.Sort("fact", categories.INFERRED, _ASSISTANT_IMPORTANCE, Kind.PROPOSITION)
    for chunk in chunks.chunks(text, lambda sentence: small_talk.get(sentence.strip())):
        yield _chunk(text, turn, chunk, sort, reading)


def _chunk(text: str, turn: Turn, chunk: chunks.Piece, sort: categories.Sort, reading: Reading) -> _Read:
    words = text[max(chunk.start, chunk.body) : chunk.end].strip()
    if chunk.reason or not _WORD.search(words):
        return chunk.start, chunk.end, None, chunk.reason or "empty"
    bare = words if chunk.code else chunks.plain(words)
    heading = _shown(chunk.context)
    carries = "" if bare.startswith(heading) else heading
    names = None if chunk.code else _names_in(bare, turn, reading)
    found = _proposition(turn, words, carries, sort, "part of an answer", names=names)
    if bare == " ".join(words.split()) or chunk.code:
        return chunk.start, chunk.end, found, ""
    # The encoder was made for prose: it reads the words without the signs of Markdown.
    begin, end = found.words_at
    return chunk.start, chunk.end, replace(found, passage=f"{found.text[:begin]}{bare}{found.text[end:]}"), ""


def _small_talk(text: str, turn: Turn, reading: Reading) -> dict[str, str]:
    """Return the sentences of the first and the last paragraph that say nothing, with the reason of each."""
    found = sentences.spans(text)
    edges = [found[0], *found[-2:]] if len(found) > 2 else found
    reasons = {}
    for start, end in edges:
        said = text[start:end]
        if end - start > _LOOKED_AT:
            continue
        judged = _judged(said, turn, "", reading)
        if judged and all(piece.judgement.keep < 0.1 and piece.judgement.kind in _IDLE for piece in judged):
            reasons[said] = NOT_KEPT[judged[0].judgement.kind]
    return reasons


_IDLE = frozenset({"request", "question", "greeting", "filler", "reaction", "meta"})


# ── documents ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _document(text: str, turn: Turn, reading: Reading) -> Iterator[_Read]:
    """Yield the statements of a document, each under its heading or lead-in.

    Code and tables inside a long text are kept in chunks; a text that is little else was pasted, and its turn keeps it.
    """
    sort = categories.Sort("fact", categories.INFERRED, 0.4, Kind.PROPOSITION)
    is_long = len(text) > reading.weights.document
    found = shapes.blocks(text)
    keeps_all = is_long and _share_of_prose(found) >= _LEAST_PROSE
    threshold = reading.weights.keep_document if is_long else reading.weights.keep
    for chunk in chunks.chunks(
        text, lambda _: None, apart=True, pasted=_pasted(found), may_lead=lambda said: _may_lead(said, turn, reading)
    ):
        heading = _shown(chunk.context)
        said = text[chunk.start : chunk.end]
        if chunk.code and keeps_all and _WORD.search(said):
            carries = "" if said.startswith(heading) else heading
            yield chunk.start, chunk.end, _proposition(turn, said.strip(), carries, sort, reason="part of a document"), ""
        elif chunk.code:
            yield chunk.start, chunk.end, None, f"{_clipped(found, chunk.start, chunk.end)[0].shape}: the turn keeps it"
        elif chunk.reason and chunk.reason != "heading":
            yield chunk.start, chunk.end, None, chunk.reason
        else:
            body = chunk.end if chunk.reason else max(chunk.start, chunk.body)
            for block in _clipped(found, chunk.start, body):
                yield from _above(text, block, turn, reading, alone=bool(chunk.reason))
            for block in _clipped(found, body, chunk.end):
                if block.shape == shapes.HEADING:
                    yield from _above(text, block, turn, reading, alone=False)
                    continue
                judged = _judged(text[block.start : block.end], turn, "", reading)
                yield from _prose(text, block, turn, judged, threshold, heading)


_LEAST_PROSE = 0.25
"""Share of a long text that is prose, from which the code and tables inside it are kept with it."""
_SURELY_SAID = 0.9
"""Probability from which a bold line above other lines is a statement besides."""
_BOLD = re.compile(r"[ \t>]*(?:#{1,6}[ \t]+)?(?P<sign>\*\*|__)?(?P<words>[^\n]*?)(?(sign)(?P=sign))[ \t]*(?:\n|$)")


def _share_of_prose(found: list[shapes.Block]) -> float:
    sizes = [(block.end - block.start, block.shape in (shapes.PROSE, shapes.HEADING)) for block in found]
    return sum(size for size, is_prose in sizes if is_prose) / max(1, sum(size for size, _ in sizes))


def _pasted(found: list[shapes.Block]) -> chunks.Pasted:
    """Return what is no prose: code and tables to be chunked, and the rest with the reason why it is left out."""
    reasons = {shape: f"{shape}: the turn keeps it" for shape in (shapes.LOG, shapes.QUOTE, shapes.FORWARDED)}
    spoken = (shapes.PROSE, shapes.HEADING, shapes.LAYOUT)
    return [(block.start, block.end, reasons.get(block.shape, "")) for block in found if block.shape not in spoken]


def _clipped(found: list[shapes.Block], start: int, end: int) -> list[shapes.Block]:
    """Return the blocks between two places, cut off there."""
    at = max(0, bisect_right(found, start, key=lambda block: block.start) - 1)
    inside = takewhile(lambda block: block.start < end, found[at:])
    clipped = [shapes.Block(max(block.start, start), min(block.end, end), block.shape) for block in inside]
    return [block for block in clipped if block.start < block.end]


def _may_lead(said: str, turn: Turn, reading: Reading) -> bool:
    """Return False for a lead-in that asks for something to be done with what follows, and a bold line that is a statement."""
    if not said.rstrip().endswith(":"):
        return said.lstrip(" \t>").startswith("#") or not _states(said, turn, reading, _SURELY_SAID)
    judged = _judged(said, turn, "", reading)
    return not judged or judged[-1].judgement.kind != "request" or judged[-1].judgement.keep >= reading.weights.keep


def _states(heading: str, turn: Turn, reading: Reading, sure: float) -> bool:
    """Return True for a heading that is a statement, judged without the signs around it, which the model does not know."""
    line = _BOLD.match(heading)
    words = line["words"] if line else ""
    return not words.rstrip().endswith(":") and any(piece.judgement.keep >= sure for piece in _judged(words, turn, "", reading))


def _above(text: str, block: shapes.Block, turn: Turn, reading: Reading, *, alone: bool) -> Iterator[_Read]:
    """Yield the headings and lead-ins above a piece; a bold line, or a heading above nothing, may be a statement."""
    for line in _BOLD.finditer(text, block.start, block.end):
        start, end = line.span("words")
        if not _WORD.search(text, start, end):
            continue
        may_state = block.shape == shapes.HEADING and (alone or line["sign"])
        if may_state and _states(line.group(), turn, reading, _SURELY_TOLD if alone else _SURELY_SAID):
            judged = _judged(text[start:end], turn, "", reading)
            yield from _prose(text, shapes.Block(start, end, shapes.PROSE), turn, judged, reading.weights.keep)
        else:
            yield line.start(), line.end(), None, "heading"


def _shown(context: str) -> str:
    """Return the headings and lead-ins above a piece, those nearest to it, in no more words than a piece may carry."""
    most = PieceWeights().carried_words
    parts = context.split(": ")
    while len(parts) > 1 and len(" ".join(parts).split()) > most:
        del parts[0]
    return " ".join(": ".join(parts).split()[:most])


# ── speech ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _speech(text: str, turn: Turn, previous: Turn | None, reading: Reading) -> Iterator[_Read]:
    other = previous if previous is not None and previous.speaker != turn.speaker else None
    before = redaction.cut(other.text).text if other is not None else ""
    asked = _question_of(before) if other is not None else ""
    threshold, least = _thresholds(turn, other, reading.weights)
    judged: list[tuple[shapes.Block, list[Piece]]] = []
    for block in shapes.blocks(text):
        said, is_prose = text[block.start : block.end], block.shape in (shapes.PROSE, shapes.HEADING)
        judged.append((block, _judged(said, turn, before, reading) if is_prose else []))
    best = max((piece.judgement.keep for _, found in judged for piece in found), default=0.0)
    threshold = best if least <= best < threshold else threshold
    for block, found in judged:
        if block.shape not in (shapes.PROSE, shapes.HEADING):
            yield block.start, block.end, None, f"{block.shape}: the turn keeps it"
            continue
        for one in _prose(text, block, turn, found, threshold, asked=asked):
            yield one
            if one[2] is not None:
                asked = ""


def _thresholds(turn: Turn, other: Turn | None, weights: StatementWeights) -> tuple[float, float]:
    """Return the probability from which a piece is kept, and that from which the best piece of the turn is kept in any case."""
    if is_assistant(turn.speaker):
        return weights.keep_answer, 1.0
    with_people = named(turn.speaker) != "the user" and (other is None or not is_assistant(other.speaker))
    return (weights.keep_between_people, weights.keep_one) if with_people else (weights.keep, 1.0)


def _judged(said: str, turn: Turn, before: str, reading: Reading) -> list[Piece]:
    speaker = "assistant" if is_assistant(turn.speaker) else turn.speaker  # the model knows roles, and no names of models
    return pieces(reading.reader, speaker, before, said, reading.borders)


def _prose(
    text: str, block: shapes.Block, turn: Turn, found: list[Piece], threshold: float, heading: str = "", asked: str = ""
) -> Iterator[_Read]:
    """Yield the pieces of a stretch of prose, whose places are counted from its beginning."""
    said, at = text[block.start : block.end], block.start
    language = language_of(said)
    for piece in _with_captions(said, found, threshold):
        start, end = piece.start + _mark(text, at + piece.start, at + piece.end), piece.end
        words = said[start:end]
        if not _WORD.search(words):
            yield at + start, at + end, None, "empty"
            continue
        judgement = piece.judgement
        is_stated = judgement.keep >= threshold
        if not is_stated and not categories.asks_to_remember(words, turn.speaker):
            yield at + start, at + end, None, NOT_KEPT.get(_idle_kind(judgement), "says nothing that lasts")
            continue
        own = language_of(words) or language
        sort = categories.sorted_by(words, judgement, own, turn.speaker)
        carries = piece.carries or (heading if heading and not words.startswith(heading) else "")
        reason = f"{_KEPT[sort.category]} ({judgement.keep:.2f})" if is_stated else "was asked to be remembered"
        made = _proposition(turn, words, carries, sort, reason, judgement.tense, own, asked, piece.names)
        yield at + start, at + end, made, ""
        asked = ""


def _idle_kind(judgement: Judgement) -> str:
    return max(NOT_KEPT, key=lambda kind: judgement.kinds.get(kind, 0.0)) if judgement.kind in NOT_KEPT else ""


def _mark(text: str, start: int, end: int) -> int:
    """Return the length of a bullet or a number before the words of an item.

    A number followed by a point counts only in a list, beside the number before or after it: "1. FC Köln" is a name.
    """
    found = _MARK.match(text, start, end)
    if found is None or found.end() == end:
        return 0
    number = found["number"]
    if number is None:
        return found.end() - start
    bare = len(found["before"])
    if text[text.rfind("\n", 0, start) + 1 : start].strip():
        return bare  # inside a line
    near = [*_NUMBERED.findall(text, max(0, start - _NEAR), start), *_NUMBERED.findall(text, end, end + _NEAR)]
    following = _WORDS.match(text, found.end(), end)
    is_date = following is not None and following.group().lower() in sentences.ORDINAL_MONTHS
    return found.end() - start if not is_date and {str(int(number) - 1), str(int(number) + 1)} & set(near) else bare


def _with_captions(said: str, found: list[Piece], threshold: float) -> list[Piece]:
    """Join a caption in brackets ("[shares a photo of a lake]") to a kept piece before it; else it is kept by itself."""
    kept: list[Piece] = []
    for piece in found:
        last = kept[-1] if kept else None
        if not _CAPTION.match(said[piece.start : piece.end]):
            kept.append(piece)
        elif last is not None and last.judgement.keep >= threshold:
            kept[-1] = joined(last, piece, last.judgement)
        else:
            kept.append(replace(piece, judgement=replace(piece.judgement, keep=max(piece.judgement.keep, threshold))))
    return kept


def _question_of(said: str) -> str:
    """Return the last question of a message, if the message ends with one that is worth repeating."""
    if "?" not in said and "？" not in said and "؟" not in said:
        return ""
    tail = said[-4 * _QUESTION_SIZE :]
    found = [tail[low:high] for low, high in sentences.spans(tail)]
    if len(said) > len(tail):
        found = found[1:]  # cut off at the front
    for sentence in reversed([part for part in found if not _CAPTION.match(part)][-2:]):
        if _QUESTION_MARK.search(sentence[-12:]) and (len(sentence.split()) >= _QUESTION_WORDS or not sentence.isascii()):
            return " ".join(sentence.split())[-_QUESTION_SIZE:]
    return ""


# ── statements ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _proposition(
    turn: Turn,
    words: str,
    carries: str,
    sort: categories.Sort,
    reason: str,
    tense: str = "none",
    language: str = "",
    asked: str = "",
    names: Sequence[Name] | None = None,
) -> Proposition:
    """Return a statement: its words as they stand, with the speaker before them and what they carry behind them."""
    who = named(turn.speaker)
    head = f"{who[:1].upper()}{who[1:]}: " if who.startswith("the ") else f"{who}: "
    text = f"{head}{words} [{carries}]" if carries else f"{head}{words}"
    is_part = sort.kind is Kind.PROPOSITION and is_assistant(turn.speaker)
    event = None if is_part else _event(words, turn, tense, language)  # a part of an answer tells of many things
    return Proposition(
        text=text,
        words_at=(len(head), len(head) + len(words)),
        passage=f'{text} (asked: "{asked}")' if asked else "",
        reason=reason,
        speaker=turn.speaker,
        category=sort.category,
        confidence=sort.confidence,
        importance=sort.importance,
        kind=sort.kind,
        happened_at=event[0] if event else None,
        happened_until=event[1] if event else None,
        valid_from=began(words, turn.at, language=language) if turn.at is not None else None,
        mentions=None if names is None else mentions(words, turn.speaker, names),
    )


def _event(words: str, turn: Turn, tense: str, language: str) -> tuple[datetime, datetime] | None:
    if turn.at is None:
        return None
    return resolve(words, turn.at, language=language, tense=tense)
