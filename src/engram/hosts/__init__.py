"""Programs that call Engram, and our entries in their settings files.

This module holds names only, because hooks load it before every prompt. `clients` knows the settings files, `edits` changes them.
"""

from __future__ import annotations

CLAUDE, CODEX = "claude-code", "codex"

HOOK_EVENTS = {
    "session-start": "SessionStart",
    "user-prompt": "UserPromptSubmit",
    "pre-compact": "PreCompact",
    "stop": "Stop",
    "session-end": "SessionEnd",
}
"""Hook events by our names, with the names that Claude Code and Codex use."""
