"""Numbers about the whole vault, by name, in the table `meta`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.guard.visibility import require_writer
from engram.types import (
    Reader,
)

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


class Figures:
    """Numbers about the whole vault, by name."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def get(self, name: str) -> float | None:
        """Return a number about the whole vault; None if it was never stored."""
        with self._gate.readers.use("figures") as connection:
            value = connection.execute("SELECT value FROM meta WHERE name = ?", (f"figure:{name}",)).get
        return None if value is None else float(value)

    def put(self, reader: Reader, name: str, value: float) -> None:
        """Store a number about the whole vault, such as a weight that recall has learned."""
        with self._gate.watched(reader, "figure"):
            require_writer(reader)
            sql = "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)"
            self._gate.write(reader, "figure", lambda connection: connection.execute(sql, (f"figure:{name}", value)).get)
