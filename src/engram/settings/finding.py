"""The part of the table about what is found again: recall, and what is in mind."""

from __future__ import annotations

from engram.frozen import frozen
from engram.settings.keeping import Keeping
from engram.settings.tunable import tunable


@frozen(kw_only=True)
class Finding(Keeping):
    """Read through `Settings`, which has all of it."""

    # recall
    vector_weight: float = tunable(0.75, "What meaning counts against words.", low=0.0, high=1.0, ref="R2")
    assistant_discount: float = tunable(
        1.0,
        "What an assistant's words lose against people's unless they are asked for, in standard deviations of likeness.",
        low=0.0,
        high=10.0,
        ref="R2",
    )
    session_weight: float = tunable(
        0.5, "What a candidate gains at most from the others of its session, in the same unit.", low=0.0, high=10.0, ref="R2"
    )
    substance_weight: float = tunable(
        0.4, "What a statement gains by how much it tells (names, deeds, dates), in the same unit.", low=0.0, high=10.0, ref="R3"
    )
    time_weight: float = tunable(
        2.0, "What a memory gains by being of the time that the question names, in the same unit.", low=0.0, high=10.0, ref="R4"
    )
    gather_weight: float = tunable(
        0.6,
        "What a candidate gains by what sets it apart from the others, where a question asks for many things.",
        low=0.0,
        high=10.0,
        ref="R3",
    )
    lifecycle_weight: float = tunable(
        0.15,
        "What a memory gains that was confirmed, and loses that is in dispute; half of it loses what is a guess or has faded.",
        low=0.0,
        high=10.0,
        ref="R10",
    )
    affect_weight: float = tunable(
        0.15, "What a memory gains at most by feeling as the question does.", low=0.0, high=10.0, ref="§37"
    )
    beside_weight: float = tunable(
        0.2,
        "What a candidate gains of the score of a better one that was said just before or after it.",
        low=0.0,
        high=1.0,
        ref="R2",
    )
    entity_weight: float = tunable(
        1.0,
        "What a memory gains by naming whom a question asks all about; 0: such memories are not looked up by name.",
        low=0.0,
        high=10.0,
        ref="R6",
    )
    graph_weight: float = tunable(
        3.0,
        "What a memory gains by links from what was found, where a question asks for causes, connections or all about"
        " somebody; 0: links are not followed.",
        low=0.0,
        high=10.0,
        ref="R5",
    )
    graph_always: bool = tunable(False, "Links are followed for every question.", ref="R5")
    graph_hops: int = tunable(2, "How many links far.", unit="links", low=1, high=5, ref="R5")
    graph_hops_causal: int = tunable(3, "How many, where a cause is asked for.", unit="links", low=1, high=5, ref="R5")
    graph_decay: float = tunable(0.6, "What is left of an activation after a link.", low=0.0, high=1.0, ref="R5")
    graph_threshold: float = tunable(0.1, "Activation under which it goes no further.", low=0.0, high=1.0, ref="R5")
    graph_seeds: int = tunable(10, "First candidates from which links are followed.", unit="memories", low=1, high=100, ref="R5")
    graph_links: int = tunable(
        500, "Links that are followed in one step, the surest.", unit="links", low=10, high=10000, ref="R5"
    )
    graph_fan: int = tunable(
        40, "A name that more memories have than this leads from none to another.", unit="memories", low=0, high=1000, ref="R5"
    )
    graph_rank: bool = tunable(False, "What many links lead to stands above what one leads to (PageRank).", ref="R5")
    newest_likeness: float = tunable(
        0.87,
        "Likeness, over that of unrelated things, from which two statements are of the same matter: the newer one stands first.",
        low=0.0,
        high=1.0,
        ref="K2",
    )
    support_least: float = tunable(
        0.5,
        "Support (likeness, and being about whom the question names) under which a question counts as not answered.",
        low=0.0,
        high=1.0,
        ref="R18",
    )
    related_least: float = tunable(
        0.03,
        "Chance that the first hits have to do with a question (likeness, its words, its names) under which it counts as not"
        " answered.",
        low=0.0,
        high=1.0,
        ref="R18",
    )
    recall_candidates: int = tunable(150, "Candidates that each arm brings.", unit="memories", low=10, high=1000, ref="R1")
    recall_limit: int = tunable(50, "Most hits of one recall when no limit was asked for.", unit="hits", low=1, high=1000)
    recall_floor: float = tunable(
        0.35,
        "Hits under this share of the best hit's score are held back when no limit was asked for.",
        low=0.0,
        high=1.0,
        ref="R18",
    )
    context_likeness: float = tunable(
        0.15,
        "Likeness to a message under which a memory that is not found by its words stands in no context.",
        low=0.0,
        high=1.0,
        ref="X5",
    )
    context_floor: float = tunable(
        0.1, "Memories under this share of the best one's score stand in no context.", low=0.0, high=1.0, ref="X5"
    )
    recall_threshold: float = tunable(
        0.75, "Fused score under which a question counts as not answered.", low=-10.0, high=100.0, ref="R18"
    )
    reason_depth: int = tunable(3, "How deep a question is taken apart, itself included.", low=1, high=8, ref="R17")
    reason_calls: int = tunable(12, "Recalls that one reasoning may make.", low=1, high=200, ref="R17")
    posting_budget: int = tunable(
        5000, "Entries of the text index that one question may read.", unit="postings", low=100, high=10000000, ref="R20"
    )
    fusion: str = tunable(
        "calibrated",
        "How the arms' opinions are joined: by scores on a common scale, or by ranks alone (weighted RRF, k = 60).",
        choices=("calibrated", "rrf"),
        ref="R7",
    )
    reranker: str = tunable(
        "", "Folder of a cross-encoder (model.onnx, tokenizer.json) that looks at the best hits again.", ref="R7", restart=True
    )
    rerank_top: int = tunable(20, "Hits that a cross-encoder looks at.", unit="hits", low=2, high=200, ref="R7")
    rerank_weight: float = tunable(0.5, "What its opinion counts against what was found before.", low=0.0, high=1.0, ref="R7")
    diversity: float = tunable(
        0.0, "How far a hit is held back for being like those above it (MMR); 0 is off.", low=0.0, high=1.0, ref="R7"
    )
    suppress_likeness: float = tunable(
        0.7,
        "Likeness of a question to one that a memory did not help with, over that of any two, from which it is left out.",
        low=0.0,
        high=1.0,
        ref="R9",
    )
    suppress_days: float = tunable(90.0, "How long that lasts.", unit="days", low=0.0, high=36500.0, ref="R9")
    mcp_answer_tokens: int = tunable(
        2000, "Tokens of an answer to a model over MCP, where it does not ask for another budget.", low=100, high=200000
    )
    model: str = tunable(
        "auto",
        "The encoder: `auto` is the one that is installed; `none` works on words alone; `ollama:NAME` and `openai:NAME` are"
        " endpoints, which get the words to encode.",
        ref="S10",
        restart=True,
    )
    vector_backend: str = tunable(
        "auto",
        "How the nearest vectors are found; `auto` goes by their number and by memory.",
        choices=("auto", "exact", "quantized"),
        ref="§36.6",
    )
    vector_exact_limit: int = tunable(
        20000, "Vectors up to which every one is looked at.", unit="vectors", low=0, high=10000000, ref="§36.6"
    )
    vector_rescore: int = tunable(
        500, "Candidates of the quantized scan that are scored in full.", unit="vectors", low=50, high=100000, ref="§36.2"
    )
    warm_after_s: float = tunable(
        1.0,
        "A vault that stays open longer begins to load its vectors without being asked.",
        unit="s",
        low=0.0,
        high=86400.0,
        ref="§33.1",
    )
    warm_patience_s: float = tunable(
        0.8,
        "From the start of loading, how long a recall waits for all vectors rather than take those of what its words find.",
        unit="s",
        low=0.0,
        high=600.0,
        ref="§32",
    )
    snapshot_from: int = tunable(
        5000,
        "Vectors from which the loaded index is put away, encrypted, for the next open; fewer are loaded as fast from the rows.",
        unit="vectors",
        low=0,
        high=1000000000,
        ref="§33.2",
    )
    snapshot_pause_s: float = tunable(
        600.0, "How often that is done at most while the vault is open; closing does it too.", unit="s", low=0.0, high=86400.0
    )
    around_weight: float = tunable(
        0.5, "What a word said beside a statement counts, against one of its own.", low=0.0, high=1.0, ref="R1"
    )

    # working memory: what is in mind while a conversation runs
    working_slots: int = tunable(7, "Statements that are in mind at once.", unit="slots", low=1, high=9, ref="§3")
    working_tokens: int = tunable(1024, "Tokens that they may have together.", unit="tokens", low=16, high=1000000, ref="§3")
    working_half_life_min: float = tunable(
        30.0,
        "Time in which a slot that is not mentioned loses half its activation.",
        unit="min",
        low=0.1,
        high=100000.0,
        ref="§3",
    )
    working_tick: float = tunable(0.95, "What a slot keeps of its activation with each turn.", low=0.1, high=1.0, ref="§3")
    working_floor: float = tunable(0.1, "Activation under which a slot is let go.", low=0.0, high=0.9, ref="§3")
    working_strategy: str = tunable(
        "evict-lowest",
        "What gives way when there is no room: the faintest slot goes, or is cut to half; the faintest few are summed up; or"
        " slots lose detail, the faintest first.",
        choices=("evict-lowest", "compress-lowest", "summarize-batch", "hierarchical"),
        ref="M3",
    )
    sensory_turns: int = tunable(20, "Turns that are at hand as they were said.", unit="turns", low=1, high=1000, ref="§3")
    sensory_s: float = tunable(
        30.0, "After how long a turn comes to mind as a statement.", unit="s", low=0.0, high=86400.0, ref="§3"
    )
    momentum_alpha: float = tunable(
        0.3, "What a new turn counts in the running mean of a conversation.", low=0.01, high=1.0, ref="§8.6"
    )
    momentum_share: float = tunable(
        0.9, "How far a message that says nothing by itself is drawn towards that mean.", low=0.0, high=1.0, ref="§8.6"
    )
    anticipate_s: float = tunable(
        60.0,
        "How long what was looked up ahead of the next message is good for; 0 looks nothing up ahead.",
        unit="s",
        low=0.0,
        high=3600.0,
        ref="§8.9",
    )
    anticipate_likeness: float = tunable(
        0.85,
        "How like what was expected a message must be to get what is ready: cosine over the encoder's background.",
        low=0.0,
        high=1.0,
        ref="§8.9",
    )
    resume_fresh_h: float = tunable(
        4.0, "A pause up to which what was in mind comes back as it was.", unit="h", low=0.0, high=8760.0, ref="§17.5.5"
    )
    resume_stale_h: float = tunable(
        24.0, "A pause from which it does not come back; between the two it fades.", unit="h", low=0.0, high=8760.0, ref="§17.5.5"
    )
