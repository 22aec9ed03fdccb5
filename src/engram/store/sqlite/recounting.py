"""The verbs of episodes and skills. An episode is written as it goes: what returned is there, whatever happens next."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import apsw

from engram.guard.visibility import readable, require_writable, writable
from engram.rules.edges import EdgeWeights
from engram.store.ports import Once
from engram.store.sqlite import edges, episodes, memories, skills, turns, vectors
from engram.store.sqlite.writing import Writing
from engram.store.validation import bounded, check_event, check_memory, check_participants, check_period, dated
from engram.types import Draft, Edge, Memory, Policy, Reader, Space
from engram.values.episodes import Episode, EpisodeEvent, EpisodeOutcome, Participant, Skill
from engram.values.frozen import replace

FOLLOWS, CAUSED_BY, LEARNED_FROM = "follows", "caused_by", "learned_from"


class Recounting(Writing):
    """Mixed into the store."""

    def begin_episode(
        self,
        reader: Reader,
        draft: Draft,
        goal: str,
        *,
        participants: Sequence[Participant] = (),
        caused_by: Sequence[str] = (),
        space: Space | None = None,
        once: Once | None = None,
    ) -> Episode:
        """Keep an episode that begins now. It follows the last one of its session, and is caused by those that are named."""
        with self._watched(reader, "episode"):
            check_memory(draft.memory, self._live.now)
            check_participants(participants, self._live.now)
            require_writable(reader, draft.memory.scope)
            now = self._env.now()
            born = replace(self._born(draft.memory, draft.memory.scope, now), happened_at=now)
            here = readable(replace(reader, scope=born.scope, policy=Policy.OWN))

            def work(connection: apsw.Connection) -> Episode:
                before = episodes.last_ended(connection, here, born.session) if born.session else None
                memory = self._put_draft(connection, replace(draft, memory=born), space)
                begun = episodes.insert(connection, memory, goal, now, participants)
                links = [Edge(memory.id, cause, CAUSED_BY) for cause in dict.fromkeys(caused_by)]
                links += [Edge(memory.id, before, FOLLOWS)] if before is not None else []
                edges.put(connection, writable(reader), links, now, self._live.tuned(EdgeWeights))
                return begun

            entry = self._audit.entry(reader, "episode", subject=born.id, count=1, digest=self._audit.digest(born.text))
            return self._write(reader, "episode", work, entries=[entry], once=once)

    def add_event(self, reader: Reader, episode_id: str, event: EpisodeEvent, *, once: Once | None = None) -> None:
        """One more event of an episode that is going on."""
        with self._watched(reader, "event", episode_id):
            check_event(event, self._live.now)

            def work(connection: apsw.Connection) -> None:
                episodes.append(connection, memories.one(connection, writable(reader), episode_id), event)

            self._write(reader, "event", work, subject=episode_id, once=once)

    def end_episode(
        self,
        reader: Reader,
        draft: Draft,
        outcome: EpisodeOutcome,
        result: str,
        valence: float,
        *,
        space: Space | None = None,
        once: Once | None = None,
    ) -> Episode:
        """How an episode came out, with what it is told as from now on (`draft`, of the episode's own memory)."""
        with self._watched(reader, "episode", draft.memory.id):
            check_memory(draft.memory, self._live.now)
            now = self._env.now()

            def work(connection: apsw.Connection) -> Episode:
                old = memories.one(connection, writable(reader), draft.memory.id)
                episodes.require_ongoing(connection, old)
                new = dated(draft.memory, version=old.version + 1, updated_at=now, status=old.status, key=old.key)
                memories.rewrite(connection, old, new)
                self._put_vector(connection, reader, new, draft.vector, space)
                episodes.finish(connection, new, outcome, result, valence, now)
                return episodes.of(connection, [new])[0]

            return self._write(reader, "episode", work, subject=draft.memory.id, once=once)

    def episodes(
        self,
        reader: Reader,
        *,
        ids: Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        outcomes: Sequence[EpisodeOutcome] = (),
        limit: int = 50,
    ) -> list[Episode]:
        """Recorded episodes, the latest first; or those of `ids`, in that order."""
        bounded(limit, self._limits.page_limit, "a list of episodes")
        check_period(since, until)
        with self._read(reader, "episodes") as connection:
            seen = readable(reader)
            if ids is not None:
                found = memories.by_ids(connection, seen, ids)[:limit]
            else:
                keys = episodes.episode_keys(connection, seen, since=since, until=until, outcomes=outcomes, limit=limit)
                found = memories.by_keys(connection, seen, keys)
            made = episodes.of(connection, found)
        self._note(reader, "episodes", count=len(made))
        return made

    def put_skill(
        self,
        reader: Reader,
        skill: Skill,
        draft: Draft,
        *,
        sources: Sequence[str] = (),
        space: Space | None = None,
        once: Once | None = None,
    ) -> Skill:
        """Keep a skill, new or as it is now; `sources` are the episodes it was learned from."""
        with self._watched(reader, "skill", draft.memory.id):
            check_memory(draft.memory, self._live.now)
            require_writable(reader, draft.memory.scope)
            now = self._env.now()

            def work(connection: apsw.Connection) -> Skill:
                memory = self._put_skill_memory(connection, reader, draft, space, now)
                skills.put(connection, replace(skill, memory=memory))
                taught = [Edge(memory.id, source, LEARNED_FROM) for source in sources]
                edges.put(connection, writable(reader), taught, now, self._live.tuned(EdgeWeights))
                return skills.of(connection, [memory])[0]

            return self._write(reader, "skill", work, subject=draft.memory.id, once=once)

    def _put_skill_memory(
        self, connection: apsw.Connection, reader: Reader, draft: Draft, space: Space | None, now: datetime
    ) -> Memory:
        if not draft.memory.id:
            return self._put_draft(connection, replace(draft, memory=self._born(draft.memory, draft.memory.scope, now)), space)
        old = memories.one(connection, writable(reader), draft.memory.id)
        changed = draft.memory.text != old.text
        new = dated(draft.memory, version=old.version + changed, updated_at=now, status=old.status, key=old.key)
        memories.rewrite(connection, old, new)
        if changed:
            self._put_vector(connection, reader, new, draft.vector, space)
        return new

    def skills(self, reader: Reader, *, ids: Sequence[str] | None = None, limit: int = 500) -> list[Skill]:
        """Skills in use, the newest first; or those of `ids`."""
        with self._read(reader, "skills") as connection:
            seen = readable(reader)
            found = (
                memories.by_ids(connection, seen, ids)
                if ids is not None
                else memories.by_keys(connection, seen, skills.keys(connection, seen, limit))
            )
            made = skills.of(connection, found)
        self._note(reader, "skills", count=len(made))
        return made

    def _put_draft(self, connection: apsw.Connection, draft: Draft, space: Space | None) -> Memory:
        key = vectors.own_space(connection, space) if draft.vector else None
        return turns.keep(connection, [], [draft], key)[0]

    def _put_vector(
        self, connection: apsw.Connection, reader: Reader, memory: Memory, vector: bytes | None, space: Space | None
    ) -> None:
        if vector is not None and space is not None and vectors.own_space(connection, space) is not None:
            vectors.put_vectors(connection, writable(reader), space, {memory.key: vector})
