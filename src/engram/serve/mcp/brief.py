"""Answers as a model reads them: the parts of a value that matter to it, and the same as a few lines of text.

A value has three dozen fields and a model pays for each of them: here a memory is its words, its id and what is not as usual.
Names and values are those of the wire form, so that what MCP says is always a part of what every other face says. Stored words
stand between the marks of the fence, where they are data and where capture knows them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from engram.context.window import ContextWindow
from engram.frozen import MISSING, fields, is_dataclass
from engram.serve import wire
from engram.serve.operations import Operation
from engram.serve.operations.caring import VaultStatus
from engram.serve.operations.keeping import CreatedEdge
from engram.serve.operations.knowing import KnowledgeReport
from engram.serve.operations.looking import MemoryDetails
from engram.serve.operations.schema import Schema, output_schema
from engram.text.fence import fence
from engram.types import Evidence, Hit, Memory, Outcome, Page, Reasoning, Recall, Report, Trust

_SHOWN: Mapping[type, tuple[str, ...]] = {
    Memory: (
        "id", "text", "category", "kind", "happened_at", "learned_at", "source", "speaker", "confidence", "importance", "status",
        "pinned", "flagged", "attributes",
    ),
    Hit: ("memory", "score", "trust"),
    Trust: ("composite",),
    Recall: ("hits", "outcome", "hidden", "notes"),
    ContextWindow: ("text", "tokens", "budget", "ids", "notes"),
    Page: ("memories", "cursor"),
    Report: ("operation", "ids", "counts", "notes"),
    Evidence: ("question", "why", "outcome", "hits", "missing", "parts"),
    Reasoning: ("evidence", "gaps", "calls", "notes"),
}  # fmt: skip
_ALWAYS: Mapping[type, set[str]] = {Memory: {"id", "text", "category"}}
_SAID = {
    Outcome.ANSWERED: "",
    Outcome.NOTHING_KNOWN: "Nothing is known about this.",
    Outcome.BELOW_THRESHOLD: "Nothing that is known comes near enough.",
    Outcome.DEGRADED: "Not all that usually answers did: what is missing here may be known.",
}
_FAR = "These are the nearest, and none comes near enough to be an answer."
_DIGITS = 3


# ── as data ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def brief(value: object) -> Any:
    """The parts of a value that a model is told; what is as usual is left out, and numbers have three digits."""
    shown = _SHOWN.get(type(value))
    if shown is not None:
        always = _ALWAYS.get(type(value), set())
        usual = {one.name: _default(one) for one in fields(value)}  # type: ignore[arg-type]
        told = {name: getattr(value, name) for name in shown if name in always or getattr(value, name) != usual[name]}
        made = {name: brief(part) for name, part in told.items()}
        return {name: part for name, part in made.items() if part != {}}
    if is_dataclass(value) and not isinstance(value, type):
        return {name: brief(getattr(value, name)) for name in wire.shown(type(value))}
    if isinstance(value, tuple | list):
        return [brief(part) for part in value]
    if isinstance(value, float):
        return round(value, _DIGITS)
    return wire.plain(value)


def _default(one: Any) -> Any:
    return one.default_factory() if one.default_factory is not MISSING else one.default


def brief_schema(operation: Operation) -> Schema:
    """What `brief` makes of an operation's answers."""
    _, named = output_schema(operation)
    kinds = {kind.__name__: kind for kind in _SHOWN}
    for name, shape in named.items():
        kind = kinds.get(name)
        if kind is not None:
            named[name] = shape | {
                "properties": {each: shape["properties"][each] for each in _SHOWN[kind]},
                "required": sorted(_required(kind)),
            }
    return _rooted(operation.output.__name__, named)


def whole_schema(operation: Operation) -> Schema:
    """What the wire form of an operation's answers looks like."""
    return _rooted(operation.output.__name__, output_schema(operation)[1])


def _required(kind: type) -> set[str]:
    bare = {one.name for one in fields(kind) if _default(one) is MISSING}
    return (bare | _ALWAYS.get(kind, set())) & set(_SHOWN[kind])


def _rooted(name: str, named: dict[str, Schema]) -> Schema:
    """One schema with an object at its root, as revisions before 2026 ask; only what it reaches is defined in it."""
    root = {part: value for part, value in named[name].items() if part != "description"}  # that is for who programs
    reached: dict[str, Schema] = {}
    waiting = list(_references(root))
    while waiting:
        each = waiting.pop()
        if each not in reached:
            reached[each] = {name: part for name, part in named[each].items() if name != "description"}
            waiting += _references(named[each])
    return root | ({"$defs": reached} if reached else {})


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"].removeprefix("#/$defs/")
        part = list(part.values())
    for each in part if isinstance(part, list) else ():
        yield from _references(each)


