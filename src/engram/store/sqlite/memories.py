"""The statements on memories, their words, versions, statuses, links and vectors.

Functions that take part in a write run inside the writer's transaction: row, text index, change log and audit entry are
one commit. Each takes the visibility it must apply; none decides who is asking.

The statements on what stood when, and on what stands against what: earlier wordings, and links among memories.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import apsw

from engram.crypto import ciphers
from engram.env import from_micros, to_micros
from engram.errors import Conflict, InvalidQuery, NotFound
from engram.guard.visibility import Visibility, readable, require_writable, writable
from engram.store.ports import Changes
from engram.store.receipts import Once
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import edges as links
from engram.store.sqlite import facts as claims
from engram.store.sqlite import rows, turns, working
from engram.store.sqlite.rows import intern, micros, predicate
from engram.store.sqlite.text_index import _WORDING, _around, _indexed, index_words, unindex_words
from engram.store.validation import (
    bounded,
    check_filter,
    check_memory,
    check_status,
    dated,
)
from engram.text.terms import identity_of
from engram.types import (
    NEUTRAL,
    Counts,
    Edge,
    Memory,
    Page,
    Policy,
    Reader,
    Sensitivity,
    Status,
    StatusChange,
    Turn,
    Version,
    scope_values,
)
from engram.values.frozen import fields, replace
from engram.values.identity import strictest
from engram.values.query import CandidateTraits, Filter

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate
    from engram.store.sqlite.reconciliation import Reconciliation


_FIXED = {"id", "key", "scope", "version", "learned_at", "updated_at", "status"}
"""What `update` may not touch: identity and place never change, the rest has verbs of its own."""


def _changeable(changes: Mapping[str, object]) -> Mapping[str, object]:
    wrong = sorted(set(changes) & _FIXED | (set(changes) - {one.name for one in fields(Memory)}))
    if wrong:
        raise InvalidQuery(f"a memory's {wrong[0]!r} cannot be changed by an update.")
    return changes


def unchanged(memory: Memory, since: datetime | None) -> Memory:
    if since is not None and memory.updated_at != since:
        raise Conflict("this memory was changed since it was read.")
    return memory


def _listing(operation: str, reader: Reader, where: Filter) -> bytes:
    """What a cursor belongs to: the same words for the same listing, however its filter was written."""
    who = (*scope_values(reader.scope), reader.policy.value, reader.role.value)
    lists = [sorted(map(str, names)) for names in (where.kinds, where.categories, where.without, where.statuses)]
    times = [moment and to_micros(moment) for moment in (where.since, where.until, where.as_of)]
    rest = sorted((where.attributes or {}).items()), scope_values(where.scope), where.fresh
    return repr((operation, who, lists, times, rest)).encode("utf-8", "surrogatepass")


_PUT = """
    INSERT INTO memories (id, scope, kind, category, source, status, pinned, version, importance, confidence,
                          strength, accesses, accessed_at, happened_at, happened_until, valid_from, valid_until,
                          learned_at, updated_at, session, speaker, surprise, corroborations, helpful, unhelpful,
                          substance, named, flagged, screened, tier)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

_PUT_WORDS = f"""
    INSERT INTO contents (memory, text, summary, key_fact, tag, around, digest, clear,
                          text_tokens, summary_tokens, key_fact_tokens, tag_tokens)
    VALUES (?1, {sealed.words("?2", "?3", "?1", "text")}, {sealed.words("?2", "?4", "?1", "summary")},
            {sealed.words("?2", "?5", "?1", "key_fact")}, {sealed.words("?2", "?6", "?1", "tag")},
            ?7, {sealed.digest("?2", "?8")}, ?9, ?10, ?11, ?12, ?13)
"""


def insert(connection: apsw.Connection, memory: Memory, around: str = "", place: int | None = None) -> Memory:
    """Add one memory that already has its id and dates; returns it with its key.

    around: what was said beside it; place: the key of its scope, where that is known.
    """
    scope = intern(connection, memory.scope) if place is None else place
    connection.execute(_PUT, (memory.id, scope, *_narrow(memory)))
    key = connection.last_insert_rowid()
    connection.execute(
        _PUT_WORDS,
        (key, memory.tier, *_words(memory), around, identity_of(memory), sealed.clear_of(memory), *memory.tokens),
    )
    _put_attributes(connection, key, memory)
    index_words(connection, key, sealed.indexed_of(memory), around)
    log_change(connection, key, "add")
    return replace(memory, key=key)


