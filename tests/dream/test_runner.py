"""The runner of a pass: changes, dry runs, undo, resuming (also after kill -9), permissions and rules."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from dream.vaults import context_of, keep, rows
from recall.vaults import KEY, OWNER

from engram.deadline import cancellable
from engram.dream.duplicates import MERGE
from engram.dream.invariants import may_merge
from engram.dream.job import Job, JobContext, JobPage
from engram.dream.limits import DreamLimits
from engram.dream.runner import preview, run
from engram.engine import Engram
from engram.errors import AccessDenied, Conflict, InvalidQuery, NotFound, SearchTimeout
from engram.store.limits import StoreLimits
from engram.store.sqlite.dreams import Dreams
from engram.types import Edge, Fact, Memory, Reader, Role, Scope, Source, Status
from engram.values.dreams import AddLink, Archive, Cursor, Derive, Merge, PassStatus, Proposal, Reweigh, SetLayer

PAIR = ("The API runs on Fly in Frankfurt", "The API runs on Fly in Frankfurt now")


def remember_pair(mem: Engram) -> tuple[str, str]:
    return tuple(mem.remember(text).id for text in PAIR)  # type: ignore[return-value]


def test_a_pass_merges_duplicates(mem: Engram) -> None:
    first, second = remember_pair(mem)
    mem.remember("Lemon trees need plenty of sunlight")

    report = run(context_of(mem), [MERGE], mem._vault.searcher, verb="consolidate")

    assert report.counts["merge.merged"] == 1
    assert report.ending is PassStatus.DONE
    left = mem.list().memories
    assert len(left) == 2
    gone = mem.get(report.ids[0])
    assert gone.status is Status.MERGED
    survivor = next(one for one in left if one.id in (first, second))
    assert survivor.corroborations == 1
    assert survivor.learned_at == min(survivor.learned_at, gone.learned_at)  # type: ignore[type-var]


def test_a_second_pass_changes_nothing(mem: Engram) -> None:
    remember_pair(mem)
    run(context_of(mem), [MERGE], None, verb="dream")
    kept = rows(mem._vault.store)

    again = run(context_of(mem), [MERGE], None, verb="dream")

    assert not again.ids
    assert rows(mem._vault.store) == kept


def test_a_dry_run_changes_nothing(mem: Engram) -> None:
    remember_pair(mem)
    kept = rows(mem._vault.store)

    report = preview(context_of(mem), [MERGE], verb="dream")

    assert report.counts["merge.merged"] == 1
    assert not report.pass_id
    assert rows(mem._vault.store) == kept
    assert not mem._vault.store.dreams.select(mem.reader, limit=10)


def everything(first: Memory, second: Memory, third: Memory) -> Job:
    """A job that proposes every kind of change, once."""

    def page(context: JobContext, cursor: Cursor) -> JobPage:
        touched = context.touched(cursor)
        fresh = {first.id, second.id, third.id} <= {one.id for one in touched.memories}
        made = replace(Memory(text="Trees and tea both need warm weather to thrive"), category="insight")
        done = [
            Archive(third.id, "has faded"),
            SetLayer(first.id, "semantic"),
            Reweigh(first.id, importance=0.9, confidence=0.8),
            AddLink(Edge(first.id, second.id, "related_to", 0.5, 0.6)),
            Derive(made, (first.id, second.id)),
        ]
        return touched.page(done if fresh and cursor.change < 0 else [])

    return Job("everything", "Do all there is to do.", page)


def test_undoing_a_pass_restores_every_row(mem: Engram) -> None:
    remember_pair(mem)
    first, second, third = map(
        mem.remember, ("Lemon trees need plenty of sunlight", "Green tea grows in warm weather", "It rained a little on Monday")
    )
    kept = rows(mem._vault.store)

    report = run(context_of(mem), [MERGE, everything(first, second, third)], None, verb="dream")
    assert {what.partition(".")[2] for what in report.changes} == {
        *("merged", "archived", "placed", "weighed", "linked", "derived"),
    }
    assert rows(mem._vault.store) != kept
    undone = mem._vault.store.dreams.undo(mem.reader, report.pass_id)

    assert undone.counts["left"] == 0
    assert rows(mem._vault.store) == kept
    assert mem._vault.store.dreams.select(mem.reader, limit=1)[0].ending is PassStatus.UNDONE
    with pytest.raises(Conflict):
        mem._vault.store.dreams.undo(mem.reader, report.pass_id)


def test_an_undo_restores_a_row_that_a_pass_changed_twice(mem: Engram) -> None:
    memory = mem.remember("Lemon trees need plenty of sunlight", importance=0.5)

    def heavier(more: float) -> Job:
        return Job(
            f"by {more}", "Weigh.", lambda context, cursor: context.touched(cursor).page([Reweigh(memory.id, importance=more)])
        )

    report = run(context_of(mem), [heavier(0.6), heavier(0.7)], None, verb="dream")
    assert mem.get(memory.id).importance == 0.7
    assert mem.undo_dream(report.pass_id).counts["left"] == 0
    assert mem.get(memory.id).importance == 0.5


def test_an_undone_merge_is_not_repeated(mem: Engram) -> None:
    remember_pair(mem)
    report = run(context_of(mem), [MERGE], None, verb="dream")
    mem._vault.store.dreams.undo(mem.reader, report.pass_id)
    for memory in mem.list():
        mem.update(memory.id, importance=0.9)

    assert not run(context_of(mem), [MERGE], None, verb="dream").ids


def test_a_reader_that_may_not_write_is_refused(mem: Engram) -> None:
    remember_pair(mem)
    guest = Reader(mem.reader.scope, role=Role.GUEST)
    with pytest.raises(AccessDenied):
        run(context_of(mem, guest), [MERGE], None, verb="dream")
    with pytest.raises(AccessDenied):
        preview(context_of(mem, guest), [MERGE], verb="dream")


def test_a_reader_lists_and_undoes_only_its_own_passes(mem: Engram) -> None:
    remember_pair(mem)
    done = run(context_of(mem), [MERGE], None, verb="dream")
    ada = mem.as_reader(Reader(Scope(agent="ada")))
    assert not ada.dreams()
    with pytest.raises(NotFound):
        ada.undo_dream(done.pass_id)
    assert [one.id for one in mem.as_reader(OWNER).dreams()] == [done.pass_id]


def test_only_one_pass_runs_at_a_time(mem: Engram) -> None:
    remember_pair(mem)

    def meanwhile() -> bool:
        with pytest.raises(Conflict):
            run(context_of(mem), [MERGE], None, verb="dream")
        return False

    def page(context: JobContext, cursor: Cursor) -> JobPage:
        meanwhile()
        return MERGE.page(context, cursor)

    assert run(context_of(mem), [replace(MERGE, page=page)], None, verb="dream").ids


def test_a_failed_pass_is_released_and_resumed(mem: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    remember_pair(mem)

    def page(context: JobContext, cursor: Cursor) -> JobPage:
        raise InvalidQuery("a defect")

    with pytest.raises(InvalidQuery):
        run(context_of(mem), [replace(MERGE, page=page)], None, verb="dream")
    left = mem.dreams()[0]
    begin = Dreams.begin
    with cancellable() as until, monkeypatch.context() as patched:
        patched.setattr(
            Dreams, "begin", lambda *given: (begin(*given), until.cancel())[0]
        )  # cancelled right after the pass began
        with pytest.raises(SearchTimeout):
            run(context_of(mem), [MERGE], None, verb="dream")
    done = run(context_of(mem), [MERGE], None, verb="dream")
    assert (left.ending, done.pass_id) == (PassStatus.RUNNING, left.id)
    assert done.ids


def test_a_users_words_are_not_merged_into_less_trusted_ones_and_flagged_memories_are_left_out() -> None:
    said = Memory(text=PAIR[0], source=Source.USER)
    heard, marked = replace(said, source=Source.ASSISTANT), replace(said, flagged=True)
    assert may_merge(heard, said)
    assert not may_merge(said, heard)
    assert not may_merge(marked, said)
    assert not may_merge(said, marked)


def proposing(*revisions: Proposal) -> Job:
    return Job(
        "propose", "Propose.", lambda context, cursor: context.touched(cursor).page(revisions if cursor.change < 0 else [])
    )


def test_a_sensitive_memory_is_not_merged_into_a_less_sensitive_one(mem: Engram) -> None:
    closer, other = (
        mem.remember("The safe is behind the clock", tier="sensitive"),
        mem.remember("Green tea grows in warm weather"),
    )
    assert not run(context_of(mem), [proposing(Merge(closer.id, other.id))], None, verb="dream").ids


def test_nothing_is_inferred_from_another_scope_or_from_conclusions(mem: Engram) -> None:
    one = mem.learn("The parser", "is part of", "the compiler")
    derived = Derive(
        Memory(text="The lexer is part of the compiler"), (one.id,), facts=(Fact("lexer", "is part of", "compiler"),)
    )
    assert run(context_of(mem), [proposing(derived)], None, verb="dream").ids
    store, ada = mem._vault.store, Reader(Scope(agent="ada"))
    found = store.facts.of(mem.reader, ["compiler"], backwards=True, most=9)
    assert [fact.memory for fact in found] == [one.id]
    assert store.facts.of(ada, ["compiler"], backwards=True, most=9) == []
    assert store.facts.by(ada, [one.key]) == []


SETTINGS = {
    "agent": "rex",
    "model": "none",
    "backup_hours": 0,
    "harden_process": False,
    "close_on_sigterm": False,
    "dream": False,
}
_PROGRAM = """
import os, signal, sys
from engram.dream.runner import Progress
sys.path.insert(0, sys.argv[2])
from dream.test_runner import opened
def tell(progress: Progress) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
with opened(sys.argv[1]) as mem:
    mem.consolidate(jobs=["merge"], progress=tell)
