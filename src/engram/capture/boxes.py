"""Boxes are filled beside the use, in the order in which memories were kept, a page at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from engram.capture.embeddings import SPACE
from engram.index.vectors.matrix import decode, restore
from engram.models.embedders import Vectors
from engram.rules.boxes import BoxItem, BoxLimits, OpenBox, Stream, centred, fill, topic_of, trace_of, words_of
from engram.rules.topics import Vector
from engram.settings import LiveSettings
from engram.store.ports import Store
from engram.types import Reader
from engram.values.episodes import BoxRow, BoxTopics, FilledBox
from engram.values.frozen import replace

_PAGE = 100
_SAMPLE = 500
_FEW = 64
_SCALE_BYTES = 4


def fill_boxes(
    store: Store,
    owner: Reader,
    live: LiveSettings,
    *,
    pages: int = 1_000_000,
    rest: Callable[[], bool] = lambda: False,
) -> int:
    """Put what was kept since the last time into boxes; how many memories were. `rest`: between pages; True ends it."""
    _retell(store, owner)
    done = 0
    for _ in range(pages):
        since = store.changes.latest(owner)
        start, rows = store.boxes.pending(owner, SPACE, _PAGE)
        if not rows:
            break
        middle = _middle(store, owner, rows[-1].key)
        streams = dict.fromkeys((row.scope, row.session) for row in rows)
        growing = _growing(store, owner, list(streams), middle)
        changed = fill(_items(rows, middle), growing, live.tuned(BoxLimits))
        known = store.boxes.topics(owner, {box.stream[0] for box in changed})
        made = _traced([_filled(box) for box in changed], known)
        if store.boxes.put(owner, made, start=start, upto=rows[-1].key, since=since):
            done += len(rows)
        if rest():
            break
    return done


def _middle(store: Store, owner: Reader, upto: int) -> Vector | None:
    """The mean of the latest vectors; None if there are too few for it to be the middle of anything."""
    latest = store.boxes.latest_vectors(owner, SPACE, upto=upto, limit=_SAMPLE)
    return None if len(latest) < _FEW else np.asarray(_decoded(latest).mean(axis=0), np.float32)


def _growing(store: Store, owner: Reader, streams: Sequence[Stream], middle: Vector | None) -> dict[Stream, OpenBox]:
    """Open boxes as they were left, made anew from what is in them."""
    found = {}
    for box, rows in store.boxes.growing(owner, streams, SPACE):
        if rows:
            stream = (rows[0].scope, rows[0].session)
            found[stream] = OpenBox(stream, box.opened_at, box.last_at, key=box.key)
            for item in _items(rows, middle):
                found[stream].add(item)
    return found


def _items(rows: Sequence[BoxRow], middle: Vector | None) -> list[BoxItem]:
    having = [row for row in rows if row.vector is not None] if middle is not None else []
    seen: dict[int, Vector] = {}
    if having and middle is not None:
        whole = centred(_decoded([row.vector or b"" for row in having]), middle)
        seen = {row.key: whole[number] for number, row in enumerate(having)}
    return [
        BoxItem(row.key, (row.scope, row.session), row.at, words_of(row.text, row.speaker), seen.get(row.key)) for row in rows
    ]


def _decoded(stored: Sequence[bytes]) -> Vectors:
    return restore(*decode(stored, len(stored[0]) - _SCALE_BYTES))


def _filled(box: OpenBox) -> FilledBox:
    return FilledBox(box.key, *box.stream, box.opened_at, box.last_at, box.sealed, box.topic, tuple(box.fresh))


def _traced(boxes: Sequence[FilledBox], known: Mapping[int, BoxTopics]) -> list[FilledBox]:
    """Boxes, each with the trace it goes along; one that follows another of this page is given that one's place.

    Done here and not where they are kept: whoever writes waits for that.
    """
    made: list[FilledBox] = []
    for number, box in enumerate(boxes):
        others = known[box.scope]
        others.pop(box.key, None)
        along = trace_of(box.topic, others.values()) or -number - 1  # below zero: what this page begins, by its place
        follows = along < 0 and along != -number - 1
        made.append(replace(box, trace=max(along, 0), like=-along - 1 if follows else None))
        others[box.key or -number - 1] = (along, box.topic)
    return made


def _retell(store: Store, owner: Reader) -> None:
    """Topics that were emptied when something was erased are made of what is left."""
    since = store.changes.latest(owner)
    emptied = store.boxes.unlabelled(owner, _PAGE)
    if emptied:
        words = {key: Counter(word for one in left for word in words_of(*one)) for key, left in emptied}
        store.boxes.relabel(owner, {key: topic_of(found) for key, found in words.items()}, since=since)
