"""Turns and the memories drafted from them, written in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import apsw

from engram.env import in_utc, to_micros
from engram.guard.visibility import Visibility, readable, require_writable, writable
from engram.store.ports import DuplicateTurns
from engram.store.receipts import ReceiptRequest
from engram.store.sqlite import feedback, memory_rows, turns, vectors
from engram.store.sqlite.rows import intern
from engram.store.validation import check_memory, check_scope, check_turn
from engram.text.terms import identity_of
from engram.types import Draft, Fact, Memory, Policy, Reader, Scope, Space, Status, Turn
from engram.values.facts import ParsedText
from engram.values.frozen import frozen, replace
from engram.values.memories import TAKEN_BACK, VALID

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate
    from engram.store.sqlite.reconciliation import Reconciliation


@frozen
class _ReadDrafts:
    """Checked drafts with new ids; by id the digest of each, and the mentions and facts read in its words."""

    drafts: list[Draft]
    digests: dict[str, bytes]
    readings: dict[str, ParsedText]


@frozen
class _Existing:
    """Memories of the scope, by digest, that make a draft superfluous."""

    same: dict[bytes, str]  # ids of memories with the same words
    corrected: dict[bytes, Memory]  # replacements of memories with the same words that were corrected

    def __contains__(self, digest: bytes) -> bool:
        return digest in self.same or digest in self.corrected


class Capture:
    """Turns and the memories drafted from them, written in one transaction."""

    def __init__(self, gate: Gate, reconciliation: Reconciliation) -> None:
        self._gate = gate
        self._reconciliation = reconciliation

    def write(
        self,
        reader: Reader,
        scope: Scope,
        said: Sequence[Turn],
        drafts: Sequence[Draft],
        *,
        space: Space | None = None,
        again: Mapping[str, Sequence[int]] | None = None,
        wait: bool = False,
        stated: Sequence[Fact] | None = None,
        sources: Sequence[int] = (),
        retracted: Sequence[str | int] = (),
        timeout: float | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> list[Memory]:
        """Store turns and the memories drafted from them, all or none. Each turn brings its time and session.

        again: by id, memories that some of the turns repeat, with the numbers of those turns; they are corroborated. stated: the
        facts of these, if the caller knows them. sources: keys of stored turns that the drafts came from, if no turn is new.
        wait: a language model is to read the turns too (`write_extracted`). retracted: ids of memories, or numbers of drafts,
        that their speaker took back; those that stand are invalidated.

        Vectors of another model than the vault's are left out, so that no memory is lost for its vector. A wording that was
        corrected here is not stored again; its replacement is returned. Raises `DuplicateTurns` if a turn's ref is stored.
        """
        operation = "capture" if said else "add"
        with self._gate.watched(reader, operation):
            check_scope(scope)
            require_writable(reader, scope)
            now = self._gate.env.now()
            for turn in said:
                check_turn(turn, self._gate.live.now)
            batch = self._read_drafts(drafts, scope, now)

            def work(connection: apsw.Connection) -> list[Memory]:
                # Looked up in the transaction: another thread or process may have stored the same since the caller looked.
                own = readable(replace(reader, scope=scope, policy=Policy.OWN))
                if refs := [turn.ref for turn in said if turn.ref]:
                    _refuse_stored(connection, own, refs)
                existing = _existing(connection, own, batch)
                new = [draft for draft in batch.drafts if batch.digests[draft.memory.id] not in existing]
                keys = turns.record(connection, scope, said, to_micros(now) if wait else 0) if said else sources
                made = _insert(connection, keys, new, _space_key(connection, space, batch))
                made = self._reconciliation.reconcile(connection, reader, made, now, batch.readings)
                memories = self._with_existing(connection, reader, batch, existing, made, keys, now)
                memories = self._replace_earlier(connection, reader, batch, {one.id for one in made}, memories, now)
                for memory_id, numbers in (again or {}).items():
                    repeated = [keys[number] for number in numbers]
                    self._reconciliation.corroborate(connection, reader, memory_id, repeated, now, stated)
                return self._retract(connection, reader, retracted, memories, now, said)

            audit = self._gate.audit
            entries = [
                audit.entry(reader, operation, subject=draft.memory.id, count=1, digest=audit.digest(draft.memory.text))
                for draft in batch.drafts
            ]
            return self._gate.write(reader, operation, work, entries=entries, count=len(said), timeout=timeout, receipt=receipt)

    def _read_drafts(self, drafts: Sequence[Draft], scope: Scope, now: datetime) -> _ReadDrafts:
        """Check the drafts, give them ids and read their words, all before the transaction, so that it is short."""
        for draft in drafts:
            check_memory(draft.memory, self._gate.live.now)
        ready = [replace(draft, memory=self._gate.new_memory(draft.memory, scope, now)) for draft in drafts]
        return _ReadDrafts(
            ready,
            {draft.memory.id: identity_of(draft.memory) for draft in ready},
            {draft.memory.id: self._gate.rules.read(draft.memory, draft.facts, draft.mentions) for draft in ready},
        )

    def _with_existing(
        self,
        connection: apsw.Connection,
        reader: Reader,
        batch: _ReadDrafts,
        existing: _Existing,
        made: Sequence[Memory],
        keys: Sequence[int],
        now: datetime,
    ) -> list[Memory]:
        """Return one memory per draft, in their order: the new one, the replacement of a corrected one, or an existing one with
        the same words, which is corroborated."""
        by_id = {memory.id: memory for memory in made}
        for draft in batch.drafts:
            digest = batch.digests[draft.memory.id]
            if digest in existing.corrected:
                by_id[draft.memory.id] = existing.corrected[digest]
            elif draft.memory.id not in by_id:
                same, sources = existing.same[digest], [keys[number] for number in draft.turns]
                self._reconciliation.corroborate(connection, reader, same, sources, now, draft.facts)
                by_id[draft.memory.id] = memory_rows.required(connection, writable(reader), same)
        return [by_id[draft.memory.id] for draft in batch.drafts]

    def _replace_earlier(
        self,
        connection: apsw.Connection,
        reader: Reader,
        batch: _ReadDrafts,
        made: Collection[str],
        memories: Sequence[Memory],
        now: datetime,
    ) -> list[Memory]:
        """Supersede or challenge what the new ones of these memories, one per draft, replace; return them as they are then."""
        for draft in batch.drafts:
            if draft.memory.id in made and draft.replaces:
                named = [
                    replace(one, earlier=memories[one.earlier].id) if isinstance(one.earlier, int) else one
                    for one in draft.replaces
                ]
                memory = memory_rows.required(connection, writable(reader), draft.memory.id)
                self._reconciliation.replace_earlier(connection, reader, memory, named, now)
        changed = [one.id for one in memories] if any(draft.replaces for draft in batch.drafts) else []
        current = {one.id: one for one in memory_rows.by_ids(connection, writable(reader), changed)} if changed else {}
        return [current.get(one.id, one) for one in memories]

    def _retract(
        self,
        connection: apsw.Connection,
        reader: Reader,
        retracted: Sequence[str | int],
        memories: Sequence[Memory],
        now: datetime,
        said: Sequence[Turn],
    ) -> list[Memory]:
        """Invalidate the memories that their speaker took back; return these memories, one per draft, as they are then.

        They are invalid from the last of the turns on, one of which takes them back.
        """
        ids = [memories[one].id if isinstance(one, int) else one for one in retracted]
        standing = memory_rows.by_ids(connection, writable(reader), ids) if ids else []
        at = min(max((in_utc(turn.at) for turn in said if turn.at is not None), default=now), now)
        moved = {
            one.id: self._reconciliation.set_status(connection, reader, one.id, Status.INVALIDATED, TAKEN_BACK, now, at=at)
            for one in standing
            if one.status in VALID and not one.pinned
        }
        return [moved.get(one.id, one) for one in memories]

    def write_extracted(
        self,
        reader: Reader,
        keys: Sequence[int],
        drafts: Sequence[Draft],
        *,
        space: Space | None = None,
        again: Mapping[str, Sequence[int]] | None = None,
        outworn: Sequence[str] = (),
    ) -> list[Memory]:
        """Store the memories that a model drafted from stored turns, all or none, and only if the turns still wait for it.

        keys: of the turns. again: by id, memories that some of the turns repeat; a turn that a memory came from already does not
        corroborate it. outworn: ids of memories that the drafts supersede.
        """
        with self._gate.watched(reader, "distil"):
            require_writable(reader, reader.scope)
            now = self._gate.env.now()
            batch = self._read_drafts(drafts, reader.scope, now)

            def work(connection: apsw.Connection) -> list[Memory]:
                if len(turns.mark_read(connection, writable(reader), keys)) < len(keys):
                    return []  # another process has read them since, or some were erased
                existing = _existing(connection, readable(replace(reader, policy=Policy.OWN)), batch)
                new = [draft for draft in batch.drafts if batch.digests[draft.memory.id] not in existing]
                made = _insert(connection, keys, new, _space_key(connection, space, batch))
                memories = self._reconciliation.reconcile(connection, reader, made, now, batch.readings)
                memories = [
                    self._reconciliation.replace_earlier(connection, reader, memory, draft.replaces, now)
                    for memory, draft in zip(memories, new, strict=True)
                ]
                for memory_id, numbers in (again or {}).items():
                    memory = memory_rows.required(connection, writable(reader), memory_id)
                    known = turns.sources_of(connection, memory.key)
                    others = [keys[number] for number in dict.fromkeys(numbers) if keys[number] not in known]
                    if others:
                        self._reconciliation.corroborate(connection, reader, memory_id, others, now)
                for memory_id in outworn:
                    at = turns.said_by(connection, [memory_id], now)
                    self._reconciliation.set_status(
                        connection, reader, memory_id, Status.SUPERSEDED, "said in full by a model", now, at=at
                    )
                return memories

            return self._gate.write(reader, "distil", work, count=len(keys))


def _refuse_stored(connection: apsw.Connection, own: Visibility, refs: Sequence[str]) -> None:
    if stored := turns.known_refs(connection, own, refs):
        raise DuplicateTurns(stored)


def _existing(connection: apsw.Connection, own: Visibility, batch: _ReadDrafts) -> _Existing:
    same = memory_rows.by_digest(connection, own, list(batch.digests.values()))
    others = [digest for digest in batch.digests.values() if digest not in same]
    return _Existing(same, feedback.corrected(connection, own, others))


def _insert(connection: apsw.Connection, keys: Sequence[int], drafts: Sequence[Draft], space: int | None) -> list[Memory]:
    """Insert memories drafted from stored turns, given by their keys, with their vectors."""
    sourced = sorted({keys[number] for draft in drafts for number in draft.turns})
    surroundings = {key: turns.turn_surroundings(connection, key) for key in sourced}
    scopes = {scope: intern(connection, scope) for scope in {draft.memory.scope for draft in drafts}}
    memories = []
    for draft in drafts:
        sources = [keys[number] for number in draft.turns]
        around = surroundings[sources[0]] if sources else ""
        memory = memory_rows.insert(connection, draft.memory, around, scopes[draft.memory.scope], draft.passage)
        if sources:
            turns.link(connection, memory.key, sources)
        if draft.vector is not None and space is not None:
            vectors.put(connection, memory.key, space, draft.vector)
        memories.append(memory)
    return memories


def _space_key(connection: apsw.Connection, space: Space | None, batch: _ReadDrafts) -> int | None:
    return vectors.own_space(connection, space) if any(draft.vector for draft in batch.drafts) else None
