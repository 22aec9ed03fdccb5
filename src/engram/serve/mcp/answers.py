"""Short answers for a model: a value reduced to the fields it needs, as data and as a few lines of text.

A memory has three dozen fields and a model pays tokens for each of them, so an answer carries its text, its id and the fields
that differ from their defaults. Field names and values are those of the wire form: an MCP answer is always a subset of what the
other faces return. Stored text stands inside the fence, which marks it as data and by which capture recognises it.

The answers of `list` and `reason`, which take no token budget, are cut to the setting `mcp_answer_tokens`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from engram.context.window import ContextWindow
from engram.serve.operations import OPERATIONS, Operation, limits, read, wire
from engram.serve.operations.edges import CreatedEdge
from engram.serve.operations.health import VaultStatus
from engram.serve.operations.knowledge import KnowledgeReport
from engram.serve.operations.memories import MemoryDetails
from engram.serve.operations.schema import Schema, output_schema
from engram.text.marks import fence
from engram.text.tokens import count
from engram.types import Evidence, Hit, Memory, Outcome, Page, Reasoning, Recall, Report, Status, Trust
from engram.values.frozen import MISSING, fields, is_dataclass, replace

if TYPE_CHECKING:
    from engram.engine import Engram


_SHOWN: Mapping[type, tuple[str, ...]] = {
    Memory: (
        "id", "text", "category", "kind", "happened_at", "learned_at", "source", "speaker", "confidence", "importance", "status",
        "pinned", "flagged", "attributes", "others",
    ),
    Hit: ("memory", "score", "trust"),
    Trust: ("composite",),
    Recall: ("hits", "outcome", "hidden", "notes"),
    ContextWindow: ("text", "tokens", "budget", "ids", "notes"),
    Page: ("memories", "cursor", "notes"),
    Report: ("operation", "ids", "counts", "notes"),
    Evidence: ("question", "why", "outcome", "hits", "missing", "bridge", "parts"),
    Reasoning: ("answer", "citations", "evidence", "gaps", "calls", "notes"),
}  # fmt: skip
_ALWAYS: Mapping[type, set[str]] = {Memory: {"id", "text", "category"}}
_OUTCOMES = {
    Outcome.ANSWERED: "",
    Outcome.NOTHING_KNOWN: "Nothing is known about this.",
    Outcome.BELOW_THRESHOLD: "No memory scored above the threshold.",
    Outcome.DEGRADED: "A part of the search failed: memories that are missing here may exist.",
}
_ALL_BELOW_THRESHOLD = "These are the nearest memories; none scored above the threshold."
_DIGITS = 3


# ── as data ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def brief(value: object) -> Any:
    """Return the short form of a value: fields at their default are left out, floats are rounded to three digits."""
    shown = _SHOWN.get(type(value))
    if shown is not None:
        always = _ALWAYS.get(type(value), set())
        defaults = {field.name: _default(field) for field in fields(value)}  # type: ignore[arg-type]
        kept = {name: getattr(value, name) for name in shown if name in always or getattr(value, name) != defaults[name]}
        shortened = {name: brief(part) for name, part in kept.items()}
        return {name: part for name, part in shortened.items() if part != {}}
    if is_dataclass(value) and not isinstance(value, type):
        return {name: brief(getattr(value, name)) for name in wire.shown(type(value))}
    if isinstance(value, tuple | list):
        return [brief(part) for part in value]
    if isinstance(value, float):
        return round(value, _DIGITS)
    return wire.plain(value)


def _default(field: Any) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def brief_schema(operation: Operation) -> Schema:
    """Return the schema of an operation's answers in the form that `brief` gives them."""
    _, definitions = output_schema(operation)
    types = {type_.__name__: type_ for type_ in _SHOWN}
    for name, schema in definitions.items():
        type_ = types.get(name)
        if type_ is not None:
            definitions[name] = schema | {
                "properties": {field: schema["properties"][field] for field in _SHOWN[type_]},
                "required": sorted(_required(type_)),
            }
    return _rooted(operation.output.__name__, definitions)


def full_schema(operation: Operation) -> Schema:
    """Return the schema of an operation's answers in the wire form."""
    return _rooted(operation.output.__name__, output_schema(operation)[1])


def _required(type_: type) -> set[str]:
    without_default = {field.name for field in fields(type_) if _default(field) is MISSING}
    return (without_default | _ALWAYS.get(type_, set())) & set(_SHOWN[type_])


