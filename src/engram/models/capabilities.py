"""Capabilities of language models: window, output, tools, vision, thinking, tokenizer, provider (§15.5, §17.5.2).

The data is in `llms.toml`, which a file of the user's own may override. A name is looked up by its longest known prefix, so that
dated and tuned names belong to their family. Case, dots for dashes (`claude-3.5`, `claude-3-5`) and prefixes of providers
(`anthropic/`, `us.anthropic.`, `models/`, `ollama:`, `ft:`) do not matter.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from engram.errors import ConfigInvalid
from engram.text import tokens
from engram.values.frozen import frozen

_SEPARATOR = re.compile(r"[:.@]")
_FIELDS = {"window": int, "output": int, "tokenizer": str, "provider": str, "tools": bool, "vision": bool, "thinking": bool}
_NEEDED = ("window", "output", "tokenizer")
_PARTS = ("unknown", "models", "aliases")


@frozen(kw_only=True)
class Capabilities:
    """The capabilities of a model. `known` is False for the cautious defaults of an unknown name."""

    name: str
    window: int
    output: int
    tokenizer: str
    provider: str = ""
    tools: bool = False
    vision: bool = False
    thinking: bool = False
    known: bool = True


@frozen
class _Table:
    unknown: dict[str, Any]
    models: dict[str, dict[str, Any]]
    aliases: dict[str, str]


def capabilities(model: str, overrides: str | Path | None = None) -> Capabilities:
    """Return the capabilities of the longest known prefix of this name, or the cautious defaults."""
    table = _table(*_file(overrides))
    name = model.strip().lower().rsplit("/", 1)[-1]
    best, family = name, ""
    for start in (0, *(separator.end() for separator in _SEPARATOR.finditer(name))):
        candidate = table.aliases.get(_dashed(name[start:]), name[start:])
        longest = max((known for known in table.models if _is_of_family(_dashed(candidate), known)), key=len, default="")
        if len(longest) > len(family):
            best, family = candidate, longest
    return Capabilities(name=best, **table.models[family]) if family else Capabilities(name=best, known=False, **table.unknown)


def _dashed(name: str) -> str:
    return name.replace("_", "-").replace(".", "-")


def _is_of_family(name: str, family: str) -> bool:
    """Return True if the name begins with the family's, not ending within a number: `gpt-4-1106` is not `gpt-4.1`."""
    rest = name[len(family) :]
    return name.startswith(family) and not (family[-1].isdigit() and rest[:1].isdigit())


def _file(overrides: str | Path | None) -> tuple[str, int]:
    """Return the path and its modification time, so that the cached table is reread when the file changes."""
    if not overrides:
        return "", 0
    path = Path(overrides).expanduser()
    try:
        return str(path), path.stat().st_mtime_ns
    except OSError as error:
        raise _unreadable(error) from None


@lru_cache(maxsize=8)
def _table(overrides: str, _changed: int) -> _Table:
    shipped = tomllib.loads(files("engram.models").joinpath("llms.toml").read_text("utf-8"))
    parts = {part: _normal(part, shipped[part]) for part in _PARTS}
    if overrides:
        for part, entries in _read_overrides(overrides).items():
            parts[part] = _merged(parts[part], entries) if part == "models" else parts[part] | entries
    for family, entry in (("unknown", parts["unknown"]), *parts["models"].items()):
        _check(family, entry)
    models = {family: _resolved(family, parts["models"]) for family in parts["models"]}
    return _Table(parts["unknown"], models, parts["aliases"])


def _read_overrides(path: str) -> dict[str, dict[str, Any]]:
    try:
        tables = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _unreadable(error) from None
    invalid = [part for part, value in tables.items() if part not in _PARTS or not isinstance(value, dict)]
    if invalid:
        raise _invalid(f"{invalid[0]!r} is not one of the tables {', '.join(_PARTS)}.")
    return {part: _normal(part, entries) for part, entries in tables.items()}


def _normal(part: str, entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries with their names in the form used for lookup."""
    if part == "unknown":
        return dict(entries)
    named = {_dashed(name.strip().lower()): entry for name, entry in entries.items()}
    for name, entry in named.items():
        if not name or not isinstance(entry, str if part == "aliases" else dict):
            raise _invalid(f"{name!r} of {part!r} has the wrong type.")
    if part == "aliases":
        return {name: entry.strip().lower() for name, entry in named.items()}
    return {name: _like_dashed(entry) for name, entry in named.items()}


def _like_dashed(entry: dict[str, Any]) -> dict[str, Any]:
    like = entry.get("like")
    return entry | {"like": _dashed(like.strip().lower())} if isinstance(like, str) else entry


def _merged(shipped: Mapping[str, dict[str, Any]], overrides: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Override the shipped entries field by field, so that a correction of one field keeps the others. An entry with `like`
    replaces the shipped one."""
    merged = {family: entry if "like" in entry else shipped.get(family, {}) | entry for family, entry in overrides.items()}
    return {**shipped, **merged}


def _resolved(family: str, models: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the entry of a family with the fields it inherits through `like`."""
    seen, entry = [family], dict(models[family])
    while "like" in entry:
        like = entry.pop("like")
        if like not in models or like in seen:
            raise _invalid(f"`like` of {family!r} names an unknown model, or leads back to it.")
        seen.append(like)
        entry = models[like] | entry
    missing = [name for name in _NEEDED if name not in entry]
    if missing:
        raise _invalid(f"{family!r} has no {' and no '.join(missing)}.")
    return entry


def _check(family: str, entry: Mapping[str, Any]) -> None:
    for name, value in entry.items():
        wanted = str if name == "like" and family != "unknown" else _FIELDS.get(name)
        if type(value) is not wanted or (isinstance(value, int) and wanted is int and value < 1):
            raise _invalid(f"{name!r} of {family!r} has an unknown name or a wrong value.")
    if entry.get("tokenizer", tokens.UNKNOWN) not in tokens.families():
        raise _invalid(f"the tokenizer of {family!r} is not one of {', '.join(tokens.families())}.")


def _unreadable(error: Exception) -> ConfigInvalid:
    return ConfigInvalid(
        f"the file of models cannot be read ({type(error).__name__}).", way_out="Check the setting `models_file`."
    )


def _invalid(problem: str) -> ConfigInvalid:
    return ConfigInvalid(
        f"in the file of models, {problem}", way_out="Correct the file that `models_file` names, or clear the setting."
    )
