"""The contract of a job: a name, and a function from a cursor to one page of proposals.

For the author of a job:

- `page(context, cursor)` reads a bounded number of rows and decides by pure rules. It writes nothing: it returns `Proposal`
  values, which the runner checks (`allowed`) and the store applies together with the cursor in one transaction, recorded for
  undo. A pass killed before that reads the same page again; one killed after it reads the next.
- `context.touched(cursor, limit)` returns the active memories that are new or changed since the cursor, of all scopes the reader
  may write, and where the next page starts. A job that uses it costs as much as has changed, not as much as is stored.
- `context.touched_or_due(job, cursor)` also returns memories for which the job proposed a date (`Recheck`): for decisions that
  depend on time, or on use, which is not in the change log.
- Only memories of exactly the same scope may be related (`by_scope`): read neighbours as `context.scoped_to(memory)`.
- Run again without new memories, a job must propose nothing that is already so. (The store skips an edge that exists, a memory
  that is retired, a text that is known.)
- The store skips memories that changed after `JobPage.since`; they are visited again because they changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from engram.dream.limits import DreamLimits
from engram.index.vectors.live import LiveIndex
from engram.models.embedders import Embedder
from engram.rules.duplicates import DuplicateWeights
from engram.rules.pairs import PairWeights
from engram.settings import Settings
from engram.store.ports import Store
from engram.types import Memory, Policy, Reader, Scope, Status
from engram.values.dreams import Cursor, Proposal, Recheck
from engram.values.edges import EdgeWeights
from engram.values.frozen import frozen, replace

PAGE = 64
"""Memories per page; one page is one transaction, for which other writers wait."""


@frozen
class JobContext:
    """The store, reader, settings, time, index and encoder that a job works with. `index` and `embedder` may be missing."""

    store: Store
    reader: Reader
    settings: Settings
    now: datetime
    index: LiveIndex | None = None
    embedder: Embedder | None = None
    limits: DreamLimits = DreamLimits()
    edge_weights: EdgeWeights = EdgeWeights()
    duplicate_weights: DuplicateWeights = DuplicateWeights()
    pair_weights: PairWeights = PairWeights()

    def touched(self, cursor: Cursor, limit: int = PAGE) -> TouchedMemories:
        """Return the active memories that changed since the cursor, each once, in the order of their changes."""
        memories, after, more, latest, visited = self.store.dreams.touched(self.reader, cursor, limit)
        active = tuple(memory for memory in memories if memory.status is Status.ACTIVE)
        retired = tuple(memory.id for memory in memories if memory.status is not Status.ACTIVE)
        return TouchedMemories(active, after, more, latest, visited, retired)

    def touched_or_due(self, job: str, cursor: Cursor, limit: int = PAGE) -> TouchedMemories:
        """Return the touched memories, and those whose date, proposed by this job as a `Recheck`, has come."""
        touched = self.touched(cursor, limit)
        known = {memory.id for memory in touched.memories}
        due = self.store.dreams.due(self.reader, job, self.now, limit)
        return replace(
            touched,
            memories=(*touched.memories, *(memory for memory in due if memory.id not in known)),
            more=touched.more or len(due) == limit,
            visited=touched.visited + len(due),
            due=(*touched.retired, *(memory.id for memory in due)),
        )

    def scoped_to(self, memory: Memory) -> Reader:
        """Return a reader that sees exactly the scope of a memory."""
        return replace(self.reader, scope=memory.scope, policy=Policy.OWN)


def by_scope(memories: Iterable[Memory]) -> list[list[Memory]]:
    """Group memories by scope."""
    groups: dict[Scope, list[Memory]] = {}
    for memory in memories:
        groups.setdefault(memory.scope, []).append(memory)
    return list(groups.values())


@frozen
class TouchedMemories:
    """Memories to visit, the cursor of the next page and whether there is one, and the latest change when they were read.

    retired: ids of touched memories that are not active any more. due: ids whose date is to be cleared, because it has come or
    because the memory was retired.
    """

    memories: tuple[Memory, ...]
    cursor: Cursor
    more: bool
    since: int
    visited: int
    retired: tuple[str, ...] = ()
    due: tuple[str, ...] = ()

    def page(self, proposals: Sequence[Proposal]) -> JobPage:
        """Return the page with these proposals, and one that clears the date of each due memory that got no new date.

        Without it, every pass would visit all memories that were ever retired.
        """
        dated = {proposal.memory for proposal in proposals if isinstance(proposal, Recheck)}
        cleared = [Recheck(memory_id, None) for memory_id in self.due if memory_id not in dated]
        return JobPage((*proposals, *cleared), self.cursor, more=self.more, since=self.since, visited=self.visited)


@frozen
class JobPage:
    """The changes that a job proposes, and the cursor of its next page. `visited`: rows read. `notes`: for the report."""

    proposals: tuple[Proposal, ...]
    cursor: Cursor
    more: bool
    since: int
    visited: int
    notes: tuple[str, ...] = ()


@frozen
class Job:
    """A background job. `light`: quick enough for `consolidate`; the others run only in a `dream`."""

    name: str
    help: str
    page: Callable[[JobContext, Cursor], JobPage]
    light: bool = False