def _rooted(name: str, definitions: dict[str, Schema]) -> Schema:
    """Return the named definition as the root, an object as protocol revisions before 2026 require, with those it refers to.

    Descriptions are dropped: they are written for programmers, and a model would pay tokens for them.
    """
    root = {key: value for key, value in definitions[name].items() if key != "description"}
    reached: dict[str, Schema] = {}
    waiting = list(_references(root))
    while waiting:
        reference = waiting.pop()
        if reference not in reached:
            reached[reference] = {key: value for key, value in definitions[reference].items() if key != "description"}
            waiting += _references(definitions[reference])
    return root | ({"$defs": reached} if reached else {})


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].removeprefix("#/$defs/")
        node = list(node.values())
    for child in node if isinstance(node, list) else ():
        yield from _references(child)


# ── as text ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def text(value: object, *, quoted: bool = False) -> str:
    """Return an answer as a few lines, for hosts that do not pass structured answers to their model, and for people.

    quoted: include the text of a memory. A caller that has just stored or changed the memory knows its text.
    """
    if quoted and isinstance(value, Memory):
        return f"{fence(line(value))}\n{_memory_state(value)}"
    for type_, describe in _TEXTS.items():
        if isinstance(value, type_):
            return describe(value)
    return fence(json.dumps(wire.plain(value), ensure_ascii=False))


def line(memory: Memory, *more: str) -> str:
    """Return a memory on one line: id, text, and in brackets its category, its date, its status unless it is active, `more`."""
    when = memory.happened_at or memory.learned_at
    dates = [when.date().isoformat()] if when else []
    about = [
        memory.category,
        *dates,
        *([] if memory.status is Status.ACTIVE else [_STATES.get(memory.status, memory.status)]),
        *more,
    ]
    return f"[{memory.id}] {' '.join(memory.text.split())} ({', '.join(about)})"


_STATES = {Status.CHALLENGED: "challenged: may be outdated"}


def _recall_text(recall: Recall) -> str:
    lines = [line(hit.memory, f"trust {hit.trust.composite:.2f}") for hit in recall]
    fenced = [fence("\n".join(lines))] if lines else []
    far = lines and recall.outcome is Outcome.BELOW_THRESHOLD
    outcome = _ALL_BELOW_THRESHOLD if far else _OUTCOMES[recall.outcome]
    return "\n".join([*fenced, *filter(None, [outcome]), *recall.notes])


def _page_text(page: Page) -> str:
    lines = fence("\n".join(line(memory) for memory in page)) if page.memories else "\n".join(("No memories match.", *page.notes))
    return f"{lines}\nMore: cursor {page.cursor}" if page.cursor else lines


def _memory_state(memory: Memory) -> str:
    flagged = " It is flagged as a prompt injection and left out of answers." if memory.flagged else ""
    secret = " A part that looks like a secret was not stored." if "[secret: " in memory.text else ""
    wrong = " It counts as wrong and is in no answer; `review` it with `confirm` if it holds." * (
        memory.status is Status.INVALIDATED
    )
    state = f"[{memory.id}] version {memory.version}, {memory.status.value}.{wrong}{flagged}{secret}"
    return "\n".join((state, *map(_memory_state, memory.others)))


def _report_text(report: Report) -> str:
    counts = ", ".join(f"{name} {number}" for name, number in report.counts.items() if number)
    return "\n".join([f"{report.operation}: {counts or 'nothing changed'}.", *report.ids, *report.notes])


def _reasoning_text(reasoning: Reasoning) -> str:
    gaps = [f"Nothing is known to: {gap}" for gap in reasoning.gaps]
    lines = [*([reasoning.answer] if reasoning.answer else []), *_evidence_lines(reasoning.evidence, "")]
    return "\n".join([fence("\n".join(lines)), *gaps, *reasoning.notes])


def _evidence_lines(evidence: Evidence, indent: str) -> Iterator[str]:
    yield f"{indent}{evidence.question} ({evidence.why})"
    for hit in evidence.hits:
        yield f"{indent}- {line(hit.memory)}"
    if evidence.missing:
        yield f"{indent}- not found: {', '.join(evidence.missing)}"
    for part in evidence.parts:
        yield from _evidence_lines(part, indent + "  ")


def _knowledge_text(report: KnowledgeReport) -> str:
    lines = []
    for domain in report.domains:
        lines.append(f"{domain.subject}: {domain.level.value} ({domain.confidence:.2f}). {domain.said}")
        lines += [f"- {text}" for text in domain.strong] + [f"- not known: {gap.text}" for gap in domain.holes]
    return fence("\n".join(lines)) if lines else report.said


