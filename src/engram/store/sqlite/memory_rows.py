"""SQL on the rows of memories: their words, versions, statuses and digests. Called inside a transaction of the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import apsw

from engram.env import from_micros, to_micros
from engram.errors import Conflict, InvalidQuery, NotFound
from engram.guard.visibility import Visibility
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import rows
from engram.store.sqlite.filter_names import CODE, LANGUAGE
from engram.store.sqlite.rows import intern, micros
from engram.store.sqlite.text_index import EARLIER_WORDING, index_words, indexed_text, surroundings_of, unindex_words
from engram.store.sqlite.visibility import predicate
from engram.text.terms import identity_of
from engram.values.frozen import replace
from engram.values.health import Counts
from engram.values.identity import Sensitivity, strictest
from engram.values.memories import NEUTRAL, SHORT_IDS, ULID, Memory, Status, StatusChange, Version
from engram.values.query import CandidateTraits, Filter

_PUT = """
    INSERT INTO memories (id, scope, kind, category, source, status, pinned, version, importance, confidence,
                          strength, accesses, accessed_at, happened_at, happened_until, valid_from, valid_until,
                          learned_at, updated_at, session, speaker, surprise, corroborations, helpful, unhelpful,
                          substance, named, flagged, screened, tier)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

_PUT_WORDS = f"""
    INSERT INTO contents (memory, text, summary, key_fact, tag, around, digest, clear,
                          text_tokens, summary_tokens, key_fact_tokens, tag_tokens, words_from, words_to, passage)
    VALUES (?1, {sealed.write_words("?2", "?3", "?1", "text")}, {sealed.write_words("?2", "?4", "?1", "summary")},
            {sealed.write_words("?2", "?5", "?1", "key_fact")}, {sealed.write_words("?2", "?6", "?1", "tag")},
            ?7, {sealed.digest("?2", "?8")}, ?9, ?10, ?11, ?12, ?13, ?14, ?15, {sealed.write_words("?2", "?16", "?1", "passage")})
"""

_ATTRIBUTE = sealed.write_side("attributes", "value", "?3", "?4", ("?2",))

"""The words that a statement carries, as they stand at the end of its text."""

_AT_ONCE = 500
"""Ids per statement: well under SQLite's limit on parameters, and few distinct statements to keep prepared."""


def unchanged(memory: Memory, since: datetime | None) -> Memory:
    """Return the memory; raise Conflict if `since` is given and is not its `updated_at`."""
    if since is not None and memory.updated_at != since:
        raise Conflict("this memory was changed since it was read.")
    return memory


def insert(connection: apsw.Connection, memory: Memory, around: str = "", place: int | None = None, passage: str = "") -> Memory:
    """Insert a memory that has its id and dates; return it with its key.

    around: words said beside it, for the text index; place: the key of its scope, if known; passage: what its vector is made
    of, if that is not its text.
    """
    scope = intern(connection, memory.scope) if place is None else place
    connection.execute(_PUT, (memory.id, scope, *_narrow(connection, memory)))
    key = connection.last_insert_rowid()
    connection.execute(
        _PUT_WORDS,
        (
            *(key, memory.tier, *_words(memory), around, identity_of(memory), sealed.masked_words(connection, memory)),
            *(*memory.tokens, *memory.words_at, passage),
        ),
    )
    _put_attributes(connection, key, memory)
    index_words(connection, key, sealed.indexed_words(connection, memory), around)
    log_change(connection, key, "add")
    return replace(memory, key=key)