def rewrite(connection: apsw.Connection, old: Memory, new: Memory, reason: str = "") -> None:
    """Replace a memory's row by `new` (same id and key); an earlier wording is kept as a version."""
    key = old.key
    if new.text != old.text or new.tier is not old.tier:
        _reword(connection, old, new)
    connection.execute(
        """
        UPDATE memories
           SET kind = ?, category = ?, source = ?, status = ?, pinned = ?, version = ?, importance = ?, confidence = ?,
               strength = ?, accesses = ?, accessed_at = ?, happened_at = ?, happened_until = ?, valid_from = ?,
               valid_until = ?, learned_at = ?, updated_at = ?, session = ?, speaker = ?, surprise = ?, corroborations = ?,
               helpful = ?, unhelpful = ?, substance = ?, named = ?, flagged = ?, screened = ?, tier = ?
         WHERE key = ?
        """,
        (*_narrow(new), key),
    )
    connection.execute(
        f"""
        UPDATE contents
           SET text = {sealed.words("?2", "?3", "?1", "text")}, summary = {sealed.words("?2", "?4", "?1", "summary")},
               key_fact = {sealed.words("?2", "?5", "?1", "key_fact")}, tag = {sealed.words("?2", "?6", "?1", "tag")},
               digest = {sealed.digest("?2", "?7")}, clear = ?8,
               text_tokens = ?9, summary_tokens = ?10, key_fact_tokens = ?11, tag_tokens = ?12
         WHERE memory = ?1
        """,
        (key, new.tier, *_words(new), identity_of(new), sealed.clear_of(new), *new.tokens),
    )
    connection.execute("DELETE FROM attributes WHERE memory = ?", (key,))
    _put_attributes(connection, key, new)
    if new.status is not old.status:
        log_status(connection, new, StatusChange(old.status, new.status, reason, new.updated_at or from_micros(0)))
    log_change(connection, key, "update")


def _reword(connection: apsw.Connection, old: Memory, new: Memory) -> None:
    """The earlier wording becomes a version, and the text index and the vector follow. Before the row itself is changed."""
    key, around = old.key, _around(connection, old.key)
    unindex_words(connection, key, _indexed(connection, key), around)
    index_words(connection, key, sealed.indexed_of(new), around)
    if new.tier is not old.tier:
        sealed.retier(connection, key, old.tier, new.tier)
        # The topic of its box has words of it, and is made anew from what may be told.
        connection.execute("UPDATE boxes SET topic = '' WHERE key = (SELECT box FROM boxed WHERE memory = ?)", (key,))
    if new.text != old.text:
        wording = sealed.kept("versions", "text", "?4", "?3", ("?1", "?2"))
        connection.execute(
            f"INSERT INTO versions (memory, number, text, replaced_at) VALUES (?1, ?2, {wording}, ?5)",
            (key, old.version, strictest(old.tier, new.tier), old.text, micros(new.updated_at)),
        )
        # A vector of the old words would find the new ones under the wrong meaning.
        connection.execute("DELETE FROM embeddings WHERE memory = ?", (key,))
    elif Sensitivity.CONFIDENTIAL in (old.tier, new.tier):
        way = "project" if new.tier is Sensitivity.CONFIDENTIAL else "straighten"
        connection.execute(f"UPDATE embeddings SET vector = {way}(vector) WHERE memory = ?", (key,))
    if (old.tier is Sensitivity.CONFIDENTIAL) is not (new.tier is Sensitivity.CONFIDENTIAL):
        way = "project" if new.tier is Sensitivity.CONFIDENTIAL else "straighten"
        connection.execute(f"UPDATE feedback SET vector = {way}(vector) WHERE memory = ? AND vector <> x''", (key,))


