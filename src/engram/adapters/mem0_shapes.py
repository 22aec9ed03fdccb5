"""Conversions between mem0's shapes and Engram's values: messages, metadata, filters, results, history. Pure functions.

mem0's metadata may hold any JSON, Engram's attributes hold text: text is stored as it is, everything else as JSON with a prefix.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from engram.text.english.grammar import is_assistant
from engram.types import Hit, Memory, Scope, Status, StatusChange, Turn, Version

Item = dict[str, Any]
IDS = ("user_id", "agent_id", "run_id")
EXPIRES = "expiration_date"
_JSON = "json:"
_TOP_LEVEL = (EXPIRES, "role", "actor_id")  # attributes that mem0 shows as fields of their own, outside the metadata
_FIELDS = {"id", "memory", "hash", "metadata", "created_at", "updated_at", "score", *IDS, *_TOP_LEVEL}
_ROLES = ("user", "assistant", "system", "tool")


# ── from mem0 ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def turns_of(messages: object, session: str | None, at: datetime | None = None) -> list[Turn]:
    """Return messages, given as a text, a dictionary or a list of them, as turns; content that is no text is left out."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    elif isinstance(messages, Mapping):
        messages = [messages]
    if not isinstance(messages, Sequence) or not all(isinstance(message, Mapping) for message in messages):
        raise ValueError("messages must be a str, a dict or a list of dicts")
    turns = []
    for message in messages:
        speaker, text = str(message.get("name") or message.get("role") or "user"), _text(message.get("content"))
        if text.strip() and message.get("role") != "system":
            turns.append(Turn(text, speaker, at=at, session=session))
    return turns


def role_and_actor(speaker: str) -> tuple[str, str | None]:
    """Return the role of a speaker, and the speaker's name unless it is a role."""
    if speaker in _ROLES:
        return speaker, None
    return ("assistant" if is_assistant(speaker) else "user"), speaker


def moment_of(value: object) -> datetime | None:
    """Return a time given as seconds since 1970, ISO 8601 or a `datetime`; seconds are UTC."""
    try:
        if value is None or isinstance(value, datetime):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        return datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError):
        raise ValueError("a time is seconds since 1970 or a text in ISO 8601") from None


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str))


def attributes_of(metadata: Mapping[str, Any] | None) -> dict[str, str]:
    """Return metadata as attributes, without ids and `actor_id`, which only arguments and messages may set."""
    return {str(name): encoded(value) for name, value in (metadata or {}).items() if name not in (*IDS, "actor_id")}


def encoded(value: object) -> str:
    """Return a value of metadata as the text of an attribute."""
    if isinstance(value, str) and not value.startswith(_JSON):
        return value
    return _JSON + json.dumps(value, sort_keys=True, default=str)


def _decoded(value: str) -> Any:
    if not value.startswith(_JSON):
        return value
    try:
        return json.loads(value[len(_JSON) :])
    except ValueError:
        return value


# ── to mem0 ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def item(memory: Memory, score: float | None = None) -> Item:
    """Return a memory in mem0's shape; only the results of a search have a `score`."""
    metadata = {name: _decoded(value) for name, value in memory.attributes.items() if name not in _TOP_LEVEL}
    role, actor = role_and_actor(memory.speaker or "user")
    role, actor = memory.attributes.get("role", role), memory.attributes.get("actor_id", actor)
    shown: Item = {
        "id": memory.id,
        "memory": memory.text,
        "hash": hashlib.md5(memory.text.encode(), usedforsecurity=False).hexdigest(),
        "metadata": metadata or None,
        "created_at": moment(memory.learned_at),
        "updated_at": moment(memory.updated_at),
        **({} if score is None else {"score": score}),
        **{name: value for name, value in ids_of(memory.scope).items() if value},
        "role": role,
    }
    if actor is not None:
        shown["actor_id"] = actor
    if EXPIRES in memory.attributes:
        shown[EXPIRES] = memory.attributes[EXPIRES]
    return shown


def details(hit: Hit, score: float, threshold: float | None) -> Item:
    """Return the parts of a score under mem0's names, and the explanation in words."""
    arms = {signal.arm: signal for signal in hit.why.signals}
    scores = {arm: signal.score if (signal := arms.get(arm)) is not None and signal.rank else 0.0 for arm in ("vectors", "words")}
    return {
        "semantic_score": scores["vectors"],
        "bm25_score": scores["words"],
        "entity_boost": sum(signal.share for arm, signal in arms.items() if arm not in scores),
        "raw_score": hit.score,
        "max_possible_score": 1.0,
        "final_score": score,
        "threshold": threshold or 0.0,
        "why": str(hit.why),
    }


