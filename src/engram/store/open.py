"""Opens a store: the only module through which other packages reach an engine.

Comes in: the location of a vault, settings, clock, the rules that decide while it writes, and credentials. Goes out: a `Store`,
as `ports.py` defines it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram.env import Env
from engram.settings import LiveSettings
from engram.store.credentials import Credentials

if TYPE_CHECKING:
    from engram.store.ports import Store
    from engram.store.rule_ports import StoreRules


def open_store(
    path: Path, live: LiveSettings, env: Env, rules: StoreRules, credentials: Credentials = Credentials(), *, brief: bool = False
) -> tuple[Store, str]:
    """Open the vault in this folder and create it if it is missing.

    brief: for a process that asks a few questions and ends, such as a hook. The file is not checked as a whole, and the audit
    trail is written at closing, without a writing thread.

    Returns the store and, for a new vault, the notice that says where its key is kept.
    """
    from engram.store.sqlite.vault import open_vault  # late, for start-up time: importing types opens nothing

    return open_vault(path, live, env, rules, credentials, brief=brief)


def foreign_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of another program's SQLite file of memories; `text` holds the words."""
    from engram.store.sqlite import foreign  # late: only needed to import another program's file

    return foreign.foreign_rows(path)
