"""The store on SQLite: a value with one part per noun, all of which share one gate."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING

from engram.store.sqlite.gate import Gate

if TYPE_CHECKING:
    from engram.store.sqlite.access_tokens import AccessTokens
    from engram.store.sqlite.audit import AuditEntries
    from engram.store.sqlite.boxes import Boxes
    from engram.store.sqlite.capture import Capture
    from engram.store.sqlite.changes import ChangeLog
    from engram.store.sqlite.dreams import Dreams
    from engram.store.sqlite.edges import Edges
    from engram.store.sqlite.entities import Entities
    from engram.store.sqlite.episodes import Episodes
    from engram.store.sqlite.erasure import Erasure
    from engram.store.sqlite.facts import Facts
    from engram.store.sqlite.feedback import Feedback
    from engram.store.sqlite.figures import Figures
    from engram.store.sqlite.gaps import Gaps
    from engram.store.sqlite.health import HealthCheck
    from engram.store.sqlite.knowledge import KnowledgeSurvey
    from engram.store.sqlite.memories import Memories
    from engram.store.sqlite.proposals import Proposals
    from engram.store.sqlite.quotas import Quotas
    from engram.store.sqlite.receipts import Receipts
    from engram.store.sqlite.reconciliation import Reconciliation
    from engram.store.sqlite.sensitivity import SealedRows
    from engram.store.sqlite.skills import Skills
    from engram.store.sqlite.text_index import TextIndex
    from engram.store.sqlite.turns import Turns
    from engram.store.sqlite.vectors import Vectors
    from engram.store.sqlite.working import SavedWorking


class SqliteStore:
    """An open vault. Each part is imported and made at its first use, so that a short-lived caller loads only what it needs."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def close(self) -> None:
        """Finish queued writes, close every connection, release the vault's lock. A second call does nothing."""
        self.gate.close()

    def background(self) -> AbstractContextManager[None]:
        """Mark reads in this block as maintenance: no audit entry unless they fail, and not counted as use."""
        return self.gate.background()

    def ignore_this_thread(self) -> None:
        """Do not count calls from this thread as use of the vault."""
        self.gate.maintenance_thread = threading.get_ident()

    @property
    def last_used(self) -> float:
        """Monotonic time of the last use of the vault."""
        return self.gate.used_at

    @cached_property
    def memories(self) -> Memories:
        from engram.store.sqlite.memories import Memories

        return Memories(self.gate, lambda: self._reconciliation)

    @cached_property
    def capture(self) -> Capture:
        from engram.store.sqlite.capture import Capture

        return Capture(self.gate, self._reconciliation)

    @cached_property
    def turns(self) -> Turns:
        from engram.store.sqlite.turns import Turns

        return Turns(self.gate)

    @cached_property
    def text(self) -> TextIndex:
        from engram.store.sqlite.text_index import TextIndex

        return TextIndex(self.gate)

    @cached_property
    def vectors(self) -> Vectors:
        from engram.store.sqlite.vectors import Vectors

        return Vectors(self.gate)

    @cached_property
    def edges(self) -> Edges:
        from engram.store.sqlite.edges import Edges

        return Edges(self.gate)

    @cached_property
    def entities(self) -> Entities:
        from engram.store.sqlite.entities import Entities

        return Entities(self.gate)

    @cached_property
    def facts(self) -> Facts:
        from engram.store.sqlite.facts import Facts

        return Facts(self.gate, self._reconciliation)

    @cached_property
    def feedback(self) -> Feedback:
        from engram.store.sqlite.feedback import Feedback

        return Feedback(self.gate, self._reconciliation)

    @cached_property
    def episodes(self) -> Episodes:
        from engram.store.sqlite.episodes import Episodes

        return Episodes(self.gate)

    @cached_property
    def skills(self) -> Skills:
        from engram.store.sqlite.skills import Skills

        return Skills(self.gate)

    @cached_property
    def boxes(self) -> Boxes:
        from engram.store.sqlite.boxes import Boxes

        return Boxes(self.gate)

    @cached_property
    def gaps(self) -> Gaps:
        from engram.store.sqlite.gaps import Gaps

        return Gaps(self.gate)

    @cached_property
    def knowledge(self) -> KnowledgeSurvey:
        from engram.store.sqlite.knowledge import KnowledgeSurvey

        return KnowledgeSurvey(self.gate)

    @cached_property
    def working(self) -> SavedWorking:
        from engram.store.sqlite.working import SavedWorking

        return SavedWorking(self.gate)

    @cached_property
    def dreams(self) -> Dreams:
        from engram.store.sqlite.dreams import Dreams

        return Dreams(self.gate, self._reconciliation, self._proposals)

    @cached_property
    def changes(self) -> ChangeLog:
        from engram.store.sqlite.changes import ChangeLog

        return ChangeLog(self.gate)

    @cached_property
    def erasure(self) -> Erasure:
        from engram.store.sqlite.erasure import Erasure

        return Erasure(self.gate)

    @cached_property
    def audit(self) -> AuditEntries:
        from engram.store.sqlite.audit import AuditEntries

        return AuditEntries(self.gate)

    @cached_property
    def access_tokens(self) -> AccessTokens:
        from engram.store.sqlite.access_tokens import AccessTokens

        return AccessTokens(self.gate)

    @cached_property
    def receipts(self) -> Receipts:
        from engram.store.sqlite.receipts import Receipts

        return Receipts(self.gate)

    @cached_property
    def quotas(self) -> Quotas:
        from engram.store.sqlite.quotas import Quotas

        return Quotas(self.gate)

    @cached_property
    def figures(self) -> Figures:
        from engram.store.sqlite.figures import Figures

        return Figures(self.gate)

    @cached_property
    def health(self) -> HealthCheck:
        from engram.store.sqlite.health import HealthCheck

        return HealthCheck(self.gate)

    @cached_property
    def sensitivity(self) -> SealedRows:
        from engram.store.sqlite.sensitivity import SealedRows

        return SealedRows(self.gate)

    @cached_property
    def _reconciliation(self) -> Reconciliation:
        from engram.store.sqlite.reconciliation import Reconciliation

        return Reconciliation(self.gate)

    @cached_property
    def _proposals(self) -> Proposals:
        from engram.store.sqlite.proposals import Proposals

        return Proposals(self.gate, self._reconciliation)
