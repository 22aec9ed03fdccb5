"""Plan the search for a question: its words, its filter, how far to look. Pure rules on the question; no store, no model."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from engram.errors import InvalidQuery
from engram.frozen import frozen, replace
from engram.index.lexical import STOP_WORDS
from engram.index.lexical import asks_nothing as asks_nothing
from engram.memory.layers import RULES, STORIES
from engram.models.embed import Vectors
from engram.recall.intent import Intent, QueryAnalysis, analyze
from engram.recall.recall_weights import RecallWeights
from engram.settings import Settings
from engram.store.admission import check_filter
from engram.store.protocol import Filter
from engram.text.courtesy import is_courtesy
from engram.text.terms import terms
from engram.types import Kind, Mode

QUERY_CHARACTERS = 16_384
"""The longest question, in characters."""

_ANY = Filter()
_NO_ANALYSIS = QueryAnalysis()
_WEIGHTS = RecallWeights()


@frozen(kw_only=True)
class Query:
    """A question with the options of the caller.

    `vector` is the question's vector if the caller has it; else the text is encoded. `contextualize` moves the encoded vector
    towards the topic of the conversation.
    """

    text: str
    now: datetime
    limit: int | None = None
    budget: int | None = None
    as_of: datetime | None = None
    mode: Mode | None = None
    where: Filter = _ANY
    vector: Vectors | None = None
    contextualize: Callable[[Vectors], Vectors] | None = None


@frozen(kw_only=True)
class Plan:
    """How a question is searched for.

    `terms` are the distinct words of the question and `content_terms` those that are no stop words; `breadth` is the number of
    candidates that an arm may bring, `postings` the entries of the text index that may be read, `most` the number of hits,
    `hops` the links that are followed, `vector_weight` the weight of meaning against words. `deep` marks the second, wider
    search; `whole` asks for every candidate, not only for those that can become hits.
    """

    query: Query
    where: Filter
    breadth: int
    postings: int
    most: int
    terms: tuple[str, ...] = ()
    content_terms: frozenset[str] = frozenset()
    analysis: QueryAnalysis = _NO_ANALYSIS
    hops: int = 0
    vector_weight: float = 0.75
    weights: RecallWeights = _WEIGHTS
    deep: bool = False
    whole: bool = False

    @property
    def is_courtesy(self) -> bool:
        """True if nothing needs to be looked up: the message is a courtesy, and the caller did not ask for a number of hits."""
        return self.query.limit is None and is_courtesy(self.query.text, self.terms)

    @property
    def signature(self) -> str:
        """The words by which the same question is recognized in another order: its content words, sorted."""
        return signature(self.terms)

    def deeper(self, settings: Settings) -> Plan:
        """Return a plan that looks further, for when the first search found nothing that is good enough."""
        breadth = min(self.breadth * 4, settings.page_limit)
        return replace(self, breadth=breadth, postings=self.postings * 10, deep=True)


def plan(
    query: Query, settings: Settings, weights: RecallWeights = _WEIGHTS, *, vector_shift: float = 0.0, whole: bool = False
) -> Plan:
    """Return the plan of a question that has passed `checked`; feedback has moved the weight of vectors by `vector_shift`."""
    where = narrowed(query.where, query.mode)
    if query.as_of is not None:
        where = replace(where, as_of=query.as_of)
    words = terms(query.text)
    analysis = analyze(query.text, query.now)
    return Plan(
        query=query,
        where=where,
        breadth=min(max(weights.recall_candidates, 2 * (query.limit or 0)), settings.page_limit),
        postings=weights.posting_budget,
        most=query.limit or settings.recall_limit,
        terms=words,
        content_terms=frozenset(words) - STOP_WORDS,
        analysis=analysis,
        hops=hops(analysis, weights) if where.as_of is None else 0,
        vector_weight=min(max(settings.vector_weight + vector_shift, 0.0), 1.0),
        weights=weights,
        whole=whole,
    )


def signature(words: tuple[str, ...]) -> str:
    """Return the content words of a question, sorted; all of its words if they are all stop words."""
    distinct = set(words)
    return " ".join(sorted(distinct - STOP_WORDS or distinct))


def hops(analysis: QueryAnalysis, weights: RecallWeights) -> int:
    """Return how many links to follow: furthest where the question asks for a cause, none for an ordinary question."""
    if not weights.graph_weight:
        return 0
    if analysis.intent is Intent.CAUSAL:
        return weights.graph_hops_causal
    return weights.graph_hops if analysis.connects or analysis.intent is Intent.ENTITY or weights.graph_always else 0


def narrowed(where: Filter, mode: Mode | None) -> Filter:
    """Return the filter, restricted to the kinds and categories of the mode."""
    if mode is None or mode is Mode.FULL_CONTEXT:
        return where
    rules = mode is Mode.FACTS_PLUS_RULES
    kinds = (Kind.FACT, Kind.PROPOSITION, *((Kind.SKILL,) if rules else ()))
    wanted = tuple(kind for kind in kinds if not where.kinds or kind in where.kinds)
    excluded = sorted(STORIES) if rules else sorted(RULES | STORIES)
    # If no kind is both asked for and in the mode, "none", which is no kind, matches nothing.
    return replace(where, kinds=wanted or ("none",), without=(*where.without, *excluded))


def checked(query: Query) -> Query:
    """Return the question with its times in UTC; raise InvalidQuery if one of its fields is invalid."""
    text = query.text
    if not isinstance(text, str) or len(text) > QUERY_CHARACTERS:  # type: ignore[redundant-expr]
        raise InvalidQuery(f"a question is a text of at most {QUERY_CHARACTERS:,} characters.")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidQuery("the question contains a lone surrogate, which is not a character.")
    if not isinstance(query.where, Filter):
        raise InvalidQuery("the filters must be a Filter.", way_out="Pass `engram.Filter(kinds=…, categories=…, since=…)`.")
    check_filter(query.where.kinds, query.where.statuses, query.where.since, query.where.until)
    for name, moment in (("now", query.now), ("as_of", query.as_of)):
        if moment is not None and not isinstance(moment, datetime):
            raise InvalidQuery(f"{name!r} must be a datetime.")
    for name, value in (("limit", query.limit), ("budget", query.budget)):
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):  # type: ignore[redundant-expr]
            raise InvalidQuery(f"the {name} must be a whole number, at least 1.")
    return replace(
        query, now=_aware(query.now), as_of=None if query.as_of is None else _aware(query.as_of), mode=_mode(query.mode)
    )


def _aware(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _mode(mode: object) -> Mode | None:
    if mode is None:
        return None
    known = {member.value: member for member in Mode}
    if not isinstance(mode, str) or mode not in known:
        raise InvalidQuery(f"unknown mode; the modes are {', '.join(known)}.")
    return known[mode]
