"""The statements that ask the text index: which memories hold any of some terms, and how common a term is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import to_micros
from engram.guard.visibility import Visibility, readable
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import rows
from engram.store.sqlite.rows import predicate
from engram.store.validation import (
    bounded,
    check_terms,
)
from engram.text.terms import layout
from engram.types import (
    Reader,
    TextHit,
)
from engram.values import query
from engram.values.query import Filter

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


Found = tuple[int, float]
"""A memory's key, and how well it matches."""


Condition = tuple[str, Sequence[int | float | str | bytes | None]]
"""SQL on `memories AS m` that is led by AND, and its values: a filter, as `rows.conditions` renders it."""


ACTIVE: Condition = (" AND m.status IN (?)", ("active",))


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
    """Best first by BM25 over any of the terms. Each term is quoted, so no operator of the match language gets in.

    narrow: few memories pass the filter.

    Two ways to the same answer. Where only the scope and the status decide, most matches usually pass: they are ranked, and
    only the best of them are looked up (4.5 against 9.0 ms of CPU for 970 matches in a million memories, whose pages are
    seldom at hand; no difference at 100,000). If that does not fill the answer although there are more matches, and for
    narrower filters, all are filtered and what passes is ranked (2.9 against 4.9 ms at 100,000 if one in fifty does).
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
    """What passes among the `first` best: right if it fills `limit`, or if there are no more matches."""
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


_RANKED_FIRST = 4
"""Matches ranked for each hit that is asked for, before filters: enough if one in four may be seen."""


def _matches_more_than(connection: apsw.Connection, match: str, number: int) -> bool:
    return bool(connection.execute("SELECT 1 FROM lexicon WHERE lexicon MATCH ? LIMIT 1 OFFSET ?", (match, number)).get)


def _quoted(term: str) -> str:
    return '"' + term.replace("\x00", " ").replace('"', '""') + '"'


def frequency(connection: apsw.Connection, term: str, most: int) -> int:
    """In how many memories a term stands, counted up to `most`."""
    sql = "SELECT count(*) FROM (SELECT 1 FROM lexicon WHERE lexicon MATCH ? LIMIT ?)"
    return int(connection.execute(sql, (_quoted(term), most)).get)


class TextIndex:
    """The full-text index over memories and their earlier wordings."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def search(self, reader: Reader, terms: Sequence[str], *, limit: int, where: Filter = Filter()) -> list[TextHit]:
        """Memories that hold any of the terms, best first."""
        check_terms(terms)
        if not terms:
            return []
        bounded(limit, self._gate.limits.page_limit, "a search")
        with self._gate.read(reader, "search") as connection:
            condition, narrow, around = rows.conditions(where), query.is_narrow(where), self._gate.limits.around_weight
            hits = search_text(connection, readable(reader), condition, terms, limit, around, narrow=narrow)
            found = [TextHit(key, score) for key, score in hits]
        self._gate.note(reader, "search", count=len(found), digest=self._gate.audit.digest(" ".join(terms)))
        return found

    def frequencies(self, reader: Reader, terms: Sequence[str], *, most: int) -> list[int]:
        """In how many memories of the whole vault each term stands: what tells a rare word from a common one."""
        check_terms(terms)
        with self._gate.read(reader, "frequencies") as connection:
            return [frequency(connection, term, most) for term in terms]

    def search_versions(self, reader: Reader, terms: Sequence[str], *, limit: int, where: Filter) -> list[TextHit]:
        """Memories by words that they had at `where.as_of` and no longer have."""
        check_terms(terms)
        with self._gate.read(reader, "search") as connection:
            found = search_wordings(connection, readable(reader), where, terms[:_WORDING_TERMS], limit) if terms else []
        self._gate.note(reader, "search", count=len(found), digest=self._gate.audit.digest(" ".join(terms)))
        return found


_WORDING_TERMS = 32  # of a question that are looked for in earlier wordings: each is a scan of them


def index_words(connection: apsw.Connection, key: int, text: str, around: str) -> None:
    connection.execute("INSERT INTO lexicon (rowid, words, around) VALUES (?, ?, ?)", (key, layout(text), layout(around)))


def unindex_words(connection: apsw.Connection, key: int, text: str, around: str) -> None:
    """The index keeps no copy of the text, so it is told again what to take out."""
    connection.execute(
        "INSERT INTO lexicon (lexicon, rowid, words, around) VALUES ('delete', ?, ?, ?)", (key, layout(text), layout(around))
    )


def _indexed(connection: apsw.Connection, key: int) -> str:
    sql = f"SELECT {sealed.INDEXED} FROM contents AS c JOIN memories AS m ON m.key = c.memory WHERE m.key = ?"
    return str(connection.execute(sql, (key,)).get or "")


def _around(connection: apsw.Connection, key: int) -> str:
    return str(connection.execute("SELECT around FROM contents WHERE memory = ?", (key,)).get or "")


def reframe(connection: apsw.Connection, key: int, around: str) -> None:
    """Tell the text index what stands around a memory now."""
    text, before = _indexed(connection, key), _around(connection, key)
    if before == around:
        return
    unindex_words(connection, key, text, before)
    index_words(connection, key, text, around)
    connection.execute("UPDATE contents SET around = ? WHERE memory = ?", (around, key))


def reindex(connection: apsw.Connection) -> None:
    """Make the text index anew from the words; it holds nothing that cannot be made again."""
    connection.execute("INSERT INTO lexicon (lexicon) VALUES ('delete-all')")
    sql = f"SELECT m.key, {sealed.INDEXED}, c.around FROM contents AS c JOIN memories AS m ON m.key = c.memory ORDER BY m.key"
    for key, text, around in connection.execute(sql):
        index_words(connection, key, text, around)


def count_mismatched(connection: apsw.Connection) -> int:
    """How many memories the text index lacks or has too many."""
    return int(
        connection.execute(
            """
            SELECT (SELECT count(*) FROM contents WHERE memory NOT IN (SELECT id FROM lexicon_docsize))
                 + (SELECT count(*) FROM lexicon_docsize WHERE id NOT IN (SELECT memory FROM contents))
            """
        ).get
    )


_WORDING = sealed.told("versions", "text", "v")


def search_wordings(
    connection: apsw.Connection, seen: Visibility, where: Filter, terms: Sequence[str], limit: int
) -> list[TextHit]:
    """Memories whose wording at `where.as_of`, replaced since, holds any of the terms: by how many of them it holds."""
    if where.as_of is None:
        return []
    visible, values = predicate(seen, "m.scope")
    extra, more = rows.conditions(where)
    then = to_micros(where.as_of)
    held = " + ".join(f"(instr(lower({_WORDING}), ?) > 0)" for _ in terms)
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
