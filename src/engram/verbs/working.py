"""The verbs of working memory: the working set of a scope, its last checkpoint, the briefing after a break."""

from __future__ import annotations

from engram.context.resume import morning_of
from engram.rules.resume import Morning
from engram.rules.working import Resumed
from engram.verbs.view import View
from engram.working.memory import Working


def working(view: View) -> Working:
    """Return working memory of the reader's scope: its slots, `attend`, `hear`, `tick`, `export`, `suspend`, `checkpoint`."""
    return Working(view.vault.working_sets, view.reader, view.key)


def resume(view: View) -> Resumed:
    """Return the goal, decisions and open questions of the last checkpoint of this scope, and its working memory."""
    return working(view).resume()


def morning(view: View) -> Morning:
    """Return a briefing after a break: goal, decisions, open questions, working memory, and the memories learned since."""
    return morning_of(view.vault.working_sets, view.reader)
