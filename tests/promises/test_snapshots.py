"""Snapshots of the vector index: encrypted, removed by an erasure, safe to be interrupted (V2, V10, V12)."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from promises.children import Nursery
from promises.vaults_at_hand import entropy
from recall.vaults import open_engram, store_of, texts

from engram.crypto.ciphers import SealedFileReader
from engram.engine import Engram
from engram.index.vectors.tiers import VectorLimits
from engram.store.limits import StoreLimits

UNCHECKED = StoreLimits(check_inline_mib=0)
ALWAYS: dict[str, Any] = {"tuning": [VectorLimits(snapshot_from=1, snapshot_pause_s=0.0), UNCHECKED]}
FACTS = [f"Fact number{n} is about topic{n % 7} and place{n % 11}" for n in range(60)]


def filled(path: Path) -> None:
    with open_engram(path, **ALWAYS) as mem:
        for fact in FACTS:
            mem.remember(fact)


def origin(mem: Engram) -> str:
    assert mem.warm(120)
    index = mem.health().index
    assert index is not None
    return index.origin


def test_close_saves_a_snapshot_of_the_index_and_the_next_open_loads_it(path: Path) -> None:
    filled(path)
    with open_engram(path, **ALWAYS) as mem:
        assert origin(mem) == "snapshot"
        assert texts(mem.recall("number17", limit=1)) == [FACTS[17]]


def test_a_snapshot_looks_random_and_holds_no_word_of_a_memory(path: Path) -> None:
    filled(path)
    content = (path / "index" / "text.snap").read_bytes()
    assert entropy(content) > 7.99
    assert b"topic" not in content


def test_erasing_a_memory_leaves_no_vector_of_it_in_a_snapshot(path: Path) -> None:
    filled(path)
    with open_engram(path, **ALWAYS) as mem:
        doomed = mem.recall("number17", limit=1)[0].memory
        vector = dict(store_of(mem).vectors.visible(mem.reader, "text"))[doomed.key][4:]
        assert vector in held(mem, path)
        mem.forget(doomed.id, erase=True)
        assert list((path / "index").iterdir()) == []
        mem._vault.index.settle(120)  # type: ignore[union-attr]
        key = bytearray(store_of(mem).gate.opened.snapshot_key)
    assert vector not in plain(path, key)


def held(mem: Engram, path: Path) -> bytes:
    return plain(path, store_of(mem).gate.opened.snapshot_key)


def plain(path: Path, key: bytearray) -> bytes:
    with (path / "index" / "text.snap").open("rb") as file:
        return SealedFileReader(file, key, "text").read(1 << 30)


def test_a_database_restored_by_hand_beside_a_newer_snapshot_is_searched_by_its_own_rows(path: Path, tmp_path: Path) -> None:
    """Not by `restore-backup`: the database file alone is replaced, and then grows past the snapshot's change number."""
    filled(path)
    shutil.copy(path / "vault.db", tmp_path / "older.db")
    with open_engram(path, **ALWAYS) as mem:
        for number in range(30):
            mem.remember(f"Later thing{number} happened")
        shutil.rmtree(path / "index")
    shutil.copy(tmp_path / "older.db", path / "vault.db")
    with open_engram(path, tuning=[VectorLimits(snapshot_from=10**6), UNCHECKED]) as mem:
        for number in range(40):
            mem.remember(f"Other matter{number} came up")
    with open_engram(path, **ALWAYS) as mem:
        assert origin(mem) == "rows"
        assert "matter33" in texts(mem.recall("matter33", limit=1))[0]
        found = " ".join(texts(mem.recall("Later thing12 happened", limit=50)))
        assert "thing12" not in found


@pytest.mark.parametrize("share", [0.01, 0.5, 0.9, *(pytest.param(share, marks=pytest.mark.slow) for share in (0.2, 0.8, 0.95))])
def test_a_kill_while_a_snapshot_is_written_costs_only_the_time_to_build_it_again(
    path: Path, children: Nursery, share: float
) -> None:
    filled(path)
    shutil.rmtree(path / "index")
    counts = []
    for _ in range(2):  # the number of lines differs a little from run to run
        (said,) = children.run("die_in_snapshot", path=str(path))
        counts.append(said["steps"])
        shutil.rmtree(path / "index")
    assert min(counts) > 100
    assert children.start("die_in_snapshot", path=str(path), step=int(min(counts) * share)).wait() == -signal.SIGKILL
    with open_engram(path, **ALWAYS) as mem:
        assert origin(mem) in ("rows", "snapshot")
        assert texts(mem.recall("number17", limit=1)) == [FACTS[17]]
        assert len(mem.list(limit=100)) == 60
    assert [file.name for file in (path / "index").iterdir()] == ["text.snap"]