def ids_of(scope: Scope) -> dict[str, str]:
    """Return mem0's ids of a scope."""
    return {"user_id": scope.user, "agent_id": scope.agent, "run_id": scope.channel}


def moment(value: datetime | None) -> str | None:
    """Return a time in ISO 8601."""
    return None if value is None else value.isoformat()


def history(memory: Memory, versions: Sequence[Version], changes: Sequence[StatusChange]) -> list[Item]:
    """Return the events of a memory in mem0's shape, oldest first: ADD, UPDATE, DELETE."""
    earlier = sorted(versions, key=lambda version: version.number)
    texts = [*(version.text for version in earlier), memory.text]
    rows: list[tuple[datetime | None, str, str | None, str | None]] = [(memory.learned_at, "ADD", None, texts[0])]
    rows += [(version.replaced_at, "UPDATE", version.text, new) for version, new in zip(earlier, texts[1:], strict=True)]
    rows += [(change.at, "DELETE", memory.text, None) for change in changes if change.new is Status.ARCHIVED]
    shown = item(memory)
    return [
        {
            "id": f"{memory.id}:{number}",
            "memory_id": memory.id,
            "old_memory": old,
            "new_memory": new,
            "event": event,
            "created_at": moment(memory.learned_at),
            "updated_at": None if event == "ADD" else moment(at),
            "is_deleted": event == "DELETE",
            "actor_id": shown.get("actor_id"),
            "role": shown["role"],
        }
        for number, (at, event, old, new) in enumerate(rows)
    ]


# ── filters ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def matches(item: Item, filters: Mapping[str, Any]) -> bool:
    """Return whether an item passes a filter with mem0's operators and AND, OR, NOT."""
    return all(_passes(item, name, wanted) for name, wanted in filters.items())


def conjunction(filters: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a filter and the filters under its AND: all of them must hold."""
    return [filters, *(part for part in filters.get("AND") or () if isinstance(part, Mapping))]


def exact(filters: Mapping[str, Any]) -> dict[str, str]:
    """Return the conditions that the store itself can check: metadata that must equal a text or a whole number."""
    return {
        name: encoded(wanted)
        for part in conjunction(filters)
        for name, wanted in part.items()
        if isinstance(wanted, str | int) and wanted != "*" and name not in _FIELDS
    }


def _passes(item: Item, name: str, wanted: Any) -> bool:
    if (operator := name.strip("$").upper()) in ("AND", "OR", "NOT"):
        if not isinstance(wanted, list) or not wanted or not all(isinstance(part, Mapping) for part in wanted):
            raise ValueError(f"{name} requires a list of conditions that is not empty")
        results = [matches(item, part) for part in wanted]
        return all(results) if operator == "AND" else any(results) if operator == "OR" else not any(results)
    value = item.get(name, (item["metadata"] or {}).get(name))
    if isinstance(wanted, list) and not isinstance(value, list):
        return any(_same(value, option) for option in wanted)
    if not isinstance(wanted, Mapping):
        return value is not None if wanted == "*" else _same(value, wanted)
    return all(_holds(value, operator, operand) for operator, operand in wanted.items())


def _holds(value: Any, operator: str, operand: Any) -> bool:
    if operator not in _OPERATORS:
        raise ValueError(f"unsupported filter operator: {operator}")
    try:
        return bool(_OPERATORS[operator](value, operand))
    except TypeError:  # the types differ, or the value is missing
        return False


def _same(value: Any, wanted: Any) -> bool:
    """Return whether two values are equal; `True` does not equal 1."""
    return isinstance(value, bool) is isinstance(wanted, bool) and bool(value == wanted)


_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": _same,
    "ne": lambda value, wanted: not _same(value, wanted),
    "gt": lambda value, wanted: value > wanted,
    "gte": lambda value, wanted: value >= wanted,
    "lt": lambda value, wanted: value < wanted,
    "lte": lambda value, wanted: value <= wanted,
    "in": lambda value, wanted: value in wanted,
    "nin": lambda value, wanted: value not in wanted,
    "contains": lambda value, wanted: wanted in value,
    "icontains": lambda value, wanted: str(wanted).lower() in str(value).lower(),
}
