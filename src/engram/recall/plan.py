"""Plan the search for a question: its words, what it asks for, its filter, how far to look. Pure: no store, no model.

A question asks for a fact, many things, a comparison, a time, a procedure, a cause, or a person (R3). The rules read the grammar
of English questions; `tests/recall/queries.csv` holds labelled ones, and its test states how many must be classified correctly. A
question that no rule is sure of is a plain look-up.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from enum import StrEnum

from engram.env import in_utc
from engram.errors import InvalidQuery
from engram.index.terms import STOP_WORDS
from engram.index.terms import asks_nothing as asks_nothing
from engram.recall.times import Anchor, Range, asked_time
from engram.recall.weights import RecallWeights
from engram.rules.lifecycle import RULES, STORIES
from engram.rules.topics import dependence
from engram.settings import Settings
from engram.store.limits import StoreLimits
from engram.store.validation import check_filter
from engram.text.english.courtesy import is_courtesy
from engram.text.language import language_of
from engram.text.terms import terms
from engram.types import Kind, Mode, scope_values
from engram.values.frozen import frozen, replace
from engram.values.memories import VALID
from engram.values.query import Filter, read_conditions


class Intent(StrEnum):
    LOOKUP = "lookup"
    EXPLORATORY = "exploratory"
    COMPARATIVE = "comparative"
    TEMPORAL = "temporal"
    PROCEDURAL = "procedural"
    CAUSAL = "causal"
    ENTITY = "entity"


@frozen
class QueryAnalysis:
    """The analysis of the words of a question.

    `when`: the time it names. `asks_when`, `asks_name`: it asks for a time, or for something with a name. `asks_now`: it asks for
    the present state, not a former one. `about`: the person or thing it asks everything about. `connects`: it asks how things
    are related. `bounds`: only what is of the time `when`, or of that of the event `anchor`, is an answer. `broad`: it asks for
    whatever there is of that time. `in_order`: it asks what came first, how often or how long after.
    """

    intent: Intent = Intent.LOOKUP
    when: tuple[datetime, datetime] | None = None
    asks_when: bool = False
    asks_name: bool = False
    asks_now: bool = True
    about: str = ""
    connects: bool = False
    bounds: bool = False
    anchor: Anchor | None = None
    broad: bool = False
    in_order: bool = False

    @property
    def gathers(self) -> bool:
        """True if the answer is likely spread over several memories."""
        return self.intent in (Intent.EXPLORATORY, Intent.COMPARATIVE, Intent.ENTITY)


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_ENTITY = _any(
    r"^(?:so |and )?who(?:['’]s| is| was| are) (?!(?:the|a|an|my|our|your|in|on|at|with|going|coming|\w+ing)\b)"
    r"[\w'’.-]+(?: [\w'’.-]+)?\??$",
    r"\beverything (?:you know |we know |i (?:said|told you) )?about\b",
    r"\b(?:what|all) (?:do|did|have) (?:you|we|i) (?:know|have|learned?) (?:about|on)\b",
    r"^(?:tell|remind) me (?:more )?about (?!(?:how|why|when|what)\b)",
    r"^(?:describe|profile|summari[sz]e what you know about) ",
)
_COMPARATIVE = _any(
    r"\bdifferen(?:ce|ces|t) (?:between|from)\b",
    r"\bcompar(?:e|ed|ison|ing)\b",
    r"\b(?:vs|versus)\b",
    r"\bin common\b|\bsimilarit",
    r"\bboth\b.*\band\b|\band\b.*\bboth\b|^do both\b",
    r"\b(?:better|worse|faster|slower|cheaper|older|younger|bigger|smaller|more \w+|less \w+|rather)\b.* than\b",
    r"^(?:which|who|what)\b.*[,:] .*\bor\b",
    r"\b(?:prefer|like|love|use|choose|pick|enjoy)\w*\b [\w' ]+ or [\w' ]+\?",
)
_PROCEDURAL = _any(
    r"^how (?:do|can|could|should|would|must) (?:i|we|you|one|someone)\b(?! (?:feel|know each))",
    r"\bhow to\b",
    r"\b(?:steps?|instructions?|procedure|process|recipe|command|way|workflow) (?:to|for|of)\b",
    r"\bwalk me through\b|\bset(?:ting)? .* up\b.*\?$",
    r"\bhow (?:is|are) .* (?:done|deployed|installed|configured|set up|built|made)\b",
)
_CAUSAL = _any(
    r"\bwhy\b",
    r"\bhow come\b",
    r"\breasons?\b|\bbecause of what\b|\bconsequences?\b|\bas a result\b",
    r"^what (?:\w+ )?(?:caused?|led|made|triggered|motivat\w+|inspir\w+|prompted|drove|convinced|broke|sparked)\b",
    r"\bwhat(?:['’]s| is| was) (?:behind|the cause|causing)\b",
)
_TEMPORAL = _any(
    r"\bwhen (?:did|was|is|will|does|do|were|has|have|am|are|should|would)\b|^when\b",
    r"^(?:on |in |by |since )?(?:what|which) (?:date|day|week|month|year|time|season|weekday)\b",
    r"\bhow long (?:ago|since|did|has|have|was|were|will|does|until|before)\b|\bsince when\b|\bhow (?:old|recently|soon)\b",
    r"\b(?:last|first|next) time\b",
    r"\b(?:timeline|history|chronology|sequence of events) of\b|\bover time\b|\b(?:changed|evolved?|developed) since\b",
    r"^what (?:happened|did .* do|was .* doing|were .* doing|have .* been doing)\b.*"
    r"\b(?:yesterday|last|ago|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|in (?:19|20)\d\d|this (?:week|month|year))\b",
    r"\b(?:before|after) or (?:before|after)\b|\b(?:which|what) (?:came|happened) (?:first|last|before|after)\b",
)
_CONNECTS = _any(
    r"\bhow (?:is|are|was|were|does|do|did) .+ (?:connected|related|linked|tied|relate|connect|fit together)\b",
    r"\b(?:connection|relation(?:ship)?|link|tie)s? (?:between|of|from) .+ (?:and|to|with)\b",
    r"\bwhat (?:connects|links|ties|relates)\b|\bha(?:s|ve|d) to do with\b|\bknow each other\b",
)
_LENGTH = _any(r"^how many (?:more )?(?:days|nights|weeks|months|years)\b")
_MANY = _any(
    r"^(?:and |so )?(?:what|which|where|who)\b.*?\b(?:has|have)\b(?! to\b| been\b)",
    r"^how (?:many|often)\b|\bin what ways\b|^(?:what|which|who) (?:all )?are\b",
    r"^(?:what|which) (?:kinds?|types?|sorts?) of\b.*\b(?:do|does)\b",
    r"^(?:what|which)(?: [\w'’/+.-]+){0,3}? (?!does\b|was\b|is\b|his\b|this\b)[a-z]+[^s\W]s"
    r"(?: [\w'’]+){0,4}? (?:do|does|did|is|are|were)\b",
    r"^what (?:do|does) [\w'’ ]+? (?:like|do|enjoy|collect|play|love|own)\b",
    r"^(?:list|name|give me|show me)\b.*\b(?:all|every|the|some|any)\b",
    r"^(?:what|which) (?:else|other)\b|\ball (?:the|my|our|of)\b",
    r"\b(?:overview|summary|summari[sz]e|ideas?|suggestions|recommendations)\b|\banything (?:about|on|else)\b",
)
_ONE = _any(
    r"\bon \d",
    r"\b\d{1,2}(?:st|nd|rd|th)?,? (?:january|february|march|april|may|june|july|august|september|october|november|december)\b",
    r"\b(?:after|when|while)\b",
)
_NAMED = _any(
    r"\b(?:cit(?:y|ies)|countr(?:y|ies)|places?|states?|locations?|books?|games?|authors?|bands?|artists?|names?|movies?|films?"
    r"|series|titles?|songs?|albums?|organi[sz]ations?|compan(?:y|ies)|teams?|schools?|brands?|restaurants?|players?|areas?"
    r"|tools?|librar(?:y|ies)|languages?|projects?|products?|called|named)\b",
    r"^(?:who|where)\b",
)
_WHOM = _any(
    r"(?:\babout|^(?:so |and )?who(?:['’]s| is| was| are)|^describe|\bknow on)"
    r" (?:project |the )?(?P<name>[^?.!]{1,60}?)(?: team| project)?[?.!]*$"
)
_THEN = _any(r"\b(?:initial\w*|first|originally|used to|previously|formerly|before|when|did|was|were|had|history)\b")
_ORDER = (
    (_ENTITY, Intent.ENTITY),
    (_COMPARATIVE, Intent.COMPARATIVE),
    (_PROCEDURAL, Intent.PROCEDURAL),
    (_CAUSAL, Intent.CAUSAL),
    (_TEMPORAL, Intent.TEMPORAL),
)
_LONGEST = 600  # characters of a question that are analyzed


def analyze(question: str, now: datetime) -> QueryAnalysis:
    """Return what a question, asked at `now`, asks for."""
    text = question[:_LONGEST].strip()
    intent = intent_of(text)
    time = asked_time(text, now, language_of(text))
    present = time.when is None and not time.bounds and intent is not Intent.TEMPORAL and not _THEN.search(text)
    whom = _WHOM.search(text) if intent is Intent.ENTITY else None
    about = whom["name"] if whom is not None else ""
    asks_when = intent is Intent.TEMPORAL or bool(_LENGTH.search(text))
    return QueryAnalysis(
        intent=intent,
        when=time.when,
        asks_when=asks_when,
        asks_name=bool(_NAMED.search(text)),
        asks_now=present,
        about=about,
        connects=bool(_CONNECTS.search(text)),
        bounds=time.bounds and intent is not Intent.CAUSAL,  # a cause lies before what it brings about
        anchor=time.anchor,
        broad=time.broad,
        in_order=time.in_order,
    )


def intent_of(question: str) -> Intent:
    """Return the intent of the first pattern that matches; LOOKUP if none does."""
    for pattern, intent in _ORDER:
        if pattern.search(question):
            return intent
    return Intent.EXPLORATORY if _MANY.search(question) and not _ONE.search(question) else Intent.LOOKUP


QUERY_CHARACTERS = 16_384
"""The longest question, in characters."""

_ANY = Filter()
_NO_ANALYSIS = QueryAnalysis()
_WEIGHTS = RecallWeights()
_PAGE_LIMIT = StoreLimits().page_limit
_FIRST = datetime(1, 1, 2, tzinfo=UTC)


@frozen(kw_only=True)
class Query:
    """A question with the options of the caller.

    `talk` holds the words said just before it: a question that depends on them ("why?") is searched with them. `said` holds the
    turns that the caller has before him: a memory whose words stand there is left out.
    """

    text: str
    now: datetime
    limit: int | None = None
    budget: int | None = None
    as_of: datetime | None = None
    mode: Mode | None = None
    where: Filter = _ANY
    talk: str = ""
    said: tuple[str, ...] = ()


def is_unrestricted(query: Query) -> bool:
    """Return True if all that the reader knows now was searched, so that a question without an answer is a gap."""
    where = query.where
    if query.as_of is not None or query.mode is not None or where.fresh or set(where.statuses) != set(VALID):
        return False
    others = where.kinds, where.categories, where.without, where.since, where.until, where.attributes, where.as_of
    return not any((*others, *scope_values(where.scope), read_conditions(where)))


@frozen(kw_only=True)
class Plan:
    """The plan of the search for a question.

    `terms` are the distinct words to look up: those of the question and, if it depends on the talk, those of the talk;
    `talk_weight` is the weight of the talk's vector in the query. `content_terms` are the words of the question that are no
    stop words;
    `breadth` is the number of candidates that an arm may bring, `postings` the entries of the text index that may be read, `most`
    the number of hits, `hops` the links that are followed, `vector_weight` the weight of meaning against words. `deep` marks the
    second, wider search; `whole` asks for every candidate, not only for those that can become hits.
    """

    query: Query
    where: Filter
    breadth: int
    postings: int
    most: int
    terms: tuple[str, ...] = ()
    content_terms: frozenset[str] = frozenset()
    talk_weight: float = 0.0
    analysis: QueryAnalysis = _NO_ANALYSIS
    hops: int = 0
    vector_weight: float = 0.75
    weights: RecallWeights = _WEIGHTS
    deep: bool = False
    whole: bool = False

    @property
    def is_courtesy(self) -> bool:
        """True if nothing needs to be looked up: the message is a courtesy, and the caller did not ask for a number of hits."""
        return self.query.limit is None and is_courtesy(self.query.text, terms(self.query.text))

    @property
    def signature(self) -> str:
        """The words by which the same question is recognized in another order: its content words, sorted."""
        return signature(self.terms)

    @property
    def within(self) -> Range | None:
        """The period outside of which nothing is an answer."""
        return self.analysis.when if self.analysis.bounds else None

    @property
    def lists(self) -> bool:
        """True if whatever lies in the period is an answer, however far it is from the words of the question."""
        return self.within is not None and self.analysis.broad

    def bounded(self) -> Plan:
        """Return a plan that looks for what began in the period; for a matter, also in the quarter of its length before it.

        An event that began before the period may lie in it by half. A question for all that there is of a period has no words
        by which it would find that among the memories of the time before.
        """
        if self.within is None:
            return self
        first, until = self.within
        since = first if self.lists else first - min((until - first) / 4, first - _FIRST)
        where = replace(self.where, since=max(since, self.where.since or since), until=min(until, self.where.until or until))
        return replace(self, where=where)

    def deeper(self, page_limit: int) -> Plan:
        """Return a plan that looks further, for when the first search found nothing that is good enough."""
        breadth = min(self.breadth * 4, page_limit)
        return replace(self, breadth=breadth, postings=self.postings * 10, deep=True)


def plan(
    query: Query,
    settings: Settings,
    weights: RecallWeights = _WEIGHTS,
    *,
    page_limit: int = _PAGE_LIMIT,
    vector_shift: float = 0.0,
    whole: bool = False,
) -> Plan:
    """Return the plan of a question that has passed `checked`; feedback has moved the weight of vectors by `vector_shift`."""
    where = narrowed(query.where, query.mode)
    if query.as_of is not None:
        where = replace(where, as_of=query.as_of)
    words = terms(query.text)
    talk_weight = weights.talk_weight * dependence(query.text) if query.talk else 0.0
    analysis = analyze(query.text, query.now)
    return Plan(
        query=query,
        where=where,
        breadth=min(max(weights.recall_candidates, 2 * (query.limit or 0)), page_limit),
        postings=weights.posting_budget,
        most=query.limit or settings.recall_limit,
        terms=tuple(dict.fromkeys((*words, *terms(query.talk)))) if talk_weight else words,
        content_terms=frozenset(words) - STOP_WORDS,
        talk_weight=talk_weight,
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
    where = query.where
    check_filter(where)
    for name, moment in (("now", query.now), ("as_of", query.as_of), ("as_of", where.as_of)):
        if moment is not None and not isinstance(moment, datetime):
            raise InvalidQuery(f"{name!r} must be a datetime.")
    for name, value in (("limit", query.limit), ("budget", query.budget)):
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):  # type: ignore[redundant-expr]
            raise InvalidQuery(f"the {name} must be a whole number, at least 1.")
    if where.since or where.until or where.as_of:
        where = replace(where, since=_utc(where.since), until=_utc(where.until), as_of=_utc(where.as_of))
    return replace(query, now=in_utc(query.now), as_of=_utc(query.as_of), mode=_mode(query.mode), where=where)


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else in_utc(moment)


def _mode(mode: object) -> Mode | None:
    if mode is None:
        return None
    known = {member.value: member for member in Mode}
    if not isinstance(mode, str) or mode not in known:
        raise InvalidQuery(f"unknown mode; the modes are {', '.join(known)}.")
    return known[mode]
