"""Engram: the memory of an AI agent. One encrypted folder, no server, no account, no network.

import engram

with engram.open("~/memory", agent="rex") as mem:
    mem.remember("I prefer dark mode in every editor", importance=0.8)
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from engram import aio
    from engram.context.sections import ContextSection
    from engram.engine import Engram
    from engram.engine import open_engram as open
    from engram.errors import EngramError
    from engram.models.language_models import Extracted
    from engram.types import (
        Edge,
        Hit,
        Kind,
        Memory,
        Mode,
        Outcome,
        Policy,
        Reader,
        Recall,
        Report,
        Role,
        Scope,
        Source,
        Status,
        Turn,
    )
    from engram.values.query import Filter

__version__ = "0.1.0"

__all__ = [
    "ContextSection",
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

_HOMES = {
    "ContextSection": "context.sections",
    "Engram": "engine",
    "open": "engine",
    "EngramError": "errors",
    "Extracted": "models.language_models",
    "Filter": "values.query",
}

if not TYPE_CHECKING:  # with a `__getattr__`, type checkers would accept any name

    def __getattr__(name):
        """Import a public name on first use, so that importing the package loads no database and no model."""
        from importlib import import_module  # late: a hook uses none of these names, and `importlib` imports `warnings`

        if name not in __all__:
            raise AttributeError(f"module 'engram' has no attribute {name!r}")
        if name == "aio":
            return import_module("engram.aio")
        return getattr(import_module(f"engram.{_HOMES.get(name, 'types')}"), "open_engram" if name == "open" else name)


def __dir__() -> list[str]:
    return sorted(__all__)
