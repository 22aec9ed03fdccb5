"""One pass: jobs one after the other, a page at a time, and all of it undone if recall got worse by it.

Between pages it asks `rest`, which waits for a pause in the use and says True when it is time to stop. What is stopped there, or
killed anywhere, is gone on with by the next pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from engram.capture.corrections import Said, heirs_of
from engram.deadline import deadline_passed, without_deadline
from engram.dream.invariants import allowed
from engram.dream.job import Desk, Job, Page
from engram.dream.probes import Looks, chosen, tried
from engram.errors import Conflict, SearchTimeout, WriteFailed
from engram.store.sqlite.revisions import named_in
from engram.types import Memory
from engram.values.dreams import AppliedProposals, Cursor, Derive, Pass, PassReport, PassStatus, Proposal, Recheck
from engram.values.frozen import field, frozen, mutable


@frozen
class Progress:
    """How far a pass has come: the job, its pages, the rows it looked at, what it changed."""

    job: str
    pages: int
    visited: int
    changed: int


@mutable
class _Tally:
    """What a pass has done so far."""

    changes: dict[str, list[str]] = field(default_factory=dict)
    visited: Counter[str] = field(default_factory=Counter)
    pages: Counter[str] = field(default_factory=Counter)
    stopped: bool = False

    def take(self, job: str, page: Page, applied: AppliedProposals) -> None:
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
    desk: Desk,
    jobs: Sequence[Job],
    looks: Looks | None,
    *,
    verb: str,
    rest: Callable[[], bool] = lambda: False,
    tell: Callable[[Progress], None] = lambda progress: None,
) -> PassReport:
    """Run these jobs to their end, or until `rest` says that it is time to stop."""
    with desk.store.for_nobody():
        return _run(desk, jobs, looks, verb, rest, tell)


def _run(
    desk: Desk,
    jobs: Sequence[Job],
    looks: Looks | None,
    verb: str,
    rest: Callable[[], bool],
    tell: Callable[[Progress], None],
) -> PassReport:
    begun = desk.store.begin_pass(desk.reader, verb)
    if begun is None:
        raise Conflict("a pass is going on, here or in another process.", way_out="Wait for it to end; `dreams` shows it.")
    tally = _Tally()
    over = False
    try:
        guard = _Guard(desk, looks, begun)
        for job in jobs:
            _work(desk, job, guard, tally, rest, tell)
            if tally.stopped:
                note = "it was stopped before its end; the next pass goes on from there."
                return tally.report(verb, notes=(note,), pass_id=begun.id, ending=PassStatus.RUNNING, before=guard.before)
        report = _ended(desk, verb, guard, tally)
        over = True
        return report
    except (SearchTimeout, WriteFailed) as error:
        if not (deadline_passed() and tally.changes):
            raise
        far = "time ran out before the end of the pass; what it did until then is kept."
        raise SearchTimeout(far, way_out="Ask again: it goes on from there.") from error
    finally:
        if not over:
            with without_deadline():
                desk.store.let_go(desk.reader, begun.id)


def trial(desk: Desk, jobs: Sequence[Job], *, verb: str, tell: Callable[[Progress], None] = lambda progress: None) -> PassReport:
    """What these jobs would change, each by itself; nothing is kept, not even how far they came.

    What is due stays due, so that of it the first page is looked at.
    """
    with desk.store.for_nobody():
        return _trial(desk, jobs, verb, tell)


def _trial(desk: Desk, jobs: Sequence[Job], verb: str, tell: Callable[[Progress], None]) -> PassReport:
    tally = _Tally()
    for job in jobs:
        cursor = desk.store.reach(desk.reader, job.name)
        for page in _pages(desk, job, cursor):
            revisions = _checked(desk, page)
            applied = (
                desk.store.would_revise(desk.reader, job.name, revisions, since=page.since) if revisions else AppliedProposals()
            )
            tally.take(job.name, page, applied)
            tell(tally.progress(job.name))
            if page.cursor == cursor:
                break
            cursor = page.cursor
    return tally.report(verb, notes=("this was a trial: nothing was changed.",))


def _pages(desk: Desk, job: Job, cursor: Cursor) -> Iterable[Page]:
    more = True
    while more:
        page = job.page(desk, cursor)
        yield page
        cursor, more = page.cursor, page.more


def _work(
    desk: Desk,
    job: Job,
    guard: _Guard,
    tally: _Tally,
    rest: Callable[[], bool],
    tell: Callable[[Progress], None],
) -> None:
    start = desk.store.reach(desk.reader, job.name)
    for page in _pages(desk, job, start):
        revisions = _checked(desk, page)
        if any(not isinstance(one, Recheck) for one in revisions):
            guard.look(revisions)
        if page.cursor != start or revisions:
            applied = desk.store.revise(
                desk.reader, guard.id, job.name, revisions, start=start, upto=page.cursor, since=page.since
            )
            if applied is None:
                return  # somebody else goes on with it
            tally.take(job.name, page, applied)
        tell(tally.progress(job.name))
        start = page.cursor
        if page.more and rest():
            tally.stopped = True
            return


def _checked(desk: Desk, page: Page) -> list[Proposal]:
    """What of a page may be made at all, and says nothing that was corrected (M19)."""
    if not page.revisions:
        return []
    ids = dict.fromkeys(one for revision in page.revisions for one in named_in(revision))
    known = {memory.id: memory for memory in desk.store.get(desk.reader, list(ids))}
    return [one for one in allowed(page.revisions, known) if not (isinstance(one, Derive) and _was_corrected(desk, one, known))]


def _was_corrected(desk: Desk, made: Derive, known: dict[str, Memory]) -> bool:
    origin = next((known[one] for one in made.sources if one in known), None)
    if origin is None:
        return True
    said = Said.of(made.memory.text, made.memory.text, made.memory.speaker, None)
    return bool(heirs_of(desk.store, desk.index, desk.here(origin), [said], desk.settings))


class _Guard:
    """Looks at recall before the first change of a pass, and after the last."""

    def __init__(self, desk: Desk, looks: Looks | None, begun: Pass) -> None:
        self.id = begun.id
        self.before = begun.before
        self._desk = desk
        self._looks = looks
        self._ids = desk.store.tried_by(desk.reader, begun.id)

    def look(self, revisions: Sequence[Proposal]) -> None:
        """Once, before anything is changed; a pass that is gone on with was looked at when it began."""
        if self.before is not None or self._looks is None or not self._desk.settings.dream_probes:
            return
        ids = dict.fromkeys(one for revision in revisions for one in named_in(revision))
        found = tried(self._desk, self._looks, chosen(self._desk, self._desk.store.get(self._desk.reader, list(ids))))
        if found.share is not None:
            self._ids, self.before = found.ids, found.share
            self._desk.store.beat(self._desk.reader, self.id, before=found.share, probes=found.ids)

    def after(self) -> float | None:
        return None if self.before is None or self._looks is None else tried(self._desk, self._looks, self._ids).share


def _ended(desk: Desk, verb: str, guard: _Guard, tally: _Tally) -> PassReport:
    """End the pass; or undo it, if fewer of the probe questions find their memory."""
    after = guard.after()
    if guard.before is not None and after is not None and guard.before - after > desk.settings.dream_loss:
        undone = desk.store.undo_pass(desk.reader, guard.id, after=after)
        fell = f"recall of the vault's own memories fell from {guard.before:.0%} to {after:.0%}: the pass was undone."
        notes = (fell, *undone.notes)
        ended = {"pass_id": guard.id, "ending": PassStatus.UNDONE, "before": guard.before, "after": after}
        return tally.report(verb, notes=notes, **ended)
    done = desk.store.end_pass(desk.reader, guard.id, after=after)
    return tally.report(verb, pass_id=done.id, ending=done.ending, before=done.before, after=done.after)
