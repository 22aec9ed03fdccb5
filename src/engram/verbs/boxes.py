"""The verbs of boxes: list them, and the memories of one."""

from __future__ import annotations

from collections.abc import Sequence

from engram.recall.selection import without_flagged
from engram.types import Memory
from engram.values.episodes import Box
from engram.verbs.view import View


def boxes(view: View, *, trace: int | None = None, limit: int = 50) -> Sequence[Box]:
    """Return the boxes, runs of memories about one topic, the latest first; or those of one trace, which share their topic."""
    view.vault.upkeep.fill_boxes()
    return tuple(view.vault.store.boxes.select(view.reader, trace=trace, limit=limit))


def box(view: View, key: int) -> Sequence[Memory]:
    """Return the memories of a box, in the order in which they were stored."""
    return tuple(without_flagged(view.vault.store.boxes.get(view.reader, key), view.vault.live.now))
