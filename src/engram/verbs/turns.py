"""The verbs of conversations: capture turns, and run one message with its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial

from engram.capture.reports import report_from_text, report_to_text
from engram.context.run import Run
from engram.errors import InvalidContent
from engram.types import Report, Turn
from engram.verbs.view import View


def observe(view: View, *turns: Turn, user: str | None = None, assistant: str | None = None) -> Report:
    """Capture turns, or one exchange of `user` and `assistant`. The report says what became of every piece.

    A turn whose `ref` is stored already is skipped. Turns of the present also go through working memory (`working`); turns of
    long ago do not.
    """
    exchange = [Turn(text, speaker) for speaker, text in (("user", user), ("assistant", assistant)) if text is not None]
    observed = (*turns, *exchange)
    write = partial(view.vault.observer.observe, view.reader, observed, view.vault.session)
    after = partial(view.vault.prefetcher.follow, view.reader, observed)
    return view.write_once(("observe", observed), write, report_to_text, report_from_text, after)


def ingest(view: View, turns: Iterable[Turn] | str, *, progress: Callable[[int], None] | None = None) -> Report:
    """Capture many turns, or a long text. Turns that are stored already are skipped, so it can be repeated.

    Turns are recognized by their `ref`, the parts of a text by their words; turns without a ref are captured each time.
    """
    if not isinstance(turns, Iterable):
        raise InvalidContent("ingest takes turns or a text.", way_out="Pass a str or `engram.Turn`s.")
    comparable = turns if isinstance(turns, Sequence) else ()  # an iterator can be read only once
    write = partial(view.vault.observer.ingest_all, view.reader, turns, view.vault.session, progress)
    return view.write_once(("ingest", comparable), write, report_to_text, report_from_text)


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
    """Return the context window of a message (`.window`) as a run, to be ended with the answer."""
    return view.vault.context_builder.begin(
        view.reader,
        message,
        lambda turns: view.vault.observer.observe(view.reader, turns, view.vault.session),
        model=model,
        budget=budget,
        history=history,
        now=now,
        profile=profile,
        mode=mode,
        session=session,
    )
