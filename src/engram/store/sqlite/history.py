"""The statements on what stood when, and on what stands against what: earlier wordings, and links among memories."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw

from engram.env import to_micros
from engram.frozen import replace
from engram.guard.scopes import Visibility
from engram.store.protocol import Filter
from engram.store.sqlite import rows, sealed
from engram.store.sqlite.scopes import predicate
from engram.types import Memory, Status, TextHit

_WORDING = sealed.told("versions", "text", "v")


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


def links(connection: apsw.Connection, seen: Visibility, keys: Sequence[int], kinds: Sequence[str]) -> list[tuple[int, int, str]]:
    """Links of these kinds into or out of these memories, both ends visible and active: (source, target, kind)."""
    at_source, values = predicate(seen, "a.scope")
    at_target, _ = predicate(seen, "b.scope")
    keys_, kinds_ = ", ".join("?" * len(keys)), ", ".join("?" * len(kinds))
    arms = " UNION ".join(
        f"""
        SELECT e.source, e.target, e.kind
          FROM edges AS e JOIN memories AS a ON a.key = e.source JOIN memories AS b ON b.key = e.target
         WHERE e.{side} IN ({keys_}) AND e.kind IN ({kinds_})
           AND a.status = 'active' AND b.status = 'active' AND {at_source} AND {at_target}
        """
        for side in ("source", "target")
    )
    once: tuple[int | str, ...] = (*keys, *kinds, *values, *values)
    found: list[Any] = connection.execute(arms, once + once).fetchall()
    return found
