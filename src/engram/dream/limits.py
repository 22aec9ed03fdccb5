"""The numbers that tune background jobs and upkeep, in one value that a benchmark can sweep."""

from __future__ import annotations

from engram.values.frozen import frozen


@frozen(kw_only=True)
class DreamLimits:
    """Limits of the jobs of a pass, of the guard that undoes it, and pauses of the upkeep thread."""

    # the guard: questions made of the vault's own memories, asked before and after a pass (K17)
    dream_probes: int = 40  # 0: nothing is asked, and no pass is undone
    dream_loss: float = 0.05  # a pass is undone if a larger share of the probes misses its memory

    # jobs (K1, K10, K11)
    dream_links: int = 3  # most edges from a memory to similar ones; 0: none are made
    dream_nearer: float = 2.5  # standard deviations by which two memories must be closer than any two
    dream_rehearsals: int = 8  # rehearsals of an important memory before it may fade unused; 0: none
    dream_inferences: int = 20  # most inferred facts that one page of memories adds; 0: none are kept

    # upkeep of an open vault (§32.4, §33.1)
    warm_after_s: float = 1.0  # a vault open for longer loads its vectors unasked
    care_pause_s: float = 60.0  # pause between two rounds: backup due? vectors missing? time for a pass?
