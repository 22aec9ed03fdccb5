"""Passes on request: `consolidate` and `dream`, run or previewed, and the text of their receipts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from engram.capture.embeddings import fill
from engram.capture.reports import report_from_text, report_to_text
from engram.dream.job import Job, JobContext
from engram.dream.runner import Progress, preview, run
from engram.dream.upkeep import VaultParts
from engram.index.vectors.tiers import VectorLimits
from engram.types import Reader
from engram.values.dreams import PassReport, PassStatus

_NEW = (".derived", ".recaptured")
"""Changes that make memories, whose vectors are made after the pass."""


def run_pass(
    vault: VaultParts, reader: Reader, verb: str, jobs: Sequence[Job], on_progress: Callable[[Progress], None]
) -> PassReport:
    """Run these jobs to their end, and make the vectors of memories that they derived."""
    report = run(_context(vault, reader), jobs, vault.searcher, verb=verb, on_progress=on_progress)
    if vault.embedder is not None and any(change.endswith(_NEW) for change in report.changes):
        fill(vault.store, reader, vault.embedder, page=vault.live.now.embed_batch)
    return report


def preview_pass(
    vault: VaultParts, reader: Reader, verb: str, jobs: Sequence[Job], on_progress: Callable[[Progress], None]
) -> PassReport:
    """Return the report of a pass that is not made."""
    return preview(_context(vault, reader), jobs, verb=verb, on_progress=on_progress)


def _context(vault: VaultParts, reader: Reader) -> JobContext:
    context = vault.job_context(reader)
    if context.index is not None:
        context.index.settle(vault.live.tuned(VectorLimits).warm_patience_s)
    return context


def pass_to_text(report: PassReport) -> str:
    """Return the report as text for a receipt: ids and numbers."""
    changes = {change: list(ids) for change, ids in report.changes.items()}
    parts = [report_to_text(report), report.pass_id, report.ending, changes, report.before, report.after]
    return json.dumps(parts, separators=(",", ":"))


def pass_from_text(text: str) -> PassReport:
    """Return the report of a receipt."""
    report, pass_id, ending, changes, before, after = json.loads(text)
    plain = report_from_text(report)
    return PassReport(
        operation=plain.operation,
        ids=plain.ids,
        counts=plain.counts,
        notes=plain.notes,
        pass_id=pass_id,
        ending=None if ending is None else PassStatus(ending),
        changes={change: tuple(ids) for change, ids in changes.items()},
        before=before,
        after=after,
    )
