"""Operations on what was done: episodes, skills, warnings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

from engram.deadline import without_deadline
from engram.errors import NotFound
from engram.frozen import field, frozen
from engram.kinds import Episode, EpisodeEvent, Participant, Skill, SkillMatch
from engram.serve.operations.operation import Arg, Effect, Operation
from engram.types import Memory

if TYPE_CHECKING:
    from engram.engine import Engram

EpisodeId = Annotated[str, Arg("The episode's id.", main=True)]
Outcome = Literal["success", "failure", "partial", "abandoned"]
AnyOutcome = Literal["success", "failure", "partial", "abandoned", "ongoing"]
Given = Annotated[Mapping[str, str], Arg("Names and values of the situation.", high=64, flags=("--given",))]
Most = Annotated[int, Arg("How many at most.", low=1, high=1000, flags=("--limit", "-n"))]


@frozen(kw_only=True)
class Begin:
    goal: Annotated[str, Arg("What is to be done.", main=True, words=True)]
    participants: Annotated[tuple[str, ...], Arg("Who takes part.", high=64, flags=("--with",))] = ()
    context: Given = field(default_factory=dict)
    caused_by: Annotated[tuple[str, ...], Arg("Ids of episodes that led to it.", high=64)] = ()
    skill: Annotated[str | None, Arg("The id of the skill that is followed; it learns from how it goes.")] = None


@frozen
class Begun:
    """An episode that has begun, what is known to go wrong, and how it is done."""

    episode: Episode
    warnings: tuple[Memory, ...]
    skills: tuple[SkillMatch, ...]


def begin_episode(mem: Engram, given: Begin) -> Begun:
    """What is known of such a goal is looked up first: who runs out of time there has begun nothing."""
    known = bool(given.goal.strip())
    warnings, skills = (tuple(mem.warnings(given.goal)), tuple(mem.skills(given.goal))) if known else ((), ())
    going = mem.episode(
        given.goal,
        participants=[Participant(one) for one in given.participants],
        context=given.context,
        caused_by=given.caused_by,
        skill=given.skill,
    )
    with without_deadline():
        return Begun(mem.episodes(ids=[going.id])[0], warnings, skills)


@frozen(kw_only=True)
class Recorded:
    id: EpisodeId
    type: Annotated[str, Arg("What sort of event: tried, ran, error, decision, note or a word of yours.", main=True)]
    text: Annotated[str, Arg("What happened.", main=True, words=True)] = ""
    actor: Annotated[str, Arg("Who did it.")] = ""
    ok: Annotated[bool | None, Arg("Whether it went well.", flags=("--ok/--failed",))] = None


def record(mem: Engram, given: Recorded) -> EpisodeEvent:
    return mem.episode(resume=given.id).event(given.type, given.text, actor=given.actor, ok=given.ok)


@frozen(kw_only=True)
class End:
    id: EpisodeId
    outcome: Annotated[Outcome, Arg("How it came out: success, failure, partial or abandoned.", main=True)]
    result: Annotated[str, Arg("What came of it, or why it failed.", main=True, words=True)] = ""
    valence: Annotated[float | None, Arg("How good or bad that is, from -1 to 1.", low=-1.0, high=1.0)] = None


def end_episode(mem: Engram, given: End) -> Episode:
    return mem.episode(resume=given.id).outcome(given.outcome, given.result, valence=given.valence)


@frozen(kw_only=True)
class Which:
    id: EpisodeId


def episode(mem: Engram, given: Which) -> Episode:
    found = mem.episodes(ids=[given.id])
    if not found:
        raise NotFound("there is no episode of that id that this identity may see.", way_out="See `engram episodes`.")
    return found[0]


@frozen(kw_only=True)
class Asked:
    similar: Annotated[str | None, Arg("Like this goal or situation, the likest first.", main=True, words=True)] = None
    at: Annotated[datetime | None, Arg("Within half a day of this time, the most significant first.")] = None
    before: Annotated[datetime | None, Arg("Begun before this time.")] = None
    sequence: Annotated[str | None, Arg("What led to the episode of this id and came of it, in order.")] = None
    outcome: Annotated[AnyOutcome | None, Arg("That came out so only.")] = None
    limit: Most = 20


@frozen
class Episodes:
    episodes: tuple[Episode, ...]


def episodes(mem: Engram, given: Asked) -> Episodes:
    found = mem.episodes(
        similar=given.similar,
        at=given.at,
        before=given.before,
        sequence=given.sequence,
        outcome=given.outcome,
        limit=given.limit,
    )
    return Episodes(tuple(found))


@frozen(kw_only=True)
class Situation:
    situation: Annotated[str | None, Arg("What is to be done.", main=True, words=True)] = None
    context: Given = field(default_factory=dict)
    limit: Most = 10


@frozen
class Matches:
    """Skills, the best first."""

    skills: tuple[SkillMatch, ...]


def skills(mem: Engram, given: Situation) -> Matches:
    return Matches(tuple(mem.skills(given.situation, context=given.context, limit=given.limit)))


@frozen(kw_only=True)
class Anything:
    """No argument."""


@frozen
class Lessons:
    """Skills that were learned now."""

    skills: tuple[Skill, ...]


def learn_skills(mem: Engram, given: Anything) -> Lessons:
    return Lessons(tuple(mem.learn_skills()))


@frozen(kw_only=True)
class Practised:
    id: Annotated[str, Arg("The skill's id.", main=True)]
    outcome: Annotated[Outcome, Arg("How it went: success, failure, partial or abandoned.", main=True)]
    result: Annotated[str, Arg("What came of it, or why it failed.", main=True, words=True)] = ""
    seconds: Annotated[float | None, Arg("How long it took.", low=0.0, high=1e9)] = None


def practise(mem: Engram, given: Practised) -> Skill:
    return mem.practise(given.id, given.outcome, given.result, seconds=given.seconds)


@frozen(kw_only=True)
class About:
    about: Annotated[str | None, Arg("What is about to be done.", main=True, words=True)] = None
    limit: Most = 10


@frozen
class Warnings:
    """What was tried and failed, and what must not be done."""

    warnings: tuple[Memory, ...]


def warnings(mem: Engram, given: About) -> Warnings:
    return Warnings(tuple(mem.warnings(given.about, limit=given.limit)))


OPERATIONS = (
    Operation(
        name="begin_episode",
        help="Begin to record something that is done; says what is known to go wrong and how it is done.",
        input=Begin,
        output=Begun,
        run=begin_episode,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(
        name="record",
        help="Add what happened to an episode that is going on; it is durable when this returns.",
        input=Recorded,
        output=EpisodeEvent,
        run=record,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(
        name="end_episode",
        help="Say how an episode came out. A failure is warned of from now on, and several like successes become a skill.",
        input=End,
        output=Episode,
        run=end_episode,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(name="episode", help="Show one episode, event by event.", input=Which, output=Episode, run=episode),
    Operation(
        name="episodes",
        help="Show episodes: the latest, or those like something, at or before a time, or in a sequence.",
        input=Asked,
        output=Episodes,
        run=episodes,
    ),
    Operation(
        name="skills",
        help="Show the skills that fit a situation, or all: when they apply, their steps, how well they do.",
        input=Situation,
        output=Matches,
        run=skills,
    ),
    Operation(
        name="learn_skills",
        help="Learn skills from the episodes recorded here; it also happens whenever an episode ends well.",
        input=Anything,
        output=Lessons,
        run=learn_skills,
        effect=Effect.WRITE,
    ),
    Operation(
        name="practise",
        help="Say how a skill did when it was used.",
        input=Practised,
        output=Skill,
        run=practise,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(
        name="warnings",
        help="Tell what was tried and failed, and what must not be done, before it is done again.",
        input=About,
        output=Warnings,
        run=warnings,
    ),
)
