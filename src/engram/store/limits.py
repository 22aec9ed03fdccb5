"""The numbers that tune the store, in one value that a benchmark can sweep."""

from __future__ import annotations

from engram.values.frozen import frozen


@frozen(kw_only=True)
class StoreLimits:
    """Sizes of queues, logs and pages, and pauses. Read when the vault is opened, or with each call."""

    # the writing thread and the read pool (§20, §32.1, §33.2)
    queue_limit: int = 1000  # writes that may wait; further callers block
    group_limit: int = 256  # waiting writes that share one commit
    read_patience_s: float = 5.0  # how long a read waits for a free connection
    drain_s: float = 2.0  # how long closing waits for queued writes
    full_retry_s: float = 5.0  # after a full disk: how long writes are refused before one is tried again

    # files (§10.4, §10.6, §32.4)
    wal_pages: int = 200  # pages after which the write-ahead log is folded in; it is made this long at once
    size_jitter_kib: int = 64  # free room under which the file grows, at random between 0 and this
    check_inline_mib: int = 16  # a vault up to this size is checked before it is used; a larger one in the background

    # logs and pages
    change_log_rows: int = 200_000  # entries of the change log kept for indexes and subscribers to catch up from
    page_limit: int = 1000  # most memories on one page of a listing
    audit_ring: int = 2000  # audit entries in memory (§19)
    audit_batch: int = 1000  # audit entries of reads that are written together (§19)
    latency_window: int = 1000  # calls that the latency figures look back on (§34.8)

    # the text index (R1)
    around_weight: float = 0.5  # weight of a word said beside a statement, against one of its own

    # unanswered questions and doubts (§4.5)
    gap_rows: int = 200  # most unanswered questions of a scope
    gap_days: float = 7.0  # how long the same question is not offered again
    gap_kept_days: float = 90.0  # how long a question is kept that is not asked again
    stale_days: float = 90.0  # age from which a much used memory is to be confirmed
    stale_uses: int = 5  # recalls that make a memory much used

    # dreams (K13)
    dream_lease_s: float = 120.0  # a pass without a sign of life for so long is taken over by another process
