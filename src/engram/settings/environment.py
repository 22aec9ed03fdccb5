"""Environment variables that are no settings, and the platform's folders for a program's files."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

_XDG_DEFAULTS = {"config": "~/.config", "data": "~/.local/share", "cache": "~/.cache"}


def own_folder(kind: Literal["config", "data", "cache"]) -> Path:
    """Return Engram's folder of that kind.

    On Linux by the XDG rule, as `platformdirs` has it: importing that takes 6 ms, which every prompt of a host would wait for.
    """
    home = os.environ.get("HOME", "/")
    if sys.platform == "linux" and not hasattr(sys, "getandroidapilevel") and os.path.isabs(home):
        named = os.environ.get(f"XDG_{kind.upper()}_HOME", "")
        return Path(named if os.path.isabs(named) else os.path.expanduser(_XDG_DEFAULTS[kind])) / "engram"
    import platformdirs

    folder_of = {"config": platformdirs.user_config_dir, "data": platformdirs.user_data_dir, "cache": platformdirs.user_cache_dir}
    return Path(folder_of[kind]("engram", appauthor=False))


def model_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of installed models, shared by all vaults: `ENGRAM_MODELS`, else the platform's cache folder."""
    named = (os.environ if environ is None else environ).get("ENGRAM_MODELS")
    return Path(named).expanduser() if named else own_folder("cache") / "models"


def host_folder(variable: str, default: str) -> Path:
    """Return the settings folder of another program: the one its variable names, else `default` in the user's home."""
    named = os.environ.get(variable, "").strip()
    return Path(named).expanduser() if named else Path.home() / default


def passphrase() -> str | None:
    """Return the passphrase in `ENGRAM_PASSPHRASE`, or None."""
    return os.environ.get("ENGRAM_PASSPHRASE")


def secret(name: str) -> str:
    """Return the API key in the environment variable `name`; empty if there is none that can be sent in a header."""
    value = os.environ.get(name, "").strip() if name else ""
    return value if value.isascii() and value.isprintable() else ""


def completing() -> bool:
    """Return True if a shell asks for completions of a command line."""
    return "_ENGRAM_COMPLETE" in os.environ


@contextlib.contextmanager
def environment_variable(name: str, value: str) -> Iterator[None]:
    """Set an environment variable within this block, for a library that is configured no other way."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
