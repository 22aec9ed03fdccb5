"""One pass: jobs one after the other, a page at a time; the whole pass is undone if recall got worse.

Between pages it calls `rest`, which waits for a pause in the use and returns True when it is time to stop. A pass that was
stopped there, or killed anywhere, is resumed by the next one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from engram.capture.corrections import Said, heirs_of
from engram.deadline import deadline_passed, without_deadline
from engram.dream.invariants import allowed
from engram.dream.job import Job, JobContext, JobPage
from engram.dream.probes import ProbeSearcher, choose_probes, run_probes
from engram.errors import Conflict, SearchTimeout, WriteFailed
from engram.store.sqlite.revisions import named_in
from engram.types import Memory
from engram.values.dreams import AppliedProposals, Cursor, Derive, Pass, PassReport, PassStatus, Proposal, Recheck
from engram.values.frozen import field, frozen, mutable


@frozen
class Progress:
    """The progress of a pass: the current job, its pages, the rows it visited, the number of its changes."""

    job: str
    pages: int
    visited: int
    changed: int


@mutable
class _PassTally:
    """Changes, visited rows and pages of a pass so far."""

    changes: dict[str, list[str]] = field(default_factory=dict)
    visited: Counter[str] = field(default_factory=Counter)
    pages: Counter[str] = field(default_factory=Counter)
    stopped: bool = False

    def take(self, job: str, page: JobPage, applied: AppliedProposals) -> None:
        self.pages[job] += 1
        self.visited[job] += page.visited
        for what, ids in applied.ids.items():
            self.changes.setdefault(f"{job}.{what}", []).extend(ids)

    def progress(self, job: str) -> Progress:
        changed = sum(len(ids) for what, ids in self.changes.items() if what.startswith(f"{job}."))
        return Progress(job, self.pages[job], self.visited[job], changed)

    def report(self, verb: str, **more: object) -> PassReport:
        counts = {what: len(ids) for what, ids in self.changes.items()}
        seen = {f"{job}.visited": number for job, number in self.visited.items()}
        ids = dict.fromkeys(one for some in self.changes.values() for one in some)
        told = {what: tuple(ids) for what, ids in self.changes.items()}
        return PassReport(operation=verb, ids=tuple(ids), counts={**seen, **counts}, changes=told, **more)  # type: ignore[arg-type]


def run(
    context: JobContext,
    jobs: Sequence[Job],
    searcher: ProbeSearcher | None,
    *,
    verb: str,
    rest: Callable[[], bool] = lambda: False,
    tell: Callable[[Progress], None] = lambda progress: None,
) -> PassReport:
    """Run these jobs to their end, or until `rest` returns True."""
    with context.store.for_nobody():
        return _run(context, jobs, searcher, verb, rest, tell)


def _run(
    context: JobContext,
    jobs: Sequence[Job],
    searcher: ProbeSearcher | None,
    verb: str,
    rest: Callable[[], bool],
    tell: Callable[[Progress], None],
) -> PassReport:
    begun = context.store.begin_pass(context.reader, verb)
    if begun is None:
        raise Conflict("a pass is running, here or in another process.", way_out="Wait for it to end; `dreams` shows it.")
    tally = _PassTally()
    over = False
    try:
        guard = _Guard(context, searcher, begun)
        for job in jobs:
            _work(context, job, guard, tally, rest, tell)
            if tally.stopped:
                note = "the pass was stopped before its end; the next one resumes it."
                return tally.report(verb, notes=(note,), pass_id=begun.id, ending=PassStatus.RUNNING, before=guard.before)
        report = _ended(context, verb, guard, tally)
        over = True
        return report
    except (SearchTimeout, WriteFailed) as error:
        if not (deadline_passed() and tally.changes):
            raise
        message = "the deadline passed before the end of the pass; its changes so far are kept."
        raise SearchTimeout(message, way_out="Run it again: it resumes there.") from error
    finally:
        if not over:
            with without_deadline():
                context.store.let_go(context.reader, begun.id)


def preview(
    context: JobContext, jobs: Sequence[Job], *, verb: str, tell: Callable[[Progress], None] = lambda progress: None
) -> PassReport:
    """Return the changes that these jobs would make, each by itself; nothing is written, not even their cursors.

    Due memories stay due, so that of those only the first page is visited.
    """
    with context.store.for_nobody():
        return _trial(context, jobs, verb, tell)


def _trial(context: JobContext, jobs: Sequence[Job], verb: str, tell: Callable[[Progress], None]) -> PassReport:
    tally = _PassTally()
    for job in jobs:
        cursor = context.store.reach(context.reader, job.name)
        for page in _pages(context, job, cursor):
            revisions = _checked(context, page)
            applied = (
                context.store.would_revise(context.reader, job.name, revisions, since=page.since)
                if revisions
                else AppliedProposals()
            )
            tally.take(job.name, page, applied)
            tell(tally.progress(job.name))
            if page.cursor == cursor:
                break
            cursor = page.cursor
    return tally.report(verb, notes=("this was a trial: nothing was changed.",))


def _pages(context: JobContext, job: Job, cursor: Cursor) -> Iterable[JobPage]:
    more = True
    while more:
        page = job.page(context, cursor)
        yield page
        cursor, more = page.cursor, page.more


def _work(
    context: JobContext,
    job: Job,
    guard: _Guard,
    tally: _PassTally,
    rest: Callable[[], bool],
    tell: Callable[[Progress], None],
) -> None:
    start = context.store.reach(context.reader, job.name)
    for page in _pages(context, job, start):
        revisions = _checked(context, page)
        if any(not isinstance(one, Recheck) for one in revisions):
            guard.look(revisions)
        if page.cursor != start or revisions:
            applied = context.store.revise(
                context.reader, guard.id, job.name, revisions, start=start, upto=page.cursor, since=page.since
            )
            if applied is None:
                return  # another process has taken over the pass
            tally.take(job.name, page, applied)
        tell(tally.progress(job.name))
        start = page.cursor
        if page.more and rest():
            tally.stopped = True
            return


def _checked(context: JobContext, page: JobPage) -> list[Proposal]:
    """Return the proposals of a page that break no rule and do not restore a corrected statement (M19)."""
    if not page.revisions:
        return []
    ids = dict.fromkeys(one for revision in page.revisions for one in named_in(revision))
    known = {memory.id: memory for memory in context.store.get(context.reader, list(ids))}
    return [
        one for one in allowed(page.revisions, known) if not (isinstance(one, Derive) and _was_corrected(context, one, known))
    ]


def _was_corrected(context: JobContext, made: Derive, known: dict[str, Memory]) -> bool:
    origin = next((known[one] for one in made.sources if one in known), None)
    if origin is None:
        return True
    said = Said.of(made.memory.text, made.memory.text, made.memory.speaker, None)
    return bool(heirs_of(context.store, context.index, context.here(origin), [said], context.settings))


class _Guard:
    """Probes recall before the first change of a pass and after the last."""

    def __init__(self, context: JobContext, searcher: ProbeSearcher | None, begun: Pass) -> None:
        self.id = begun.id
        self.before = begun.before
        self._context = context
        self._searcher = searcher
        self._ids = context.store.tried_by(context.reader, begun.id)

    def look(self, revisions: Sequence[Proposal]) -> None:
        """Probe recall once, before the first change; a resumed pass was probed when it began."""
        if self.before is not None or self._searcher is None or not self._context.settings.dream_probes:
            return
        ids = dict.fromkeys(one for revision in revisions for one in named_in(revision))
        found = run_probes(
            self._context, self._searcher, choose_probes(self._context, self._context.store.get(self._context.reader, list(ids)))
        )
        if found.share is not None:
            self._ids, self.before = found.ids, found.share
            self._context.store.beat(self._context.reader, self.id, before=found.share, probes=found.ids)

    def after(self) -> float | None:
        return (
            None if self.before is None or self._searcher is None else run_probes(self._context, self._searcher, self._ids).share
        )


def _ended(context: JobContext, verb: str, guard: _Guard, tally: _PassTally) -> PassReport:
    """End the pass, or undo it if fewer probes find their memory."""
    after = guard.after()
    if guard.before is not None and after is not None and guard.before - after > context.settings.dream_loss:
        undone = context.store.undo_pass(context.reader, guard.id, after=after)
        fell = f"recall of the vault's own memories fell from {guard.before:.0%} to {after:.0%}; the pass was undone."
        notes = (fell, *undone.notes)
        ended = {"pass_id": guard.id, "ending": PassStatus.UNDONE, "before": guard.before, "after": after}
        return tally.report(verb, notes=notes, **ended)
    done = context.store.end_pass(context.reader, guard.id, after=after)
    return tally.report(verb, pass_id=done.id, ending=done.ending, before=done.before, after=done.after)
