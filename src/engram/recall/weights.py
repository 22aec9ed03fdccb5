"""The numbers that tune recall, in one value that a benchmark can sweep."""

from __future__ import annotations

from datetime import timedelta

from engram.values.frozen import frozen


@frozen(kw_only=True)
class RecallWeights:
    """Weights and thresholds of one recall. Parts of a score are in standard deviations of likeness to the question."""

    # words count `1 - vector_weight`, falling to `words_least` of that where the best text match holds little of the question:
    # in full from `words_full` of the attainable BM25 on, least up to `words_thin` (R2)
    words_thin: float = 0.2
    words_full: float = 0.35
    words_least: float = 0.4
    wordings_weight: float = 1.0
    talk_weight: float = 0.5  # weight of the talk so far in the vector of a message that says nothing without it (X6)

    # parts of a score beside the arms (R2, R3, R4, R10); "if many": for a question with several answers
    assistant_discount: float = 3.0  # an assistant's words lose this unless the question asks for them
    session_weight: float = 0.5  # most that a candidate gains from others of its session
    session_voters: int = 60  # best candidates whose scores are summed by session
    session_if_many: float = 0.3  # factor; several answers are seldom in one session
    substance_weight: float = 0.4  # a statement gains by names, deeds and dates in it
    substance_if_many: float = 1.5  # factor
    dated: float = 0.3  # substance of a date
    dated_if_asked: float = 1.5  # and more of it if the question asks when
    named: float = 0.75  # substance of each name, up to `names_most`, if the question asks for a name
    names_most: int = 2
    time_weight: float = 2.0  # a memory of the time that the question names gains this
    said_then: float = 0.7  # share of it for a statement made in that time, against 1 for an event of that time
    overlap_least: float = 0.3  # share for an event of which any part lies in that time
    near_then: float = 0.5  # share just outside that time, falling to 0 over `time_slack` or the length of that time
    time_slack: timedelta = timedelta(days=3)  # people talk about a day for some days
    period_share: float = 0.6  # a better match of another time is shown too if the best of that time has less than this of it
    beside_weight: float = 0.2  # share of a better neighbour's score, of the turn just before or after
    beside_if_many: float = 0.5  # factor; several answers are seldom told in one place
    beside_best: int = 10  # best candidates, which lift their neighbours
    beside_reach: int = 8  # memories before and after: about four turns
    beside_step: float = 0.9  # kept of the gain with each memory in between
    lifecycle_weight: float = 0.15  # confirmed gains, disputed loses; faded or inferred loses half of it
    affect_weight: float = 0.15  # most that a memory gains by feeling as the question does

    # statements that govern a request (R8): rules, likes and constraints, in standard deviations above any statement
    governing_weight: float = 3.0  # 0: they are not looked for
    governing_least: float = 1.5  # closeness above which a statement counts
    governing_most: int = 12  # closest statements that count
    request_least: float = 0.6  # chance that a message asks for something to be done, from which on they are looked for

    # the entity arm (R6) and the graph arm (R5)
    entity_weight: float = 1.0  # 0: memories are not looked up by the name that a question asks about
    graph_weight: float = 3.0  # 0: edges are not followed
    graph_always: bool = False  # follow edges for every question; measured to gain nothing (docs/notes/recall.md)
    graph_hops: int = 2
    graph_hops_causal: int = 3  # for a question that asks for a cause
    graph_decay: float = 0.6  # share of activation that is left after an edge
    graph_threshold: float = 0.1  # activation below which an edge is not followed further
    graph_seeds: int = 10  # first candidates that activation starts from
    graph_links: int = 500  # edges followed in one step, the surest first
    graph_fan: int = 40  # a name in more memories than this connects none of them
    graph_rank: bool = False  # refine activation by PageRank; measured to gain nothing

    # thresholds (R9, R18, K2, X5); likeness is cosine over the encoder's background, 0 … 1
    newest_likeness: float = 0.87  # two statements are of one matter: the newer stands first
    support_least: float = 0.5  # support of the first hits below which a question counts as not answered
    related_least: float = 0.03  # chance that the first hits have to do with a question, likewise
    recall_floor: float = 0.35  # hits under this share of the best score are held back when no limit was asked for
    context_likeness: float = 0.15  # least likeness to a message for a memory that its words did not find
    context_floor: float = 0.1  # least share of the best score, likewise
    suppress_likeness: float = 0.7  # two questions are alike: feedback on one suppresses a memory for the other

    # work for one question
    recall_candidates: int = 150  # candidates that each arm brings
    posting_budget: int = 5000  # entries of the text index that one question may read (R20)
    rerank_top: int = 20  # hits that a cross-encoder scores
    rerank_weight: float = 0.5  # of its opinion against the order before it
