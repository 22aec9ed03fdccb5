"""What a question means for the search: what it is narrowed to, how much each arm counts, how far to look.

Pure rules on the words of the question; no store, no model.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from engram.errors import InvalidQuery
from engram.frozen import frozen, replace
from engram.index.lexical import asks_nothing as asks_nothing
from engram.memory.layers import RULES, STORIES
from engram.models.embed import Vectors
from engram.recall.intent import Intent, Sought, sought
from engram.recall.recall_weights import RecallWeights
from engram.settings import Settings
from engram.store.admission import check_filter
from engram.store.protocol import Filter
from engram.types import Kind, Mode

QUERY_CHARACTERS = 16_384
_PLAIN = Sought()
_WEIGHTS = RecallWeights()
_ANY = Filter()


@frozen(kw_only=True)
class Asked:
    """A question as it was put."""

    text: str
    now: datetime
    limit: int | None = None
    budget: int | None = None
    as_of: datetime | None = None
    mode: Mode | None = None
    where: Filter = _ANY
    vector: Vectors | None = None  # of the question, if that is known; else its text is encoded
    drawn: Callable[[Vectors], Vectors] | None = None  # draws the question's vector towards what the talk is about


@frozen(kw_only=True)
class Plan:
    """How a question is searched for: filter, candidates an arm brings, entries of the text index it may read."""

    where: Filter
    vector_weight: float
    breadth: int
    postings: int
    most: int
    deep: bool = False
    whole: bool = False
    sought: Sought = _PLAIN
    weights: RecallWeights = _WEIGHTS
    hops: int = 0

    def deeper(self, settings: Settings) -> Plan:
        """The same, looking further: for when the first look found nothing that is good enough."""
        breadth = min(self.breadth * 4, settings.page_limit)
        return replace(self, breadth=breadth, postings=self.postings * 10, deep=True)


def plan(asked: Asked, settings: Settings, weights: RecallWeights) -> Plan:
    where = narrowed(asked.where, asked.mode)
    if asked.as_of is not None:
        where = replace(where, as_of=asked.as_of)
    after = sought(asked.text, asked.now)
    return Plan(
        where=where,
        vector_weight=settings.vector_weight,
        breadth=min(max(weights.recall_candidates, 2 * (asked.limit or 0)), settings.page_limit),
        postings=weights.posting_budget,
        most=asked.limit or settings.recall_limit,
        sought=after,
        weights=weights,
        hops=hops(after, weights) if where.as_of is None else 0,
    )


def hops(sought: Sought, weights: RecallWeights) -> int:
    """How many links far to look: as far as a cause may be, where one is asked for; not at all for an ordinary question."""
    if not weights.graph_weight:
        return 0
    if sought.intent is Intent.CAUSAL:
        return weights.graph_hops_causal
    return weights.graph_hops if sought.connects or sought.intent is Intent.ENTITY or weights.graph_always else 0


def narrowed(where: Filter, mode: Mode | None) -> Filter:
    """A filter that lets pass only what the mode is for."""
    if mode is None or mode is Mode.FULL_CONTEXT:
        return where
    rules = mode is Mode.FACTS_PLUS_RULES
    kinds = (Kind.FACT, Kind.PROPOSITION, *((Kind.SKILL,) if rules else ()))
    wanted = tuple(kind for kind in kinds if not where.kinds or kind in where.kinds)
    left_out = sorted(STORIES) if rules else sorted(RULES | STORIES)
    # No kind is both asked for and in the mode: a word that is no kind matches nothing.
    return replace(where, kinds=wanted or ("none",), without=(*where.without, *left_out))


def checked(asked: Asked) -> Asked:
    """The question with its times in UTC; what is none is refused by name."""
    text = asked.text
    if not isinstance(text, str) or len(text) > QUERY_CHARACTERS:  # type: ignore[redundant-expr]
        raise InvalidQuery(f"a question is a text of at most {QUERY_CHARACTERS:,} characters.")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidQuery("the question holds half a character (a lone surrogate).")
    if not isinstance(asked.where, Filter):
        raise InvalidQuery("the filters must be a Filter.", way_out="Pass `engram.Filter(kinds=…, categories=…, since=…)`.")
    check_filter(asked.where.kinds, asked.where.statuses, asked.where.since, asked.where.until)
    for name, moment in (("now", asked.now), ("as_of", asked.as_of)):
        if moment is not None and not isinstance(moment, datetime):
            raise InvalidQuery(f"{name!r} must be a datetime.")
    for name, value in (("limit", asked.limit), ("budget", asked.budget)):
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):  # type: ignore[redundant-expr]
            raise InvalidQuery(f"the {name} must be a whole number from 1.")
    return replace(
        asked, now=_aware(asked.now), as_of=None if asked.as_of is None else _aware(asked.as_of), mode=_mode(asked.mode)
    )


def _aware(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _mode(mode: object) -> Mode | None:
    if mode is None:
        return None
    known = {one.value: one for one in Mode}
    if not isinstance(mode, str) or mode not in known:
        raise InvalidQuery(f"there is no such mode; there are {', '.join(known)}.")
    return known[mode]
