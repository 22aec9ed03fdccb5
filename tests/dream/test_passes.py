"""A whole pass: the rows it visits, what it must not restore, and its undo if recall gets worse (K17)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from dream.vaults import context_of, keep, rows
from hand_clock import HandClock
from recall.vaults import FACTS, OWNER

from engram.deadline import cancellable
from engram.dream.duplicates import MERGE
from engram.dream.job import Job, JobContext, JobPage
from engram.dream.runner import run
from engram.engine import Engram
from engram.errors import SearchTimeout
from engram.types import Edge, Memory, Reader, Scope, Sensitivity, Source, Status
from engram.values.dreams import AddLink, Archive, Cursor, Derive, PassStatus

PAIR = ("The API runs on Fly in Frankfurt", "The API also runs on Fly in Frankfurt")


def archive_all(context: JobContext, cursor: Cursor) -> JobPage:
    """A job that makes recall worse."""
    touched = context.touched(cursor)
    return touched.page([Archive(memory.id, "for no reason") for memory in touched.memories])


def test_a_pass_that_makes_recall_worse_is_undone(mem: Engram) -> None:
    for fact in FACTS:
        mem.remember(fact)
    kept = rows(mem._vault.store)

    report = run(context_of(mem), [Job("harm", "Harm.", archive_all)], mem._vault.searcher, verb="dream")

    assert report.ending is PassStatus.UNDONE
    assert (report.before, report.after) == (1.0, 0.0)
    assert "undone" in report.notes[0]
    assert rows(mem._vault.store) == kept
    assert mem.dreams()[0].ending is PassStatus.UNDONE
    assert not run(context_of(mem), [Job("harm", "Harm.", archive_all)], mem._vault.searcher, verb="dream").ids


def test_a_pass_visits_changed_memories_only(mem: Engram) -> None:
    keep(mem, *(f"Shelf {number} holds jars of plum jam" for number in range(300)))
    first = mem.dream()
    mem.dream()  # visits what the first dream changed
    keep(mem, *(f"Drawer {number} holds screws of steel" for number in range(10)))
    second = mem.dream()
    assert first.counts["merge.visited"] >= 300
    assert second.counts["merge.visited"] <= 40
    assert mem.dream().counts.get("merge.visited", 0) <= 40


def test_a_truncated_change_log_makes_a_pass_visit_everything(mem: Engram) -> None:
    mem.dream()
    for text in PAIR:
        mem.remember(text)
    store = mem._vault.store
    sql = "DELETE FROM changes WHERE seq < (SELECT max(seq) FROM changes)"
    store.gate.writer.run(lambda connection: connection.execute(sql).get, "a test")
    assert mem.consolidate().ids


def test_an_undo_does_not_restore_a_corrected_memory(mem: Engram) -> None:
    for text in PAIR:
        mem.remember(text)
    report = mem.consolidate()
    [survivor] = mem.list()
    mem.feedback(survivor.id, False, correction="The API runs on Hetzner in Nuremberg")

    undone = mem.undo_dream(report.pass_id)

    assert undone.counts["left"]
    assert [one.text for one in mem.list()] == ["The API runs on Hetzner in Nuremberg"]


def test_an_undo_keeps_changes_made_since_the_pass(mem: Engram) -> None:
    for text in PAIR:
        mem.remember(text)
    report = mem.consolidate()
    [survivor] = mem.list()
    mem.feedback(survivor.id, True)
    mem.undo_dream(report.pass_id)
    assert len(mem.list()) == 2
    assert mem.get(survivor.id).helpful == 1


def test_a_stopped_pass_is_resumed(mem: Engram) -> None:
    keep(mem, *(f"Shelf {number} holds jars of plum jam" for number in range(200)), *PAIR)

    stopped = run(context_of(mem), [MERGE], mem._vault.searcher, verb="dream", should_stop=lambda: True)
    assert stopped.ending is PassStatus.RUNNING
    done = run(context_of(mem), [MERGE], mem._vault.searcher, verb="dream")

    assert done.pass_id == stopped.pass_id
    assert done.ids
    assert stopped.counts["merge.visited"] + done.counts["merge.visited"] < 2 * 202


def test_a_guess_is_archived_after_a_month_and_a_minor_event_after_three(mem: Engram, clock: HandClock) -> None:
    guess = mem.get(keep(mem, "The courier may come by boat", confidence=0.2)[0])
    event = mem.remember("It rained a little at noon", category="moment", importance=0.1)
    used = mem.remember("The cat sat on the mat at noon", category="moment", importance=0.1)
    wish = mem.remember("Never phone before nine", category="preference", importance=0.1)
    fact = mem.remember("The harbour has four cranes", importance=0.1)
    assert not mem.consolidate().ids

    clock.advance(31 * 86_400)
    assert mem.consolidate().ids == (guess.id,)
    mem.recall("where did the cat sit?", limit=1)
    for _ in range(70):
        clock.advance(2 * 86_400)
        mem.consolidate()
    assert mem.get(event.id).status is Status.ARCHIVED
    assert {mem.get(one.id).status for one in (wish, fact)} == {Status.ACTIVE}
    assert mem.restore(event.id).status is Status.ACTIVE
    assert used


def test_a_retired_memory_is_not_due_any_more(mem: Engram, clock: HandClock) -> None:
    event = mem.remember("It rained a little at noon", category="moment", importance=0.1)
    mem.consolidate()
    mem.forget(event.id)
    mem.consolidate()
    with mem._vault.store.gate.readers.use("a test") as connection:
        assert connection.execute("SELECT count(*) FROM dues").get == 0
    mem.restore(event.id)
    mem.consolidate()
    clock.advance(200 * 86_400)
    assert mem._vault.store.dreams.due(mem.reader, "promote", clock.now(), 9) == [mem.get(event.id)]


def test_a_contradiction_is_decided_once_evidence_is_better(mem: Engram, clock: HandClock) -> None:
    old = mem.get(keep(mem, "Ann lives in Porto", confidence=0.9)[0])
    clock.advance(86_400)
    new = mem.get(keep(mem, "Ann lives in Lisbon", confidence=0.3)[0])
    assert {edge.kind for edge in mem.edges(new.id)} == {"contradicts"}
    assert not mem.consolidate().ids

    mem._vault.store.memories.update(mem.reader, new.id, {"confidence": 0.95})
    report = mem.consolidate()

    assert report.changes["settle.settled"] == (new.id,)
    assert mem.get(old.id).status is Status.SUPERSEDED
    mem.undo_dream(report.pass_id)
    assert mem.get(old.id).status is Status.ACTIVE


def test_a_restored_memory_is_not_merged_again(mem: Engram) -> None:
    keep(mem, *PAIR)
    [gone] = mem.consolidate().ids
    mem.restore(gone)
    assert not mem.consolidate().ids
    assert len(mem.list()) == 2


def test_a_merged_memory_has_the_sensitivity_of_its_successor(mem: Engram) -> None:
    keep(mem, *PAIR)
    [gone] = mem.consolidate().ids
    [heir] = mem.list()
    mem.update(heir.id, tier="confidential")
    assert mem.get(gone).tier is Sensitivity.CONFIDENTIAL


def deriving(text: str, *sources: str) -> Job:
    def page(context: JobContext, cursor: Cursor) -> JobPage:
        return context.touched(cursor).page([Derive(Memory(text=text), sources)])

    return Job("derive", "Derive.", page)


def test_a_derived_memory_is_inferred_inherits_sensitivity_and_has_one_scope(mem: Engram) -> None:
    one = mem.remember("The safe is behind the clock", tier="sensitive")
    two = mem.remember("The clock stands in the hall")
    hers = mem.as_reader(Reader(Scope(agent="ada"))).remember("The hall is locked at night")
    owner = context_of(mem, OWNER)
    [made] = run(owner, [deriving("The safe is in the hall", one.id, two.id)], None, verb="dream").ids
    found = mem.get(made)
    assert (found.source, found.tier, found.scope) == (Source.INFERRED, Sensitivity.SENSITIVE, one.scope)
    assert {edge.target for edge in mem.edges(made) if edge.kind == "derived_from"} == {one.id, two.id}
    assert not run(owner, [deriving("Two agents know the hall", two.id, hers.id)], None, verb="dream").ids
    mem.forget(one.id, erase=True)
    assert not mem._vault.store.memories.get(OWNER, [made]), "what has the words of what is erased goes with it"


def test_a_corrected_statement_is_not_derived_again(mem: Engram) -> None:
    wrong = mem.remember("The hall is painted green")
    mem.feedback(wrong.id, False, correction="The hall is painted white")
    two = mem.remember("The clock stands in the hall")
    assert not run(context_of(mem), [deriving("The hall is painted green", two.id)], None, verb="dream").ids


def test_an_edge_is_added_once_and_not_across_scopes(mem: Engram) -> None:
    one, two = keep(mem, "The clock stands in the hall", "The hall is painted white")
    hers = mem.as_reader(Reader(Scope(agent="ada"))).remember("The hall is locked at night").id

    def page(context: JobContext, cursor: Cursor) -> JobPage:
        return context.touched(cursor).page([AddLink(Edge(one, two, "related_to")), AddLink(Edge(one, hers, "related_to"))])

    job = Job("links", "Link.", page)
    assert run(context_of(mem, OWNER), [job], None, verb="dream").counts["links.linked"] == 1
    kept = rows(mem._vault.store)
    assert not run(context_of(mem, OWNER), [job], None, verb="dream").ids
    assert rows(mem._vault.store) == kept


def test_a_commitment_is_archived_three_months_after_its_end_and_kept_while_open(mem: Engram, clock: HandClock) -> None:
    over = clock.now() + timedelta(days=10)
    [kept] = keep(mem, "Ben will bring the ladder back", category="commitment", valid_until=over)
    [still] = keep(mem, "Ann will paint the fence", category="commitment")
    mem.consolidate()
    clock.advance(95 * 86_400)
    assert not mem.consolidate().ids
    clock.advance(10 * 86_400)
    assert kept in mem.consolidate().ids
    assert mem.get(still).status is Status.ACTIVE


def test_a_pass_dated_years_ahead_does_not_delay_the_next(mem: Engram, clock: HandClock) -> None:
    keep(mem, *(f"Shelf {number} holds jars of plum jam" for number in range(200)), *PAIR)
    clock.advance(3 * 365 * 86_400)
    store = mem._vault.store
    left = store.dreams.begin(mem.reader, "dream")
    assert left is not None
    store.gate.held_passes.clear()  # as if its process had died
    assert store.dreams.begin(mem.reader, "dream") is None

    clock.set(clock.now() - timedelta(days=3 * 365))

    assert mem.consolidate().pass_id == left.id


def test_a_deadline_during_a_pass_keeps_its_changes(mem: Engram) -> None:
    keep(mem, *(f"Shelf {number}{also} holds jars of plum jam" for number in range(70) for also in ("", " also")))
    with cancellable() as until, pytest.raises(SearchTimeout, match="are kept"):
        mem.consolidate(jobs=["merge"], progress=lambda progress: until.cancel())
    [left] = mem.dreams()
    assert left.ending is PassStatus.RUNNING
    assert left.changed
    assert mem.consolidate(jobs=["merge"]).pass_id == left.id
