"""The vectors of one space of one open vault, kept equal to the store.

Input: a reader, a query vector and a filter. Output: keys with cosines, best first; None while the index is loading, in which
case the caller searches by words alone and reports that.

A worker thread loads the rows after `start`, then maintains the index: seals, compacts, swaps tiers. Each result is built
separately and installed by one assignment, so a search never waits for it. Before each search the change log is read from where
the last search stopped, so that rows written by any process are found. Visibility and filters are masks applied inside the scan.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

import numpy as np

from engram.crypto.ciphers import SealedFileWriter
from engram.crypto.hardening import rss_bytes
from engram.deadline import wait_limit
from engram.env import Env
from engram.errors import DimensionMismatch, EncryptionFailed, EngramError, InvalidQuery, NoIndex
from engram.guard.visibility import Visibility, readable
from engram.index.vectors import snapshot as snapshots
from engram.index.vectors import tiers
from engram.index.vectors.filters import FilterColumns, RowFilter, has_columns
from engram.index.vectors.loaded import LoadedIndex, RowBatch, key_array, vectors_of
from engram.index.vectors.matrix import Allowed, Keys, Numbers, Rows, Scores, rotate, rotate_back
from engram.index.vectors.snapshot import SnapshotContent, SnapshotState
from engram.index.vectors.tier import SealedSegments
from engram.index.vectors.tiers import VectorLimits
from engram.log import Log
from engram.models.embedders import Vectors
from engram.settings import LiveSettings
from engram.store.ports import VectorSource
from engram.types import IndexState, Reader
from engram.values.frozen import field, frozen, mutable
from engram.values.query import Filter


@mutable
class WorkRequests:
    """The number of requests made to the worker and the number it has finished."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    requested: int = 0
    done: int = 0
    closing: bool = False

    def request(self) -> None:
        with self.changed:
            self.requested += 1
            self.changed.notify_all()

    def close(self) -> None:
        with self.changed:
            self.closing = True
            self.changed.notify_all()

    def next(self) -> int:
        """Wait for a request; return the number requested so far, or 0 when closing."""
        with self.changed:
            self.changed.wait_for(lambda: self.closing or self.requested > self.done)
            return 0 if self.closing else self.requested

    def finish(self, upto: int) -> None:
        with self.changed:
            self.done = upto
            self.changed.notify_all()

    def notify(self) -> None:
        """Wake the threads in `wait_until`, after a change of state that they may wait for."""
        with self.changed:
            self.changed.notify_all()

    def wait_until(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.closing or condition(), timeout)

    def wait_idle(self, timeout: float | None) -> bool:
        return self.wait_until(lambda: self.done >= self.requested, timeout)


log = Log("engram.index")


@frozen
class Nearest:
    """Keys of memories, best first, and the cosine of each with the query."""

    keys: Keys
    scores: Scores