def _words(memory: Memory) -> tuple[str, str, str, str]:
    return memory.text, memory.summary, memory.key_fact, memory.tag


def log_status(connection: apsw.Connection, memory: Memory, change: StatusChange) -> None:
    reason = sealed.kept("status_history", "reason", "?4", "?6", ("?1", "n"))
    connection.execute(
        f"""
        INSERT INTO status_history (memory, number, old, new, reason, at) SELECT ?1, n, ?2, ?3, {reason}, ?5
          FROM (SELECT coalesce(max(number), 0) + 1 AS n FROM status_history WHERE memory = ?1)
        """,
        (memory.key, change.old, change.new, change.reason, to_micros(change.at), memory.tier),
    )


def wipe_out(connection: apsw.Connection, memory: Memory) -> None:
    """Overwrite, then delete (§10.6.1). `secure_delete` zeroes what is freed, and the text index forgets the terms."""
    key = memory.key
    unindex_words(connection, key, _indexed(connection, key), _around(connection, key))
    connection.execute(
        """
        UPDATE contents SET text = '', summary = '', key_fact = '', tag = '', around = '', clear = '', digest = x''
         WHERE memory = ?
        """,
        (key,),
    )
    connection.execute("UPDATE versions SET text = '' WHERE memory = ?", (key,))
    connection.execute("UPDATE status_history SET reason = '' WHERE memory = ?", (key,))
    connection.execute("UPDATE attributes SET value = '' WHERE memory = ?", (key,))
    connection.execute("UPDATE feedback SET vector = zeroblob(length(vector)), digest = '' WHERE memory = ?", (key,))
    for statement in _WIPES:
        connection.execute(statement, (key,))
    from engram.store.sqlite import facts  # what reads facts out of words takes longer to load than all that reads rows

    facts.forget(connection, key)
    connection.execute("DELETE FROM memories WHERE key = ?", (key,))  # side tables follow by their references
    log_change(connection, key, "erase")


_WIPES = (
    "UPDATE episodes SET goal = '', result = '' WHERE memory = ?",
    "UPDATE events SET text = '', type = '', actor = '' WHERE memory = ?",
    "UPDATE participants SET role = '' WHERE memory = ?",
    "UPDATE skills SET name = '' WHERE memory = ?",
    "UPDATE skill_parts SET text = '', extra = '' WHERE memory = ?",
    "UPDATE boxes SET topic = '' WHERE key = (SELECT box FROM boxed WHERE memory = ?)",
)
"""What only one kind has, and the topic of the box that a memory is in; that is made anew from what is left."""


def log_change(connection: apsw.Connection, key: int, what: str) -> None:
    connection.execute("INSERT INTO changes (memory, what) VALUES (?, ?)", (key, what))


def by_ids(connection: apsw.Connection, seen: Visibility, ids: Sequence[str]) -> list[Memory]:
    """The visible ones among `ids`, in the order asked. What could not be an id is not found."""
    ids = [memory_id for memory_id in ids if is_text(memory_id)]
    return _in_order(_fetch(connection, seen, "id", ids), ids, lambda memory: memory.id)


def by_keys(connection: apsw.Connection, seen: Visibility, keys: Sequence[int]) -> list[Memory]:
    keys = [key for key in keys if isinstance(key, int) and 0 < key < 1 << 63]  # type: ignore[redundant-expr]
    return _in_order(_fetch(connection, seen, "key", keys), keys, lambda memory: memory.key)


def by_key(connection: apsw.Connection, key: int) -> Memory:
    """A memory that is there, whoever may see it: for what the vault does by itself."""
    return rows.memories(connection, f"{rows.SELECT} WHERE m.key = ?", (key,))[0]


def traits(connection: apsw.Connection, seen: Visibility, keys: Sequence[int]) -> dict[int, CandidateTraits]:
    """What recall asks of each visible candidate. The index holds all of it, in a third of the pages that the rows take."""
    visible, values = predicate(seen, "scope")
    wanted = ", ".join("?" * len(keys))
    sql = f"""
        SELECT key, speaker, session, substance, named, happened_at, happened_until
          FROM memories INDEXED BY memories_heard WHERE key IN ({wanted}) AND {visible}
    """
    found: list[Any] = connection.execute(sql, (*keys, *values)).fetchall()
    return {row[0]: CandidateTraits(*row[1:]) for row in found}


