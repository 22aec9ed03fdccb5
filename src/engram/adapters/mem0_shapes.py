"""The shapes that mem0's callers send and expect: messages, metadata, filters, results, history. Pure.

Metadata may hold any JSON; attributes hold text. Text stays what it is, everything else is JSON behind a mark.
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
_BESIDE = (EXPIRES, "role", "actor_id")  # attributes that are no metadata, as mem0 shows them
_SHOWN = {"id", "memory", "hash", "metadata", "created_at", "updated_at", "score", *IDS, *_BESIDE}
_ROLES = ("user", "assistant", "system", "tool")


# ── what comes in ──────────────────────────────────────────────────────────────────────────────────────────────────────


def turns_of(messages: object, session: str | None, at: datetime | None = None) -> list[Turn]:
    """Messages as turns: a text, one message, or many; parts that are no text are left out."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    elif isinstance(messages, Mapping):
        messages = [messages]
    if not isinstance(messages, Sequence) or not all(isinstance(one, Mapping) for one in messages):
        raise ValueError("messages must be a str, a dict or a list of dicts")
    said = [(str(one.get("name") or one.get("role") or "user"), _words(one.get("content")), one.get("role")) for one in messages]
    return [Turn(text, who, at=at, session=session) for who, text, role in said if text.strip() and role != "system"]


def said_by(speaker: str) -> tuple[str, str | None]:
    """The role of a speaker, and the name of one who is not called by a role."""
    if speaker in _ROLES:
        return speaker, None
    return ("assistant" if is_assistant(speaker) else "user"), speaker


def moment_of(value: object) -> datetime | None:
    """A time as callers write one: seconds since 1970, ISO 8601, or a `datetime`; UTC if nothing else is said."""
    try:
        if value is None or isinstance(value, datetime):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        return datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError):
        raise ValueError("a time is seconds since 1970 or a text in ISO 8601") from None


def _words(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str))


def attributes_of(metadata: Mapping[str, Any] | None) -> dict[str, str]:
    """Whose it is, and who said it, is not said in metadata."""
    return {str(name): written(value) for name, value in (metadata or {}).items() if name not in (*IDS, "actor_id")}


def written(value: object) -> str:
    if isinstance(value, str) and not value.startswith(_JSON):
        return value
    return _JSON + json.dumps(value, sort_keys=True, default=str)


def _read(value: str) -> Any:
    if not value.startswith(_JSON):
        return value
    try:
        return json.loads(value[len(_JSON) :])
    except ValueError:
        return value


# ── what goes out ──────────────────────────────────────────────────────────────────────────────────────────────────────


def item(memory: Memory, score: float | None = None) -> Item:
    """A memory as mem0 shows one; `score` only in a search."""
    metadata = {name: _read(value) for name, value in memory.attributes.items() if name not in _BESIDE}
    role, actor = said_by(memory.speaker or "user")
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
    """What a score is made of, by mem0's names, and in words."""
    arms = {signal.arm: signal for signal in hit.why.signals}
    found = {arm: signal.score if (signal := arms.get(arm)) is not None and signal.rank else 0.0 for arm in ("vectors", "words")}
    return {
        "semantic_score": found["vectors"],
        "bm25_score": found["words"],
        "entity_boost": sum(signal.share for arm, signal in arms.items() if arm not in found),
        "raw_score": hit.score,
        "max_possible_score": 1.0,
        "final_score": score,
        "threshold": threshold or 0.0,
        "why": str(hit.why),
    }


def ids_of(scope: Scope) -> dict[str, str]:
    return {"user_id": scope.user, "agent_id": scope.agent, "run_id": scope.channel}


def moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()


def history(memory: Memory, versions: Sequence[Version], changes: Sequence[StatusChange]) -> list[Item]:
    """How a memory came to be what it is, oldest first: ADD, UPDATE, DELETE."""
    earlier = sorted(versions, key=lambda one: one.number)
    texts = [*(one.text for one in earlier), memory.text]
    rows: list[tuple[datetime | None, str, str | None, str | None]] = [(memory.learned_at, "ADD", None, texts[0])]
    rows += [(one.replaced_at, "UPDATE", one.text, new) for one, new in zip(earlier, texts[1:], strict=True)]
    rows += [(one.at, "DELETE", memory.text, None) for one in changes if one.new is Status.ARCHIVED]
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


def matches(shown: Item, filters: Mapping[str, Any]) -> bool:
    """Does this item pass a filter, with its operators and its AND, OR, NOT?"""
    return all(_passes(shown, name, wanted) for name, wanted in filters.items())


def together(filters: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A filter, and what stands beside it under AND: all of it must hold."""
    beside = filters.get("AND") or ()
    return [filters, *(one for one in beside if isinstance(one, Mapping))]


def exact(filters: Mapping[str, Any]) -> dict[str, str]:
    """What of a filter the store can look for itself: metadata that is to be one word or whole number."""
    return {
        name: written(wanted)
        for one in together(filters)
        for name, wanted in one.items()
        if isinstance(wanted, str | int) and wanted != "*" and name not in _SHOWN
    }


def _passes(shown: Item, name: str, wanted: Any) -> bool:
    if name.strip("$").upper() in ("AND", "OR", "NOT"):
        if not isinstance(wanted, list) or not wanted or not all(isinstance(one, Mapping) for one in wanted):
            raise ValueError(f"{name} requires a list of conditions that is not empty")
        told = [matches(shown, one) for one in wanted]
        word = name.strip("$").upper()
        return all(told) if word == "AND" else any(told) if word == "OR" else not any(told)
    value = shown.get(name, (shown["metadata"] or {}).get(name))
    if isinstance(wanted, list) and not isinstance(value, list):
        return any(_same(value, one) for one in wanted)
    if not isinstance(wanted, Mapping):
        return value is not None if wanted == "*" else _same(value, wanted)
    return all(_holds(value, operator, operand) for operator, operand in wanted.items())


def _holds(value: Any, operator: str, operand: Any) -> bool:
    if operator not in _OPERATORS:
        raise ValueError(f"unsupported filter operator: {operator}")
    try:
        return bool(_OPERATORS[operator](value, operand))
    except TypeError:  # of different kinds, or not there
        return False


def _same(value: Any, wanted: Any) -> bool:
    """Equal, and true is not 1."""
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
