"""The protocols of what keeps a store running: passes, change log, erasure, audit, tokens, receipts, quotas, health."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from engram.crypto.access_tokens import AccessToken
from engram.guard.limits import RateLimits
from engram.models.spending import Check
from engram.store.receipts import ReceiptRequest
from engram.types import (
    AuditEntry,
    Backup,
    ChangeEvents,
    ChangeLogEntry,
    Finding,
    Health,
    Memory,
    Reader,
    Report,
    Sensitivity,
)
from engram.values.dreams import AppliedProposals, Cursor, Pass, Proposal, Touched


class SavedWorkingPort(Protocol):
    """Suspended working memory, checkpoints and hand-overs."""

    def save(
        self,
        reader: Reader,
        name: str,
        body: bytes,
        session: str,
        *,
        tier: Sensitivity = Sensitivity.CONFIDENTIAL,
        sources: Sequence[str] = (),
        since: int | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> datetime | None:
        """Keep this in place of what was put away before; when it was kept."""

    def load(self, reader: Reader, name: str) -> tuple[datetime, bytes] | None:
        """What was put away under this name by whoever stood exactly here, and when."""

    def drop(self, reader: Reader, *, receipt: ReceiptRequest | None = None) -> int:
        """Remove all that was put away here; how many there were."""


class DreamsPort(Protocol):
    """Background passes: their lease, the pages they read, the changes they apply, and undo."""

    def begin(self, reader: Reader, verb: str) -> Pass | None:
        """Begin a pass, or go on with one whose process ended; None while another one is at it."""

    def cursor(self, reader: Reader, job: str) -> Cursor:
        """How far a job has come for this reader."""

    def touched(self, reader: Reader, cursor: Cursor, limit: int) -> Touched:
        """The memories that a job should look at next, those that were retired among them: themselves, the cursor after them,
        whether there is more, the latest change, and how many rows were looked at.
        """

    def due(self, reader: Reader, job: str, now: datetime, limit: int) -> list[Memory]:
        """Active memories that a job wanted to look at by now, the longest due first."""

    def contested(self, reader: Reader, keys: Sequence[int]) -> set[int]:
        """Those of these memories that contradict another, or are contradicted by it."""

    def apply(
        self, reader: Reader, pass_id: str, job: str, revisions: Sequence[Proposal], *, start: Cursor, upto: Cursor, since: int
    ) -> AppliedProposals | None:
        """Keep one page of a job: what it changes, what undoes that, and how far the job has come. None, and nothing is kept,
        if another process went on from `start` meanwhile.
        """

    def preview(self, reader: Reader, job: str, revisions: Sequence[Proposal], *, since: int) -> AppliedProposals:
        """What a page would do; nothing is kept."""

    def heartbeat(self, reader: Reader, pass_id: str, *, before: float | None = None, probes: Sequence[str] = ()) -> None:
        """A pass is still at work. `probes`: the memories it is tried by, and the share of them that was found `before`."""

    def probes(self, reader: Reader, pass_id: str) -> tuple[str, ...]:
        """The memories that a pass is tried by."""

    def release(self, reader: Reader, pass_id: str) -> None:
        """A pass stops before its end; whoever comes next may go on with it at once."""

    def end(self, reader: Reader, pass_id: str, *, after: float | None = None) -> Pass:
        """A pass is over. Of those that changed nothing only the last is kept; what undoes old ones is let go of."""

    def undo(self, reader: Reader, pass_id: str, *, after: float | None = None, receipt: ReceiptRequest | None = None) -> Report:
        """Put back all that a pass changed and that still is what it made of it; what was corrected since does not come back."""

    def select(self, reader: Reader, *, limit: int) -> list[Pass]:
        """Passes, the latest first: all for whoever sees all, else the reader's own."""

    def unfinished(self, reader: Reader) -> str:
        """The verb of this reader's own pass that was begun and has not come to its end; empty if there is none."""

    def successors(self, reader: Reader, ids: Sequence[str]) -> dict[str, str]:
        """What stands for each of these memories by now: itself, or what it was merged into or superseded by."""

    def sample(self, reader: Reader, count: int) -> list[Memory]:
        """Active memories, evenly spread over all that were kept: one look at an index for each."""


class ChangeLogPort(Protocol):
    """The change log: what indexes and subscribers follow."""

    def latest(self, reader: Reader) -> int:
        """The number of the last change: a counter that says nothing of what changed, the same for every reader."""

    def keys_since(self, reader: Reader, after: int, limit: int) -> list[Any]: ...

    def visible_scopes(self, reader: Reader) -> set[int] | None:
        """Keys of the scopes that this reader sees; None for all."""

    def since(self, reader: Reader, *, after: int, limit: int) -> list[ChangeLogEntry]:
        """The change log after a point: keys and verbs only, for whoever may see the whole vault's rhythm."""

    def events(self, reader: Reader, after: int, limit: int) -> ChangeEvents:
        """What changed after a point among what this reader sees. An erasure is told to nobody: not even an id is left of it."""