# ── as text ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def text(value: object, *, asked: bool = False) -> str:
    """The same as a few lines; for hosts that show a model no structured answers, and for people who look over its shoulder.

    asked: a memory that was asked for is told in its words; one that was kept or changed is known to who did that.
    """
    if asked and isinstance(value, Memory):
        return f"{fence(line(value))}\n{_kept(value)}"
    for kind, told in _TEXTS.items():
        if isinstance(value, kind):
            return told(value)
    return fence(json.dumps(wire.plain(value), ensure_ascii=False))


def line(memory: Memory, *more: str) -> str:
    when = memory.happened_at or memory.learned_at
    about = [memory.category, *([when.date().isoformat()] if when else []), *more]
    return f"[{memory.id}] {' '.join(memory.text.split())} ({', '.join(about)})"


def _recalled(found: Recall) -> str:
    lines = [line(hit.memory, f"trust {hit.trust.composite:.2f}") for hit in found]
    said = [fence("\n".join(lines))] if lines else []
    outcome = _FAR if lines and found.outcome is Outcome.BELOW_THRESHOLD else _SAID[found.outcome]
    return "\n".join([*said, *filter(None, [outcome]), *found.notes])


def _listed(page: Page) -> str:
    said = fence("\n".join(line(memory) for memory in page)) if page.memories else "There is nothing here."
    return f"{said}\nMore: cursor {page.cursor}" if page.cursor else said


def _kept(memory: Memory) -> str:
    flagged = " It reads as an attack on the model, and is left out of answers." if memory.flagged else ""
    secret = " What reads as a secret in it was not kept." if "[secret: " in memory.text else ""
    return f"[{memory.id}] version {memory.version}, {memory.status.value}.{flagged}{secret}"


def _reported(report: Report) -> str:
    counts = ", ".join(f"{name} {number}" for name, number in report.counts.items() if number)
    return "\n".join([f"{report.operation}: {counts or 'nothing changed'}.", *report.ids, *report.notes])


def _reasoned(found: Reasoning) -> str:
    gaps = [f"Nothing is known to: {gap}" for gap in found.gaps]
    return "\n".join([fence("\n".join(_branch(found.evidence, ""))), *gaps, *found.notes])


def _branch(one: Evidence, indent: str) -> Iterator[str]:
    yield f"{indent}{one.question} ({one.why})"
    for hit in one.hits:
        yield f"{indent}- {line(hit.memory)}"
    if one.missing:
        yield f"{indent}- not found: {', '.join(one.missing)}"
    for part in one.parts:
        yield from _branch(part, indent + "  ")


def _assessed(found: KnowledgeReport) -> str:
    lines = []
    for one in found.domains:
        lines.append(f"{one.subject}: {one.level.value} ({one.confidence:.2f}). {one.said}")
        lines += [f"- {text}" for text in one.strong] + [f"- not known: {gap.text}" for gap in one.holes]
    return fence("\n".join(lines)) if lines else found.said


def _whole(found: MemoryDetails) -> str:
    """A memory and where it comes from, for a person or a model that opens it."""
    lines = [line(found.memory)]
    lines += [f"As it was said by {turn.speaker}: {turn.text}" for turn in found.turns]
    lines += [f"Worded until {one.replaced_at.date()}: {one.text}" for one in found.versions]
    lines += [f"{one.old.value} → {one.new.value}, {one.at.date()}: {one.reason}" for one in found.status_history]
    lines += [f"[{edge.source}] {edge.kind} [{edge.target}]" for edge in found.edges]
    return f"{fence(chr(10).join(lines))}\n{_kept(found.memory)}"


def _conditioned(found: VaultStatus) -> str:
    by_status = ", ".join(f"{number:,} {name}" for name, number in found.counts.by_status.items() if number)
    lines = [
        f"{found.counts.memories:,} memories ({by_status or 'none'}), {found.counts.edges:,} links.",
        f"{found.vault_bytes / 2**20:.1f} MiB, {found.backups} backups; writes: {found.writes}; recall: {found.degradation}.",
        f"Encoder: {found.encoder.name or 'none'}. Language model: {found.language.name or 'none'}.",
    ]
    return "\n".join([*lines, *filter(None, (found.encoder.trouble, found.language.trouble)), *found.warnings])


_TEXTS: Mapping[type, Callable[[Any], str]] = {
    Recall: _recalled,
    ContextWindow: lambda window: "\n".join([window.text or "There is nothing to read for this.", *window.notes]),
    Page: _listed,
    Memory: _kept,
    Report: _reported,
    Reasoning: _reasoned,
    KnowledgeReport: _assessed,
    MemoryDetails: _whole,
    VaultStatus: _conditioned,
    CreatedEdge: lambda link: f"[{link.source}] {link.kind} [{link.target}]: {'linked' if link.edges else 'was linked already'}.",
}
