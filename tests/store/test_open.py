"""A store opened with `brief=True`, as hooks do: it shows each reader what the ordinary store shows, writes its audit entries at
closing, and leaves nothing else behind."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from store.vaults import CREDENTIALS, KEY, OWNER, connect

from engram.env import Env
from engram.errors import AccessDenied, VaultBusy
from engram.rules.store_rules import MemoryRules
from engram.settings import LiveSettings
from engram.store.folder import VaultFolder
from engram.store.open import open_store as open_at
from engram.store.ports import Store
from engram.store.sqlite.store import SqliteStore
from engram.types import Memory, Policy, Reader, Role, Scope, Sensitivity, Status
from engram.values.frozen import replace
from engram.values.working import HANDOFF

REX, ADA = Reader(Scope(agent="rex")), Reader(Scope(agent="ada"))
NEUTRAL = 86_400 * 10**9
OpenStore = Callable[..., SqliteStore]


@contextmanager
def opened_briefly(path: Path, **settings: object) -> Iterator[Store]:
    env = Env()
    live = LiveSettings(settings, monotonic=env.monotonic)
    store, _ = open_at(path, live, env, MemoryRules(live), CREDENTIALS, brief=True)
    try:
        yield store
    finally:
        store.close()


def texts(store: Store, reader: Reader, limit: int = 9) -> list[str]:
    return [memory.text for memory in store.memories.page(reader, limit=limit)]


def found_by(store: Store, reader: Reader, *terms: str) -> list[Memory]:
    return store.memories.fetch(reader, [hit.key for hit in store.text.search(reader, terms, limit=40)])


@pytest.fixture
def kept(open_store: OpenStore) -> None:
    store = open_store()
    store.memories.add(REX, [Memory(text="the ferry to Bergen leaves at nine", scope=REX.scope, session="s1", pinned=True)])
    archived = store.memories.add(REX, [Memory(text="the ferry to Oslo was given up", scope=REX.scope)])
    store.memories.set_status(REX, archived[0].id, Status.ARCHIVED, "")
    store.memories.add(ADA, [Memory(text="the ferry that ada knows", scope=ADA.scope)])
    store.working.save(REX, HANDOFF, b"{}", "s1")
    store.close()


@pytest.mark.usefixtures("kept")
def test_a_brief_store_shows_active_memories_that_its_reader_may_see(folder: VaultFolder) -> None:
    with opened_briefly(folder.path) as store:
        assert store.text.frequencies(REX, ["ferry", "heron"], most=2) == [2, 0]
        found = found_by(store, REX, "ferry", "bergen")
        assert [(memory.text, memory.session, memory.pinned) for memory in found] == [
            ("the ferry to Bergen leaves at nine", "s1", True)
        ]
        assert list(store.memories.page(REX, limit=9)) == found
        assert texts(store, ADA) == ["the ferry that ada knows"]
        assert texts(store, OWNER, limit=1) == ["the ferry that ada knows"]
        assert found_by(store, ADA, "bergen") == []
        of_rex, of_ada = store.working.load(REX, HANDOFF), store.working.load(ADA, HANDOFF)
    assert of_rex is not None
    assert (of_rex[1], of_ada) == (b"{}", None)


def test_a_brief_store_shows_every_reader_what_the_ordinary_store_shows(folder: VaultFolder, open_store: OpenStore) -> None:
    dice = random.Random(5)
    words = ("ferry", "bergen", "oslo", "heron", "tea", "42")

    def scope() -> Scope:
        return Scope(*(dice.choice(("", "a", "b")) for _ in range(5)))

    def answer(ask: Callable[[], object]) -> object:
        try:
            return ask()
        except AccessDenied:
            return "refused"

    store = open_store()
    drafts = [
        Memory(
            text=" ".join(dice.sample(words, 3)), scope=scope(), tier=dice.choice(list(Sensitivity)), flagged=dice.random() < 0.2
        )
        for _ in range(150)
    ]
    for memory in dice.sample(store.memories.add(OWNER, drafts), 50):
        store.memories.set_status(OWNER, memory.id, dice.choice(list(Status)), "")
    readers = [Reader(scope(), dice.choice(list(Policy)), dice.choice(list(Role))) for _ in range(60)]
    for reader in readers:
        with suppress(AccessDenied):
            store.working.save(reader, HANDOFF, repr(reader).encode(), "s1", tier=dice.choice(list(Sensitivity)))
    asked = [dice.sample(words, 2) for _ in readers]

    def answers(of: Store) -> list[list[object]]:
        return [
            [
                answer(lambda reader=reader, terms=terms: found_by(of, reader, *terms)),
                answer(lambda reader=reader: list(of.memories.page(reader, limit=200))),
                of.working.load(reader, HANDOFF),
            ]
            for reader, terms in zip(readers, asked, strict=True)
        ]

    expected = answers(store)
    store.close()
    with opened_briefly(folder.path) as brief:
        assert answers(brief) == expected
    assert ["refused" in row for row in expected].count(True) not in (0, len(expected))


@pytest.mark.usefixtures("kept")
def test_each_read_of_a_brief_store_is_audited_and_the_files_look_untouched(folder: VaultFolder, open_store: OpenStore) -> None:
    size = folder.database.stat().st_size
    with opened_briefly(folder.path) as store:
        found_by(store, REX, "ferry")
        texts(store, ADA)
        store.working.load(REX, HANDOFF)
    assert not folder.wal.exists()
    assert folder.database.stat().st_size == size
    times = {path.name: path.stat().st_mtime_ns for path in (folder.header, folder.database, folder.lock, folder.path)}
    assert set(times.values()) == {NEUTRAL}
    store = open_store()
    assert not store.health.report(OWNER).crashed_before
    entries = [(entry.operation, entry.scope, entry.count, bool(entry.digest)) for entry in store.audit.select(OWNER, limit=4)]
    assert entries == [
        ("resume", REX.scope, 1, False),
        ("list", ADA.scope, 1, False),
        ("fetch", REX.scope, 1, False),
        ("search", REX.scope, 1, True),
    ]


@pytest.mark.usefixtures("kept")
def test_a_brief_store_that_only_reads_starts_no_thread(folder: VaultFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[threading.Thread] = []
    monkeypatch.setattr(threading.Thread, "start", lambda thread: started.append(thread))
    with opened_briefly(folder.path) as store:
        assert texts(store, REX)
    assert started == []


@pytest.mark.usefixtures("kept")
def test_a_write_to_a_brief_store_is_durable_and_audited_like_any_other(folder: VaultFolder, open_store: OpenStore) -> None:
    with opened_briefly(folder.path) as store:
        texts(store, REX)
        store.memories.add(REX, [Memory(text="written in passing", scope=REX.scope)])
        texts(store, REX)
    store = open_store()
    assert texts(store, REX, limit=1) == ["written in passing"]
    assert [entry.operation for entry in store.audit.select(REX, limit=4)] == ["list", "list", "list", "add"]


@pytest.mark.usefixtures("kept")
def test_a_refused_read_of_a_brief_store_is_audited(folder: VaultFolder, open_store: OpenStore) -> None:
    everything = replace(REX, policy=Policy.ALL)
    with opened_briefly(folder.path) as store:
        with pytest.raises(AccessDenied):
            store.text.search(everything, ["ferry"], limit=9)
        with pytest.raises(AccessDenied):
            store.memories.page(everything, limit=9)
    entries = [(entry.operation, entry.ok) for entry in open_store().audit.select(OWNER, limit=2)]
    assert entries == [("list", False), ("search", False)]


@pytest.mark.usefixtures("kept")
def test_a_brief_store_beside_an_open_one_leaves_the_log_as_long_as_it_was(folder: VaultFolder, open_store: OpenStore) -> None:
    store = open_store()
    store.memories.add(REX, [Memory(text="said meanwhile", scope=REX.scope)])
    length = folder.wal.stat().st_size
    for _ in range(3):
        with opened_briefly(folder.path) as brief:
            assert texts(brief, REX, limit=1) == ["said meanwhile"]
    assert folder.wal.stat().st_size == length
    assert [entry.operation for entry in store.audit.select(REX, limit=4)] == ["list", "list", "list", "add"]


@pytest.mark.usefixtures("kept")
def test_while_another_process_writes_a_brief_store_answers_and_raises_at_closing(folder: VaultFolder) -> None:
    env, other = Env(), connect(folder.database)
    live = LiveSettings({"write_patience_s": 0.1}, monotonic=env.monotonic)
    store, _ = open_at(folder.path, live, env, MemoryRules(live), CREDENTIALS, brief=True)
    other.execute("BEGIN IMMEDIATE")
    assert texts(store, REX)
    with pytest.raises(VaultBusy):
        store.close()
    other.close()
    with opened_briefly(folder.path) as store:
        assert texts(store, REX)


DYING = """
import os, sys
from pathlib import Path
from engram.env import Env
from engram.crypto.keys import MasterKey
from engram.rules.store_rules import MemoryRules
from engram.settings import LiveSettings
from engram.store.credentials import Credentials
from engram.store.open import open_store
from engram.types import Reader, Scope
def dice(number):
    if number == 8:  # the free room is drawn when the entries are in the transaction and the log has its length
        os._exit(9)
    return os.urandom(number)