def lasting(connection: apsw.Connection, seen: Visibility, keys: Sequence[int]) -> set[int]:
    """Those of these visible memories that say since when something goes on."""
    visible, values = predicate(seen, "scope")
    wanted = ", ".join("?" * len(keys))
    sql = f"SELECT key FROM memories WHERE key IN ({wanted}) AND valid_from IS NOT NULL AND {visible}"
    found: list[Any] = connection.execute(sql, (*keys, *values)).fetchall()
    return {row[0] for row in found}


def required(connection: apsw.Connection, seen: Visibility, memory_id: str) -> Memory:
    """The memory of this id, or NotFound: whether it exists for others is not told."""
    found = by_ids(connection, seen, (memory_id,))
    if not found:
        raise NotFound("there is no memory of that id that this identity may use.")
    return found[0]


def page(connection: apsw.Connection, seen: Visibility, where: Filter, *, before: int | None, limit: int) -> list[Memory]:
    """Newest first, below the key `before`."""
    visible, values = predicate(seen, "m.scope", "s")
    extra, more = rows.conditions(where)
    below, key = ("", ()) if before is None else (" AND m.key < ?", (before,))
    sql = f"{rows.SELECT} WHERE {visible}{extra}{below} ORDER BY m.key DESC LIMIT ?"
    return rows.memories(connection, sql, (*values, *more, *key, limit))


def export_rows(connection: apsw.Connection, seen: Visibility, *, after: int, limit: int) -> list[Memory]:
    """Of every status, in the order they were kept, above the key `after`."""
    visible, values = predicate(seen, "m.scope", "s")
    return rows.memories(
        connection, f"{rows.SELECT} WHERE {visible} AND m.key > ? ORDER BY m.key LIMIT ?", (*values, after, limit)
    )


def keys_having(connection: apsw.Connection, seen: Visibility, where: Filter) -> list[int]:
    visible, values = predicate(seen, "m.scope")
    extra, more = rows.conditions(where)
    found: list[Any] = connection.execute(f"SELECT m.key FROM memories AS m WHERE {visible}{extra}", (*values, *more)).fetchall()
    return [row[0] for row in found]


def by_digest(connection: apsw.Connection, seen: Visibility, digests: Sequence[bytes]) -> dict[bytes, str]:
    """Active memories that say the same, by digest: the id of the oldest of each.

    The cross join holds SQLite to the index of digests; left to itself it walks through all memories of the scope.
    """
    visible, values = predicate(seen, "m.scope")
    found: dict[bytes, str] = {}
    forms = sealed.digests(connection, digests)
    stored = list(forms)
    for start in range(0, len(stored), _AT_ONCE):
        some = stored[start : start + _AT_ONCE]
        sql = f"""
            SELECT c.digest, m.id FROM contents AS c CROSS JOIN memories AS m ON m.key = c.memory
             WHERE c.digest IN ({", ".join("?" * len(some))}) AND m.status = 'active' AND {visible} ORDER BY m.key DESC
        """
        rows_: list[Any] = connection.execute(sql, (*some, *values)).fetchall()
        found.update({forms[bytes(digest)]: memory_id for digest, memory_id in rows_})
    return found


def is_put_away(connection: apsw.Connection, seen: Visibility, digest: bytes) -> bool:
    """Has something that says this been archived, by somebody or because it faded?"""
    visible, values = predicate(seen, "m.scope")
    forms = list(sealed.digests(connection, [digest]))
    sql = f"""
        SELECT EXISTS (SELECT 1 FROM contents AS c CROSS JOIN memories AS m ON m.key = c.memory
         WHERE c.digest IN ({", ".join("?" * len(forms))}) AND m.status = 'archived' AND {visible})
    """
    return bool(connection.execute(sql, (*forms, *values)).get)


