"""A message as most programs hold it, `role` and `content`, as a turn. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from engram.types import Turn

OpenAI = Mapping[str, object]
"""`role`, and `content`, which is text or a list of parts."""

_WORDLESS = ("image", "audio", "video", "file", "document")


def turn_of(message: object) -> Turn | None:
    """What was said in it, which may be nothing, as in a call of a tool; None if it is no message."""
    if not isinstance(message, Mapping):
        return None
    role, content = message.get("role"), message.get("content")
    if isinstance(content, list | tuple):
        content = _joined(content)
    if not isinstance(role, str) or not isinstance(content, str | None):
        return None
    return Turn(content or "", role)


def _joined(parts: list[object] | tuple[object, ...]) -> str:
    return "\n".join(filter(None, map(_words, parts)))


def _words(part: object) -> str:
    """A part as words: its text, that of a tool's result, or what it is that has none."""
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return ""
    if isinstance(part.get("text"), str):
        return str(part["text"])
    inner = part.get("content")  # of a tool's result
    if isinstance(inner, list | tuple):
        return _joined(inner)
    if isinstance(inner, str):
        return inner
    kind = str(part.get("type"))
    return next((f"[{name}]" for name in _WORDLESS if name in kind), "")
