"""The table itself: every tunable with its name, default, unit, range, help and where it comes from.

What is kept and what is found stand in `keeping.py` and `finding.py`; a file of all of them would be too long to read.
"""

from __future__ import annotations

from engram.settings.finding import Finding
from engram.settings.tunable import Value as Value
from engram.settings.tunable import tunable
from engram.values.frozen import frozen


@frozen(kw_only=True)
class Settings(Finding):
    """One consistent set of values. Operations read a snapshot once and use it to their end."""

    # embedding endpoints: only if `model` names one
    embed_url: str = tunable(
        "", "Address of the endpoint; empty is Ollama on this machine, or api.openai.com.", ref="S10", restart=True
    )
    embed_key_env: str = tunable(
        "ENGRAM_EMBED_KEY", "Environment variable that holds the endpoint's key; the key is never a setting.", restart=True
    )
    embed_dimensions: int = tunable(
        0, "Length of vectors to ask for; 0 takes what the endpoint makes.", unit="numbers", low=0, high=65536, restart=True
    )
    embed_query_prefix: str = tunable(
        "auto", "What is put before a question; `auto` is what the model was trained with, if that is known.", restart=True
    )
    embed_passage_prefix: str = tunable("auto", "The same before what is kept.", restart=True)
    embed_batch: int = tunable(32, "Texts in one request.", unit="texts", low=1, high=2048, restart=True)
    embed_timeout_s: float = tunable(
        15.0, "How long one request may take, its second try included.", unit="s", low=0.1, high=600.0, restart=True
    )

    # language models: only if `llm` names one
    llm: str = tunable(
        "",
        "The language model that reads what was said besides the rules: `ollama:NAME` or `openai:NAME` (any server that speaks"
        " so), which get those words; empty is none.",
        ref="S10",
        restart=True,
    )
    llm_url: str = tunable(
        "", "Address of its endpoint; empty is Ollama on this machine, or api.openai.com.", ref="S10", restart=True
    )
    llm_key_env: str = tunable(
        "ENGRAM_LLM_KEY",
        "Environment variable that holds its key; where it is empty, the keychain's entry of that name under `engram`.",
        restart=True,
    )
    llm_timeout_s: float = tunable(
        45.0, "How long one answer may take, its second try included.", unit="s", low=0.1, high=3600.0, restart=True
    )
    llm_output_tokens: int = tunable(4096, "Longest answer that is asked for.", unit="tokens", low=64, high=1000000, restart=True)
    llm_calls_hour: int = tunable(
        120, "Calls that a vault's language model gets in an hour; 0 sets no limit.", unit="calls", low=0, high=1000000, ref="S10"
    )
    llm_calls_day: int = tunable(1000, "The same in a day.", unit="calls", low=0, high=10000000, ref="S10")
    llm_tokens_hour: int = tunable(
        500000,
        "Tokens that it may have in an hour, prompts and answers; 0 sets no limit.",
        unit="tokens",
        low=0,
        high=1000000000,
        ref="S10",
    )
    llm_tokens_day: int = tunable(2000000, "The same in a day.", unit="tokens", low=0, high=1000000000, ref="S10")

    # context
    injection_mode: str = tunable(
        "standard",
        "How much is put before an agent unasked: the best few memories; what fits, with what changed and what is not known; or"
        " more memories and less history.",
        choices=("minimal", "standard", "deep"),
        ref="X8",
    )
    gap_questions: int = tunable(
        2, "Questions without an answer that are offered in a session, to be asked back.", low=0, high=100, ref="§4.5"
    )
    morning_after_h: float = tunable(
        4.0,
        "A break after which the first context tells what was being done, and what changed.",
        unit="h",
        low=0.0,
        high=8760.0,
        ref="§34.9",
    )
    models_file: str = tunable(
        "", "A file like the package's `llms.toml` whose entries go over those: windows, tokenizers, names.", ref="X1"
    )

    # kinds of memory: links, strength, skills, boxes
    retention_mode: str = tunable(
        "huber",
        "The shape of forgetting: `l2` halves evenly, `huber` fades slower once it is old, `elastic` lets the weak go sooner.",
        choices=("l2", "huber", "elastic"),
        ref="K3",
    )
    half_life_days: float = tunable(
        30.0,
        "Days in which a memory of a person's own words loses half its strength, unused.",
        unit="days",
        low=0.1,
        high=36500.0,
        ref="K3",
    )

    # hooks of coding agents
    hook_scope: str = tunable(
        "shared",
        "Where hooks read and write: `shared` is the identity of these settings; `project` also names the folder of the"
        " repository an agent works in as the project.",
        choices=("shared", "project"),
        ref="S15",
    )
    hook_tokens: int = tunable(
        800, "Tokens that a hook may add to what an agent reads.", unit="tokens", low=50, high=100000, ref="S15"
    )

    # care: checks and backups
    backup_hours: float = tunable(
        24.0, "A backup is made when the last one is older; 0 makes none by itself.", unit="h", low=0.0, high=8760.0, ref="§32.4"
    )
    backups_kept: int = tunable(3, "Backups that are kept.", unit="files", low=1, high=100, ref="§32.4")

    # at rest: what a vault does with its memories while nobody asks
    dream: bool = tunable(
        True,
        "Consolidate by itself: merge what says the same, put away what has faded, while the vault is open and idle.",
        ref="K13",
    )
    dream_idle_s: float = tunable(
        120.0, "How long nobody must have asked anything before it does.", unit="s", low=0.0, high=86400.0, ref="K13"
    )
    dream_every_h: float = tunable(6.0, "How often it does at most.", unit="h", low=0.0, high=8760.0, ref="§22")
    dream_undo_days: float = tunable(30.0, "How long a pass can be undone.", unit="days", low=0.0, high=3650.0, ref="K17")

    # serving
    serve_host: str = tunable("127.0.0.1", "Address that `engram serve` listens at; another one needs a token.", restart=True)
    serve_port: int = tunable(8420, "Port that `engram serve` listens at.", low=0, high=65535, restart=True)
    serve_names: str = tunable("", "Names besides localhost that a request may be for (`Host`), with commas.", restart=True)
    serve_origins: str = tunable("", "Web pages that may call from a browser (`Origin`), with commas.", restart=True)
    serve_threads: int = tunable(16, "Requests that are worked on at once.", low=1, high=256, restart=True)
    serve_body_kib: int = tunable(2048, "Largest body of a request.", unit="KiB", low=1, high=1048576)
    serve_rate: int = tunable(1200, "Requests a minute that one token may make.", low=1, high=1000000)
    serve_timeout_s: float = tunable(30.0, "How long a request may take.", unit="s", low=0.1, high=3600.0)
    page_hours: float = tunable(12.0, "How long a page stays signed in without being used.", unit="h", low=0.1, high=720.0)
    receipt_hours: float = tunable(24.0, "How long an `Idempotency-Key` is known.", unit="h", low=1.0, high=8760.0)

    # audit and health
    audit_rows: int = tunable(
        100000, "Audit entries kept in the vault; the oldest go first.", unit="rows", low=1000, high=100000000, ref="§19"
    )
    ram_warning_mib: int = tunable(
        250, "Resident memory from which pressure is called elevated.", unit="MiB", low=50, high=1048576, ref="§21"
    )
    ram_critical_mib: int = tunable(
        350, "Resident memory from which pressure is called critical.", unit="MiB", low=100, high=1048576, ref="§21"
    )


