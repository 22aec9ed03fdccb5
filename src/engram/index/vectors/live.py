"""The vectors of one space of one open vault, always as the store has them.

Comes in: a reader, a question's vector and a filter. Goes out: keys with cosines, best first; None while it is still
loading, and the caller goes on with words alone and says so.

A worker loads the rows when asked to start, then tends what is served: seals, compacts, swaps tiers; each is built aside and
put in place by one assignment, so a search never waits for it. Before each search the change log is read on from where it was
left, so that what any process has written is found. Visibility and filters are masks applied inside the scan.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

import numpy as np

from engram.deadline import wait_limit
from engram.env import Env
from engram.errors import DimensionMismatch, EncryptionFailed, EngramError, InvalidQuery, NoIndex
from engram.frozen import frozen
from engram.guard.process import rss_bytes
from engram.guard.scopes import Visibility, readable
from engram.guard.sealing import SealedFileWriter
from engram.index.vectors import registry
from engram.index.vectors import snapshot as snapshots
from engram.index.vectors.encoding import turn, turn_back
from engram.index.vectors.marks import Condition, Marks
from engram.index.vectors.protocol import Allowed, Keys, Numbers, Scores, Sealed
from engram.index.vectors.rows import Rows
from engram.index.vectors.served import Batch, Served, array, spread
from engram.index.vectors.snapshot import Put
from engram.index.vectors.source import VectorSource
from engram.index.vectors.tasks import Tasks
from engram.log import Log
from engram.models.embed import Vectors
from engram.settings import LiveSettings
from engram.store.protocol import Filter
from engram.types import IndexState, Reader

log = Log("engram.index")


@frozen
class Nearest:
    """Keys of memories, best first, and the cosine of each with the question."""

    keys: Keys
    scores: Scores


class LiveIndex:
    """`start` it, `search` it from any thread, `close` it before the store. `owner` is who it reads the rows as."""

    def __init__(
        self, source: VectorSource, owner: Reader, space: str, dimensions: int, live: LiveSettings, env: Env | None = None
    ) -> None:
        self._source = source
        self._owner = owner
        self._space = space
        self._dimensions = dimensions
        self._live = live
        self._monotonic = (env or Env()).monotonic
        self._lock = threading.RLock()  # rows, marks, seq and scopes are written under it
        self._served: Served | None = None
        self._seq = 0
        self._scopes: dict[Visibility, Keys | None] = {}
        self._loaded = self._total = 0
        self._began = 0.0
        self._origin = ""
        self._sealed = Sealed()
        self._put = Put()
        self._tended = 0
        self._tuning: tuple[object, ...] = ()
        self._hurry = False
        self._note = ""
        self._problem = ""
        self._tasks = Tasks()
        self._worker = threading.Thread(target=self._work, name="engram-vectors", daemon=True)

    # ── life ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self) -> None:
        """Begin to load, in the background. Starting twice is starting once."""
        with self._lock:
            if self._worker.ident is None and not self._tasks.closing:
                self._began = self._monotonic()
                self._tasks.call()
                self._worker.start()

    def close(self) -> None:
        self._tasks.close()
        if self._worker.ident is not None:
            self._worker.join()
            with suppress(EngramError):  # only time is lost
                self._put_away()
        with self._lock:
            self._served = None

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until the worker has nothing left to do; for measurements and tests."""
        self._hurry = True
        self._tasks.step()
        return self._tasks.settle(timeout)

    def warm(self, timeout: float | None = None, progress: Callable[[IndexState], None] | None = None) -> bool:
        """Wait until searches are answered; False if they are not in time, or something stands in the way."""
        self.start()
        deadline = None if timeout is None else self._monotonic() + timeout
        while not self.ready and not self._problem and not self._tasks.closing:
            left = _STEP_S if deadline is None else min(deadline - self._monotonic(), _STEP_S)
            if left <= 0:
                break
            self._tasks.until(lambda: self.ready or bool(self._problem), left)
            if progress is not None:
                progress(self.warmth)
        return self.ready

    @property
    def started(self) -> bool:
        return self._worker.ident is not None

    @property
    def ready(self) -> bool:
        return self._served is not None

    @property
    def loaded(self) -> int:
        """How many memories it knows by now."""
        served = self._served
        return self._loaded if served is None else len(served.rows)

    @property
    def warmth(self) -> IndexState:
        served = self._served
        notes = tuple(note for note in (self._problem, self._note) if note)
        if served is None:
            return IndexState(self._loaded, max(self._total, self._loaded), self.started, False, "", "", 0, notes)
        count = len(served.rows)
        return IndexState(count, count, True, True, served.index.name, self._origin, served.memory_bytes, notes)

    def relieve(self, pressure: str) -> int:
        """Shed what can be made again: masks when memory pressure is elevated; when critical, the tier is chosen anew too.

        Returns how many bytes of masks went.
        """
        with self._lock:
            if self._served is None or pressure == "normal":
                return 0
            before = self._served.marks.memory_bytes
            self._served.marks.forget()
            self._scopes.clear()
            shed = before - self._served.marks.memory_bytes
        if pressure == "critical":
            self._tasks.call()
        return shed

    # ── reading ────────────────────────────────────────────────────────────────────────────────────────────────────

    def search(
        self, reader: Reader, query: Vectors, k: int, *, where: Filter = Filter(), within: Collection[int] | None = None
    ) -> Nearest | None:
        """The `k` nearest of what this reader may see and asks for; None while loading.

        `within` narrows to keys that the store found, and must be given for a filter that is not `indexed` here.
        """
        question = self._turned(query)
        served, allowed = self._admitted(reader, where, within)
        if served is None:
            return None
        found = served.index.search(question, k, allowed)
        return Nearest(served.rows.keys(found.numbers), found.scores)

    def search_many(self, reader: Reader, queries: Vectors, k: int) -> list[Nearest] | None:
        """The same for many questions at once, a row each; None while loading."""
        served, allowed = self._admitted(reader, Filter(), None)
        if served is None:
            return None
        found = served.index.search_many(self._turned(queries, many=True), k, allowed)
        return [Nearest(served.rows.keys(one.numbers), one.scores) for one in found]

    def _admitted(self, reader: Reader, where: Filter, within: Collection[int] | None) -> tuple[Served | None, Allowed | None]:
        """What is served, up to date, and which of its rows this reader may find."""
        if not where.indexed and within is None:
            raise InvalidQuery("attributes and the past are looked up by the store; the index needs the keys.")
        self._wait_a_little()
        condition, latest = Condition.of(readable(reader), where), self._source.latest_change(self._owner)
        with self._lock:
            if (served := self._current(latest)) is None:
                return None, None
            allowed = served.marks.allowed(condition, self._visible(reader, condition.visibility))
            if within is not None:
                numbers = served.rows.find(array(within))
                numbers = numbers[numbers >= 0]
                allowed = Allowed.only(numbers[allowed.mask[numbers]], len(allowed))
        return served, allowed

    def score(self, reader: Reader, query: Vectors, keys: Sequence[int]) -> Scores | None:
        """The cosine of each of these memories; NaN where there is no vector or this reader does not see it.

        While loading they are read from the store, one by one; None if what it holds is of another length.
        """
        question = self._turned(query)
        latest = self._source.latest_change(self._owner)
        with self._lock:
            served = self._current(latest)
            numbers = None if served is None else self._seen(served, reader, keys)
        if served is None or numbers is None:
            stored = self._stored(reader, keys)
            return None if stored is None else stored @ question
        return served.index.score(question, numbers)

    def background(self, query: Vectors, prior: tuple[float, float]) -> tuple[float, float]:
        """Mean and spread of the question's cosine over a sample of all vectors: what "far from everything" means for it."""
        served = self._served
        return prior if served is None else served.background(self._turned(query), prior)

    def vectors(self, reader: Reader, keys: Sequence[int]) -> Vectors | None:
        """The vectors of these memories, row by row; NaN where there is none or this reader does not see it.

        From the store while loading, as with `score`.
        """
        latest = self._source.latest_change(self._owner)
        with self._lock:
            served = self._current(latest)
            numbers = None if served is None else self._seen(served, reader, keys)
        if served is None or numbers is None:
            stored = self._stored(reader, keys)
            return None if stored is None else turn_back(stored)
        made = np.full((len(numbers), self._dimensions), np.nan, np.float32)
        made[numbers >= 0] = turn_back(served.rows.vectors(numbers[numbers >= 0]))
        return made

    def _wait_a_little(self) -> None:
        """Just after loading began, an answer with vectors a moment later is better than one without."""
        if self._served is None and self.started and not self._problem:
            left = self._began + self._live.now.warm_patience_s - self._monotonic()
            if left > 0:
                self._tasks.until(lambda: self.ready or bool(self._problem), wait_limit(left))

    def _stored(self, reader: Reader, keys: Sequence[int]) -> Vectors | None:
        """These memories' vectors from the store, still turned; NaN as in `score`."""
        visible = None if readable(reader).everything else set(self._source.visible_scopes(reader) or ())
        found = self._source.space_rows_of(self._owner, self._space, list(dict.fromkeys(keys)))
        try:
            return spread([row for row in found if visible is None or row[1] in visible], keys, self._dimensions)
        except DimensionMismatch:
            return None

    def _turned(self, query: Vectors, *, many: bool = False) -> Vectors:
        question = np.ascontiguousarray(query, np.float32)
        if question.shape[many:] != (self._dimensions,):
            raise DimensionMismatch(f"the question has {question.shape} dimensions; the space holds {self._dimensions}.")
        if not np.isfinite(np.vdot(question, question)):
            raise InvalidQuery("the question's vector is not made of numbers.")
        return turn(question)

    def _seen(self, served: Served, reader: Reader, keys: Sequence[int]) -> Numbers:
        numbers = served.rows.find(array(keys))
        known = numbers[numbers >= 0]
        condition = Condition.of(readable(reader), Filter(statuses=()))
        admitted = served.marks.admits(condition, self._visible(reader, condition.visibility), known)
        numbers[numbers >= 0] = np.where(admitted, known, -1)
        return numbers

    def _visible(self, reader: Reader, visibility: Visibility) -> Keys | None:
        if visibility not in self._scopes:
            # A store that says "all" to a reader who does not see all is not believed.
            seen = None if visibility.everything else array(self._source.visible_scopes(reader) or ())
            self._scopes[visibility] = seen
        return self._scopes[visibility]

    # ── following the store ────────────────────────────────────────────────────────────────────────────────────────

    def _current(self, latest: int) -> Served | None:
        """What is served, brought up to change `latest`; None if it must be loaded first. Under the lock."""
        if self._served is None:
            if self._problem:
                self._tasks.call()  # try again: what stood in the way may be gone
            return None
        if not self._follow(self._served, latest):
            log.warning("the change log no longer reaches back to where the index was; loading it anew")
            self._served = None
            self._began = self._monotonic()
            self._tasks.call()
        elif self._wants_care(self._served):
            self._tasks.call()
        return self._served

    def _follow(self, served: Served, latest: int) -> bool:
        """Take in all changes up to `latest`; False if the log was cut in between, or ends before where we are."""
        if self._seq > latest:  # another thread went further; or the vault was put back to an earlier state
            return self._seq <= self._source.latest_change(self._owner)
        while self._seq < latest:
            changes = self._source.changed_keys(self._owner, self._seq, _CHANGES)
            if not changes or changes[0][0] != self._seq + 1:
                return False
            keys = sorted({key for _, key, what in changes if what != "relate"})
            if keys:
                found = sorted(self._source.space_rows_of(self._owner, self._space, keys))
                if served.take_in(array(keys), Batch.of(found, self._dimensions)):
                    self._scopes.clear()  # a scope that no reader's set can have in it yet
                    served.marks.forget()
            self._seq = changes[-1][0]
        return True

    # ── the worker ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _work(self) -> None:
        while called := self._tasks.next():
            try:
                if self._served is None:
                    self._load()
                    self._let_others_first()
                self._tend()
                self._put_away()
                self._problem = ""
            except EngramError as error:
                self._problem = str(error)
                self._tasks.step()
                log.warning("the vector index could not be brought up to date: %s", error)
            self._tasks.answer(called)

    def _let_others_first(self) -> None:
        """What was loaded answers by the plain scan. A faster tier has a library to load and codes to make, which can wait
        until the process has given its first answer: beside the encoder's loading it doubled the time to that."""
        served = self._served
        if served is not None and self._chosen(served).name != served.index.name:
            self._tasks.until(lambda: self._hurry, _GRACE_S)

    def _load(self) -> None:
        """From the snapshot if there is one that the log still reaches back to, else from the rows."""
        self._sealed, self._put = Sealed(), Put()
        if not self._thaw():
            self._read_rows()

    def _read_rows(self) -> None:
        """Read all rows, page by page; what changes meanwhile is taken in by the first search, from the log."""
        seq = self._source.latest_change(self._owner)
        self._total = self._source.space_size(self._owner, self._space)
        rows = Rows(self._dimensions)
        served = Served(rows, Marks(rows), registry.make("exact", rows, self._live.now))
        after, more = 0, True
        while more and not self._tasks.closing:
            page = self._source.space_rows(self._owner, self._space, after=after, limit=_PAGE)
            if page:
                served.append(Batch.of(page, self._dimensions))
                after = page[-1][0]
            self._loaded = rows.count
            more = len(page) == _PAGE
        self._begin(served, seq, "rows")

    def _thaw(self) -> bool:
        try:
            with self._source.snapshot(self._owner, self._space) as kept:
                thawed = None if kept is None else snapshots.read(kept, self._about(), self._dimensions, self._told)
        except (EncryptionFailed, ValueError, OSError) as error:
            log.warning("the snapshot of the vector index is not used: %s", error)
            return False
        if thawed is None:
            return False
        with self._lock:
            self._seq = thawed.seq
            if not self._follow(thawed.served, self._source.latest_change(self._owner)):
                log.info("the change log no longer reaches back to the snapshot of the vector index; it is not used")
                return False
            self._sealed = thawed.sealed
            self._put = Put(thawed.seq, self._monotonic(), bool(thawed.sealed.segments))
            self._begin(thawed.served, self._seq, "snapshot")
        return True

    def _told(self, loaded: int, total: int) -> bool:
        self._loaded, self._total = loaded, total
        return self._tasks.closing

    def _begin(self, served: Served, seq: int, origin: str) -> None:
        with self._lock:
            if not self._tasks.closing:
                self._scopes.clear()
                self._seq, self._origin = seq, origin
                self._served = served
        self._tasks.step()

    def _about(self) -> str:
        """What a snapshot must be of."""
        held = self._source.space(self._space)
        return f"{self._space}\n{self._dimensions}\n{held.model if held else ''}"

    def _put_away(self) -> None:
        """Write a snapshot if the one there is has become old, or lacks codes that took long."""
        settings, latest = self._live.now, self._source.latest_change(self._owner)
        with self._lock:  # who only wrote never asked for what was written; a long list of it is left to the next open
            served = self._current(latest) if latest - self._seq <= _CHANGES else self._served
        if served is None or len(served.rows) < settings.snapshot_from:
            return
        paused = self._tasks.closing or self._monotonic() - self._put.at >= settings.snapshot_pause_s
        there = self._source.has_snapshot(self._space)
        if not self._put.outdated(served, self._seq, paused=paused, there=there):
            return
        try:
            self._source.put_snapshot(self._owner, self._space, self._fill)
        except EngramError as error:
            log.warning("the snapshot of the vector index was not written: %s", error.code)

    def _fill(self, out: SealedFileWriter) -> int:
        latest = self._source.latest_change(self._owner)  # after the file was made: see `shelving`
        with self._lock:
            served = self._current(latest)
            if served is None:
                raise NoIndex("the index is being loaded anew.")
            frozen = snapshots.Frozen.of(self._about(), self._seq, served)
        self._put = Put(frozen.seq, self._monotonic(), frozen.tier is not None and bool(frozen.tier.memory_bytes))
        return snapshots.write(out, frozen)

    def _wants_care(self, served: Served) -> bool:
        grown = abs(served.rows.count - self._tended) >= max(_GROWTH, self._tended // 8)
        return grown or served.index.unsealed or served.wasteful or self._tuning != registry.tuning(self._live.now)

    def _tend(self) -> None:
        """Compact, choose the tier and seal, each beside the searches that go on. Only the worker replaces what is served."""
        served = self._served
        if served is None or self._tasks.closing:
            return
        if served.wasteful:
            served, self._sealed = self._compacted(served), Sealed()  # other numbers: codes that were put away do not fit
        settings, choice = self._live.now, self._chosen(served)
        self._note = choice.note
        if choice.name != served.index.name or self._tuning != registry.tuning(settings):
            served = Served(served.rows, served.marks, registry.make(choice.name, served.rows, settings))
            served.index.unpack(self._sealed)
        self._sealed = Sealed()
        while served.index.unsealed and not self._tasks.closing:
            served.index.seal(lambda: self._tasks.closing)
        self._tended, self._tuning = served.rows.count, registry.tuning(settings)
        self._serve(served)

    def _chosen(self, served: Served) -> registry.Choice:
        settings = self._live.now
        budget = settings.ram_critical_mib - (rss_bytes() - served.memory_bytes) / 2**20
        return registry.choose(len(served.rows), self._dimensions, budget, settings, served.index.name)

    def _compacted(self, old: Served) -> Served:
        """Rows without the removed ones. Codes are copied beside the searches; what changed meanwhile, under the lock."""
        rows = Rows(self._dimensions)
        before = old.rows.count
        kept = old.rows.living()
        kept = kept[np.argsort(old.rows.keys(kept))]  # in the order of keys, as when they are loaded
        for start in range(0, len(kept), _PAGE):
            some = kept[start : start + _PAGE]
            rows.add(old.rows.keys(some), *old.rows.gather(some))
        index = registry.make(old.index.name, rows, self._live.now)
        while index.unsealed and not self._tasks.closing:
            index.seal(lambda: self._tasks.closing)
        with self._lock:
            since = old.rows.living()
            since = since[np.searchsorted(since, before) :]
            rows.remove(np.flatnonzero(~old.rows.alive(old.rows.count)[kept]))
            rows.add(old.rows.keys(since), *old.rows.gather(since))
            marks = Marks(rows)
            old.marks.copy_to(marks, np.concatenate((kept, since)))
            served = Served(rows, marks, index)
            self._serve(served)
        return served

    def _serve(self, served: Served) -> None:
        with self._lock:
            if self._served is not None:  # else a search found it outdated: it is loaded anew
                self._served = served


_PAGE = 2048
"""Rows read from the store at a time: few, because what a page needs besides its rows stays with the process."""

_CHANGES = 10_000
"""Changes taken in at a time."""

_STEP_S = 0.05

_GRACE_S = 2.0
"""How long after loading the worker leaves the processor to others before it makes a faster tier."""

_GROWTH = 64
"""New rows after which the choice of the tier is looked at again."""
