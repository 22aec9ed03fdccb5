"""One message and its answer as one call pair: what to read before, and what to keep after (§17.5).

Chat, task, cron, orchestrator, swarm and flow go the same way; their profiles say how the window is divided and whether what
was said is captured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Self

from engram.capture.chunks import in_parts
from engram.capture.reports import from_words, to_words
from engram.context.budget import PROFILES
from engram.context.window import ContextWindow
from engram.deadline import without_deadline
from engram.errors import EngramError, InvalidContent, InvalidQuery
from engram.store.receipts import ReceiptRequest
from engram.types import Report, Turn
from engram.values.frozen import replace
from engram.verbs import context
from engram.verbs.view import View


class Run:
    """A run that has begun. `end` it with the answer; left without one, it is cancelled: nothing of it is captured."""

    def __init__(self, view: View, message: Turn, window: ContextWindow, captures: bool) -> None:
        self.window = window
        self._view = view
        self._message = message
        self._captures = captures
        self._over = False

    def end(self, answer: str) -> Report:
        """Keep what was said, take it to mind, and put the mind away. Once; a second answer belongs to a second run."""
        if self._over:
            raise InvalidQuery("this run is over.")
        self._over = True
        reply = Turn(answer, "assistant", session=self._message.session)
        report = Report(operation="observe", counts={"turns": 0, "kept": 0, "merged": 0, "dropped": 0})
        if self._captures:
            try:
                vault = self._view.vault
                report = vault.observer.observe(self._view.reader, (self._message, reply), vault.session)
            except EngramError:
                self._over = False  # nothing was kept: it can be ended again, or is cancelled
                raise
        _attended(self._view, self._message, reply)
        return report

    def cancel(self) -> None:
        """The message was heard, but nothing came of it: it stays in mind and out of the vault. Cancelling twice is once.

        A deadline that has passed does not keep it from that.
        """
        if not self._over:
            self._over = True
            _attended(self._view, self._message)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.cancel()


def _numbered(turns: Iterable[Turn], mark: str) -> Iterator[Turn]:
    """Turns without a ref get one, so that an ingest that was cut short and is made again hears each of them once."""
    for number, turn in enumerate(turns):
        bare = isinstance(turn, Turn) and not turn.ref  # type: ignore[redundant-expr]  # what is none is refused by name
        yield replace(turn, ref=f"{mark}:{number}") if bare else turn


def observe(view: View, *turns: Turn, user: str | None = None, assistant: str | None = None) -> Report:
    """Hear turns, or one exchange, and keep what matters of it. The report says what became of every piece.

    A turn's `ref` is what it is known by: one whose ref is known here was heard before and is passed over. What is said now
    goes through the mind too (`working`); what was said long ago does not.
    """
    exchange = [Turn(text, who) for who, text in (("user", user), ("assistant", assistant)) if text is not None]
    said = (*turns, *exchange)

    def after() -> None:
        view.vault.working_sets.queue_turns(view.reader, said)
        view.vault.prefetcher.start(view.reader)

    write = partial(view.vault.observer.observe, view.reader, said, view.vault.session)
    return view.write_once(("observe", said), write, to_words, from_words, after)


def ingest(view: View, turns: Iterable[Turn] | str, *, progress: Callable[[int], None] | None = None) -> Report:
    """Hear many turns, or a long text. What was heard before is passed over, so it can be run again.

    Turns are known by their `ref`, the parts of a text by their words; turns without a ref are heard each time.
    """
    if not isinstance(turns, Iterable):
        raise InvalidContent("what is ingested must be turns or a text.", way_out="Pass a str or `engram.Turn`s.")
    vault = view.vault
    said = in_parts(turns, vault.live.now.turn_bytes, vault.store.turns.digest) if isinstance(turns, str) else turns
    known = turns if isinstance(turns, Sequence) else ()  # what is read as it comes cannot be compared

    def write(*, receipt: ReceiptRequest | None) -> Report:
        each = said if receipt is None else _numbered(said, f"once:{vault.store.turns.digest(receipt.key)}")
        return vault.observer.ingest(view.reader, iter(each), vault.session, progress)

    return view.write_once(("ingest", known), write, to_words, from_words)


def begin(
    view: View,
    message: str,
    *,
    model: str,
    budget: int | None = None,
    history: Sequence[Turn] = (),
    now: datetime | None = None,
    profile: str = "chat",
    mode: str | None = None,
    session: str | None = None,
) -> Run:
    """What an agent should read for this message (`.window`), as a run to be ended with its answer."""
    window = context.context(view, message, model=model, budget=budget, history=history, now=now, profile=profile, mode=mode)
    captures = PROFILES[profile].captures and view.reader.writes
    return Run(view, Turn(message, "user", at=now, session=session), window, captures)


def _attended(view: View, *turns: Turn) -> None:
    """To mind, and the mind put away: if the process ends now, the next one goes on here."""
    if view.reader.writes:
        with without_deadline():
            _put_to_mind(view, *turns)
            view.vault.prefetcher.start(view.reader)


def _put_to_mind(view: View, *turns: Turn) -> None:
    mind = context.working(view)
    mind.hear(*(turn for turn in turns if turn.text.strip()), known=True)  # what is not captured is not to be
    mind.suspend()
