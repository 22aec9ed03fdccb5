"""Operations on skills, and on warnings of what failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from engram.serve.operations.episodes import Limit, Outcome, SituationFields
from engram.serve.operations.operation import Arg, Effect, NoInput, Operation
from engram.types import Memory
from engram.values.episodes import Skill, SkillMatch
from engram.values.frozen import field, frozen

if TYPE_CHECKING:
    from engram.engine import Engram


@frozen(kw_only=True)
class SkillsInput:
    situation: Annotated[str | None, Arg("What is to be done.", positional=True, free_text=True)] = None
    context: SituationFields = field(default_factory=dict)
    limit: Limit = 10


@frozen
class SkillList:
    """Skills that fit a situation, the best match first."""

    skills: tuple[SkillMatch, ...]


def skills(mem: Engram, given: SkillsInput) -> SkillList:
    return SkillList(tuple(mem.skills(given.situation, context=given.context, limit=given.limit)))


@frozen
class LearnedSkills:
    """Skills that this call learned."""

    skills: tuple[Skill, ...]


def learn_skills(mem: Engram, given: NoInput) -> LearnedSkills:
    return LearnedSkills(tuple(mem.learn_skills()))


@frozen(kw_only=True)
class PractiseInput:
    id: Annotated[str, Arg("The skill's id.", positional=True, is_id=True)]
    outcome: Annotated[Outcome, Arg("How it went: success, failure, partial or abandoned.", positional=True)]
    result: Annotated[str, Arg("What came of it, or why it failed.", positional=True, free_text=True)] = ""
    seconds: Annotated[float | None, Arg("How long it took.", low=0.0, high=1e9)] = None


def practise(mem: Engram, given: PractiseInput) -> Skill:
    return mem.practise(given.id, given.outcome, given.result, seconds=given.seconds)


@frozen(kw_only=True)
class WarningsInput:
    about: Annotated[str | None, Arg("What is about to be done.", positional=True, free_text=True)] = None
    limit: Limit = 10


@frozen
class WarningList:
    """Memories of failures, and of things that must not be done."""

    warnings: tuple[Memory, ...]


def warnings(mem: Engram, given: WarningsInput) -> WarningList:
    return WarningList(tuple(mem.warnings(given.about, limit=given.limit)))


OPERATIONS = (
    Operation(
        name="skills",
        help="Show the skills that fit a situation, or all: when they apply, their steps, how well they do.",
        input=SkillsInput,
        output=SkillList,
        run=skills,
    ),
    Operation(
        name="learn_skills",
        help="Learn skills from the episodes recorded here; it also happens whenever an episode ends well.",
        input=NoInput,
        output=LearnedSkills,
        run=learn_skills,
        effect=Effect.WRITE,
    ),
    Operation(
        name="practise",
        help="Say how a skill did when it was used.",
        input=PractiseInput,
        output=Skill,
        run=practise,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(
        name="warnings",
        help="Tell what was tried and failed, and what must not be done, before it is done again.",
        input=WarningsInput,
        output=WarningList,
        run=warnings,
    ),
)
