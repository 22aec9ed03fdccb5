"""Changes that a background pass makes: jobs propose them, and the store applies a page of them in one transaction.

A pass never changes the text of a memory and never deletes one; statements that are read anew are new memories. Memories are
named by id.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from engram.values.edges import Edge
from engram.values.frozen import field, frozen
from engram.values.memories import Draft, Fact, Memory
from engram.values.recall import Report


@frozen
class Merge:
    """Merge `memory` into the equivalent `into`, which takes over its corroborations, turns and links."""

    memory: str
    into: str
    reason: str = "says the same as another memory"


@frozen
class Archive:
    """Archive a memory; `restore` brings it back."""

    memory: str
    reason: str


LAYERS = ("working", "episodic", "semantic", "procedural", "codebase")


@frozen
class SetLayer:
    """Move a memory to a layer (M13); "" leaves the choice to the rules. A layer set by a user is not changed."""

    memory: str
    layer: str


@frozen
class Reweigh:
    """Set the importance, confidence or strength of a memory; None leaves a figure unchanged."""

    memory: str
    importance: float | None = None
    confidence: float | None = None
    strength: float | None = None


@frozen
class Rehearse:
    """Record that a memory was rehearsed for the `times`-th time, which strengthens it."""

    memory: str
    times: int


@frozen
class AddLink:
    """Link two memories of one scope. An existing link stays unchanged."""

    edge: Edge


@frozen
class RemoveLink:
    """Remove a link that has faded below the threshold. Links of lasting kinds stay."""

    edge: Edge


@frozen
class Derive:
    """Add a memory derived from others of one scope, linked to each by `by`, a kind of `DERIVED`.

    Its source is `Source.INFERRED`; it takes the scope and the highest sensitivity of its sources. It is not added if its
    text is already stored or was corrected. `facts`: its facts, where they are known; they supersede nothing.
    """

    memory: Memory
    sources: tuple[str, ...]
    by: str = "derived_from"
    facts: tuple[Fact, ...] = ()


@frozen
class Recapture:
    """Replace memories that were captured from one turn by the statements read from the same turn anew.

    The old ones become superseded, each linked from the statement that has most of its words.
    """

    memories: tuple[str, ...]
    drafts: tuple[Draft, ...]
    heirs: tuple[int, ...]  # for each of the memories, the number of the draft that takes its place


@frozen
class Replace:
    """Supersede `earlier` because the later `memory` replaces it; challenge it if that is not `sure`."""

    memory: str
    earlier: str
    sure: bool
    reason: str


@frozen
class SettleContradiction:
    """Settle a contradiction of this memory: the older statement is outdated if the newer one has better evidence (K2)."""

    memory: str


@frozen
class RecordGap:
    """Record a question that a memory leaves open (`gaps`). Changes no memory, and is not undone."""

    memory: str
    text: str


@frozen
class Recheck:
    """Set the time at which a job looks at an unchanged memory again (None: never). Changes no memory, and is not undone."""

    memory: str
    at: datetime | None


ProposedChange = (
    Merge
    | Replace
    | Archive
    | SetLayer
    | Reweigh
    | Rehearse
    | AddLink
    | RemoveLink
    | Derive
    | Recapture
    | SettleContradiction
    | RecordGap
)
Proposal = ProposedChange | Recheck


@frozen
class Cursor:
    """The progress of a job. It first walks all memories by key (`row`), then follows the change log (`change`), with `row` at
    -1. `change` is -1 for a job that has not begun."""

    row: int = 0
    change: int = -1


@frozen
class AppliedProposals:
    """The result of applying a page of proposals: ids by kind of change, and the number of proposals skipped because their
    memory changed in the meantime or may not be changed."""

    ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    passed_over: int = 0


class PassStatus(StrEnum):
    """The status of a pass. A process that was killed leaves its pass `running`; the next process resumes it."""

    RUNNING = "running"
    DONE = "done"
    UNDONE = "undone"


@frozen(kw_only=True)
class Pass:
    """A background pass: its counts by job and kind of change ("merge.merged"), and the share of probe questions that found
    their memory before and after it (None: not measured)."""

    id: str
    verb: str
    began_at: datetime
    ended_at: datetime | None
    ending: PassStatus
    counts: Mapping[str, int]
    before: float | None = None
    after: float | None = None

    @property
    def changed(self) -> int:
        return sum(self.counts.values())


@frozen(kw_only=True)
class PassReport(Report):
    """The report of a pass, with ids by job and kind of change. An empty `pass_id` means a dry run, which changed nothing."""

    pass_id: str = ""
    ending: PassStatus | None = None
    changes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    before: float | None = None
    after: float | None = None


def proposal_ids(revision: Proposal) -> tuple[str, ...]:
    """The ids that a revision is about."""
    match revision:
        case Merge(memory, into):
            return memory, into
        case Replace(memory, earlier):
            return memory, earlier
        case AddLink(edge) | RemoveLink(edge):
            return edge.source, edge.target
        case Derive(sources=sources):
            return sources
        case Recapture(memories=memories):
            return memories
        case _:
            return (revision.memory,)


Touched = tuple[list[Memory], Cursor, bool, int, int]
