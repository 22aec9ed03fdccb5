"""An open vault, shared by all its views: its store, settings, models and index, and its life from open to close.

The encoder and the vector index are made on first use. However a program ends, its vaults are closed in order.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType

from engram import settings as settings_room
from engram.capture.boxes import fill_boxes
from engram.capture.embeddings import SPACE, Tools, fill, space_of
from engram.capture.episodes import Chronicle
from engram.capture.extraction import extractor_by
from engram.capture.observer import Observer
from engram.capture.redaction import sendable
from engram.capture.screen import rescreen
from engram.crypto import keychain
from engram.crypto.keys import MasterKey
from engram.crypto.process import harden, rss_bytes, trim_heap
from engram.deadline import Deadline, cancellable, without_deadline
from engram.dream.job import JobContext
from engram.dream.jobs import jobs_of
from engram.dream.limits import DreamLimits
from engram.dream.runner import run
from engram.dream.schedule import Idle, verb_due
from engram.env import Env
from engram.errors import Conflict, DiskFull, EmbedderUnavailable, EngramError, NotFound, VaultDamaged, VaultLocked
from engram.guard.limits import pressure_at
from engram.index.vectors.live import LiveIndex
from engram.log import Log
from engram.models import catalog
from engram.models.chat_endpoints import language_model
from engram.models.connections import ConnectionLimits
from engram.models.embedders import Embedder, OnnxEmbedder
from engram.models.embedding_endpoints import RemoteEmbedder, embedding_endpoint
from engram.models.language_models import Extractor
from engram.models.rerankers import OnnxReranker, Reranker
from engram.models.spending import Ledger
from engram.recall.searcher import Searcher
from engram.rules.duplicates import DuplicateWeights
from engram.rules.edges import EdgeWeights
from engram.settings import LiveSettings
from engram.store.credentials import Ask, Credentials
from engram.store.open import open_store
from engram.types import EncoderState, Health, LanguageModelState, Policy, Reader, Role, Turn
from engram.values.frozen import replace
from engram.working.memory import save_all
from engram.working.prefetch import Prefetcher
from engram.working.sets import WorkingSets

log = Log("engram")

_OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)
_ENCODERS: dict[str, OnnxEmbedder] = {}
"""The encoders of this process by model, so that several open vaults read a model's files once."""


_PAGE = 256
"""Memories whose vectors are made and stored together while a caller waits."""

_OLD = 64
"""Memories read for names and facts in one transaction, which blocks other writers for some 20 ms."""

_TAKES = 64 * 2**20
"""Memory that a pass may take under memory pressure. Over 6,000 memories, consolidating took 8 MiB and dreaming 17."""

_BREATH_S = 0.02
_QUIET_S = 0.25
"""The pause between two pages of upkeep, and the time without a call before the next page."""


