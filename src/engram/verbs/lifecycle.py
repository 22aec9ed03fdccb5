"""The verbs of a memory's lifecycle: its layer and state, promotion and demotion."""

from __future__ import annotations

from functools import partial

from engram.errors import NotFound
from engram.rules.lifecycle import LifecycleState, Review, above, below, layer_change, lifecycle_state, review_of
from engram.types import Memory
from engram.verbs.memories import get
from engram.verbs.view import View, id_of


def promote(view: View, memory_id: str) -> Memory:
    """Raise a memory by a layer: from working to episodic, from episodic to semantic. Rules do this too, by use."""
    write = partial(view.vault.store.memories.update, view.reader, memory_id, partial(layer_change, above))
    return view.write_once(("promote", memory_id), write, id_of, view.stored)


def demote(view: View, memory_id: str) -> Memory:
    """Lower a memory by a layer."""
    write = partial(view.vault.store.memories.update, view.reader, memory_id, partial(layer_change, below))
    return view.write_once(("demote", memory_id), write, id_of, view.stored)


def review(view: View, memory_id: str, decision: Review | str, *, reason: str = "") -> Memory:
    """Decide by hand whether a memory holds (M21): confirm, challenge, dispute or invalidate it. The history keeps the reason.

    A confirmed memory is active and counts one witness more. A challenged or disputed one is recalled behind its rivals. An
    invalid one is recalled no more. Each decision can be taken back by another.
    """
    decided = review_of(decision)
    why = view.vault.observer.cleaned(reason).strip()
    told = f"{decided.past} by hand: {why}" if why else f"{decided.past} by hand"
    write = partial(
        view.vault.store.memories.review,
        view.reader,
        memory_id,
        decided.status,
        told,
        confirmed=decided is Review.CONFIRM,
    )
    return view.write_once(("review", memory_id, decided.value, reason), write, id_of, view.stored)


def standing(view: View, memory_id: str) -> LifecycleState:
    """Return the lifecycle of a memory: layer, state, verification, retention, activity and how far it has faded."""
    memory = get(view, memory_id)
    if memory is None:
        raise NotFound("there is no memory of that id that this identity may see.")
    return lifecycle_state(memory, view.vault.env.now(), view.vault.live.now)
