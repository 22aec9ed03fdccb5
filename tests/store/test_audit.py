"""The audit trail: the ring in memory and the table, neither of which holds words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, replace
from datetime import timedelta

import pytest
from hand_clock import HandClock
from store.vaults import OWNER, connect

from engram.env import Env
from engram.errors import AccessDenied, EngramError, InvalidQuery, NotFound
from engram.store.folder import VaultFolder
from engram.store.limits import StoreLimits
from engram.store.sqlite import audit as table
from engram.store.sqlite.audit import Audit
from engram.store.sqlite.store import SqliteStore
from engram.types import Memory, Policy, Reader, Role, Scope, Status

ME = Reader(Scope(agent="rex"))
OpenStore = Callable[..., SqliteStore]


def ulid(number: int) -> str:
    return f"{number:026d}"


@pytest.fixture
def audit(env: Env) -> Audit:
    return Audit(env, bytearray(b"k" * 32), 2000)


def test_the_audit_ring_keeps_the_last_2000_entries_newest_first(audit: Audit, clock: HandClock) -> None:
    for n in range(2500):
        clock.advance(1)
        audit.note(audit.entry(ME, "get", subject=ulid(n)))
    recent = audit.recent()
    assert [entry.subject for entry in recent] == [ulid(n) for n in range(2499, 499, -1)]
    assert recent[0].at - recent[1].at == timedelta(seconds=1)


def test_pending_audit_entries_are_taken_once_and_can_be_put_back_in_order(audit: Audit) -> None:
    for n in range(3):
        assert audit.note(audit.entry(ME, "get", subject=ulid(n))) == n + 1
    taken = audit.take_waiting()
    assert audit.take_waiting() == []
    audit.note(audit.entry(ME, "get", subject=ulid(3)))
    audit.put_back(taken)
    assert [entry.subject for entry in audit.take_waiting()] == [ulid(n) for n in range(4)]


def test_a_full_buffer_of_audit_entries_drops_the_oldest(audit: Audit) -> None:
    for n in range(2100):
        audit.note(audit.entry(ME, "get", subject=ulid(n)))
    taken = audit.take_waiting()
    audit.note(audit.entry(ME, "get", subject=ulid(9999)))
    audit.put_back(taken)
    waiting = [entry.subject for entry in audit.take_waiting()]
    assert len(waiting) == 2000
    assert waiting[-1] == ulid(9999)


def test_an_audit_digest_is_keyed_and_reveals_nothing(env: Env, audit: Audit) -> None:
    other = Audit(env, bytearray(b"l" * 32), 10)
    assert audit.digest("dark mode") == audit.digest("dark mode") != audit.digest("Dark mode")
    assert audit.digest("dark mode") != other.digest("dark mode")
    assert len(audit.digest("x" * 10_000)) == 16
    assert audit.digest("half a character \ud800")


def test_equal_words_have_equal_audit_digests_in_one_vault(open_store: OpenStore) -> None:
    store = open_store()
    first, second = store.memories.add(ME, [Memory(text="same", scope=ME.scope), Memory(text="same", scope=ME.scope)])
    store.memories.add(ME, [Memory(text="other", scope=ME.scope)])
    digests = {entry.subject: entry.digest for entry in store.audit.select(ME, limit=9)}
    assert digests[first.id] == digests[second.id]
    assert len(set(digests.values())) == 2


def test_the_audit_table_drops_the_oldest_entries_beyond_its_limit(
    open_store: OpenStore, folder: VaultFolder, audit: Audit
) -> None:
    open_store().memories.add(ME, [Memory(text="a", scope=ME.scope)])
    connection = connect(folder.database)
    for start in range(0, 50, 10):
        table.write(connection, [audit.entry(ME, "get", subject=ulid(n)) for n in range(start, start + 10)], keep=25)
    assert [entry.subject for entry in table.read_audit(connection, None, 100)] == [ulid(n) for n in range(49, 24, -1)]
    assert [entry.subject for entry in table.read_audit(connection, None, 3)] == [ulid(49), ulid(48), ulid(47)]
    connection.close()


def test_the_limit_of_the_audit_table_is_a_setting(open_store: OpenStore) -> None:
    store = open_store(audit_rows=1000, tuning=[StoreLimits(audit_batch=1)], size_bucket_kib=0)
    for _ in range(3):
        store.memories.add(ME, [Memory(text=f"number {n}", scope=ME.scope) for n in range(400)])
    assert len(store.audit.select(OWNER, limit=1000)) == 1000
    with pytest.raises(InvalidQuery):
        store.audit.select(OWNER, limit=10**9)


def test_an_audit_entry_reads_back_as_it_was_written(open_store: OpenStore, folder: VaultFolder, audit: Audit) -> None:
    open_store().memories.add(ME, [Memory(text="a", scope=ME.scope)])
    places = Scope("p'", 's"', "a\0b", "日本", "%")
    entry = replace(audit.entry(Reader(places), "search", subject="", count=7, digest="abc"), ok=False)
    connection = connect(folder.database)
    table.write(connection, [entry], keep=100)
    assert table.read_audit(connection, places, 1) == table.read_audit(connection, None, 1) == [entry]
    assert table.read_audit(connection, replace(places, user=""), 9) == []
    connection.close()


@pytest.mark.parametrize(
    ("operation", "call"),
    [
        ("add", lambda store, memory_id: store.memories.add(ME, [Memory(text="b", scope=Scope(agent="zoe"))])),
        ("add", lambda store, memory_id: store.memories.add(replace(ME, may_write=False), [Memory(text="b", scope=ME.scope)])),
        ("add", lambda store, memory_id: store.memories.add(ME, [Memory(text="", scope=ME.scope)])),
        ("update", lambda store, memory_id: store.memories.update(ME, memory_id, {"text": "b"})),
        ("update", lambda store, memory_id: store.memories.update(ME, memory_id, {"key": 5})),
        ("status", lambda store, memory_id: store.memories.set_status(ME, memory_id, Status.ARCHIVED, "")),
        ("erase", lambda store, memory_id: store.erasure.erase(ME, [memory_id])),
        ("versions", lambda store, memory_id: store.memories.versions(ME, memory_id)),
        ("status_history", lambda store, memory_id: store.memories.status_history(ME, memory_id)),
        ("list", lambda store, memory_id: store.memories.page(replace(ME, policy=Policy.ALL), limit=5)),
        ("search", lambda store, memory_id: store.text.search(replace(ME, policy=Policy.PROJECT), ["a"], limit=5)),
        ("vectors", lambda store, memory_id: list(store.vectors.visible(replace(ME, policy=Policy.ALL), "s"))),
        ("counts", lambda store, memory_id: store.memories.counts(replace(ME, policy=Policy.ALL))),
        ("changes", lambda store, memory_id: store.changes.since(ME, after=0, limit=5)),
        ("backup", lambda store, memory_id: store.health.backup(ME)),
        ("check", lambda store, memory_id: store.health.check(ME)),
    ],
)
def test_a_refused_attempt_is_recorded_in_the_audit_trail(
    open_store: OpenStore, operation: str, call: Callable[[SqliteStore, str], object]
) -> None:
    store = open_store()
    hidden = store.memories.add(OWNER, [Memory(text="a", scope=Scope(agent="zoe"))])[0]
    with pytest.raises((AccessDenied, NotFound, InvalidQuery, EngramError)):
        call(store, hidden.id)
    refused = [entry for entry in store.audit.select(OWNER, limit=99) if not entry.ok]
    assert [(entry.operation.partition(":")[0], entry.scope) for entry in refused] == [(operation, ME.scope)]


@pytest.mark.parametrize(
    ("operation", "call"),
    [
        ("get", lambda store, memory: store.memories.get(ME, [memory.id])),
        ("fetch", lambda store, memory: store.memories.fetch(ME, [memory.key])),
        ("list", lambda store, memory: store.memories.page(ME, limit=5)),
        ("search", lambda store, memory: store.text.search(ME, ["canary"], limit=5)),
        ("versions", lambda store, memory: store.memories.versions(ME, memory.id)),
        ("status_history", lambda store, memory: store.memories.status_history(ME, memory.id)),
        ("edges", lambda store, memory: store.edges.of(ME, [memory.id])),
        ("vectors", lambda store, memory: list(store.vectors.visible(ME, "s"))),
        ("get", lambda store, memory: store.memories.get(ME, ["an id that is not there"])),
    ],
)
def test_every_read_and_search_leaves_an_audit_entry(
    open_store: OpenStore, operation: str, call: Callable[[SqliteStore, Memory], object]
) -> None:
    """V18: also reads that find nothing, or ids could be probed unseen."""
    store = open_store()
    kept = store.memories.add(ME, [Memory(text="canary", scope=ME.scope)])[0]
    call(store, kept)
    assert [entry.operation for entry in store.audit.select(ME, limit=9) if entry.operation not in ("add", "audit")] == [
        operation
    ]


def test_audit_entries_of_reads_are_written_in_batches_and_on_closing(open_store: OpenStore, folder: VaultFolder) -> None:
    store = open_store(tuning=[StoreLimits(audit_batch=10)])
    kept = store.memories.add(ME, [Memory(text="a", scope=ME.scope)])[0]
    for _ in range(15):
        store.memories.get(ME, [kept.id])
    store.close()
    again = open_store()
    assert sum(entry.operation == "get" for entry in again.audit.select(OWNER, limit=99)) == 15


def test_a_reader_sees_its_own_audit_entries_and_the_owner_sees_all(open_store: OpenStore) -> None:
    store = open_store()
    zoe = Reader(Scope(agent="zoe"))
    store.memories.add(ME, [Memory(text="a", scope=ME.scope)])
    store.memories.add(zoe, [Memory(text="b", scope=zoe.scope)])
    assert {entry.scope for entry in store.audit.select(ME, limit=99)} == {ME.scope}
    assert {entry.scope for entry in store.audit.select(zoe, limit=99)} == {zoe.scope}
    assert {entry.scope for entry in store.audit.select(OWNER, limit=99)} >= {ME.scope, zoe.scope}
    everyones = replace(ME, scope=Scope(), role=Role.ORCHESTRATOR)
    assert ME.scope not in {entry.scope for entry in store.audit.select(everyones, limit=99)}


def test_words_passed_as_an_id_are_not_stored_in_the_audit_trail(open_store: OpenStore) -> None:
    """Callers pass a text as id by mistake; the trail holds ids and hashes, never words."""
    store = open_store()
    for call in (
        lambda: store.memories.update(ME, "the canary sings", {"text": "b"}),
        lambda: store.memories.set_status(ME, "the canary sings", Status.ARCHIVED, ""),
        lambda: store.erasure.erase(ME, ["the canary sings"]),
    ):
        with pytest.raises(NotFound):
            call()
    assert "canary" not in repr([astuple(entry) for entry in store.audit.select(OWNER, limit=99)])
