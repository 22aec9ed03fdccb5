"""The vault as a hook has it: it sees what its reader may see, notes what it read, and leaves nothing else behind."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
from store.vaults import CREDENTIALS, KEY, OWNER, connect

from engram.env import Env
from engram.errors import AccessDenied, VaultBusy
from engram.settings import LiveSettings
from engram.store.folder import VaultFolder
from engram.store.sqlite.glimpse import Glimpse, glimpse
from engram.store.sqlite.store import SqliteStore
from engram.types import Memory, Policy, Reader, Role, Scope, Sensitivity, Status
from engram.values.frozen import replace
from engram.values.working import HANDOFF

REX, ADA = Reader(Scope(agent="rex")), Reader(Scope(agent="ada"))
NEUTRAL = 86_400 * 10**9
OpenStore = Callable[..., SqliteStore]


@contextmanager
def glimpsed(path: Path, **settings: object) -> Iterator[Glimpse]:
    env = Env()
    store = glimpse(path, LiveSettings(settings, monotonic=env.monotonic), env, CREDENTIALS)
    try:
        yield store
    finally:
        store.close()


@pytest.fixture
def kept(open_store: OpenStore) -> None:
    store = open_store()
    store.memories.add(REX, [Memory(text="the ferry to Bergen leaves at nine", scope=REX.scope, session="s1", pinned=True)])
    gone = store.memories.add(REX, [Memory(text="the ferry to Oslo was given up", scope=REX.scope)])
    store.memories.set_status(REX, gone[0].id, Status.ARCHIVED, "")
    store.memories.add(ADA, [Memory(text="the ferry that ada knows", scope=ADA.scope)])
    store.working.save(REX, HANDOFF, b"{}", "s1")
    store.close()


@pytest.mark.usefixtures("kept")
def test_it_shows_what_is_active_and_its_readers_to_see(folder: VaultFolder) -> None:
    with glimpsed(folder.path) as store:
        assert store.frequencies(REX, ["ferry", "heron"], most=2) == [2, 0]
        found = store.search(REX, ["ferry", "bergen"], limit=9)
        assert [(one.text, one.session, one.pinned) for one in found] == [("the ferry to Bergen leaves at nine", "s1", True)]
        assert store.newest(REX, limit=9) == found
        assert [one.text for one in store.newest(ADA, limit=9)] == ["the ferry that ada knows"]
        assert [one.text for one in store.newest(OWNER, limit=1)] == ["the ferry that ada knows"]
        assert store.search(ADA, ["bergen"], limit=9) == []
        found_here, found_there = store.put_away_last(REX, HANDOFF), store.put_away_last(ADA, HANDOFF)
    assert found_here is not None
    assert (found_here[1], found_there) == (b"{}", None)


def test_it_shows_every_reader_what_the_whole_store_shows(folder: VaultFolder, open_store: OpenStore) -> None:
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
    for one in dice.sample(store.memories.add(OWNER, drafts), 50):
        store.memories.set_status(OWNER, one.id, dice.choice(list(Status)), "")
    readers = [Reader(scope(), dice.choice(list(Policy)), dice.choice(list(Role))) for _ in range(60)]
    for one in readers:
        with suppress(AccessDenied):
            store.working.save(one, HANDOFF, repr(one).encode(), "s1", tier=dice.choice(list(Sensitivity)))
    asked = [dice.sample(words, 2) for _ in readers]

    def whole(reader: Reader, terms: list[str]) -> list[object]:
        hits = answer(lambda: [one.key for one in store.text.search(reader, terms, limit=40)])
        listed = answer(lambda: [(one.key, one.text, one.flagged) for one in store.memories.page(reader, limit=200)])
        return [hits, listed, store.working.load(reader, HANDOFF)]

    known = [whole(reader, terms) for reader, terms in zip(readers, asked, strict=True)]
    store.close()
    with glimpsed(folder.path) as brief:
        for reader, terms, expected in zip(readers, asked, known, strict=True):
            hits = answer(partial(lambda who, what: [one.key for one in brief.search(who, what, limit=40)], reader, terms))
            newest = answer(
                partial(lambda who: [(one.key, one.text, one.flagged) for one in brief.newest(who, limit=200)], reader)
            )
            assert [hits, newest, brief.put_away_last(reader, HANDOFF)] == expected
    assert ["refused" in row for row in known].count(True) not in (0, len(known))


@pytest.mark.usefixtures("kept")
def test_each_read_is_in_the_audit_trail_and_the_vault_is_left_as_it_was(folder: VaultFolder, open_store: OpenStore) -> None:
    size = folder.database.stat().st_size
    with glimpsed(folder.path) as store:
        store.search(REX, ["ferry"], limit=9)
        store.newest(ADA, limit=9)
        store.put_away_last(REX, HANDOFF)
    assert not folder.wal.exists()
    assert folder.database.stat().st_size == size
    times = {path.name: path.stat().st_mtime_ns for path in (folder.database, folder.lock, folder.path)}
    assert set(times.values()) == {NEUTRAL}
    store = open_store()
    assert not store.health(OWNER).crashed_before
    told = [(entry.operation, entry.scope, entry.count, bool(entry.digest)) for entry in store.audit(OWNER, limit=3)]
    assert told == [("resume", REX.scope, 1, False), ("list", ADA.scope, 1, False), ("search", REX.scope, 1, True)]


@pytest.mark.usefixtures("kept")
def test_who_may_not_see_so_much_is_refused_and_that_is_noted(folder: VaultFolder, open_store: OpenStore) -> None:
    with glimpsed(folder.path) as store:
        for ask in (partial(store.search, terms=["ferry"]), store.newest):
            with pytest.raises(AccessDenied):
                ask(replace(REX, policy=Policy.ALL), limit=9)
    told = [(entry.operation, entry.ok) for entry in open_store().audit.select(OWNER, limit=2)]
    assert told == [("list", False), ("search", False)]


@pytest.mark.usefixtures("kept")
def test_beside_a_store_that_is_open_it_leaves_the_log_as_long_as_it_was(folder: VaultFolder, open_store: OpenStore) -> None:
    store = open_store()
    store.memories.add(REX, [Memory(text="said meanwhile", scope=REX.scope)])
    length = folder.wal.stat().st_size
    for _ in range(3):
        with glimpsed(folder.path) as brief:
            assert brief.newest(REX, limit=1)[0].text == "said meanwhile"
    assert folder.wal.stat().st_size == length
    assert [entry.operation for entry in store.audit.select(REX, limit=4)] == ["list", "list", "list", "add"]


@pytest.mark.usefixtures("kept")
def test_while_another_writes_it_answers_and_says_that_it_noted_nothing(folder: VaultFolder) -> None:
    env, other = Env(), connect(folder.database)
    store = glimpse(folder.path, LiveSettings({"write_patience_s": 0.1}, monotonic=env.monotonic), env, CREDENTIALS)
    other.execute("BEGIN IMMEDIATE")
    assert store.newest(REX, limit=9)
    with pytest.raises(VaultBusy):
        store.close()
    other.close()
    with glimpsed(folder.path) as store:
        assert store.newest(REX, limit=9)


DYING = """
import os, sys
from pathlib import Path
from engram.env import Env
from engram.crypto.keys import MasterKey
from engram.settings import LiveSettings
from engram.store.sqlite.glimpse import glimpse
from engram.store.sqlite.vault import Credentials
from engram.types import Reader, Scope
def dice(number):
    if number == 8:  # the free room is drawn when the lines are in the transaction and the log has its length
        os._exit(9)
    return os.urandom(number)
