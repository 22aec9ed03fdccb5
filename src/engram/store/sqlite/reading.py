"""The verbs that read. Each statement carries the reader's visibility; nothing is written on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from engram.crypto import ciphers
from engram.env import to_micros
from engram.guard.visibility import readable, require_owner
from engram.store.ports import CandidateTraits, Filter, Once
from engram.store.sqlite import edges as links
from engram.store.sqlite import memories, quotas, rows, text_index, turns
from engram.store.sqlite import memories as history
from engram.store.sqlite import vectors as embeddings
from engram.store.sqlite.audit import read as read_audit
from engram.store.sqlite.gate import Path
from engram.store.sqlite.rows import predicate
from engram.store.validation import bounded, check_filter, check_terms
from engram.types import (
    AuditEntry,
    ChangeEvent,
    ChangeEvents,
    ChangeLogEntry,
    Counts,
    Edge,
    Memory,
    Page,
    PendingTurn,
    Policy,
    Reader,
    Role,
    Scope,
    Space,
    Status,
    StatusChange,
    TextHit,
    Turn,
    Version,
    scope_values,
)
from engram.values.frozen import replace


class Reading(Path):
    """Mixed into the store."""

    def fetch(self, reader: Reader, keys: Sequence[int], *, as_of: datetime | None = None) -> list[Memory]:
        """The visible ones among `keys`, in that order; with `as_of` as they stood at that moment."""
        with self._read(reader, "fetch") as connection:
            found = memories.by_keys(connection, readable(reader), keys)
            if as_of is not None:
                found = history.as_then(connection, found, as_of)
        self._note(reader, "fetch", count=len(found))
        return found

    def page(self, reader: Reader, *, limit: int, cursor: str | None = None, where: Filter = Filter()) -> Page:
        """Newest first. A page goes on below the key of the last row: what comes or goes meanwhile moves nothing else."""
        bounded(limit, self._limits.page_limit, "a page")
        check_filter(where.kinds, where.statuses, where.since, where.until)
        about, secret = _listing("list", reader, where), self._opened.cursor_key
        before = None if cursor is None else ciphers.open_cursor(cursor, about, secret)
        with self._read(reader, "list") as connection:
            found = memories.page(connection, readable(reader), where, before=before, limit=limit + 1)
        self._note(reader, "list", count=min(len(found), limit))
        more = len(found) > limit
        return Page(tuple(found[:limit]), ciphers.seal_cursor(found[limit - 1].key, about, secret) if more else None)

    def search_text(self, reader: Reader, terms: Sequence[str], *, limit: int, where: Filter = Filter()) -> list[TextHit]:
        """Memories that hold any of the terms, best first."""
        check_terms(terms)
        if not terms:
            return []
        bounded(limit, self._limits.page_limit, "a search")
        with self._read(reader, "search") as connection:
            condition, narrow, around = rows.conditions(where), rows.narrow(where), self._limits.around_weight
            hits = text_index.search_text(connection, readable(reader), condition, terms, limit, around, narrow=narrow)
            found = [TextHit(key, score) for key, score in hits]
        self._note(reader, "search", count=len(found), digest=self._audit.digest(" ".join(terms)))
        return found

    def frequencies(self, reader: Reader, terms: Sequence[str], *, most: int) -> list[int]:
        """In how many memories of the whole vault each term stands: what tells a rare word from a common one."""
        check_terms(terms)
        with self._read(reader, "frequencies") as connection:
            return [text_index.frequency(connection, term, most) for term in terms]

    def get(self, reader: Reader, ids: Sequence[str]) -> list[Memory]:
        """The visible ones among `ids`, in that order."""
        with self._read(reader, "get") as connection:
            found = memories.by_ids(connection, readable(reader), ids)
        for memory in found:
            self._note(reader, "get", subject=memory.id, count=1)
        if not found:
            self._note(reader, "get")
        return found

    def heard(self, reader: Reader, keys: Sequence[int]) -> dict[int, CandidateTraits]:
        """Who said each of these memories, in which session, when, and how much it tells."""
        with self._read(reader, "heard") as connection:
            return memories.heard(connection, readable(reader), keys)

    def lasting(self, reader: Reader, keys: Sequence[int]) -> set[int]:
        """Those of these memories that say since when something goes on."""
        with self._read(reader, "heard") as connection:
            return memories.lasting(connection, readable(reader), keys)

    def recalled(self, reader: Reader, keys: Sequence[int]) -> None:
        """Count that these were given as an answer. Who may not write moves no counts."""
        if reader.writes:
            self._accesses.note(keys)

    def links(self, reader: Reader, keys: Sequence[int], kinds: Sequence[str]) -> list[tuple[int, int, str]]:
        """Links of these kinds into or out of these memories, by keys: (source, target, kind); both ends active."""
        with self._read(reader, "links") as connection:
            return history.links(connection, readable(reader), keys, kinds) if keys else []

    def search_wordings(self, reader: Reader, terms: Sequence[str], *, limit: int, where: Filter) -> list[TextHit]:
        """Memories by words that they had at `where.as_of` and no longer have."""
        check_terms(terms)
        with self._read(reader, "search") as connection:
            found = history.search_wordings(connection, readable(reader), where, terms[:_WORDING_TERMS], limit) if terms else []
        self._note(reader, "search", count=len(found), digest=self._audit.digest(" ".join(terms)))
        return found

    def onward(self, reader: Reader, *, after: int, limit: int) -> tuple[list[Memory], list[tuple[int, int, Turn]], list[Edge]]:
        """All that is known above a key, in the order it came: memories, (memory, number, turn) they came from, links."""
        bounded(limit, self._limits.page_limit, "a page")
        with self._read(reader, "export") as connection:
            seen = readable(reader)
            found = memories.onward(connection, seen, after=after, limit=limit)
            said = turns.of_memories(connection, seen, [memory.key for memory in found]) if found else []
            linked = links.at(connection, seen, [memory.id for memory in found]) if found else []
        self._note(reader, "export", count=len(found))
        return found, said, linked

    def vectors(self, reader: Reader, space: str, *, where: Filter = Filter()) -> Iterator[tuple[int, bytes]]:
        """The stored vectors this reader may search among."""
        with self._read(reader, "vectors") as connection:
            self._note(reader, "vectors")
            yield from embeddings.vectors(connection, readable(reader), where, space)

    def edges(self, reader: Reader, ids: Sequence[str]) -> list[Edge]:
        with self._read(reader, "edges") as connection:
            found = links.at(connection, readable(reader), ids) if ids else []
        self._note(reader, "edges", count=len(found))
        return found

    def versions(self, reader: Reader, memory_id: str) -> list[Version]:
        with self._read(reader, "versions") as connection:
            found = memories.versions(connection, readable(reader), memory_id)
        self._note(reader, "versions", subject=memory_id, count=len(found))
        return found

    def status_history(self, reader: Reader, memory_id: str) -> list[StatusChange]:
        with self._read(reader, "status_history") as connection:
            found = memories.status_history(connection, readable(reader), memory_id)
        self._note(reader, "status_history", subject=memory_id, count=len(found))
        return found

    def turns_of(self, reader: Reader, memory_id: str) -> list[Turn]:
        """The words a memory came from, as they were said."""
        with self._read(reader, "turns") as connection:
            key = memories.one(connection, readable(reader), memory_id).key
            found = turns.of_memory(connection, readable(reader), key)
        self._note(reader, "turns", subject=memory_id, count=len(found))
        return found

    def last_turn(self, reader: Reader, session: str) -> Turn | None:
        """What was said last in this session, where the reader stands."""
        with self._read(reader, "turns") as connection:
            return turns.last_of(connection, reader.scope, session)

    def turns_before(self, reader: Reader, session: str, key: int, *, limit: int) -> list[Turn]:
        """What was said in a session just before the turn of this key, where the reader stands."""
        with self._read(reader, "turns") as connection:
            return turns.before(connection, reader.scope, session, key, limit)

    def waiting(self, reader: Reader, session: str, *, limit: int) -> list[PendingTurn]:
        """The turns of a session that a model has not read yet, where the reader stands."""
        with self._read(reader, "turns") as connection:
            return turns.waiting(connection, reader.scope, session, limit)

    def waiting_sessions(self, reader: Reader) -> list[tuple[Scope, str]]:
        require_owner(reader, "all sessions")
        with self._readers.use("turns") as connection:
            return turns.waiting_sessions(connection)

    def made_of(self, reader: Reader, keys: Sequence[int]) -> list[Memory]:
        """The active memories, written from where this reader stands, that came from these turns."""
        with self._read(reader, "turns") as connection:
            here = readable(replace(reader, policy=Policy.OWN))
            found = memories.by_keys(connection, here, turns.memories_of(connection, keys))
        return [memory for memory in found if memory.status is Status.ACTIVE]

    def known_refs(self, reader: Reader, refs: Sequence[str]) -> set[str]:
        with self._read(reader, "refs") as connection:
            return turns.known_refs(connection, readable(reader), refs)

    def told(self, reader: Reader, once: Once) -> str | None:
        """What was answered to this write when it was made, from where this reader stands; None if it was not."""
        with self._read(reader, "request") as connection:
            return quotas.told(connection, self._request(reader, once))

    def mark_of(self, words: str) -> str:
        """What these words are known again by in this vault: a keyed digest, which tells nobody else what they are."""
        return self._audit.digest(words)

    def digests(self, reader: Reader, wanted: Sequence[bytes]) -> dict[bytes, str]:
        """Ids of active memories, written from exactly where this reader stands, that say the same."""
        with self._read(reader, "digests") as connection:
            return memories.by_digest(connection, readable(replace(reader, policy=Policy.OWN)), wanted)

    def space(self, name: str) -> Space | None:
        """Whose vectors a space holds; None if there is no such space yet."""
        with self._readers.use("vectors") as connection:
            found: list[Any] = connection.execute("SELECT name, model, dimensions FROM spaces WHERE name = ?", (name,)).fetchall()
        return next((Space(*row) for row in found), None)

    def figure(self, name: str) -> float | None:
        """A number about the whole vault, if it was ever put."""
        with self._readers.use("figures") as connection:
            value = connection.execute("SELECT value FROM meta WHERE name = ?", (f"figure:{name}",)).get
        return None if value is None else float(value)

    def keys_having(self, reader: Reader, where: Filter) -> list[int]:
        """Keys of the visible memories that a filter lets pass: for an index that does not hold what it asks."""
        with self._read(reader, "keys") as connection:
            return memories.keys_having(connection, readable(reader), where)

    def without_vector(self, reader: Reader, space: str, *, after: int, limit: int) -> list[tuple[int, str, str]]:
        with self._read(reader, "backlog") as connection:
            return embeddings.without_vector(connection, readable(reader), space, after, limit)

    def lacks_vectors(self, reader: Reader, space: str) -> bool:
        """Are there memories without a vector, as far as the oldest and the newest tell?"""
        with self._read(reader, "backlog") as connection:
            return embeddings.lacking(connection, readable(reader), space)

    def space_rows(self, reader: Reader, space: str, *, after: int, limit: int) -> list[Any]:
        """What a vector index of the whole vault is made of, in key order."""
        require_owner(reader, "the rows of a vector space")
        with self._readers.use("vectors") as connection:
            return embeddings.space_rows(connection, space, "m.key > ? ORDER BY m.key LIMIT ?", (after, limit))

    def space_size(self, reader: Reader, space: str) -> int:
        """How many rows a space has at most: counting vectors would read all of them, memories are counted by an index."""
        require_owner(reader, "the rows of a vector space")
        with self._readers.use("vectors") as connection:
            return int(connection.execute("SELECT count(*) FROM memories").get)

    def space_rows_of(self, reader: Reader, space: str, keys: Sequence[int]) -> list[Any]:
        require_owner(reader, "the rows of a vector space")
        found: list[Any] = []
        with self._readers.use("vectors") as connection:
            for start in range(0, len(keys), 500):
                some = keys[start : start + 500]
                found += embeddings.space_rows(connection, space, f"m.key IN ({', '.join('?' * len(some))})", some)
        return found

    def latest_change(self, reader: Reader) -> int:
        """The number of the last change: a counter that says nothing of what changed, the same for every reader."""
        with self._readers.use("changes") as connection:
            return int(connection.execute("SELECT coalesce(max(seq), 0) FROM changes").get)

    def changed_keys(self, reader: Reader, after: int, limit: int) -> list[Any]:
        require_owner(reader, "the change log")
        with self._readers.use("changes") as connection:
            sql = "SELECT seq, memory, what FROM changes WHERE seq > ? ORDER BY seq LIMIT ?"
            return connection.execute(sql, (after, limit)).fetchall()

    def visible_scopes(self, reader: Reader) -> set[int] | None:
        """Keys of the scopes that this reader sees; None for all."""
        seen = readable(reader)
        if seen.everything:
            return None
        visible, values = predicate(seen, "key")
        with self._readers.use("scopes") as connection:
            return {int(row[0]) for row in connection.execute(f"SELECT key FROM scopes WHERE {visible}", values)}

    def counts(self, reader: Reader) -> Counts:
        with self._read(reader, "counts") as connection:
            return memories.counts(connection, readable(reader))

    def changes(self, reader: Reader, *, after: int, limit: int) -> list[ChangeLogEntry]:
        """The change log after a point: keys and verbs only, for whoever may see the whole vault's rhythm."""
        with self._watched(reader, "changes"):
            require_owner(reader, "the change log")
        bounded(limit, self._limits.change_log_rows, "the change log")
        with self._read(reader, "changes") as connection:
            found = connection.execute("SELECT seq, memory, what FROM changes WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit))
            return [ChangeLogEntry(seq, key, what) for seq, key, what in found]

    def events(self, reader: Reader, after: int, limit: int) -> ChangeEvents:
        """What changed after a point among what this reader sees. An erasure is told to nobody: not even an id is left of it.

        Missed is what the log does not hold any more, or a vault that was restored never held.
        """
        bounded(limit, self._limits.change_log_rows, "the change log")
        visible, values = predicate(readable(reader), "m.scope")
        with self._read(reader, "events") as connection:
            ends = connection.execute("SELECT coalesce(min(seq), 0), coalesce(max(seq), 0) FROM changes").get
            oldest, latest = int(ends[0]), int(ends[1])
            rows = connection.execute(
                f"""
                SELECT c.seq, m.id, c.what FROM changes AS c JOIN memories AS m ON m.key = c.memory
                 WHERE c.seq > ? AND c.seq <= ? AND {visible} ORDER BY c.seq LIMIT ?
                """,
                (min(after, latest), latest, *values, limit),
            )
            found = tuple(ChangeEvent(seq, memory, what) for seq, memory, what in rows)
        return ChangeEvents(found, found[-1].seq if len(found) == limit else latest, not oldest <= after + 1 <= latest + 1)

    def audit(self, reader: Reader, *, limit: int) -> list[AuditEntry]:
        """Newest first: one's own entries, or the owner's view of all."""
        bounded(limit, self._live.now.audit_rows, "the audit trail")
        self._flush_audit(wait=True)
        with self._read(reader, "audit") as connection:
            return read_audit(connection, None if reader.role is Role.OWNER else reader.scope, limit)


_WORDING_TERMS = 32  # of a question that are looked for in earlier wordings: each is a scan of them


def _listing(operation: str, reader: Reader, where: Filter) -> bytes:
    """What a cursor belongs to: the same words for the same listing, however its filter was written."""
    who = (*scope_values(reader.scope), reader.policy.value, reader.role.value)
    lists = [sorted(map(str, names)) for names in (where.kinds, where.categories, where.without, where.statuses)]
    times = [moment and to_micros(moment) for moment in (where.since, where.until, where.as_of)]
    rest = sorted((where.attributes or {}).items()), scope_values(where.scope), where.fresh
    return repr((operation, who, lists, times, rest)).encode("utf-8", "surrogatepass")
