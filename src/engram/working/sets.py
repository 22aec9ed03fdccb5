"""The desks of an open vault: laid out when first asked for, put away when work stops, cleared when something is erased."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import datetime

from engram.capture.screen import is_sound
from engram.env import Env, to_micros
from engram.errors import EngramError
from engram.guard.injection import InjectionVerdict, assess_cached
from engram.log import Log
from engram.models.embedders import Embedder
from engram.rules import working as rules
from engram.rules import working_codec
from engram.rules.working import Age, Evicted, Mind, SlotSource, Strategy, Vectors, WorkingLimits
from engram.settings import LiveSettings, Settings
from engram.store.ports import Once
from engram.store.sqlite.store import SqliteStore
from engram.store.sqlite.working import MIND
from engram.types import Policy, Reader, Role, Scope, Turn
from engram.values.frozen import field, mutable, replace

log = Log("engram")

Keep = Callable[[Reader, Sequence[Turn]], object]
"""Keeps statements in the vault for a reader, as far as they are new there and worth it."""

_JUST_NOW_US = 3_600_000_000  # within the hour
_LEFT = 64  # slots let go that wait to be kept


@mutable
class Desk:
    """One scope's mind, shared by all views of it in this process."""

    mind: Mind
    since: int
    saved_at: datetime | None = None
    age: Age = Age.NOTHING
    here_at: datetime | None = None  # when somebody was last at work here
    offered: set[str] = field(default_factory=set)  # questions without an answer, in this session
    changed: bool = False
    left: tuple[Evicted, ...] = ()
    waiting: list[tuple[Turn, datetime]] = field(default_factory=list)  # heard by the vault, and not yet here
    lock: threading.RLock = field(default_factory=threading.RLock)
    hearing: threading.RLock = field(default_factory=threading.RLock)  # held while what waits is heard

    def let_go(self, gone: Sequence[Evicted]) -> None:
        """What is worth long-term memory waits to be kept; the latest of it, if that takes long."""
        self.left = (*self.left, *(one for one in gone if one.candidate))[-_LEFT:]

    def take_left(self) -> tuple[Evicted, ...]:
        left, self.left = self.left, ()
        return left


class Desks:
    """All desks of an open vault. A desk is laid out when it is first asked for, with what was put away there last."""

    def __init__(
        self, store: SqliteStore, embedder: Callable[[], Embedder | None], live: LiveSettings, env: Env, session: str, keep: Keep
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.live = live
        self.env = env
        self.session = session
        self._keep = keep
        self.closed = False
        self._desks: dict[Scope, Desk] = {}
        self._lock = threading.Lock()

    def of(self, reader: Reader) -> Desk:
        with self._lock:
            desk = self._desks.get(reader.scope)
            if desk is None:
                desk = self._desks[reader.scope] = Desk(Mind(), self.store.latest_change(reader))
                self.take_up(reader, desk)
        return desk

    def overheard(self, reader: Reader, turns: Sequence[Turn]) -> None:
        """What the vault has heard goes through the mind when next somebody looks at it: two encodings a turn can wait.

        What was said long ago does not: it is history that somebody brings in.
        """
        now = self.env.now()
        just_now = to_micros(now) - _JUST_NOW_US
        recent = [turn for turn in turns if turn.text.strip() and (turn.at is None or to_micros(turn.at) >= just_now)]
        if self.live.now.guard_injection:  # what stands in mind stands in the next prompt
            recent = [turn for turn in recent if assess_cached(turn.text).verdict is InjectionVerdict.CLEAN]
        if recent:
            desk = self.of(reader)
            with desk.lock:
                desk.waiting += [(turn, now) for turn in recent]
                desk.changed = True

    def take_up(self, reader: Reader, desk: Desk) -> None:
        """Lay out what was put away, if that is newer than what lies here and nothing was done since."""
        found = self.store.put_away_last(reader, MIND)
        if found is None or desk.changed or (desk.saved_at is not None and found[0] <= desk.saved_at):
            return
        since = self.store.latest_change(reader)
        mind = self.mind_of(found[1])
        if mind is not None:
            limits = working_limits(self.live.now, self.live.tuned(WorkingLimits))
            desk.mind, desk.age = rules.aged(mind, found[0], self.env.now(), limits)
            desk.saved_at, desk.since, desk.here_at = found[0], since, found[0]

    def mind_of(self, body: bytes) -> Mind | None:
        """A mind that was put away, without what reads as an attack on the model: it may be older than the rules for that."""
        mind = working_codec.to_mind(body, self.model)
        if mind is None:
            return None
        slots = tuple(slot for slot in mind.working.slots if is_sound(slot.text, self.live.now))
        if len(slots) < len(mind.working.slots):
            log.warning("something that was in mind reads as an attack on the model, and was left out.")
        return replace(mind, working=replace(mind.working, slots=slots))

    def put_away(self, reader: Reader, desk: Desk, once: Once | None = None) -> bool:
        """False if something was erased since: what is in mind may be a copy of it, so it is forgotten and not kept."""
        with desk.lock:
            body = working_codec.of_mind(desk.mind, self.model)
            saved = self.store.put_away(reader, MIND, body, self.session, since=desk.since, once=once)
            if saved is None:
                self._forget(reader, desk)
                return False
            desk.saved_at, desk.here_at, desk.age, desk.changed = saved, saved, Age.FRESH, False
            left = desk.take_left()
        if left:
            self._keep(reader, [_as_turn(one, self.session) for one in left])
        return True

    @property
    def in_use(self) -> list[Reader]:
        """Who stands at the desks on which something changed since they were put away."""
        return [Reader(scope, Policy.OWN, Role.OWNER) for scope, desk in list(self._desks.items()) if desk.changed]

    def forget(self, reader: Reader) -> None:
        """Something was erased: no desk may show it, or put it away again."""
        for desk in list(self._desks.values()):
            with desk.lock:
                self._forget(reader, desk)

    def _forget(self, reader: Reader, desk: Desk) -> None:
        desk.mind, desk.changed, desk.age, desk.left, desk.waiting = Mind(), False, Age.NOTHING, (), []
        desk.since = self.store.latest_change(reader)

    @property
    def model(self) -> str:
        """Whose vectors a mind has; empty without an encoder."""
        embedder = self.embedder()
        return "" if embedder is None else embedder.fingerprint

    def vectors(self, text: str) -> Vectors:
        """A turn in both ways; an encoder that does not answer is one that is not there."""
        embedder = self.embedder()
        if embedder is None or not text.strip():
            return Vectors()
        try:
            return Vectors(embedder.query(text), embedder.passages([text])[0], embedder.background[0])
        except EngramError as error:
            log.info("the way of the conversation goes by words alone: %s", error.code)
            return Vectors()


def _as_turn(gone: Evicted, session: str) -> Turn:
    speaker = "tool" if gone.slot.source is SlotSource.TOOL else "user"
    return Turn(gone.slot.text, speaker, at=gone.slot.entered_at, session=session)


def working_limits(settings: Settings, limits: WorkingLimits) -> WorkingLimits:
    """Return these limits with the values that a user may set."""
    slots = replace(
        limits.slot_limits,
        slots=settings.working_slots,
        tokens=settings.working_tokens,
        strategy=Strategy(settings.working_strategy),
    )
    return replace(limits, slot_limits=slots, fresh_h=settings.resume_fresh_h, stale_h=settings.resume_stale_h)
