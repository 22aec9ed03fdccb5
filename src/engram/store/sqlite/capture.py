"""Writes turns and the memories made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import apsw

from engram.env import to_micros
from engram.guard.visibility import readable, require_writable, writable
from engram.store.ports import DuplicateTurns
from engram.store.receipts import ReceiptRequest
from engram.store.sqlite import feedback, memory_rows, turns
from engram.store.sqlite import vectors as embeddings
from engram.store.validation import check_memory, check_scope, check_turn
from engram.text.terms import identity_of
from engram.types import Draft, Fact, Memory, Policy, Reader, Scope, Space, Status, Turn
from engram.values.frozen import replace

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate
    from engram.store.sqlite.reconciliation import Reconciliation


class Capture:
    """Turns and the memories made from them, written in one transaction."""

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
        timeout: float | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> list[Memory]:
        """Store turns and the memories drafted from them, all or none. Each turn brings its time and session.

        again: ids of memories that some of the turns repeat; they are corroborated and linked to those turns. stated: the
        facts of these, if the caller knows them. wait: a language model is to read the turns too (`write_extracted`).

        Vectors of another model than the vault's are left out, so that no memory is lost for its vector. A wording that was
        corrected here is not stored again; its replacement is returned. Raises `DuplicateTurns` if a turn's ref is stored.
        """
        operation = "capture" if said else "add"
        with self._gate.watched(reader, operation):
            check_scope(scope)
            require_writable(reader, scope)
            settings, now = self._gate.live.now, self._gate.env.now()
            for turn in said:
                check_turn(turn, settings)
            for draft in drafts:
                check_memory(draft.memory, settings)
            ready = [replace(draft, memory=self._gate.new_memory(draft.memory, scope, now)) for draft in drafts]
            digests = {draft.memory.id: identity_of(draft.memory) for draft in ready}
            readings = {draft.memory.id: self._gate.rules.read(draft.memory, draft.facts) for draft in ready}

            def work(connection: apsw.Connection) -> list[Memory]:
                # Another thread or process may have kept these turns, or said the same, since that was looked up.
                here = readable(replace(reader, scope=scope, policy=Policy.OWN))
                refs = turns.known_refs(connection, here, [turn.ref for turn in said if turn.ref])
                if refs:
                    raise DuplicateTurns(refs)
                key = embeddings.own_space(connection, space) if any(draft.vector for draft in ready) else None
                known = memory_rows.by_digest(connection, here, list(digests.values()))
                corrected = feedback.corrected(connection, here, [one for one in digests.values() if one not in known])
                here_before = known.keys() | corrected.keys()
                new = [draft for draft in ready if digests[draft.memory.id] not in here_before]
                keys, made = turns.capture(connection, scope, said, new, key, to_micros(now) if wait else 0)
                by_id = {memory.id: memory for memory in self._reconciliation.understand(connection, reader, made, now, readings)}
                for draft in ready:
                    if digests[draft.memory.id] in corrected:
                        by_id[draft.memory.id] = corrected[digests[draft.memory.id]]
                    elif draft.memory.id not in by_id:
                        twin = known[digests[draft.memory.id]]
                        self._reconciliation.said_again(
                            connection, reader, twin, [keys[number] for number in draft.turns], now, draft.facts
                        )
                        by_id[draft.memory.id] = memory_rows.required(connection, writable(reader), twin)
                kept = [by_id[draft.memory.id] for draft in ready]
                for memory_id, numbers in (again or {}).items():
                    self._reconciliation.said_again(
                        connection, reader, memory_id, [keys[number] for number in numbers], now, stated
                    )
                return kept

            entries = [
                self._gate.audit.entry(
                    reader, operation, subject=draft.memory.id, count=1, digest=self._gate.audit.digest(draft.memory.text)
                )
                for draft in ready
            ]
            return self._gate.write(reader, operation, work, entries=entries, count=len(said), timeout=timeout, receipt=receipt)

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
        """Keep what a model read in turns that are here, by their keys; all or nothing, and only if they still wait for it.

        `again`: memories that it says once more, counted only for turns they did not come from; `outworn`: those that it says
        better.
        """
        with self._gate.watched(reader, "distil"):
            require_writable(reader, reader.scope)
            settings, now = self._gate.live.now, self._gate.env.now()
            for draft in drafts:
                check_memory(draft.memory, settings)
            ready = [replace(draft, memory=self._gate.new_memory(draft.memory, reader.scope, now)) for draft in drafts]
            readings = {draft.memory.id: self._gate.rules.read(draft.memory, draft.facts) for draft in ready}

            def work(connection: apsw.Connection) -> list[Memory]:
                if len(turns.mark_read(connection, writable(reader), keys)) < len(keys):
                    return []  # another process has read them meanwhile, or some were erased
                key = embeddings.own_space(connection, space) if any(draft.vector for draft in ready) else None
                here = readable(replace(reader, policy=Policy.OWN))
                digests = [identity_of(draft.memory) for draft in ready]
                known = memory_rows.by_digest(connection, here, digests)
                corrected = feedback.corrected(connection, here, digests)
                fresh = [d for d, digest in zip(ready, digests, strict=True) if digest not in known and digest not in corrected]
                made = turns.keep(connection, keys, fresh, key)
                kept = self._reconciliation.understand(connection, reader, made, now, readings)
                for memory_id, numbers in (again or {}).items():
                    old = memory_rows.required(connection, writable(reader), memory_id)
                    others = [keys[n] for n in dict.fromkeys(numbers) if keys[n] not in turns.sources_of(connection, old.key)]
                    if others:
                        self._reconciliation.said_again(connection, reader, memory_id, others, now)
                for memory_id in outworn:
                    self._reconciliation.move(connection, reader, memory_id, Status.SUPERSEDED, "said in full by a model", now)
                return kept

            return self._gate.write(reader, "distil", work, count=len(keys))
