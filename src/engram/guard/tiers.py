"""Comparison of sensitivities, in a module of its own because the patterns of `pii` are slow to compile."""

from __future__ import annotations

from engram.types import Sensitivity

_RANK = {tier: rank for rank, tier in enumerate(Sensitivity)}


def strictest(*tiers: Sensitivity) -> Sensitivity:
    """Return the highest sensitivity, or cleartext if none is given."""
    return max(tiers, key=_RANK.__getitem__, default=Sensitivity.CLEARTEXT)
