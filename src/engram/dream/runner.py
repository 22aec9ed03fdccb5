"""A pass: jobs one after the other, a page at a time; the whole pass is undone if recall got worse.

Between pages it calls `should_stop`, which waits for a pause in the use and returns True when it is time to stop. A pass that was
stopped there, or killed anywhere, is resumed by the next one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from engram.capture.corrections import Said, heirs_of
from engram.capture.embeddings import encoded, passage
from engram.capture.pairs import Comparison
from engram.deadline import deadline_passed, without_deadline
from engram.dream.invariants import allowed
from engram.dream.job import Job, JobContext, JobPage
from engram.dream.probes import ProbeSearcher, choose_probes, run_probes
from engram.errors import Conflict, EmbeddingError, SearchTimeout, WriteFailed
from engram.models.embedders import Vectors
from engram.models.pair_reader import shared_pair_reader
from engram.types import Memory
from engram.values.dreams import AppliedProposals, Cursor, Derive, Pass, PassReport, PassStatus, Proposal, Recheck, proposal_ids
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
    notes: dict[str, None] = field(default_factory=dict)
    stopped: bool = False

    def add(self, job: str, page: JobPage, applied: AppliedProposals) -> None:
        self.pages[job] += 1
        self.visited[job] += page.visited
        self.notes |= dict.fromkeys(page.notes)
        for what, ids in applied.ids.items():
            self.changes.setdefault(f"{job}.{what}", []).extend(ids)

    def progress(self, job: str) -> Progress:
        changed = sum(len(ids) for what, ids in self.changes.items() if what.startswith(f"{job}."))
        return Progress(job, self.pages[job], self.visited[job], changed)

    def report(self, verb: str, notes: tuple[str, ...] = (), **more: object) -> PassReport:
        counts = {what: len(ids) for what, ids in self.changes.items()}
        visited = {f"{job}.visited": number for job, number in self.visited.items()}
        ids = dict.fromkeys(memory_id for change_ids in self.changes.values() for memory_id in change_ids)
        changes = {what: tuple(change_ids) for what, change_ids in self.changes.items()}
        told = (*notes, *self.notes)
        return PassReport(operation=verb, ids=tuple(ids), counts={**visited, **counts}, changes=changes, notes=told, **more)  # type: ignore[arg-type]


def run(
    context: JobContext,
    jobs: Sequence[Job],
    searcher: ProbeSearcher | None,
    *,
    verb: str,
    should_stop: Callable[[], bool] = lambda: False,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> PassReport:
    """Run these jobs to their end, or until `should_stop` returns True."""
    with context.store.background():
        return _run(context, jobs, searcher, verb, should_stop, on_progress)


def _run(
    context: JobContext,
    jobs: Sequence[Job],
    searcher: ProbeSearcher | None,
    verb: str,
    should_stop: Callable[[], bool],
    on_progress: Callable[[Progress], None],
) -> PassReport:
    started = context.store.dreams.begin(context.reader, verb)
    if started is None:
        raise Conflict("a pass is running, here or in another process.", way_out="Wait for it to end; `dreams` shows it.")
    tally = _PassTally()
    finished = False
    try:
        guard = _Guard(context, searcher, started)
        for job in jobs:
            _run_job(context, job, guard, tally, should_stop, on_progress)
            if tally.stopped:
                note = "the pass was stopped before its end; the next one resumes it."
                return tally.report(verb, notes=(note,), pass_id=started.id, ending=PassStatus.RUNNING, before=guard.before)
        report = _end(context, verb, guard, tally)
        finished = True
        return report
    except (SearchTimeout, WriteFailed) as error:
        if not (deadline_passed() and tally.changes):
            raise
        message = "the deadline passed before the end of the pass; its changes so far are kept."
        raise SearchTimeout(message, way_out="Run it again: it resumes there.") from error
    finally:
        if not finished:
            with without_deadline():
                context.store.dreams.release(context.reader, started.id)


def preview(
    context: JobContext, jobs: Sequence[Job], *, verb: str, on_progress: Callable[[Progress], None] = lambda progress: None
) -> PassReport:
    """Return the changes that these jobs would make, each by itself; nothing is written, not even their cursors.

    Due memories stay due, so that of those only the first page is visited.
    """
    with context.store.background():
        return _preview(context, jobs, verb, on_progress)


def _preview(context: JobContext, jobs: Sequence[Job], verb: str, on_progress: Callable[[Progress], None]) -> PassReport:
    tally = _PassTally()
    for job in jobs:
        cursor = context.store.dreams.cursor(context.reader, job.name)
        for page in _pages(context, job, cursor):
            proposals = _checked(context, page)
            applied = (
                context.store.dreams.preview(context.reader, job.name, proposals, since=page.since)
                if proposals
                else AppliedProposals()
            )
            tally.add(job.name, page, applied)
            on_progress(tally.progress(job.name))
            if page.cursor == cursor:
                break
            cursor = page.cursor
    return tally.report(verb, notes=("this was a dry run: nothing was changed.",))


def _pages(context: JobContext, job: Job, cursor: Cursor) -> Iterable[JobPage]:
    more = True
    while more:
        page = job.page(context, cursor)
        yield page
        cursor, more = page.cursor, page.more


def _run_job(
    context: JobContext,
    job: Job,
    guard: _Guard,
    tally: _PassTally,
    should_stop: Callable[[], bool],
    on_progress: Callable[[Progress], None],
) -> None:
    start = context.store.dreams.cursor(context.reader, job.name)
    for page in _pages(context, job, start):
        proposals = _checked(context, page)
        if any(not isinstance(proposal, Recheck) for proposal in proposals):
            guard.probe(proposals)
        if page.cursor != start or proposals:
            applied = context.store.dreams.apply(
                context.reader, guard.id, job.name, proposals, start=start, upto=page.cursor, since=page.since
            )
            if applied is None:
                return  # another process has taken finished the pass
            tally.add(job.name, page, applied)
        on_progress(tally.progress(job.name))
        start = page.cursor
        if page.more and should_stop():
            tally.stopped = True
            return


def _checked(context: JobContext, page: JobPage) -> list[Proposal]:
    """Return the proposals of a page that break no rule and do not restore a corrected statement (M19)."""
    if not page.proposals:
        return []
    ids = dict.fromkeys(memory_id for proposal in page.proposals for memory_id in proposal_ids(proposal))
    known = {memory.id: memory for memory in context.store.memories.get(context.reader, list(ids))}
    return [
        proposal
        for proposal in allowed(page.proposals, known)
        if not (isinstance(proposal, Derive) and _was_corrected(context, proposal, known))
    ]


def _was_corrected(context: JobContext, derived: Derive, known: dict[str, Memory]) -> bool:
    origin = next((known[source] for source in derived.sources if source in known), None)
    if origin is None:
        return True
    background = 0.0 if context.embedder is None else context.embedder.background[0]
    comparison = Comparison(shared_pair_reader(), context.pair_weights, context.duplicate_weights, background=background)
    statement = Said.of(derived.memory, _vector(context, derived.memory))
    return bool(heirs_of(context.store, context.index, context.scoped_to(origin), [statement], comparison))


def _vector(context: JobContext, memory: Memory) -> Vectors | None:
    if context.embedder is None:
        return None
    try:
        made: Vectors = encoded(context.store, context.embedder, [passage(memory.speaker, memory.text)])[0]
    except EmbeddingError:
        return None
    return made


class _Guard:
    """Probes recall before the first change of a pass and after the last."""

    def __init__(self, context: JobContext, searcher: ProbeSearcher | None, started: Pass) -> None:
        self.id = started.id
        self.before = started.before
        self._context = context
        self._searcher = searcher
        self._ids = context.store.dreams.probes(context.reader, started.id)

    def probe(self, proposals: Sequence[Proposal]) -> None:
        """Probe recall once, before the first change; a resumed pass was probed when it began."""
        if self.before is not None or self._searcher is None or not self._context.limits.dream_probes:
            return
        ids = dict.fromkeys(memory_id for proposal in proposals for memory_id in proposal_ids(proposal))
        memories = self._context.store.memories.get(self._context.reader, list(ids))
        result = run_probes(self._context, self._searcher, choose_probes(self._context, memories))
        if result.share is not None:
            self._ids, self.before = result.ids, result.share
            self._context.store.dreams.heartbeat(self._context.reader, self.id, before=result.share, probes=result.ids)

    def after(self) -> float | None:
        if self.before is None or self._searcher is None:
            return None
        return run_probes(self._context, self._searcher, self._ids).share


def _end(context: JobContext, verb: str, guard: _Guard, tally: _PassTally) -> PassReport:
    """End the pass, or undo it if fewer probes find their memory."""
    after = guard.after()
    if guard.before is not None and after is not None and guard.before - after > context.limits.dream_loss:
        undone = context.store.dreams.undo(context.reader, guard.id, after=after)
        fell = f"recall of the vault's own memories fell from {guard.before:.0%} to {after:.0%}; the pass was undone."
        notes = (fell, *undone.notes)
        ended = {"pass_id": guard.id, "ending": PassStatus.UNDONE, "before": guard.before, "after": after}
        return tally.report(verb, notes=notes, **ended)
    done = context.store.dreams.end(context.reader, guard.id, after=after)
    return tally.report(verb, pass_id=done.id, ending=done.ending, before=done.before, after=done.after)