def rewrite(connection: apsw.Connection, old: Memory, new: Memory, reason: str = "", at: datetime | None = None) -> None:
    """Replace the row of a memory by `new` (same id and key); the earlier wording becomes a version.

    at: since when it has a new status, if not since it is stored.
    """
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
        (*_narrow(connection, new), key),
    )
    connection.execute(
        f"""
        UPDATE contents
           SET text = {sealed.write_words("?2", "?3", "?1", "text")}, summary = {sealed.write_words("?2", "?4", "?1", "summary")},
               key_fact = {sealed.write_words("?2", "?5", "?1", "key_fact")}, tag = {sealed.write_words("?2", "?6", "?1", "tag")},
               digest = {sealed.digest("?2", "?7")}, clear = ?8,
               text_tokens = ?9, summary_tokens = ?10, key_fact_tokens = ?11, tag_tokens = ?12, words_from = ?13, words_to = ?14
         WHERE memory = ?1
        """,
        (key, new.tier, *_words(new), identity_of(new), sealed.masked_words(connection, new), *new.tokens, *new.words_at),
    )
    connection.execute("DELETE FROM attributes WHERE memory = ?", (key,))
    _put_attributes(connection, key, new)
    if new.status is not old.status:
        log_status(connection, new, StatusChange(old.status, new.status, reason, at or new.updated_at or from_micros(0)))
    log_change(connection, key, "update")


def _reword(connection: apsw.Connection, old: Memory, new: Memory) -> None:
    """Store the earlier wording as a version, and update text index and vector. Called before the row itself is changed."""
    key, around = old.key, surroundings_of(connection, old.key)
    unindex_words(connection, key, indexed_text(connection, key), around)
    index_words(connection, key, sealed.indexed_words(connection, new), around)
    if new.tier is not old.tier:
        sealed.retier(connection, key, old.tier, new.tier)
        passage = sealed.write_words("?3", sealed.read_words("passage", tier="?2", row="?1"), "?1", "passage")
        connection.execute(f"UPDATE contents AS c SET passage = {passage} WHERE c.memory = ?1", (key, old.tier, new.tier))
        _clear_topic(connection, key)  # it is made again from the words that the new tier allows
    if new.text != old.text:
        wording = sealed.write_side("versions", "text", "?4", "?3", ("?1", "?2"))
        # Without the words that it carried: an erasure of those could not find them in a version.
        own_words = old.text[: old.words_at[1]] if old.carries else old.text
        connection.execute(
            f"INSERT INTO versions (memory, number, text, replaced_at) VALUES (?1, ?2, {wording}, ?5)",
            (key, old.version, strictest(old.tier, new.tier), own_words, micros(new.updated_at)),
        )
        connection.execute("UPDATE contents SET passage = '' WHERE memory = ?", (key,))
        # A vector of the old words would find the new ones under the wrong meaning.
        connection.execute("DELETE FROM embeddings WHERE memory = ?", (key,))
    elif Sensitivity.CONFIDENTIAL in (old.tier, new.tier):
        way = "project" if new.tier is Sensitivity.CONFIDENTIAL else "straighten"
        connection.execute(f"UPDATE embeddings SET vector = {way}(vector) WHERE memory = ?", (key,))
    if (old.tier is Sensitivity.CONFIDENTIAL) is not (new.tier is Sensitivity.CONFIDENTIAL):
        way = "project" if new.tier is Sensitivity.CONFIDENTIAL else "straighten"
        connection.execute(f"UPDATE feedback SET vector = {way}(vector) WHERE memory = ? AND vector <> x''", (key,))


def drop_borrowed_words(connection: apsw.Connection, key: int) -> None:
    """Leave a memory only its own words: remove what it carries from elsewhere, from its text, passage, indexes and vector.

    Called where a turn is erased or sealed whose words the memory may carry. No version is kept: it would hold the same words.
    """
    memory = by_key(connection, key)
    has_passage = bool(connection.execute("SELECT passage <> '' FROM contents WHERE memory = ?", (key,)).get)
    if not memory.carries and not has_passage:
        return
    if memory.carries:
        text = memory.text[: memory.words_at[1]]
        new = replace(memory, text=text, summary=text, key_fact=text, tag=" ".join(text.split()[:5]), tokens=(0, 0, 0, 0))
        around = surroundings_of(connection, key)
        unindex_words(connection, key, indexed_text(connection, key), around)
        connection.execute(
            f"""
            UPDATE contents
               SET text = {sealed.write_words("?2", "?3", "?1", "text")},
                   summary = {sealed.write_words("?2", "?4", "?1", "summary")},
                   key_fact = {sealed.write_words("?2", "?5", "?1", "key_fact")},
                   tag = {sealed.write_words("?2", "?6", "?1", "tag")},
                   digest = {sealed.digest("?2", "?7")}, clear = ?8,
                   text_tokens = 0, summary_tokens = 0, key_fact_tokens = 0, tag_tokens = 0
             WHERE memory = ?1
            """,
            (key, new.tier, *_words(new), identity_of(new), sealed.masked_words(connection, new)),
        )
        index_words(connection, key, sealed.indexed_words(connection, new), around)
        _clear_topic(connection, key)
    connection.execute("UPDATE contents SET passage = '' WHERE memory = ?", (key,))
    connection.execute("DELETE FROM embeddings WHERE memory = ?", (key,))
    log_change(connection, key, "update")


