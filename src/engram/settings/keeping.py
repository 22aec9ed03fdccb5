"""The part of the table about what is kept: identity, vault, store, silence, content, capture."""

from __future__ import annotations

from engram.settings.tunable import tunable
from engram.values.frozen import frozen


@frozen(kw_only=True)
class Keeping:
    """Read through `Settings`, which has all of it."""

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

    # silence: what the file system may tell an observer
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
    home: str = tunable(
        "", "The vault that is meant when none is named; empty is the platform's data folder.", ref="V13, §10.2", restart=True
    )
    catch_secrets: bool = tunable(True, "Keys, tokens and passwords are left out of all that is kept.", ref="C16")
    guard_personal: bool = tunable(True, "What holds personal data is sealed under a key of its own.", ref="C8")
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
    guard_injection: bool = tunable(True, "What reads as an attack on the model is refused or left out of answers.", ref="C9")