class OpenVault:
    """An open vault: making one opens it, and `close` closes it."""

    def __init__(
        self,
        path: str | Path | None,
        credentials: Credentials,
        *,
        settings: Mapping[str, object] | None,
        env: Env,
        session: str | None,
        embedder: Embedder | None,
        reranker: Reranker | None = None,
        extractor: Extractor | None = None,
        llm: Callable[[str], str] | None = None,
        tuning: Iterable[object] = (),
    ) -> None:
        self.env = env
        self.live = LiveSettings(settings, monotonic=env.monotonic, tuning=tuning)
        if self.live.now.harden_process:
            for note in harden():
                log.info("%s", note)
        where = vault_path(self.live.now.home or settings_room.home()) if path is None else vault_path(path)
        self.store, self.notice = open_store(where, self.live, env, credentials)
        self.session = session or env.new_id()
        self.closed = False
        self._ending = threading.Event()
        self._pass: Deadline | None = None
        self._given = embedder
        folder = self.live.now.reranker
        self._reranker = reranker or (OnnxReranker(folder) if folder else None)
        self._embedder: Embedder | None = None
        self._sought = False
        self._seeking = threading.Lock()
        self._filled_to = -1
        self._screened_to = 0
        ledger = Ledger(partial(self.store.quotas.spend, _OWNER), partial(self.store.quotas.spent, _OWNER))
        limits = self.live.tuned(ConnectionLimits)
        self.llm = language_model(lambda: self.live.now, partial(llm_key, self.live), ledger, env, llm, limits)
        self._extractor = extractor or (None if self.llm is None else extractor_by(self.llm))
        self.working_sets = WorkingSets(self.store, lambda: self.embedder, self.live, env, self.session, self._capture_evicted)
        self.prefetcher = Prefetcher(self.working_sets, lambda: self.searcher, self.live, env)
        self._observer: Observer | None = None
        self._searcher: Searcher | None = None
        self._index: LiveIndex | None = None
        self._index_lock = threading.Lock()
        self._shed: tuple[str, ...] = ()
        self._closing = threading.RLock()
        _OPEN.add(self)
        if self.live.now.close_on_sigterm:
            _heed_sigterm()
        self._care = threading.Thread(target=self._take_care, name="engram-care", daemon=True)
        self._care.start()

    @property
    def embedder(self) -> Embedder | None:
        """The encoder that was passed in, else the configured endpoint, else the installed model; None for text search alone."""
        with self._seeking:
            if not self._sought:
                self._embedder, self._sought = self._find_embedder(), True
            return self._embedder

    def _find_embedder(self) -> Embedder | None:
        settings = self.live.now
        if self._given is not None or settings.model == "none":
            return self._given
        if (endpoint := embedding_endpoint(settings, self.live.tuned(ConnectionLimits))) is not None:
            return RemoteEmbedder(endpoint, self.env, self.store.vectors.space(SPACE), sendable)
        model = catalog.find(catalog.DEFAULT if settings.model == "auto" else settings.model)
        return _ENCODERS.setdefault(model.name, OnnxEmbedder(model)) if model.installed() else None

    @property
    def index(self) -> LiveIndex | None:
        """The vector index of the encoder in use; None without an encoder, or if the vault holds another model's vectors."""
        own = space_of(self.embedder)
        if own is None:
            return None
        with self._index_lock:
            if self._index is None:
                if self.store.vectors.space(SPACE) not in (None, own):
                    return None
                self._index = LiveIndex(self.store, _OWNER, SPACE, own.dimensions, self.live, self.env)
                self._index.start()
            return self._index

    @property
    def observer(self) -> Observer:
        """The observer, which captures turns, with the present encoder and index."""
        tools = self.embedder, self.index
        with self._seeking:
            if self._observer is None:
                self._observer = Observer(Tools(self.store, *tools, self.live, self.env), self._extractor)
            self._observer.equip(*tools)
            return self._observer

    @property
    def chronicle(self) -> Chronicle:
        """The recorder of episodes, which learns skills from them."""
        observer = self.observer
        return Chronicle(observer.tools, observer)

    @property
    def searcher(self) -> Searcher:
        """The searcher, which answers questions, with the present encoder and index."""
        tools = self.embedder, self.index
        with self._seeking:
            if self._searcher is None:
                self._searcher = Searcher(self.store, *tools, self.live, self.env, self._reranker)
            self._searcher.equip(*tools)
            return self._searcher

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings of the searcher about its tuning."""
        return () if self._searcher is None else self._searcher.tuning.warnings

    def encoder(self) -> EncoderState:
        """Return the state of the encoder in use. An endpoint is probed, at most once in `probe_s`."""
        embedder = self.embedder
        if embedder is None:
            return EncoderState("none", trouble="" if self.live.now.model == "none" else "no model is installed")
        if not isinstance(embedder, RemoteEmbedder):
            return EncoderState(embedder.fingerprint.partition(":")[0], embedder.fingerprint, embedder.dimensions)
        at = embedder.endpoint
        return EncoderState(at.name, embedder.fingerprint, embedder.dimensions, at.place, embedder.trouble)

    def language(self) -> LanguageModelState:
        """Return the state and the cost of the language model in use. An endpoint is probed, at most once in `probe_s`."""
        if self.llm is None:
            return LanguageModelState("none")
        return LanguageModelState(self.llm.generator.name, self.llm.generator.place, self.llm.trouble, *self.llm.budget.spent())

    def _capture_evicted(self, reader: Reader, turns: Sequence[Turn]) -> None:
        """Capture statements that were evicted from working memory."""
        self.observer.take_in(reader, turns)

    def fill_anew(self, reader: Reader) -> int:
        """Remake all vectors with the encoder in use. The encoder is tried before the old vectors are deleted."""
        if self.embedder is None:
            raise EmbedderUnavailable("there is no encoder to make vectors with.")
        self.embedder.passages(["a try"])
        self.store.vectors.clear(reader, SPACE)
        return fill(self.store, reader, self.embedder, page=_PAGE)

    def health(self, reader: Reader) -> Health:
        """Return the health of the store, with the level (R16) on which recall would answer now and the reason for it."""
        health, index = self.store.health.report(reader), self._index
        level, reason = self._level(index) if health.degradation != "degraded" else ("degraded", "the vault is damaged")
        state = index.warmth if index is not None else None
        trouble = "" if self.llm is None else self.llm.trouble
        without_model = f"{trouble}: turns are read by rules alone" if trouble else ""
        notes = (reason, without_model, *(state.notes if state is not None else ()))
        warnings = (*health.warnings, *(note for note in notes if note), *self.remarks)
        return replace(health, degradation=level, index=state, shed=self._shed, warnings=warnings)

    def _level(self, index: LiveIndex | None) -> tuple[str, str]:
        encoder = self.encoder()
        if self.embedder is None or encoder.trouble:
            return "words", f"{encoder.trouble or 'no encoder is in use'}: recall searches by words alone"
        held = self.store.vectors.space(SPACE)
        if held is not None and space_of(self.embedder) not in (None, held):
            return "words", f"the vault holds vectors of the model {held.model!r}: recall searches by words alone"
        if index is None or not index.started or index.ready:
            return "full", ""  # an index that was not used yet is loaded by the first question
        return "disk_vectors", "the vector index is not loaded yet: recall compares only the hits of the text index"

    def relieve(self) -> str:
        """Free memory that can be rebuilt if the process uses too much. Return the name of the memory pressure."""
        pressure = pressure_at(rss_bytes(), self.live.now)
        if pressure == "normal":
            self._shed = ()
            return pressure
        masks = self._index.relieve(pressure) if self._index is not None else 0
        shed = [f"{masks / 1024:.0f} KiB of filter masks of the index"] if masks else []
        if pressure == "critical":
            shed += [f"the page caches of {idle} idle connections"] if (idle := self.store.health.relieve()) else []
            shed += ["the tier of the index was chosen anew"] if self._index is not None and self._index.ready else []
        trim_heap()
        self._shed = tuple(shed) or self._shed
        return pressure

    def close(self) -> None:
        """Finish queued writes, checkpoint the write-ahead log and wipe the keys, whatever the deadline.

        A concurrent second call returns when the first is done.
        """
        with self._closing, without_deadline():
            if self.closed:
                return
            self.closed = True
            self._ending.set()
            if self._pass is not None:
                self._pass.cancel()
            self.store.health.stop_check()
            if self._care is not threading.current_thread():
                self._care.join()
            self.prefetcher.close()
            if self._searcher is not None:
                self._searcher.close()
            save_all(self.working_sets)
            self.working_sets.closed = True
            with self._index_lock:
                if self._index is not None:
                    self._index.close()
            if isinstance(self._embedder, RemoteEmbedder):
                self._embedder.close()
            if self.llm is not None:
                self.llm.close()
            self.store.close()
            _OPEN.discard(self)

    def job_context(self, reader: Reader) -> JobContext:
        """Return the parts of the vault that a background job works with."""
        live = self.live
        return JobContext(
            self.store,
            reader,
            live.now,
            self.env.now(),
            self.index,
            self.embedder,
            live.tuned(DreamLimits),
            live.tuned(EdgeWeights),
            live.tuned(DuplicateWeights),
        )

    def _dream(self) -> None:
        """Run the pass that is due, or resume an unfinished one, while the vault is idle (K13)."""
        verb = verb_due(self.job_context(_OWNER), Idle(self.store.last_used, self.env.monotonic()))
        if verb:
            rest = partial(self._pauses, rss_bytes())
            # Another process runs a pass, or the vault cannot be written.
            with suppress(Conflict, DiskFull, VaultDamaged), self._called_off_by_closing():
                run(self.job_context(_OWNER), jobs_of(verb), self.searcher, verb=verb, should_stop=rest)

    @contextmanager
    def _called_off_by_closing(self) -> Iterator[None]:
        """Let closing cancel the work in this block, so that it waits for no page, no probe question and no model."""
        with cancellable() as self._pass:
            if self._ending.is_set():
                self._pass.cancel()
            yield

    def _pauses(self, held: int) -> bool:
        """Pause between two pages of a pass. Return True if it must stop: the vault is in use or closing, or memory is short and
        the process grew since it held `held` bytes. Without the last condition a large program would never run a pass."""
        if self._ending.wait(_BREATH_S):
            return True
        busy, now = self.env.monotonic() - self.store.last_used < _QUIET_S, rss_bytes()
        return busy or (now - held > _TAKES and pressure_at(now, self.live.now) == "critical")

    def _take_care(self) -> None:
        """Run the upkeep of an open vault in its own thread: backups, a deferred check, missing vectors, background passes."""
        unchecked, rounds = self.store.health.unchecked, 0
        self.store.ignore_this_thread()
        while True:
            try:
                self.store.health.backup_if_due(_OWNER)  # first, and closing waits for it, so that short sessions back up too
                if unchecked and rounds:  # not in the first round, when the first answer needs the processor
                    unchecked = False
                    self.store.health.check(_OWNER)
                if rounds and self.index is not None:  # the index of a long session is loaded before its first question (V9)
                    self.relieve()
                if rounds:
                    self.store.turns.expire(_OWNER)
                    self._read_old()
                    with suppress(DiskFull, VaultDamaged):  # nothing can be written
                        self._renew()
                if rounds and self._extractor is not None:
                    with self._called_off_by_closing():
                        self.observer.read_waiting()
                if rounds:
                    self.fill_boxes(rest=self._rested)
                if rounds > 1:  # a short session does not load an encoder that it does not use
                    with self._called_off_by_closing():
                        self._fill()
                    self._dream()
            except EngramError as error:
                if not self._ending.is_set():
                    log.warning("upkeep of the vault was postponed: %s", error.code)
            except Exception as error:  # noqa: BLE001  a defect in one task must not end the backups
                log.warning("upkeep of the vault was postponed by a defect: %s", type(error).__name__)
            limits = self.live.tuned(DreamLimits)
            pause_s = limits.care_pause_s if rounds else min(limits.warm_after_s, limits.care_pause_s)
            if self._ending.wait(pause_s):
                return
            rounds += 1

    def _read_old(self) -> None:
        """Extract entities and facts from memories of releases that did not, a page at a time."""
        while self.store.entities.reindex(_OWNER, limit=_OLD) and not self._rested():
            pass

    def _renew(self) -> None:
        """Encrypt and screen memories of older releases as this release would, a page at a time."""
        while self.store.sensitivity.seal_old(_OWNER, limit=_OLD) and not self._rested():
            pass
        while self.live.now.guard_injection and not self._ending.is_set():
            upto = rescreen(self.store, _OWNER, self.live.now, after=self._screened_to, page=_OLD)
            if upto is None:
                return
            self._screened_to = upto
            self._rested()

    def _rested(self) -> bool:
        """Wait for a while until the vault is idle, so that upkeep does not slow it down (K13). Return True if closing."""
        if self._ending.wait(_BREATH_S):
            return True
        for _ in range(int(self.live.tuned(DreamLimits).care_pause_s / 4 / _QUIET_S)):
            if self.env.monotonic() - self.store.last_used >= _QUIET_S:
                break
            if self._ending.wait(_QUIET_S):
                return True
        return False

    def fill_boxes(self, rest: Callable[[], bool] = lambda: False) -> int:
        """Put new memories into boxes and return their number: 0 if the vault cannot be written."""
        try:
            return fill_boxes(self.store, _OWNER, self.live, rest=rest)
        except (DiskFull, VaultDamaged):
            return 0

    def _fill(self) -> None:
        """Make missing vectors if the encoder answers, pausing between pages; stops when the vault closes."""
        if self._embedder is None:
            self._sought = False  # one may have been installed since
        embedder, latest = self.embedder, self.store.changes.latest(_OWNER)
        if embedder is None or latest == self._filled_to:
            return
        if isinstance(embedder, RemoteEmbedder) and embedder.trouble:
            return
        self._filled_to = latest
        try:
            made = fill(self.store, _OWNER, embedder, page=self.live.now.embed_batch, rest=self._rested)
        except EmbedderUnavailable:
            self._filled_to = -1  # try again later; after other errors only once something has changed
            raise
        if made:
            log.info("%d missing vectors were made", made)


def vault_path(path: str | Path) -> Path:
    """Return the absolute path of a vault's folder. Raise NotFound for a name that cannot be a folder."""
    name = str(path)
    try:
        name.encode()
        if not name or "\0" in name:
            raise ValueError
        where = Path(name).expanduser().absolute()
        where.exists()
    except (ValueError, RuntimeError, OSError):
        problem = NotFound("the vault's path is not a valid folder name.", way_out="Name a folder; it is made if missing.")
    else:
        return where
    raise problem


