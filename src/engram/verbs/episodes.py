"""The verbs of what was done: episodes as they go, what they taught, what they warn of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from types import TracebackType
from typing import Self

from engram.deadline import without_deadline
from engram.env import from_micros, to_micros
from engram.errors import EngramError, InvalidQuery, NotFound
from engram.log import Log
from engram.recall.selection import without_flagged
from engram.rules.duplicates import alike, stems
from engram.rules.edges import traverse
from engram.rules.episodes import is_warning
from engram.rules.skills import match, matched, ranked
from engram.store.receipts import ReceiptRequest
from engram.types import Hit, Kind, Memory
from engram.values.edges import EdgeWeights
from engram.values.episodes import (
    CAUSED_BY,
    EPISODE,
    FOLLOWS,
    WARNING,
    Episode,
    EpisodeEvent,
    EpisodeOutcome,
    Participant,
    Skill,
    SkillMatch,
)
from engram.values.frozen import replace
from engram.values.query import Filter
from engram.verbs import recall
from engram.verbs.view import View, require_positive

log = Log("engram")


_AROUND = timedelta(hours=12)

_LATEST = 500

_TO_THE_POINT = 0.5
"""How relevant a warning is at least, if it shares no word with what is about to be done."""


class Recording:
    """An episode that is going on. Each event is kept when `event` returns; it ends with `outcome`, or with the `with` block.

    A block that is left in peace is a success, one that is left by an exception a failure (abandoned, if the program was
    told to stop). A process that is killed leaves it `ongoing`: `mem.episodes(outcome="ongoing")` finds it and
    `mem.episode(resume=id)` goes on with it.
    """

    def __init__(self, view: View, episode: Episode) -> None:
        self.id = episode.id
        self.goal = episode.goal
        self._view = view
        self._over = False

    def event(self, type: str, text: str = "", *, actor: str = "", ok: bool | None = None) -> EpisodeEvent:
        """Something that happened: `tried`, `ran`, `tool_call` … are steps; `error`, `result`, `decision`, `note` … are not.

        ok: whether it went well. What goes wrong and is then put right is what a skill learns to handle.
        """
        return _record(self._view, self.id, type, text, actor, ok)

    def outcome(self, outcome: EpisodeOutcome | str, result: str = "", *, valence: float | None = None) -> Episode:
        """How it came out: success, failure, partial or abandoned. Ends the episode."""
        ended = _end(self._view, self.id, outcome, result, valence)
        self._over = True
        return ended

    @property
    def warnings(self) -> Sequence[Memory]:
        """What was tried for such a goal and failed, and what must not be done."""
        return warnings(self._view, self.goal)

    @property
    def skills(self) -> Sequence[SkillMatch]:
        """How it is done, if that has been learned."""
        return skills(self._view, self.goal)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self._over:
            with without_deadline():  # a deadline that has passed leaves no episode without an end
                self._left(error)

    def _left(self, error: BaseException | None) -> None:
        if error is None:
            self.outcome(EpisodeOutcome.SUCCESS)
            return
        # KeyboardInterrupt and the like: somebody stopped it.
        ending = EpisodeOutcome.FAILURE if isinstance(error, Exception) else EpisodeOutcome.ABANDONED
        name = type(error).__name__
        for result in (f"{name}: {error}".strip(": "), name) if ending is EpisodeOutcome.FAILURE else (name,):
            try:
                self.outcome(ending, result)
                return
            except EngramError as problem:  # the caller's own error is the one to hear of
                log.warning("an episode was not ended as it came out: %s", problem.code)


def _moved(at: datetime, by: timedelta) -> datetime:
    """So much later, or the first or last time there is."""
    try:
        return at + by
    except OverflowError:
        return datetime.min.replace(tzinfo=at.tzinfo) if by < timedelta() else datetime.max.replace(tzinfo=at.tzinfo)


def _ending(outcome: EpisodeOutcome | str) -> EpisodeOutcome:
    try:
        return EpisodeOutcome(outcome)
    except ValueError:
        problem = InvalidQuery(f"there is no such outcome; there are {', '.join(one.value for one in EpisodeOutcome)}.")
    raise problem


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
    """Begin to record something that is done: `with mem.episode("deploy the API") as ep: ep.event("tried", …)`.

    context: names and values of the situation; what all successes share becomes a precondition. caused_by: episodes that led
    to this one. skill: the id of the skill that is followed, which learns from how it goes. resume: go on with this episode.
    """
    if resume is not None:
        going = view.vault.episode_recorder.episode(view.reader, resume)
        if going.outcome is not EpisodeOutcome.ONGOING and view.key is None:  # its very end may be asked for again
            raise InvalidQuery("this episode is over.", way_out="Begin another one; `caused_by` links it to this one.")
        return Recording(view, going)
    people = [one if isinstance(one, Participant) else Participant(one) for one in participants]
    said = {**(context or {}), **({"skill": skill} if skill else {})}
    begun = view.write_once(
        ("episode", goal, people, sorted(said.items()), tuple(caused_by)),
        partial(
            view.vault.episode_recorder.begin,
            view.reader,
            goal,
            view.vault.session,
            participants=people,
            context=said,
            caused_by=caused_by,
        ),
        lambda one: one.id,
        partial(view.vault.episode_recorder.episode, view.reader),
    )
    return Recording(View(view.vault, view.reader), begun)  # a key was for the beginning


def _record(view: View, episode_id: str, type_: str, text: str, actor: str, ok: bool | None) -> EpisodeEvent:
    recorder, told = view.vault.episode_recorder, EpisodeEvent(view.vault.env.now(), type_, text, actor, ok)
    return view.write_once(
        ("event", episode_id, type_, text, actor, ok),
        partial(recorder.event, view.reader, episode_id, told),
        lambda _: str(to_micros(told.at)),
        lambda at: recorder.as_kept(replace(told, at=from_micros(int(at)))),
    )


def _end(view: View, episode_id: str, outcome: EpisodeOutcome | str, result: str, valence: float | None) -> Episode:
    ending = _ending(outcome)
    return view.write_once(
        ("end", episode_id, ending, result, valence),
        partial(view.vault.episode_recorder.end, view.reader, episode_id, ending, result, valence),
        lambda ended: ended.id,
        partial(view.vault.episode_recorder.episode, view.reader),
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
    """Recorded episodes, the latest first; one way of asking at a time.

    similar: like this goal or situation, the likest first. at: going on within half a day of this time, the most significant
    first. before: begun before it. sequence: those that led to this episode and came of it, in order. ids: these.
    """
    if sum(way is not None for way in (ids, similar, at, before, sequence)) > 1:
        raise InvalidQuery(
            "episodes are asked for in one way at a time.", way_out="Give `similar`, `at`, `before` or `sequence`."
        )
    require_positive("limit", limit)
    store, reader = view.vault.store, view.reader
    ended = () if outcome is None else (_ending(outcome),)
    if similar is not None:
        where = Filter(kinds=(Kind.EPISODE,), categories=(EPISODE,))
        found = [hit.memory.id for hit in _hits(view, similar, where, limit)]
        # What was done twice in the same words is one answer to recall, and two episodes here.
        ids = [*found, *(one.id for one in store.episodes.select(reader, limit=_LATEST) if alike(one.goal, similar))]
    if sequence is not None:
        ids = _chain(view, sequence)
    if ids is not None:
        told = [one for one in store.episodes.select(reader, ids=ids, limit=_LATEST) if not ended or one.outcome in ended]
        return tuple((sorted(told, key=lambda one: one.started_at) if sequence is not None else told)[:limit])
    if at is not None:
        around = store.episodes.select(reader, since=_moved(at, -_AROUND), until=_moved(at, _AROUND), outcomes=ended, limit=limit)
        return tuple(sorted(around, key=lambda one: -one.memory.importance))
    return tuple(store.episodes.select(reader, until=before, outcomes=ended, limit=limit))


def _chain(view: View, episode_id: str) -> list[str]:
    view.vault.episode_recorder.episode(view.reader, episode_id)  # NotFound, if there is none
    edges_of = partial(view.vault.store.edges.of, view.reader)
    now, weights = view.vault.env.now(), view.vault.live.tuned(EdgeWeights)
    return [episode_id, *traverse([episode_id], edges_of, now, weights, depth=20, kinds=(FOLLOWS, CAUSED_BY))]


def skills(
    view: View, situation: str | None = None, *, context: Mapping[str, str] | None = None, limit: int = 10
) -> Sequence[SkillMatch]:
    """Skills that fit a situation, the best first: by the words that call for them and by meaning; or all that are known.

    context: what is given. A skill that asks for something else is left out, unless it nearly always works.
    """
    require_positive("limit", limit)
    known = view.vault.store.skills.select(view.reader)
    if situation is None:
        return tuple(SkillMatch(skill, 1.0) for skill in known[:limit])
    given = context or {}
    found = {skill.id: one for skill in known if (one := match(skill, situation, given)) is not None}
    by_id = {skill.id: skill for skill in known}
    for hit in _hits(view, situation, Filter(kinds=(Kind.SKILL,)), limit) if known else ():
        skill = by_id.get(hit.memory.id)
        if skill is not None and skill.id not in found and (one := matched(skill, hit.score, given)) is not None:
            found[skill.id] = one
    return tuple(ranked(found.values())[:limit])


def learn_skills(view: View) -> Sequence[Skill]:
    """Learn from the episodes recorded here what is not known yet. It also happens whenever an episode ends well."""
    return view.write_once(
        ("learn_skills",),
        lambda receipt: tuple(view.vault.episode_recorder.learn(view.reader)),
        lambda learned: " ".join(skill.id for skill in learned),
        lambda ids: tuple(view.vault.store.skills.select(view.reader, ids=ids.split())),
    )


def practise(
    view: View, skill_id: str, outcome: EpisodeOutcome | str, result: str = "", *, seconds: float | None = None
) -> Skill:
    """Say how a skill did when it was used: its rate of success moves, and a failure is remembered as one of its ways to
    fail. `mem.episode(skill=id)` does it by itself."""
    ending = _ending(outcome)

    def write(*, receipt: ReceiptRequest | None) -> Skill:
        skill = _skill(view, skill_id)
        return view.vault.episode_recorder.practise(view.reader, skill, ending, result, seconds, receipt=receipt)

    return view.write_once(("practise", skill_id, ending, result, seconds), write, lambda skill: skill.id, partial(_skill, view))


def _skill(view: View, skill_id: str) -> Skill:
    found = view.vault.store.skills.select(view.reader, ids=[skill_id])
    if not found:
        raise NotFound("there is no skill of that id that this identity may see.", way_out="See `engram skills`.")
    return found[0]


def warnings(view: View, about: str | None = None, *, limit: int = 10) -> Sequence[Memory]:
    """What was tried and failed, and what must not be done: about this, the nearest first; or all, the newest first.

    A failed episode leaves a warning by itself; `remember(…, category="warning")` makes one; what forbids something, or tells
    that it was tried in vain, counts wherever it was said.
    """
    if about is None:
        found = view.vault.store.memories.page(view.reader, limit=limit, where=Filter(categories=(WARNING,)))
        return tuple(without_flagged(found, view.vault.live.now))
    hits = [*_hits(view, about, Filter(categories=(WARNING,)), limit), *_hits(view, about, Filter(), 5 * limit)]
    near = [hit for hit in hits if hit.trust.relevance >= _TO_THE_POINT or stems(about) & stems(hit.memory.text)]
    best = {hit.memory.id: hit for hit in sorted(near, key=lambda hit: hit.score) if is_warning(hit.memory)}
    return tuple(hit.memory for hit in sorted(best.values(), key=lambda hit: -hit.score)[:limit])


def _hits(view: View, text: str, where: Filter, limit: int) -> Sequence[Hit]:
    asked = recall.as_query(view, text, limit, None, None, None, None, where)
    return view.vault.searcher.recall(view.reader, asked).hits
