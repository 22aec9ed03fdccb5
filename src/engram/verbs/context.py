"""The verbs of work in progress: the context window of a message, working memory, the briefing after a break."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engram.context.resume import morning_of
from engram.context.window import ContextWindow
from engram.rules.resume import Morning
from engram.rules.working import Resumed
from engram.text.transcripts import OpenAI
from engram.types import Turn
from engram.verbs.view import View
from engram.working.memory import Working


def context(
    view: View,
    message: str,
    *,
    model: str,
    budget: int | None = None,
    history: Sequence[Turn | OpenAI] = (),
    now: datetime | None = None,
    profile: str = "chat",
    mode: str | None = None,
) -> ContextWindow:
    """Build the prompt for a message: memories and history within a token budget, with every token accounted for.

    history: earlier turns, as `Turn`s or as messages with `role` and `content`; system messages go before all else.
    model: its window and tokenizer count. budget: tokens of the whole; by default what the model has room for. profile: how it
    is divided (chat, task, cron, orchestrator, swarm, flow). mode: how much is shown unasked (minimal, standard, deep).
    """
    return view.vault.context_builder.build(
        view.reader, message, model=model, budget=budget, history=history, now=now, profile=profile, mode=mode
    )


def working(view: View) -> Working:
    """Return working memory of the reader's scope: its slots, `attend`, `hear`, `tick`, `export`, `suspend`, `checkpoint`."""
    return Working(view.vault.working_sets, view.reader, view.key)


def resume(view: View) -> Resumed:
    """Return the goal, decisions and open questions of the last checkpoint of this scope, and its working memory."""
    return working(view).resume()


def morning(view: View) -> Morning:
    """Return a briefing after a break: goal, decisions, open questions, working memory, and the memories learned since."""
    return morning_of(view.vault.working_sets, view.reader)
