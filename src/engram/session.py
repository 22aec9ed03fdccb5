"""Working memory of whoever uses an open vault: one desk for each scope, in memory, put away in the vault when work stops.

The rules are in `memory/`; here they meet the clock, the encoder, the marks that keep private and recalled words out, and the
store. It stands above `capture`, whose marks it needs, and below the vault, which owns it and puts all desks away on closing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Concatenate, ParamSpec, TypeVar

from engram.capture import marks
from engram.env import Env
from engram.errors import EngramError, InvalidContent, InvalidQuery
from engram.guard.scopes import require_writable
from engram.memory import mind as rules
from engram.memory import momentum, snapshot, working
from engram.memory.export import Exported, Form, export
from engram.memory.mind import Age, Checkpoint, Habits, Mind, Resumed, Vectors
from engram.memory.momentum import Reading, Topic, Vector
from engram.memory.working import Evicted, Limits, Slot, SlotSource, Strategy
from engram.models.embed import Embedder
from engram.settings import LiveSettings, Settings
from engram.store.admission import check_turn
from engram.store.sqlite.store import SqliteStore
from engram.store.sqlite.suspending import CHECKPOINT, MIND
from engram.types import Memory, Policy, Reader, Role, Scope, Turn

log = logging.getLogger("engram")

_LEFT = 64  # slots let go that wait to be asked for


@dataclass(slots=True)
class Desk:
    """One scope's mind, shared by all views of it in this process."""

    mind: Mind
    since: int
    saved_at: datetime | None = None
    age: Age = Age.NOTHING
    changed: bool = False
    left: tuple[Evicted, ...] = ()
    lock: threading.RLock = field(default_factory=threading.RLock)


