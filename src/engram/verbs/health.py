"""The verbs of health: figures and warnings, problems with their remedies, verification of the file."""

from __future__ import annotations

from collections.abc import Sequence

from engram.types import Finding, Health
from engram.verbs.view import View


def health(view: View) -> Health:
    """Return the figures and warnings of the vault, and the level on which recall answers now."""
    return view.vault.health(view.reader)


def doctor(view: View) -> Sequence[Finding]:
    """Return the problems of the vault, worst first, each with its severity and remedy. For its owner. Nothing is changed:
    a repair needs exclusive use of the vault (`engram doctor --repair`)."""
    return view.vault.store.health.doctor(view.reader)


def check(view: View) -> Sequence[str]:
    """Verify the whole database file; return its problems."""
    return view.vault.store.health.check(view.reader)