def versions(connection: apsw.Connection, seen: Visibility, memory_id: str) -> list[Version]:
    key = required(connection, seen, memory_id).key
    words = sealed.told("versions", "text", "v")
    sql = f"SELECT v.number, {words}, v.replaced_at FROM versions AS v JOIN memories AS m ON m.key = v.memory"
    found = connection.execute(f"{sql} WHERE v.memory = ? ORDER BY v.number", (key,))
    return [Version(number, text, from_micros(at)) for number, text, at in found]


def status_history(connection: apsw.Connection, seen: Visibility, memory_id: str) -> list[StatusChange]:
    key = required(connection, seen, memory_id).key
    reason = sealed.told("status_history", "reason", "h")
    found = connection.execute(
        f"SELECT h.old, h.new, {reason}, h.at FROM status_history AS h WHERE h.memory = ? ORDER BY h.number", (key,)
    )
    return [StatusChange(Status(old), Status(new), reason, from_micros(at)) for old, new, reason, at in found]


def counts(connection: apsw.Connection, seen: Visibility) -> Counts:
    visible, values = predicate(seen, "m.scope")
    by_kind: dict[str, int] = {}
    by_status: dict[str, int] = {}
    tally = f"SELECT kind, status, count(*) FROM memories AS m WHERE {visible} GROUP BY kind, status"
    for kind, status, number in connection.execute(tally, values):
        by_kind[kind] = by_kind.get(kind, 0) + number
        by_status[status] = by_status.get(status, 0) + number
    other, _ = predicate(seen, "b.scope")
    edges = connection.execute(
        f"""
        SELECT count(*) FROM edges AS e JOIN memories AS m ON m.key = e.source JOIN memories AS b ON b.key = e.target
         WHERE {visible} AND {other}
        """,
        values + values,
    ).get
    embedded = connection.execute(
        f"SELECT count(DISTINCT e.memory) FROM embeddings AS e JOIN memories AS m ON m.key = e.memory WHERE {visible}",
        values,
    ).get
    return Counts(
        memories=sum(by_kind.values()), by_kind=by_kind, by_status=by_status, edges=int(edges), embeddings=int(embedded)
    )


def _narrow(memory: Memory) -> tuple[rows.Value, ...]:
    from engram.text.english.informativeness import told  # late: who reads needs none of it

    return (
        memory.kind,
        memory.category,
        memory.source,
        memory.status,
        int(memory.pinned),
        memory.version,
        memory.importance,
        memory.confidence,
        memory.strength,
        memory.accesses,
        micros(memory.accessed_at),
        micros(memory.happened_at),
        micros(memory.happened_until),
        micros(memory.valid_from),
        micros(memory.valid_until),
        micros(memory.learned_at),
        micros(memory.updated_at),
        memory.session,
        memory.speaker,
        memory.surprise,
        memory.corroborations,
        memory.helpful,
        memory.unhelpful,
        *told(memory.text, memory.speaker, memory.category),
        int(memory.flagged),
        memory.screened,
        memory.tier,
    )


_ATTRIBUTE = sealed.kept("attributes", "value", "?3", "?4", ("?2",))


def _put_attributes(connection: apsw.Connection, key: int, memory: Memory) -> None:
    held = dict(memory.attributes)
    if memory.affect != NEUTRAL:
        held[rows.AFFECT] = rows.told_affect(memory.affect)
    if held:
        connection.executemany(
            f"INSERT INTO attributes (memory, name, value) VALUES (?1, ?2, {_ATTRIBUTE})",
            ((key, name, value, memory.tier) for name, value in held.items()),
        )


def _fetch(connection: apsw.Connection, seen: Visibility, column: str, wanted: Sequence[str] | Sequence[int]) -> list[Memory]:
    visible, values = predicate(seen, "m.scope", "s")
    found: list[Memory] = []
    for start in range(0, len(wanted), _AT_ONCE):
        some = wanted[start : start + _AT_ONCE]
        sql = f"{rows.SELECT} WHERE m.{column} IN ({', '.join('?' * len(some))}) AND {visible}"
        found += rows.memories(connection, sql, (*some, *values))
    return found


def is_text(value: object) -> bool:
    """Could this be a text in the database? Callers are other people's programs."""
    if not isinstance(value, str):
        return False
    return value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value)


