"""How what is said and asked looks on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from engram.serve.cli import show
from engram.serve.cli.commands import Done, Face
from engram.serve.operations.keeping import ObserveInput
from engram.types import Evidence, Hit, LeftOut, Outcome, Reasoning, Recall, Report, Verdict

_LEFT_OUT = 10
_MEANING = {
    Outcome.ANSWERED: "",
    Outcome.NOTHING_KNOWN: ": nothing is known about this",
    Outcome.BELOW_THRESHOLD: ": nothing that is known comes near enough",
    Outcome.DEGRADED: ": not all that usually answers did",
}


# ── asking ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _recalled(done: Done) -> None:
    from engram.recall.search import COURTESY  # loaded by now; help does without

    found: Recall = done.value
    if done.given.explain:
        _explain(found.hits)
        _left_out(found.left_out)
    elif found.hits:
        show.table(["score", "trust", "when", "id", "text"], [_row(hit) for hit in found], wrap=True)
    if found.quality.strategy != COURTESY:  # else the note says all there is to say
        done.asked.remark(_outcome(found))
    for note in found.notes:
        done.asked.remark(f"note: {note}")


def _explained(done: Done) -> None:
    show.line(f"{done.value.stage.value}: {done.value}")


def _reasoned(done: Done) -> None:
    found: Reasoning = done.value
    _branch(found.evidence, "")
    for gap in found.gaps:
        done.asked.remark(f"gap: nothing is known to {show.one_line(gap)!r}")
    for note in found.notes:
        done.asked.remark(f"note: {note}")


def _branch(one: Evidence, indent: str) -> None:
    show.line(f"{indent}{show.one_line(one.question)}  ({show.one_line(one.why)})", style="bold")
    for hit in one.hits:
        show.line(f"{indent}  {hit.score:.2f}  {hit.memory.id}  {show.one_line(hit.memory.text)}")
    if one.missing:
        show.line(f"{indent}  not found: {show.one_line(', '.join(one.missing))}")
    for part in one.parts:
        _branch(part, indent + "    ")


def _row(hit: Hit) -> list[str]:
    memory = hit.memory
    return [f"{hit.score:.2f}", f"{hit.trust.composite:.2f}", _when(hit), memory.id, memory.text]


def _when(hit: Hit) -> str:
    return show.when(hit.memory.happened_at or hit.memory.learned_at)


def _explain(hits: Sequence[Hit]) -> None:
    for number, hit in enumerate(hits):
        trust = hit.trust
        parts = f"relevance {trust.relevance:.2f}, accuracy {trust.accuracy:.2f}, freshness {trust.freshness:.2f}"
        if number:
            show.line()
        show.line(show.one_line(hit.memory.text), style="bold")
        rows = [
            ("score", f"{hit.score:.2f}"),
            ("trust", f"{trust.composite:.2f} ({parts}, utility {trust.utility:.2f})"),
            ("when", _when(hit)),
            ("id", hit.memory.id),
            ("why", str(hit.why)),
        ]
        show.pairs(rows, indent="  ")


def _left_out(dropped: Sequence[LeftOut]) -> None:
    """The nearest of what is no hit."""
    if dropped:
        show.line()
        show.line("not in the answer", style="bold")
        rows = [[f"{one.score:.2f}", one.stage.value, one.id, one.reason] for one in dropped[:_LEFT_OUT]]
        show.table(["score", "stage", "id", "why"], rows, wrap=True)


def _outcome(found: Recall) -> str:
    counts = [show.many(len(found), "hit")] if found.hits else []
    counts += [f"{found.hidden:,} held back"] if found.hidden else []
    counts += [f"{found.quality.tokens:,} tokens"] if found.quality.tokens else []
    nearest = "; the nearest is shown" if found.hits and found.outcome is Outcome.BELOW_THRESHOLD else ""
    return f"{found.outcome.value}{_MEANING[found.outcome]}{nearest}" + (f" ({', '.join(counts)})" if counts else "") + "."


# ── hearing ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _observed(done: Done) -> None:
    report: Report = done.value
    if report.verdicts:
        show.table(["what", "id", "why", "said"], [[*_fate(one), _piece(done.given, one)] for one in report.verdicts], wrap=True)
    _ingested(done)


def _fate(one: Verdict) -> tuple[str, str, str]:
    return one.fate.value, one.memory, one.reason


def _piece(given: ObserveInput, one: Verdict) -> str:
    exchange = [text for text in (given.user, given.assistant) if text is not None]
    said = [turn.text for turn in given.turns] or exchange or [given.text or ""]
    return said[one.turn][one.start : one.end]


def _ingested(done: Done) -> None:
    counts = done.value.counts
    known = f", {counts['known']:,} known before" if counts.get("known") else ""
    done.asked.remark(
        f"{show.many(counts['turns'], 'turn')}{known}: {counts['kept']:,} kept, {counts['merged']:,} merged,"
        f" {counts['dropped']:,} dropped."
    )
    for note in done.value.notes:
        done.asked.remark(f"note: {note}")


FACES = {
    "recall": Face(show=_recalled, warms=True),
    "reason": Face(show=_reasoned, warms=True),
    "explain": Face(show=_explained, warms=True),
    "observe": Face(show=_observed, more="A vault that is missing is made.", makes=True, everywhere=False),
    "ingest": Face(show=_ingested, more="A vault that is missing is made.", makes=True, everywhere=False),
}
