"""An open vault, shared by all its views: its store, settings, models and index, and its life from open to close.

The encoder and the vector index are made on first use. However a program ends, its vaults are closed in order.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import FrameType

from engram import settings as settings_room
from engram.capture.embeddings import SPACE, Tools, fill, space_of
from engram.capture.episodes import EpisodeRecorder
from engram.capture.extraction import extractor_by
from engram.capture.observer import Observer
from engram.capture.redaction import sendable
from engram.context.builder import ContextBuilder
from engram.crypto import keychain
from engram.crypto.hardening import harden
from engram.crypto.keys import MasterKey
from engram.deadline import without_deadline
from engram.dream.job import JobContext
from engram.dream.limits import DreamLimits
from engram.dream.upkeep import Upkeep
from engram.env import Env
from engram.errors import EmbedderUnavailable, NotFound, VaultLocked
from engram.index.vectors.live import LiveIndex
from engram.log import Log
from engram.models import catalogue
from engram.models.chat_endpoints import language_model
from engram.models.connections import ConnectionLimits
from engram.models.embedders import Embedder, OnnxEmbedder
from engram.models.embedding_endpoints import RemoteEmbedder, embedding_endpoint
from engram.models.language_models import Extractor
from engram.models.rerankers import OnnxReranker, Reranker
from engram.models.spending import Ledger
from engram.recall.searcher import Searcher
from engram.rules.duplicates import DuplicateWeights
from engram.rules.pairs import PairWeights
from engram.rules.store_rules import MemoryRules
from engram.settings import LiveSettings
from engram.store.credentials import Ask, Credentials
from engram.store.open import open_store
from engram.types import EncoderState, Health, LanguageModelState, Policy, Reader, Role, Turn
from engram.values.edges import EdgeWeights
from engram.values.frozen import replace
from engram.working.memory import save_all
from engram.working.sets import WorkingSets

log = Log("engram")

_OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)
_ENCODERS: dict[str, OnnxEmbedder] = {}
"""The encoders of this process by model, so that several open vaults read a model's files once."""

_PAGE = 256
"""Memories whose vectors are made and stored together while a caller waits."""


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
        self.store, self.notice = open_store(where, self.live, env, MemoryRules(self.live), credentials)
        self.session = session or env.new_id()
        self.closed = False
        self._given_embedder = embedder
        folder = self.live.now.reranker
        self._reranker = reranker or (OnnxReranker(folder) if folder else None)
        self._embedder: Embedder | None = None
        self._looked_for_embedder = False
        self._parts_lock = threading.Lock()
        ledger = Ledger(partial(self.store.quotas.spend, _OWNER), partial(self.store.quotas.spent, _OWNER))
        limits = self.live.tuned(ConnectionLimits)
        self.llm = language_model(lambda: self.live.now, partial(llm_key, self.live), ledger, env, llm, limits)
        self._extractor = extractor or (None if self.llm is None else extractor_by(self.llm))
        self.working_sets = WorkingSets(self.store, lambda: self.embedder, self.live, env, self.session, self._capture_evicted)
        self._observer: Observer | None = None
        self._searcher: Searcher | None = None
        self._index: LiveIndex | None = None
        self._index_lock = threading.Lock()
        self._closing = threading.RLock()
        self.upkeep = Upkeep(self)
        _OPEN.add(self)
        if self.live.now.close_on_sigterm:
            _close_on_sigterm()
        self.upkeep.start()

    @property
    def embedder(self) -> Embedder | None:
        """The encoder that was passed in, else the configured endpoint, else the installed model; None for text search alone."""
        with self._parts_lock:
            if not self._looked_for_embedder:
                self._embedder, self._looked_for_embedder = self._find_embedder(), True
            return self._embedder

    def find_embedder_again(self) -> None:
        """Look for an encoder again if none was found: a model may have been installed since."""
        if self._embedder is None:
            self._looked_for_embedder = False

    def _find_embedder(self) -> Embedder | None:
        settings = self.live.now
        if self._given_embedder is not None or settings.model == "none":
            return self._given_embedder
        if (endpoint := embedding_endpoint(settings, self.live.tuned(ConnectionLimits))) is not None:
            return RemoteEmbedder(endpoint, self.env, self.store.vectors.space(SPACE), sendable)
        model = catalogue.find(catalogue.DEFAULT if settings.model == "auto" else settings.model)
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
    def loaded_index(self) -> LiveIndex | None:
        """The vector index if it is in use already; asking for it loads nothing."""
        return self._index

    @property
    def observer(self) -> Observer:
        """The observer, which captures turns, with the present encoder and index."""
        tools = self.embedder, self.index
        with self._parts_lock:
            if self._observer is None:
                self._observer = Observer(Tools(self.store, *tools, self.live, self.env), self._extractor)
            self._observer.equip(*tools)
            return self._observer

    @property
    def extracts(self) -> bool:
        """True if a language model or an extractor reads turns besides the rules."""
        return self._extractor is not None

    @property
    def episode_recorder(self) -> EpisodeRecorder:
        """The recorder of episodes, which learns skills from them."""
        observer = self.observer
        return EpisodeRecorder(observer.tools, observer)

    @property
    def searcher(self) -> Searcher:
        """The searcher, which answers questions, with the present encoder and index."""
        tools = self.embedder, self.index
        with self._parts_lock:
            if self._searcher is None:
                self._searcher = Searcher(self.store, *tools, self.live, self.env, self._reranker)
            self._searcher.equip(*tools)
            return self._searcher

    @property
    def context_builder(self) -> ContextBuilder:
        """The builder of context windows, with the present searcher."""
        return ContextBuilder(self.working_sets, self.searcher)

    @property
    def tuning_warnings(self) -> tuple[str, ...]:
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

    def remake_vectors(self, reader: Reader) -> int:
        """Remake all vectors with the encoder in use. The encoder is tried before the old vectors are deleted."""
        if self.embedder is None:
            raise EmbedderUnavailable("there is no encoder to make vectors with.")
        self.embedder.passages(["probe"])
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
        warnings = (*health.warnings, *(note for note in notes if note), *self.tuning_warnings)
        return replace(health, degradation=level, index=state, shed=self.upkeep.freed, warnings=warnings)

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

    def close(self) -> None:
        """Finish queued writes, checkpoint the write-ahead log and wipe the keys, whatever the deadline.

        A concurrent second call returns when the first is done.
        """
        with self._closing, without_deadline():
            if self.closed:
                return
            self.closed = True
            self.upkeep.stop()
            self.store.health.stop_check()
            self.upkeep.join()
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
            live.tuned(PairWeights),
        )


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


def _close_on_sigterm() -> None:
    """Close vaults on SIGTERM, if this is the main thread and no other handler is set."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return

    def end(number: int, frame: FrameType | None) -> None:
        # The main thread may hold a lock that closing needs, so another thread closes the vaults and ends the process.
        signal.signal(number, signal.SIG_DFL)
        threading.Thread(target=_close_and_end, args=(number,), name="engram-end", daemon=True).start()

    signal.signal(signal.SIGTERM, end)
