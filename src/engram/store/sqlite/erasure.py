"""Proof that what was erased is gone: its words, digests and vectors are looked for in every column, and in every page.

What to look for is noted before the rows go, because afterwards nobody knows it. Only words that nothing else says can prove
something: "meeting" stands in a thousand memories. The pages are searched while they fit in memory (`_IMAGE_BYTES`); larger
vaults are searched column by column alone, after every page was written anew.
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
from engram.store.sqlite import audit, episodes, gaps, memory_rows, turns, working
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import receipts as quotas
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
    from engram.store.sqlite.gate import Gate


_WORD = re.compile(r"(?<![^\W_])[^\W_]{5,40}(?![^\W_])")

_WORDS = 12
"""Words that are looked for, the longest. One that stands anywhere is enough, and each costs a pass over the pages."""

_CANDIDATES = 4000

_MARK = 24
"""Bytes of a vector or a sealed text that are looked for: no chance makes them, and they seldom lie across two pages."""

_SCALE = 4

_IMAGE_BYTES = 128 * 2**20

_SCANNED_AT_ONCE = 2000

_PLACES = frozenset(
    {
        *("scopes", "changes", "padding", "meta", "schema_version", "spaces", "spendings", "probes"),
        *("passes", "jobs", "dues"),
    }
)
"""Tables that hold no words of a memory: names of places, numbers and digests."""


@mutable
class Held:
    """What was stored of memories that go: their words, and by its digest each one's vectors and sealed texts."""

    words: set[str] = field(default_factory=set)
    marks: dict[bytes, list[bytes]] = field(default_factory=dict)


@frozen
class Sought:
    """What nothing else in the vault has."""

    words: tuple[str, ...] = ()
    marks: tuple[bytes, ...] = ()

    @property
    def sentence(self) -> str:
        return f"{len(self.words)} of its words and {len(self.marks)} digests, vectors and sealed texts were looked for"


def note(connection: apsw.Connection, held: Held, memory: Memory) -> None:
    """Before a memory goes: what of it could be left."""
    key = memory.key
    texts = [memory.text, memory.summary, memory.key_fact, memory.tag, *memory.attributes.values(), *_earlier(connection, memory)]
    for text in texts:
        held.words.update(_WORD.findall(text))
    rows: list[Any] = connection.execute("SELECT digest, text FROM contents WHERE memory = ?", (key,)).fetchall()
    vectors: list[Any] = connection.execute("SELECT vector FROM embeddings WHERE memory = ?", (key,)).fetchall()
    for digest, stored in rows:
        marks = held.marks.setdefault(digest, [digest] if digest else [])
        marks += [vector[_SCALE : _SCALE + _MARK] for (vector,) in vectors]
        if memory.tier is not Sensitivity.CLEARTEXT:
            marks.append(stored[:_MARK].encode())


def _earlier(connection: apsw.Connection, memory: Memory) -> Iterator[str]:
    """Its former wordings, and the turns it came from."""
    version = sealed.told("versions", "text", "v", "?2")
    turn = sealed.opened("text", table="t", tier="t.tier", row="t.key", place="'turn'")
    for sql in (
        f"SELECT {version} FROM versions AS v WHERE v.memory = ?1 AND ?2 <> ''",
        f"SELECT {turn} FROM sources AS s JOIN turns AS t ON t.key = s.turn WHERE s.memory = ?1 AND ?2 <> ''",
    ):
        yield from (str(row[0]) for row in connection.execute(sql, (memory.key, memory.tier)).fetchall())


def sought(connection: apsw.Connection, held: Held) -> Sought:
    """After they went, in the same transaction: what of it nothing else has, the longest words first."""
    schema = " ".join(str(row[0]) for row in connection.execute("SELECT sql FROM sqlite_master")).lower()
    words: list[str] = []
    for word in sorted(held.words, key=lambda one: (-len(one), one))[:_CANDIDATES]:
        if word.lower() not in schema and not _is_said(connection, word):
            words.append(word)
            if len(words) == _WORDS:
                break
    twin = "SELECT 1 FROM contents WHERE digest = ?"
    marks = [mark for digest, own in held.marks.items() for mark in own if not connection.execute(twin, (digest,)).get]
    return Sought(tuple(words), tuple(dict.fromkeys(marks)))


