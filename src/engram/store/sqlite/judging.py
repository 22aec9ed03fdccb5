"""The verbs of feedback: what a reader thought of a memory, and what is true instead."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import apsw

from engram.errors import InvalidContent, InvalidQuery
from engram.guard.visibility import readable, writable
from engram.rules.edges import EdgeWeights
from engram.store.ports import Judgement, Once, Question
from engram.store.sqlite import edges, facts, feedback, memories, turns, vectors
from engram.store.sqlite.writing import Writing
from engram.store.validation import check_memory
from engram.text.english.facts import Fact
from engram.text.terms import digest_of, identity_of
from engram.types import Draft, Edge, Memory, Policy, Reader, Space, Status
from engram.values.frozen import replace


class Judging(Writing):
    """Mixed into the store."""

    def judge(
        self,
        reader: Reader,
        memory_id: str,
        helpful: bool,
        question: Question | None = None,
        *,
        timeout: float | None = None,
        once: Once | None = None,
    ) -> Memory:
        """Count what a reader thought of a memory and, if it is told, remember for which question."""
        with self._watched(reader, "feedback", memory_id):

            def work(connection: apsw.Connection) -> Memory:
                old = memories.one(connection, writable(reader), memory_id)
                new = replace(old, helpful=old.helpful + helpful, unhelpful=old.unhelpful + (not helpful))
                memories.rewrite(connection, old, new)
                if question is not None:
                    self._put(connection, reader, old, helpful, question)
                return new

            return self._write(reader, "feedback", work, subject=memory_id, timeout=timeout, once=once)

    def _put(self, connection: apsw.Connection, reader: Reader, memory: Memory, helpful: bool, question: Question) -> None:
        now = self._env.now()
        space = vectors.own_space(connection, question.space) if question.vector else None
        gone = now - timedelta(days=self._live.now.suppress_days)
        digest = self._audit.digest(question.words)
        feedback.put(connection, memory.key, reader.scope, now, helpful, digest, space, question.vector, gone)

    def judgements(self, reader: Reader, keys: Sequence[int], question: Question) -> list[Judgement]:
        """What was said of these memories, oldest first, where the reader stands: another agent's opinion is its own.

        Who sees all sees memories of all, and is still of its own opinion.
        """
        here = readable(replace(reader, policy=Policy.AGENT_GLOBAL))
        with self._read(reader, "judgements") as connection:
            return feedback.of(connection, here, keys, self._audit.digest(question.words), question.space)

    def correct(
        self, reader: Reader, memory_id: str, draft: Draft, *, space: Space | None = None, timeout: float | None = None
    ) -> Memory:
        """Keep what is true in the place of a memory, and retire that, all or nothing. Where it is known already, that stays."""
        with self._watched(reader, "correct", memory_id):
            check_memory(draft.memory, self._live.now)
            now, new_id = self._env.now(), self._env.new_id()

            def work(connection: apsw.Connection) -> Memory:
                owned = writable(reader)
                old = memories.one(connection, owned, memory_id)
                born = replace(self._born(draft.memory, old.scope, now), id=new_id)
                known = self._known(connection, reader, old, born, now)
                fresh = old.status is not Status.SUPERSEDED
                if fresh:  # first, so that what is true outdates nothing that is retired anyway
                    gone = replace(old, status=Status.SUPERSEDED, unhelpful=old.unhelpful + 1, updated_at=now)
                    memories.rewrite(connection, old, gone, feedback.CORRECTED)
                    facts.end(connection, old.key, now)
                    self._unfound(connection, old.key, now)
                new = known or self._keep(connection, reader, born, draft.vector, space, now)
                if fresh:
                    edges.put(connection, owned, [Edge(new.id, old.id, feedback.SUPERSEDES)], now, self._live.tuned(EdgeWeights))
                return new

            entries = [
                self._audit.entry(reader, "correct", subject=memory_id, count=1),
                self._audit.entry(reader, "add", subject=new_id, count=1, digest=self._audit.digest(draft.memory.text)),
            ]
            return self._write(reader, "correct", work, entries=entries, timeout=timeout)

    def _known(self, connection: apsw.Connection, reader: Reader, old: Memory, new: Memory, now: datetime) -> Memory | None:
        """The memory that says already what `new` says: a correction that is made twice is made once."""
        digest = identity_of(new)
        if digest_of(new.text) == digest_of(old.text):
            raise InvalidContent("the correction says what the memory says.", way_out="Say what is true instead.")
        here = readable(replace(reader, scope=old.scope, policy=Policy.OWN))
        twin = memories.by_digest(connection, here, [digest]).get(digest)
        if old.status is Status.SUPERSEDED:
            heir = feedback.replacement(connection, here, old.key)
            if heir.id != twin:
                raise InvalidQuery("this memory has been superseded already.", way_out="Correct the memory that took its place.")
            return heir
        if twin is not None:
            self._said_again(connection, reader, twin, [], now)
            return memories.one(connection, here, twin)
        return None

    def _keep(
        self,
        connection: apsw.Connection,
        reader: Reader,
        memory: Memory,
        vector: bytes | None,
        space: Space | None,
        now: datetime,
    ) -> Memory:
        key = vectors.own_space(connection, space) if vector else None
        made = turns.capture(connection, memory.scope, [], [Draft(memory=memory, vector=vector)], key)[1]
        return self._understand(connection, reader, made, now)[0]

    def corrected(self, reader: Reader, wanted: Sequence[bytes]) -> dict[bytes, Memory]:
        """Of these digests, those of wordings that were corrected, with what stands in their place."""
        with self._read(reader, "digests") as connection:
            return feedback.corrected(connection, readable(reader), wanted)

    def corrected_facts(self, reader: Reader, told: Sequence[Fact]) -> list[Memory]:
        """What was corrected and said something of one of these, of the same sort."""
        with self._read(reader, "digests") as connection:
            return feedback.by_facts(connection, readable(reader), told)

    def corrections(self, reader: Reader) -> list[int]:
        """Keys of what was corrected."""
        with self._read(reader, "digests") as connection:
            return feedback.all_corrected(connection, readable(reader))

    def heir(self, reader: Reader, key: int) -> Memory:
        """What stands in the place of a corrected memory; itself, if that is gone."""
        with self._read(reader, "get") as connection:
            return feedback.replacement(connection, readable(reader), key)