_AT_ONCE = 500
"""Ids in one statement: well under SQLite's limit on parameters, and few distinct statement texts to keep prepared."""


def _in_order(found: list[Memory], wanted: Sequence[object], name_of: object) -> list[Memory]:
    at = {name_of(memory): memory for memory in found}  # type: ignore[operator]
    return [at[name] for name in dict.fromkeys(wanted) if name in at]


def as_then(connection: apsw.Connection, found: Sequence[Memory], moment: datetime) -> list[Memory]:
    """Memories with the words and the status they had at a moment. Shorter forms of other words are left empty."""
    keys = [memory.key for memory in found]
    marks, then = ", ".join("?" * len(keys)), to_micros(moment)
    # Of several rows of one memory the last one counts: the earliest wording replaced since, the latest status by then.
    words: list[Any] = connection.execute(
        f"""
        SELECT v.memory, {_WORDING} FROM versions AS v JOIN memories AS m ON m.key = v.memory
         WHERE v.memory IN ({marks}) AND v.replaced_at > ? ORDER BY v.number DESC
        """,
        (*keys, then),
    ).fetchall()
    first: list[Any] = connection.execute(
        f"SELECT memory, old FROM status_history WHERE memory IN ({marks}) ORDER BY number DESC", keys
    ).fetchall()
    last: list[Any] = connection.execute(
        f"SELECT memory, new FROM status_history WHERE memory IN ({marks}) AND at <= ? ORDER BY number", (*keys, then)
    ).fetchall()
    texts, statuses = dict(words), {**dict(first), **dict(last)}
    return [_then(memory, texts.get(memory.key), statuses.get(memory.key)) for memory in found]


def _then(memory: Memory, text: str | None, status: str | None) -> Memory:
    stood = memory if status is None else replace(memory, status=Status(status))
    return stood if text is None else replace(stood, text=text, summary="", key_fact="", tag="", tokens=(0, 0, 0, 0))


