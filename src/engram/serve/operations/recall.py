"""Operations that answer a question: recall, explain, reason. They write nothing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from engram.serve.operations.operation import (
    Arg,
    Budget,
    Files,
    Languages,
    Operation,
    People,
    Speakers,
    Technologies,
    Topics,
)
from engram.types import Explanation, Kind, Mode, Reasoning, Recall, Status, Turn
from engram.values.frozen import field, frozen
from engram.values.memories import VALID
from engram.values.query import READ_FIELDS, Filter

if TYPE_CHECKING:
    from engram.engine import Engram


@frozen(kw_only=True)
class QueryInput:
    """A question and the filters on its answer."""

    query: Annotated[str, Arg("What to ask.", positional=True, free_text=True)]
    limit: Annotated[
        int | None, Arg("How many at most; else as many as are worth it.", low=1, high=10_000, flags=("--limit", "-n"))
    ] = None
    budget: Budget = None
    mode: Annotated[Mode | None, Arg("What to look among.")] = None
    as_of: Annotated[datetime | None, Arg("Answer as the memory stood at this time; UTC if nothing else is said.")] = None
    kinds: Annotated[tuple[Kind, ...], Arg("Of these kinds only.", high=16, flags=("--kind",))] = ()
    categories: Annotated[tuple[str, ...], Arg("Of these categories only.", high=64, flags=("--category",))] = ()
    statuses: Annotated[tuple[Status, ...], Arg("In these states only.", high=16, flags=("--status",))] = VALID
    since: Annotated[datetime | None, Arg("What happened at this time or later only.")] = None
    until: Annotated[datetime | None, Arg("What happened at this time or earlier only.")] = None
    fresh: Annotated[bool, Arg("Without what has faded.")] = False
    attributes: Annotated[Mapping[str, str], Arg("Only what has these names and values.", high=64, flags=("--attribute",))] = (
        field(default_factory=dict)
    )
    people: People = ()
    technologies: Technologies = ()
    files: Files = ()
    languages: Languages = ()
    topics: Topics = ()
    speakers: Speakers = ()

    @property
    def filters(self) -> Filter:
        return Filter(
            kinds=self.kinds,
            categories=self.categories,
            statuses=self.statuses,
            since=self.since,
            until=self.until,
            attributes=self.attributes or None,
            fresh=self.fresh,
            **{name: getattr(self, name) for name in READ_FIELDS},
        )


@frozen(kw_only=True)
class RecallInput(QueryInput):
    history: Annotated[
        tuple[Turn, ...],
        Arg('What was said before, in order: turns, or messages of `role` and `content`; "why?" is read with it.', high=10_000),
    ] = ()
    explain: Annotated[bool, Arg("Say why each one is here, and why others are not.")] = False


def recall(mem: Engram, given: RecallInput) -> Recall:
    return mem.recall(
        given.query,
        limit=given.limit,
        budget=given.budget,
        as_of=given.as_of,
        mode=given.mode,
        filters=given.filters,
        history=given.history,
        explain=given.explain,
    )


@frozen(kw_only=True)
class ExplainInput(QueryInput):
    id: Annotated[str, Arg("The id of the memory that is, or is not, in the answer.", positional=True, is_id=True)]


def explain(mem: Engram, given: ExplainInput) -> Explanation:
    return mem.explain(
        given.query,
        given.id,
        limit=given.limit,
        budget=given.budget,
        as_of=given.as_of,
        mode=given.mode,
        filters=given.filters,
    )


@frozen(kw_only=True)
class ReasonInput:
    question: Annotated[str, Arg("What to find evidence for.", positional=True, free_text=True)]
    depth: Annotated[int | None, Arg("How deep it is taken apart at most.", low=1, high=8)] = None
    calls: Annotated[int | None, Arg("How many recalls it may take.", low=1, high=200)] = None


def reason(mem: Engram, given: ReasonInput) -> Reasoning:
    return mem.reason(given.question, depth=given.depth, calls=given.calls)


OPERATIONS = (
    Operation(name="recall", help="Ask what is known; the best comes first.", input=RecallInput, output=Recall, run=recall),
    Operation(
        name="explain",
        help="Say why a memory is, or is not, in the answer to a question: the stage that dropped it, and by how much.",
        input=ExplainInput,
        output=Explanation,
        run=explain,
    ),
    Operation(
        name="reason",
        help="Take a question apart, recall each part, follow what is missing: a tree of evidence, with its gaps.",
        input=ReasonInput,
        output=Reasoning,
        run=reason,
    ),
)
