"""The verbs of working memory, on the desk where a reader stands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Concatenate, ParamSpec, TypeVar

from engram.capture import redaction
from engram.capture.screen import is_sound, judged, screened, tier_of
from engram.env import from_micros, to_micros
from engram.errors import EngramError, InjectionBlocked, InvalidContent, InvalidQuery, StorageError
from engram.guard.injection import VERSION, InjectionVerdict
from engram.guard.visibility import require_writable
from engram.log import Log
from engram.rules import checkpoints, topics, working
from engram.rules import working as rules
from engram.rules.topics import Reading, Topic, Vector
from engram.rules.working import Age, Checkpoint, Evicted, Mind, Resumed, Slot, SlotSource, WorkingLimits
from engram.settings import Settings
from engram.store.ports import Once
from engram.store.receipts import made_once
from engram.store.sqlite.working import CHECKPOINT, HANDOFF
from engram.store.validation import check_turn, check_words
from engram.types import Memory, Reader, Sensitivity, Turn
from engram.values.frozen import replace
from engram.values.identity import strictest
from engram.working.export import Exported, Form, export
from engram.working.sets import Desks, working_limits

log = Log("engram")

P = ParamSpec("P")
T = TypeVar("T")


def _changes(method: Callable[Concatenate[Working, P], T]) -> Callable[Concatenate[Working, P], T]:
    """Such a verb is for who may write here, has the desk to itself, and leaves it to be put away."""

    def guarded(self: Working, /, *args: P.args, **named: P.kwargs) -> T:
        require_writable(self._reader, self._reader.scope)
        self._catch_up()
        with self._desk.lock:
            self._desk.changed = True
            return method(self, *args, **named)

    guarded.__doc__, guarded.__name__ = method.__doc__, method.__name__
    return guarded


class Working:
    """What is in mind where this reader stands. Verbs that let slots go return them; those that are worth it (`candidate`) are
    kept in the vault when the mind is put away, unless they were taken as `candidates` before."""

    def __init__(self, desks: Desks, reader: Reader, key: str | None = None) -> None:
        self._desks = desks
        self._key = key
        self._desk = desks.of(reader)
        self._reader = reader

    def __repr__(self) -> str:
        return f"<Working {len(self._desk.mind.working.slots)} slots>"

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The liveliest first."""
        return self._mind.working.slots

    @property
    def tokens(self) -> int:
        return self._mind.working.tokens

    @property
    def just_said(self) -> Turn | None:
        return self._mind.ring.just_said

    @property
    def turns(self) -> Sequence[Turn]:
        """The last turns as they were said, oldest first."""
        return tuple(heard.turn for heard in self._mind.ring.turns)

    @property
    def confidence(self) -> float:
        """How steady the conversation's way is."""
        return self._mind.momentum.confidence

    def hear(self, *turns: Turn, known: bool = False) -> Reading | None:
        """What was said goes through the mind; what the last turn did to the topic.

        known: the vault has heard it too, or is not to; nothing of it is kept when it leaves the mind.
        """
        self._catch_up()
        reading = None
        for turn in turns:
            check_turn(turn, self._settings)
            if judged(turn.text, self._settings).verdict is InjectionVerdict.CLEAN:
                reading = self._take_in(turn, self._now, known)
        return reading

    @property
    def _mind(self) -> Mind:
        self._catch_up()
        return self._desk.mind

    def _catch_up(self) -> None:
        """Hear what the vault has heard since somebody looked last."""
        if self._desks.closed:  # nothing would put it away any more
            raise StorageError("the vault is closed.", way_out="Open it again.")
        if not self._reader.writes:
            return
        with self._desk.hearing:  # whoever comes second waits until it is heard
            with self._desk.lock:
                waiting, self._desk.waiting = self._desk.waiting, []
            for turn, at in waiting:
                self._take_in(turn, at, known=True)

    def _take_in(self, turn: Turn, at: datetime, known: bool) -> Reading:
        clean = replace(turn, text=self._clean(turn.text))
        require_writable(self._reader, self._reader.scope)
        vectors = self._desks.vectors(clean.text)  # before the desk is taken
        with self._desk.lock:
            self._desk.mind, reading, gone = rules.hear_turns(self._desk.mind, clean, vectors, at, self._limits, known)
            self._desk.let_go(gone)
            self._desk.changed = True
        return reading

    @_changes
    def candidates(self) -> tuple[Evicted, ...]:
        """What left the mind and is worth long-term memory, to be kept by whoever asks; once."""
        return self._desk.take_left()

    def attend(
        self,
        what: str | Memory,
        *,
        source: SlotSource | str | None = None,
        activation: float = 0.8,
    ) -> tuple[Evicted, ...]:
        """Bring a statement, or a memory, to mind; what had to give way for it. What may be an attack does not come to mind.

        With a key (`mem.keyed`) it is put away at once, with its receipt; asked again, nothing gives way.
        """

        def make(once: Once | None) -> tuple[Evicted, ...]:
            gone = self._bring(what, source, activation)
            if once is not None and not self._desks.put_away(self._reader, self._desk, once):
                gone = self._bring(what, source, activation)  # all was forgotten, for something was erased elsewhere
                self.suspend()
            return gone

        text = what.text if isinstance(what, Memory) else what
        return self._made_once(("attend", text, source, activation), make, lambda _: "", lambda _: ())

    def _bring(self, what: str | Memory, source: SlotSource | str | None, activation: float) -> tuple[Evicted, ...]:
        recalled = isinstance(what, Memory)
        text = self._clean(what.text if isinstance(what, Memory) else what)
        if not self._is_sound(text):
            return ()
        if not text.strip():
            raise InvalidContent("there is nothing here to attend to.", way_out="Pass some text.")
        origin = _word_for(SlotSource, source or (SlotSource.RECALLED if recalled else SlotSource.SAID), "source")
        _check_number("activation", activation)
        return self._attend(text, origin, activation, what.id if isinstance(what, Memory) else "")

    @_changes
    def _attend(self, text: str, source: SlotSource, activation: float, memory_id: str) -> tuple[Evicted, ...]:
        now_in, gone = working.attend(
            self._desk.mind.working,
            text,
            self._now,
            self._limits.slot_limits,
            source=source,
            activation=activation,
            memory_id=memory_id,
        )
        self._desk.mind = replace(self._desk.mind, working=now_in)
        self._desk.let_go(gone)
        return gone

    @_changes
    def refresh(self, number: int, boost: float = 0.3) -> Slot:
        """The slot of this number (0 is the liveliest) is still of use."""
        _check_number("boost", boost)
        slots = self.slots
        if not isinstance(number, int) or not 0 <= number < len(slots):  # type: ignore[redundant-expr]
            raise InvalidQuery(f"there is no slot of that number; there are {len(slots)}.")
        entered = slots[number].entered_at, slots[number].text
        self._desk.mind = replace(self._desk.mind, working=working.refresh(self._desk.mind.working, number, self._now, boost))
        return next(slot for slot in self.slots if (slot.entered_at, slot.text) == entered)

    @_changes
    def mention(self, text: str) -> None:
        """Slots that share telling words with this are livelier."""
        check_words("text that is mentioned", text, self._settings)
        self._desk.mind = replace(self._desk.mind, working=working.mention(self._desk.mind.working, text, self._now))

    @_changes
    def tick(self, turns: int = 1) -> tuple[Evicted, ...]:
        """Time passed, and so many turns: slots fade, what has aged in the ring comes to mind. What has faded away."""
        _check_number("number of turns", turns)
        self._desk.mind, gone = rules.settle(self._desk.mind, self._now, self._limits, turns)
        self._desk.let_go(gone)
        return gone

    @_changes
    def turn_to(self, topic: Topic | str) -> tuple[Evicted, ...]:
        """The topic drifted, or was left, as someone says who knows."""
        now_in, gone = working.turn_to(self._desk.mind.working, _word_for(Topic, topic, "topic"))
        self._desk.mind = replace(self._desk.mind, working=now_in)
        self._desk.let_go(gone)
        return gone

    def export(self, form: Form | str = Form.PLAIN, budget: int | None = None) -> Exported:
        """What is in mind as text for a prompt, within so many tokens, tags included."""
        return export(self._mind.working, _word_for(Form, form, "form"), budget)

    @property
    def course(self) -> Vector | None:
        """What the talk asks, as a question's vector; None while it has no steady way."""
        return topics.steady(self._mind.momentum)

    def blend(self, text: str, query: Vector) -> Vector:
        """A question's vector drawn towards the way of the conversation, as far as its words lean on it."""
        return topics.blend(self._mind.momentum, text, query, self._limits.share)

    # ── stopping and going on ──────────────────────────────────────────────────────────────────────────────────────

    def suspend(self) -> bool:
        """Put what is in mind away in the vault, durably, and keep what left it and is worth that.

        False if something was erased since: then it is forgotten instead.
        """
        self._catch_up()
        require_writable(self._reader, self._reader.scope)
        return self._desks.put_away(self._reader, self._desk)

    def wind_up(self) -> bool:
        """`suspend`, for when the process ends: what was just said comes to mind at once, since it is not at hand any more."""
        self._wind_up()
        return self.suspend()

    @_changes
    def _wind_up(self) -> None:
        self._desk.mind, gone = rules.settle(self._desk.mind, self._now, replace(self._limits, ring_s=-1.0))
        self._desk.let_go(gone)

    def checkpoint(self, goal: str, *, decided: Sequence[str] = (), open: Sequence[str] = ()) -> Checkpoint:
        """Say what is being done, what was decided and what is left open, for whoever goes on here; puts the mind away too."""
        _check_lists(decided, open)
        cleaned = [[self._clean(text) for text in texts] for texts in ((goal,), decided, open)]
        given = any(text.strip() for texts in cleaned for text in texts)
        said = [tuple(text for text in texts if self._is_sound(text)) for texts in cleaned]
        made = Checkpoint(goal="".join(said[0]), decided=said[1], open=said[2], at=self._now)
        if not given:
            raise InvalidContent("a checkpoint says what is being done, decided or open.", way_out="Pass some text.")
        if not any(text.strip() for texts in said for text in texts):
            raise InjectionBlocked("all of this reads as an attack on the model.", way_out="Say it in other words.")
        return self._made_once(
            ("checkpoint", goal, tuple(decided), tuple(open)),
            lambda once: self._note(made, once),
            lambda _: str(to_micros(made.at)),
            lambda at: replace(made, at=from_micros(int(at))),
        )

    def _note(self, made: Checkpoint, once: Once | None) -> Checkpoint:
        body, tier = self._packed(made), self._tier(made)
        self._desks.store.put_away(self._reader, CHECKPOINT, body, self._desks.session, tier=tier, once=once)
        if made.goal:
            self._bring(made.goal, SlotSource.GOAL, 1.0)
        self.suspend()
        return made

    def hand_over(
        self, goal: str, *, decided: Sequence[str] = (), open: Sequence[str] = (), sources: Sequence[str] | None = None
    ) -> bool:
        """A checkpoint that a program took from what was said; it stands beside one that somebody wrote. It may copy memories, so
        it goes when anything is erased: False if something was, since this process looked.

        sources: ids of the memories and refs of the turns that it was taken from; it is kept as closely as they are. Where they
        are not named, or one is not there, it is sealed.
        """
        require_writable(self._reader, self._reader.scope)
        _check_lists(decided, open)
        cleaned = [[self._clean(text) for text in texts] for texts in ((goal,), decided, open)]
        said = [
            tuple(text for text in texts if judged(text, self._settings).verdict is InjectionVerdict.CLEAN) for texts in cleaned
        ]  # by a program, so what is plainly an attack is left out too, and refused to nobody
        made = Checkpoint(goal="".join(said[0]), decided=said[1], open=said[2], at=self._now)
        tier = Sensitivity.CONFIDENTIAL if sources is None else self._tier(made)
        kept = self._desks.store.put_away(
            self._reader,
            HANDOFF,
            self._packed(made),
            self._desks.session,
            tier=tier,
            sources=sources or (),
            since=self._desk.since,
        )
        return kept is not None

    def _packed(self, made: Checkpoint) -> bytes:
        """With word of the rules that all of it was just judged by, so that who reads it next need not load them."""
        return checkpoints.of_checkpoint(made, VERSION if self._settings.guard_injection else 0)

    def _tier(self, made: Checkpoint) -> Sensitivity:
        """How closely its words ask to be kept."""
        return strictest(*(tier_of(text, self._settings) for text in (made.goal, *made.decided, *made.open)))

    def resume(self) -> Resumed:
        """What was being done here, by this process or another before it."""
        with self._desk.lock:
            self._desks.take_up(self._reader, self._desk)
        noted = self._desks.store.put_away_last(self._reader, CHECKPOINT)
        made = None if noted is None else self._without_attacks(checkpoints.to_checkpoint(noted[1], noted[0]))
        found = Resumed(slots=self.slots, saved_at=self._desk.saved_at, age=self._desk.age)
        return found if made is None else replace(found, goal=made.goal, decided=made.decided, open=made.open, noted_at=made.at)

    def _without_attacks(self, noted: Checkpoint | None) -> Checkpoint | None:
        """A checkpoint may be older than the rules that judge it."""
        if noted is None:
            return None
        goal, decided, left = (
            tuple(text for text in texts if is_sound(text, self._settings))
            for texts in ((noted.goal,), noted.decided, noted.open)
        )
        return replace(noted, goal="".join(goal), decided=decided, open=left)

    def clear(self) -> int:
        """Forget all that is in mind here, and what was put away, the checkpoint too. How many slots there were."""
        return self._made_once(("clear",), self._clear, str, int)

    @_changes
    def _clear(self, once: Once | None) -> int:
        slots = len(self.slots)
        if once is not None:
            once.answer = lambda _: str(slots)
        self._desks.store.drop_put_away(self._reader, once=once)
        self._desk.mind, self._desk.saved_at, self._desk.age = Mind(), None, Age.NOTHING
        self._desk.changed, self._desk.left, self._desk.waiting = False, (), []
        return slots

    def _made_once(
        self, about: object, make: Callable[[Once | None], T], tell: Callable[[T], str], again: Callable[[str], T]
    ) -> T:
        return made_once(self._desks.store, self._reader, self._key, about, make, tell, again)

    # ── what the rules need ────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _now(self) -> datetime:
        return self._desks.env.now()

    @property
    def _settings(self) -> Settings:
        return self._desks.live.now

    @property
    def _limits(self) -> WorkingLimits:
        return working_limits(self._settings, self._desks.live.tuned(WorkingLimits))

    def _clean(self, text: str) -> str:
        """Without what is private, recalled or secret: what is in mind is put away on disk and shown in prompts."""
        check_words("text brought to mind", text, self._settings)
        return redaction.cut(text, catch_secrets=self._settings.catch_secrets).text

    def _is_sound(self, text: str) -> bool:
        """May it stand in a prompt? It does at once, so what may be an attack is left out, which is logged; what is plainly one
        is refused, as `remember` does."""
        if not screened(text, self._settings)["flagged"]:
            return True
        log.warning("what was to come to mind reads as an attack on the model, and was left out.")
        return False


E_ = TypeVar("E_", SlotSource, Topic, Form)


def _word_for(kind: type[E_], given: str, what: str) -> E_:
    try:
        return kind(given)
    except ValueError:
        raise InvalidQuery(f"there is no such {what}; there are {', '.join(one.value for one in kind)}.") from None


def _check_number(name: str, given: object) -> None:
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        raise InvalidQuery(f"the {name} must be a number that is one.", way_out="Pass a finite int or float.")


def _check_lists(*given: object) -> None:
    if any(isinstance(one, str) or not isinstance(one, Sequence) for one in given):
        raise InvalidContent("what was decided and what is open are lists of texts.", way_out="Pass lists of str.")


def put_all_away(desks: Desks) -> None:
    """When the vault closes: what changed is kept; a vault that cannot be written closes without it."""
    for reader in desks.in_use:
        try:
            Working(desks, reader).wind_up()
        except EngramError as error:
            log.warning("working memory was not put away: %s", error.code)
