"""Look up episodes, the skills learned from them, and warnings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from engram.env import Env
from engram.errors import InvalidQuery, NotFound
from engram.recall.plan import Query
from engram.recall.searcher import Searcher
from engram.recall.selection import without_flagged
from engram.rules.duplicates import alike, stems
from engram.rules.edges import traverse
from engram.rules.episodes import is_warning
from engram.rules.skills import match, matched, ranked
from engram.settings import LiveSettings
from engram.store.ports import Store
from engram.types import Hit, Kind, Memory, Reader
from engram.values.edges import EdgeWeights
from engram.values.episodes import CAUSED_BY, EPISODE, FOLLOWS, WARNING, Episode, EpisodeOutcome, Skill, SkillMatch
from engram.values.query import Filter

_AROUND = timedelta(hours=12)
_LATEST = 500  # latest episodes that are compared with a goal
_LINKS = 20  # links that a sequence of episodes follows
_RELEVANT = 0.5  # relevance of a warning that shares no word with the task at hand


class EpisodeLookup:
    """Reads episodes, skills and warnings of a vault for one reader."""

    def __init__(self, store: Store, reader: Reader, live: LiveSettings, env: Env, searcher: Callable[[], Searcher]) -> None:
        """searcher: returns the searcher, which is needed only to search by meaning."""
        self._store = store
        self._reader = reader
        self._live = live
        self._env = env
        self._searcher = searcher

    def get(self, episode_id: str) -> Episode:
        """Return an episode. Raise NotFound if there is none of this id that the reader may see."""
        episodes = self._store.episodes.select(self._reader, ids=[episode_id])
        if not episodes:
            raise NotFound("there is no episode of that id that this identity may see.", way_out="See `engram episodes`.")
        return episodes[0]

    def select(
        self,
        *,
        ids: Sequence[str] | None,
        similar: str | None,
        at: datetime | None,
        before: datetime | None,
        sequence: str | None,
        outcome: EpisodeOutcome | None,
        limit: int,
    ) -> Sequence[Episode]:
        """Return episodes by one of `ids`, `similar`, `at`, `before` and `sequence`, else the latest."""
        if sum(way is not None for way in (ids, similar, at, before, sequence)) > 1:
            raise InvalidQuery(
                "episodes are selected in one way at a time.", way_out="Give `similar`, `at`, `before` or `sequence`."
            )
        select, outcomes = partial(self._store.episodes.select, self._reader), () if outcome is None else (outcome,)
        if similar is not None:
            ids = self._similar(similar, limit)
        if sequence is not None:
            ids = self._sequence(sequence)
        if ids is not None:
            episodes = [episode for episode in select(ids=ids, limit=_LATEST) if not outcomes or episode.outcome in outcomes]
            if sequence is not None:
                episodes.sort(key=lambda episode: episode.started_at)
            return tuple(episodes[:limit])
        if at is not None:
            around = select(since=_shifted(at, -_AROUND), until=_shifted(at, _AROUND), outcomes=outcomes, limit=limit)
            return tuple(sorted(around, key=lambda episode: -episode.memory.importance))
        return tuple(select(until=before, outcomes=outcomes, limit=limit))

    def _similar(self, goal: str, limit: int) -> list[str]:
        """Return the ids of episodes with a similar goal or situation, the most similar first."""
        hits = self._hits(goal, Filter(kinds=(Kind.EPISODE,), categories=(EPISODE,)), limit)
        # Recall merges episodes of the same words into one hit; here each of them counts.
        latest = self._store.episodes.select(self._reader, limit=_LATEST)
        return [*(hit.memory.id for hit in hits), *(episode.id for episode in latest if alike(episode.goal, goal))]

    def _sequence(self, episode_id: str) -> list[str]:
        """Return the ids of the episodes that led to one and followed from it."""
        self.get(episode_id)
        edges_of = partial(self._store.edges.of, self._reader)
        weights = self._live.tuned(EdgeWeights)
        reached = traverse([episode_id], edges_of, self._env.now(), weights, depth=_LINKS, kinds=(FOLLOWS, CAUSED_BY))
        return [episode_id, *reached]

    def skill(self, skill_id: str) -> Skill:
        """Return a skill. Raise NotFound if there is none of this id that the reader may see."""
        skills = self._store.skills.select(self._reader, ids=[skill_id])
        if not skills:
            raise NotFound("there is no skill of that id that this identity may see.", way_out="See `engram skills`.")
        return skills[0]

    def skills(self, situation: str | None, context: Mapping[str, str], limit: int) -> Sequence[SkillMatch]:
        """Return the skills that fit a situation, by their cues and by meaning, the best first; without one, all skills."""
        known = self._store.skills.select(self._reader)
        if situation is None:
            return tuple(SkillMatch(skill, 1.0) for skill in known[:limit])
        matches = {skill.id: found for skill in known if (found := match(skill, situation, context)) is not None}
        by_id = {skill.id: skill for skill in known}
        for hit in self._hits(situation, Filter(kinds=(Kind.SKILL,)), limit) if known else ():
            skill = by_id.get(hit.memory.id)
            if skill is not None and skill.id not in matches and (found := matched(skill, hit.score, context)) is not None:
                matches[skill.id] = found
        return tuple(ranked(matches.values())[:limit])

    def warnings(self, about: str | None, limit: int) -> Sequence[Memory]:
        """Return warnings about a task, the most relevant first; without one, all warnings, newest first."""
        if about is None:
            page = self._store.memories.page(self._reader, limit=limit, where=Filter(categories=(WARNING,)))
            return tuple(without_flagged(page, self._live.now))
        hits = [*self._hits(about, Filter(categories=(WARNING,)), limit), *self._hits(about, Filter(), 5 * limit)]
        relevant = [hit for hit in hits if hit.trust.relevance >= _RELEVANT or stems(about) & stems(hit.memory.text)]
        best = {hit.memory.id: hit for hit in sorted(relevant, key=lambda hit: hit.score) if is_warning(hit.memory)}
        return tuple(hit.memory for hit in sorted(best.values(), key=lambda hit: -hit.score)[:limit])

    def _hits(self, text: str, where: Filter, limit: int) -> Sequence[Hit]:
        query = Query(text=text, now=self._env.now(), limit=limit, where=where)
        return self._searcher().recall(self._reader, query).hits


def _shifted(at: datetime, by: timedelta) -> datetime:
    """Return a time shifted by a duration, at most to the first or last time there is."""
    try:
        return at + by
    except OverflowError:
        return datetime.min.replace(tzinfo=at.tzinfo) if by < timedelta() else datetime.max.replace(tzinfo=at.tzinfo)
