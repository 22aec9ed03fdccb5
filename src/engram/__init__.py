"""Engram: the memory of an AI agent. One encrypted folder, no server, no key of anyone else's, no network.

import engram

with engram.open("~/memory", agent="rex") as mem:
    mem.remember("I prefer dark mode in every editor", importance=0.8)
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from engram import aio as aio
    from engram.engine import Engram as Engram
    from engram.engine import open_engram as open

__version__ = "0.1.0"

_VALUES = ("Edge", "Kind", "Memory", "Policy", "Reader", "Role", "Scope", "Source", "Status", "Turn")
_ANSWERS = ("Hit", "Mode", "Outcome", "Recall", "Report")
_HOMES = {"Engram": ("engram.engine", "Engram"), "open": ("engram.engine", "open_engram")}
_HOMES |= {"Filter": ("engram.store.protocol", "Filter"), "Extracted": ("engram.models.extract", "Extracted")}
_HOMES |= {name: ("engram.types", name) for name in _VALUES} | {name: ("engram.answers", name) for name in _ANSWERS}
_HOMES |= {"EngramError": ("engram.errors", "EngramError")}

__all__ = [
    "Edge",
    "Engram",
    "EngramError",
    "Extracted",
    "Filter",
    "Hit",
    "Kind",
    "Memory",
    "Mode",
    "Outcome",
    "Policy",
    "Reader",
    "Recall",
    "Report",
    "Role",
    "Scope",
    "Source",
    "Status",
    "Turn",
    "aio",
    "open",
]


def __getattr__(name: str) -> Any:
    """Names are looked up when first used: importing the package loads no database and no model."""
    from importlib import import_module  # late: a hook asks for none of these, and it loads `warnings`

    if name == "aio":
        return import_module("engram.aio")
    if name not in _HOMES:
        raise AttributeError(f"module 'engram' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
