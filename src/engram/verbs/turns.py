"""The verbs of conversations: capture turns, list and keep what capture dropped, and run one message with its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial

from engram.capture.reports import report_from_text, report_to_text
from engram.context.run import Run
from engram.context.sections import ContextSection
from engram.errors import InvalidContent
from engram.store.limits import StoreLimits
from engram.types import DroppedPiece, Memory, Report, Turn
from engram.verbs.view import View, id_of, require_positive


def observe(view: View, *turns: Turn, user: str | None = None, assistant: str | None = None) -> Report:
    """Capture turns, or one exchange of `user` and `assistant`. The report says what became of every piece.

    A turn whose `ref` is stored already is skipped. Turns of the present also go through working memory (`working`); turns of
    long ago do not.
    """
    exchange = [Turn(text, speaker) for speaker, text in (("user", user), ("assistant", assistant)) if text is not None]
    observed = (*turns, *exchange)
    write = partial(view.vault.observer.observe, view.reader, observed, view.vault.session)
    after = partial(view.vault.working_sets.queue_turns, view.reader, observed)
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


def dropped(view: View, *, session: str | None = None, limit: int = 50) -> list[DroppedPiece]:
    """Return the pieces of the last `limit` turns, of a session or of the reader's scope, of which nothing is kept, and why.

    The stored turns are read anew, by the present rules. `keep` keeps a piece.
    """
    require_positive("limit", limit)
    return view.vault.observer.dropped(view.reader, session, min(limit, view.vault.live.tuned(StoreLimits).page_limit))


def keep(view: View, piece: str) -> Memory:
    """Keep a piece of a stored turn that capture dropped. piece: its name, as `dropped` gives it."""
    write = partial(view.vault.observer.keep, view.reader, piece)
    return view.write_once(("keep", piece), write, id_of, view.stored)


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
    sections: Sequence[ContextSection] = (),
) -> Run:
    """Return the context window of a message (`.window`) as a run, to be ended with the answer. Arguments as of `context`."""
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
        sections=sections,
    )