class ErasurePort(Protocol):
    """Removal for good, with proof that nothing is left."""

    def erase(
        self,
        reader: Reader,
        ids: Sequence[str],
        *,
        since: datetime | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> Report:
        """Remove memories so that no word of them is left in the database, its log or any backup made later."""

    def purge(
        self,
        reader: Reader,
        dimension: str,
        name: str,
        *,
        dry_run: bool = False,
        timeout: float | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> Report:
        """Remove all that belongs to a place; the report counts it table by table. With `dry_run`, only the report is made."""


class AuditEntriesPort(Protocol):
    """The audit trail."""

    def select(self, reader: Reader, *, limit: int) -> list[AuditEntry]:
        """Newest first: one's own entries, or the owner's view of all."""


class AccessTokensPort(Protocol):
    """Bearer tokens: granted, listed, revoked, looked up."""

    def grant(self, reader: Reader, token: AccessToken, secret: str) -> AccessToken:
        """Keep a token under the digest of its secret."""

    def select(self, reader: Reader) -> list[AccessToken]:
        """All of them, oldest first."""

    def revoke(self, reader: Reader, token_id: str) -> AccessToken:
        """From now on it opens nothing, in any process. Revoking twice is revoking once."""

    def holder(self, secret: str) -> AccessToken | None:
        """The token that this is the secret of; None if there is none, or it holds no more."""


class ReceiptsPort(Protocol):
    """Receipts of writes that carry an idempotency key."""

    def answer(self, reader: Reader, receipt: ReceiptRequest) -> str | None:
        """Return the text of the receipt of this request by this reader; None if there is none."""

    def write(self, reader: Reader, receipt: ReceiptRequest) -> None:
        """Write the receipt of a request that was answered without a transaction of its own."""

    def in_progress(self, reader: Reader, receipt: ReceiptRequest) -> AbstractContextManager[None]:
        """Let no second thread of this process begin the request. If another process does, its write raises `AlreadyDone`."""


class QuotasPort(Protocol):
    """Spending on language models, and the rate of questions."""

    def spend(self, reader: Reader, at: datetime, calls: int, tokens: int, check: Check) -> None:
        """Write it down, unless the check of what was spent raises: between the two nobody else writes."""

    def spent(self, reader: Reader, since: datetime) -> tuple[int, int]:
        """Calls and tokens since that minute."""

    def count_question(self, reader: Reader, session: str, at: datetime, rates: RateLimits) -> None:
        """Count one question of this reader's; `RateLimited` if it is one too many, which is not counted: who asks again too
        early is not kept out for longer.
        """


class FiguresPort(Protocol):
    """Numbers about the whole vault, by name."""

    def get(self, name: str) -> float | None:
        """A number about the whole vault, if it was ever put."""

    def put(self, reader: Reader, name: str, value: float) -> None:
        """Keep a number about the whole vault, such as what recall has learned."""


class HealthCheckPort(Protocol):
    """Integrity checks, backups and the state of the vault."""

    @property
    def unchecked(self) -> bool:
        """True if the vault was too large to be verified when it was opened."""

    def check(self, reader: Reader) -> list[str]:
        """Read and verify the whole store; return its problems. Damage makes it read-only."""

    def stop_check(self) -> None:
        """Interrupt a check that is running, so that closing does not wait for it."""

    def filling(self, patience_s: float) -> AbstractContextManager[bool]:
        """Hold the backfill of missing vectors against all other threads and processes; False if another holds it too long."""

    def backup(self, reader: Reader, *, receipt: ReceiptRequest | None = None) -> Backup:
        """Make a backup."""

    def backup_if_due(self, reader: Reader) -> None:
        """Make a backup if `backup_due`."""

    def backup_due(self) -> bool:
        """Return True if the last backup is older than `backup_hours` and the vault has changed since."""

    def backups(self, reader: Reader) -> list[Backup]:
        """Return all backups, newest first, each opened and checked."""

    def doctor(self, reader: Reader) -> list[Finding]:
        """Return the findings about the vault, worst first; nothing is changed."""

    def report(self, reader: Reader) -> Health:
        """Return the figures of V19 as this process sees them. The index, which the store does not know, is left out."""

    def relieve(self) -> int:
        """Close idle connections to free their page caches; return how many were closed."""


class SealedRowsPort(Protocol):
    """Rows written by earlier releases, sealed and screened as those of today."""

    def seal_old(self, reader: Reader, *, limit: int) -> int:
        """Seal what was left in the clear before it was known to be personal, or before it was sealed at all: how many rows of
        turns or memories were looked at; 0 if all were.
        """

    def screened_otherwise(self, reader: Reader, edition: int, *, after: int, limit: int) -> list[Memory]:
        """Memories above a key that were judged by another edition of the rules, or by none."""

    def put_screened(self, reader: Reader, edition: int, verdicts: Mapping[int, str]) -> int:
        """Keep by which rules memories were judged, and flag those that have a reason; how many were flagged."""