class LiveIndex:
    """The vector index of one space: `start` it, `search` it from any thread, `close` it before the store.

    owner: the reader as whom the index reads rows from the store; it sees all of them.
    """

    def __init__(
        self, source: VectorSource, owner: Reader, space: str, dimensions: int, live: LiveSettings, env: Env | None = None
    ) -> None:
        self._source = source
        self._owner = owner
        self._space = space
        self._dimensions = dimensions
        self._live = live
        self._monotonic = (env or Env()).monotonic
        self._lock = threading.RLock()  # guards writes to rows, columns, seq and scopes
        self._index: LoadedIndex | None = None
        self._seq = 0
        self._scopes: dict[Visibility, Keys | None] = {}
        self._loaded = self._total = 0
        self._began = 0.0
        self._origin = ""
        self._sealed = SealedSegments()
        self._snapshot = SnapshotState()
        self._maintained = 0
        self._tuning: tuple[object, ...] = ()
        self._hurry = False
        self._note = ""
        self._problem = ""
        self._requests = WorkRequests()
        self._worker = threading.Thread(target=self._work, name="engram-vectors", daemon=True)

    # ── life ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _limits(self) -> VectorLimits:
        return self._live.tuned(VectorLimits)

    def start(self) -> None:
        """Begin to load in the background. A second call does nothing."""
        with self._lock:
            if self._worker.ident is None and not self._requests.closing:
                self._began = self._monotonic()
                self._requests.request()
                self._worker.start()

    def close(self) -> None:
        self._requests.close()
        if self._worker.ident is not None:
            self._worker.join()
            with suppress(EngramError):  # without a snapshot the next open takes longer, no more
                self._write_snapshot()
        with self._lock:
            self._index = None

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until the worker has nothing left to do; for measurements and tests."""
        self._hurry = True
        self._requests.notify()
        return self._requests.wait_idle(timeout)

    def warm(self, timeout: float | None = None, progress: Callable[[IndexState], None] | None = None) -> bool:
        """Wait until the index is loaded; return False if it is not in time, or if loading failed."""
        self.start()
        deadline = None if timeout is None else self._monotonic() + timeout
        while not self.ready and not self._problem and not self._requests.closing:
            remaining = _STEP_S if deadline is None else min(deadline - self._monotonic(), _STEP_S)
            if remaining <= 0:
                break
            self._requests.wait_until(lambda: self.ready or bool(self._problem), remaining)
            if progress is not None:
                progress(self.warmth)
        return self.ready

    @property
    def started(self) -> bool:
        return self._worker.ident is not None

    @property
    def ready(self) -> bool:
        return self._index is not None

    @property
    def loaded(self) -> int:
        """The number of memories loaded so far."""
        index = self._index
        return self._loaded if index is None else len(index.rows)

    @property
    def warmth(self) -> IndexState:
        index = self._index
        notes = tuple(note for note in (self._problem, self._note) if note)
        if index is None:
            return IndexState(self._loaded, max(self._total, self._loaded), self.started, False, "", "", 0, notes)
        count = len(index.rows)
        return IndexState(count, count, True, True, index.tier.name, self._origin, index.memory_bytes, notes)

    def relieve(self, pressure: str) -> int:
        """Free memory: drop cached masks; when the pressure is "critical", choose the tier again too.

        Return the number of bytes that the masks took.
        """
        with self._lock:
            if self._index is None or pressure == "normal":
                return 0
            before = self._index.columns.memory_bytes
            self._index.columns.drop_masks()
            self._scopes.clear()
            freed = before - self._index.columns.memory_bytes
        if pressure == "critical":
            self._requests.request()
        return freed

    # ── reading ────────────────────────────────────────────────────────────────────────────────────────────────────

    def search(
        self, reader: Reader, query: Vectors, k: int, *, where: Filter = Filter(), within: Collection[int] | None = None
    ) -> Nearest | None:
        """Return the `k` nearest memories that the reader may see and that match the filter; None while loading.

        within: keys that the store selected; required for a filter that is not `indexed` here.
        """
        rotated = self._rotated(query)
        index, allowed = self._admitted(reader, where, within)
        if index is None:
            return None
        nearest = index.tier.search(rotated, k, allowed)
        return Nearest(index.rows.keys(nearest.numbers), nearest.scores)

    def search_many(self, reader: Reader, queries: Vectors, k: int) -> list[Nearest] | None:
        """Return the nearest of many queries, one per row of `queries`; None while loading."""
        index, allowed = self._admitted(reader, Filter(), None)
        if index is None:
            return None
        results = index.tier.search_many(self._rotated(queries, many=True), k, allowed)
        return [Nearest(index.rows.keys(nearest.numbers), nearest.scores) for nearest in results]

    def _admitted(
        self, reader: Reader, where: Filter, within: Collection[int] | None
    ) -> tuple[LoadedIndex | None, Allowed | None]:
        """Return the up-to-date index and the mask of the rows that this reader may find."""
        if not has_columns(where) and within is None:
            raise InvalidQuery("the index cannot filter by attributes, names or a past time; pass the keys that the store found.")
        self._wait_briefly()
        condition, latest = RowFilter.of(readable(reader), where), self._source.changes.latest(self._owner)
        with self._lock:
            if (index := self._current(latest)) is None:
                return None, None
            allowed = index.columns.allowed(condition, self._visible(reader, condition.visibility))
            if within is not None:
                numbers = index.rows.find(key_array(within))
                numbers = numbers[numbers >= 0]
                allowed = Allowed.only(numbers[allowed.mask[numbers]], len(allowed))
        return index, allowed

    def score(self, reader: Reader, query: Vectors, keys: Sequence[int]) -> Scores | None:
        """Return the cosine of each of these memories; NaN where one has no vector or the reader may not see it.

        While the index is loading, the vectors are read from the store; None if they have another number of dimensions.
        """
        rotated = self._rotated(query)
        latest = self._source.changes.latest(self._owner)
        with self._lock:
            index = self._current(latest)
            numbers = None if index is None else self._visible_numbers(index, reader, keys)
        if index is None or numbers is None:
            stored = self._stored(reader, keys)
            return None if stored is None else stored @ rotated
        return index.tier.score(rotated, numbers)

    def background(self, query: Vectors, prior: tuple[float, float]) -> tuple[float, float]:
        """Return mean and standard deviation of the query's cosine over a sample of all vectors: the level of unrelated text."""
        index = self._index
        return prior if index is None else index.background(self._rotated(query), prior)

    def vectors(self, reader: Reader, keys: Sequence[int]) -> Vectors | None:
        """Return the vectors of these memories, one per row; NaN where one has no vector or the reader may not see it.

        While the index is loading they are read from the store, as in `score`.
        """
        latest = self._source.changes.latest(self._owner)
        with self._lock:
            index = self._current(latest)
            numbers = None if index is None else self._visible_numbers(index, reader, keys)
        if index is None or numbers is None:
            stored = self._stored(reader, keys)
            return None if stored is None else rotate_back(stored)
        vectors = np.full((len(numbers), self._dimensions), np.nan, np.float32)
        vectors[numbers >= 0] = rotate_back(index.rows.vectors(numbers[numbers >= 0]))
        return vectors

    def _wait_briefly(self) -> None:
        """Wait up to `warm_patience_s` after loading began: a slightly later answer with vectors beats one without."""
        if self._index is None and self.started and not self._problem:
            remaining = self._began + self._limits.warm_patience_s - self._monotonic()
            if remaining > 0:
                self._requests.wait_until(lambda: self.ready or bool(self._problem), wait_limit(remaining))

    def _stored(self, reader: Reader, keys: Sequence[int]) -> Vectors | None:
        """Return these memories' vectors from the store, still rotated; NaN as in `score`."""
        visible = None if readable(reader).everything else set(self._source.changes.visible_scopes(reader) or ())
        rows = self._source.vectors.rows_of(self._owner, self._space, list(dict.fromkeys(keys)))
        try:
            return vectors_of([row for row in rows if visible is None or row[1] in visible], keys, self._dimensions)
        except DimensionMismatch:
            return None

    def _rotated(self, query: Vectors, *, many: bool = False) -> Vectors:
        vector = np.ascontiguousarray(query, np.float32)
        if vector.shape[many:] != (self._dimensions,):
            raise DimensionMismatch(f"the query has the shape {vector.shape}; the space has {self._dimensions} dimensions.")
        if not np.isfinite(np.vdot(vector, vector)):
            raise InvalidQuery("the query vector has a component that is not a finite number.")
        return rotate(vector)

    def _visible_numbers(self, index: LoadedIndex, reader: Reader, keys: Sequence[int]) -> Numbers:
        """Return the row number of each key, -1 where it has none or the reader may not see it."""
        numbers = index.rows.find(key_array(keys))
        known = numbers[numbers >= 0]
        condition = RowFilter.of(readable(reader), Filter(statuses=()))
        admitted = index.columns.admits(condition, self._visible(reader, condition.visibility), known)
        numbers[numbers >= 0] = np.where(admitted, known, -1)
        return numbers

    def _visible(self, reader: Reader, visibility: Visibility) -> Keys | None:
        if visibility not in self._scopes:
            # None ("all scopes") from the store counts as no scope here: this reader's policy does not allow all of them.
            scopes = None if visibility.everything else key_array(self._source.changes.visible_scopes(reader) or ())
            self._scopes[visibility] = scopes
        return self._scopes[visibility]

    # ── following the store ────────────────────────────────────────────────────────────────────────────────────────

    def _current(self, latest: int) -> LoadedIndex | None:
        """Bring the index up to change `latest` and return it; None if it must be loaded first. Call it under the lock."""
        if self._index is None:
            if self._problem:
                self._requests.request()  # try again: the cause may be gone
            return None
        if not self._follow(self._index, latest):
            log.warning("the change log was truncated past the state of the vector index; the index is loaded again.")
            self._index = None
            self._began = self._monotonic()
            self._requests.request()
        elif self._needs_maintenance(self._index):
            self._requests.request()
        return self._index

    def _follow(self, index: LoadedIndex, latest: int) -> bool:
        """Apply all changes up to `latest`; return False if the log has a gap, or ends before the state of the index."""
        if self._seq > latest:  # another thread went further; or the vault was restored to an earlier state
            return self._seq <= self._source.changes.latest(self._owner)
        while self._seq < latest:
            changes = self._source.changes.keys_since(self._owner, self._seq, _CHANGES)
            if not changes or changes[0][0] != self._seq + 1:
                return False
            keys = sorted({key for _, key, what in changes if what != "relate"})
            if keys:
                rows = sorted(self._source.vectors.rows_of(self._owner, self._space, keys))
                if index.update(key_array(keys), RowBatch.of(rows, self._dimensions)):
                    self._scopes.clear()  # the scope is new, so no cached set of visible scopes contains it
                    index.columns.drop_masks()
            self._seq = changes[-1][0]
        return True

    # ── the worker ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _work(self) -> None:
        while requested := self._requests.next():
            try:
                if self._index is None:
                    self._load()
                    self._yield_to_first_answer()
                self._maintain()
                self._write_snapshot()
                self._problem = ""
            except EngramError as error:
                self._problem = str(error)
                self._requests.notify()
                log.warning("the vector index could not be updated: %s", error)
            self._requests.finish(requested)

    def _yield_to_first_answer(self) -> None:
        """Wait `_GRACE_S` before a faster tier is made; until then the exact scan answers.

        Loading the tier's library and making its codes beside the encoder's loading doubled the time to the first answer.
        """
        index = self._index
        if index is not None and self._chosen(index).name != index.tier.name:
            self._requests.wait_until(lambda: self._hurry, _GRACE_S)

    def _load(self) -> None:
        """Load the snapshot if the change log still reaches back to it, else the rows."""
        self._sealed, self._snapshot = SealedSegments(), SnapshotState()
        if not self._read_snapshot():
            self._read_rows()

    def _read_rows(self) -> None:
        """Read all rows, page by page. The first search applies the changes made meanwhile, from the log."""
        seq = self._source.changes.latest(self._owner)
        self._total = self._source.vectors.size(self._owner, self._space)
        rows = Rows(self._dimensions)
        index = LoadedIndex(rows, FilterColumns(rows), tiers.make("exact", rows, self._limits))
        after, more = 0, True
        while more and not self._requests.closing:
            page = self._source.vectors.rows(self._owner, self._space, after=after, limit=_PAGE)
            if page:
                index.append(RowBatch.of(page, self._dimensions))
                after = page[-1][0]
            self._loaded = rows.count
            more = len(page) == _PAGE
        self._install(index, seq, "rows")

    def _read_snapshot(self) -> bool:
        try:
            with self._source.vectors.snapshot(self._owner, self._space) as stream:
                identity = self._snapshot_identity()
                loaded = None if stream is None else snapshots.read(stream, identity, self._dimensions, self._progress)
        except (EncryptionFailed, ValueError, OSError) as error:
            log.warning("the snapshot of the vector index is not used: %s", error)
            return False
        if loaded is None:
            return False
        with self._lock:
            self._seq = loaded.seq
            if not self._follow(loaded.index, self._source.changes.latest(self._owner)):
                log.info("the change log was truncated past the snapshot of the vector index; the snapshot is not used.")
                return False
            self._sealed = loaded.sealed
            self._snapshot = SnapshotState(loaded.seq, self._monotonic(), bool(loaded.sealed.segments))
            self._install(loaded.index, self._seq, "snapshot")
        return True

    def _progress(self, loaded: int, total: int) -> bool:
        """Note the progress of loading; return True to stop it."""
        self._loaded, self._total = loaded, total
        return self._requests.closing

    def _install(self, index: LoadedIndex, seq: int, origin: str) -> None:
        with self._lock:
            if not self._requests.closing:
                self._scopes.clear()
                self._seq, self._origin = seq, origin
                self._index = index
        self._requests.notify()

    def _snapshot_identity(self) -> str:
        """Return space, dimensions and model, which a snapshot must have in common with this index."""
        space = self._source.vectors.space(self._space)
        return f"{self._space}\n{self._dimensions}\n{space.model if space else ''}"

    def _write_snapshot(self) -> None:
        """Write a snapshot if the stored one is old, or lacks the tier's codes, which took long to make."""
        limits, latest = self._limits, self._source.changes.latest(self._owner)
        with self._lock:  # a process that only wrote has a long backlog of changes: the next open reads it from the log
            index = self._current(latest) if latest - self._seq <= _CHANGES else self._index
        if index is None or len(index.rows) < limits.snapshot_from:
            return
        paused = self._requests.closing or self._monotonic() - self._snapshot.at >= limits.snapshot_pause_s
        exists = self._source.vectors.has_snapshot(self._space)
        if not self._snapshot.outdated(index, self._seq, paused=paused, exists=exists):
            return
        try:
            self._source.vectors.put_snapshot(self._owner, self._space, self._fill)
        except EngramError as error:
            log.warning("the snapshot of the vector index was not written: %s", error.code)

    def _fill(self, out: SealedFileWriter) -> int:
        latest = self._source.changes.latest(self._owner)  # read after the file was created: see `Vectors.put_snapshot`
        with self._lock:
            index = self._current(latest)
            if index is None:
                raise NoIndex("the vector index is being loaded again; its snapshot is written later.")
            content = SnapshotContent.of(self._snapshot_identity(), self._seq, index)
        sealed = content.tier is not None and bool(content.tier.memory_bytes)
        self._snapshot = SnapshotState(content.seq, self._monotonic(), sealed)
        return snapshots.write(out, content)

    def _needs_maintenance(self, index: LoadedIndex) -> bool:
        grown = abs(index.rows.count - self._maintained) >= max(_GROWTH, self._maintained // 8)
        return (
            grown or index.tier.unsealed or index.rows.wasteful or self._tuning != (self._live.now.vector_backend, self._limits)
        )

    def _maintain(self) -> None:
        """Compact, choose the tier and seal, while searches go on. Only the worker replaces the index."""
        index = self._index
        if index is None or self._requests.closing:
            return
        if index.rows.wasteful:
            index, self._sealed = self._compacted(index), SealedSegments()  # rows have new numbers: stored segments do not fit
        tuning, choice = (self._live.now.vector_backend, self._limits), self._chosen(index)
        self._note = choice.note
        if choice.name != index.tier.name or self._tuning != tuning:
            index = LoadedIndex(index.rows, index.columns, tiers.make(choice.name, index.rows, self._limits))
            index.tier.unpack(self._sealed)
        self._sealed = SealedSegments()
        while index.tier.unsealed and not self._requests.closing:
            index.tier.seal(lambda: self._requests.closing)
        self._maintained, self._tuning = index.rows.count, tuning
        self._replace(index)

    def _chosen(self, index: LoadedIndex) -> tiers.Choice:
        settings = self._live.now
        budget = settings.ram_critical_mib - (rss_bytes() - index.memory_bytes) / 2**20
        preferred = settings.vector_backend
        return tiers.choose(len(index.rows), self._dimensions, budget, preferred, self._limits, index.tier.name)

    def _compacted(self, old: LoadedIndex) -> LoadedIndex:
        """Return an index without the removed rows.

        Codes are copied while searches go on; changes made meanwhile are copied under the lock.
        """
        rows = Rows(self._dimensions)
        before = old.rows.count
        kept = old.rows.living()
        kept = kept[np.argsort(old.rows.keys(kept))]  # in key order, as loading does
        for start in range(0, len(kept), _PAGE):
            page = kept[start : start + _PAGE]
            rows.add(old.rows.keys(page), *old.rows.gather(page))
        tier = tiers.make(old.tier.name, rows, self._limits)
        while tier.unsealed and not self._requests.closing:
            tier.seal(lambda: self._requests.closing)
        with self._lock:
            added = old.rows.living()
            added = added[np.searchsorted(added, before) :]
            rows.remove(np.flatnonzero(~old.rows.alive(old.rows.count)[kept]))
            rows.add(old.rows.keys(added), *old.rows.gather(added))
            columns = FilterColumns(rows)
            old.columns.copy_to(columns, np.concatenate((kept, added)))
            index = LoadedIndex(rows, columns, tier)
            self._replace(index)
        return index

    def _replace(self, index: LoadedIndex) -> None:
        with self._lock:
            if self._index is not None:  # else a search found it outdated, and it is loaded again
                self._index = index


_PAGE = 2048
"""Rows read from the store at a time: few, because the process never gives back the memory that a page needs meanwhile."""

_CHANGES = 10_000
"""Changes applied at a time."""

_STEP_S = 0.05

_GRACE_S = 2.0
"""Pause after loading before the worker makes a faster tier, so that the first answer has the processor."""

_GROWTH = 64
"""New rows after which the choice of the tier is made again."""
