"""Operations on episodes: begin, record, end, show, select."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

from engram.deadline import without_deadline
from engram.errors import NotFound
from engram.serve.operations.operation import Arg, Effect, Operation
from engram.types import Memory
from engram.values.episodes import Episode, EpisodeEvent, Participant, SkillMatch
from engram.values.frozen import field, frozen

if TYPE_CHECKING:
    from engram.engine import Engram

EpisodeId = Annotated[str, Arg("The episode's id.", positional=True)]
Outcome = Literal["success", "failure", "partial", "abandoned"]
AnyOutcome = Literal["success", "failure", "partial", "abandoned", "ongoing"]
SituationFields = Annotated[Mapping[str, str], Arg("Names and values of the situation.", high=64, flags=("--given",))]
Limit = Annotated[int, Arg("How many at most.", low=1, high=1000, flags=("--limit", "-n"))]


@frozen(kw_only=True)
class BeginEpisodeInput:
    goal: Annotated[str, Arg("What is to be done.", positional=True, free_text=True)]
    participants: Annotated[tuple[str, ...], Arg("Who takes part.", high=64, flags=("--with",))] = ()
    context: SituationFields = field(default_factory=dict)
    caused_by: Annotated[tuple[str, ...], Arg("Ids of episodes that led to it.", high=64)] = ()
    skill: Annotated[str | None, Arg("The id of the skill that is followed; it learns from how it goes.")] = None


@frozen
class StartedEpisode:
    """A new episode, with warnings from earlier failures and the skills that fit its goal."""

    episode: Episode
    warnings: tuple[Memory, ...]
    skills: tuple[SkillMatch, ...]


def begin_episode(mem: Engram, given: BeginEpisodeInput) -> StartedEpisode:
    """Look up warnings and skills, then begin the episode: a deadline that passes during the lookup leaves no episode."""
    has_goal = bool(given.goal.strip())
    warnings, skills = (tuple(mem.warnings(given.goal)), tuple(mem.skills(given.goal))) if has_goal else ((), ())
    started = mem.episode(
        given.goal,
        participants=[Participant(name) for name in given.participants],
        context=given.context,
        caused_by=given.caused_by,
        skill=given.skill,
    )
    with without_deadline():
        return StartedEpisode(mem.episodes(ids=[started.id])[0], warnings, skills)


@frozen(kw_only=True)
class RecordInput:
    id: EpisodeId
    type: Annotated[str, Arg("What sort of event: tried, ran, error, decision, note or a word of yours.", positional=True)]
    text: Annotated[str, Arg("What happened.", positional=True, free_text=True)] = ""
    actor: Annotated[str, Arg("Who did it.")] = ""
    ok: Annotated[bool | None, Arg("Whether it went well.", flags=("--ok/--failed",))] = None


def record(mem: Engram, given: RecordInput) -> EpisodeEvent:
    return mem.episode(resume=given.id).event(given.type, given.text, actor=given.actor, ok=given.ok)


@frozen(kw_only=True)
class EndEpisodeInput:
    id: EpisodeId
    outcome: Annotated[Outcome, Arg("How it came out: success, failure, partial or abandoned.", positional=True)]
    result: Annotated[str, Arg("What came of it, or why it failed.", positional=True, free_text=True)] = ""
    valence: Annotated[float | None, Arg("How good or bad that is, from -1 to 1.", low=-1.0, high=1.0)] = None


def end_episode(mem: Engram, given: EndEpisodeInput) -> Episode:
    return mem.episode(resume=given.id).outcome(given.outcome, given.result, valence=given.valence)


@frozen(kw_only=True)
class EpisodeInput:
    id: EpisodeId


def episode(mem: Engram, given: EpisodeInput) -> Episode:
    matches = mem.episodes(ids=[given.id])
    if not matches:
        raise NotFound("there is no episode with this id that this identity may see.", way_out="See `engram episodes`.")
    return matches[0]


@frozen(kw_only=True)
class EpisodesInput:
    similar: Annotated[str | None, Arg("Like this goal or situation, the likest first.", positional=True, free_text=True)] = None
    at: Annotated[datetime | None, Arg("Within half a day of this time, the most significant first.")] = None
    before: Annotated[datetime | None, Arg("Begun before this time.")] = None
    sequence: Annotated[str | None, Arg("What led to the episode of this id and came of it, in order.")] = None
    outcome: Annotated[AnyOutcome | None, Arg("That came out so only.")] = None
    limit: Limit = 20


@frozen
class EpisodeList:
    episodes: tuple[Episode, ...]


def episodes(mem: Engram, given: EpisodesInput) -> EpisodeList:
    matches = mem.episodes(
        similar=given.similar,
        at=given.at,
        before=given.before,
        sequence=given.sequence,
        outcome=given.outcome,
        limit=given.limit,
    )
    return EpisodeList(tuple(matches))


OPERATIONS = (
    Operation(
        name="begin_episode",
        help="Begin to record something that is done; says what is known to go wrong and how it is done.",
        input=BeginEpisodeInput,
        output=StartedEpisode,
        run=begin_episode,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(
        name="record",
        help="Add what happened to an episode that is going on; it is durable when this returns.",
        input=RecordInput,
        output=EpisodeEvent,
        run=record,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(
        name="end_episode",
        help="Say how an episode came out. A failure is warned of from now on, and several like successes become a skill.",
        input=EndEpisodeInput,
        output=Episode,
        run=end_episode,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(name="episode", help="Show one episode, event by event.", input=EpisodeInput, output=Episode, run=episode),
    Operation(
        name="episodes",
        help="Show episodes: the latest, or those like something, at or before a time, or in a sequence.",
        input=EpisodesInput,
        output=EpisodeList,
        run=episodes,
    ),
)
