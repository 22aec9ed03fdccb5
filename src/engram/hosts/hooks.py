"""The hooks of coding agents: edits that add our entries to the settings file of Claude Code or Codex, or remove them.

An entry is ours if its command is `… hook EVENT --client CLIENT`. All other entries, and the rest of a file, stay.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engram.errors import ConfigInvalid
from engram.hosts import CLAUDE, CODEX, HOOK_EVENTS, edits, jsonc
from engram.hosts.edits import Edit

HOOK_FILES = {CLAUDE: ("CLAUDE_CONFIG_DIR", ".claude", "settings.json"), CODEX: ("CODEX_HOME", ".codex", "hooks.json")}
_EVENTS = {
    CLAUDE: ("session-start", "user-prompt", "pre-compact", "stop", "session-end"),
    CODEX: ("session-start", "user-prompt", "pre-compact", "stop"),
}
_SESSION_START_MATCHER = "startup|resume|clear|compact"
_HOOK_TIMEOUT_S = 10


def with_hooks(path: Path, text: str | None, client: str, program: str) -> Edit:
    """Return the edit that adds our hooks, each once, with the command `program`."""
    after = text
    for event in _EVENTS[client]:
        entry = {"type": "command", "command": f"{program} hook {event} --client {client}", "timeout": _HOOK_TIMEOUT_S}
        group: dict[str, Any] = {"matcher": _SESSION_START_MATCHER} if event == "session-start" else {}
        groups = [*_others(_groups(path, after, event), client), {**group, "hooks": [entry]}]
        after = edits.put_json(path, after, _place(event), groups).after
    return Edit(path, text, after)


def without_hooks(path: Path, text: str | None, client: str, before: Sequence[str] = ()) -> Edit:
    """Return the edit that removes our hooks. before: earlier texts of the file; if one of them says what remains, it is restored
    byte by byte. A file that held only our hooks is removed."""
    after = text
    for event in HOOK_EVENTS:
        groups = _groups(path, after, event)
        others = _others(groups, client)
        if others != groups:
            removal = (
                edits.put_json(path, after, _place(event), others) if others else edits.take_json(path, after, _place(event))
            )
            after = removal.after
    if after is None or after == text:
        return Edit(path, text, after)
    remaining = jsonc.loads(after)
    return Edit(path, text, next((backup for backup in before if _parses_to(backup, remaining)), after))


def _place(event: str) -> tuple[str, str]:
    return "hooks", HOOK_EVENTS[event]


def _groups(path: Path, text: str | None, event: str) -> list[Any]:
    groups = edits.found_json(path, text, _place(event))
    if groups is not None and not isinstance(groups, list):
        raise ConfigInvalid(f"`hooks.{HOOK_EVENTS[event]}` in {path} is not a list.", way_out="The file was not changed.")
    return groups or []


def _others(groups: list[Any], client: str) -> list[Any]:
    """Return the groups without our entries, and without groups that held nothing else."""
    ours = re.compile(rf"engram.* hook (?:{'|'.join(HOOK_EVENTS)}) --client {client}$")
    return [pruned for pruned in (_without_ours(group, ours) for group in groups) if pruned is not None]


def _without_ours(group: Any, ours: re.Pattern[str]) -> Any:
    entries = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(entries, list):
        return group
    kept = [entry for entry in entries if not (isinstance(entry, dict) and ours.search(str(entry.get("command", ""))))]
    if len(kept) == len(entries):
        return group
    return {**group, "hooks": kept} if kept else None


def _parses_to(text: str, value: object) -> bool:
    try:
        return bool(jsonc.loads(text) == value)
    except ValueError:
        return False
