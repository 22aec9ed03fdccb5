"""The verbs that write. Each returns once its transaction is durable, and changes all that it names or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import apsw

from engram.env import to_micros
from engram.errors import Conflict, InvalidQuery
from engram.guard.visibility import readable, require_owner, require_writable, require_writer, writable
from engram.rules.edges import EdgeWeights
from engram.store.ports import Changes, HeardBefore, Once
from engram.store.sqlite import audit, episodes, erasure, feedback, gaps, memories, turns, working
from engram.store.sqlite import edges as links
from engram.store.sqlite import facts as claims
from engram.store.sqlite import vectors as embeddings
from engram.store.sqlite.scrubbing import NothingDone
from engram.store.sqlite.understanding import Understanding
from engram.store.validation import check_edges, check_memory, check_scope, check_status, check_turn, check_vectors, dated
from engram.text.english.facts import Fact
from engram.text.terms import identity_of
from engram.types import AuditEntry, Draft, Edge, Memory, Policy, Reader, Report, Scope, Space, Status, Turn
from engram.values.frozen import fields, replace

_FIXED = {"id", "key", "scope", "version", "learned_at", "updated_at", "status"}
"""What `update` may not touch: identity and place never change, the rest has verbs of its own."""

_EXPIRED = 500
"""Turns let go of in one transaction."""


class Writing(Understanding):
    """Mixed into the store."""

    def add(self, reader: Reader, drafts: Sequence[Memory], *, timeout: float | None = None) -> list[Memory]:
        """Keep new memories, all or none; returns them with ids, keys and dates."""
        with self._watched(reader, "add"):
            settings = self._live.now
            for draft in drafts:
                check_memory(draft, settings)
                require_writable(reader, draft.scope)
            now = self._env.now()
            ready = [
                replace(draft, id=draft.id or self._env.new_id(), learned_at=draft.learned_at or now, updated_at=now, version=1)
                for draft in map(dated, drafts)
            ]
            if not ready:
                return []
            return self._write(
                reader,
                "add",
                lambda connection: self._understand(
                    connection, reader, [memories.insert(connection, memory) for memory in ready], now
                ),
                entries=[
                    self._audit.entry(reader, "add", subject=memory.id, count=1, digest=self._audit.digest(memory.text))
                    for memory in ready
                ],
                timeout=timeout,
            )

    def capture(
        self,
        reader: Reader,
        scope: Scope,
        said: Sequence[Turn],
        drafts: Sequence[Draft],
        *,
        space: Space | None = None,
        again: Mapping[str, Sequence[int]] | None = None,
        wait: bool = False,
        told: Sequence[Fact] | None = None,
        timeout: float | None = None,
        once: Once | None = None,
    ) -> list[Memory]:
        """Keep what was said and what was drafted from it, all or none. Each turn brings its time and session.

        `again`: ids of memories that some of the turns say once more; they are counted, trusted more, and linked to these.
        `told`: the facts that these say, where they are known without reading.
        `wait`: the turns are to be read by a model too (`distil`).
        Vectors of another model than the vault's are left out: a memory is not lost for its vector. A wording that was
        corrected here is not kept again: what stands in its place is returned for it. `HeardBefore` if a turn's ref is known.
        """
        operation = "capture" if said else "add"
        with self._watched(reader, operation):
            check_scope(scope)
            require_writable(reader, scope)
            settings, now = self._live.now, self._env.now()
            for turn in said:
                check_turn(turn, settings)
            for draft in drafts:
                check_memory(draft.memory, settings)
            ready = [replace(draft, memory=self._born(draft.memory, scope, now)) for draft in drafts]
            digests = {draft.memory.id: identity_of(draft.memory) for draft in ready}
            facts = {draft.memory.id: draft.facts for draft in ready}

            def work(connection: apsw.Connection) -> list[Memory]:
                # Another thread or process may have kept these turns, or said the same, since that was looked up.
                here = readable(replace(reader, scope=scope, policy=Policy.OWN))
                refs = turns.known_refs(connection, here, [turn.ref for turn in said if turn.ref])
                if refs:
                    raise HeardBefore(refs)
                key = embeddings.own_space(connection, space) if any(draft.vector for draft in ready) else None
                known = memories.by_digest(connection, here, list(digests.values()))
                corrected = feedback.corrected(connection, here, [one for one in digests.values() if one not in known])
                here_before = known.keys() | corrected.keys()
                new = [draft for draft in ready if digests[draft.memory.id] not in here_before]
                keys, made = turns.capture(connection, scope, said, new, key, to_micros(now) if wait else 0)
                by_id = {memory.id: memory for memory in self._understand(connection, reader, made, now, facts)}
                for draft in ready:
                    if digests[draft.memory.id] in corrected:
                        by_id[draft.memory.id] = corrected[digests[draft.memory.id]]
                    elif draft.memory.id not in by_id:
                        twin = known[digests[draft.memory.id]]
                        self._said_again(connection, reader, twin, [keys[number] for number in draft.turns], now, draft.facts)
                        by_id[draft.memory.id] = memories.one(connection, writable(reader), twin)
                kept = [by_id[draft.memory.id] for draft in ready]
                for memory_id, numbers in (again or {}).items():
                    self._said_again(connection, reader, memory_id, [keys[number] for number in numbers], now, told)
                return kept

            entries = [
                self._audit.entry(
                    reader, operation, subject=draft.memory.id, count=1, digest=self._audit.digest(draft.memory.text)
                )
                for draft in ready
            ]
            return self._write(reader, operation, work, entries=entries, count=len(said), timeout=timeout, once=once)

    def distil(
        self,
        reader: Reader,
        keys: Sequence[int],
        drafts: Sequence[Draft],
        *,
        space: Space | None = None,
        again: Mapping[str, Sequence[int]] | None = None,
        outworn: Sequence[str] = (),
    ) -> list[Memory]:
        """Keep what a model read in turns that are here, by their keys; all or nothing, and only if they still wait for it.

        `again`: memories that it says once more, counted only for turns they did not come from; `outworn`: those that it says
        better.
        """
        with self._watched(reader, "distil"):
            require_writable(reader, reader.scope)
            settings, now = self._live.now, self._env.now()
            for draft in drafts:
                check_memory(draft.memory, settings)
            ready = [replace(draft, memory=self._born(draft.memory, reader.scope, now)) for draft in drafts]

            def work(connection: apsw.Connection) -> list[Memory]:
                if len(turns.been_read(connection, writable(reader), keys)) < len(keys):
                    return []  # another process has read them meanwhile, or some were erased
                key = embeddings.own_space(connection, space) if any(draft.vector for draft in ready) else None
                here = readable(replace(reader, policy=Policy.OWN))
                digests = [identity_of(draft.memory) for draft in ready]
                known = memories.by_digest(connection, here, digests)
                corrected = feedback.corrected(connection, here, digests)
                fresh = [d for d, digest in zip(ready, digests, strict=True) if digest not in known and digest not in corrected]
                facts = {draft.memory.id: draft.facts for draft in fresh}
                kept = self._understand(connection, reader, turns.keep(connection, keys, fresh, key), now, facts)
                for memory_id, numbers in (again or {}).items():
                    old = memories.one(connection, writable(reader), memory_id)
                    others = [keys[n] for n in dict.fromkeys(numbers) if keys[n] not in turns.sources_of(connection, old.key)]
                    if others:
                        self._said_again(connection, reader, memory_id, others, now)
                for memory_id in outworn:
                    self._move(connection, reader, memory_id, Status.SUPERSEDED, "said in full by a model", now)
                return kept

            return self._write(reader, "distil", work, count=len(keys))

    def _born(self, memory: Memory, scope: Scope, now: datetime) -> Memory:
        return dated(memory, id=self._env.new_id(), scope=scope, learned_at=memory.learned_at or now, updated_at=now)

    def update(
        self,
        reader: Reader,
        memory_id: str,
        changes: Changes,
        *,
        since: datetime | None = None,
        timeout: float | None = None,
        once: Once | None = None,
    ) -> Memory:
        """Change a memory; an earlier wording stays as a version. `since`: its `updated_at`, if it must still be that."""
        with self._watched(reader, "update", memory_id):

            def work(connection: apsw.Connection) -> Memory:
                old = _unchanged(memories.one(connection, writable(reader), memory_id), since)
                wanted = _changeable(changes(old) if callable(changes) else changes)
                version = old.version + ("text" in wanted and wanted["text"] != old.text)
                new = replace(old, **wanted, version=version, updated_at=self._env.now())  # type: ignore[arg-type]
                check_memory(new, self._live.now)
                new = dated(new)
                memories.rewrite(connection, old, new)
                if new.text != old.text:
                    claims.forget(connection, new.key)
                if new.tier is not old.tier:
                    self._retiered(connection, new)
                if new.text != old.text or new.flagged > old.flagged:
                    working.forget_handed(connection, [old.text])
                if new.text != old.text:
                    new = self._understand(connection, reader, [new], self._env.now())[0]
                    self._unfound(connection, new.key, self._env.now())
                return new

            return self._write(reader, "update", work, subject=memory_id, timeout=timeout, once=once)

    def set_status(
        self,
        reader: Reader,
        memory_id: str,
        status: Status,
        reason: str,
        *,
        timeout: float | None = None,
        once: Once | None = None,
    ) -> Memory:
        return self.set_statuses(reader, [memory_id], status, reason, timeout=timeout, once=once)[0]

    def set_statuses(
        self,
        reader: Reader,
        ids: Sequence[str],
        status: Status,
        reason: str,
        *,
        since: datetime | None = None,
        timeout: float | None = None,
        once: Once | None = None,
    ) -> list[Memory]:
        """Change the status of memories, all or none; `since` as for `update`."""
        with self._watched(reader, "status"):
            check_status(status, reason, self._live.now)
            now = self._env.now()

            def work(connection: apsw.Connection) -> list[Memory]:
                for one in dict.fromkeys(ids):
                    _unchanged(memories.one(connection, writable(reader), one), since)
                moved = [self._move(connection, reader, one, status, reason, now) for one in dict.fromkeys(ids)]
                if status != Status.ACTIVE:
                    working.forget_handed(connection, [memory.text for memory in moved])
                return moved

            entries = [self._audit.entry(reader, f"status:{status}", subject=memory_id, count=1) for memory_id in ids]
            return self._write(reader, "status", work, entries=entries, timeout=timeout, once=once)

    def erase(
        self,
        reader: Reader,
        ids: Sequence[str],
        *,
        since: datetime | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
        once: Once | None = None,
    ) -> Report:
        """Remove memories so that no word of them is left in the database, its log or any backup made later.

        The report counts what went, table by table; with `dry_run` it only tells what would.
        """
        with self._watched(reader, "erase"):
            gone: list[Memory] = []
            entries: list[AuditEntry] = []

            def remove(connection: apsw.Connection, held: erasure.Held) -> None:
                doomed = [_unchanged(memories.one(connection, writable(reader), one), since) for one in dict.fromkeys(ids)]
                gone[:] = [*doomed, *episodes.learned_from(connection, writable(reader), doomed)]
                entries[:] = [self._audit.entry(reader, "erase", subject=memory.id, count=1) for memory in gone]
                for memory in gone:
                    erasure.note(connection, held, memory)
                for memory in gone:
                    turns.forget_sources(connection, memory.key)
                    memories.wipe_out(connection, memory)
                audit.forget(connection, [memory.id for memory in gone])
                gaps.forget(connection, [memory.text for memory in gone])

            work = self._counting(reader, remove, dry_run=dry_run)
            if not dry_run:
                self._questions.take_waiting()  # what was asked since the last batch may tell of it
            if once is not None:
                answer = once.answer
                once.answer = lambda _: answer(gone)
            entries.append(self._audit.entry(reader, "erase", count=len(ids)))
            try:
                counts, wanted = self._write(reader, "erase", work, entries=entries, timeout=timeout, once=once)
            except NothingDone as trial:
                named = tuple(memory.id for memory in gone)
                self._note(reader, "erase:trial", count=len(named))
                return Report(operation="erase", ids=named, counts=trial.counts, notes=("nothing was removed.",))
            self._audit.forget([memory.id for memory in gone])
            done = tuple(memory.id for memory in gone)
            return Report(operation="erase", ids=done, counts=counts, notes=self._scrubbed(reader, wanted))

    def expire_turns(self, reader: Reader) -> int:
        """Let go of turns that are older than is kept; the memories made from them stay. How many went."""
        days = self._live.now.turn_days
        with self._watched(reader, "expire"):
            require_owner(reader, "the age of turns")
            before = to_micros(self._env.now()) - int(days * 86_400_000_000)
            if not days or not self._any_turn_before(before):
                return 0
            return self._write(reader, "expire", lambda connection: turns.expire(connection, before, _EXPIRED))

    def _any_turn_before(self, moment: int) -> bool:
        with self._readers.use("turns") as connection:
            return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM turns WHERE at < ?)", (moment,)).get)

    def keep_told(self, reader: Reader, once: Once) -> None:
        """Remember a request that came to be answered without a write of its own."""
        with self._watched(reader, "request"):
            require_writer(reader)
            self._write(reader, "request", lambda connection: None, once=once)

    def put_figure(self, reader: Reader, name: str, value: float) -> None:
        """Keep a number about the whole vault, such as what recall has learned."""
        with self._watched(reader, "figure"):
            require_writer(reader)
            sql = "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)"
            self._write(reader, "figure", lambda connection: connection.execute(sql, (f"figure:{name}", value)).get)

    def relate(self, reader: Reader, edges: Sequence[Edge], *, timeout: float | None = None, once: Once | None = None) -> int:
        with self._watched(reader, "relate"):
            check_edges(edges, self._live.now)
            return self._write(
                reader,
                "relate",
                lambda connection: links.put(connection, writable(reader), edges, self._env.now(), self._live.tuned(EdgeWeights)),
                count=len(edges),
                timeout=timeout,
                once=once,
            )

    def put_vectors(
        self,
        reader: Reader,
        space: str,
        vectors: Mapping[int, bytes],
        *,
        model: str,
        dimensions: int,
        said: Mapping[int, str] | None = None,
    ) -> int:
        """Store vectors; how many were. `said`: the words they were made of; a memory that has others by now is passed over."""
        with self._watched(reader, "put_vectors"):
            require_writer(reader)
            check_vectors(vectors, dimensions)
            owned, target = writable(reader), Space(space, model, dimensions)
            return self._write(
                reader,
                "put_vectors",
                lambda connection: embeddings.put_vectors(connection, owned, target, vectors, said),
                count=len(vectors),
            )

    def clear_space(self, reader: Reader, space: str) -> int:
        """Take every vector out of a space, so that another model can have it; how many there were."""
        with self._watched(reader, "clear_space"):
            require_owner(reader, "making vectors anew")
            return self._write(reader, "clear_space", lambda connection: embeddings.clear_space(connection, space))


def _changeable(changes: Mapping[str, object]) -> Mapping[str, object]:
    wrong = sorted(set(changes) & _FIXED | (set(changes) - {one.name for one in fields(Memory)}))
    if wrong:
        raise InvalidQuery(f"a memory's {wrong[0]!r} cannot be changed by an update.")
    return changes


def _unchanged(memory: Memory, since: datetime | None) -> Memory:
    if since is not None and memory.updated_at != since:
        raise Conflict("this memory was changed since it was read.")
    return memory
