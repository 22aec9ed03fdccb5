"""The verbs of background passes: run them on request, list them, undo them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from engram.capture.reports import report_from_text, report_to_text
from engram.dream.jobs import CONSOLIDATE, DREAM, jobs_named, jobs_of
from engram.dream.passes import pass_from_text, pass_to_text, preview_pass, run_pass
from engram.dream.runner import Progress
from engram.types import Report
from engram.values.dreams import Pass, PassReport
from engram.verbs.view import View

OnProgress = Callable[[Progress], None]


def consolidate(
    view: View, *, jobs: Sequence[str] = (), dry_run: bool = False, progress: OnProgress = lambda progress: None
) -> PassReport:
    """Merge duplicates, decide contradictions and archive faded memories, where this reader may write.

    It visits what changed since the last time. If recall of the vault's own memories gets worse, the whole pass is undone.
    """
    return _run(view, CONSOLIDATE, jobs, dry_run, progress)


def dream(
    view: View, *, jobs: Sequence[str] = (), dry_run: bool = False, progress: OnProgress = lambda progress: None
) -> PassReport:
    """Run all background jobs, those of `consolidate` included; `jobs` names some."""
    return _run(view, DREAM, jobs, dry_run, progress)


def undo_dream(view: View, pass_id: str) -> Report:
    """Undo the changes of a pass that nobody has changed since. Memories corrected since do not come back."""
    write = partial(view.vault.store.dreams.undo, view.reader, pass_id)
    return view.write_once(("undo_dream", pass_id), write, report_to_text, report_from_text)


def dreams(view: View, *, limit: int = 20) -> Sequence[Pass]:
    """Return the passes, the latest first."""
    return view.vault.store.dreams.select(view.reader, limit=limit)


def _run(view: View, verb: str, names: Sequence[str], dry_run: bool, progress: OnProgress) -> PassReport:
    jobs = jobs_named(names, jobs_of(verb))
    if dry_run:
        return preview_pass(view.vault, view.reader, verb, jobs, progress)
    request = (verb, [job.name for job in jobs])
    # A pass has many transactions, and a killed one is resumed, so its receipt is written after it.
    return view.write_once(
        request, lambda receipt: run_pass(view.vault, view.reader, verb, jobs, progress), pass_to_text, pass_from_text
    )
