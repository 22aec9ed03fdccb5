"""Opens a store: the only module through which other packages reach an engine.

Comes in: the location of a vault, settings, clock, the rules that decide while it writes, and credentials. Goes out: a `Store`,
as `ports.py` defines it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from engram.env import Env
from engram.settings import LiveSettings
from engram.store.credentials import Credentials

if TYPE_CHECKING:
    import apsw

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


@contextmanager
def open_foreign(path: Path) -> Iterator[apsw.Connection]:
    """Open another program's SQLite file for reading, without trusting its schema."""
    from engram.store.sqlite import connection  # late: only needed to import another program's file

    with connection.open_foreign(path) as foreign:
        yield foreign