env = Env(random=dice)
key = Credentials(lambda: MasterKey(bytearray.fromhex(sys.argv[2])))
live = LiveSettings({}, monotonic=env.monotonic)
store, _ = open_store(Path(sys.argv[1]), live, env, MemoryRules(live), key, brief=True)
print(len(store.memories.page(Reader(Scope(agent="rex")), limit=9)), flush=True)
store.close()
"""


@pytest.mark.usefixtures("kept")
def test_a_brief_store_killed_while_it_writes_leaves_nothing_half_written(folder: VaultFolder, open_store: OpenStore) -> None:
    done = subprocess.run([sys.executable, "-c", DYING, str(folder.path), KEY.hex()], capture_output=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (9, b"1"), done.stderr
    assert folder.wal.stat().st_size == 16 * 4096
    assert len(set(folder.wal.read_bytes())) == 256, "the log is filled with random bytes"
    store = open_store()
    assert store.health.report(OWNER).crashed_before
    assert store.memories.counts(OWNER).memories == 3
    assert "list" not in {entry.operation for entry in store.audit.select(OWNER, limit=99)}


@pytest.mark.usefixtures("kept")
def test_a_brief_store_reports_a_crash_before_it(folder: VaultFolder, caplog: pytest.LogCaptureFixture) -> None:
    subprocess.run([sys.executable, "-c", DYING, str(folder.path), KEY.hex()], capture_output=True, timeout=120)
    os.utime(folder.header)  # the crashed process may have touched any file
    with opened_briefly(folder.path) as store:
        assert len(texts(store, REX)) == 1
    assert "crash" in caplog.text
    assert not folder.wal.exists()
    assert folder.header.stat().st_mtime_ns == NEUTRAL
