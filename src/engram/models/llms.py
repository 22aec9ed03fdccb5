"""What a language model can take and give: window, output, tools, vision, thinking, tokenizer, provider (§15.5, §17.5.2).

Data, not code: `llms.toml`, and a file of the user's own over it. A name is found by its longest known beginning, so that
dated and tuned names of a family are that family; a provider's prefix (`anthropic/`, `models/`) and case do not matter.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from engram.errors import ConfigInvalid

_PROVIDER = re.compile(r"^(?:[\w.-]+[/:])+(?=[a-z])")
_FIELDS = {"window": int, "output": int, "tokenizer": str, "provider": str, "tools": bool, "vision": bool, "thinking": bool}


@dataclass(frozen=True, slots=True, kw_only=True)
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


def capabilities(model: str, overrides: str | Path | None = None) -> Capabilities:
    """The entry of the longest beginning of this name; the cautious one if there is none."""
    table = _table(str(overrides) if overrides else "")
    name = _plain(model)
    name = table["aliases"].get(name, name)
    known = [family for family in table["models"] if name.startswith(family)]
    if not known:
        return Capabilities(name=name, known=False, **table["unknown"])
    return Capabilities(name=name, **_entry(table["models"], max(known, key=len)))


def _plain(model: str) -> str:
    name = model.strip().lower().replace("_", "-")
    return _PROVIDER.sub("", name) or name


def _entry(models: Mapping[str, dict[str, Any]], family: str) -> dict[str, Any]:
    given = models[family]
    like = given.get("like")
    base = _entry({name: entry for name, entry in models.items() if name != family}, like) if like else {}
    return base | {name: value for name, value in given.items() if name != "like"}


@lru_cache(maxsize=8)
def _table(overrides: str) -> dict[str, Any]:
    shipped = tomllib.loads(files("engram.models").joinpath("llms.toml").read_text("utf-8"))
    table = {"unknown": shipped["unknown"], "models": shipped["models"], "aliases": shipped["aliases"]}
    if overrides:
        try:
            own = tomllib.loads(Path(overrides).expanduser().read_text("utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ConfigInvalid(f"the file of models cannot be read ({type(error).__name__}).") from None
        for part in table:
            table[part] = table[part] | own.get(part, {})
    for family, entry in (("unknown", table["unknown"]), *table["models"].items()):
        _check(family, entry, table["models"])
    return table


def _check(family: str, entry: Mapping[str, Any], models: Mapping[str, Any]) -> None:
    for name, value in entry.items():
        if name == "like":
            right = isinstance(value, str) and value in models and value != family
        else:
            right = name in _FIELDS and type(value) is _FIELDS[name] and (type(value) is not int or value > 0)
        if not right:
            raise ConfigInvalid(f"in the file of models, {name!r} of {family!r} is not what it should be.")
    if "like" not in entry and not {"window", "output", "tokenizer"} <= set(entry):
        raise ConfigInvalid(f"in the file of models, {family!r} lacks its window, output or tokenizer.")