_FIXED_IN = {
    "RecallWeights": (
        "assistant_discount session_weight substance_weight time_weight gather_weight lifecycle_weight affect_weight "
        "beside_weight entity_weight graph_weight graph_always graph_hops graph_hops_causal graph_decay graph_threshold "
        "graph_seeds graph_links graph_fan graph_rank newest_likeness support_least related_least recall_candidates "
        "recall_floor context_likeness context_floor posting_budget rerank_top rerank_weight suppress_likeness"
    ),
    "VectorLimits": "vector_exact_limit vector_rescore warm_patience_s snapshot_from snapshot_pause_s",
    "WorkingLimits": (
        "working_tick working_floor working_half_life_min sensory_turns sensory_s momentum_alpha momentum_share "
        "anticipate_likeness"
    ),
    "StoreLimits": (
        "queue_limit group_limit full_retry_s drain_s change_log_rows size_jitter_kib wal_pages page_limit "
        "read_patience_s latency_window audit_ring audit_batch check_inline_mib around_weight gap_days gap_kept_days "
        "gap_rows stale_days stale_uses dream_lease_s"
    ),
    "EdgeWeights": "edge_reinforce edge_grace_days edge_fade edge_floor",
    "KnowledgeWeights": "known_confident known_unknown known_fresh_days known_half_days",
    "BoxLimits": "box_shift box_gap_min box_size",
    "SkillWeights": "skill_episodes skill_alpha",
    "DuplicateWeights": "duplicate_cosine duplicate_overlap",
    "CaptureLimits": "ingest_batch ingest_characters buffer_turns buffer_minutes",
    "DreamLimits": (
        "merge_cosine dream_probes dream_loss dream_links dream_nearer dream_rehearsals dream_inferences warm_after_s "
        "care_pause_s"
    ),
    "ConnectionLimits": "embed_connect_s embed_probe_s llm_connect_s llm_probe_s",
    "ServeLimits": "serve_events_s serve_drain_s",
    "key_sources": "argon2_passes",
}
"""Names that were settings before they moved, with the same values, into the `Weights` or `Limits` of a room."""

FIXED = frozenset(name for names in _FIXED_IN.values() for name in names.split())
