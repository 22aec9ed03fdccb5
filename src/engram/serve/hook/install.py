"""The hosts' settings files with our hooks in them, and without, as edits of `serve/hosts.py`.

Only entries whose command is `… hook EVENT --client CLIENT` are ours; all others, and whatever else stands in a file, stay.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engram.errors import ConfigInvalid
from engram.serve import hosts, jsonc
from engram.serve.hook.hosts import CLAUDE, CODEX, EVENTS
from engram.serve.hosts import Edit

FILES = {CLAUDE: ("CLAUDE_CONFIG_DIR", ".claude", "settings.json"), CODEX: ("CODEX_HOME", ".codex", "hooks.json")}
_EVENTS = {
    CLAUDE: ("session-start", "user-prompt", "pre-compact", "stop", "session-end"),
    CODEX: ("session-start", "user-prompt", "pre-compact", "stop"),
}
_STARTS = "startup|resume|clear|compact"
_TIMEOUT_S = 10


def with_hooks(path: Path, text: str | None, client: str, program: str) -> Edit:
    """The file with our hooks, each once, calling `program`."""
    after = text
    for event in _EVENTS[client]:
        entry = {"type": "command", "command": f"{program} hook {event} --client {client}", "timeout": _TIMEOUT_S}
        group: dict[str, Any] = {"matcher": _STARTS} if event == "session-start" else {}
        groups = [*_others(_groups(path, after, event), client), {**group, "hooks": [entry]}]
        after = hosts.put_json(path, after, _place(event), groups).after
    return Edit(path, text, after)


def without_hooks(path: Path, text: str | None, client: str, before: Sequence[str] = ()) -> Edit:
    """The file without our hooks; to the byte as it was `before` they came, if nothing else changed. None if that is all."""
    after = text
    for event in EVENTS:
        groups = _groups(path, after, event)
        others = _others(groups, client)
        if others != groups:
            gone = hosts.put_json(path, after, _place(event), others) if others else hosts.take_json(path, after, _place(event))
            after = gone.after
    if after is None or after == text:
        return Edit(path, text, after)
    left = jsonc.loads(after)
    return Edit(path, text, next((one for one in before if _is(one, left)), after))


def _place(event: str) -> tuple[str, str]:
    return "hooks", EVENTS[event]


def _groups(path: Path, text: str | None, event: str) -> list[Any]:
    found = hosts.found_json(path, text, _place(event))
    if found is not None and not isinstance(found, list):
        raise ConfigInvalid(f"the hooks in {path} are not what they should be.", way_out="It was left as it is.")
    return found or []


def _others(groups: list[Any], client: str) -> list[Any]:
    """Without what is ours, and without the groups that were there for it alone."""
    ours = re.compile(rf"engram.* hook (?:{'|'.join(EVENTS)}) --client {client}$")
    return [one for one in (_pruned(group, ours) for group in groups) if one is not None]


def _pruned(group: Any, ours: re.Pattern[str]) -> Any:
    entries = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(entries, list):
        return group
    kept = [one for one in entries if not (isinstance(one, dict) and ours.search(str(one.get("command", ""))))]
    if len(kept) == len(entries):
        return group
    return {**group, "hooks": kept} if kept else None


def _is(text: str, value: object) -> bool:
    try:
        return bool(jsonc.loads(text) == value)
    except ValueError:
        return False
