"""Display of answers (recall, explain, reason) on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec
from engram.types import Evidence, Hit, LeftOut, Outcome, Reasoning, Recall

_SHOWN_LEFT_OUT = 10
_MEANING = {
    Outcome.ANSWERED: "",
    Outcome.NOTHING_KNOWN: ": nothing is known about this",
    Outcome.BELOW_THRESHOLD: ": nothing that is known comes near enough",
    Outcome.DEGRADED: ": a part of the search was not available",
}


# ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _recalled(result: CommandResult) -> None:
    from engram.recall.searcher import COURTESY  # late: loaded by now, and help does without

    answer: Recall = result.value
    if result.given.explain:
        _explain(answer.hits)
        _left_out(answer.left_out)
    elif answer.hits:
        terminal.table(["score", "trust", "when", "id", "text"], [_row(hit) for hit in answer], wrap=True)
    if answer.quality.strategy != COURTESY:  # for a courtesy the note says enough
        result.caller.remark(_outcome(answer))
    for note in answer.notes:
        result.caller.remark(f"note: {note}")


def _explained(result: CommandResult) -> None:
    terminal.line(f"{result.value.stage.value}: {result.value}")


def _reasoned(result: CommandResult) -> None:
    """Print the answer, if there is one, then each part of the question with its hits, then what is not known."""
    reasoning: Reasoning = result.value
    if reasoning.answer:
        terminal.line(reasoning.answer)
        terminal.line()
    _branch(reasoning.evidence, "", set())
    for gap in reasoning.gaps:
        terminal.line(f"not known: {terminal.one_line(gap)}")
    for note in reasoning.notes:
        result.caller.remark(f"note: {note}")


def _branch(evidence: Evidence, number: str, shown: set[str]) -> None:
    """Print a question with its parts and its hits; of the whole question, those that no part has shown.

    A part that a name in the hits leads to stands below them, every other part above.
    """
    indent = "  " * number.count(".")
    bridge = f"  (over {terminal.one_line(evidence.bridge)})" if evidence.bridge else ""
    terminal.line(f"{indent}{number}{' ' if number else ''}{terminal.one_line(evidence.question)}{bridge}", style="bold")
    numbered = [(f"{number}{place}.", part) for place, part in enumerate(evidence.parts, 1)]
    for place, part in numbered:
        if not part.bridge:
            _branch(part, place, shown)
    hits = [hit for hit in evidence.hits if number or hit.memory.id not in shown]
    if hits and shown and not number:
        terminal.line("  also near the whole question:")
    for hit in hits:
        terminal.line(f"{indent}  {_when(hit)[:10]}  {terminal.one_line(hit.memory.text)}  [{hit.memory.id}]")
    shown |= {hit.memory.id for hit in evidence.hits}
    for place, part in numbered:
        if part.bridge:
            _branch(part, place, shown)


def _row(hit: Hit) -> list[str]:
    memory = hit.memory
    return [f"{hit.score:.2f}", f"{hit.trust.composite:.2f}", _when(hit), memory.id, terminal.marked(memory)]


def _when(hit: Hit) -> str:
    return terminal.when(hit.memory.happened_at or hit.memory.learned_at)


def _explain(hits: Sequence[Hit]) -> None:
    for number, hit in enumerate(hits):
        trust = hit.trust
        parts = f"relevance {trust.relevance:.2f}, accuracy {trust.accuracy:.2f}, freshness {trust.freshness:.2f}"
        if number:
            terminal.line()
        terminal.line(terminal.one_line(hit.memory.text), style="bold")
        rows = [
            ("score", f"{hit.score:.2f}"),
            ("trust", f"{trust.composite:.2f} ({parts}, utility {trust.utility:.2f})"),
            ("when", _when(hit)),
            ("id", hit.memory.id),
            ("why", str(hit.why)),
        ]
        terminal.pairs(rows, indent="  ")


def _left_out(dropped: Sequence[LeftOut]) -> None:
    """Print the nearest candidates that are not in the answer, with the stage that dropped each."""
    if dropped:
        terminal.line()
        terminal.line("not in the answer", style="bold")
        nearest = dropped[:_SHOWN_LEFT_OUT]
        rows = [[f"{candidate.score:.2f}", candidate.stage.value, candidate.id, candidate.reason] for candidate in nearest]
        terminal.table(["score", "stage", "id", "why"], rows, wrap=True)


def _outcome(answer: Recall) -> str:
    counts = [terminal.many(len(answer), "hit")] if answer.hits else []
    counts += [f"{answer.hidden:,} held back"] if answer.hidden else []
    counts += [f"{answer.quality.tokens:,} tokens"] if answer.quality.tokens else []
    nearest = "; the nearest is shown" if answer.hits and answer.outcome is Outcome.BELOW_THRESHOLD else ""
    return f"{answer.outcome.value}{_MEANING[answer.outcome]}{nearest}" + (f" ({', '.join(counts)})" if counts else "") + "."


COMMANDS = {
    "recall": CommandSpec(show=_recalled, waits_for_vectors=True),
    "reason": CommandSpec(show=_reasoned, waits_for_vectors=True),
    "explain": CommandSpec(show=_explained, waits_for_vectors=True),
}
