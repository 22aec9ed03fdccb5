"""The verb of the audit trail."""

from __future__ import annotations

from collections.abc import Sequence

from engram.types import AuditEntry
from engram.verbs.view import View


def audit(view: View, *, limit: int = 50) -> Sequence[AuditEntry]:
    """Return the audit trail, newest first: who did what, without any words of memories."""
    return view.vault.store.audit.select(view.reader, limit=limit)
