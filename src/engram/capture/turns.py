"""Turns as they are heard: cleaned, read as statements, and a reason for every piece that is none. Pure."""

from __future__ import annotations

import os
from collections.abc import MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from engram.capture import categories, redaction, screen
from engram.capture.duplicates import Candidate
from engram.capture.pieces import pieces
from engram.capture.statements import NOT_KEPT, Reading, Statement, propositions
from engram.guard import injection, secrets
from engram.settings import Settings
from engram.text.terms import digest_of, terms
from engram.types import Fate, Memory, Proposition, Sensitivity, Turn, Verdict
from engram.values.frozen import field, frozen, mutable, replace

Previous = MutableMapping[str, Turn | None]
"""The last turn of each session."""

_URGENT = frozenset({"correction", "decision", "commitment", "preference", "principle"})
"""Categories of statements that a language model reads at once."""
_READ_TOGETHER = 4  # turns from which a batch is read on several threads
_THOUGHT_WORDS = 3  # a thought of fewer says nothing to whoever was not there


@mutable
class Heard:
    """Turns as they may be archived, their statements, the dropped pieces, and notes for the report."""

    turns: list[Turn]
    candidates: list[Candidate]
    verdicts: list[Verdict]
    notes: tuple[str, ...]
    urgent: tuple[str, ...]  # sessions in which something was said that should not wait
    said: bool = True  # else these are thoughts, and there are no turns to archive
    imported: bool = False  # from a file: quarantined, and no witnesses
    retracted: list[Candidate | Memory] = field(default_factory=list)  # statements that their speaker took back


def hear(said: Sequence[Turn], previous: Previous, settings: Settings, reading: Reading, *, scan: bool = False) -> Heard:
    """Read turns that have their time and session. What must not be kept is out of all that goes on from here.

    `scan`: find out what should not wait, for when something waits at all.
    """
    heard = Heard([], [], [], (), ())
    notes: dict[str, None] = {}
    urgent: dict[str, None] = {}
    screened = [_screened(turn, number, previous, settings) for number, turn in enumerate(said)]
    for number, (one, (found, dropped)) in enumerate(zip(screened, _read_all(screened, reading), strict=True)):
        heard.turns.append(one.kept)
        heard.verdicts += dropped
        if one.refused:
            notes["what reads as an attack on the model was refused."] = None
            continue
        found = [_within_tier(statement, one.kept, one.previous) for statement in found]
        flagged = screen.marks(one.seen, [statement.proposition.text for statement in found], settings)
        heard.candidates += [
            Candidate(statement, number, flagged=mark, at=one.turn.at) for statement, mark in zip(found, flagged, strict=True)
        ]
        if any(flagged):
            notes["what may be an attack on the model was kept, and is left out of answers."] = None
        notes |= dict.fromkeys(left_out(one.left))
        if scan and any(_is_urgent(statement.proposition) for statement in found):
            urgent[one.turn.session or ""] = None
    heard.notes, heard.urgent = tuple(notes), tuple(urgent)
    return heard


@frozen
class _Screened:
    """A turn before it is read: its place, what is left of it after redaction, the form that is stored, and the turn before."""

    turn: Turn
    number: int
    left: redaction.Cut
    seen: injection.Assessment
    kept: Turn
    previous: Turn | None
    refused: bool = False


def _screened(turn: Turn, number: int, previous: Previous, settings: Settings) -> _Screened:
    """Redact and screen a turn, and make it the previous one of its session."""
    left = redaction.cut(turn.text, catch_secrets=settings.catch_secrets)
    session = turn.session or ""
    seen = screen.judged(left.text, settings)
    if seen.verdict is injection.InjectionVerdict.REJECTED:
        before, previous[session] = previous.get(session), None  # the next turn answers this one, not the one before it
        return _Screened(turn, number, left, seen, replace(turn, text=screen.REFUSED), before, refused=True)
    clean = turn if left.text == turn.text else replace(turn, text=left.text)
    clean = replace(clean, tier=screen.tier_of(clean.text, settings))
    before, previous[session] = previous.get(session), clean if session else None
    return _Screened(turn, number, left, seen, clean, before)


def _read_all(screened: Sequence[_Screened], reading: Reading) -> list[tuple[list[Statement], list[Verdict]]]:
    """Return statements and verdicts of each turn. Many turns are spread over the cores: the model runs outside Python's lock."""

    def read(one: _Screened) -> tuple[list[Statement], list[Verdict]]:
        if one.refused:
            return [], [Verdict(Fate.DROPPED, screen.why(one.seen), one.number, 0, len(one.turn.text))]
        return propositions(one.turn, reading, previous=one.previous, number=one.number, left=one.left)

    if len(screened) < _READ_TOGETHER:
        return [read(one) for one in screened]
    with ThreadPoolExecutor(os.cpu_count() or 1, "engram-read") as pool:
        return list(pool.map(read, screened))


def muse(thoughts: Sequence[Turn], settings: Settings, reading: Reading) -> Heard:
    """Statements that stand by themselves already, each with its time and session; what says nothing is dropped with a reason."""
    heard = Heard([], [], [], (), (), said=False)
    for number, turn in enumerate(thoughts):
        text = redaction.cut(turn.text, catch_secrets=settings.catch_secrets).text.strip()
        heard.turns.append(turn)
        reason = _idle(turn.speaker, text, reading) if len(terms(text)) >= _THOUGHT_WORDS else "says too little"
        seen = screen.judged(text, settings)
        if seen.verdict is not injection.InjectionVerdict.CLEAN:
            reason = screen.why(seen)
        if reason is not None:
            heard.verdicts.append(Verdict(Fate.DROPPED, reason, number, 0, len(turn.text)))
            continue
        sort = categories.sort(text)
        statement = Statement(
            Proposition(
                text=text,
                reason="was in mind",
                speaker=turn.speaker,
                category=sort.category,
                confidence=sort.confidence,
                importance=sort.importance,
                kind=sort.kind,
            ),
            ((0, len(turn.text)),),
        )
        heard.candidates.append(Candidate(statement, number, quoted=(digest_of(text),), is_echo=True))
    return heard


def _is_urgent(proposition: Proposition) -> bool:
    return proposition.category in _URGENT or categories.asks_to_remember(proposition.words, proposition.speaker)


def _within_tier(statement: Statement, turn: Turn, previous: Turn | None) -> Statement:
    """Return the statement without the words of other turns where those are kept more closely than it is."""
    proposition = statement.proposition
    closed = [one for one in (turn, previous) if one is not None and one.tier is not Sensitivity.CLEARTEXT]
    if not closed:
        return statement
    if previous in closed and proposition.carries and proposition.carries not in " ".join(turn.text.split()):
        proposition = replace(proposition, text=proposition.text[: proposition.words_at[1]])
    return replace(statement, proposition=replace(proposition, passage=""))


def _idle(speaker: str, text: str, reading: Reading) -> str | None:
    """Return the reason why a thought says nothing; None if it states something."""
    found = pieces(reading.reader, speaker, "", text, reading.borders)
    best = max(found, key=lambda piece: piece.judgement.keep, default=None)
    if best is None:
        return "says too little"
    return None if best.judgement.keep >= reading.weights.keep else NOT_KEPT.get(best.judgement.kind, "says nothing that lasts")


def left_out(left: redaction.Cut) -> list[str]:
    """A sentence for each sort of secret that was taken out."""
    return [f"{secrets.NAMES[sort]} was left out." for sort in dict.fromkeys(p.secret for p in left.removed) if sort]
