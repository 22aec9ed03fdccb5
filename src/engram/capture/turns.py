"""Turns as they are heard: cleaned, read as statements, and a reason for every piece that is none. Pure."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence

from engram.capture import categories, filler, priority, redaction, screen
from engram.capture.duplicates import Candidate
from engram.capture.statements import Statement, propositions
from engram.guard import injection, secrets
from engram.settings import Settings
from engram.text.terms import digest_of, terms
from engram.types import Fate, Proposition, Turn, Verdict
from engram.values.frozen import mutable, replace

Previous = MutableMapping[str, Turn | None]
"""The last turn of each session."""

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


def hear(said: Sequence[Turn], previous: Previous, settings: Settings, *, scan: bool = False) -> Heard:
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
            continue
        found, dropped = propositions(turn, previous=previous.get(session), number=number, left=left)
        heard.verdicts += dropped
        clean = replace(clean, tier=screen.tier_of(clean.text, settings))
        flagged = screen.marks(seen, [one.proposition.text for one in found], settings)
        heard.candidates += [Candidate(one, number, flagged=mark) for one, mark in zip(found, flagged, strict=True)]
        previous[session] = clean if session else None
        heard.turns.append(clean)
        if any(flagged):
            notes["what may be an attack on the model was kept, and is left out of answers."] = None
        notes |= dict.fromkeys(left_out(left))
        if scan and priority.scan(clean.text, clean.speaker).level is priority.Level.HIGH:
            urgent[session] = None
    heard.notes, heard.urgent = tuple(notes), tuple(urgent)
    return heard


def muse(thoughts: Sequence[Turn], settings: Settings) -> Heard:
    """Statements that stand by themselves already, each with its time and session; what says nothing is dropped with a reason."""
    heard = Heard([], [], [], (), (), said=False)
    for number, turn in enumerate(thoughts):
        text = redaction.cut(turn.text, catch_secrets=settings.catch_secrets).text.strip()
        heard.turns.append(turn)
        reason = filler.reason(text) if len(terms(text)) >= _THOUGHT_WORDS else "says too little"
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
                said=text,
                speaker=turn.speaker,
                category=sort.category,
                confidence=sort.confidence,
                importance=sort.importance,
                kind=sort.kind,
            ),
            ((0, len(turn.text)),),
        )
        heard.candidates.append(Candidate(statement, number, quoted=digest_of(text)))
    return heard


def left_out(left: redaction.Cut) -> list[str]:
    """A sentence for each sort of secret that was taken out."""
    return [f"{secrets.NAMES[sort]} was left out." for sort in dict.fromkeys(p.secret for p in left.removed) if sort]