class Desks:
    """All desks of an open vault. A desk is laid out when it is first asked for, with what was put away there last."""

    def __init__(
        self, store: SqliteStore, embedder: Callable[[], Embedder | None], live: LiveSettings, env: Env, session: str
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.live = live
        self.env = env
        self.session = session
        self._desks: dict[Scope, Desk] = {}
        self._lock = threading.Lock()

    def of(self, reader: Reader) -> Working:
        with self._lock:
            desk = self._desks.get(reader.scope)
            if desk is None:
                desk = self._desks[reader.scope] = Desk(Mind(), self.store.latest_change(reader))
                self.take_up(reader, desk)
        return Working(self, desk, reader)

    def take_up(self, reader: Reader, desk: Desk) -> None:
        """Lay out what was put away, if that is newer than what lies here and nothing was done since."""
        found = self.store.put_away_last(reader, MIND)
        if found is None or desk.changed or (desk.saved_at is not None and found[0] <= desk.saved_at):
            return
        since = self.store.latest_change(reader)
        mind = snapshot.to_mind(found[1], self.model)
        if mind is not None:
            desk.mind, desk.age = rules.aged(mind, found[0], self.env.now(), habits_of(self.live.now))
            desk.saved_at, desk.since = found[0], since

    def put_away(self, reader: Reader, desk: Desk) -> bool:
        """False if something was erased since: what is in mind may be a copy of it, so it is forgotten and not kept."""
        with desk.lock:
            body = snapshot.of_mind(desk.mind, self.model)
            saved = self.store.put_away(reader, MIND, body, self.session, since=desk.since)
            if saved is None:
                self._forget(reader, desk)
                return False
            desk.saved_at, desk.age, desk.changed = saved, Age.FRESH, False
            return True

    def put_all_away(self) -> None:
        """When the vault closes: what changed is kept; a vault that cannot be written closes without it."""
        for scope, desk in list(self._desks.items()):
            if desk.changed:
                try:
                    self.put_away(Reader(scope, Policy.OWN, Role.OWNER), desk)
                except EngramError as error:
                    log.warning("working memory was not put away: %s", error.code)

    def forget(self, reader: Reader) -> None:
        """Something was erased: no desk may show it, or put it away again."""
        for desk in list(self._desks.values()):
            with desk.lock:
                self._forget(reader, desk)

    def _forget(self, reader: Reader, desk: Desk) -> None:
        desk.mind, desk.changed, desk.age, desk.left = Mind(), False, Age.NOTHING, ()
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


P = ParamSpec("P")
T = TypeVar("T")


def _changes(method: Callable[Concatenate[Working, P], T]) -> Callable[Concatenate[Working, P], T]:
    """Such a verb is for who may write here, has the desk to itself, and leaves it to be put away."""

    def guarded(self: Working, /, *args: P.args, **named: P.kwargs) -> T:
        require_writable(self._reader, self._reader.scope)
        with self._desk.lock:
            self._desk.changed = True
            return method(self, *args, **named)

    guarded.__doc__, guarded.__name__ = method.__doc__, method.__name__
    return guarded


class Working:
    """What is in mind where this reader stands. Verbs that let slots go return them; `candidate` says which are worth keeping."""

    def __init__(self, desks: Desks, desk: Desk, reader: Reader) -> None:
        self._desks = desks
        self._desk = desk
        self._reader = reader

    def __repr__(self) -> str:
        return f"<Working {len(self.slots)} slots>"

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The liveliest first."""
        return self._desk.mind.working.slots

    @property
    def tokens(self) -> int:
        return self._desk.mind.working.tokens

    @property
    def just_said(self) -> Turn | None:
        return self._desk.mind.ring.just_said

    @property
    def turns(self) -> Sequence[Turn]:
        """The last turns as they were said, oldest first."""
        return tuple(heard.turn for heard in self._desk.mind.ring.turns)

    @property
    def confidence(self) -> float:
        """How steady the conversation's way is."""
        return self._desk.mind.momentum.confidence

    def hear(self, *turns: Turn) -> Reading | None:
        """What was said goes through the mind; what the last turn did to the topic. Nothing is kept in the vault by this."""
        reading = None
        for turn in turns:
            check_turn(turn, self._settings)
            heard = replace(turn, text=self._clean(turn.text))
            reading = self._take_in(heard, self._desks.vectors(heard.text))  # encoded before the desk is taken
        return reading

    @_changes
    def _take_in(self, turn: Turn, vectors: Vectors) -> Reading:
        self._desk.mind, reading, gone = rules.hear(self._desk.mind, turn, vectors, self._now, self._habits)
        self._desk.left = (*self._desk.left, *(one for one in gone if one.candidate))[-_LEFT:]
        return reading

    @_changes
    def candidates(self) -> tuple[Evicted, ...]:
        """What hearing pushed out of mind that is worth long-term memory, once; the latest, if nobody asked for long."""
        left, self._desk.left = self._desk.left, ()
        return left

    def attend(
        self,
        what: str | Memory,
        *,
        source: SlotSource | str | None = None,
        activation: float = 0.8,
    ) -> tuple[Evicted, ...]:
        """Bring a statement, or a memory, to mind; what had to give way for it."""
        recalled = isinstance(what, Memory)
        text = self._clean(what.text if isinstance(what, Memory) else what)
        if not text.strip():
            raise InvalidContent("there is nothing here to attend to.")
        origin = _word_for(SlotSource, source or (SlotSource.RECALLED if recalled else SlotSource.SAID), "source")
        return self._attend(text, origin, activation, what.id if isinstance(what, Memory) else "")

    @_changes
    def _attend(self, text: str, source: SlotSource, activation: float, memory_id: str) -> tuple[Evicted, ...]:
        now_in, gone = working.attend(
            self._desk.mind.working,
            text,
            self._now,
            self._habits.limits,
            source=source,
            activation=activation,
            memory_id=memory_id,
        )
        self._desk.mind = replace(self._desk.mind, working=now_in)
        return gone

    @_changes
    def refresh(self, number: int, boost: float = 0.3) -> Slot:
        """The slot of this number (0 is the liveliest) is still of use."""
        slots = self.slots
        if not isinstance(number, int) or not 0 <= number < len(slots):  # type: ignore[redundant-expr]
            raise InvalidQuery(f"there is no slot of that number; there are {len(slots)}.")
        entered = slots[number].entered_at, slots[number].text
        self._desk.mind = replace(self._desk.mind, working=working.refresh(self._desk.mind.working, number, self._now, boost))
        return next(slot for slot in self.slots if (slot.entered_at, slot.text) == entered)

    @_changes
    def mention(self, text: str) -> None:
        """Slots that share telling words with this are livelier."""
        self._desk.mind = replace(self._desk.mind, working=working.mention(self._desk.mind.working, text, self._now))

    @_changes
    def tick(self, turns: int = 1) -> tuple[Evicted, ...]:
        """Time passed, and so many turns: slots fade, what has aged in the ring comes to mind. What has faded away."""
        self._desk.mind, gone = rules.settle(self._desk.mind, self._now, self._habits, turns)
        return gone

    @_changes
    def turn_to(self, topic: Topic | str) -> tuple[Evicted, ...]:
        """The topic drifted, or was left, as someone says who knows."""
        now_in, gone = working.turn_to(self._desk.mind.working, _word_for(Topic, topic, "topic"))
        self._desk.mind = replace(self._desk.mind, working=now_in)
        return gone

    def export(self, form: Form | str = Form.PLAIN, budget: int | None = None) -> Exported:
        """What is in mind as text for a prompt, within so many tokens, tags included."""
        return export(self._desk.mind.working, _word_for(Form, form, "form"), budget)

    def blend(self, text: str, query: Vector) -> Vector:
        """A question's vector drawn towards the way of the conversation, as far as its words lean on it."""
        return momentum.blend(self._desk.mind.momentum, text, query, self._settings.momentum_share)

    # ── stopping and going on ──────────────────────────────────────────────────────────────────────────────────────

    def suspend(self) -> bool:
        """Put what is in mind away in the vault, durably. False if something was erased since: then it is forgotten instead."""
        require_writable(self._reader, self._reader.scope)
        return self._desks.put_away(self._reader, self._desk)

    def checkpoint(self, goal: str, *, decided: Sequence[str] = (), open: Sequence[str] = ()) -> Checkpoint:
        """Say what is being done, what was decided and what is left open, for whoever goes on here; puts the mind away too."""
        if isinstance(decided, str) or isinstance(open, str):
            raise InvalidContent("what was decided and what is open are lists of texts.")
        said = [self._clean(text) for text in (goal, *decided, *open)]
        split = 1 + len(decided)
        made = Checkpoint(goal=said[0], decided=tuple(said[1:split]), open=tuple(said[split:]), at=self._now)
        if not any(text.strip() for text in said):
            raise InvalidContent("a checkpoint says what is being done, decided or open.")
        self._desks.store.put_away(self._reader, CHECKPOINT, snapshot.of_checkpoint(made), self._desks.session)
        if made.goal:
            self.attend(made.goal, source=SlotSource.GOAL, activation=1.0)
        self.suspend()
        return made

    def resume(self) -> Resumed:
        """What was being done here, by this process or another before it."""
        with self._desk.lock:
            self._desks.take_up(self._reader, self._desk)
        noted = self._desks.store.put_away_last(self._reader, CHECKPOINT)
        made = None if noted is None else snapshot.to_checkpoint(noted[1], noted[0])
        found = Resumed(slots=self.slots, saved_at=self._desk.saved_at, age=self._desk.age)
        return found if made is None else replace(found, goal=made.goal, decided=made.decided, open=made.open, noted_at=made.at)

    @_changes
    def clear(self) -> None:
        """Forget all that is in mind here, and what was put away, the checkpoint too."""
        self._desks.store.drop_put_away(self._reader)
        self._desk.mind, self._desk.saved_at, self._desk.age = Mind(), None, Age.NOTHING
        self._desk.changed, self._desk.left = False, ()

    # ── what the rules need ────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _now(self) -> datetime:
        return self._desks.env.now()

    @property
    def _settings(self) -> Settings:
        return self._desks.live.now

    @property
    def _habits(self) -> Habits:
        return habits_of(self._settings)

    def _clean(self, text: str) -> str:
        """Without what is private, recalled or secret: what is in mind is put away on disk and shown in prompts."""
        if not isinstance(text, str):
            raise InvalidContent("what is attended to is text.")
        return marks.cut(text, catch_secrets=self._settings.catch_secrets).text


E_ = TypeVar("E_", SlotSource, Topic, Form)


def _word_for(kind: type[E_], given: str, what: str) -> E_:
    try:
        return kind(given)
    except ValueError:
        raise InvalidQuery(f"there is no such {what}; there are {', '.join(one.value for one in kind)}.") from None


def habits_of(settings: Settings) -> Habits:
    return Habits(
        limits=Limits(
            slots=settings.working_slots,
            tokens=settings.working_tokens,
            half_life_s=settings.working_half_life_min * 60.0,
            tick=settings.working_tick,
            floor=settings.working_floor,
            strategy=Strategy(settings.working_strategy),
        ),
        ring_turns=settings.sensory_turns,
        ring_s=settings.sensory_s,
        alpha=settings.momentum_alpha,
        fresh_h=settings.resume_fresh_h,
        stale_h=settings.resume_stale_h,
    )
