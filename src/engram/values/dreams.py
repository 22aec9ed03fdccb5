"""What a pass at rest does to memories, as values: jobs propose them, the store applies a page of them in one transaction.

A pass never changes the words of a memory and never removes one. Memories are named by their ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from engram.values.frozen import field, frozen
from engram.values.memories import Edge, Fact, Memory
from engram.values.recall import Report


@frozen
class Merge:
    """`memory` says what `into` says: it is retired, and its witnesses, turns and links are the other's from now on."""

    memory: str
    into: str
    reason: str = "says the same as another memory"


@frozen
class Archive:
    """It is put away; `restore` brings it back."""

    memory: str
    reason: str


LAYERS = ("working", "episodic", "semantic", "procedural", "codebase")


@frozen
class SetLayer:
    """It belongs to another layer (M13); an empty one leaves that to the rules. What somebody put elsewhere stays."""

    memory: str
    layer: str


@frozen
class Reweigh:
    """It matters more or less, is surer or less sure, or lasts longer or shorter than it did; None leaves a figure as it is."""

    memory: str
    importance: float | None = None
    confidence: float | None = None
    strength: float | None = None


@frozen
class Rehearse:
    """It was gone through once more, for the so many-th time, and lasts longer for it (`kinds.rehearsal`)."""

    memory: str
    times: int


@frozen
class AddLink:
    """Two memories of one scope belong together. A link that is there already stays as it is."""

    edge: Edge


@frozen
class RemoveLink:
    """A link between two memories has faded so far that nobody follows it: it goes. One of a kind that lasts stays."""

    edge: Edge


@frozen
class Derive:
    """A new memory that came of others of one scope, linked to each by `by`, which must be a kind of `links.DERIVED`.

    It is nobody's word (`Source.INFERRED`), of the scope of what it came from, and kept as closely. One whose words are known or
    were corrected is not made. `facts`: what it says, where that is known; they outdate nothing.
    """

    memory: Memory
    sources: tuple[str, ...]
    by: str = "derived_from"
    facts: tuple[Fact, ...] = ()


@frozen
class SettleContradiction:
    """What it says is contradicted: if the newer statement has the better evidence by now, the older one steps back (K2)."""

    memory: str


@frozen
class RecordGap:
    """A question that a memory leaves open, to be asked back when it fits (`gaps`). It changes no memory, and is not undone."""

    memory: str
    text: str


@frozen
class Recheck:
    """When a job should look at a memory again, though nothing changed; None: never. This is no change, and not undone."""

    memory: str
    at: datetime | None


ProposedChange = Merge | Archive | SetLayer | Reweigh | Rehearse | AddLink | RemoveLink | Derive | SettleContradiction | RecordGap
Proposal = ProposedChange | Recheck


@frozen
class Cursor:
    """How far a job has come. First it walks all memories by key (`row`), then it follows the log of changes (`change`);
    `row` is -1 from there on. Of one that has not begun `change` is."""

    row: int = 0
    change: int = -1


@frozen
class AppliedProposals:
    """What became of a page: ids by what was done, and how many revisions were passed over because what they are about was
    changed meanwhile, or may not be changed."""

    ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    passed_over: int = 0


class PassStatus(StrEnum):
    """How a pass ended. `running` is also what a process that was killed leaves behind; the next pass goes on with it."""

    RUNNING = "running"
    DONE = "done"
    UNDONE = "undone"


@frozen(kw_only=True)
class Pass:
    """One pass: what it did, by job and kind of change ("merge.merged"), and the share of probe questions that found their
    memory before and after (None: not asked)."""

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
    """What a pass changed: ids by job and kind of change, too. Without an id of the pass it was a trial, and nothing changed."""

    pass_id: str = ""
    ending: PassStatus | None = None
    changes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    before: float | None = None
    after: float | None = None
