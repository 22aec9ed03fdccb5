"""Maintenance of a vault that is not open: its key, its backups, examination and repair, done by the engine's own module."""

from __future__ import annotations

from engram.store.sqlite.maintenance import examine as examine
from engram.store.sqlite.maintenance import export_key as export_key
from engram.store.sqlite.maintenance import import_key as import_key
from engram.store.sqlite.maintenance import key_facts as key_facts
from engram.store.sqlite.maintenance import list_backups as list_backups
from engram.store.sqlite.maintenance import restore_backup as restore_backup
from engram.store.sqlite.maintenance import rotate_key as rotate_key
from engram.store.sqlite.maintenance import write_decoy as write_decoy

__all__ = [
    "examine",
    "export_key",
    "import_key",
    "key_facts",
    "list_backups",
    "restore_backup",
    "rotate_key",
    "write_decoy",
]