def _clear_topic(connection: apsw.Connection, key: int) -> None:
    """Empty the topic of a memory's box, which may hold its words, so that it is made again."""
    connection.execute("UPDATE boxes SET topic = '' WHERE key = (SELECT box FROM boxed WHERE memory = ?)", (key,))


def _words(memory: Memory) -> tuple[str, str, str, str]:
    return memory.text, memory.summary, memory.key_fact, memory.tag


def log_status(connection: apsw.Connection, memory: Memory, change: StatusChange) -> None:
    reason = sealed.write_side("status_history", "reason", "?4", "?6", ("?1", "n"))
    connection.execute(
        f"""
        INSERT INTO status_history (memory, number, old, new, reason, at) SELECT ?1, n, ?2, ?3, {reason}, ?5
          FROM (SELECT coalesce(max(number), 0) + 1 AS n FROM status_history WHERE memory = ?1)
        """,
        (memory.key, change.old, change.new, change.reason, to_micros(change.at), memory.tier),
    )


def log_change(connection: apsw.Connection, key: int, what: str) -> None:
    connection.execute("INSERT INTO changes (memory, what) VALUES (?, ?)", (key, what))


def by_ids(connection: apsw.Connection, seen: Visibility, ids: Sequence[str]) -> list[Memory]:
    """Return the visible memories among `ids`, in that order. A value that cannot be an id is ignored."""
    ids = [memory_id for memory_id in ids if is_text(memory_id)]
    return _in_order(_fetch(connection, seen, "id", ids), ids, lambda memory: memory.id)


def whole_ids(connection: apsw.Connection, seen: Visibility, ids: Sequence[str]) -> list[str]:
    """Return the ids, each short one replaced by the id of the visible memory that it is the short one of.

    Raise InvalidQuery if it is that of several. Short ids have no index, as they are looked up by hand: the ids of the memories
    that have short ones of this length are read once.
    """
    short = [given for given in dict.fromkeys(ids) if is_text(given) and len(given.strip("[]")) in SHORT_IDS]
    if not short:
        return list(ids)
    exact = {memory.id for memory in by_ids(connection, seen, short)}
    ends = {given: given.strip("[]").upper() for given in short if given not in exact}
    whole = {given: _whole_id(connection, seen, end) for given, end in list(ends.items())[:_AT_ONCE]}
    return [whole.get(given) or given for given in ids]


def _whole_id(connection: apsw.Connection, seen: Visibility, end: str) -> str:
    """Return the only id of a visible memory whose short id is this; "" if there is none."""
    visible, values = predicate(seen, "m.scope")
    below = SHORT_IDS[len(end)]
    least = max((key for key in SHORT_IDS.values() if key < below), default=0)
    sql = f"""
        SELECT m.id FROM memories AS m WHERE {visible} AND m.key IN (
            SELECT key FROM memories WHERE key >= ? AND key < ? AND substr(id, ?) = ? AND length(id) = {ULID}
        ) ORDER BY m.key
    """
    # The last bound is 2 ** 63, which is no integer of SQLite: no key is as high.
    found: list[Any] = connection.execute(sql, (*values, least, min(below, (1 << 63) - 1), -len(end), end)).fetchall()
    if len(found) > 1:
        same = ", ".join(row[0] for row in found)
        raise InvalidQuery("this short id is that of several memories.", way_out=f"Use one of the ids {same}.")
    return str(found[0][0]) if found else ""


