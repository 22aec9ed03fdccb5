"""Writes with an idempotency key (S14) are made once and answered alike, within one scope and until the key expires."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest
from hand_clock import HandClock
from recall.vaults import KEY, hashing_encoder, store_of
from serve.test_operations import arguments_of

from engram.capture.limits import CaptureLimits
from engram.dream.limits import DreamLimits
from engram.engine import Engram
from engram.env import Env
from engram.errors import Conflict, InvalidContent, KeyReused, NotFound
from engram.rules.lifecycle import LAYER, Layer, layer_of
from engram.serve.operations import OPERATIONS, read
from engram.store.receipts import ReceiptRequest
from engram.types import Kind, Policy, Reader, Report, Role, Scope, Status, Turn

ME = Reader(Scope(agent="rex"), Policy.AGENT_GLOBAL, Role.OWNER)
CAT = "I adopted a grey cat named Miso in Oslo."
DOG = "My dog is called Rex."
_NO_UPKEEP = DreamLimits(warm_after_s=3600.0, care_pause_s=3600.0)
"""Upkeep fills boxes a second after opening, which would change the rows that a test counts."""


@pytest.fixture
def mem(tmp_path: Path, env: Env) -> Iterator[Engram]:
    settings = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False}
    with Engram.open(
        tmp_path / "v", reader=ME, key=KEY, env=env, settings=settings, embedder=hashing_encoder(), tuning=[_NO_UPKEEP]
    ) as mem:
        yield mem


def test_a_remember_repeated_with_its_idempotency_key_stores_one_memory(mem: Engram) -> None:
    first = mem.keyed("k1").remember(CAT, attributes={"a": "1"})
    again = mem.keyed("k1").remember(CAT, attributes={"a": "1"})
    assert again == first
    assert (again.corroborations, again.confidence) == (0, first.confidence)
    assert mem.remember(CAT).corroborations == 1  # without a key it is said again
    assert mem.keyed("k2").remember(CAT).corroborations == 2  # with another it is another request
    assert mem.keyed("k2").remember(CAT).corroborations == 2
    assert len(mem.list()) == 1


def test_an_observe_repeated_with_its_key_stores_once_and_returns_the_same_report(mem: Engram) -> None:
    first = mem.keyed("k").observe(user=f"Hi! {CAT}", assistant="Norwegian Forest cats are often grey.")
    again = mem.keyed("k").observe(user=f"Hi! {CAT}", assistant="Norwegian Forest cats are often grey.")
    assert again == first
    assert again.verdicts
    assert {memory.corroborations for memory in mem.list()} == {0}
    assert len(mem.words(first.ids[0])) == 1


def test_an_ingest_repeated_with_its_key_stores_once_and_resumes_after_an_interruption(mem: Engram, clock: HandClock) -> None:
    """Its turns have no refs: without the key they would be stored again."""
    mem.settings.tune(CaptureLimits(ingest_batch=5))
    said = [Turn(f"I bought a boat called Ida {n} in harbour {n * 7}.") for n in range(20)]
    with pytest.raises(Exception, match="after 10"), mem.deadline(5):
        mem.keyed("k").ingest(said, progress=lambda n: clock.advance(3))
    second = mem.keyed("k").ingest(said)
    assert (second.counts["known"], second.counts["turns"]) == (10, 10)
    assert mem.keyed("k").ingest(said) == second
    assert len(mem.list(limit=100)) == 20
    assert {memory.corroborations for memory in mem.list(limit=100)} == {0}
    with pytest.raises(KeyReused):
        mem.keyed("k").ingest(said[:5])


def test_updates_and_forgets_with_a_key_are_made_once(mem: Engram) -> None:
    one, two = mem.remember(CAT), mem.remember(DOG)
    changed = mem.keyed("u").update(one.id, text="I adopted a grey cat named Miso in Bergen.")
    mem.update(one.id, text="I adopted a grey cat named Miso in Rome.")
    assert mem.keyed("u").update(one.id, text="I adopted a grey cat named Miso in Bergen.").text.endswith("Rome.")
    assert mem.keyed("u").update(one.id, text="I adopted a grey cat named Miso in Bergen.").version == changed.version + 1
    gone = mem.keyed("f").forget(two.id)
    mem.restore(two.id)
    assert mem.keyed("f").forget(two.id) == gone
    assert mem.get(two.id).status is Status.ACTIVE  # type: ignore[union-attr]
    judged = [mem.keyed("j").feedback(two.id, True) for _ in range(3)]
    assert [one.helpful for one in judged] == [1, 1, 1]
    erased = mem.keyed("e").forget(two.id, erase=True)
    assert mem.keyed("e").forget(two.id, erase=True).ids == erased.ids == (two.id,)


def test_a_promotion_and_a_learned_fact_with_a_key_are_made_once(mem: Engram) -> None:
    one = mem.remember(CAT, kind=Kind.EPISODE)
    first = layer_of(mem.keyed("p").promote(one.id))
    assert layer_of(mem.keyed("p").promote(one.id)) is first
    assert layer_of(mem.keyed("d").demote(one.id)) is not first
    assert layer_of(mem.keyed("d").demote(one.id)) is layer_of(one)
    with pytest.raises(KeyReused):
        mem.keyed("p").demote(one.id)
    learned = mem.keyed("l").learn("Miso", "lives in", "Oslo")
    assert mem.keyed("l").learn("Miso", "lives in", "Oslo") == learned


def test_a_key_used_for_a_different_write_is_refused(mem: Engram) -> None:
    kept = mem.keyed("k").remember(CAT)
    others: list[Callable[[], object]] = [
        lambda: mem.keyed("k").remember(DOG),
        lambda: mem.keyed("k").remember(CAT, importance=0.9),
        lambda: mem.keyed("k").observe(user=CAT),
        lambda: mem.keyed("k").update(kept.id, importance=0.9),
        lambda: mem.keyed("k").forget(kept.id),
    ]
    for other in others:
        with pytest.raises(KeyReused) as problem:
            other()
        assert problem.value.code == "E1010"
    assert [memory.text for memory in mem.list()] == [CAT]


def test_the_same_key_in_two_scopes_stands_for_two_writes(mem: Engram) -> None:
    ann = mem.as_reader(Reader(Scope(agent="ann"), role=Role.OWNER))
    first = mem.keyed("k").remember(CAT)
    other = ann.keyed("k").remember(DOG)
    assert first.id != other.id
    assert ann.keyed("k").remember(DOG).id == other.id


def test_a_key_expires(mem: Engram, clock: HandClock) -> None:
    mem.keyed("k").remember(CAT)
    clock.advance(23 * 3600)
    assert mem.keyed("k").remember(CAT).corroborations == 0
    clock.advance(2 * 3600)
    assert mem.keyed("k").remember(CAT).corroborations == 1
    mem.settings.set(receipt_hours=1.0)
    clock.advance(3700)
    assert mem.keyed("k").remember(DOG).text == DOG


def test_a_keyed_call_that_wrote_nothing_returns_the_same_answer_again(mem: Engram) -> None:
    old = mem.remember(CAT)
    right = mem.feedback(old.id, correction="I adopted a grey cat named Miso in Rome.")
    assert mem.keyed("k").remember(CAT).id == right.id
    assert mem.keyed("k").remember(CAT).id == right.id
    with pytest.raises(KeyReused):
        mem.keyed("k").remember(DOG)
    nothing = mem.keyed("n").observe()
    assert mem.keyed("n").observe() == nothing == Report(operation="observe", counts=nothing.counts)


def test_a_repeated_call_does_not_return_words_that_were_erased_since(mem: Engram) -> None:
    kept = mem.keyed("k").remember(CAT)
    mem.forget(kept.id, erase=True)
    with pytest.raises(NotFound):
        mem.keyed("k").remember(CAT)
    assert list(mem.list()) == []


@pytest.mark.parametrize("key", ["", "x" * 257, None, 7, b"k"])
def test_a_key_that_is_not_a_short_text_is_refused(mem: Engram, key: object) -> None:
    with pytest.raises(InvalidContent):
        mem.keyed(key)  # type: ignore[arg-type]


def test_episode_events_with_a_key_are_recorded_once(mem: Engram) -> None:
    begun = [mem.keyed("b").episode("deploy the API", participants=["ada"]).id for _ in range(2)]
    assert begun[0] == begun[1]
    tried = [mem.keyed("t").episode(resume=begun[0]).event("tried", "terraform apply", ok=False) for _ in range(2)]
    assert tried[0] == tried[1]
    ended = [mem.keyed("e").episode(resume=begun[0]).outcome("failure", "the region was full") for _ in range(2)]
    assert [one.outcome for one in ended] == ["failure"] * 2
    assert mem.keyed("t").episode(resume=begun[0]).event("tried", "terraform apply", ok=False) == tried[0]  # though it is over
    (told,) = mem.episodes()
    assert [event.text for event in told.events] == ["terraform apply"]
    assert len(mem.warnings()) == 1
    with pytest.raises(KeyReused):
        mem.keyed("t").episode(resume=begun[0]).outcome("success")
    with mem.keyed("w").episode("bake bread") as ep:  # the key was for the beginning
        ep.event("did", "knead")
        ep.event("did", "rest")
    assert len(mem.episodes(ids=[ep.id])[0].events) == 2


def test_a_change_of_working_memory_with_a_key_is_made_once_and_saved_with_its_receipt(mem: Engram) -> None:
    mem.keyed("a").working.attend("ship the release")
    mem.working.clear()
    assert mem.keyed("a").working.attend("ship the release") == ()
    assert mem.working.slots == ()
    noted = mem.keyed("n").working.checkpoint("ship it", decided=["on Thursday"])
    mem.working.checkpoint("drop it")
    assert mem.keyed("n").working.checkpoint("ship it", decided=["on Thursday"]) == noted
    assert mem.resume().goal == "drop it"
    cleared = mem.keyed("c").working.clear()
    mem.working.attend("another thing")
    assert mem.keyed("c").working.clear() == cleared == 2
    assert [slot.text for slot in mem.working.slots] == ["another thing"]


def test_a_text_of_several_statements_is_remembered_once_under_its_key(mem: Engram) -> None:
    text = "My sister Lena is allergic to peanuts. My brother Karl works at the harbour in Oslo."
    first = mem.keyed("k").remember(text)
    assert (first.words, [other.words for other in first.others]) == (
        "My sister Lena is allergic to peanuts.",
        ["My brother Karl works at the harbour in Oslo."],
    )
    rows = state(mem)
    again = mem.keyed("k").remember(text)
    assert (again.id, [other.id for other in again.others]) == (first.id, [other.id for other in first.others])
    assert state(mem) == rows
    with pytest.raises(KeyReused):
        mem.keyed("k").remember(text, whole=True)
    twice = "Karl plays the cello. Karl plays the cello!"
    said = mem.keyed("t").remember(twice)
    assert mem.keyed("t").remember(twice).others == said.others == ()


def test_a_repeat_during_the_first_call_is_refused_and_afterwards_gets_its_answer(mem: Engram) -> None:
    """A client of an HTTP endpoint may retry before the first request has ended."""
    begun, go_on = threading.Event(), threading.Event()

    def slowly(count: int) -> None:
        begun.set()
        go_on.wait(120)

    made: list[Report] = []
    said = [Turn(CAT)]
    first = threading.Thread(target=lambda: made.append(mem.keyed("k").ingest(said, progress=slowly)))
    first.start()
    assert begun.wait(120)
    with pytest.raises(Conflict):
        mem.keyed("k").ingest(said)
    assert mem.keyed("other").remember(DOG).text == DOG
    go_on.set()
    first.join()
    assert [mem.keyed("k").ingest(said)] == made


def test_a_receipt_of_an_older_release_is_refused_and_cleared_by_an_erasure(mem: Engram) -> None:
    kept = mem.keyed("k").remember(CAT)
    store = store_of(mem)
    store.gate.writer.run(lambda connection: connection.execute("UPDATE receipts SET plain = 0, request = x'00'").get, "a test")
    with pytest.raises(KeyReused):
        mem.keyed("k").remember(CAT)
    mem.forget(kept.id, erase=True)
    bodies = store.gate.writer.run(lambda connection: connection.execute("SELECT body FROM receipts").fetchall(), "a test")
    assert bodies == [(None,)]


def test_every_write_operation_with_a_key_is_made_once(mem: Engram) -> None:
    """The repeat gives the same answer and adds no row; other arguments give E1010."""
    asked = {name: {**given, "dry_run": False} if "dry_run" in given else given for name, given in arguments_of(mem).items()}
    writes = [one for one in OPERATIONS.values() if not one.reads]
    for operation in sorted(writes, key=lambda one: one.name != "undo_dream"):  # an idle pass goes with the next one
        given = read(operation, asked[operation.name])
        first = operation.answer(mem, given, timeout=300, key=f"k {operation.name}")
        if isinstance(first, dict) and operation.name == "purge":
            first["notes"] = []  # of what was looked for afterwards: no part of the write
        rows = state(mem)
        again = operation.answer(mem, given, key=f"k {operation.name}")
        if operation.name == "begin_episode":  # what is known of a goal is looked up anew, and the episode is among it
            first, again = ({**one, "warnings": [], "skills": []} for one in (first, again))
        assert (again, state(mem)) == (first, rows), operation.name
        with pytest.raises(KeyReused):
            mem.keyed(f"k {operation.name}").remember(DOG)


def state(mem: Engram) -> dict[str, int]:
    """How many rows each table has, but for the trail of who asked."""

    def counted(connection: apsw.Connection) -> dict[str, int]:
        tables = [str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        kept = [name for name in tables if name not in ("audit", "padding") and not name.startswith(("sqlite_", "lexicon_"))]
        return {name: int(connection.execute(f'SELECT count(*) FROM "{name}"').get) for name in kept}

    return store_of(mem).gate.writer.run(counted, "a test")


def test_two_concurrent_promotions_of_a_memory_both_count(mem: Engram) -> None:
    low = [mem.remember(f"Desk {number} moved", attributes={LAYER: Layer.WORKING}).id for number in range(10)]

    def raised() -> None:
        for one in low:
            at_once.wait()
            mem.promote(one)

    at_once = threading.Barrier(2)
    threads = [threading.Thread(target=raised) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert {layer_of(mem.get(one)) for one in low} == {Layer.SEMANTIC}


def test_the_request_for_a_receipt_shows_neither_key_nor_words_when_printed() -> None:
    shown = repr(ReceiptRequest("the caller's key", "remember: Ada lives in Oslo"))
    assert "caller" not in shown
    assert "Ada" not in shown