def _is_said(connection: apsw.Connection, word: str) -> bool:
    """Does a memory that is there say it? What the text index has of one that is not there does not count."""
    sql = "SELECT 1 FROM lexicon WHERE lexicon MATCH ? AND rowid IN (SELECT memory FROM contents) LIMIT 1"
    return bool(connection.execute(sql, (f'"{word}"',)).get)


def left(connection: apsw.Connection, wanted: Sought) -> dict[str, int]:
    """How many of what was sought are found, by place; empty if none is."""
    found, parts = _in_columns(connection, wanted)
    ghosts = "SELECT 1 FROM lexicon WHERE lexicon MATCH ? LIMIT 1"
    if indexed := sum(1 for word in wanted.words if connection.execute(ghosts, (f'"{word}"',)).get):
        found["the text index"] = indexed
    if not found and (pages := _in_pages(connection, wanted, parts)):
        found["pages that no row uses"] = pages
    return found


def _in_columns(connection: apsw.Connection, wanted: Sought) -> tuple[dict[str, int], set[str]]:
    """By column how many stand there; and the words that are parts of others, which pages cannot tell apart."""
    words = {word.lower(): re.compile(rf"(?<![^\W_]){word.lower()}(?![^\W_])") for word in wanted.words}
    found: dict[str, int] = {}
    parts: set[str] = set()
    for table, column, has_words in _columns(connection):
        hits: set[object] = set()
        values = (row[0] for row in connection.execute(f'SELECT "{column}" FROM "{table}" WHERE "{column}" IS NOT NULL'))
        while some := list(islice(values, _SCANNED_AT_ONCE)):
            if has_words:
                text = "\n".join(map(str, some)).lower()
                inside = [word for word in words if word in text]
                hits.update(word for word in inside if words[word].search(text))
                parts.update(inside)
            else:
                raw = b"\0\0".join(value if isinstance(value, bytes) else str(value).encode() for value in some)
                hits.update(mark for mark in wanted.marks if mark in raw)
        if hits:
            found[f"{table}.{column}"] = len(hits)
    return found, parts


def _columns(connection: apsw.Connection) -> Iterator[tuple[str, str, bool]]:
    """Every column that could hold words, and every one that could hold bytes, but for the inside of the text index."""
    sql = """
        SELECT m.name, c.name, c.type FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c
         WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE 'lexicon%' ORDER BY m.name, c.cid
    """
    found: list[Any] = connection.execute(sql).fetchall()
    for table, column, kind in found:
        if table in _PLACES or table == "audit":  # ids and keyed digests, by design; its pages are searched with the others
            continue
        if kind in ("TEXT", "ANY"):
            yield table, column, True
        if kind in ("BLOB", "ANY") or column == "text":  # sealed words are text
            yield table, column, False


def _in_pages(connection: apsw.Connection, wanted: Sought, parts: set[str]) -> int:
    pages: Any = connection.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").get
    if pages > _IMAGE_BYTES:
        return 0
    image = connection.serialize("main")
    words = [word.lower().encode() for word in wanted.words if word.lower() not in parts]
    return _count(image, wanted.marks) + _count(image.lower(), words)


def _count(held: bytes, needles: Iterable[bytes]) -> int:
    return sum(1 for needle in needles if needle in held)


def tally(connection: apsw.Connection) -> dict[str, int]:
    """How many rows of each table hold something; the text index counts what it indexes."""
    sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'lexicon%'"
    tables = [str(row[0]) for row in connection.execute(sql) if row[0] not in _PLACES]
    return {table: _rows(connection, table) for table in sorted(tables)} | {"lexicon": _rows(connection, "lexicon_docsize")}


_EMPTIED = {"boxes": "topic <> ''", "receipts": "body IS NOT NULL"}
"""Rows that stay, and are emptied."""


def _rows(connection: apsw.Connection, table: str) -> int:
    return int(connection.execute(f'SELECT count(*) FROM "{table}" WHERE {_EMPTIED.get(table, "TRUE")}').get)


