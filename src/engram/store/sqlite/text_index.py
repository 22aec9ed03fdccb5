"""The full-text index: search by terms, frequencies of terms, and upkeep of the index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import to_micros
from engram.guard.visibility import Visibility, readable
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import rows
from engram.store.sqlite.visibility import predicate
from engram.store.validation import (
    bounded,
    check_terms,
)
from engram.text.terms import layout
from engram.values import query
from engram.values.identity import Reader
from engram.values.memories import TextHit
from engram.values.query import Filter

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


Found = tuple[int, float]
"""Key of a memory, and its score."""


Condition = tuple[str, Sequence[int | float | str | bytes | None]]
"""SQL on `memories AS m` that begins with AND, and its values: a filter, as `rows.conditions` makes it."""


ACTIVE: Condition = (" AND m.status IN (?)", ("active",))


_RANKED_FIRST = 4
"""Matches ranked per requested hit, before filters: enough if one in four passes."""

_WORDING_TERMS = 32  # terms of a question that are searched in earlier wordings: each costs a scan

EARLIER_WORDING = sealed.read_side("versions", "text", "v")


class TextIndex:
    """The full-text index over memories and their earlier wordings."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def search(self, reader: Reader, terms: Sequence[str], *, limit: int, where: Filter = Filter()) -> list[TextHit]:
        """Return memories that hold any of the terms, best first."""
        check_terms(terms)
        if not terms:
            return []
        bounded(limit, self._gate.limits.page_limit, "a search")
        with self._gate.read(reader, "search") as connection:
            condition, narrow = rows.conditions(where, probe=True), query.is_narrow(where)
            around = self._gate.limits.around_weight
            hits = search_text(connection, readable(reader), condition, terms, limit, around, narrow=narrow)
            found = [TextHit(key, score) for key, score in hits]
        self._gate.note(reader, "search", count=len(found), digest=self._gate.audit.digest(" ".join(terms)))
        return found

    def frequencies(self, reader: Reader, terms: Sequence[str], *, most: int) -> list[int]:
        """Return the number of memories in the whole vault that hold each term, counted up to `most`."""
        check_terms(terms)
        with self._gate.read(reader, "frequencies") as connection:
            return [frequency(connection, term, most) for term in terms]

    def search_versions(self, reader: Reader, terms: Sequence[str], *, limit: int, where: Filter) -> list[TextHit]:
        """Return memories whose wording at `where.as_of`, replaced since, holds any of the terms."""
        check_terms(terms)
        with self._gate.read(reader, "search") as connection:
            found = search_wordings(connection, readable(reader), where, terms[:_WORDING_TERMS], limit) if terms else []
        self._gate.note(reader, "search", count=len(found), digest=self._gate.audit.digest(" ".join(terms)))
        return found


def search_text(
    connection: apsw.Connection,
    seen: Visibility,
    where: Condition,
    terms: Sequence[str],
    limit: int,
    around: float,
    *,
    narrow: bool = False,
) -> list[Found]:
    """Return the memories that hold any of the terms, best first by BM25. Terms are quoted: none acts as an FTS5 operator.

    narrow: few memories pass the filter.

    There are two ways to the same answer. If the filter is only scope and status, most matches usually pass: they are ranked, and
    only the best are looked up (4.5 against 9.0 ms of CPU for 970 matches in a million memories, whose pages are
    seldom cached; no difference at 100,000). If that does not fill the answer although there are more matches, and for
    narrower filters, all matches are filtered and the rest is ranked (2.9 against 4.9 ms at 100,000 if one in fifty passes).
    """
    match = " OR ".join(_quoted(term) for term in terms)
    first = limit * _RANKED_FIRST
    if not narrow:
        found = _ranked_then_filtered(connection, seen, where, match, limit, first, around)
        if len(found) == limit or not _matches_more_than(connection, match, first):
            return found
    return _filtered_then_ranked(connection, seen, where, match, limit, around)


def _ranked_then_filtered(
    connection: apsw.Connection, seen: Visibility, where: Condition, match: str, limit: int, first: int, around: float
) -> list[Found]:
    """Return those of the `first` best matches that pass the filter: complete if they fill `limit`, or if there are no more."""
    visible, values = predicate(seen, "m.scope")
    extra, more = where
    sql = f"""
        SELECT best.key, best.score
          FROM (SELECT rowid AS key, -bm25(lexicon, 1.0, ?) AS score FROM lexicon WHERE lexicon MATCH ?
                 ORDER BY score DESC, key DESC LIMIT ?) AS best
         CROSS JOIN memories AS m INDEXED BY memories_for_search ON m.key = best.key
         WHERE {visible}{extra}
         ORDER BY best.score DESC, best.key DESC LIMIT ?
    """
    found = connection.execute(sql, (around, match, first, *values, *more, limit))
    return list(found)


