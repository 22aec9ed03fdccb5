"""Where a program's files lie on this system."""

from __future__ import annotations

import os
import sys
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

_USUAL = {"config": "~/.config", "data": "~/.local/share", "cache": "~/.cache"}


def own_folder(kind: Literal["config", "data", "cache"]) -> Path:
    """Ours of that kind. On Linux by the rule of XDG, word for word as `platformdirs` has it: that takes 6 ms to load, which
    every prompt of a host would wait for; the other systems are its own."""
    home = os.environ.get("HOME", "/")
    if sys.platform == "linux" and not hasattr(sys, "getandroidapilevel") and os.path.isabs(home):
        named = os.environ.get(f"XDG_{kind.upper()}_HOME", "")
        return Path(named if os.path.isabs(named) else os.path.expanduser(_USUAL[kind])) / "engram"
    import platformdirs

    found = {"config": platformdirs.user_config_dir, "data": platformdirs.user_data_dir, "cache": platformdirs.user_cache_dir}
    return Path(found[kind]("engram", appauthor=False))
