"""Proof that what was erased is gone: its words, digests and vectors are looked for in every column, and in every page.

What to look for is noted before the rows go, because afterwards nobody knows it. Only words that nothing else says can prove
something: "meeting" stands in a thousand memories. The pages are searched while they fit in memory (`_IMAGE_BYTES`); larger
vaults are searched column by column alone, after every page was written anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import apsw

from engram.store.sqlite import connection as sealed
from engram.types import Memory, Sensitivity
from engram.values.frozen import field, frozen, mutable

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
