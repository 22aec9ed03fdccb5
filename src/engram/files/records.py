"""Convert memories, turns and edges to plain records for archives and JSON, and back with every field checked.

The record of a memory has its facts; that of a corrected one also the reason, the time and the memory in its place. Vectors are
not exported: they are computed again where a memory arrives, so that none can be crafted to be found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from engram.errors import InvalidContent
from engram.types import SCOPE_DIMENSIONS, Affect, Edge, Fact, Kind, Memory, Scope, Sensitivity, Source, Status, Strength, Turn
from engram.values.entities import EntityAction, EntityDecision
from engram.values.frozen import fields, frozen
from engram.values.memories import CORRECTED, CORRECTED_BY_SPEAKER, INVALIDATED_BY_HAND, Correction

Plain = dict[str, Any]

_NOT_EXPORTED = frozenset({"key", "scope", "tokens", "summary", "key_fact", "tag", "refs", "others"})
"""Fields that are computed again on import, or have a record of their own."""

_EXPORTED = tuple(field.name for field in fields(Memory) if field.name not in _NOT_EXPORTED)
_WORDS: Mapping[str, type[StrEnum]] = {"kind": Kind, "source": Source, "status": Status}
_TIMES = frozenset({"happened_at", "happened_until", "valid_from", "valid_until", "learned_at", "updated_at", "accessed_at"})
_NUMBERS: Mapping[str, tuple[float, float]] = {
    "importance": (0, 1), "confidence": (0, 1), "strength": (0, 1), "surprise": (-1, 1),
}  # fmt: skip
_COUNTS = frozenset({"accesses", "version", "corroborations", "helpful", "unhelpful"})


@frozen
class FiledMemory:
    """A memory of a file: the numbers of its source turns, its facts (None: its words are read), and the mark of a corrected
    one."""

    memory: Memory
    turns: tuple[int, ...] = ()
    facts: tuple[Fact, ...] | None = None
    correction: Correction | None = None


def of_memory(filed: FiledMemory) -> Plain:
    """Return the record of a memory."""
    memory = filed.memory
    record: Plain = {"type": "memory", "turns": list(filed.turns)}
    record["scope"] = {name: value for name in SCOPE_DIMENSIONS if (value := getattr(memory.scope, name))}
    for name in _EXPORTED:
        value = getattr(memory, name)
        record[name] = value.isoformat() if isinstance(value, datetime) else dict(value) if name == "attributes" else value
        if isinstance(value, StrEnum):
            record[name] = value.value
    record["affect"] = list(astuple(memory.affect))
    record["words_at"] = list(memory.words_at)
    if filed.facts is not None:
        record["facts"] = [_of_fact(fact) for fact in filed.facts]
    if (mark := filed.correction) is not None:
        record["correction"] = {"reason": mark.reason, "at": mark.at.isoformat(), "heir": mark.heir}
    return record


def _of_fact(fact: Fact) -> Plain:
    values = {field.name: getattr(fact, field.name) for field in fields(Fact)}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()} | {
        "strength": None if fact.strength is None else fact.strength.value
    }


def of_turn(number: int, turn: Turn) -> Plain:
    at = None if turn.at is None else turn.at.isoformat()
    return {
        "type": "turn", "number": number, "text": turn.text, "speaker": turn.speaker, "at": at, "session": turn.session,
        "ref": turn.ref,
    }  # fmt: skip


def of_edge(edge: Edge) -> Plain:
    return {
        "type": "edge", "source": edge.source, "target": edge.target, "kind": edge.kind, "weight": edge.weight,
        "confidence": edge.confidence,
    }  # fmt: skip


def of_decision(scope: Scope, decision: EntityDecision) -> Plain:
    """Return the record of a decision on an entity by hand."""
    return {
        "type": "entity_decision", "action": decision.action.value, "name": decision.name, "other": decision.other,
        "names": list(decision.names), "memories": list(decision.memories), "reason": decision.reason,
        "at": None if decision.at is None else decision.at.isoformat(),
        "scope": {name: value for name in SCOPE_DIMENSIONS if (value := getattr(scope, name))},
    }  # fmt: skip


def decision_of(record: Mapping[str, Any]) -> tuple[Scope, EntityDecision]:
    """Return the scope and the decision of a record."""
    return Scope(**_checked("scope", _scope, record.get("scope") or {})), EntityDecision(
        id="",
        action=_checked("action", EntityAction, record.get("action")),
        name=_text(record, "name"),
        other=_text(record, "other"),
        names=_checked("names", _texts, record.get("names") or []),
        memories=_checked("memories", _texts, record.get("memories") or []),
        reason=_text(record, "reason") if record.get("reason") is not None else "",
        at=_checked("at", _moment, record["at"]) if record.get("at") is not None else None,
    )


def memory_of(record: Mapping[str, Any]) -> FiledMemory:
    """Return the memory of a record; raise InvalidContent with the name of an invalid field."""
    values: Plain = {"text": _text(record, "text"), "id": _text(record, "id")}
    for name in ("category", "session", "speaker"):
        values[name] = _text(record, name) if record.get(name) is not None else ""
    for name, words in _WORDS.items():
        values[name] = _checked(name, words, record.get(name))
    for name in _TIMES & record.keys():
        values[name] = _checked(name, _moment, record[name]) if record[name] is not None else None
    for name, (low, high) in _NUMBERS.items():
        values[name] = min(max(_checked(name, _number, record.get(name)), low), high)
    for name in _COUNTS & record.keys():
        values[name] = max(_checked(name, _whole, record[name]), 0)
    values["pinned"] = bool(record.get("pinned"))
    if record.get("tier") is not None:  # older archives have none: the text decides
        values["tier"] = _checked("tier", Sensitivity, record["tier"])
    if record.get("affect"):
        values["affect"] = Affect(*_checked("affect", _affect, record["affect"]))
    if record.get("words_at"):  # archives before format 6 have none
        start, end = _checked("words_at", _place, record["words_at"])
        values["words_at"] = (start, end) if 0 <= start < end <= len(values["text"]) else (0, 0)
    values["attributes"] = _checked("attributes", _words, record.get("attributes") or {})
    values["scope"] = Scope(**_checked("scope", _scope, record.get("scope") or {}))
    turns = _checked("turns", lambda given: [_whole(number) for number in given], record.get("turns") or [])
    facts = None if record.get("facts") is None else _checked("facts", _facts, record["facts"])  # older archives have none
    correction = None if record.get("correction") is None else _checked("correction", _correction, record["correction"])
    return FiledMemory(Memory(**values), tuple(turns), facts, correction)


def turn_of(record: Mapping[str, Any]) -> tuple[int, Turn]:
    """Return the number of a turn in the file, and the turn."""
    at = None if record.get("at") is None else _checked("at", _moment, record["at"])
    optional: dict[str, Any] = {name: _text(record, name) for name in ("session", "ref") if record.get(name) is not None}
    turn = Turn(_text(record, "text"), _text(record, "speaker"), at, **optional)
    return _checked("number", _whole, record.get("number")), turn


def edge_of(record: Mapping[str, Any]) -> Edge:
    weight, confidence = (min(max(_checked(name, _number, record.get(name)), 0.0), 1.0) for name in ("weight", "confidence"))
    return Edge(_text(record, "source"), _text(record, "target"), _text(record, "kind"), weight, confidence)


def _text(record: Mapping[str, Any], name: str) -> str:
    return str(_checked(name, _string, record.get(name)))


def _checked(name: str, make: Callable[[Any], Any], value: Any) -> Any:
    try:
        return make(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidContent(
            f"the field `{name}` of a record is invalid.",
            way_out="Correct it and import again; the record was not imported.",
        ) from None


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _moment(value: Any) -> datetime:
    moment = datetime.fromisoformat(_string(value))
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError
    return float(value)


def _affect(value: Any) -> tuple[float, ...]:
    valence, arousal, dominance, surprise = (min(max(_number(part), -1.0), 1.0) for part in value)
    return valence, max(arousal, 0.0), dominance, max(surprise, 0.0)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value


def _place(value: Any) -> tuple[int, int]:
    start, end = (_whole(number) for number in value)
    return start, end


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError
    return tuple(_string(one) for one in value)


def _facts(value: Any) -> tuple[Fact, ...]:
    if not isinstance(value, list):
        raise TypeError
    return tuple(_fact(one) for one in value)


def _fact(value: Any) -> Fact:
    if not isinstance(value, dict):
        raise TypeError
    return Fact(
        subject=_string(value.get("subject")),
        predicate=_string(value.get("predicate")),
        object=_string(value.get("object")),
        single=bool(value.get("single", True)),
        holds=bool(value.get("holds", True)),
        since=None if value.get("since") is None else _moment(value["since"]),
        until=None if value.get("until") is None else _moment(value["until"]),
        strength=None if value.get("strength") is None else Strength(value["strength"]),
        teller=_string(value.get("teller") or ""),
    )


def _correction(value: Any) -> Correction:
    if not isinstance(value, dict):
        raise TypeError
    reason = _string(value.get("reason"))
    if reason not in (CORRECTED, CORRECTED_BY_SPEAKER) and not reason.startswith(INVALIDATED_BY_HAND):
        raise ValueError
    return Correction(reason, _moment(value.get("at")), _string(value.get("heir") or ""))


def _words(value: Any) -> dict[str, str]:
    return {_string(name): _string(text) for name, text in value.items()} if isinstance(value, dict) else _refuse()


def _scope(value: Any) -> dict[str, str]:
    dimensions = _words(value)
    return dimensions if dimensions.keys() <= set(SCOPE_DIMENSIONS) else _refuse()


def _refuse() -> dict[str, str]:
    raise TypeError


def lines(
    pages: Iterable[tuple[list[FiledMemory], list[tuple[int, Turn]], list[Edge]]],
    decisions: Iterable[tuple[Scope, EntityDecision]],
) -> Iterator[Plain]:
    """Yield the records of a vault's pages: the turns of a page before the memories that came from them, all edges and the
    decisions on entities at the end."""
    written: set[int] = set()
    all_edges: dict[Edge, None] = {}
    for memories, turns, edges in pages:
        for number, turn in turns:
            if number not in written:
                written.add(number)
                yield of_turn(number, turn)
        yield from map(of_memory, memories)
        all_edges |= dict.fromkeys(edges)
    yield from map(of_edge, all_edges)
    yield from (of_decision(scope, decision) for scope, decision in decisions)