class Memories:
    """Memories: read, list, add, change; their versions and statuses."""

    def __init__(self, gate: Gate, reconciliation: Reconciliation) -> None:
        self._gate = gate
        self._reconciliation = reconciliation

    def fetch(self, reader: Reader, keys: Sequence[int], *, as_of: datetime | None = None) -> list[Memory]:
        """The visible ones among `keys`, in that order; with `as_of` as they stood at that moment."""
        with self._gate.read(reader, "fetch") as connection:
            found = by_keys(connection, readable(reader), keys)
            if as_of is not None:
                found = as_then(connection, found, as_of)
        self._gate.note(reader, "fetch", count=len(found))
        return found

    def page(self, reader: Reader, *, limit: int, cursor: str | None = None, where: Filter = Filter()) -> Page:
        """Newest first. A page goes on below the key of the last row: what comes or goes meanwhile moves nothing else."""
        bounded(limit, self._gate.limits.page_limit, "a page")
        check_filter(where.kinds, where.statuses, where.since, where.until)
        about, secret = _listing("list", reader, where), self._gate.opened.cursor_key
        before = None if cursor is None else ciphers.open_cursor(cursor, about, secret)
        with self._gate.read(reader, "list") as connection:
            found = page(connection, readable(reader), where, before=before, limit=limit + 1)
        self._gate.note(reader, "list", count=min(len(found), limit))
        more = len(found) > limit
        return Page(tuple(found[:limit]), ciphers.seal_cursor(found[limit - 1].key, about, secret) if more else None)

    def get(self, reader: Reader, ids: Sequence[str]) -> list[Memory]:
        """The visible ones among `ids`, in that order."""
        with self._gate.read(reader, "get") as connection:
            found = by_ids(connection, readable(reader), ids)
        for memory in found:
            self._gate.note(reader, "get", subject=memory.id, count=1)
        if not found:
            self._gate.note(reader, "get")
        return found

    def traits(self, reader: Reader, keys: Sequence[int]) -> dict[int, CandidateTraits]:
        """Who said each of these memories, in which session, when, and how much it tells."""
        with self._gate.read(reader, "heard") as connection:
            return traits(connection, readable(reader), keys)

    def lasting(self, reader: Reader, keys: Sequence[int]) -> set[int]:
        """Those of these memories that say since when something goes on."""
        with self._gate.read(reader, "heard") as connection:
            return lasting(connection, readable(reader), keys)

    def record_access(self, reader: Reader, keys: Sequence[int]) -> None:
        """Count that these were given as an answer. Who may not write moves no counts."""
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
        """Ids of active memories, written from exactly where this reader stands, that say the same."""
        with self._gate.read(reader, "digests") as connection:
            return by_digest(connection, readable(replace(reader, policy=Policy.OWN)), wanted)

    def keys_having(self, reader: Reader, where: Filter) -> list[int]:
        """Keys of the visible memories that a filter lets pass: for an index that does not hold what it asks."""
        with self._gate.read(reader, "keys") as connection:
            return keys_having(connection, readable(reader), where)

    def counts(self, reader: Reader) -> Counts:
        with self._gate.read(reader, "counts") as connection:
            return counts(connection, readable(reader))

    def export(self, reader: Reader, *, after: int, limit: int) -> tuple[list[Memory], list[tuple[int, int, Turn]], list[Edge]]:
        """All that is known above a key, in the order it came: memories, (memory, number, turn) they came from, links."""
        bounded(limit, self._gate.limits.page_limit, "a page")
        with self._gate.read(reader, "export") as connection:
            seen = readable(reader)
            found = export_rows(connection, seen, after=after, limit=limit)
            said = turns.of_memories(connection, seen, [memory.key for memory in found]) if found else []
            linked = links.at(connection, seen, [memory.id for memory in found]) if found else []
        self._gate.note(reader, "export", count=len(found))
        return found, said, linked

    def add(self, reader: Reader, drafts: Sequence[Memory], *, timeout: float | None = None) -> list[Memory]:
        """Keep new memories, all or none; returns them with ids, keys and dates."""
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
            return self._gate.write(
                reader,
                "add",
                lambda connection: self._reconciliation.understand(
                    connection, reader, [insert(connection, memory) for memory in ready], now
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
        once: Once | None = None,
    ) -> Memory:
        """Change a memory; an earlier wording stays as a version. `since`: its `updated_at`, if it must still be that."""
        with self._gate.watched(reader, "update", memory_id):

            def work(connection: apsw.Connection) -> Memory:
                old = unchanged(required(connection, writable(reader), memory_id), since)
                wanted = _changeable(changes(old) if callable(changes) else changes)
                version = old.version + ("text" in wanted and wanted["text"] != old.text)
                new = replace(old, **wanted, version=version, updated_at=self._gate.env.now())  # type: ignore[arg-type]
                check_memory(new, self._gate.live.now)
                new = dated(new)
                rewrite(connection, old, new)
                if new.text != old.text:
                    claims.forget(connection, new.key)
                if new.tier is not old.tier:
                    self._reconciliation.retiered(connection, new)
                if new.text != old.text or new.flagged > old.flagged:
                    working.forget_handed(connection, [old.text])
                if new.text != old.text:
                    new = self._reconciliation.understand(connection, reader, [new], self._gate.env.now())[0]
                    self._reconciliation.unfound(connection, new.key, self._gate.env.now())
                return new

            return self._gate.write(reader, "update", work, subject=memory_id, timeout=timeout, once=once)

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
        with self._gate.watched(reader, "status"):
            check_status(status, reason, self._gate.live.now)
            now = self._gate.env.now()

            def work(connection: apsw.Connection) -> list[Memory]:
                for memory_id in dict.fromkeys(ids):
                    unchanged(required(connection, writable(reader), memory_id), since)
                moved = [
                    self._reconciliation.move(connection, reader, memory_id, status, reason, now)
                    for memory_id in dict.fromkeys(ids)
                ]
                if status != Status.ACTIVE:
                    working.forget_handed(connection, [memory.text for memory in moved])
                return moved

            entries = [self._gate.audit.entry(reader, f"status:{status}", subject=memory_id, count=1) for memory_id in ids]
            return self._gate.write(reader, "status", work, entries=entries, timeout=timeout, once=once)
