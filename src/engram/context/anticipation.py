"""What the next message will likely ask, looked up before it comes; and whether a message that came is that one (§8.9). Pure.

While an agent answers, the talk has a way, and a message that says nothing by itself ("why?", "go on") asks just what that way
says: its answer can be ready. One that leans on the talk and says something of its own is compared by its vector, drawn as it
leans. What stands by itself is never served: of its first ten hits the way of everyday talk predicts one (docs/benchmarks.md).

An answer is served to the very reader it was made for, from a vault in which nothing changed since, within a minute.
"""

from __future__ import annotations

from datetime import datetime

from engram.frozen import frozen, replace
from engram.memory.momentum import Vector, likeness
from engram.settings import Settings
from engram.types import Reader, Recall


@frozen(kw_only=True)
class State:
    """What an answer depends on besides its question: who asks, the vault's last change, the settings in force, the time."""

    reader: Reader
    change: int
    settings: Settings
    now: datetime


@frozen(kw_only=True, eq=False)
class Expected:
    """What is ready: the vector that was looked up, at most so many hits for it, and the state in which it was."""

    query: Vector
    recall: Recall
    limit: int
    state: State


def ready(expected: Expected | None, state: State, limit: int, most_s: float) -> Expected | None:
    """What was looked up ahead, if it is as good now as if it were looked up now."""
    if expected is None or limit > expected.limit:
        return None
    same = replace(expected.state, now=state.now) == state
    return expected if same and abs((state.now - expected.state.now).total_seconds()) <= most_s else None


def meant(expected: Expected, query: Vector, background: float, least: float) -> bool:
    """Does a question of this vector ask what was expected?"""
    near = likeness(query, expected.query, background)
    return near is not None and near >= least


def served(expected: Expected, limit: int) -> Recall:
    """So many hits of it."""
    return expected.recall if limit >= len(expected.recall.hits) else replace(expected.recall, hits=expected.recall.hits[:limit])
