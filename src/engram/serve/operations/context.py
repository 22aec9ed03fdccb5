"""The operation that makes a context window for a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from engram.context.sections import ContextSection
from engram.context.window import ContextWindow
from engram.serve.operations.operation import Arg, Files, Languages, Operation, People, Speakers, Technologies, Topics
from engram.types import Turn
from engram.values.frozen import frozen
from engram.values.query import READ_FIELDS, Filter

if TYPE_CHECKING:
    from engram.engine import Engram


@frozen(kw_only=True)
class ContextInput:
    message: Annotated[str, Arg("What the agent was asked.", positional=True, free_text=True)]
    model: Annotated[str, Arg("Whose window and tokenizer count.")] = "gpt-4o"
    budget: Annotated[int | None, Arg("Tokens, else what the message needs.", low=1, high=10_000_000)] = None
    profile: Annotated[str, Arg("chat, task, cron, orchestrator, swarm or flow.")] = "chat"
    mode: Annotated[str | None, Arg("How much is said unasked: minimal, standard or deep; else as is set.")] = None
    history: Annotated[
        tuple[Turn, ...], Arg("What was said before, in order: turns, or messages of `role` and `content`.", high=10_000)
    ] = ()
    people: People = ()
    technologies: Technologies = ()
    files: Files = ()
    languages: Languages = ()
    topics: Topics = ()
    speakers: Speakers = ()
    sections: Annotated[
        tuple[ContextSection, ...],
        Arg("Sections of your own, such as identity, roster, notes: a title and a text each.", high=32),
    ] = ()


def context(mem: Engram, given: ContextInput) -> ContextWindow:
    return mem.context(
        given.message,
        model=given.model,
        budget=given.budget,
        history=given.history,
        profile=given.profile,
        mode=given.mode,
        filters=Filter(**{name: getattr(given, name) for name in READ_FIELDS}),
        sections=given.sections,
    )


OPERATIONS = (
    Operation(
        name="context",
        help="Show what an agent should read for a message: memories and history in a budget, fenced as data.",
        input=ContextInput,
        output=ContextWindow,
        run=context,
    ),
)
