"""The hosts' settings files with our hooks in them, and without: text in, text out. Pure.

Only entries whose command is `… hook EVENT --client CLIENT` are ours; all others, and whatever else stands in a file, stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from engram.serve.hook.hosts import CLAUDE, CODEX, EVENTS

FILES = {CLAUDE: ("CLAUDE_CONFIG_DIR", ".claude", "settings.json"), CODEX: ("CODEX_HOME", ".codex", "hooks.json")}
_EVENTS = {
    CLAUDE: ("session-start", "user-prompt", "pre-compact", "stop", "session-end"),
    CODEX: ("session-start", "user-prompt", "pre-compact", "stop"),
}
_STARTS = "startup|resume|clear|compact"
_TIMEOUT_S = 10


def with_hooks(text: str, client: str, program: str) -> str:
    """The file with our hooks, each once, calling `program`. ValueError if it is no settings file."""
    given = _parsed(text)
    kept = _without(given, client)
    hooks = kept.setdefault("hooks", {})
    for event in _EVENTS[client]:
        entry = {"type": "command", "command": f"{program} hook {event} --client {client}", "timeout": _TIMEOUT_S}
        group: dict[str, Any] = {"hooks": [entry]}
        if event == "session-start":
            group = {"matcher": _STARTS, **group}
        hooks.setdefault(EVENTS[event], []).append(group)
    return text if kept == given else _written(kept)


def without_hooks(text: str, client: str, before: Sequence[str] = ()) -> str:
    """The file without our hooks; to the byte as it was `before` they came, if nothing else changed. Empty if that is all."""
    given = _parsed(text)
    left = _without(given, client)
    if left == given:
        return text
    same = next((one for one in before if _is(one, left)), None)
    return same if same is not None else _written(left) if left else ""


def _is(text: str, value: dict[str, Any]) -> bool:
    try:
        return _parsed(text) == value
    except ValueError:
        return False


def _without(given: dict[str, Any], client: str) -> dict[str, Any]:
    """Without what is ours, and without the lists that were there for it alone."""
    ours = re.compile(rf"engram.* hook (?:{'|'.join(EVENTS)}) --client {client}$")
    hooks = given.get("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(groups, list) for groups in hooks.values()):
        raise ValueError("its hooks are not what they should be")
    left: dict[str, Any] = {}
    for event, groups in hooks.items():
        kept = [one for one in (_pruned(group, ours) for group in groups) if one is not None]
        if kept or not groups:
            left[event] = kept
    rest = {name: value for name, value in given.items() if name != "hooks"}
    return {**rest, "hooks": left} if left or (not hooks and "hooks" in given) else rest


def _pruned(group: Any, ours: re.Pattern[str]) -> Any:
    entries = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(entries, list):
        return group
    kept = [one for one in entries if not (isinstance(one, dict) and ours.search(str(one.get("command", ""))))]
    if len(kept) == len(entries):
        return group
    return {**group, "hooks": kept} if kept else None


def _parsed(text: str) -> dict[str, Any]:
    given = json.loads(text) if text.strip() else {}
    if not isinstance(given, dict):
        raise ValueError("not a settings file")
    return given


def _written(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