def _details_text(details: MemoryDetails) -> str:
    """Return a memory with its provenance: turns, earlier versions, status changes and edges."""
    lines = [line(details.memory)]
    lines += [f"As it was said by {turn.speaker}: {turn.text}" for turn in details.turns]
    lines += [f"Worded until {version.replaced_at.date()}: {version.text}" for version in details.versions]
    lines += [
        f"{change.old.value} → {change.new.value}, {change.at.date()}: {change.reason}" for change in details.status_history
    ]
    lines += [f"[{edge.source}] {edge.kind} [{edge.target}]" for edge in details.edges]
    return f"{fence(chr(10).join(lines))}\n{_memory_state(details.memory)}"


def _status_text(status: VaultStatus) -> str:
    counts = status.counts
    by_status = ", ".join(f"{number:,} {name}" for name, number in counts.by_status.items() if number)
    size = f"{status.vault_bytes / 2**20:.1f} MiB, {status.backups} backups"
    lines = [
        f"{counts.memories:,} memories ({by_status or 'none'}), {counts.edges:,} links.",
        f"{size}; writes: {status.writes}; recall: {status.degradation}.",
        f"Encoder: {status.encoder.name or 'none'}. Language model: {status.language.name or 'none'}.",
    ]
    troubles = filter(None, (status.encoder.trouble, status.language.trouble))
    return "\n".join([*lines, *troubles, *status.warnings])


_TEXTS: Mapping[type, Callable[[Any], str]] = {
    Recall: _recall_text,
    ContextWindow: lambda window: "\n".join([window.text or "Memory has nothing for this message.", *window.notes]),
    Page: _page_text,
    Memory: _memory_state,
    Report: _report_text,
    Reasoning: _reasoning_text,
    KnowledgeReport: _knowledge_text,
    MemoryDetails: _details_text,
    VaultStatus: _status_text,
    CreatedEdge: lambda link: f"[{link.source}] {link.kind} [{link.target}]: {'linked' if link.edges else 'was linked already'}.",
}


# ── within a token budget ────────────────────────────────────────────────────────────────────────────────────────────


def list_within_budget(mem: Engram, arguments: Mapping[str, Any]) -> Page:
    """Return as many memories as fit, at least one; the page's cursor continues after the last of them."""
    page: Page = _call(mem, "list", arguments)
    totals = list(accumulate(count(line(memory)) for memory in page))
    fitting = sum(tokens <= mem.settings.now.mcp_answer_tokens for tokens in totals)
    if fitting < len(page):
        page = _call(mem, "list", {**arguments, "limit": max(fitting, 1)})
    return page


def reason_within_budget(mem: Engram, arguments: Mapping[str, Any]) -> Reasoning:
    """Return the evidence for a question, cut to the budget."""
    return prune(_call(mem, "reason", arguments), mem.settings.now.mcp_answer_tokens)


def prune(reasoning: Reasoning, tokens: int) -> Reasoning:
    """Keep the best hit of every question, then the second of each, as long as they fit; at least one hit in all."""
    questions = list(reasoning.evidence.walk())
    kept, left = [0] * len(questions), tokens - sum(count(question.question) for question in questions)
    for rank in range(max(len(question.hits) for question in questions)):
        for at, question in enumerate(questions):
            if kept[at] != rank or rank >= len(question.hits):
                continue
            cost = count(line(question.hits[rank].memory))
            if cost <= left or not any(kept):
                kept[at], left = rank + 1, left - cost
    dropped = sum(len(question.hits) for question in questions) - sum(kept)
    if not dropped:
        return reasoning
    note = f"{dropped} more did not fit: search for one part of the question to see them."
    return replace(reasoning, evidence=_keep_hits(reasoning.evidence, iter(kept)), notes=(*reasoning.notes, note))


def _keep_hits(evidence: Evidence, kept: Iterator[int]) -> Evidence:
    """Cut each question to its number of hits; `kept` is in the order of `Evidence.walk`."""
    hits: Sequence[Any] = evidence.hits[: next(kept)]
    return replace(evidence, hits=tuple(hits), parts=tuple(_keep_hits(part, kept) for part in evidence.parts))


def _call(mem: Engram, name: str, arguments: Mapping[str, Any]) -> Any:
    operation = OPERATIONS[name]
    return limits.call(operation, mem, read(operation, arguments))
