"""TODO."""

from __future__ import annotations

MIND, CHECKPOINT, HANDOFF = "mind", "checkpoint", "handoff"
