"""The table of settings: name, default, unit, range, help and source of every value that a user may change.

`docs/settings.md` is generated from it (`make docs`). Numbers that tune a rule do not belong here: see `RETIRED`.
"""

from __future__ import annotations

from engram.settings.tunable import tunable
from engram.values.frozen import Field, fields, frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


@frozen(kw_only=True)
class Settings:
    """A consistent set of values. An operation reads a snapshot once and uses it to its end."""

    # identity: who this process is when `open` is not told
    agent: str = tunable("", "Agent that memories are written and read as.", ref="§11")
    project: str = tunable("", "Project this process works in.", ref="§11")
    squad: str = tunable("", "Squad this process belongs to.", ref="§11")
    channel: str = tunable("", "Channel this process speaks on.", ref="§12")
    user: str = tunable("", "User this process speaks with.", ref="§12")
    policy: str = tunable(
        "agent+global",
        "How much of what it may see a process reads.",
        choices=("own", "agent", "agent+global"),
        ref="§10.13.2",
    )

    # vault: the folder and its key
    home: str = tunable(
        "", "The vault that is meant when none is named; empty is the platform's data folder.", ref="V13, §10.2", restart=True
    )
    cipher: str = tunable(
        "aegis",
        "Page cipher of a new vault; `sqlcipher` writes the format that SQLCipher 4 tools open.",
        choices=("aegis", "sqlcipher"),
        ref="§10.3",
        restart=True,
    )
    key_source: str = tunable(
        "auto",
        "Where the key of a new vault goes; `auto` is the OS keychain if a real one answers, else a key file.",
        choices=("auto", "keychain", "file", "passphrase"),
        ref="§10.11",
        restart=True,
    )
    key_file: str = tunable("", "Key file to use instead of the one in the platform's configuration folder.", restart=True)
    kdf: str = tunable(
        "argon2id", "What turns a passphrase into a key.", choices=("argon2id", "scrypt"), ref="§10.11", restart=True
    )
    argon2_memory_kib: int = tunable(65536, "Memory that one guess at a passphrase costs.", unit="KiB", low=8192, high=4194304)
    scrypt_log_n: int = tunable(17, "Cost of scrypt as a power of two.", unit="log₂", low=14, high=22)
    harden_process: bool = tunable(
        True,
        "No core dumps, no ptrace by other processes of this user; switch off to attach a debugger.",
        ref="§10.7",
        restart=True,
    )
    close_on_sigterm: bool = tunable(
        True, "Close open vaults in order when the process is asked to end and nobody else handles it.", ref="§33.2", restart=True
    )

    # store: durability and concurrency
    synchronous: str = tunable(
        "full",
        "When a write counts as durable: `full` syncs every commit; `normal` may lose the last ones on power loss.",
        choices=("full", "normal"),
        ref="§20",
        restart=True,
    )
    reader_limit: int = tunable(
        8, "Connections that read at the same time.", unit="connections", low=1, high=64, ref="§20", restart=True
    )
    page_cache_kib: int = tunable(
        8192, "Decrypted pages each connection keeps.", unit="KiB", low=256, high=1048576, ref="§21", restart=True
    )
    write_patience_s: float = tunable(
        10.0, "How long a write waits for another process to finish its own.", unit="s", low=0.0, high=600.0
    )

    # what the file system shows to an observer
    size_bucket_kib: int = tunable(
        512,
        "The database grows and shrinks by this much only; 0 lets every write show.",
        unit="KiB",
        low=0,
        high=65536,
        ref="§10.4",
    )
    neutral_times: bool = tunable(
        True,
        "Set file times to a fixed date after each write; switch off if a backup tool goes by them.",
        ref="§10.4.4",
    )

    # content
    content_bytes: int = tunable(8192, "Longest text of one memory.", unit="bytes", low=64, high=1048576, ref="§10.17")
    summary_bytes: int = tunable(
        512, "Longest summary, key fact or tag of one memory.", unit="bytes", low=16, high=65536, ref="§10.17"
    )
    turn_bytes: int = tunable(1048576, "Longest turn that is kept verbatim.", unit="bytes", low=1024, high=16777216, ref="M17")
    turn_days: float = tunable(
        0.0,
        "Days that turns are kept verbatim; their memories stay. 0 keeps them for good.",
        unit="days",
        low=0.0,
        high=36500.0,
        ref="M17",
    )

    # capture
    import_bytes: int = tunable(
        1 << 30, "The most that is read of one file of another program's.", unit="bytes", low=1 << 16, high=1 << 40, ref="C13"
    )
    import_confidence: float = tunable(
        0.5, "The most that what comes from a file is believed, until someone says it again.", low=0.0, high=1.0, ref="C13"
    )
    extract_timeout_s: float = tunable(
        60.0, "An extractor that has not answered by then is done without.", unit="s", low=0.01, high=3600.0, ref="C2"
    )
    catch_secrets: bool = tunable(True, "Keys, tokens and passwords are left out of all that is kept.", ref="C16")
    guard_personal: bool = tunable(True, "What holds personal data is sealed under a key of its own.", ref="C8")
    guard_injection: bool = tunable(True, "What reads as an attack on the model is refused or left out of answers.", ref="C9")

    # recall
    vector_weight: float = tunable(0.75, "What meaning counts against words.", low=0.0, high=1.0, ref="R2")
    recall_limit: int = tunable(50, "Most hits of one recall when no limit was asked for.", unit="hits", low=1, high=1000)
    recall_threshold: float = tunable(
        0.75, "Fused score under which a question counts as not answered.", low=-10.0, high=100.0, ref="R18"
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
    diversity: float = tunable(
        0.0, "How far a hit is held back for being like those above it (MMR); 0 is off.", low=0.0, high=1.0, ref="R7"
    )
    suppress_days: float = tunable(90.0, "How long that lasts.", unit="days", low=0.0, high=36500.0, ref="R9")
    reason_depth: int = tunable(3, "How deep a question is taken apart, itself included.", low=1, high=8, ref="R17")
    reason_calls: int = tunable(12, "Recalls that one reasoning may make.", low=1, high=200, ref="R17")
    mcp_answer_tokens: int = tunable(
        2000, "Tokens of an answer to a model over MCP, where it does not ask for another budget.", low=100, high=200000
    )

    # rate limits, and what scores and times tell
    ask_per_minute: int = tunable(
        240, "Questions that an agent may ask a minute, by tool or over the wire; 0: any.", low=0, high=1000000, ref="R15"
    )
    guest_ask_per_minute: int = tunable(20, "The same for a guest, who may be anybody.", low=0, high=1000000, ref="R15")
    ask_per_session: int = tunable(10_000, "The same in one session and one day.", low=0, high=1000000, ref="R15")
    score_noise: float = tunable(0.0, "Noise on the scores that these are told, its scale.", low=0.0, high=1.0, ref="R15")
    answer_grid_ms: float = tunable(
        50.0,
        "Answers to a tool or client go out at multiples of this after the question: how long one took tells little.",
        unit="ms",
        low=0.0,
        high=10000.0,
        ref="R15, §10.8",
    )

    # encoder and vectors
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

    # working memory
    working_slots: int = tunable(7, "Statements that are in mind at once.", unit="slots", low=1, high=9, ref="§3")
    working_tokens: int = tunable(1024, "Tokens that they may have together.", unit="tokens", low=16, high=1000000, ref="§3")
    working_strategy: str = tunable(
        "evict-lowest",
        "What gives way when there is no room: the faintest slot goes, or is cut to half; the faintest few are summed up; or"
        " slots lose detail, the faintest first.",
        choices=("evict-lowest", "compress-lowest", "summarize-batch", "hierarchical"),
        ref="M3",
    )
    resume_fresh_h: float = tunable(
        4.0, "A pause up to which what was in mind comes back as it was.", unit="h", low=0.0, high=8760.0, ref="§17.5.5"
    )
    resume_stale_h: float = tunable(
        24.0, "A pause from which it does not come back; between the two it fades.", unit="h", low=0.0, high=8760.0, ref="§17.5.5"
    )

    # context
    injection_mode: str = tunable(
        "standard",
        "How much is put before an agent unasked: the best few memories; what fits, with what changed and what is not known; or"
        " more memories and less history.",
        choices=("minimal", "standard", "deep"),
        ref="X8",
    )
    context_tokens: int = tunable(
        1500,
        "Tokens of memories in a context whose budget nobody gives, at most: a short question gets 600, no message more than an"
        " eighth of the model's window; history and own sections come on top. 0 fills the window.",
        unit="tokens",
        low=0,
        high=10_000_000,
        ref="X5",
    )
    context_working: float = tunable(
        1.0, "Share of working memory in a context, as a multiple of what the profile gives it.", low=0.0, high=100.0, ref="X13"
    )
    context_recalled: float = tunable(1.0, "The same of recalled memories.", low=0.0, high=100.0, ref="X13")
    context_history: float = tunable(1.0, "The same of the conversation so far.", low=0.0, high=100.0, ref="X13")
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

    # strength of memories
    half_life_days: float = tunable(
        30.0,
        "Days in which a memory of a person's own words loses half its strength, unused.",
        unit="days",
        low=0.1,
        high=36500.0,
        ref="K3",
    )
    retention_mode: str = tunable(
        "huber",
        "The shape of forgetting: `l2` halves evenly, `huber` fades slower once it is old, `elastic` lets the weak go sooner.",
        choices=("l2", "huber", "elastic"),
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

    # backups
    backup_hours: float = tunable(
        24.0, "A backup is made when the last one is older; 0 makes none by itself.", unit="h", low=0.0, high=8760.0, ref="§32.4"
    )
    backups_kept: int = tunable(3, "Backups that are kept.", unit="files", low=1, high=100, ref="§32.4")

    # dreams: consolidation of an idle vault
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


TABLE: Mapping[str, Field[Any]] = {one.name: one for one in fields(Settings)}

IDENTITY = ("agent", "project", "squad", "channel", "user", "policy")
"""Settings that are never replaced by a default: a process would read and write as somebody else."""

_MOVED = {
    "RecallWeights": (
        "assistant_discount session_weight substance_weight time_weight lifecycle_weight affect_weight "
        "beside_weight entity_weight graph_weight graph_always graph_hops graph_hops_causal graph_decay graph_threshold "
        "graph_seeds graph_links graph_fan graph_rank newest_likeness support_least related_least recall_candidates "
        "recall_floor context_likeness context_floor posting_budget rerank_top rerank_weight suppress_likeness"
    ),
    "VectorLimits": "vector_exact_limit vector_rescore warm_patience_s snapshot_from snapshot_pause_s",
    "WorkingLimits": ("working_tick working_floor working_half_life_min sensory_turns sensory_s momentum_alpha momentum_share"),
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
        "dream_probes dream_loss dream_links dream_nearer dream_rehearsals dream_inferences warm_after_s care_pause_s"
    ),
    "ConnectionLimits": "embed_connect_s embed_probe_s llm_connect_s llm_probe_s",
    "ServeLimits": "serve_events_s serve_drain_s",
    "key_sources": "argon2_passes",
}
"""Names that were settings before they moved, with the same values, into the `Weights` or `Limits` of a room."""

_REMOVED = frozenset({"anticipate_s", "anticipate_likeness", "gather_weight"})
"""Names of settings without a successor."""

RETIRED = _REMOVED | frozenset(name for names in _MOVED.values() for name in names.split())
