"""What a job is: a name and a function from where it has come to one page of revisions.

The contract, for whoever writes one:

- `page(desk, cursor)` reads a bounded number of rows and decides by pure rules. It writes nothing: it answers with `Revision`
  values (`passes.py`), which the runner checks (`rules.py`) and the store applies with the cursor in one transaction, recorded
  for undo. Killed before that, the same page is read again; killed after it, the next one is.
- `desk.touched(cursor, limit)` gives the active memories that are new or changed since the cursor, of everything the reader may
  write, and where the next page starts. A job that goes by it visits what changed, not what there is.
- `desk.touched_or_due(job, cursor)` also brings those that the job gave a date to (`Due`): for what changes with time, or with
  use, which leaves no trace in the log.
- Only memories of exactly the same scope may be brought together (`by_scope`): ask for neighbours as `desk.here(memory)`.
- Run again without new memories, a job must propose nothing that is so already. (The store passes over a link that is there, a
  memory that is retired, words that are known.)
- What was changed after `Page.since` is passed over by the store, and visited again because it changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from engram.index.vectors.live import LiveIndex
from engram.models.embedders import Embedder
from engram.settings import Settings
from engram.store.sqlite.store import SqliteStore
from engram.types import Memory, Policy, Reader, Scope, Status
from engram.values.dreams import Cursor, Proposal, Recheck
from engram.values.frozen import frozen, replace

PAGE = 64
"""Memories of one page: what one transaction, which others wait for, has to do with."""


@frozen
class Desk:
    """What a job works with. `index` has the vectors that are stored; `embedder` may be missing, and need not be asked."""

    store: SqliteStore
    reader: Reader
    settings: Settings
    now: datetime
    index: LiveIndex | None = None
    embedder: Embedder | None = None

    def touched(self, cursor: Cursor, limit: int = PAGE) -> Touched:
        """Active memories that changed since the cursor, in the order of that, each once."""
        found, after, more, latest, visited = self.store.touched(self.reader, cursor, limit)
        standing = tuple(one for one in found if one.status is Status.ACTIVE)
        retired = tuple(one.id for one in found if one.status is not Status.ACTIVE)
        return Touched(standing, after, more, latest, visited, retired)

    def touched_or_due(self, job: str, cursor: Cursor, limit: int = PAGE) -> Touched:
        """Those, and the ones that the job wanted to look at by now (`Due`)."""
        touched = self.touched(cursor, limit)
        known = {one.id for one in touched.memories}
        due = self.store.due(self.reader, job, self.now, limit)
        return replace(
            touched,
            memories=(*touched.memories, *(one for one in due if one.id not in known)),
            more=touched.more or len(due) == limit,
            visited=touched.visited + len(due),
            due=(*touched.retired, *(one.id for one in due)),
        )

    def here(self, memory: Memory) -> Reader:
        """One who sees exactly the scope of a memory."""
        return replace(self.reader, scope=memory.scope, policy=Policy.OWN)


def by_scope(memories: Iterable[Memory]) -> list[list[Memory]]:
    """Those of each scope together."""
    found: dict[Scope, list[Memory]] = {}
    for memory in memories:
        found.setdefault(memory.scope, []).append(memory)
    return list(found.values())


@frozen
class Touched:
    """Memories to look at; where the next page starts and whether there is one; the change that was the latest then; the ids of
    those that were retired meanwhile; and of those whose date is over, because it has come or they stand no more."""

    memories: tuple[Memory, ...]
    cursor: Cursor
    more: bool
    since: int
    visited: int
    retired: tuple[str, ...] = ()
    due: tuple[str, ...] = ()

    def page(self, revisions: Sequence[Proposal]) -> Page:
        """What was due and got no other date is due no more: else each pass would step over all that was ever retired."""
        dated = {one.memory for one in revisions if isinstance(one, Recheck)}
        seen = [Recheck(one, None) for one in self.due if one not in dated]
        return Page((*revisions, *seen), self.cursor, more=self.more, since=self.since, visited=self.visited)


@frozen
class Page:
    """What a job would change, and where it goes on. `visited`: rows it looked at."""

    revisions: tuple[Proposal, ...]
    cursor: Cursor
    more: bool
    since: int
    visited: int


@frozen
class Job:
    """`light`: quick enough for `consolidate`; others are for a `dream`."""

    name: str
    help: str
    page: Callable[[Desk, Cursor], Page]
    light: bool = False
