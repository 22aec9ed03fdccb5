"""The part `store.memories`: get, list, add, update, change status; versions and counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import apsw

from engram.crypto import ciphers
from engram.env import to_micros
from engram.errors import InvalidQuery
from engram.guard.visibility import readable, require_writable, writable
from engram.store.receipts import ReceiptRequest
from engram.store.sqlite import working
from engram.store.sqlite.memory_rows import (
    by_digest,
    by_ids,
    by_keys,
    counts,
    export_rows,
    insert,
    keys_having,
    lasting,
    log_status,
    page,
    required,
    rewrite,
    states_at,
    status_history,
    traits,
    unchanged,
    versions,
    whole_ids,
)
from engram.store.validation import (
    bounded,
    check_filter,
    check_memory,
    check_status,
    dated,
)
from engram.values.edges import Edge
from engram.values.frozen import fields, replace
from engram.values.health import Counts
from engram.values.identity import Policy, Reader, scope_values
from engram.values.memories import Memory, Page, Status, StatusChange, Version
from engram.values.query import CandidateTraits, Filter, read_conditions
from engram.values.turns import Turn

if TYPE_CHECKING:
    from engram.store.ports import Changes
    from engram.store.sqlite.gate import Gate
    from engram.store.sqlite.reconciliation import Reconciliation
    from engram.values.recall import Report


_FIXED = {"id", "key", "scope", "version", "learned_at", "updated_at", "status"}
"""Fields that `update` may not change: identity and scope never change, the others have methods of their own."""


class Memories:
    """Memories: read, list, add, change; their versions and statuses."""

    def __init__(self, gate: Gate, reconciliation: Callable[[], Reconciliation]) -> None:
        """Make the part. `reconciliation` is called at the first write: loading it takes longer than a hook has."""
        self._gate = gate
        self._make_reconciliation = reconciliation

    @property
    def _reconciliation(self) -> Reconciliation:
        return self._make_reconciliation()

    def fetch(self, reader: Reader, keys: Sequence[int], *, as_of: datetime | None = None) -> list[Memory]:
        """Return the visible memories among `keys`, in that order; with `as_of`, as they were at that time."""
        with self._gate.read(reader, "fetch") as connection:
            found = by_keys(connection, readable(reader), keys)
            if as_of is not None:
                found = states_at(connection, found, as_of)
        self._gate.note(reader, "fetch", count=len(found))
        return found

    def newest(self, reader: Reader, *, limit: int, where: Filter = Filter()) -> list[Memory]:
        """Return the newest memories that pass a filter, newest first. Without the cursor of a page, for which a hook would have
        to load `cryptography` (10 ms)."""
        bounded(limit, self._gate.limits.page_limit, "a page")
        check_filter(where)
        with self._gate.read(reader, "list") as connection:
            memories = page(connection, readable(reader), where, before=None, limit=limit)
            if where.as_of is not None:
                memories = states_at(connection, memories, where.as_of)
        self._gate.note(reader, "list", count=len(memories))
        return memories

    def page(self, reader: Reader, *, limit: int, cursor: str | None = None, where: Filter = Filter()) -> Page:
        """Return a page of memories, newest first. A cursor continues below the last key: inserts and deletions shift nothing."""
        bounded(limit, self._gate.limits.page_limit, "a page")
        check_filter(where)
        about, secret = _listing("list", reader, where), self._gate.opened.cursor_key
        before = None if cursor is None else ciphers.open_cursor(cursor, about, secret)
        with self._gate.read(reader, "list") as connection:
            found = page(connection, readable(reader), where, before=before, limit=limit + 1)
            if where.as_of is not None:
                found = states_at(connection, found, where.as_of)
        self._gate.note(reader, "list", count=min(len(found), limit))
        more = len(found) > limit
        return Page(tuple(found[:limit]), ciphers.seal_cursor(found[limit - 1].key, about, secret) if more else None)

    def get(self, reader: Reader, ids: Sequence[str]) -> list[Memory]:
        """Return the visible memories among `ids`, in that order; an id may be a short one."""
        with self._gate.read(reader, "get") as connection:
            found = by_ids(connection, readable(reader), whole_ids(connection, readable(reader), ids))
        for memory in found:
            self._gate.note(reader, "get", subject=memory.id, count=1)
        if not found:
            self._gate.note(reader, "get")
        return found

    def traits(self, reader: Reader, keys: Sequence[int]) -> dict[int, CandidateTraits]:
        """Return speaker, session, time and informativeness of the visible ones of these memories, by key."""
        with self._gate.read(reader, "heard") as connection:
            return traits(connection, readable(reader), keys)

    def lasting(self, reader: Reader, keys: Sequence[int]) -> set[int]:
        """Return the keys of those of these memories that have a `valid_from`."""
        with self._gate.read(reader, "heard") as connection:
            return lasting(connection, readable(reader), keys)

    def record_access(self, reader: Reader, keys: Sequence[int]) -> None:
        """Count these memories as recalled; no count for a reader that may not write."""
        if reader.writes:
            self._gate.accesses.note(keys)

    def versions(self, reader: Reader, memory_id: str) -> list[Version]:
        with self._gate.read(reader, "versions") as connection:
            found = versions(connection, readable(reader), memory_id)
        self._gate.note(reader, "versions", subject=memory_id, count=len(found))
        return found

    def status_history(self, reader: Reader, memory_id: str) -> list[StatusChange]:
        with self._gate.read(reader, "status_history") as connection:
            found = status_history(connection, readable(reader), memory_id)
        self._gate.note(reader, "status_history", subject=memory_id, count=len(found))
        return found

    def by_digest(self, reader: Reader, wanted: Sequence[bytes]) -> dict[bytes, str]:
        """Map these digests to the ids of active memories of exactly the reader's scope."""
        with self._gate.read(reader, "digests") as connection:
            return by_digest(connection, readable(replace(reader, policy=Policy.OWN)), wanted)

    def keys_having(self, reader: Reader, where: Filter) -> list[int]:
        """Return the keys of the visible memories that pass a filter, for an index that lacks the filter's columns."""
        with self._gate.read(reader, "keys") as connection:
            return keys_having(connection, readable(reader), where)

    def counts(self, reader: Reader) -> Counts:
        with self._gate.read(reader, "counts") as connection:
            return counts(connection, readable(reader))

    def export(self, reader: Reader, *, after: int, limit: int) -> tuple[list[Memory], list[tuple[int, int, Turn]], list[Edge]]:
        """Return the visible memories above a key in key order, their turns as (memory, number, turn), and their edges."""
        bounded(limit, self._gate.limits.page_limit, "a page")
        with self._gate.read(reader, "export") as connection:
            from engram.store.sqlite import edges, turns  # late, for the start-up time of a hook

            seen = readable(reader)
            found = export_rows(connection, seen, after=after, limit=limit)
            said = turns.of_memories(connection, seen, [memory.key for memory in found]) if found else []
            linked = edges.edges_of(connection, seen, [memory.id for memory in found]) if found else []
        self._gate.note(reader, "export", count=len(found))
        return found, said, linked

    def add(self, reader: Reader, drafts: Sequence[Memory], *, timeout: float | None = None) -> list[Memory]:
        """Store new memories, all or none; return them with ids, keys and dates."""
        with self._gate.watched(reader, "add"):
            settings = self._gate.live.now
            for draft in drafts:
                check_memory(draft, settings)
                require_writable(reader, draft.scope)
            now = self._gate.env.now()
            ready = [
                replace(
                    draft, id=draft.id or self._gate.env.new_id(), learned_at=draft.learned_at or now, updated_at=now, version=1
                )
                for draft in map(dated, drafts)
            ]
            if not ready:
                return []
            readings = {memory.id: self._gate.rules.read(memory) for memory in ready}
            return self._gate.write(
                reader,
                "add",
                lambda connection: self._reconciliation.reconcile(
                    connection, reader, [insert(connection, memory) for memory in ready], now, readings
                ),
                entries=[
                    self._gate.audit.entry(reader, "add", subject=memory.id, count=1, digest=self._gate.audit.digest(memory.text))
                    for memory in ready
                ],
                timeout=timeout,
            )

    def update(
        self,
        reader: Reader,
        memory_id: str,
        changes: Changes,
        *,
        since: datetime | None = None,
        timeout: float | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> Memory:
        """Change a memory; the earlier wording becomes a version. `since`: raise Conflict if `updated_at` is another."""
        with self._gate.watched(reader, "update", memory_id):

            def work(connection: apsw.Connection) -> Memory:
                from engram.store.sqlite import facts  # late, as in `export`

                old = unchanged(required(connection, writable(reader), memory_id), since)
                wanted = _changeable(changes(old) if callable(changes) else changes)
                if wanted.get("text", old.text) != old.text:
                    wanted = {"words_at": (0, 0), **wanted}
                version = old.version + ("text" in wanted and wanted["text"] != old.text)
                new = replace(old, **wanted, version=version, updated_at=self._gate.env.now())  # type: ignore[arg-type]
                check_memory(new, self._gate.live.now)
                new = dated(new)
                rewrite(connection, old, new)
                if new.text != old.text:
                    facts.forget(connection, self._gate.rules, new.key)
                if new.tier is not old.tier:
                    self._reconciliation.apply_tier(connection, new)
                if new.text != old.text or new.flagged > old.flagged:
                    working.delete_handoffs_with(connection, [old.text])
                if new.text != old.text:
                    new = self._reconciliation.reconcile(connection, reader, [new], self._gate.env.now())[0]
                    self._reconciliation.invalidate_inferences(connection, new.key, self._gate.env.now())
                return new

            return self._gate.write(reader, "update", work, subject=memory_id, timeout=timeout, receipt=receipt)

    def set_status(
        self,
        reader: Reader,
        memory_id: str,
        status: Status,
        reason: str,
        *,
        timeout: float | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> Memory:
        only = receipt and receipt.mapped(lambda moved: moved[0])
        return self.set_statuses(reader, [memory_id], status, reason, timeout=timeout, receipt=only)[0]

    def archive(
        self,
        reader: Reader,
        ids: Sequence[str],
        reason: str,
        *,
        since: datetime | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> Report:
        """Archive memories, all or none; the report names them."""
        report = receipt and receipt.mapped(_archived)
        return _archived(self.set_statuses(reader, ids, Status.ARCHIVED, reason, since=since, receipt=report))

    def review(
        self,
        reader: Reader,
        memory_id: str,
        status: Status,
        reason: str,
        *,
        confirmed: bool = False,
        receipt: ReceiptRequest | None = None,
    ) -> Memory:
        """Set the status that a person decided on. `confirmed`: the person vouches for the memory, which corroborates it."""
        with self._gate.watched(reader, "status", memory_id):
            check_status(status, reason, self._gate.live.now)
            now = self._gate.env.now()

            def work(connection: apsw.Connection) -> Memory:
                before = required(connection, writable(reader), memory_id)
                moved = self._reconciliation.set_status(connection, reader, memory_id, status, reason, now)
                if before.status is status:  # the history keeps every review
                    log_status(connection, before, StatusChange(status, status, reason, now))
                if confirmed:
                    self._reconciliation.corroborate(connection, reader, memory_id, [], now)
                    moved = required(connection, writable(reader), memory_id)
                if status != Status.ACTIVE:
                    working.delete_handoffs_with(connection, [moved.text])
                return moved

            entries = [self._gate.audit.entry(reader, f"status:{status}", subject=memory_id, count=1)]
            return self._gate.write(reader, "status", work, entries=entries, receipt=receipt)

    def set_statuses(
        self,
        reader: Reader,
        ids: Sequence[str],
        status: Status,
        reason: str,
        *,
        since: datetime | None = None,
        timeout: float | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> list[Memory]:
        """Change the status of memories, all or none. `since`: as for `update`."""
        with self._gate.watched(reader, "status"):
            check_status(status, reason, self._gate.live.now)
            now = self._gate.env.now()

            def work(connection: apsw.Connection) -> list[Memory]:
                for memory_id in dict.fromkeys(ids):
                    unchanged(required(connection, writable(reader), memory_id), since)
                moved = [
                    self._reconciliation.set_status(connection, reader, memory_id, status, reason, now)
                    for memory_id in dict.fromkeys(ids)
                ]
                if status != Status.ACTIVE:
                    working.delete_handoffs_with(connection, [memory.text for memory in moved])
                return moved

            entries = [self._gate.audit.entry(reader, f"status:{status}", subject=memory_id, count=1) for memory_id in ids]
            return self._gate.write(reader, "status", work, entries=entries, timeout=timeout, receipt=receipt)


def _changeable(changes: Mapping[str, object]) -> Mapping[str, object]:
    wrong = sorted(set(changes) & _FIXED | (set(changes) - {one.name for one in fields(Memory)}))
    if wrong:
        raise InvalidQuery(f"a memory's {wrong[0]!r} cannot be changed by an update.")
    return changes


def _listing(operation: str, reader: Reader, where: Filter) -> bytes:
    """Return the text that a cursor is bound to: equal for equal listings, however the filter was written."""
    who = (*scope_values(reader.scope), reader.policy.value, reader.role.value)
    lists = [sorted(map(str, names)) for names in (where.kinds, where.categories, where.without, where.statuses)]
    times = [moment and to_micros(moment) for moment in (where.since, where.until, where.as_of)]
    named = {field: sorted(names) for field, names in read_conditions(where).items()}
    rest = sorted((where.attributes or {}).items()), scope_values(where.scope), where.fresh, named
    return repr((operation, who, lists, times, rest)).encode("utf-8", "surrogatepass")


def _archived(memories: Sequence[Memory]) -> Report:
    from engram.values.recall import Report  # late: a hook does without the values of recall (2 ms)

    return Report(operation="forget", ids=tuple(memory.id for memory in memories), counts={"memories": len(memories)})
