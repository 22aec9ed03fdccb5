"""The part of the table about what is found again: recall, and what is in mind."""

from __future__ import annotations

from engram.settings.keeping import Keeping
from engram.settings.tunable import tunable
from engram.values.frozen import frozen


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

    # working memory: what is in mind while a conversation runs
    working_slots: int = tunable(7, "Statements that are in mind at once.", unit="slots", low=1, high=9, ref="§3")
    working_tokens: int = tunable(1024, "Tokens that they may have together.", unit="tokens", low=16, high=1000000, ref="§3")
    working_strategy: str = tunable(
        "evict-lowest",
        "What gives way when there is no room: the faintest slot goes, or is cut to half; the faintest few are summed up; or"
        " slots lose detail, the faintest first.",
        choices=("evict-lowest", "compress-lowest", "summarize-batch", "hierarchical"),
        ref="M3",
    )
    anticipate_s: float = tunable(
        60.0,
        "How long what was looked up ahead of the next message is good for; 0 looks nothing up ahead.",
        unit="s",
        low=0.0,
        high=3600.0,
        ref="§8.9",
    )
    resume_fresh_h: float = tunable(
        4.0, "A pause up to which what was in mind comes back as it was.", unit="h", low=0.0, high=8760.0, ref="§17.5.5"
    )
    resume_stale_h: float = tunable(
        24.0, "A pause from which it does not come back; between the two it fades.", unit="h", low=0.0, high=8760.0, ref="§17.5.5"
    )
