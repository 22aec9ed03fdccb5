"""The verbs of working memory, on the working set of a reader's scope."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
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
from engram.rules.gaps import question_in
from engram.rules.topics import Topic, TopicReading
from engram.rules.working import Checkpoint, Evicted, Resumed, SavedAge, Slot, SlotSource, WorkingLimits, WorkingState
from engram.settings import Settings
from engram.store.receipts import AlreadyDone, ReceiptRequest, Write, write_once
from engram.store.validation import check_turn, check_words
from engram.text.english.grammar import is_assistant
from engram.types import Memory, Reader, Sensitivity, Turn
from engram.values.frozen import replace
from engram.values.identity import strictest
from engram.values.working import CHECKPOINT, HANDOFF
from engram.working.export import Exported, Form, export
from engram.working.sets import WorkingSets, working_limits

log = Log("engram")

P = ParamSpec("P")
T = TypeVar("T")


def _changes(method: Callable[Concatenate[Working, P], T]) -> Callable[Concatenate[Working, P], T]:
    """Decorate a verb that changes working memory: check write access, hold the lock, mark the set as unsaved."""

    def guarded(self: Working, /, *args: P.args, **named: P.kwargs) -> T:
        require_writable(self._reader, self._reader.scope)
        self._catch_up()
        with self._set.lock:
            self._set.changed = True
            return method(self, *args, **named)

    guarded.__doc__, guarded.__name__ = method.__doc__, method.__name__
    return guarded


class Working:
    """The working memory of a reader's scope.

    Verbs that evict slots return them. Evicted slots worth storing (`candidate`) are stored in the vault by the next `suspend`,
    unless `candidates` took them before.
    """

    def __init__(self, sets: WorkingSets, reader: Reader, key: str | None = None) -> None:
        self._sets = sets
        self._key = key
        self._set = sets.of(reader)
        self._reader = reader

    def __repr__(self) -> str:
        return f"<Working {len(self._set.state.working.slots)} slots>"

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots, the most active first."""
        return self._state.working.slots

    @property
    def tokens(self) -> int:
        return self._state.working.tokens

    @property
    def just_said(self) -> Turn | None:
        """The last turn, read without search, store or encoder."""
        return next(reversed(self.turns), None)

    @property
    def turns(self) -> Sequence[Turn]:
        """The last turns, verbatim, oldest first, read without search, store or encoder."""
        self._require_open()
        with self._set.lock:
            heard = [recent.turn for recent in self._set.state.last_turns.turns]
            return (*heard, *(turn for turn, _ in self._set.queued))[-self._limits.last_turns :]

    @property
    def talk(self) -> str:
        """The words just said, with which a message that depends on them is searched; after a break those of the last slots."""
        if turns := self.turns:
            return topics.talk_of(turns)
        said = [slot for slot in self._set.state.working.slots if slot.source in (SlotSource.SAID, SlotSource.TOOL)]
        return topics.talk_of([Turn(slot.text) for slot in sorted(said, key=lambda slot: slot.touched_at)])

    @property
    def confidence(self) -> float:
        """The confidence in the topic of the conversation, 0 … 1."""
        return self._state.momentum.confidence

    def hear(self, *turns: Turn, known: bool = False) -> TopicReading | None:
        """Apply turns to working memory; return the topic assessment of the last one.

        known: the vault has these turns already, or must not store them; they are not stored when they are evicted.
        """
        self._catch_up()
        reading = None
        for turn in turns:
            check_turn(turn, self._settings)
            if judged(turn.text, self._settings).verdict is InjectionVerdict.CLEAN:
                reading = self._apply(replace(turn, text=self._clean(turn.text)), self._now, known)
        return reading

    @property
    def _state(self) -> WorkingState:
        self._catch_up()
        return self._set.state

    def _catch_up(self) -> None:
        """Apply the turns that were queued since the last read."""
        self._require_open()
        if not self._reader.writes:
            return
        with self._set.queue_lock:  # a second thread waits until the queue is applied
            while queued := self._set.queued[:1]:
                self._apply(*queued[0], known=True, queued=True)

    def _require_open(self) -> None:
        if self._sets.closed:  # changes would not be saved any more
            raise StorageError("the vault is closed.", way_out="Open it again.")

    def _apply(self, turn: Turn, at: datetime, known: bool, queued: bool = False) -> TopicReading | None:
        require_writable(self._reader, self._reader.scope)
        vectors = self._sets.vectors(turn.text)  # encoded outside the lock
        with self._set.lock:
            if queued and (turn, at) not in self._set.queued[:1]:
                return None  # it was cleared meanwhile
            self._set.queued = self._set.queued[queued:]
            self._set.state, reading, evicted = rules.apply_turn(self._set.state, turn, vectors, at, self._limits, known)
            self._set.add_evicted(evicted)
            self._set.changed = True
        if turn.speaker != "tool" and not is_assistant(turn.speaker) and (question := question_in(turn.text)):
            self._sets.store.gaps.put(self._reader, question, raised=True)
        return reading

    @_changes
    def candidates(self) -> tuple[Evicted, ...]:
        """Return the evicted slots that are worth storing, once; the caller stores them."""
        return self._set.take_evicted()

    def attend(
        self,
        what: str | Memory,
        *,
        source: SlotSource | str | None = None,
        activation: float = 0.8,
    ) -> tuple[Evicted, ...]:
        """Add a statement or a memory to working memory; return the slots evicted for it. A flagged text is left out.

        With an idempotency key (`mem.keyed`) working memory is saved at once, with the receipt; a repeated call evicts nothing.
        """

        def write(*, receipt: ReceiptRequest | None) -> tuple[Evicted, ...]:
            evicted = self._add_statement(what, source, activation)
            if receipt is not None and not self._sets.save(self._reader, self._set, receipt):
                evicted = self._add_statement(what, source, activation)  # an erasure elsewhere had cleared the set
                self.suspend()
            return evicted

        text = what.text if isinstance(what, Memory) else what
        return self._write_once(("attend", text, source, activation), write, lambda _: "", lambda _: ())

    def _add_statement(self, what: str | Memory, source: SlotSource | str | None, activation: float) -> tuple[Evicted, ...]:
        recalled = isinstance(what, Memory)
        text = self._clean(what.text if isinstance(what, Memory) else what)
        if not self._may_be_shown(text):
            return ()
        if not text.strip():
            raise InvalidContent("the text to attend to is empty.", way_out="Pass some text.")
        origin = _enum_value(SlotSource, source or (SlotSource.RECALLED if recalled else SlotSource.SAID), "source")
        _check_number("activation", activation)
        return self._attend(text, origin, activation, what.id if isinstance(what, Memory) else "")

    @_changes
    def _attend(self, text: str, source: SlotSource, activation: float, memory_id: str) -> tuple[Evicted, ...]:
        slots, evicted = working.attend(
            self._set.state.working,
            text,
            self._now,
            self._limits.slot_limits,
            source=source,
            activation=activation,
            memory_id=memory_id,
        )
        self._set.state = replace(self._set.state, working=slots)
        self._set.add_evicted(evicted)
        return evicted

    @_changes
    def refresh(self, number: int, boost: float = 0.3) -> Slot:
        """Raise the activation of a slot by its number (0 is the most active); return it."""
        _check_number("boost", boost)
        slots = self.slots
        if not isinstance(number, int) or not 0 <= number < len(slots):  # type: ignore[redundant-expr]
            raise InvalidQuery(f"there is no slot of that number; there are {len(slots)} slots, counted from 0.")
        entered = slots[number].entered_at, slots[number].text
        self._set.state = replace(self._set.state, working=working.refresh(self._set.state.working, number, self._now, boost))
        return next(slot for slot in self.slots if (slot.entered_at, slot.text) == entered)

    @_changes
    def mention(self, text: str) -> None:
        """Raise the activation of slots that share content words with this text."""
        check_words("text that is mentioned", text, self._settings)
        self._set.state = replace(self._set.state, working=working.mention(self._set.state.working, text, self._now))

    @_changes
    def tick(self, turns: int = 1) -> tuple[Evicted, ...]:
        """Apply the time passed and a number of turns: slots decay, aged turns become slots. Return the evicted slots."""
        _check_number("number of turns", turns)
        self._set.state, evicted = rules.pass_time(self._set.state, self._now, self._limits, turns)
        self._set.add_evicted(evicted)
        return evicted

    @_changes
    def turn_to(self, topic: Topic | str) -> tuple[Evicted, ...]:
        """Apply a change of topic that the caller knows of; return the evicted slots."""
        slots, evicted = working.change_topic(self._set.state.working, _enum_value(Topic, topic, "topic"))
        self._set.state = replace(self._set.state, working=slots)
        self._set.add_evicted(evicted)
        return evicted

    def export(self, form: Form | str = Form.PLAIN, budget: int | None = None) -> Exported:
        """Return working memory as text for a prompt, within a token budget that includes markup."""
        return export(self._state.working, _enum_value(Form, form, "form"), budget)

    # ── suspend and resume ─────────────────────────────────────────────────────────────────────────────────────────

    def suspend(self) -> bool:
        """Save working memory in the vault, durably, and store the evicted slots that are worth it.

        False if something was erased since it was loaded: then working memory is cleared instead.
        """
        self._catch_up()
        require_writable(self._reader, self._reader.scope)
        return self._sets.save(self._reader, self._set)

    def wind_up(self) -> bool:
        """Suspend at the end of the process: the last turns, which are not saved, become slots first."""
        self._promote_last_turns()
        return self.suspend()

    @_changes
    def _promote_last_turns(self) -> None:
        self._set.state, evicted = rules.pass_time(self._set.state, self._now, replace(self._limits, last_turns_s=-1.0))
        self._set.add_evicted(evicted)

    def checkpoint(self, goal: str, *, decided: Sequence[str] = (), open: Sequence[str] = ()) -> Checkpoint:
        """Save goal, decisions and open questions for the next session in this scope, and suspend working memory."""
        _check_lists(decided, open)
        cleaned = [[self._clean(text) for text in texts] for texts in ((goal,), decided, open)]
        any_text = any(text.strip() for texts in cleaned for text in texts)
        screened_texts = [tuple(text for text in texts if self._may_be_shown(text)) for texts in cleaned]
        checkpoint = Checkpoint(goal="".join(screened_texts[0]), decided=screened_texts[1], open=screened_texts[2], at=self._now)
        if not any_text:
            raise InvalidContent("the checkpoint is empty.", way_out="Pass a goal, decisions or open questions.")
        if not any(text.strip() for texts in screened_texts for text in texts):
            raise InjectionBlocked("every text of the checkpoint reads as prompt injection.", way_out="Say it in other words.")
        return self._write_once(
            ("checkpoint", goal, tuple(decided), tuple(open)),
            partial(self._save_checkpoint, checkpoint),
            lambda _: str(to_micros(checkpoint.at)),
            lambda at: replace(checkpoint, at=from_micros(int(at))),
        )

    def _save_checkpoint(self, checkpoint: Checkpoint, *, receipt: ReceiptRequest | None) -> Checkpoint:
        body, tier = self._checkpoint_bytes(checkpoint), self._tier(checkpoint)
        self._sets.store.working.save(self._reader, CHECKPOINT, body, self._sets.session, tier=tier, receipt=receipt)
        if checkpoint.goal:
            self._add_statement(checkpoint.goal, SlotSource.GOAL, 1.0)
        self.suspend()
        return checkpoint

    def hand_over(
        self, goal: str, *, decided: Sequence[str] = (), open: Sequence[str] = (), sources: Sequence[str] | None = None
    ) -> bool:
        """Save a checkpoint that a program extracted from the conversation, beside one that was written on purpose.

        It may contain copies of memories, so every erasure deletes it. False if something was erased since working memory was
        loaded.

        sources: ids of the memories and refs of the turns it was taken from; it inherits the highest of their sensitivities. If
        they are not given, or one does not exist, it is sealed.
        """
        require_writable(self._reader, self._reader.scope)
        _check_lists(decided, open)
        cleaned = [[self._clean(text) for text in texts] for texts in ((goal,), decided, open)]
        screened_texts = [
            tuple(text for text in texts if judged(text, self._settings).verdict is InjectionVerdict.CLEAN) for texts in cleaned
        ]  # from a program, so flagged text is left out instead of refused
        checkpoint = Checkpoint(goal="".join(screened_texts[0]), decided=screened_texts[1], open=screened_texts[2], at=self._now)
        tier = Sensitivity.CONFIDENTIAL if sources is None else self._tier(checkpoint)
        saved_at = self._sets.store.working.save(
            self._reader,
            HANDOFF,
            self._checkpoint_bytes(checkpoint),
            self._sets.session,
            tier=tier,
            sources=sources or (),
            since=self._set.since,
        )
        return saved_at is not None

    def _checkpoint_bytes(self, checkpoint: Checkpoint) -> bytes:
        """Return a checkpoint as bytes with the version of the rules that screened it, so that a reader need not load them."""
        return checkpoints.checkpoint_to_bytes(checkpoint, VERSION if self._settings.guard_injection else 0)

    def _tier(self, checkpoint: Checkpoint) -> Sensitivity:
        """Return the highest sensitivity of the checkpoint's texts."""
        return strictest(*(tier_of(text, self._settings) for text in (checkpoint.goal, *checkpoint.decided, *checkpoint.open)))

    def resume(self) -> Resumed:
        """Return the last checkpoint and the working memory of this scope, saved by this process or an earlier one."""
        with self._set.lock:
            self._sets.load(self._reader, self._set)
        saved = self._sets.store.working.load(self._reader, CHECKPOINT)
        checkpoint = None if saved is None else self._without_flagged(checkpoints.checkpoint_from_bytes(saved[1], saved[0]))
        resumed = Resumed(slots=self.slots, saved_at=self._set.saved_at, age=self._set.age)
        if checkpoint is None:
            return resumed
        return replace(resumed, goal=checkpoint.goal, decided=checkpoint.decided, open=checkpoint.open, noted_at=checkpoint.at)

    def _without_flagged(self, checkpoint: Checkpoint | None) -> Checkpoint | None:
        """Return a checkpoint without texts flagged as injection: it may be older than the rules that flag them."""
        if checkpoint is None:
            return None
        goal, decided, open_texts = (
            tuple(text for text in texts if is_sound(text, self._settings))
            for texts in ((checkpoint.goal,), checkpoint.decided, checkpoint.open)
        )
        return replace(checkpoint, goal="".join(goal), decided=decided, open=open_texts)

    def clear(self) -> int:
        """Clear working memory, its saved state and the checkpoint; return the number of slots there were."""
        return self._write_once(("clear",), self._clear, str, int)

    @_changes
    def _clear(self, *, receipt: ReceiptRequest | None) -> int:
        slots = len(self.slots)
        self._sets.store.working.drop(self._reader, receipt=receipt and receipt.mapped(lambda _: slots))
        self._set.state, self._set.saved_at, self._set.age = WorkingState(), None, SavedAge.NOTHING
        self._set.changed, self._set.evicted, self._set.queued = False, (), []
        return slots

    def _write_once(self, request: object, write: Write[T], encode: Callable[[T], str], decode: Callable[[str], T]) -> T:
        if self._key is None:
            return write(receipt=None)
        try:
            return write_once(self._sets.store.receipts, self._reader, self._key, request, write, encode)
        except AlreadyDone as done:
            return decode(done.answer)

    # ── settings and checks ────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _now(self) -> datetime:
        return self._sets.env.now()

    @property
    def _settings(self) -> Settings:
        return self._sets.live.now

    @property
    def _limits(self) -> WorkingLimits:
        return working_limits(self._settings, self._sets.live.tuned(WorkingLimits))

    def _clean(self, text: str) -> str:
        """Return a text without private, recalled and secret parts: working memory is saved on disk and shown in prompts."""
        check_words("text for working memory", text, self._settings)
        return redaction.cut(text, catch_secrets=self._settings.catch_secrets).text

    def _may_be_shown(self, text: str) -> bool:
        """Return whether a text may go into a prompt. A flagged text is logged; a blocked one raises, as in `remember`."""
        if not screened(text, self._settings)["flagged"]:
            return True
        log.warning("a text for working memory is flagged as prompt injection; it was left out.")
        return False


E_ = TypeVar("E_", SlotSource, Topic, Form)


def _enum_value(kind: type[E_], value: str, what: str) -> E_:
    try:
        return kind(value)
    except ValueError:
        raise InvalidQuery(f"unknown {what}.", way_out=f"Pass one of {', '.join(member.value for member in kind)}.") from None


def _check_number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidQuery(f"the {name} must be a finite number.", way_out="Pass a finite int or float.")


def _check_lists(*lists: object) -> None:
    if any(isinstance(value, str) or not isinstance(value, Sequence) for value in lists):
        raise InvalidContent("`decided` and `open` must be lists of texts.", way_out="Pass lists of str.")


def save_all(sets: WorkingSets) -> None:
    """Save all changed working sets when the vault closes; failures are logged, so that the vault still closes."""
    for reader in sets.unsaved:
        try:
            Working(sets, reader).wind_up()
        except EngramError as error:
            log.warning("working memory was not saved: %s", error.code)