def llm_key(live: LiveSettings) -> str:
    """Return the API key of the language model's endpoint. The keychain is read only for providers that need a key."""
    settings = live.now
    asks = settings.llm.startswith("openai:") and settings.llm_key_env
    return settings_room.secret(settings.llm_key_env) or (keychain.password(settings.llm_key_env) if asks else "")


def credentials_from(key: bytes | bytearray | str | None, ask: Ask | None) -> Credentials:
    """Return credentials from a key given as 32 bytes or recovery text. Each use gets a fresh copy, which is wiped afterwards."""
    if key is None:
        return Credentials(None, ask)
    if isinstance(key, str):
        text = key
        return Credentials(lambda: MasterKey.from_recovery_text(text), ask)
    if len(key) != 32:
        raise VaultLocked(f"a key must have 32 bytes, not {len(key)}.")
    raw = bytes(key)
    return Credentials(lambda: MasterKey(bytearray(raw)), ask)


_OPEN: set[OpenVault] = set()
"""The open vaults of this process, which are closed in order at exit."""


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_OPEN.clear)  # open vaults belong to the parent process


@atexit.register
def _close_all() -> None:
    for vault in list(_OPEN):
        vault.close()


def _close_and_end(number: int) -> None:
    try:
        _close_all()
    finally:
        os.kill(os.getpid(), number)


def _heed_sigterm() -> None:
    """Close vaults on SIGTERM, if this is the main thread and no other handler is set."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return

    def end(number: int, frame: FrameType | None) -> None:
        # The main thread may hold a lock that closing needs, so another thread closes the vaults and ends the process.
        signal.signal(number, signal.SIG_DFL)
        threading.Thread(target=_close_and_end, args=(number,), name="engram-end", daemon=True).start()

    signal.signal(signal.SIGTERM, end)
