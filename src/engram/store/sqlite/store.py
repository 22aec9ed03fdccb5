"""The store on SQLite: every verb of the protocol.

The class only joins what stands in `writing`, `reading`, `caring`, `shelving` and `suspending` on the one `path`;
`vault.open_vault` makes it.
"""

from __future__ import annotations

from engram.store.sqlite.caring import Caring
from engram.store.sqlite.reading import Reading
from engram.store.sqlite.shelving import Shelving
from engram.store.sqlite.suspending import Suspending
from engram.store.sqlite.writing import Writing


class SqliteStore(Writing, Reading, Caring, Shelving, Suspending):
    """All verbs of one open vault."""
