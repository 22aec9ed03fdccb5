"""What a window is made with: the model's room, how it is divided, how its tokens are counted, how many hits to ask for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from engram.context.budget import PROFILES, Profile
from engram.context.modes import MODES, Injection, shared
from engram.errors import InvalidQuery
from engram.frozen import frozen
from engram.models.llms import Capabilities, capabilities
from engram.text import tokens

_FEWEST, _MOST = 20, 500
_SHORTEST = 12  # tokens that a memory's line takes at least
_ANSWER = 4  # a quarter of a window at most is kept free for the answer
_RESERVE = 0.05  # kept free where tokens are estimated, which is off by so much (docs/benchmarks.md)


@frozen(kw_only=True)
class Window:
    """Of one model and one call. `count` is the model's own, `measure` the same before it is rounded; `cost` makes it of what
    was counted when it was kept.

    `room`: what of the budget is filled; less than all of it where tokens are estimated.
    """

    model: Capabilities
    budget: int
    room: int
    profile: Profile
    mode: Injection
    hits: int
    count: Callable[[str], int]
    measure: Callable[[str], float]
    cost: Callable[[int], int]


def planned(
    message: str,
    model: str,
    budget: int | None,
    profile: str,
    mode: str = "standard",
    *,
    orders: str = "",
    models_file: str | None = None,
) -> Window:
    """Refuses what is no model's name, budget, profile or mode. `orders`: what takes of the window besides the message."""
    if not isinstance(message, str):
        raise InvalidQuery("the message must be text.")
    if not isinstance(model, str) or not model.strip():  # type: ignore[redundant-expr]
        raise InvalidQuery("the model must be named: its window and tokenizer decide the budget.")
    if budget is not None and (not isinstance(budget, int) or isinstance(budget, bool) or budget < 1):  # type: ignore[redundant-expr]
        raise InvalidQuery("the budget must be a whole number from 1.")
    if profile not in PROFILES:
        raise InvalidQuery(f"there is no such profile; there are {', '.join(PROFILES)}.")
    if mode not in MODES:
        raise InvalidQuery(f"there is no such mode; there are {', '.join(MODES)}.")
    injected = MODES[mode]
    known = capabilities(model, models_file)
    count = partial(tokens.count, family=known.tokenizer)
    room = known.window - min(known.output, known.window // _ANSWER) - count(message) - count(orders)
    granted = max(room, 1) if budget is None else budget
    hits = min(max(granted // _SHORTEST, _FEWEST), _MOST)  # where there is no history, memory has it all
    hits = min(hits, injected.most or hits)
    cost = partial(tokens.converted, family=known.tokenizer)
    exact = known.tokenizer in tokens.EXACT
    fill = granted if exact else max(int(granted * (1.0 - _RESERVE)), 1)
    divided = shared(PROFILES[profile], injected)
    return Window(
        model=known,
        budget=granted,
        room=fill,
        profile=divided,
        mode=injected,
        hits=hits,
        count=count,
        measure=partial(tokens.measured, family=known.tokenizer),
        cost=cost,
    )
