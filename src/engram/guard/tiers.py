"""Tiers beside each other. Apart from what finds them in words (`pii`), whose patterns take long to make."""

from __future__ import annotations

from engram.types import Sensitivity

_RANK = {tier: rank for rank, tier in enumerate(Sensitivity)}


def strictest(*tiers: Sensitivity) -> Sensitivity:
    """The one that keeps words the closest; cleartext, if there is none."""
    return max(tiers, key=_RANK.__getitem__, default=Sensitivity.CLEARTEXT)
