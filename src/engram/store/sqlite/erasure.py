"""Permanent removal of memories or whole scopes, with proof: erased words, digests and vectors are searched in columns and pages.

The traces to search for are recorded before the rows are deleted. Only words that no other memory holds prove anything:
"meeting" stands in a thousand memories. Pages are searched while the database fits in memory (`_IMAGE_BYTES`); a larger vault is
searched only by columns, after every page was rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import apsw

from engram.errors import InvalidQuery
from engram.guard.visibility import Visibility, require_owner, writable
from engram.log import Log
from engram.store.folder import clear_snapshots
from engram.store.receipts import ReceiptRequest
from engram.store.sqlite import (
    audit,
    entities,
    entity_decisions,
    episodes,
    facts,
    gaps,
    memory_rows,
    receipts,
    text_index,
    turns,
    working,
)
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import vectors as vectors
from engram.types import (
    SCOPE_DIMENSIONS,
    AuditEntry,
    Memory,
    Reader,
    Report,
    Role,
    Sensitivity,
)
from engram.values.frozen import field, frozen, mutable

if TYPE_CHECKING:
    from engram.store.rule_ports import StoreRules
    from engram.store.sqlite.gate import Gate


_WORD = re.compile(r"(?<![^\W_])[^\W_]{5,40}(?![^\W_])")

_WORDS = 12
"""Words that are searched for, the longest ones. Any hit disproves the erasure, and each word costs a pass over the pages."""

_CANDIDATES = 4000

_MARK = 24
"""Bytes of a vector or a sealed text that are searched for: too many to occur by chance, and seldom split by a page."""

_SCALE = 4

_IMAGE_BYTES = 128 * 2**20

_SCANNED_AT_ONCE = 2000

_WORDLESS = frozenset(
    {
        *("scopes", "changes", "padding", "meta", "schema_version", "spaces", "spendings", "probes"),
        *("passes", "jobs", "dues"),
    }
)
"""Tables that hold no words of a memory: names of scopes, numbers and digests."""

_EMPTIED = {"boxes": "topic <> ''", "receipts": "body IS NOT NULL"}
"""Tables whose rows are emptied instead of deleted, with the condition of a row that is not empty."""

_PURGED_NAME = "purged:"

_PURGED_AT_ONCE = 500

log = Log("engram.store")

_SNAPSHOT_LEFT = "a file in index/ could not be removed and may hold vectors of erased memories (encrypted): delete it."

_SHARED_TABLES = frozenset({"working_snapshots", "receipts", "questions"})
"""Tables whose rows are removed whichever scope they belong to; only the owner learns how many."""

_STILL_REWRITING = "time ran out while the pages were rewritten: the memories are gone, and the rewriting goes on."


@mutable
class Traces:
    """Traces of memories to be erased: their words, and by digest the bytes of their vectors and sealed texts."""

    words: set[str] = field(default_factory=set)
    marks: dict[bytes, list[bytes]] = field(default_factory=dict)


@frozen
class UniqueTraces:
    """Traces that only the erased memories had, so that a hit proves a remainder."""

    words: tuple[str, ...] = ()
    marks: tuple[bytes, ...] = ()

    @property
    def sentence(self) -> str:
        return f"{len(self.words)} of its words and {len(self.marks)} digests, vectors and sealed texts were searched for"


class DryRun(Exception):
    """Rolls back a dry run; carries the counts."""

    def __init__(self, counts: dict[str, int]) -> None:
        super().__init__()
        self.counts = counts


Removal = tuple[dict[str, int], UniqueTraces]
"""Removed rows by table, and the traces to search for."""


class Erasure:
    """Permanent removal of memories, with proof that no word is left."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def erase(
        self,
        reader: Reader,
        ids: Sequence[str],
        *,
        since: datetime | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> Report:
        """Remove memories so that no word of them is left in the database, its log or any backup made later.

        The report counts the removed rows by table; with `dry_run` nothing is removed.
        """
        with self._gate.watched(reader, "erase"):
            gone: list[Memory] = []
            entries: list[AuditEntry] = []

            def remove(connection: apsw.Connection, traces: Traces) -> None:
                doomed = [
                    memory_rows.unchanged(memory_rows.required(connection, writable(reader), memory_id), since)
                    for memory_id in dict.fromkeys(ids)
                ]
                gone[:] = [*doomed, *episodes.learned_from(connection, writable(reader), doomed)]
                entries[:] = [self._gate.audit.entry(reader, "erase", subject=memory.id, count=1) for memory in gone]
                named = entity_decisions.names_mentioned(connection, self._gate.rules, [memory.key for memory in gone])
                for memory in gone:
                    record_traces(connection, traces, memory)
                for memory in gone:
                    turns.delete_sources(connection, memory.key)
                    erase_memory(connection, self._gate.rules, memory)
                entities.drop_borrowed_mentions(connection, self._gate.rules, gone, set().union(*named.values()))
                entity_decisions.erase_unfounded(connection, self._gate.rules, named)
                audit.erase_digests(connection, [memory.id for memory in gone])
                gaps.delete_related(connection, [memory.text for memory in gone])

            work = self._counting(reader, remove, dry_run=dry_run)
            if not dry_run:
                self._gate.questions.take_waiting()  # dropped: questions since the last batch may hold the words
            answer = receipt and receipt.mapped(lambda counted: _erased(gone, counted[0]))
            entries.append(self._gate.audit.entry(reader, "erase", count=len(ids)))
            try:
                counts, wanted = self._gate.write(reader, "erase", work, entries=entries, timeout=timeout, receipt=answer)
            except DryRun as trial:
                self._gate.note(reader, "erase:trial", count=len(gone))
                return _erased(gone, trial.counts, ("nothing was removed.",))
            self._gate.audit.erase_digests([memory.id for memory in gone])
            return _erased(gone, counts, self._scrubbed(reader, wanted))

    def purge(
        self,
        reader: Reader,
        dimension: str,
        name: str,
        *,
        dry_run: bool = False,
        timeout: float | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> Report:
        """Remove all rows of scopes with this name in a dimension; the report counts them by table. `dry_run`: only report."""
        with self._gate.watched(reader, "purge"):
            require_owner(reader, "a purge")
            if dimension not in SCOPE_DIMENSIONS or not name:
                raise InvalidQuery(
                    "a purge needs a dimension and a name.", way_out=f"Give one of {', '.join(SCOPE_DIMENSIONS)}, with its name."
                )
            replacement = _PURGED_NAME + self._gate.env.random(8).hex()

            def remove(connection: apsw.Connection, traces: Traces) -> None:
                _remove(connection, self._gate.rules, writable(reader), dimension, name, replacement, traces)

            work = self._counting(reader, remove, dry_run=dry_run)
            self._gate.flush_audit(wait=True)  # waiting entries carry the name too
            entry = self._gate.audit.entry(reader, "purge", count=1, digest=self._gate.audit.digest(name))
            answer = receipt and receipt.mapped(lambda counted: Report(operation="purge", counts=counted[0]))
            try:
                counts, wanted = self._gate.write(reader, "purge", work, entries=[entry], timeout=timeout, receipt=answer)
            except DryRun as trial:
                self._gate.note(reader, "purge:trial", count=1, digest=self._gate.audit.digest(name))
                return Report(operation="purge", counts=trial.counts, notes=("nothing was removed.",))
            return Report(operation="purge", counts=counts, notes=self._scrubbed(reader, wanted))

    def _counting(
        self, reader: Reader, remove: Callable[[apsw.Connection, Traces], None], *, dry_run: bool
    ) -> Callable[[apsw.Connection], Removal]:
        """Return a job that removes rows, counts them by table and returns the traces to search for; `dry_run` rolls it back."""

        def work(connection: apsw.Connection) -> Removal:
            before, traces = count_rows(connection), Traces()
            remove(connection, traces)
            wanted = unique_traces(connection, traces)
            working.delete_saved_words(connection, reader, wanted.words)
            vectors.invalidate_snapshots(connection)
            receipts.clear_old_answers(connection)
            counts = removed_rows(before, count_rows(connection))
            if reader.role is not Role.OWNER:
                counts = {table: count for table, count in counts.items() if table not in _SHARED_TABLES}
            if dry_run:
                raise DryRun(counts)
            return counts, wanted

        return work

    def _scrubbed(self, reader: Reader, wanted: UniqueTraces) -> tuple[str, ...]:
        """Rewrite the pages, remove index snapshots and search for remainders; return the notes for the report.

        Only the owner gets the result of the search: it reveals words of memories that others may not read.
        """
        kept = "" if clear_snapshots(self._gate.opened.folder) else _SNAPSHOT_LEFT
        unwritten = self._gate.writer.run_outside_transaction(
            self._gate.file_upkeep.scrub, "rewriting the pages", _STILL_REWRITING
        )
        proof = "" if unwritten or reader.role is not Role.OWNER else self._proof(wanted)
        return tuple(note for note in (kept, unwritten, proof, self._older()) if note)

    def _proof(self, wanted: UniqueTraces) -> str:
        with self._gate.readers.use("searching for erased words") as connection:
            found = find_remainders(connection, wanted)
        if not found:
            return f"{wanted.sentence} in every table and page: none is left."
        log.warning("%d places still have words of erased memories", len(found))
        places = ", ".join(f"{place} ({count})" for place, count in found.items())
        return f"{wanted.sentence}: some were found in {places}, in rows of their own; erase those too."

    def _older(self) -> str:
        names = sorted(path.name for path in self._gate.opened.folder.backups.glob("*.db"))
        if not names:
            return ""
        old, them = ("1 backup", "it") if len(names) == 1 else (f"{len(names)} backups", "them")
        hold = "holds" if len(names) == 1 else "hold"
        new = self._gate.live.now.backups_kept
        instead = "a new one, which replaces" if new == 1 else f"{new} new ones, which replace"
        return (
            f"{old} made before this still {hold} the erased memories (backups/: {', '.join(names)}); delete {them},"
            f" or make {instead} {them}."
        )


def record_traces(connection: apsw.Connection, traces: Traces, memory: Memory) -> None:
    """Record the traces of a memory, before it is deleted."""
    key = memory.key
    texts = [memory.text, memory.summary, memory.key_fact, memory.tag, *memory.attributes.values(), *_earlier(connection, memory)]
    for text in texts:
        traces.words.update(_WORD.findall(text))
    rows: list[Any] = connection.execute("SELECT digest, text FROM contents WHERE memory = ?", (key,)).fetchall()
    vectors: list[Any] = connection.execute("SELECT vector FROM embeddings WHERE memory = ?", (key,)).fetchall()
    for digest, stored in rows:
        marks = traces.marks.setdefault(digest, [digest] if digest else [])
        marks += [vector[_SCALE : _SCALE + _MARK] for (vector,) in vectors]
        if memory.tier is not Sensitivity.CLEARTEXT:
            marks.append(stored[:_MARK].encode())


def _earlier(connection: apsw.Connection, memory: Memory) -> Iterator[str]:
    """Yield the earlier wordings of a memory, and the turns it came from."""
    version = sealed.read_side("versions", "text", "v", "?2")
    turn = sealed.read_words("text", table="t", tier="t.tier", row="t.key", place="'turn'")
    for sql in (
        f"SELECT {version} FROM versions AS v WHERE v.memory = ?1 AND ?2 <> ''",
        f"SELECT {turn} FROM sources AS s JOIN turns AS t ON t.key = s.turn WHERE s.memory = ?1 AND ?2 <> ''",
    ):
        yield from (str(row[0]) for row in connection.execute(sql, (memory.key, memory.tier)).fetchall())


def unique_traces(connection: apsw.Connection, traces: Traces) -> UniqueTraces:
    """Return the traces that no other row has, the longest words first. Called after the deletion, in its transaction."""
    schema = " ".join(str(row[0]) for row in connection.execute("SELECT sql FROM sqlite_master")).lower()
    words: list[str] = []
    for word in sorted(traces.words, key=lambda word: (-len(word), word))[:_CANDIDATES]:
        if word.lower() not in schema and not _occurs(connection, word):
            words.append(word)
            if len(words) == _WORDS:
                break
    twin = "SELECT 1 FROM contents WHERE digest = ?"
    marks = [mark for digest, own in traces.marks.items() for mark in own if not connection.execute(twin, (digest,)).get]
    return UniqueTraces(tuple(words), tuple(dict.fromkeys(marks)))


def _occurs(connection: apsw.Connection, word: str) -> bool:
    """Return True if an existing memory has the word. Entries of the text index without a memory do not count."""
    sql = "SELECT 1 FROM lexicon WHERE lexicon MATCH ? AND rowid IN (SELECT memory FROM contents) LIMIT 1"
    return bool(connection.execute(sql, (f'"{word}"',)).get)


def find_remainders(connection: apsw.Connection, wanted: UniqueTraces) -> dict[str, int]:
    """Return how many traces are found, by place; empty if the erasure is complete."""
    found, parts = _in_columns(connection, wanted)
    ghosts = "SELECT 1 FROM lexicon WHERE lexicon MATCH ? LIMIT 1"
    if indexed := sum(1 for word in wanted.words if connection.execute(ghosts, (f'"{word}"',)).get):
        found["the text index"] = indexed
    if not found and (pages := _in_pages(connection, wanted, parts)):
        found["pages that no row uses"] = pages
    return found


def _in_columns(connection: apsw.Connection, wanted: UniqueTraces) -> tuple[dict[str, int], set[str]]:
    """Return the number of traces by column, and the words that occur inside longer ones, which pages cannot tell apart."""
    words = {word.lower(): re.compile(rf"(?<![^\W_]){word.lower()}(?![^\W_])") for word in wanted.words}
    found: dict[str, int] = {}
    parts: set[str] = set()
    for table, column, has_words in _columns(connection):
        hits: set[object] = set()
        values = (row[0] for row in connection.execute(f'SELECT "{column}" FROM "{table}" WHERE "{column}" IS NOT NULL'))
        while batch := list(islice(values, _SCANNED_AT_ONCE)):
            if has_words:
                text = "\n".join(map(str, batch)).lower()
                inside = [word for word in words if word in text]
                hits.update(word for word in inside if words[word].search(text))
                parts.update(inside)
            else:
                raw = b"\0\0".join(value if isinstance(value, bytes) else str(value).encode() for value in batch)
                hits.update(mark for mark in wanted.marks if mark in raw)
        if hits:
            found[f"{table}.{column}"] = len(hits)
    return found, parts


def _columns(connection: apsw.Connection) -> Iterator[tuple[str, str, bool]]:
    """Yield (table, column, holds words) of every column that could hold words or bytes, except inside the text index."""
    sql = """
        SELECT m.name, c.name, c.type FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c
         WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE 'lexicon%' ORDER BY m.name, c.cid
    """
    found: list[Any] = connection.execute(sql).fetchall()
    for table, column, kind in found:
        if table in _WORDLESS or table == "audit":  # `audit` holds ids and keyed digests; its pages are searched too
            continue
        if kind in ("TEXT", "ANY"):
            yield table, column, True
        if kind in ("BLOB", "ANY") or column == "text":  # sealed words are text
            yield table, column, False


def _in_pages(connection: apsw.Connection, wanted: UniqueTraces, parts: set[str]) -> int:
    pages: Any = connection.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").get
    if pages > _IMAGE_BYTES:
        return 0
    image = connection.serialize("main")
    words = [word.lower().encode() for word in wanted.words if word.lower() not in parts]
    return _count(image, wanted.marks) + _count(image.lower(), words)


def _count(image: bytes, needles: Iterable[bytes]) -> int:
    return sum(1 for needle in needles if needle in image)


def count_rows(connection: apsw.Connection) -> dict[str, int]:
    """Return the number of rows by table that hold something; for the text index, of indexed memories."""
    sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'lexicon%'"
    tables = [str(row[0]) for row in connection.execute(sql) if row[0] not in _WORDLESS]
    return {table: _rows(connection, table) for table in sorted(tables)} | {"lexicon": _rows(connection, "lexicon_docsize")}


def _rows(connection: apsw.Connection, table: str) -> int:
    return int(connection.execute(f'SELECT count(*) FROM "{table}" WHERE {_EMPTIED.get(table, "TRUE")}').get)


def removed_rows(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """Return how many rows were deleted or emptied, by table."""
    counts = {table: count - after.get(table, 0) for table, count in before.items()}
    return {table: count for table, count in sorted(counts.items()) if count > 0}


def _remove(
    connection: apsw.Connection,
    rules: StoreRules,
    owned: Visibility,
    dimension: str,
    name: str,
    replacement: str,
    traces: Traces,
) -> None:
    places = _places(connection, dimension, name)
    keys = [int(row[0]) for row in connection.execute(f"SELECT key FROM memories WHERE scope IN ({_marks(places)})", places)]
    for start in range(0, len(keys), _PURGED_AT_ONCE):
        doomed = memory_rows.by_keys(connection, owned, keys[start : start + _PURGED_AT_ONCE])
        doomed += episodes.learned_from(connection, owned, doomed)  # skills of other scopes may hold their words
        for memory in doomed:
            record_traces(connection, traces, memory)
            erase_memory(connection, rules, memory)
        audit.erase_digests(connection, [memory.id for memory in doomed])
    for table in _having(connection, "scope"):
        if table != "memories":
            connection.execute(f"DELETE FROM {table} WHERE scope IN ({_marks(places)})", places)
    for table in _having(connection, dimension):
        connection.execute(f"DELETE FROM {table} WHERE {dimension} = ?", (name,))
    connection.execute(f"UPDATE scopes SET {dimension} = ? WHERE key IN ({_marks(places)})", (replacement, *places))


def erase_memory(connection: apsw.Connection, rules: StoreRules, memory: Memory) -> None:
    """Overwrite a memory's words, then delete it (§10.6.1). `secure_delete` zeroes freed cells, the text index drops terms."""
    key = memory.key
    words = text_index.indexed_text(connection, key), text_index.surroundings_of(connection, key)
    text_index.unindex_words(connection, key, *words)
    connection.execute(
        """
        UPDATE contents SET text = '', summary = '', key_fact = '', tag = '', around = '', clear = '', passage = '', digest = x''
         WHERE memory = ?
        """,
        (key,),
    )
    connection.execute("UPDATE versions SET text = '' WHERE memory = ?", (key,))
    connection.execute("UPDATE status_history SET reason = '' WHERE memory = ?", (key,))
    connection.execute("UPDATE attributes SET value = '' WHERE memory = ?", (key,))
    connection.execute("UPDATE feedback SET vector = zeroblob(length(vector)), digest = '' WHERE memory = ?", (key,))
    for statement in _OVERWRITES:
        connection.execute(statement, (key,))
    facts.forget(connection, rules, key)
    connection.execute("DELETE FROM memories WHERE key = ?", (key,))  # side tables follow by their references
    memory_rows.log_change(connection, key, "erase")


_OVERWRITES = (
    "UPDATE episodes SET goal = '', result = '' WHERE memory = ?",
    "UPDATE events SET text = '', type = '', actor = '' WHERE memory = ?",
    "UPDATE participants SET role = '' WHERE memory = ?",
    "UPDATE skills SET name = '' WHERE memory = ?",
    "UPDATE skill_parts SET text = '', extra = '' WHERE memory = ?",
    "UPDATE boxes SET topic = '' WHERE key = (SELECT box FROM boxed WHERE memory = ?)",
)
"""Statements that overwrite the words in side tables, and the topic of the memory's box, which is made again from the rest."""


def _places(connection: apsw.Connection, dimension: str, name: str) -> tuple[int, ...]:
    return tuple(int(row[0]) for row in connection.execute(f"SELECT key FROM scopes WHERE {dimension} = ?", (name,)))


def _having(connection: apsw.Connection, column: str) -> list[str]:
    """Return the tables other than `scopes` that have a column of this name."""
    rows = connection.execute(
        """
        SELECT m.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c
         WHERE m.type = 'table' AND c.name = ? AND m.name <> 'scopes' ORDER BY m.name
        """,
        (column,),
    )
    return [str(row[0]) for row in rows]


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _erased(memories: Sequence[Memory], counts: Mapping[str, int], notes: tuple[str, ...] = ()) -> Report:
    return Report(operation="erase", ids=tuple(memory.id for memory in memories), counts=counts, notes=notes)
