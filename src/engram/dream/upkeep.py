"""The background thread of an open vault: backup, deferred check, memory pressure, backfill, boxes, due passes.

It works while nobody waits: it pauses between pages, yields to calls, and ends when the vault closes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Protocol

from engram.capture.boxes import fill_boxes
from engram.capture.observer import Observer
from engram.capture.screen import rescreen
from engram.crypto.hardening import rss_bytes, trim_heap
from engram.deadline import Deadline, cancellable
from engram.dream.backfill import Backfill
from engram.dream.job import JobContext
from engram.dream.jobs import jobs_of
from engram.dream.limits import DreamLimits
from engram.dream.runner import run
from engram.dream.schedule import Idle, verb_due
from engram.env import Env
from engram.errors import Conflict, DiskFull, EngramError, VaultDamaged
from engram.guard.limits import pressure_at
from engram.index.vectors.live import LiveIndex
from engram.log import Log
from engram.models.embedders import Embedder
from engram.recall.searcher import Searcher
from engram.settings import LiveSettings
from engram.store.ports import Store
from engram.types import Policy, Reader, Role

log = Log("engram")

_OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)

_PAGE = 64
"""Memories of older releases that one transaction brings up to date, which blocks other writers for some 20 ms."""

_PASS_BYTES = 64 * 2**20
"""Memory that a pass may take under memory pressure. Over 6,000 memories, consolidating took 8 MiB and dreaming 17."""

_PAUSE_S = 0.02
_IDLE_S = 0.25
"""The pause between two pages of upkeep, and the time without a call before the next page."""


class VaultParts(Protocol):
    """The parts of an open vault that upkeep works with. Encoder, index, observer and searcher are made on first use."""

    store: Store
    live: LiveSettings
    env: Env

    @property
    def embedder(self) -> Embedder | None: ...

    @property
    def index(self) -> LiveIndex | None: ...

    @property
    def loaded_index(self) -> LiveIndex | None: ...

    @property
    def observer(self) -> Observer: ...

    @property
    def searcher(self) -> Searcher: ...

    @property
    def extracts(self) -> bool: ...

    def find_embedder_again(self) -> None: ...

    def job_context(self, reader: Reader) -> JobContext: ...


class Upkeep:
    """The upkeep of one open vault, in a thread of its own from `start` to `join`."""

    def __init__(self, vault: VaultParts) -> None:
        self.freed: tuple[str, ...] = ()
        self._vault = vault
        self._store, self._live, self._env = vault.store, vault.live, vault.env
        self.backfill = Backfill(vault.store, _OWNER)
        self._rescreened_to = 0
        self._stopping = threading.Event()
        self._running: Deadline | None = None
        self._thread = threading.Thread(target=self._run, name="engram-upkeep", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Cancel the work in progress and let the thread end; `join` waits for it."""
        self._stopping.set()
        if self._running is not None:
            self._running.cancel()

    def join(self) -> None:
        """Wait for the end of the thread, unless this is the thread or it was not started."""
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        unchecked, rounds = self._store.health.unchecked, 0
        self._store.ignore_this_thread()
        while True:
            try:
                self._store.health.backup_if_due(_OWNER)  # first, and closing waits for it, so that short sessions back up too
                if rounds:  # the first answer of a session needs the processor
                    if unchecked:
                        unchecked = False
                        self._store.health.check(_OWNER)
                    self._tidy()
                if rounds > 1:  # a short session does not load an encoder that it does not use
                    with self.cancelled_by_stop():
                        self._vault.find_embedder_again()
                        self.backfill.run(self._vault.embedder, self._live.now.embed_batch, self._pause)
                    self.run_due_pass()
            except EngramError as error:
                if not self._stopping.is_set():
                    log.warning("upkeep of the vault was postponed: %s", error.code)
            except Exception as error:  # noqa: BLE001  a defect in one task must not end the backups
                log.warning("upkeep of the vault was postponed by a defect: %s", type(error).__name__)
            limits = self._live.tuned(DreamLimits)
            pause_s = limits.care_pause_s if rounds else min(limits.warm_after_s, limits.care_pause_s)
            if self._stopping.wait(pause_s):
                return
            rounds += 1

    def _tidy(self) -> None:
        """Load the index, free memory, expire turns, bring old rows up to date, extract from waiting turns, fill boxes."""
        if self._vault.index is not None:  # the index of a long session is loaded before its first question (V9)
            self.relieve()
        self._store.turns.expire(_OWNER)
        while self._store.facts.backfill(_OWNER, limit=_PAGE) and not self._pause():
            pass
        with suppress(DiskFull, VaultDamaged):  # nothing can be written
            self._protect_old()
        if self._vault.extracts:
            with self.cancelled_by_stop():
                self._vault.observer.read_waiting()
        self.fill_boxes(rest=self._pause)

    def relieve(self) -> str:
        """Free memory that can be rebuilt if the process uses too much. Return the name of the memory pressure."""
        pressure, index = pressure_at(rss_bytes(), self._live.now), self._vault.loaded_index
        if pressure == "normal":
            self.freed = ()
            return pressure
        masks = index.relieve(pressure) if index is not None else 0
        freed = [f"{masks / 1024:.0f} KiB of filter masks of the index"] if masks else []
        if pressure == "critical":
            idle = self._store.health.relieve()
            freed += [f"the page caches of {idle} idle connections"] if idle else []
            freed += ["the tier of the index was chosen anew"] if index is not None and index.ready else []
        trim_heap()
        self.freed = tuple(freed) or self.freed
        return pressure

    def _protect_old(self) -> None:
        """Encrypt and screen memories of older releases as this release would, a page at a time."""
        while self._store.sensitivity.seal_old(_OWNER, limit=_PAGE) and not self._pause():
            pass
        while self._live.now.guard_injection and not self._stopping.is_set():
            upto = rescreen(self._store, _OWNER, self._live.now, after=self._rescreened_to, page=_PAGE)
            if upto is None:
                return
            self._rescreened_to = upto
            self._pause()

    def fill_boxes(self, rest: Callable[[], bool] = lambda: False) -> int:
        """Put new memories into boxes and return their number: 0 if the vault cannot be written."""
        try:
            return fill_boxes(self._store, _OWNER, self._live, rest=rest)
        except (DiskFull, VaultDamaged):
            return 0

    def run_due_pass(self) -> None:
        """Run the pass that is due, or resume an unfinished one, while the vault is idle (K13)."""
        context = self._vault.job_context(_OWNER)
        verb = verb_due(context, Idle(self._store.last_used, self._env.monotonic()))
        if verb:
            stop = partial(self.should_stop_pass, rss_bytes())
            # Another process runs a pass, or the vault cannot be written.
            with suppress(Conflict, DiskFull, VaultDamaged), self.cancelled_by_stop():
                run(self._vault.job_context(_OWNER), jobs_of(verb), self._vault.searcher, verb=verb, should_stop=stop)

    @contextmanager
    def cancelled_by_stop(self) -> Iterator[None]:
        """Let `stop` cancel the work in this block, so that closing waits for no page, no probe question and no model."""
        with cancellable() as self._running:
            if self._stopping.is_set():
                self._running.cancel()
            yield

    def should_stop_pass(self, rss_before: int) -> bool:
        """Pause between two pages of a pass. Return True if it must stop: the vault is in use or closing, or memory is short and
        the process grew since it held `rss_before` bytes. Without the last condition a large program would never run a pass."""
        if self._stopping.wait(_PAUSE_S):
            return True
        rss = rss_bytes()
        return self._in_use() or (rss - rss_before > _PASS_BYTES and pressure_at(rss, self._live.now) == "critical")

    def _pause(self) -> bool:
        """Wait for a while until the vault is idle, so that upkeep does not slow it down (K13). Return True if closing."""
        if self._stopping.wait(_PAUSE_S):
            return True
        for _ in range(int(self._live.tuned(DreamLimits).care_pause_s / 4 / _IDLE_S)):
            if not self._in_use():
                break
            if self._stopping.wait(_IDLE_S):
                return True
        return False

    def _in_use(self) -> bool:
        return self._env.monotonic() - self._store.last_used < _IDLE_S
