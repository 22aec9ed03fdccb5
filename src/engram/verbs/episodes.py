"""The verbs of episodes: record and select them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Self

from engram.deadline import without_deadline
from engram.env import from_micros, to_micros
from engram.errors import EngramError, InvalidQuery
from engram.log import Log
from engram.types import Memory
from engram.values.episodes import Episode, EpisodeEvent, EpisodeOutcome, Participant, SkillMatch
from engram.values.frozen import replace
from engram.verbs.skills import skills, warnings
from engram.verbs.view import View, outcome_of, require_positive

log = Log("engram")


class Recording:
    """An ongoing episode. Each event is durable when `event` returns; the episode ends with `outcome` or with the `with` block.

    A block that ends normally is a success, one that ends with an exception a failure (abandoned, if the program was told to
    stop). A killed process leaves the episode `ongoing`: `mem.episodes(outcome="ongoing")` finds it and `mem.episode(resume=id)`
    continues it.
    """

    def __init__(self, view: View, episode: Episode) -> None:
        self.id = episode.id
        self.goal = episode.goal
        self._view = view
        self._ended = False

    def event(self, type: str, text: str = "", *, actor: str = "", ok: bool | None = None) -> EpisodeEvent:
        """Record an event: `tried`, `ran`, `tool_call` … are steps; `error`, `result`, `decision`, `note` … are not.

        ok: True if it went well. From a failed step that is put right later, a skill learns a recovery.
        """
        return _record(self._view, self.id, type, text, actor, ok)

    def outcome(self, outcome: EpisodeOutcome | str, result: str = "", *, valence: float | None = None) -> Episode:
        """End the episode with its outcome: success, failure, partial or abandoned."""
        ended = _end(self._view, self.id, outcome, result, valence)
        self._ended = True
        return ended

    @property
    def warnings(self) -> Sequence[Memory]:
        """Warnings for this goal: what was tried and failed, and what must not be done."""
        return warnings(self._view, self.goal)

    @property
    def skills(self) -> Sequence[SkillMatch]:
        """The skills that fit this goal."""
        return skills(self._view, self.goal)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self._ended:
            with without_deadline():  # the episode ends even if a deadline has passed
                self._end_with(error)

    def _end_with(self, error: BaseException | None) -> None:
        """End the episode by the exception that left the block, without its message if that cannot be stored."""
        if error is None:
            self.outcome(EpisodeOutcome.SUCCESS)
            return
        # KeyboardInterrupt and the like: the program was told to stop.
        ending = EpisodeOutcome.FAILURE if isinstance(error, Exception) else EpisodeOutcome.ABANDONED
        name = type(error).__name__
        for result in (f"{name}: {error}".strip(": "), name) if ending is EpisodeOutcome.FAILURE else (name,):
            try:
                self.outcome(ending, result)
                return
            except EngramError as problem:  # the caller's own error must reach the caller
                log.warning("the outcome of an episode could not be stored: %s", problem.code)


def episode(
    view: View,
    goal: str = "",
    *,
    participants: Sequence[Participant | str] = (),
    context: Mapping[str, str] | None = None,
    caused_by: Sequence[str] = (),
    skill: str | None = None,
    resume: str | None = None,
) -> Recording:
    """Begin to record an episode: `with mem.episode("deploy the API") as ep: ep.event("tried", …)`.

    context: names and values of the situation; those that all successes share become preconditions. caused_by: episodes that
    led to this one. skill: the id of the skill that is followed, which learns from the outcome. resume: continue this episode.
    """
    recorder = view.vault.episode_recorder
    if resume is not None:
        ongoing = recorder.episode(view.reader, resume)
        if ongoing.outcome is not EpisodeOutcome.ONGOING and view.key is None:  # with a key its end may be repeated
            raise InvalidQuery("this episode is over.", way_out="Begin another one; `caused_by` links it to this one.")
        return Recording(view, ongoing)
    people = [person if isinstance(person, Participant) else Participant(person) for person in participants]
    situation = {**(context or {}), **({"skill": skill} if skill else {})}
    begun = view.write_once(
        ("episode", goal, people, sorted(situation.items()), tuple(caused_by)),
        partial(
            recorder.begin,
            view.reader,
            goal,
            view.vault.session,
            participants=people,
            context=situation,
            caused_by=caused_by,
        ),
        lambda episode: episode.id,
        partial(recorder.episode, view.reader),
    )
    return Recording(View(view.vault, view.reader), begun)  # the key was for the beginning


def _record(view: View, episode_id: str, type_: str, text: str, actor: str, ok: bool | None) -> EpisodeEvent:
    recorder, event = view.vault.episode_recorder, EpisodeEvent(view.vault.env.now(), type_, text, actor, ok)
    return view.write_once(
        ("event", episode_id, type_, text, actor, ok),
        partial(recorder.event, view.reader, episode_id, event),
        lambda _: str(to_micros(event.at)),
        lambda at: recorder.as_kept(replace(event, at=from_micros(int(at)))),
    )


def _end(view: View, episode_id: str, outcome: EpisodeOutcome | str, result: str, valence: float | None) -> Episode:
    ending, recorder = outcome_of(outcome), view.vault.episode_recorder
    return view.write_once(
        ("end", episode_id, ending, result, valence),
        partial(recorder.end, view.reader, episode_id, ending, result, valence),
        lambda ended: ended.id,
        partial(recorder.episode, view.reader),
    )


def episodes(
    view: View,
    *,
    ids: Sequence[str] | None = None,
    similar: str | None = None,
    at: datetime | None = None,
    before: datetime | None = None,
    sequence: str | None = None,
    outcome: EpisodeOutcome | str | None = None,
    limit: int = 20,
) -> Sequence[Episode]:
    """Return recorded episodes, the latest first; selected in one way at a time.

    similar: with a similar goal or situation, the most similar first. at: within half a day of this time, the most significant
    first. before: begun before this time. sequence: those that led to this episode and followed from it, in order. ids: these.
    """
    require_positive("limit", limit)
    ending = None if outcome is None else outcome_of(outcome)
    return view.episodes.select(ids=ids, similar=similar, at=at, before=before, sequence=sequence, outcome=ending, limit=limit)
