"""Plan a context window: the model's room, the tokens of each section, how many hits to recall (§8.2, §8.5, X8).

A section has a share of the budget and a priority. Tokens that a section does not use flow to those that want more, by priority.
If the budget is less than all minimums together, sections lose theirs from the lowest priority up: memory goes last. An injection
mode says how much an agent is shown that it did not ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from engram.context.sections import HISTORY, PROFILES, RECALLED, ContextSection, SectionShare, WindowProfile
from engram.errors import InvalidQuery
from engram.models.capabilities import Capabilities, capabilities
from engram.text import tokens
from engram.types import Outcome, Turn
from engram.values.frozen import frozen, replace


def grants(claims: Sequence[SectionShare], budget: int) -> dict[str, int]:
    """Return the tokens of each section by its share, at most `budget` together; lower priorities give up tokens for minimums."""
    total = sum(claim.share for claim in claims) or 1.0
    given = {claim.name: int(budget * claim.share / total) for claim in claims}
    for claim in sorted(claims, key=lambda claim: -claim.priority):
        lower = sorted((other for other in claims if other.priority < claim.priority), key=lambda other: other.priority)
        for other in lower:
            short = claim.least - given[claim.name]
            if short <= 0:
                break
            moved = min(short, given[other.name])
            given[other.name] -= moved
            given[claim.name] += moved
    return given


def redistribute(claims: Sequence[SectionShare], given: Mapping[str, int], wanted: Mapping[str, int]) -> dict[str, int]:
    """Return the grants with tokens that sections do not want given to those that want more, by priority."""
    granted = {claim.name: min(given[claim.name], wanted.get(claim.name, 0)) for claim in claims}
    left = sum(given.values()) - sum(granted.values())
    for claim in sorted(claims, key=lambda claim: -claim.priority):
        more = min(left, max(wanted.get(claim.name, 0) - granted[claim.name], 0))
        granted[claim.name] += more
        left -= more
    return granted


@frozen(kw_only=True)
class Injection:
    """An injection mode: how much an agent is shown that it did not ask for.

    `most` bounds the number of memories; `recalled` multiplies their share of the window. `morning`: show what changed since the
    last session. `reflects`: say when memory may not answer. `asks`: suggest a question.
    """

    name: str
    most: int | None = None
    recalled: float = 1.0
    morning: bool = True
    reflects: bool = True
    asks: bool = True


MODES: Mapping[str, Injection] = {
    mode.name: mode
    for mode in (
        Injection(name="minimal", most=5, recalled=0.5, morning=False, reflects=False, asks=False),
        Injection(name="standard"),
        Injection(name="deep", recalled=1.5),
    )
}

NO_WEIGHTS: Mapping[str, float] = {}

_UNKNOWN = {
    Outcome.NOTHING_KNOWN: "Nothing is known about",
    Outcome.BELOW_THRESHOLD: "Nothing that is known seems to answer",
}


def shared(profile: WindowProfile, mode: Injection, weights: Mapping[str, float] = NO_WEIGHTS) -> WindowProfile:
    """Return the profile with the shares of this mode. weights: multiples of the shares, by the name of a section."""
    weights = {**weights, RECALLED: weights.get(RECALLED, 1.0) * mode.recalled}
    return replace(
        profile, claims=tuple(replace(claim, share=claim.share * weights.get(claim.name, 1.0)) for claim in profile.claims)
    )


def reflection(outcome: Outcome, question: str, message: str) -> str:
    """Return the sentence that says what is not known (§38.3); "" if memory answers, or part of the search failed.

    The question is repeated if the message says more than that.
    """
    if outcome not in _UNKNOWN:
        return ""
    asked = " ".join(question.split())
    return f"{_UNKNOWN[outcome]} this{'.' if asked == ' '.join(message.split()) else f': {asked}'}"


_FEWEST, _MOST = 20, 500  # hits
_SHORTEST = 12  # tokens of the shortest line of a memory
_ANSWER = 4  # at most a quarter of the window is kept free for the answer
_PART = 8  # of the model's window, at most, for memories that nobody set a budget for
_FRAME = 60  # tokens of the fence, the date and the titles, about
_SHORT, _PER_TOKEN = 600, 15  # tokens for a short question, and for each token of a longer message
_RESERVE = 0.05  # share kept free where tokens are estimated: the error of the estimate (docs/notes/tokens.md)


@frozen(kw_only=True)
class WindowPlan:
    """The plan of one window for one model.

    `count` counts the model's tokens, `measure` does so before rounding; `cost` converts the counts stored with memories. `room`
    is the part of the budget to fill: less than all of it where tokens are estimated. `sections` are the caller's own.
    """

    model: Capabilities
    budget: int
    room: int
    profile: WindowProfile
    mode: Injection
    hits: int
    count: Callable[[str], int]
    measure: Callable[[str], float]
    cost: Callable[[int], int]
    sections: tuple[ContextSection, ...]


def plan_window(
    message: str,
    model: str,
    budget: int | None,
    profile: str,
    mode: str = "standard",
    *,
    instructions: str = "",
    models_file: str | None = None,
    history: Sequence[Turn] = (),
    sections: Sequence[ContextSection] = (),
    most: int = 0,
    weights: Mapping[str, float] = NO_WEIGHTS,
) -> WindowPlan:
    """Return the plan of a window; raise InvalidQuery for an invalid message, model, budget, profile or mode.

    `instructions` are the system messages, which take room in the model's window like the message. Without a budget, memories
    get what the message needs, at most `most` (0: all the room there is), and history and sections what they have.
    """
    if not isinstance(message, str):
        raise InvalidQuery("the message must be text.")
    if not isinstance(model, str) or not model.strip():  # type: ignore[redundant-expr]
        raise InvalidQuery("the model must be named: its window and tokenizer decide the budget.")
    if budget is not None and (not isinstance(budget, int) or isinstance(budget, bool) or budget < 1):  # type: ignore[redundant-expr]
        raise InvalidQuery("the budget must be a whole number, at least 1.")
    if profile not in PROFILES:
        raise InvalidQuery(f"unknown profile; the profiles are {', '.join(PROFILES)}.")
    if mode not in MODES:
        raise InvalidQuery(f"unknown mode; the modes are {', '.join(MODES)}.")
    injected = MODES[mode]
    known = capabilities(model, models_file)
    count = partial(tokens.count, family=known.tokenizer)
    room = known.window - min(known.output, known.window // _ANSWER) - count(message) - count(instructions)
    divided = shared(PROFILES[profile], injected, weights)
    granted = budget or max(room, 1)
    if budget is None and most and room > 0:
        sizes = {HISTORY: sum(count(f"{turn.speaker}: {turn.text}\n") for turn in history)}
        sizes |= {section.title: count(f"{section.title}\n{section.text}\n") for section in sections}
        needed = int(min(max(_SHORT, count(message) * _PER_TOKEN) * injected.recalled, most, room // _PART)) or 1
        granted = min(needed + sum(sizes.values()) + _FRAME * any(sizes.values()), room)
        divided, sections = _as_needed(divided, sections, sizes, needed)
    hits = min(max(granted // _SHORTEST, _FEWEST), _MOST)  # without a history, memory gets all of it
    hits = min(hits, injected.most or hits)
    cost = partial(tokens.converted, family=known.tokenizer)
    exact = known.tokenizer in tokens.EXACT
    fill = granted if exact else max(int(granted * (1.0 - _RESERVE)), 1)
    return WindowPlan(
        model=known,
        budget=granted,
        room=fill,
        profile=divided,
        mode=injected,
        hits=hits,
        count=count,
        measure=partial(tokens.measured, family=known.tokenizer),
        cost=cost,
        sections=tuple(sections),
    )


def _as_needed(
    profile: WindowProfile, sections: Sequence[ContextSection], sizes: Mapping[str, int], needed: int
) -> tuple[WindowProfile, list[ContextSection]]:
    """Return profile and sections with shares by which history and sections get their own sizes, and the rest `needed` tokens."""
    of_token = sum(claim.share for claim in profile.claims if claim.name != HISTORY) / needed
    claims = (replace(claim, share=sizes[HISTORY] * of_token) if claim.name == HISTORY else claim for claim in profile.claims)
    own = [replace(section, share=sizes[section.title] * of_token) for section in sections]
    return replace(profile, claims=tuple(claims)), own
