"""What was done to the memory at rest: passes that ran, one to be tried or run now, and taking one back."""

from __future__ import annotations

from engram.errors import InvalidQuery, SearchTimeout, WriteFailed
from engram.passes import PassReport
from engram.serve.page.asking import Asking, Sent, Shown, place
from engram.types import Policy

_PASSES = 30
_SHOWN = 6
_VERBS = ("consolidate", "dream")


def rest(asking: Asking, tried: PassReport | None = None) -> Shown:
    """The passes; and what one would change, if it was tried."""
    passes = asking.call("dreams", limit=_PASSES).passes
    changes = {} if tried is None else tried.changes
    samples = asking.memories([id for ids in changes.values() for id in ids[:_SHOWN]])
    return Shown("rest.html", {"passes": passes, "tried": tried, "samples": samples, "shown": _SHOWN})


def trial(asking: Asking) -> Shown | Sent:
    tried = _passed(asking, dry_run=True)
    return Sent(place("/rest", done="untried")) if tried is None else rest(asking, tried)


def run(asking: Asking) -> Sent:
    done = "rested" if _passed(asking) is not None else "goes_on" if _goes_on(asking) else "unfinished"
    return Sent(place("/rest", done=done))


def _goes_on(asking: Asking) -> bool:
    """Will the vault go on with it by itself, once nobody asks? It does so for its owner, who sees all."""
    return asking.mem.settings.now.dream and asking.mem.reader.policy is Policy.ALL


def _passed(asking: Asking, *, dry_run: bool = False) -> PassReport | None:
    """What a pass did; None if it takes longer than a request may. That is no failure: the next one goes on with it."""
    verb, until = _verb(asking), asking.mem.env.monotonic() + asking.timeout
    try:
        done: PassReport = asking.call(verb, dry_run=dry_run)
    except (SearchTimeout, WriteFailed):
        if asking.mem.env.monotonic() < until:
            raise
        return None
    return done


def undo(asking: Asking) -> Sent:
    asking.call("undo_dream", id=asking.text("id"))
    return Sent(place("/rest", done="undone"))


def _verb(asking: Asking) -> str:
    if (verb := asking.text("verb")) not in _VERBS:
        raise InvalidQuery("there is no such pass.", way_out=f"Say {' or '.join(_VERBS)}.")
    return verb