def by_keys(connection: apsw.Connection, seen: Visibility, keys: Sequence[int]) -> list[Memory]:
    keys = [key for key in keys if isinstance(key, int) and 0 < key < 1 << 63]  # type: ignore[redundant-expr]
    return _in_order(_fetch(connection, seen, "key", keys), keys, lambda memory: memory.key)


def by_key(connection: apsw.Connection, key: int) -> Memory:
    """Return an existing memory without regard to visibility, for maintenance."""
    return rows.memories(connection, f"{rows.SELECT} WHERE m.key = ?", (key,))[0]


def traits(connection: apsw.Connection, seen: Visibility, keys: Sequence[int]) -> dict[int, CandidateTraits]:
    """Return the traits of visible candidates. The index covers them, in a third of the pages that the rows take."""
    visible, values = predicate(seen, "scope")
    wanted = ", ".join("?" * len(keys))
    sql = f"""
        SELECT key, speaker, session, substance, named, happened_at, happened_until
          FROM memories INDEXED BY memories_heard WHERE key IN ({wanted}) AND {visible}
    """
    found: list[Any] = connection.execute(sql, (*keys, *values)).fetchall()
    return {row[0]: CandidateTraits(*row[1:]) for row in found}


def lasting(connection: apsw.Connection, seen: Visibility, keys: Sequence[int]) -> set[int]:
    """Return the keys of those of these visible memories that have a `valid_from`."""
    visible, values = predicate(seen, "scope")
    wanted = ", ".join("?" * len(keys))
    sql = f"SELECT key FROM memories WHERE key IN ({wanted}) AND valid_from IS NOT NULL AND {visible}"
    found: list[Any] = connection.execute(sql, (*keys, *values)).fetchall()
    return {row[0] for row in found}


def required(connection: apsw.Connection, seen: Visibility, memory_id: str) -> Memory:
    """Return the memory of this id; raise NotFound alike for a missing and an invisible one."""
    memories = by_ids(connection, seen, (memory_id,))
    if not memories:
        raise NotFound("there is no memory of that id that this identity may use.")
    return memories[0]


def page(connection: apsw.Connection, seen: Visibility, where: Filter, *, before: int | None, limit: int) -> list[Memory]:
    """Return visible memories below the key `before`, newest first."""
    visible, values = predicate(seen, "m.scope", "s")
    extra, more = rows.conditions(where)
    below, key = ("", ()) if before is None else (" AND m.key < ?", (before,))
    sql = f"{rows.SELECT} WHERE {visible}{extra}{below} ORDER BY m.key DESC LIMIT ?"
    return rows.memories(connection, sql, (*values, *more, *key, limit))


def export_rows(connection: apsw.Connection, seen: Visibility, *, after: int, limit: int) -> list[Memory]:
    """Return visible memories of every status above the key `after`, in key order."""
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
    """Map digests to the id of the oldest visible active memory of each.

    The cross join makes SQLite start at the index of digests; else it scans all memories of the scope.
    """
    visible, values = predicate(seen, "m.scope")
    found: dict[bytes, str] = {}
    forms = sealed.digests(connection, digests)
    stored = list(forms)
    for start in range(0, len(stored), _AT_ONCE):
        some = stored[start : start + _AT_ONCE]
        sql = f"""
            SELECT c.digest, m.id FROM contents AS c CROSS JOIN memories AS m ON m.key = c.memory
             WHERE c.digest IN ({", ".join("?" * len(some))}) AND m.status IN ('active', 'challenged')
               AND {visible} ORDER BY m.key DESC
        """
        rows_: list[Any] = connection.execute(sql, (*some, *values)).fetchall()
        found.update({forms[bytes(digest)]: memory_id for digest, memory_id in rows_})
    return found


def was_reinstated(connection: apsw.Connection, memory: int) -> bool:
    """Return True if somebody restored or confirmed a memory."""
    sql = "SELECT EXISTS (SELECT 1 FROM status_history WHERE memory = ? AND new = 'active' AND old <> new)"
    return bool(connection.execute(sql, (memory,)).get)