def gone(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """How many rows went or were emptied, by table."""
    counts = {table: count - after.get(table, 0) for table, count in before.items()}
    return {table: count for table, count in sorted(counts.items()) if count > 0}


_NOBODY = "purged:"

_PURGED_AT_ONCE = 500


def _remove(connection: apsw.Connection, owned: Visibility, dimension: str, name: str, nobody: str, held: Held) -> None:
    places = _places(connection, dimension, name)
    keys = [int(row[0]) for row in connection.execute(f"SELECT key FROM memories WHERE scope IN ({_marks(places)})", places)]
    for start in range(0, len(keys), _PURGED_AT_ONCE):
        doomed = memory_rows.by_keys(connection, owned, keys[start : start + _PURGED_AT_ONCE])
        doomed += episodes.learned_from(connection, owned, doomed)  # elsewhere too: it has their words
        for memory in doomed:
            note(connection, held, memory)
            memory_rows.wipe_out(connection, memory)
        audit.forget(connection, [memory.id for memory in doomed])
    for table in _having(connection, "scope"):
        if table != "memories":
            connection.execute(f"DELETE FROM {table} WHERE scope IN ({_marks(places)})", places)
    for table in _having(connection, dimension):
        connection.execute(f"DELETE FROM {table} WHERE {dimension} = ?", (name,))
    connection.execute(f"UPDATE scopes SET {dimension} = ? WHERE key IN ({_marks(places)})", (nobody, *places))


def _places(connection: apsw.Connection, dimension: str, name: str) -> tuple[int, ...]:
    return tuple(int(row[0]) for row in connection.execute(f"SELECT key FROM scopes WHERE {dimension} = ?", (name,)))


def _having(connection: apsw.Connection, column: str) -> list[str]:
    """Tables that have a column of this name; the table of scopes itself is another matter."""
    found = connection.execute(
        """
        SELECT m.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c
         WHERE m.type = 'table' AND c.name = ? AND m.name <> 'scopes' ORDER BY m.name
        """,
        (column,),
    )
    return [str(row[0]) for row in found]


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


log = Log("engram.store")


_SNAPSHOT_LEFT = "a file in index/ could not be removed and may hold vectors of what was erased (encrypted): delete it."

_ANYBODYS = frozenset({"working_snapshots", "receipts", "questions"})

_STILL_REWRITING = "time ran out while the pages were rewritten: the memories are gone, and the rewriting goes on."


class NothingDone(Exception):
    """Undoes a trial run: carries what would have been counted."""

    def __init__(self, counts: dict[str, int]) -> None:
        super().__init__()
        self.counts = counts


Counted = tuple[dict[str, int], Sought]


def _erased(memories: Sequence[Memory], counts: Mapping[str, int], notes: tuple[str, ...] = ()) -> Report:
    return Report(operation="erase", ids=tuple(memory.id for memory in memories), counts=counts, notes=notes)


class Erasure:
    """Removal for good, with proof that nothing is left."""

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

        The report counts what went, table by table; with `dry_run` it only tells what would.
        """
        with self._gate.watched(reader, "erase"):
            gone: list[Memory] = []
            entries: list[AuditEntry] = []

            def remove(connection: apsw.Connection, held: Held) -> None:
                doomed = [
                    memory_rows.unchanged(memory_rows.required(connection, writable(reader), one), since)
                    for one in dict.fromkeys(ids)
                ]
                gone[:] = [*doomed, *episodes.learned_from(connection, writable(reader), doomed)]
                entries[:] = [self._gate.audit.entry(reader, "erase", subject=memory.id, count=1) for memory in gone]
                for memory in gone:
                    note(connection, held, memory)
                for memory in gone:
                    turns.forget_sources(connection, memory.key)
                    memory_rows.wipe_out(connection, memory)
                audit.forget(connection, [memory.id for memory in gone])
                gaps.forget(connection, [memory.text for memory in gone])

            work = self._counting(reader, remove, dry_run=dry_run)
            if not dry_run:
                self._gate.questions.take_waiting()  # what was asked since the last batch may tell of it
            answer = receipt and receipt.mapped(lambda counted: _erased(gone, counted[0]))
            entries.append(self._gate.audit.entry(reader, "erase", count=len(ids)))
            try:
                counts, wanted = self._gate.write(reader, "erase", work, entries=entries, timeout=timeout, receipt=answer)
            except NothingDone as trial:
                self._gate.note(reader, "erase:trial", count=len(gone))
                return _erased(gone, trial.counts, ("nothing was removed.",))
            self._gate.audit.forget([memory.id for memory in gone])
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
        """Remove all that belongs to a place; the report counts it table by table. With `dry_run`, only the report is made."""
        with self._gate.watched(reader, "purge"):
            require_owner(reader, "a purge")
            if dimension not in SCOPE_DIMENSIONS or not name:
                raise InvalidQuery(
                    "a purge names one place.", way_out=f"Give one of {', '.join(SCOPE_DIMENSIONS)}, with its name."
                )
            nobody = _NOBODY + self._gate.env.random(8).hex()

            def remove(connection: apsw.Connection, held: Held) -> None:
                _remove(connection, writable(reader), dimension, name, nobody, held)

            work = self._counting(reader, remove, dry_run=dry_run)
            self._gate.flush_audit(wait=True)  # entries that still wait name the place too
            entry = self._gate.audit.entry(reader, "purge", count=1, digest=self._gate.audit.digest(name))
            answer = receipt and receipt.mapped(lambda counted: Report(operation="purge", counts=counted[0]))
            try:
                counts, wanted = self._gate.write(reader, "purge", work, entries=[entry], timeout=timeout, receipt=answer)
            except NothingDone as trial:
                self._gate.note(reader, "purge:trial", count=1, digest=self._gate.audit.digest(name))
                return Report(operation="purge", counts=trial.counts, notes=("nothing was removed.",))
            return Report(operation="purge", counts=counts, notes=self._scrubbed(reader, wanted))

    def _counting(
        self, reader: Reader, remove: Callable[[apsw.Connection, Held], None], *, dry_run: bool
    ) -> Callable[[apsw.Connection], Counted]:
        """A removal that counts what goes, table by table, and notes what to look for afterwards; undone if it is a trial."""

        def work(connection: apsw.Connection) -> Counted:
            before, held = tally(connection), Held()
            remove(connection, held)
            wanted = sought(connection, held)
            working.forget_minds(connection, reader, wanted.words)
            vectors.forget_numbers(connection)
            quotas.forget_old(connection)
            counts = gone(before, tally(connection))
            if reader.role is not Role.OWNER:  # minds, answers and questions go whosever they are; how many is not theirs to know
                counts = {table: count for table, count in counts.items() if table not in _ANYBODYS}
            if dry_run:
                raise NothingDone(counts)
            return counts, wanted

        return work

    def _scrubbed(self, reader: Reader, wanted: Sought) -> tuple[str, ...]:
        """Rewrite the pages, remove what indexes put away, and look whether anything is left; what there is to say about it.

        What was found is told to the owner alone: others would learn what memories say that they do not see.
        """
        kept = "" if clear_snapshots(self._gate.opened.folder) else _SNAPSHOT_LEFT
        unwritten = self._gate.writer.run_outside_transaction(
            self._gate.file_upkeep.scrub, "rewriting the pages", _STILL_REWRITING
        )
        proof = "" if unwritten or reader.role is not Role.OWNER else self._proof(wanted)
        return tuple(note for note in (kept, unwritten, proof, self._older()) if note)

    def _proof(self, wanted: Sought) -> str:
        with self._gate.readers.use("looking for what was erased") as connection:
            found = left(connection, wanted)
        if not found:
            return f"{wanted.sentence} in every table and page: none is left."
        log.warning("%d places still have words of what was erased", len(found))
        places = ", ".join(f"{place} ({count})" for place, count in found.items())
        return f"{wanted.sentence}: some stand elsewhere, in {places}. What stands there is not of what was erased; erase it too."

    def _older(self) -> str:
        names = sorted(path.name for path in self._gate.opened.folder.backups.glob("*.db"))
        if not names:
            return ""
        return (
            f"{len(names)} backups made before this still hold what was erased (backups/: {', '.join(names)}); delete them if"
            f" they must not, or let {self._gate.live.now.backups_kept} new ones take their place."
        )