env = Env(random=dice)
key = Credentials(lambda: MasterKey(bytearray.fromhex(sys.argv[2])))
store = glimpse(Path(sys.argv[1]), LiveSettings({}, monotonic=env.monotonic), env, key)
print(len(store.newest(Reader(Scope(agent="rex")), limit=9)), flush=True)
store.close()
"""


@pytest.mark.usefixtures("kept")
def test_one_that_is_killed_while_it_writes_takes_nothing_along(folder: VaultFolder, open_store: OpenStore) -> None:
    done = subprocess.run([sys.executable, "-c", DYING, str(folder.path), KEY.hex()], capture_output=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (9, b"1"), done.stderr
    assert folder.wal.stat().st_size == 16 * 4096
    assert len(set(folder.wal.read_bytes())) == 256, "what fills the log is chance"
    store = open_store()
    assert store.health.report(OWNER).crashed_before
    assert store.memories.counts(OWNER).memories == 3
    assert "list" not in {entry.operation for entry in store.audit.select(OWNER, limit=99)}


@pytest.mark.usefixtures("kept")
def test_a_crash_that_it_comes_upon_is_told(folder: VaultFolder, caplog: pytest.LogCaptureFixture) -> None:
    subprocess.run([sys.executable, "-c", DYING, str(folder.path), KEY.hex()], capture_output=True, timeout=120)
    os.utime(folder.header)  # whoever was cut short may have touched more than is read here
    with glimpsed(folder.path) as store:
        assert len(store.newest(REX, limit=9)) == 1
    assert "not closed in order" in caplog.text
    assert not folder.wal.exists()
    assert folder.header.stat().st_mtime_ns == NEUTRAL
