"""Recall beside other threads, processes and readers, and on a vault of an older format."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recall.vaults import OWNER, open_engram, texts

from engram.engine import Engram
from engram.errors import EngramError
from engram.types import Fate, Outcome, Reader, Scope, Turn

OLD = Path(__file__).parent.parent / "promises" / "vaults" / "format-1"
NAMES = ["zebra", "yacht", "violin", "umbrella", "tractor", "saxophone"]


def test_the_next_recall_finds_the_writes_of_another_process_by_both_arms(full: Engram, tmp_path: Path) -> None:
    assert "Miso" not in " ".join(texts(full.recall("cat Miso", limit=3)))
    code = """
        import sys
        from pathlib import Path
        from recall.vaults import open_engram
        with open_engram(Path(sys.argv[1])) as mem:
            mem.observe(user="I adopted a grey cat named Miso.")
    """
    paths = [str(Path(__file__).parent.parent), *sys.path]
    subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}\n" + textwrap.dedent(code), str(tmp_path / "vault")],
        check=True,
        timeout=120,
    )
    hit = full.recall("cat Miso", limit=1)[0]
    assert "Miso" in hit.memory.text
    assert [signal.rank for signal in hit.why.signals] == [1, 1]
    full.forget(hit.memory.id)


def test_the_next_recall_does_not_find_what_another_reader_erased(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault") as one, open_engram(tmp_path / "vault") as other:
        kept = one.remember("Our cat Miso sleeps upstairs")
        assert texts(other.recall("Miso", limit=1)) == [kept.text]
        one.forget(kept.id, erase=True)
        assert texts(other.recall("Miso", limit=1)) == []


def test_threads_recall_while_others_observe(full: Engram) -> None:
    problems: list[BaseException] = []
    done = threading.Event()

    def watch(work: object) -> None:
        try:
            work()  # type: ignore[operator]
        except BaseException as error:
            problems.append(error)

    def observe(name: int) -> None:
        for number in range(15):
            full.observe(Turn(f"I bought item{name}x{number} in town{number}.", session=f"s{name}", ref=f"{name}-{number}"))

    def recall() -> None:
        while not done.is_set():
            found = full.recall("Where does Carla live?", limit=3)
            assert found[0].memory.text == "My sister Carla lives in Lisbon"

    writers = [threading.Thread(target=watch, args=(lambda n=n: observe(n),)) for n in range(3)]
    readers = [threading.Thread(target=watch, args=(recall,)) for _ in range(3)]
    for thread in (*writers, *readers):
        thread.start()
    for thread in writers:
        thread.join(120)
    done.set()
    for thread in readers:
        thread.join(120)
    assert problems == []
    for name in range(3):
        assert f"item{name}x14" in full.recall(f"item{name}x14", limit=1)[0].memory.text


def test_the_same_sentence_from_many_threads_is_one_memory(mem: Engram) -> None:
    """What was looked up before the write may not hold any more when it is written."""
    start = threading.Barrier(8)
    merged: list[int] = []

    def say(number: int) -> None:
        start.wait()
        report = mem.observe(Turn("I adopted a grey cat named Miso.", ref=f"r{number}", session=f"s{number}"))
        merged.append(sum(verdict.fate is Fate.MERGED for verdict in report.verdicts))

    threads = [threading.Thread(target=say, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(merged) == 8
    assert len(mem.list()) == 1
    assert set(mem.list()[0].refs) == {f"r{number}" for number in range(8)}
    assert mem.list()[0].corroborations == 7


def test_closing_while_others_recall_raises_only_our_errors(tmp_path: Path) -> None:
    mem = open_engram(tmp_path / "vault")
    mem.remember("Our cat Miso sleeps upstairs")
    strange: list[BaseException] = []
    begun = threading.Event()

    def recall() -> None:
        try:
            while True:
                mem.recall("Miso", limit=1)
                begun.set()
        except EngramError:
            begun.set()
        except BaseException as error:
            strange.append(error)
            begun.set()

    threads = [threading.Thread(target=recall) for _ in range(3)]
    for thread in threads:
        thread.start()
    begun.wait(120)
    mem.close()
    for thread in threads:
        thread.join(120)
    assert strange == []


WRITES = st.lists(st.tuples(st.sampled_from(["", "a", "b"]), st.sampled_from(NAMES), st.booleans()), min_size=1, max_size=8)


@settings(max_examples=15)
@given(writes=WRITES, asked=st.sampled_from(NAMES))
def test_no_reader_finds_memories_outside_of_its_scope(writes: list[tuple[str, str, bool]], asked: str) -> None:
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as place, open_engram(Path(place) / "vault") as mem:
        for number, (agent, name, archived) in enumerate(writes):
            owner = mem.as_reader(Reader(Scope(agent=agent)))
            report = owner.observe(Turn(f"I bought a {name} number{number} in Lisbon.", session="same"))
            if archived:
                owner.forget(*report.ids)
        for agent in ("a", "b", "c"):
            found = mem.as_reader(Reader(Scope(agent=agent))).recall(f"{asked} Lisbon", limit=50)
            assert {hit.memory.scope.agent for hit in found} <= {"", agent}
            wanted = {n for n, (where, _, gone) in enumerate(writes) if where in ("", agent) and not gone}
            assert len(found) <= len(wanted)
            named = {hit.memory.text for hit in found if asked in hit.memory.text}
            assert len(named) == len({n for n in wanted if writes[n][1] == asked})


def test_a_vault_of_the_first_format_is_searchable(tmp_path: Path) -> None:
    shutil.copytree(OLD, tmp_path / "vault")
    with open_engram(tmp_path / "vault", words_only=True) as mem:
        owner = mem.as_reader(OWNER)
        found = owner.recall("What moved to Fly.io on Thursday?", limit=5)
        assert found.outcome is Outcome.DEGRADED
        assert texts(found)[0] == "The API moved to Fly.io on Thursday"
        assert owner.words(found[0].memory.id) == []
        assert found[0].memory.refs == ()
    with open_engram(tmp_path / "vault") as mem:
        owner = mem.as_reader(OWNER)
        owner._vault.observer.backfill(OWNER)
        hit = owner.recall("What moved to Fly.io on Thursday?", limit=1)[0]
        assert [signal.rank for signal in hit.why.signals] == [1, 1]


def test_a_memory_of_the_first_format_is_corroborated(tmp_path: Path) -> None:
    shutil.copytree(OLD, tmp_path / "vault")
    with open_engram(tmp_path / "vault", words_only=True, agent="") as mem:
        before = [m for m in mem.list(limit=100) if m.scope == Scope()]
        if not before:
            pytest.skip("the old vault has nothing global")
        again = mem.remember(before[0].text)
        assert (again.id, again.corroborations) == (before[0].id, 1)