def _filtered_then_ranked(
    connection: apsw.Connection, seen: Visibility, where: Condition, match: str, limit: int, around: float
) -> list[Found]:
    visible, values = predicate(seen, "m.scope")
    extra, more = where
    sql = f"""
        SELECT m.key, -bm25(lexicon, 1.0, ?)
          FROM lexicon CROSS JOIN memories AS m INDEXED BY memories_for_search ON m.key = lexicon.rowid
         WHERE lexicon MATCH ? AND {visible}{extra}
         ORDER BY 2 DESC, m.key DESC LIMIT ?
    """
    found = connection.execute(sql, (around, match, *values, *more, limit))
    return list(found)


def _matches_more_than(connection: apsw.Connection, match: str, number: int) -> bool:
    return bool(connection.execute("SELECT 1 FROM lexicon WHERE lexicon MATCH ? LIMIT 1 OFFSET ?", (match, number)).get)


def _quoted(term: str) -> str:
    return '"' + term.replace("\x00", " ").replace('"', '""') + '"'


def frequency(connection: apsw.Connection, term: str, most: int) -> int:
    """Return the number of memories that hold a term, counted up to `most`."""
    sql = "SELECT count(*) FROM (SELECT 1 FROM lexicon WHERE lexicon MATCH ? LIMIT ?)"
    return int(connection.execute(sql, (_quoted(term), most)).get)


def index_words(connection: apsw.Connection, key: int, text: str, around: str) -> None:
    connection.execute("INSERT INTO lexicon (rowid, words, around) VALUES (?, ?, ?)", (key, layout(text), layout(around)))


def unindex_words(connection: apsw.Connection, key: int, text: str, around: str) -> None:
    """Remove a memory's words from the index, which keeps no copy of them and needs them again."""
    connection.execute(
        "INSERT INTO lexicon (lexicon, rowid, words, around) VALUES ('delete', ?, ?, ?)", (key, layout(text), layout(around))
    )


def indexed_text(connection: apsw.Connection, key: int) -> str:
    """Return the words of a memory as the text index holds them."""
    sql = f"SELECT {sealed.INDEXED} FROM contents AS c JOIN memories AS m ON m.key = c.memory WHERE m.key = ?"
    return str(connection.execute(sql, (key,)).get or "")


def surroundings_of(connection: apsw.Connection, key: int) -> str:
    """Return the words said beside a memory, which the text index holds too."""
    return str(connection.execute("SELECT around FROM contents WHERE memory = ?", (key,)).get or "")


def set_surroundings(connection: apsw.Connection, key: int, around: str) -> None:
    """Replace the words around a memory in the text index."""
    text, before = indexed_text(connection, key), surroundings_of(connection, key)
    if before == around:
        return
    unindex_words(connection, key, text, before)
    index_words(connection, key, text, around)
    connection.execute("UPDATE contents SET around = ? WHERE memory = ?", (around, key))


def reindex(connection: apsw.Connection) -> None:
    """Rebuild the text index from the rows."""
    connection.execute("INSERT INTO lexicon (lexicon) VALUES ('delete-all')")
    sql = f"SELECT m.key, {sealed.INDEXED}, c.around FROM contents AS c JOIN memories AS m ON m.key = c.memory ORDER BY m.key"
    for key, text, around in connection.execute(sql):
        index_words(connection, key, text, around)


def count_mismatched(connection: apsw.Connection) -> int:
    """Return how many memories the text index lacks, plus how many of its entries have no memory."""
    return int(
        connection.execute(
            """
            SELECT (SELECT count(*) FROM contents WHERE memory NOT IN (SELECT id FROM lexicon_docsize))
                 + (SELECT count(*) FROM lexicon_docsize WHERE id NOT IN (SELECT memory FROM contents))
            """
        ).get
    )


def search_wordings(
    connection: apsw.Connection, seen: Visibility, where: Filter, terms: Sequence[str], limit: int
) -> list[TextHit]:
    """Return memories whose wording at `where.as_of`, replaced since, holds any of the terms, scored by the share it holds."""
    if where.as_of is None:
        return []
    visible, values = predicate(seen, "m.scope")
    extra, more = rows.conditions(where)
    then = to_micros(where.as_of)
    held = " + ".join(f"(instr(lower({EARLIER_WORDING}), ?) > 0)" for _ in terms)
    sql = f"""
        SELECT key, held FROM (
            SELECT m.key AS key, {held} AS held
              FROM versions AS v JOIN memories AS m ON m.key = v.memory
             WHERE v.replaced_at > ? AND {visible}{extra}
               AND NOT EXISTS (SELECT 1 FROM versions AS e
                                WHERE e.memory = v.memory AND e.number < v.number AND e.replaced_at > ?))
         WHERE held > 0 ORDER BY held DESC, key DESC LIMIT ?
    """
    found: list[Any] = connection.execute(sql, (*terms, then, *values, *more, then, limit)).fetchall()
    return [TextHit(int(key), held / len(terms)) for key, held in found]