def is_archived(connection: apsw.Connection, seen: Visibility, digest: bytes) -> bool:
    """Return True if a visible memory of this digest is archived."""
    visible, values = predicate(seen, "m.scope")
    forms = list(sealed.digests(connection, [digest]))
    sql = f"""
        SELECT EXISTS (SELECT 1 FROM contents AS c CROSS JOIN memories AS m ON m.key = c.memory
         WHERE c.digest IN ({", ".join("?" * len(forms))}) AND m.status = 'archived' AND {visible})
    """
    return bool(connection.execute(sql, (*forms, *values)).get)


def versions(connection: apsw.Connection, seen: Visibility, memory_id: str) -> list[Version]:
    key = required(connection, seen, memory_id).key
    words = sealed.read_side("versions", "text", "v")
    sql = f"SELECT v.number, {words}, v.replaced_at FROM versions AS v JOIN memories AS m ON m.key = v.memory"
    found = connection.execute(f"{sql} WHERE v.memory = ? ORDER BY v.number", (key,))
    return [Version(number, text, from_micros(at)) for number, text, at in found]


def wordings(connection: apsw.Connection, key: int) -> list[str]:
    """Return the earlier wordings of a memory without regard to visibility, for maintenance."""
    sql = f"SELECT {EARLIER_WORDING} FROM versions AS v JOIN memories AS m ON m.key = v.memory WHERE v.memory = ?"
    return [str(row[0]) for row in connection.execute(f"{sql} ORDER BY v.number", (key,)).fetchall()]


def status_history(connection: apsw.Connection, seen: Visibility, memory_id: str) -> list[StatusChange]:
    key = required(connection, seen, memory_id).key
    reason = sealed.read_side("status_history", "reason", "h")
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


def _narrow(connection: apsw.Connection, memory: Memory) -> tuple[rows.Value, ...]:
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
        *sealed.informativeness(connection, memory),
        int(memory.flagged),
        memory.screened,
        memory.tier,
    )


def _put_attributes(connection: apsw.Connection, key: int, memory: Memory) -> None:
    held = dict(memory.attributes)
    if memory.affect != NEUTRAL:
        held[rows.AFFECT] = rows.affect_attribute(memory.affect)
    _write_attributes(connection, key, memory, held)
    put_languages(connection, key, memory)


def put_languages(connection: apsw.Connection, key: int, memory: Memory) -> None:
    """Store the language of a memory and the programming language that it is about, by which filters find it."""
    found = zip((LANGUAGE, CODE), sealed.languages(connection, memory.text), strict=True)
    _write_attributes(connection, key, memory, {name: language for name, language in found if language})


def _write_attributes(connection: apsw.Connection, key: int, memory: Memory, held: Mapping[str, str]) -> None:
    if held:
        connection.executemany(
            f"INSERT OR REPLACE INTO attributes (memory, name, value) VALUES (?1, ?2, {_ATTRIBUTE})",
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
    """Return True if SQLite can store this value as text: a str without lone surrogates."""
    if not isinstance(value, str):
        return False
    return value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value)


def _in_order(found: list[Memory], wanted: Sequence[object], name_of: object) -> list[Memory]:
    at = {name_of(memory): memory for memory in found}  # type: ignore[operator]
    return [at[name] for name in dict.fromkeys(wanted) if name in at]


def states_at(connection: apsw.Connection, found: Sequence[Memory], moment: datetime) -> list[Memory]:
    """Return memories with the words and the status they had at a time. Shorter tiers of later words are left empty."""
    keys = [memory.key for memory in found]
    marks, then = ", ".join("?" * len(keys)), to_micros(moment)
    # Of several rows of one memory the last one wins: the earliest wording replaced since, the latest status until then.
    words: list[Any] = connection.execute(
        f"""
        SELECT v.memory, {EARLIER_WORDING} FROM versions AS v JOIN memories AS m ON m.key = v.memory
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
    return [_at_time(memory, texts.get(memory.key), statuses.get(memory.key)) for memory in found]


def _at_time(memory: Memory, text: str | None, status: str | None) -> Memory:
    stood = memory if status is None else replace(memory, status=Status(status))
    return stood if text is None else replace(stood, text=text, summary="", key_fact="", tag="", tokens=(0, 0, 0, 0))