"""


def opened(path: Path | str) -> Engram:
    return Engram.open(path, key=KEY, settings=SETTINGS, tuning=[StoreLimits(dream_lease_s=1.0), DreamLimits(dream_probes=10)])


def test_a_pass_whose_process_is_killed_resumes_where_it_was(tmp_path: Path) -> None:
    with opened(tmp_path / "vault") as mem:
        keep(mem, *(f"Shelf {number}{also} holds jars of plum jam" for number in range(70) for also in ("", " also")))
    for _ in range(2):
        killed = subprocess.run(
            [sys.executable, "-c", _PROGRAM, str(tmp_path / "vault"), str(Path(__file__).parents[1])],
            check=False,
            capture_output=True,
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
        time.sleep(1.1)  # until its lease has expired

    with opened(tmp_path / "vault") as mem:
        [left] = mem.dreams()
        done = mem.consolidate(jobs=["merge"])
        assert (left.ending, done.pass_id) == (PassStatus.RUNNING, left.id)
        assert 0 < len(done.ids) < 70
        assert mem.dreams()[0].counts == {"merge.merged": 70}
        assert sum(one.status is Status.MERGED for one in mem.list(limit=500, status=None)) == 70
        kept = rows(mem._vault.store)
        assert not mem.consolidate(jobs=["merge"]).ids
        assert rows(mem._vault.store) == kept
