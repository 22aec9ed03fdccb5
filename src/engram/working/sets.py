"""The working sets of an open vault, one per scope: loaded when first used, saved when work stops, cleared by an erasure."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import datetime

from engram.capture import redaction
from engram.capture.screen import is_sound
from engram.env import Env, to_micros
from engram.errors import EngramError
from engram.guard.injection import InjectionVerdict, assess_cached
from engram.log import Log
from engram.models.embedders import Embedder
from engram.rules import working as rules
from engram.rules.working import Evicted, SavedAge, SlotSource, Strategy, TurnVectors, WorkingLimits, WorkingState
from engram.settings import LiveSettings, Settings
from engram.store.ports import Store
from engram.store.receipts import ReceiptRequest
from engram.types import Policy, Reader, Role, Scope, Turn
from engram.values.frozen import field, mutable, replace
from engram.values.working import MIND

log = Log("engram")

Keep = Callable[[Reader, Sequence[Turn]], object]
"""Stores statements in the vault for a reader if they are new and worth storing."""

_RECENT_US = 3_600_000_000  # one hour
_EVICTED = 64  # most evicted slots that wait to be stored


@mutable
class WorkingSet:
    """The working memory of one scope, shared by all its readers in this process.

    since: the latest change of the vault when it was loaded; an erasure after that clears it.
    """

    state: WorkingState
    since: int
    saved_at: datetime | None = None
    age: SavedAge = SavedAge.NOTHING
    active_at: datetime | None = None  # time of the last work in this scope
    offered: set[str] = field(default_factory=set)  # unanswered questions offered in this session
    changed: bool = False
    evicted: tuple[Evicted, ...] = ()
    queued: list[tuple[Turn, datetime]] = field(default_factory=list)  # turns that are applied at the next read
    lock: threading.RLock = field(default_factory=threading.RLock)
    queue_lock: threading.RLock = field(default_factory=threading.RLock)  # held while queued turns are applied

    def add_evicted(self, slots: Sequence[Evicted]) -> None:
        """Keep evicted slots that are worth storing until the next save; at most the last `_EVICTED`."""
        self.evicted = (*self.evicted, *(slot for slot in slots if slot.candidate))[-_EVICTED:]

    def take_evicted(self) -> tuple[Evicted, ...]:
        evicted, self.evicted = self.evicted, ()
        return evicted


class WorkingSets:
    """All working sets of an open vault. A set is loaded from the vault when its scope is first used."""

    def __init__(
        self, store: Store, embedder: Callable[[], Embedder | None], live: LiveSettings, env: Env, session: str, keep: Keep
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.live = live
        self.env = env
        self.session = session
        self._keep = keep
        self.closed = False
        self._sets: dict[Scope, WorkingSet] = {}
        self._lock = threading.Lock()

    def of(self, reader: Reader) -> WorkingSet:
        with self._lock:
            working_set = self._sets.get(reader.scope)
            if working_set is None:
                working_set = self._sets[reader.scope] = WorkingSet(WorkingState(), self.store.changes.latest(reader))
                self.load(reader, working_set)
        return working_set

    def queue_turns(self, reader: Reader, turns: Sequence[Turn]) -> None:
        """Queue stored turns for working memory; they are encoded at its next read, because each takes two encodings.

        Turns over an hour old are skipped: they are imported history, not the current conversation.
        """
        now = self.env.now()
        oldest = to_micros(now) - _RECENT_US
        recent = [turn for turn in turns if turn.text.strip() and (turn.at is None or to_micros(turn.at) >= oldest)]
        if self.live.now.guard_injection:  # working memory goes into the next prompt
            recent = [turn for turn in recent if assess_cached(turn.text).verdict is InjectionVerdict.CLEAN]
        clean = [replace(turn, text=redaction.cut(turn.text, catch_secrets=self.live.now.catch_secrets).text) for turn in recent]
        if clean:
            working_set = self.of(reader)
            with working_set.lock:
                working_set.queued = [*working_set.queued, *((turn, now) for turn in clean)]
                working_set.changed = True

    def load(self, reader: Reader, working_set: WorkingSet) -> None:
        """Load the saved working memory if it is newer than the one here, and the one here is unchanged."""
        saved = self.store.working.load(reader, MIND)
        if saved is None or working_set.changed or (working_set.saved_at is not None and saved[0] <= working_set.saved_at):
            return
        since = self.store.changes.latest(reader)
        state = self.state_from(saved[1])
        if state is not None:
            limits = working_limits(self.live.now, self.live.tuned(WorkingLimits))
            working_set.state, working_set.age = rules.after_pause(state, saved[0], self.env.now(), limits)
            working_set.saved_at, working_set.since, working_set.active_at = saved[0], since, saved[0]

    def state_from(self, body: bytes) -> WorkingState | None:
        """Return saved working memory without slots flagged as injection: it may be older than the rules that flag them."""
        state = rules.state_from_bytes(body, self.model)
        if state is None:
            return None
        slots = tuple(slot for slot in state.working.slots if is_sound(slot.text, self.live.now))
        if len(slots) < len(state.working.slots):
            log.warning("a slot of the saved working memory is flagged as prompt injection; it was left out.")
        return replace(state, working=replace(state.working, slots=slots))

    def save(self, reader: Reader, working_set: WorkingSet, receipt: ReceiptRequest | None = None) -> bool:
        """Save a working set in the vault, and store its evicted slots.

        False if something was erased since it was loaded: a slot may be a copy of that, so the set is cleared and not saved.
        """
        with working_set.lock:
            body = rules.state_to_bytes(working_set.state, self.model)
            saved = self.store.working.save(reader, MIND, body, self.session, since=working_set.since, receipt=receipt)
            if saved is None:
                self._forget(reader, working_set)
                return False
            working_set.saved_at, working_set.active_at = saved, saved
            working_set.age, working_set.changed = SavedAge.FRESH, False
            evicted = working_set.take_evicted()
        if evicted:
            self._keep(reader, [_as_turn(slot, self.session) for slot in evicted])
        return True

    @property
    def unsaved(self) -> list[Reader]:
        """Readers of the working sets that changed since they were last saved, or hold turns that are not saved."""
        return [
            Reader(scope, Policy.OWN, Role.OWNER)
            for scope, working_set in list(self._sets.items())
            if working_set.changed or working_set.state.last_turns.waiting
        ]

    def forget(self, reader: Reader) -> None:
        """Clear all working sets after an erasure: a slot may be a copy of what was erased."""
        for working_set in list(self._sets.values()):
            with working_set.lock:
                self._forget(reader, working_set)

    def _forget(self, reader: Reader, working_set: WorkingSet) -> None:
        working_set.state, working_set.age = WorkingState(), SavedAge.NOTHING
        working_set.changed, working_set.evicted, working_set.queued = False, (), []
        working_set.since = self.store.changes.latest(reader)

    @property
    def model(self) -> str:
        """The fingerprint of the encoder whose vectors working memory holds; empty without an encoder."""
        embedder = self.embedder()
        return "" if embedder is None else embedder.fingerprint

    def vectors(self, text: str) -> TurnVectors:
        """Return a turn encoded as a question and as a passage; empty if there is no encoder or it fails."""
        embedder = self.embedder()
        if embedder is None or not text.strip():
            return TurnVectors()
        try:
            return TurnVectors(embedder.query(text), embedder.passages([text])[0], embedder.background[0])
        except EngramError as error:
            log.info("topics of the conversation are judged by words alone, because encoding failed: %s", error.code)
            return TurnVectors()


def _as_turn(evicted: Evicted, session: str) -> Turn:
    speaker = "tool" if evicted.slot.source is SlotSource.TOOL else "user"
    return Turn(evicted.slot.text, speaker, at=evicted.slot.entered_at, session=session)


def working_limits(settings: Settings, limits: WorkingLimits) -> WorkingLimits:
    """Return these limits with the values that a user may set."""
    slots = replace(
        limits.slot_limits,
        slots=settings.working_slots,
        tokens=settings.working_tokens,
        strategy=Strategy(settings.working_strategy),
    )
    return replace(limits, slot_limits=slots, fresh_h=settings.resume_fresh_h, stale_h=settings.resume_stale_h)
