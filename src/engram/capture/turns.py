"""Turns as they are heard: cleaned, read as statements, and a reason for every piece that is none. Pure."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence

from engram.capture import categories, redaction, screen
from engram.capture.duplicates import Candidate
from engram.capture.pieces import pieces
from engram.capture.statements import NOT_KEPT, Reading, Statement, propositions
from engram.guard import injection, secrets
from engram.settings import Settings
from engram.text.terms import digest_of, terms
from engram.types import Fate, Proposition, Sensitivity, Turn, Verdict
from engram.values.frozen import mutable, replace

Previous = MutableMapping[str, Turn | None]
"""The last turn of each session."""

_URGENT = frozenset({"correction", "decision", "commitment", "preference", "principle"})
"""Categories of statements that a language model reads at once."""
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


def hear(said: Sequence[Turn], previous: Previous, settings: Settings, reading: Reading, *, scan: bool = False) -> Heard:
    """Read turns that have their time and session. What must not be kept is out of all that goes on from here.

    `scan`: find out what should not wait, for when something waits at all.
    """
    heard = Heard([], [], [], (), ())
    notes: dict[str, None] = {}
    urgent: dict[str, None] = {}
    for number, turn in enumerate(said):
        left = redaction.cut(turn.text, catch_secrets=settings.catch_secrets)
        clean = turn if left.text == turn.text else replace(turn, text=left.text)
        session = turn.session or ""
        seen = screen.judged(left.text, settings)
        if seen.verdict is injection.InjectionVerdict.REJECTED:
            heard.turns.append(replace(turn, text=screen.REFUSED))
            heard.verdicts.append(Verdict(Fate.DROPPED, screen.why(seen), number, 0, len(turn.text)))
            notes["what reads as an attack on the model was refused."] = None
            previous[session] = None  # what is said next answers it, not the turn before it
            continue
        found, dropped = propositions(turn, reading, previous=previous.get(session), number=number, left=left)
        heard.verdicts += dropped
        clean = replace(clean, tier=screen.tier_of(clean.text, settings))
        found = [_within_tier(one, clean, previous.get(session)) for one in found]
        flagged = screen.marks(seen, [one.proposition.text for one in found], settings)
        heard.candidates += [Candidate(one, number, flagged=mark) for one, mark in zip(found, flagged, strict=True)]
        previous[session] = clean if session else None
        heard.turns.append(clean)
        if any(flagged):
            notes["what may be an attack on the model was kept, and is left out of answers."] = None
        notes |= dict.fromkeys(left_out(left))
        if scan and any(_is_urgent(one.proposition) for one in found):
            urgent[session] = None
    heard.notes, heard.urgent = tuple(notes), tuple(urgent)
    return heard


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
    return proposition.category in _URGENT or categories.REMEMBER.search(proposition.words) is not None


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
