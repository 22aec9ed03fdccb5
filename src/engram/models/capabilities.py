"""What a language model can take and give: window, output, tools, vision, thinking, tokenizer, provider (§15.5, §17.5.2).

Data, not code: `llms.toml`, and a file of the user's own over it. A name is found by its longest known beginning, so that
dated and tuned names of a family are that family. Case, dots for dashes (`claude-3.5`, `claude-3-5`) and what providers
put before a name (`anthropic/`, `us.anthropic.`, `models/`, `ollama:`, `ft:`) do not matter.
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
    """Of one model; `known` is False for the cautious guess that stands for a name nobody knows."""

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
    """The entry of the longest beginning of this name; the cautious one if there is none."""
    table = _table(*_file(overrides))
    name = model.strip().lower().rsplit("/", 1)[-1]
    best, family = name, ""
    for start in (0, *(separator.end() for separator in _SEPARATOR.finditer(name))):
        asked = table.aliases.get(_dashed(name[start:]), name[start:])
        longest = max((known for known in table.models if _begins(_dashed(asked), known)), key=len, default="")
        if len(longest) > len(family):
            best, family = asked, longest
    return Capabilities(name=best, **table.models[family]) if family else Capabilities(name=best, known=False, **table.unknown)


def _dashed(name: str) -> str:
    return name.replace("_", "-").replace(".", "-")


def _begins(name: str, family: str) -> bool:
    """Not within a number: `gpt-4-1106` is no `gpt-4.1`, and `o10` no `o1`."""
    rest = name[len(family) :]
    return name.startswith(family) and not (family[-1].isdigit() and rest[:1].isdigit())


def _file(overrides: str | Path | None) -> tuple[str, int]:
    """The file and when it was last changed, so that a change is seen by the next call."""
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
        for part, own in _own(overrides).items():
            parts[part] = _merged(parts[part], own) if part == "models" else parts[part] | own
    for family, entry in (("unknown", parts["unknown"]), *parts["models"].items()):
        _check(family, entry)
    models = {family: _resolved(family, parts["models"]) for family in parts["models"]}
    return _Table(parts["unknown"], models, parts["aliases"])


def _own(path: str) -> dict[str, dict[str, Any]]:
    try:
        given = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _unreadable(error) from None
    wrong = [part for part, value in given.items() if part not in _PARTS or not isinstance(value, dict)]
    if wrong:
        raise _wrong(f"{wrong[0]!r} is none of the tables {', '.join(_PARTS)}.")
    return {part: _normal(part, own) for part, own in given.items()}


def _normal(part: str, entries: Mapping[str, Any]) -> dict[str, Any]:
    """Names as they are looked up."""
    if part == "unknown":
        return dict(entries)
    named = {_dashed(name.strip().lower()): entry for name, entry in entries.items()}
    for name, entry in named.items():
        if not name or not isinstance(entry, str if part == "aliases" else dict):
            raise _wrong(f"{name!r} of {part!r} is not what it should be.")
    if part == "aliases":
        return {name: entry.strip().lower() for name, entry in named.items()}
    return {name: _like_dashed(entry) for name, entry in named.items()}


def _like_dashed(entry: dict[str, Any]) -> dict[str, Any]:
    like = entry.get("like")
    return entry | {"like": _dashed(like.strip().lower())} if isinstance(like, str) else entry


def _merged(shipped: Mapping[str, dict[str, Any]], own: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Field by field, so that a user who corrects a window need not know the rest; `like` begins anew."""
    return {**shipped, **{family: entry if "like" in entry else shipped.get(family, {}) | entry for family, entry in own.items()}}


def _resolved(family: str, models: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """The entry with all that it takes over from those it is like."""
    seen, entry = [family], dict(models[family])
    while "like" in entry:
        like = entry.pop("like")
        if like not in models or like in seen:
            raise _wrong(f"what {family!r} is like is not there, or leads back to it.")
        seen.append(like)
        entry = models[like] | entry
    missing = [name for name in _NEEDED if name not in entry]
    if missing:
        raise _wrong(f"{family!r} lacks its {' and '.join(missing)}.")
    return entry


def _check(family: str, entry: Mapping[str, Any]) -> None:
    for name, value in entry.items():
        wanted = str if name == "like" and family != "unknown" else _FIELDS.get(name)
        if type(value) is not wanted or (isinstance(value, int) and wanted is int and value < 1):
            raise _wrong(f"{name!r} of {family!r} is not what it should be.")
    if entry.get("tokenizer", tokens.UNKNOWN) not in tokens.families():
        raise _wrong(f"the tokenizer of {family!r} is none of {', '.join(tokens.families())}.")


def _unreadable(error: Exception) -> ConfigInvalid:
    return ConfigInvalid(f"the file of models cannot be read ({type(error).__name__}).", way_out="Look at `models_file`.")


def _wrong(what: str) -> ConfigInvalid:
    return ConfigInvalid(
        f"in the file of models, {what}", way_out="Mend the file that `models_file` names, or empty the setting."
    )
