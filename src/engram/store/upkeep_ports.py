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
        """Save a snapshot in place of the one of this name; return its time."""

    def load(self, reader: Reader, name: str) -> tuple[datetime, bytes] | None:
        """Return the snapshot of this name in exactly the reader's scope, and its time."""

    def drop(self, reader: Reader, *, receipt: ReceiptRequest | None = None) -> int:
        """Delete all snapshots of the reader's scope; return how many there were."""


class DreamsPort(Protocol):
    """Background passes: their lease, the pages they read, the changes they apply, and undo."""

    def begin(self, reader: Reader, verb: str) -> Pass | None:
        """Begin a pass, or resume one whose process ended; None while another pass runs."""

    def cursor(self, reader: Reader, job: str) -> Cursor:
        """Return the cursor of a job for this reader."""

    def touched(self, reader: Reader, cursor: Cursor, limit: int) -> Touched:
        """Return the memories, retired ones too, that a job should look at next, the cursor after them, whether there are more,
        the latest change, and how many rows were read.
        """

    def due(self, reader: Reader, job: str, now: datetime, limit: int) -> list[Memory]:
        """Return active memories whose recheck by this job is due, the longest due first."""

    def contested(self, reader: Reader, keys: Sequence[int]) -> set[int]:
        """Return those of these memories that have an open contradiction."""

    def apply(
        self, reader: Reader, pass_id: str, job: str, proposals: Sequence[Proposal], *, start: Cursor, upto: Cursor, since: int
    ) -> AppliedProposals | None:
        """Apply one page of a job: its changes, their undo, and the job's cursor. None, and no change, if another process has
        moved the cursor from `start`.
        """

    def preview(self, reader: Reader, job: str, proposals: Sequence[Proposal], *, since: int) -> AppliedProposals:
        """Return what a page would change; nothing is stored."""

    def heartbeat(self, reader: Reader, pass_id: str, *, before: float | None = None, probes: Sequence[str] = ()) -> None:
        """Renew the lease of a pass. `probes`: ids of the memories that measure it; `before`: the share found before it."""

    def probes(self, reader: Reader, pass_id: str) -> tuple[str, ...]:
        """Return the ids of the memories that measure a pass."""

    def release(self, reader: Reader, pass_id: str) -> None:
        """Release a pass before its end, so that another process can resume it at once."""

    def end(self, reader: Reader, pass_id: str, *, after: float | None = None) -> Pass:
        """End a pass. Earlier passes without changes and the undo of expired passes are deleted."""

    def undo(self, reader: Reader, pass_id: str, *, after: float | None = None, receipt: ReceiptRequest | None = None) -> Report:
        """Restore each row that a pass changed and nobody has changed since; corrected memories are not restored."""

    def select(self, reader: Reader, *, limit: int) -> list[Pass]:
        """Return passes, the latest first: all for readers of the policy `all`, else the reader's own."""

    def unfinished(self, reader: Reader) -> str:
        """Return the verb of this reader's unfinished pass, or ""."""

    def successors(self, reader: Reader, ids: Sequence[str]) -> dict[str, str]:
        """Map each id to the active memory it was merged into or superseded by, or to itself; ids without one are left out."""

    def sample(self, reader: Reader, count: int) -> list[Memory]:
        """Return active memories spread evenly over all keys, with one index look-up each."""


class ChangeLogPort(Protocol):
    """The change log, which indexes and subscribers follow."""

    def latest(self, reader: Reader) -> int:
        """Return the number of the last change, a counter that is the same for every reader."""

    def keys_since(self, reader: Reader, after: int, limit: int) -> list[Any]:
        """Return rows (number, memory key, change) after a number, for the owner."""

    def visible_scopes(self, reader: Reader) -> set[int] | None:
        """Return the keys of the scopes that this reader may read; None for all."""

    def since(self, reader: Reader, *, after: int, limit: int) -> list[ChangeLogEntry]:
        """Return the entries after a number, keys and verbs only, for the owner."""

    def events(self, reader: Reader, after: int, limit: int) -> ChangeEvents:
        """Return the changes after a number among the memories that this reader may read. An erasure is no event."""


class ErasurePort(Protocol):
    """Permanent removal of memories, with proof that no word is left."""

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
        """Remove all rows of scopes with this name in a dimension; the report counts them by table. `dry_run`: only report."""


class AuditEntriesPort(Protocol):
    """The audit trail."""

    def select(self, reader: Reader, *, limit: int) -> list[AuditEntry]:
        """Return entries, newest first: all for the owner, else those of the reader's scope."""


class AccessTokensPort(Protocol):
    """Bearer tokens: grant, list, revoke, and look up by secret."""

    def grant(self, reader: Reader, token: AccessToken, secret: str) -> AccessToken:
        """Store a token under the keyed digest of its secret."""

    def select(self, reader: Reader) -> list[AccessToken]:
        """Return all tokens, oldest first."""

    def revoke(self, reader: Reader, token_id: str) -> AccessToken:
        """Revoke a token, for all processes at once. A second call changes nothing."""

    def holder(self, secret: str) -> AccessToken | None:
        """Return the valid token of this secret; None if there is none, or it is expired or revoked."""


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
        """Add calls and tokens to the spending of a minute, unless `check` of the spending so far raises; in one transaction."""

    def spent(self, reader: Reader, since: datetime) -> tuple[int, int]:
        """Return the calls and tokens spent since that minute."""

    def count_question(self, reader: Reader, session: str, at: datetime, rates: RateLimits) -> None:
        """Count a question of this reader. Raises RateLimited, without counting it, if it exceeds the limit."""


class FiguresPort(Protocol):
    """Numbers about the whole vault, by name."""

    def get(self, name: str) -> float | None:
        """Return a number about the whole vault; None if it was never stored."""

    def put(self, reader: Reader, name: str, value: float) -> None:
        """Store a number about the whole vault, such as a weight that recall has learned."""


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
        """Seal a page of personal turns and memories that older releases stored in the clear; return the number of rows
        read, 0 when done.
        """

    def screened_otherwise(self, reader: Reader, edition: int, *, after: int, limit: int) -> list[Memory]:
        """Return memories above a key that were screened by another edition of the rules, or not at all."""

    def put_screened(self, reader: Reader, edition: int, verdicts: Mapping[int, str]) -> int:
        """Store the edition of the rules that screened memories, flag those with a reason, and return how many were flagged."""
