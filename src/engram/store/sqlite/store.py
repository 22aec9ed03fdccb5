"""The store on SQLite: every verb of the protocol.

The class only joins what stands in `writing`, `reading` and `caring` on the one `path`; it is made by `vault.open_vault`.
"""

from __future__ import annotations

from engram.store.sqlite.caring import Caring
from engram.store.sqlite.reading import Reading
from engram.store.sqlite.writing import Writing


class SqliteStore(Writing, Reading, Caring):
    """All verbs of one open vault."""
