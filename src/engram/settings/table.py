"""The table itself: every tunable with its name, default, unit, range, help and where it comes from."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

Value = bool | int | float | str


def tunable(
    default: Value,
    help: str,
    *,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    ref: str = "",
    restart: bool = False,
) -> Any:
    """Declare one setting. `restart`: it is read when the vault is opened, so a change waits for the next open."""
    spec = {"help": help, "unit": unit, "low": low, "high": high, "choices": choices, "ref": ref, "restart": restart}
    return dataclasses.field(default=default, metadata=spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One consistent set of values. Operations read a snapshot once and use it to their end."""

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
    argon2_passes: int = tunable(3, "Passes over that memory.", low=1, high=64)
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
    queue_limit: int = tunable(
        1000, "Writes that may wait; further callers block.", unit="writes", low=1, high=100000, ref="§20", restart=True
    )
    group_limit: int = tunable(256, "Waiting writes that share one commit.", unit="writes", low=1, high=10000, ref="§20")
    reader_limit: int = tunable(
        8, "Connections that read at the same time.", unit="connections", low=1, high=64, ref="§20", restart=True
    )
    page_cache_kib: int = tunable(
        8192, "Decrypted pages each connection keeps.", unit="KiB", low=256, high=1048576, ref="§21", restart=True
    )
    write_patience_s: float = tunable(
        10.0, "How long a write waits for another process to finish its own.", unit="s", low=0.0, high=600.0
    )
    read_patience_s: float = tunable(5.0, "How long a read waits for a free connection.", unit="s", low=0.01, high=600.0)
    drain_s: float = tunable(2.0, "How long closing waits for queued writes.", unit="s", low=0.0, high=60.0, ref="§33.2")
    full_retry_s: float = tunable(
        5.0,
        "After a full disk, how long writes are refused before one is tried again.",
        unit="s",
        low=0.0,
        high=3600.0,
        ref="§32.1",
    )
    change_log_rows: int = tunable(
        200000, "Entries of the change log that are kept for indexes to catch up from.", unit="rows", low=1000, high=100000000
    )

    # silence: what the file system may tell an observer
    size_bucket_kib: int = tunable(
        512,
        "The database grows and shrinks by this much only; 0 lets every write show.",
        unit="KiB",
        low=0,
        high=65536,
        ref="§10.4",
    )
    size_jitter_kib: int = tunable(
        64, "Free room under which the file grows, at random between 0 and this.", unit="KiB", low=0, high=4096, ref="§10.4.3"
    )
    neutral_times: bool = tunable(
        True,
        "Set file times to a fixed date after each write; switch off if a backup tool goes by them.",
        ref="§10.4.4",
    )
    wal_pages: int = tunable(
        200,
        "Pages after which the write-ahead log is folded into the database; it is made this long at once.",
        unit="pages",
        low=16,
        high=100000,
        ref="§10.6.3",
        restart=True,
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
    page_limit: int = tunable(1000, "Most memories that one page of a listing holds.", unit="memories", low=1, high=100000)

    # capture
    import_bytes: int = tunable(
        1 << 30, "The most that is read of one file of another program's.", unit="bytes", low=1 << 16, high=1 << 40, ref="C13"
    )
    import_confidence: float = tunable(
        0.5, "The most that what comes from a file is believed, until someone says it again.", low=0.0, high=1.0, ref="C13"
    )
    ingest_batch: int = tunable(32, "Turns that are taken in together.", unit="turns", low=1, high=10000, ref="C14")
    duplicate_cosine: float = tunable(
        0.93, "Likeness of two statements' vectors from which they may say the same.", low=0.5, high=1.0, ref="C4"
    )
    duplicate_overlap: float = tunable(0.6, "Share of words that they must have in common then.", low=0.0, high=1.0, ref="C4")
    buffer_turns: int = tunable(
        6, "Turns of a session that wait before an extractor reads them together.", unit="turns", low=1, high=1000, ref="C1"
    )
    buffer_minutes: float = tunable(
        5.0, "How long a turn waits for an extractor at most.", unit="min", low=0.0, high=10080.0, ref="C1"
    )
    extract_timeout_s: float = tunable(
        60.0, "An extractor that has not answered by then is done without.", unit="s", low=0.01, high=3600.0, ref="C2"
    )
    catch_secrets: bool = tunable(True, "Keys, tokens and passwords are left out of all that is kept.", ref="C16")
    guard_personal: bool = tunable(True, "What holds personal data is sealed under a key of its own.", ref="C8")
    ask_per_minute: int = tunable(20, "Questions that a tool or client may ask a minute; 0: any.", low=0, high=1000000, ref="R15")
    ask_per_session: int = tunable(200, "The same in one session.", low=0, high=1000000, ref="R15")
    score_noise: float = tunable(0.0, "Noise on the scores that these are told, its scale.", low=0.0, high=1.0, ref="R15")
    guard_injection: bool = tunable(True, "What reads as an attack on the model is refused or left out of answers.", ref="C9")

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
    entity_weight: float = tunable(
        1.0,
        "What a memory gains by naming whom a question asks all about; 0: such memories are not looked up by name.",
        low=0.0,
        high=10.0,
        ref="R6",
    )
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
    recall_candidates: int = tunable(150, "Candidates that each arm brings.", unit="memories", low=10, high=1000, ref="R1")
    recall_limit: int = tunable(50, "Most hits of one recall when no limit was asked for.", unit="hits", low=1, high=1000)
    recall_floor: float = tunable(
        0.35,
        "Hits under this share of the best hit's score are held back when no limit was asked for.",
        low=0.0,
        high=1.0,
        ref="R18",
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
        2000, "Tokens of a search or a context over MCP, where the model does not ask for another budget.", low=100, high=200000
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
    embed_connect_s: float = tunable(
        2.0, "How long a connection and a sign of life may take.", unit="s", low=0.05, high=60.0, ref="§32.2", restart=True
    )
    embed_probe_s: float = tunable(
        30.0,
        "How long the last sign of life counts; while it was bad, the endpoint is not asked.",
        unit="s",
        low=0.0,
        high=3600.0,
        ref="§32.2",
        restart=True,
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
    llm_connect_s: float = tunable(
        2.0, "How long a connection and a sign of life may take.", unit="s", low=0.05, high=60.0, ref="§32.2", restart=True
    )
    llm_probe_s: float = tunable(
        30.0,
        "How long the last sign of life counts; while it was bad, the endpoint is not asked.",
        unit="s",
        low=0.0,
        high=3600.0,
        ref="§32.2",
        restart=True,
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
    gap_days: float = tunable(7.0, "How long the same one is not offered again.", unit="days", low=0.0, high=3650.0, ref="§4.5")
    gap_kept_days: float = tunable(
        90.0, "How long one is kept that is not asked again.", unit="days", low=0.0, high=36500.0, ref="§4.5"
    )
    gap_rows: int = tunable(200, "Most of them that a scope has.", unit="questions", low=1, high=100000, ref="§4.5")
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
    edge_reinforce: float = tunable(0.1, "How much surer a link is when it is seen again.", low=0.0, high=1.0, ref="M15")
    edge_grace_days: float = tunable(
        30.0, "How long a link that is not seen again stays as sure as it was.", unit="days", low=0.0, high=36500.0, ref="M15"
    )
    edge_fade: float = tunable(
        0.1, "How much of its confidence a link loses in every 30 days after that.", low=0.0, high=1.0, ref="M15"
    )
    edge_floor: float = tunable(0.2, "Links less sure than this are not followed.", low=0.0, high=1.0, ref="M15")
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
    skill_episodes: int = tunable(
        3, "Similar successes from which a skill is learned.", unit="episodes", low=2, high=100, ref="M7"
    )
    skill_alpha: float = tunable(
        0.1, "How much the latest use of a skill counts in its rate of success.", low=0.01, high=1.0, ref="M7"
    )
    box_shift: float = tunable(
        0.35, "A statement that has less than this in common with a box begins the next one.", low=0.0, high=1.0, ref="M14"
    )
    box_gap_min: float = tunable(
        30.0, "Minutes of silence after which a box is closed.", unit="min", low=0.1, high=525600.0, ref="M14"
    )
    box_size: int = tunable(50, "Memories that a box holds at most.", unit="memories", low=2, high=10000, ref="M14")

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
    check_inline_mib: int = tunable(
        16,
        "A vault up to this size is checked whole before it is used; a larger one in the background.",
        unit="MiB",
        low=0,
        high=1048576,
        ref="§32.4",
    )
    backup_hours: float = tunable(
        24.0, "A backup is made when the last one is older; 0 makes none by itself.", unit="h", low=0.0, high=8760.0, ref="§32.4"
    )
    care_pause_s: float = tunable(
        60.0,
        "How often an open vault looks whether a backup is due or vectors are missing.",
        unit="s",
        low=0.05,
        high=86400.0,
        ref="§32.4",
    )
    backups_kept: int = tunable(3, "Backups that are kept.", unit="files", low=1, high=100, ref="§32.4")

    # serving
    serve_host: str = tunable("127.0.0.1", "Address that `engram serve` listens at; another one needs a token.", restart=True)
    serve_port: int = tunable(8420, "Port that `engram serve` listens at.", low=0, high=65535, restart=True)
    serve_names: str = tunable("", "Names besides localhost that a request may be for (`Host`), with commas.", restart=True)
    serve_origins: str = tunable("", "Web pages that may call from a browser (`Origin`), with commas.", restart=True)
    serve_threads: int = tunable(16, "Requests that are worked on at once.", low=1, high=256, restart=True)
    serve_body_kib: int = tunable(2048, "Largest body of a request.", unit="KiB", low=1, high=1048576)
    serve_rate: int = tunable(1200, "Requests a minute that one token may make.", low=1, high=1000000)
    serve_timeout_s: float = tunable(30.0, "How long a request may take.", unit="s", low=0.1, high=3600.0)
    serve_drain_s: float = tunable(10.0, "How long a server that ends waits for requests.", unit="s", low=0.0, high=600.0)
    serve_events_s: float = tunable(0.5, "How often a server looks for changes to tell of.", unit="s", low=0.05, high=60.0)
    receipt_hours: float = tunable(24.0, "How long an `Idempotency-Key` is known.", unit="h", low=1.0, high=8760.0)

    # audit and health
    audit_ring: int = tunable(
        2000, "Audit entries at hand in memory.", unit="entries", low=100, high=100000, ref="§19", restart=True
    )
    audit_rows: int = tunable(
        100000, "Audit entries kept in the vault; the oldest go first.", unit="rows", low=1000, high=100000000, ref="§19"
    )
    audit_batch: int = tunable(
        1000, "Audit entries of reads that are written together.", unit="entries", low=1, high=2000, ref="§19"
    )
    ram_warning_mib: int = tunable(
        250, "Resident memory from which pressure is called elevated.", unit="MiB", low=50, high=1048576, ref="§21"
    )
    ram_critical_mib: int = tunable(
        350, "Resident memory from which pressure is called critical.", unit="MiB", low=100, high=1048576, ref="§21"
    )
    latency_window: int = tunable(
        1000, "Calls that the latency figures look back on.", unit="calls", low=10, high=100000, ref="§34.8", restart=True
    )
