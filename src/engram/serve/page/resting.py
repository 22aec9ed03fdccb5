"""What was done to the memory at rest: passes that ran, one to be tried or run now, and taking one back."""

from __future__ import annotations

from engram.errors import InvalidQuery, SearchTimeout, WriteFailed
from engram.passes import Rested
from engram.serve.page.asking import Asking, Sent, Shown, place

_PASSES = 30
_SHOWN = 6
_VERBS = ("consolidate", "dream")


def rest(asking: Asking, tried: Rested | None = None) -> Shown:
    """The passes; and what one would change, if it was tried."""
    passes = asking.call("dreams", limit=_PASSES).passes
    changes = {} if tried is None else tried.changes
    samples = asking.memories([id for ids in changes.values() for id in ids[:_SHOWN]])
    return Shown("rest.html", {"passes": passes, "tried": tried, "samples": samples, "shown": _SHOWN})


def trial(asking: Asking) -> Shown:
    return rest(asking, asking.call(_verb(asking), dry_run=True))


def run(asking: Asking) -> Sent:
    """A pass that takes longer than a request may is no failure: what is done is done, and the next one goes on with it."""
    verb, until = _verb(asking), asking.mem.env.monotonic() + asking.timeout
    try:
        asking.call(verb)
    except (SearchTimeout, WriteFailed):
        if asking.mem.env.monotonic() < until:
            raise
        return Sent(place("/rest", done="unfinished"))
    return Sent(place("/rest", done="rested"))


def undo(asking: Asking) -> Sent:
    asking.call("undo_dream", id=asking.text("id"))
    return Sent(place("/rest", done="undone"))


def _verb(asking: Asking) -> str:
    if (verb := asking.text("verb")) not in _VERBS:
        raise InvalidQuery("there is no such pass.", way_out=f"Say {' or '.join(_VERBS)}.")
    return verb
