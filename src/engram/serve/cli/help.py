"""The help of commands, corrected where typer's is written for Python programmers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import typer
import typer.core

HELP_OPTIONS = ["-h", "--help"]
_TYPES = {
    "str": "TEXT",
    "int": "INTEGER",
    "float": "NUMBER",
    "Path": "PATH",
    "path": "PATH",
    "file": "FILE",
    "directory": "FOLDER",
}


def with_plain_help(command: Any) -> Any:
    """Correct the help of a command or group, and return it.

    Typer shows <bool> for flags that take no value, names types as Python does, and keeps the line breaks of docstrings. `Any`:
    the class of both is private to typer.
    """
    for option in (*command.params, command.get_help_option(typer.Context(command, help_option_names=HELP_OPTIONS))):
        if isinstance(option, typer.core.TyperOption) and option.is_flag:
            option.metavar = ""
        option.display_type = partial(_type_of, option.display_type)
    parts = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
    command.help, command.short_help = "\n\n".join(parts), command.short_help or parts[0]
    for part in getattr(command, "commands", {}).values():
        with_plain_help(part)
    return command


def _type_of(named: Callable[[typer.Context], str], ctx: typer.Context) -> str:
    """Return the type as help shows it, such as `TEXT …` for `<list[str]>`."""
    shown = named(ctx).strip("<>").removesuffix(" range")
    item = shown.removeprefix("list[").removesuffix("]")
    return _TYPES.get(item, item) + (" …" if item != shown else "")
