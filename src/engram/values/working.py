"""Names under which working memory, checkpoints and hand-overs are saved."""

from __future__ import annotations

MIND, CHECKPOINT, HANDOFF = "mind", "checkpoint", "handoff"
