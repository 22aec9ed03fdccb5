"""What follows every removal for good: index files and pages that still hold it go too, and what could not is said."""

from __future__ import annotations

from engram.store.sqlite import shelving
from engram.store.sqlite.path import Path

_SNAPSHOT_LEFT = "a file in index/ could not be removed and may hold vectors of what was erased (encrypted): delete it."


_STILL_REWRITING = "time ran out while the pages were rewritten: the memories are gone, and the rewriting goes on."


class Scrubbing(Path):
    """Mixed into the store."""

    def _scrubbed(self) -> tuple[str, ...]:
        """Rewrite the pages and remove what indexes put away; what is left to say about it."""
        kept = "" if shelving.clear(self._opened.folder) else _SNAPSHOT_LEFT
        left = self._writer.aside(self._tides.scrub, "rewriting the pages", _STILL_REWRITING)
        older = sum(1 for _ in self._opened.folder.backups.glob("*.db"))
        still = f"{older} backups made before this still hold what was erased; delete them if they must not." if older else ""
        return tuple(note for note in (kept, left, still) if note)
