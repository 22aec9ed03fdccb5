"""The verbs that find and show memories; all that a hook needs, so no more than they need is loaded with them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engram.env import to_micros
from engram.guard import cursors
from engram.guard.scopes import readable
from engram.store.admission import bounded, check_filter, check_terms
from engram.store.protocol import Filter
from engram.store.sqlite import history, memories, words
from engram.store.sqlite.path import Path
from engram.types import Memory, Page, Reader, TextHit, scope_values


class Looking(Path):
    """Mixed into the store."""

    def fetch(self, reader: Reader, keys: Sequence[int], *, as_of: datetime | None = None) -> list[Memory]:
        """The visible ones among `keys`, in that order; with `as_of` as they stood at that moment."""
        with self._read(reader, "fetch") as connection:
            found = memories.by_keys(connection, readable(reader), keys)
            if as_of is not None:
                found = history.as_then(connection, found, as_of)
        self._note(reader, "fetch", count=len(found))
        return found

    def page(
        self, reader: Reader, *, limit: int, cursor: str | None = None, where: Filter = Filter(), onward: bool = True
    ) -> Page:
        """Newest first. A page goes on below the key of the last row: what comes or goes meanwhile moves nothing else.

        Not `onward`, it has no cursor: sealing one loads `cryptography`, 22 million instructions of which a hook has no use."""
        bounded(limit, self._live.now.page_limit, "a page")
        check_filter(where.kinds, where.statuses, where.since, where.until)
        about, secret = _listing("list", reader, where), self._opened.cursor_key
        before = None if cursor is None else cursors.opened(cursor, about, secret)
        with self._read(reader, "list") as connection:
            found = memories.page(connection, readable(reader), where, before=before, limit=limit + 1)
        self._note(reader, "list", count=min(len(found), limit))
        more = onward and len(found) > limit
        return Page(tuple(found[:limit]), cursors.sealed(found[limit - 1].key, about, secret) if more else None)

    def search_text(self, reader: Reader, terms: Sequence[str], *, limit: int, where: Filter = Filter()) -> list[TextHit]:
        """Memories that hold any of the terms, best first."""
        check_terms(terms)
        if not terms:
            return []
        bounded(limit, self._live.now.page_limit, "a search")
        with self._read(reader, "search") as connection:
            found = words.search_text(connection, readable(reader), where, terms, limit, self._live.now.around_weight)
        self._note(reader, "search", count=len(found), digest=self._audit.digest(" ".join(terms)))
        return found

    def frequencies(self, reader: Reader, terms: Sequence[str], *, most: int) -> list[int]:
        """In how many memories of the whole vault each term stands: what tells a rare word from a common one."""
        check_terms(terms)
        with self._read(reader, "frequencies") as connection:
            return [words.frequency(connection, term, most) for term in terms]


def _listing(operation: str, reader: Reader, where: Filter) -> bytes:
    """What a cursor belongs to: the same words for the same listing, however its filter was written."""
    who = (*scope_values(reader.scope), reader.policy.value, reader.role.value)
    lists = [sorted(map(str, names)) for names in (where.kinds, where.categories, where.without, where.statuses)]
    times = [moment and to_micros(moment) for moment in (where.since, where.until, where.as_of)]
    rest = sorted((where.attributes or {}).items()), scope_values(where.scope), where.fresh
    return repr((operation, who, lists, times, rest)).encode("utf-8", "surrogatepass")
