"""What follows every removal for good: index files and pages that still hold it go too, it is looked for, and what could not
go is said."""

from __future__ import annotations

from collections.abc import Callable

import apsw

from engram.log import Log
from engram.store.folder import clear_snapshots
from engram.store.sqlite import erasure, quotas, shelving, working
from engram.store.sqlite.erasure import Sought
from engram.store.sqlite.gate import Path
from engram.types import Reader, Role

log = Log("engram.store")

_SNAPSHOT_LEFT = "a file in index/ could not be removed and may hold vectors of what was erased (encrypted): delete it."
_ANYBODYS = frozenset({"working_snapshots", "receipts", "questions"})
_STILL_REWRITING = "time ran out while the pages were rewritten: the memories are gone, and the rewriting goes on."


class NothingDone(Exception):
    """Undoes a trial run: carries what would have been counted."""

    def __init__(self, counts: dict[str, int]) -> None:
        super().__init__()
        self.counts = counts


Counted = tuple[dict[str, int], Sought]


class Scrubbing(Path):
    """Mixed into the store."""

    def _counting(
        self, reader: Reader, remove: Callable[[apsw.Connection, erasure.Held], None], *, dry_run: bool
    ) -> Callable[[apsw.Connection], Counted]:
        """A removal that counts what goes, table by table, and notes what to look for afterwards; undone if it is a trial."""

        def work(connection: apsw.Connection) -> Counted:
            before, held = erasure.tally(connection), erasure.Held()
            remove(connection, held)
            wanted = erasure.sought(connection, held)
            working.forget_minds(connection, reader, wanted.words)
            shelving.forget_numbers(connection)
            quotas.forget_old(connection)
            counts = erasure.gone(before, erasure.tally(connection))
            if reader.role is not Role.OWNER:  # minds, answers and questions go whosever they are; how many is not theirs to know
                counts = {table: count for table, count in counts.items() if table not in _ANYBODYS}
            if dry_run:
                raise NothingDone(counts)
            return counts, wanted

        return work

    def _scrubbed(self, reader: Reader, wanted: Sought) -> tuple[str, ...]:
        """Rewrite the pages, remove what indexes put away, and look whether anything is left; what there is to say about it.

        What was found is told to the owner alone: others would learn what memories say that they do not see.
        """
        kept = "" if clear_snapshots(self._opened.folder) else _SNAPSHOT_LEFT
        unwritten = self._writer.aside(self._tides.scrub, "rewriting the pages", _STILL_REWRITING)
        proof = "" if unwritten or reader.role is not Role.OWNER else self._proof(wanted)
        return tuple(note for note in (kept, unwritten, proof, self._older()) if note)

    def _proof(self, wanted: Sought) -> str:
        with self._readers.use("looking for what was erased") as connection:
            found = erasure.left(connection, wanted)
        if not found:
            return f"{wanted.sentence} in every table and page: none is left."
        log.warning("%d places still have words of what was erased", len(found))
        places = ", ".join(f"{place} ({count})" for place, count in found.items())
        return f"{wanted.sentence}: some stand elsewhere, in {places}. What stands there is not of what was erased; erase it too."

    def _older(self) -> str:
        names = sorted(path.name for path in self._opened.folder.backups.glob("*.db"))
        if not names:
            return ""
        return (
            f"{len(names)} backups made before this still hold what was erased (backups/: {', '.join(names)}); delete them if"
            f" they must not, or let {self._live.now.backups_kept} new ones take their place."
        )
