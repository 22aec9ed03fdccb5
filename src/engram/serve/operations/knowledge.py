"""The operation of knowledge: knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from engram.serve.operations.operation import Arg, Operation
from engram.values.entities import Knowledge
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from engram.engine import Engram


@frozen(kw_only=True)
class KnowsInput:
    subject: Annotated[
        str | None, Arg("A subject, or a question; without one all that is known.", positional=True, free_text=True)
    ] = None
    limit: Annotated[int, Arg("How many subjects of the map at most.", low=1, high=1000, flags=("--limit", "-n"))] = 20


@frozen
class KnowledgeReport:
    """Assessments of subjects, the best known first; a single one if a subject was given. `memories`: the number of memories
    assessed. `said`: the result as a sentence."""

    domains: tuple[Knowledge, ...]
    memories: int
    said: str


def knows(mem: Engram, given: KnowsInput) -> KnowledgeReport:
    if given.subject is None:
        overview = mem.knows(limit=given.limit)
        return KnowledgeReport(overview.domains, overview.memories, overview.said)
    knowledge = mem.knows(given.subject)
    return KnowledgeReport((knowledge,), knowledge.figures.memories, knowledge.said)


OPERATIONS = (
    Operation(
        name="knows",
        help="Tell how well a subject is known (confident, uncertain, unknown), from what, and what is missing; or a map of all.",
        input=KnowsInput,
        output=KnowledgeReport,
        run=knows,
    ),
)
