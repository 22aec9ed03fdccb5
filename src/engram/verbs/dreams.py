"""The verbs of what happens at rest: consolidating, dreaming, and taking a pass back."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial

from engram.capture.embeddings import fill
from engram.capture.reports import from_words, to_words
from engram.dream.jobs import CONSOLIDATE, DREAM, jobs_named, jobs_of
from engram.dream.runner import Progress, preview, run
from engram.index.vectors.tiers import VectorLimits
from engram.store.receipts import ReceiptRequest
from engram.types import Report
from engram.values.dreams import Pass, PassReport, PassStatus
from engram.verbs.view import View

Tell = Callable[[Progress], None]

_DERIVED = ".derived"


def _told(done: PassReport) -> str:
    """As a receipt has it: ids and numbers."""
    changes = {what: list(ids) for what, ids in done.changes.items()}
    return json.dumps([to_words(done), done.pass_id, done.ending, changes, done.before, done.after], separators=(",", ":"))


def _again(told: str) -> PassReport:
    report, pass_id, ending, changes, before, after = json.loads(told)
    plain = from_words(report)
    return PassReport(
        operation=plain.operation,
        ids=plain.ids,
        counts=plain.counts,
        notes=plain.notes,
        pass_id=pass_id,
        ending=None if ending is None else PassStatus(ending),
        changes={what: tuple(ids) for what, ids in changes.items()},
        before=before,
        after=after,
    )


def consolidate(
    view: View, *, jobs: Sequence[str] = (), dry_run: bool = False, progress: Tell = lambda progress: None
) -> PassReport:
    """Merge what says the same, decide contradictions, put away what has faded, where this reader may write.

    It visits what changed since the last time. If recall of the vault's own memories gets worse by it, all of it is undone.
    """
    return _rest(view, CONSOLIDATE, jobs, dry_run, progress)


def dream(view: View, *, jobs: Sequence[str] = (), dry_run: bool = False, progress: Tell = lambda progress: None) -> PassReport:
    """All jobs that there are for a memory at rest, those of `consolidate` among them; `jobs` names some."""
    return _rest(view, DREAM, jobs, dry_run, progress)


def undo_dream(view: View, pass_id: str) -> Report:
    """Take back what a pass did and nobody has changed since. What was corrected since does not come back."""
    write = partial(view.vault.store.dreams.undo, view.reader, pass_id)
    return view.write_once(("undo_dream", pass_id), write, to_words, from_words)


def dreams(view: View, *, limit: int = 20) -> Sequence[Pass]:
    """What was done at rest, the latest first."""
    return view.vault.store.dreams.select(view.reader, limit=limit)


def _rest(view: View, verb: str, names: Sequence[str], dry_run: bool, progress: Tell) -> PassReport:
    vault, reader, jobs = view.vault, view.reader, jobs_named(names, jobs_of(verb))
    context = vault.job_context(reader)
    if context.index is not None:
        context.index.settle(vault.live.tuned(VectorLimits).warm_patience_s)
    if dry_run:
        return preview(context, jobs, verb=verb, on_progress=progress)

    def write(*, receipt: ReceiptRequest | None) -> PassReport:
        """Many transactions: one that is killed is gone on with, so its receipt comes last."""
        done = run(context, jobs, vault.searcher, verb=verb, on_progress=progress)
        if vault.embedder is not None and any(what.endswith(_DERIVED) for what in done.changes):
            fill(vault.store, reader, vault.embedder, page=vault.live.now.embed_batch)
        return done

    return view.write_once((verb, [job.name for job in jobs]), write, _told, _again)
