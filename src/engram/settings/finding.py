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
    recall_limit: int = tunable(50, "Most hits of one recall when no limit was asked for.", unit="hits", low=1, high=1000)
    recall_threshold: float = tunable(
        0.75, "Fused score under which a question counts as not answered.", low=-10.0, high=100.0, ref="R18"
    )
    reason_depth: int = tunable(3, "How deep a question is taken apart, itself included.", low=1, high=8, ref="R17")
    reason_calls: int = tunable(12, "Recalls that one reasoning may make.", low=1, high=200, ref="R17")
    fusion: str = tunable(
        "calibrated",
        "How the arms' opinions are joined: by scores on a common scale, or by ranks alone (weighted RRF, k = 60).",
        choices=("calibrated", "rrf"),
        ref="R7",
    )
    reranker: str = tunable(
        "", "Folder of a cross-encoder (model.onnx, tokenizer.json) that looks at the best hits again.", ref="R7", restart=True
    )
    diversity: float = tunable(
        0.0, "How far a hit is held back for being like those above it (MMR); 0 is off.", low=0.0, high=1.0, ref="R7"
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
