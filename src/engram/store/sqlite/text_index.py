"""The statements that ask the text index: which memories hold any of some terms, and how common a term is."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from engram.guard.visibility import Visibility
from engram.store.sqlite.rows import predicate

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
