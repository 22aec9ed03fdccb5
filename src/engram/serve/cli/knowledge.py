"""Display of how well something is known on a terminal."""

from __future__ import annotations

from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec
from engram.serve.operations.knowledge import KnowledgeReport
from engram.values.entities import Knowledge, KnowledgeLevel

_TENTHS = 10
_COLOURS = {KnowledgeLevel.CONFIDENT: "green", KnowledgeLevel.UNCERTAIN: "yellow", KnowledgeLevel.UNKNOWN: "red"}


def _knows(result: CommandResult) -> None:
    report: KnowledgeReport = result.value
    if result.given.subject is not None:
        _known(report.domains[0])
        return
    if report.domains:
        rows = [[domain.subject, bar(domain), domain.level.value, domain.kind, _basis(domain)] for domain in report.domains]
        terminal.table(["subject", "known", "level", "kind", "from"], rows)
    result.caller.remark(f"{terminal.many(report.memories, 'memory', 'memories')}. {report.said}")


def _known(knowledge: Knowledge) -> None:
    terminal.line(f"{knowledge.subject}  {bar(knowledge)}  {knowledge.level.value}", style=_COLOURS[knowledge.level])
    terminal.line(knowledge.said)
    rows = [("strong", "\n".join(knowledge.strong)), ("holes", "\n".join(gap.text for gap in knowledge.holes))]
    terminal.pairs([*rows, ("evidence", " ".join(knowledge.evidence))])


def bar(knowledge: Knowledge) -> str:
    """Return the confidence as a bar of tenths."""
    full = round(_TENTHS * knowledge.confidence)
    return "#" * full + "." * (_TENTHS - full)


def _basis(knowledge: Knowledge) -> str:
    figures = knowledge.figures
    marks = ((figures.contested, "in dispute"), (figures.stale, "old"), (len(knowledge.holes), "open"))
    notes = [f"{number} {label}" for number, label in marks if number]
    return ", ".join([terminal.many(figures.memories, "memory", "memories"), f"last {terminal.when(figures.last)[:10]}", *notes])


COMMANDS = {"knows": CommandSpec(show=_knows, waits_for_vectors=True)}
