"""The verbs of backups: make one, list them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from engram.errors import NotFound
from engram.types import Backup
from engram.verbs.view import View


def backup(view: View) -> Backup:
    """Make a backup of the vault now. For its owner."""
    return view.write_once(
        ("backup",),
        partial(view.vault.store.health.backup, view.reader),
        lambda made: made.path.name,
        partial(_backup_named, view),
    )


def _backup_named(view: View, name: str) -> Backup:
    for made in backups(view):
        if made.path.name == name:
            return made
    raise NotFound("this backup was made before, and has been removed since.", way_out="See `engram backups`.")


def backups(view: View) -> Sequence[Backup]:
    """Return the backups of the vault."""
    return view.vault.store.health.backups(view.reader)
