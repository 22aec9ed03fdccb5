"""The verb `context`: the context window of a message."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engram.context.sections import ContextSection
from engram.context.window import ContextWindow
from engram.text.transcripts import OpenAI
from engram.types import Turn
from engram.values.query import Filter
from engram.verbs.view import View


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
    filters: Filter | None = None,
    sections: Sequence[ContextSection] = (),
) -> ContextWindow:
    """Build the prompt for a message: memories and history within a token budget, with every token accounted for.

    history: earlier turns, as `Turn`s or as messages with `role` and `content`; system messages go before all else.
    model: its window and tokenizer count. budget: tokens of the whole; by default what the message needs, at most the setting
    `context_tokens`, and room for history and sections. profile: how it is divided (chat, task, cron, orchestrator, swarm,
    flow). mode: how much is shown unasked (minimal, standard, deep). filters: conditions on the memories that are recalled.
    sections: the caller's own, before what is remembered.
    """
    return view.vault.context_builder.build(
        view.reader,
        message,
        model=model,
        budget=budget,
        history=history,
        now=now,
        profile=profile,
        mode=mode,
        filters=filters or Filter(),
        sections=sections,
    )
