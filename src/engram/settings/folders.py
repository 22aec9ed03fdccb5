"""The folders that Engram uses: of the default vault, the configuration, keys and models, and of other programs' settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from engram.errors import ConfigInvalid
from engram.settings.file import Unreadable, file_text, parsed

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


def config_path(environ: Mapping[str, str] | None = None) -> Path:
    """Return the configuration file: `ENGRAM_CONFIG`, else the one in the platform's configuration folder."""
    named = (os.environ if environ is None else environ).get("ENGRAM_CONFIG")
    return Path(named).expanduser().absolute() if named else own_folder("config") / "config.toml"


def key_folder() -> Path:
    """Return the folder of key files, which lies outside every vault."""
    return config_path().parent / "keys"


def data_folder() -> Path:
    """Return the platform's data folder, in which a vault lies unless the user names another place."""
    return own_folder("data")


def home(environ: Mapping[str, str] | None = None) -> Path:
    """Return the default vault: `ENGRAM_HOME`, else `home` in the configuration file, else one in the data folder."""
    named = (os.environ if environ is None else environ).get("ENGRAM_HOME") or _home_in_file(environ)
    try:
        return Path(named).expanduser().absolute() if named else data_folder() / "vault"
    except RuntimeError:  # ~name of a user who does not exist
        raise ConfigInvalid("ENGRAM_HOME can be no folder.", way_out="Name a folder; it is made if missing.") from None


def hidden_home(random: Callable[[int], bytes]) -> Path:
    """Return a folder for a vault with a meaningless hidden name, beside the folders of other programs (§10.2.1)."""
    return data_folder().parent / f".state-{random(4).hex()}"


def _home_in_file(environ: Mapping[str, str] | None) -> str:
    try:
        named = parsed(file_text(config_path(environ))).get("home", "")
    except Unreadable:
        return ""
    return named if isinstance(named, str) else ""
