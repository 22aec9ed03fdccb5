"""Snapshots of the index: an index loaded from one gives the same answers, and never one that the vault would not give."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from index.sources import DIMENSIONS, SPACE, VaultSource, clustered
from index.test_live import OTHER_PROCESS, REX, keys, nearest, tuned
from store.vaults import OWNER

from engram.crypto.ciphers import PIECE, SealedFileReader
from engram.index.vectors import tiers
from engram.index.vectors.live import LiveIndex
from engram.index.vectors.quantized import Quantized
from engram.index.vectors.tiers import Backend
from engram.store.folder import clear_snapshots
from engram.types import Kind, Reader, Scope, Status
from engram.values.query import Filter

EVERY = Filter(statuses=())


@pytest.fixture
def source(tmp_path: Path) -> Iterator[VaultSource]:
    made = VaultSource(tmp_path / "vault")
    yield made
    made.close()


@contextmanager
def opened(source: VaultSource, **values: Any) -> Iterator[LiveIndex]:
    index = LiveIndex(source.store, OWNER, SPACE, DIMENSIONS, tuned(**{"snapshot_from": 1, **values}))
    index.start()
    try:
        assert index.settle(120)
        yield index
    finally:
        index.close()


def write_snapshot(source: VaultSource) -> Path:
    with opened(source) as index:
        assert index.ready
    return file_of(source)


def file_of(source: VaultSource) -> Path:
    return source.path / "index" / f"{SPACE}.snap"


def decrypted(source: VaultSource) -> bytes:
    """Return the decrypted content of the snapshot."""
    with file_of(source).open("rb") as file:
        return SealedFileReader(file, source.store.gate.opened.snapshot_key, SPACE).read(1 << 30)


def test_an_index_from_a_snapshot_answers_like_one_from_rows(source: VaultSource) -> None:
    vectors = clustered(400, 1)
    source.add(vectors[:200], REX, kind=Kind.FACT)
    source.add(vectors[200:], category="goal", happened_at=None)
    queries = clustered(20, 2)
    asked = [
        {"where": EVERY},
        {"where": Filter(kinds=(Kind.FACT,))},
        {"where": Filter(categories=("goal",))},
        {"reader": Reader(Scope(agent="ada"))},
    ]
    with opened(source) as index:
        assert index.warmth.origin == "rows"
        before = [nearest(index, query, 30, **how) for query in queries for how in asked]
    with opened(source) as index:
        assert index.warmth.origin == "snapshot"
        after = [nearest(index, query, 30, **how) for query in queries for how in asked]
    for one, other in zip(before, after, strict=True):
        assert one.keys.tolist() == other.keys.tolist()
        np.testing.assert_array_equal(one.scores, other.scores)


def test_changes_since_the_snapshot_are_applied(source: VaultSource) -> None:
    vectors = clustered(60, 1)
    kept = source.add(vectors[:50])
    write_snapshot(source)
    source.put([kept[0].key], vectors[50:51])
    source.set_status(kept[1], Status.ARCHIVED)
    (new,) = source.add(vectors[51:52], Scope(agent="zoe"))
    with opened(source) as index:
        assert index.warmth.origin == "snapshot"
        assert nearest(index, vectors[50], 1).keys.tolist() == [kept[0].key]
        found = nearest(index, vectors[1], 100).keys.tolist()
        assert kept[1].key not in found
        assert new.key in found
        assert len(found) == 50


def test_processes_with_snapshots_see_each_others_writes(source: VaultSource) -> None:
    vectors = clustered(10, 1)
    source.add(vectors[:5])
    write_snapshot(source)
    with opened(source) as index:
        assert index.warmth.origin == "snapshot"
        world = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
        said = subprocess.run([sys.executable, "-c", OTHER_PROCESS, source.path], check=True, capture_output=True, env=world)
        kept, erased = map(int, said.stdout.split())
        assert nearest(index, vectors[7], 1).keys.tolist() == [kept]
        assert erased not in nearest(index, vectors[5], 50).keys
        assert not file_of(source).exists(), "the other process erased something"


def flipped(file: Path, place: int) -> None:
    content = bytearray(file.read_bytes())
    content[place % len(content)] ^= 0x40
    file.write_bytes(content)


BREAKS: dict[str, Callable[[Path], object]] = {
    "its first byte": lambda file: flipped(file, 0),
    "its salt": lambda file: flipped(file, 12),
    "its first piece": lambda file: flipped(file, 100),
    "its last piece": lambda file: flipped(file, -1),
    "cut to half": lambda file: os.truncate(file, file.stat().st_size // 2),
    "cut by a piece": lambda file: os.truncate(file, file.stat().st_size - PIECE - 16),
    "cut by a byte": lambda file: os.truncate(file, file.stat().st_size - 1),
    "empty": lambda file: os.truncate(file, 0),
    "something else": lambda file: file.write_bytes(b"hello" * 999),
    "gone": lambda file: file.unlink(),
    "its folder gone": lambda file: shutil.rmtree(file.parent),
}


@pytest.mark.parametrize("what", BREAKS)
def test_a_damaged_snapshot_is_ignored_and_rows_are_loaded(source: VaultSource, what: str) -> None:
    vectors = clustered(100, 1)
    kept = source.add(vectors)
    BREAKS[what](write_snapshot(source))
    with opened(source) as index:
        assert index.warmth.origin == "rows"
        assert sorted(nearest(index, vectors[0], 200).keys.tolist()) == keys(kept)
    with opened(source) as index:
        assert index.warmth.origin == "snapshot", "it was not written anew"


def test_a_snapshot_of_another_key_or_another_state_of_the_vault_is_not_used(source: VaultSource, tmp_path: Path) -> None:
    vectors = clustered(30, 1)
    kept = source.add(vectors[:20])
    earlier = write_snapshot(source).read_bytes()
    with opened(source) as index:
        (late,) = source.add(vectors[20:21])
        assert nearest(index, vectors[20], 1).keys.tolist() == [late.key]
        index._snapshot = type(index._snapshot)()  # as after many changes: it is written again
    file_of(source).write_bytes(earlier)
    with opened(source) as index:
        assert index.warmth.origin == "rows", "a snapshot that was put back was believed"
        assert sorted(nearest(index, vectors[0], 99).keys.tolist()) == keys([*kept, late])
    source.store.gate.opened.snapshot_key[:] = bytes(32)
    with opened(source) as index:
        assert index.warmth.origin == "rows"


def test_a_snapshot_older_than_the_change_log_is_not_used(source: VaultSource) -> None:
    vectors = clustered(30, 1)
    source.add(vectors[:20])
    write_snapshot(source)
    source.add(vectors[20:])
    source.cut_log()
    with opened(source) as index:
        assert index.warmth.origin == "rows"
        assert len(nearest(index, vectors[0], 99).keys) == 30


def test_a_snapshot_of_another_model_is_not_used(source: VaultSource) -> None:
    source.add(clustered(20, 1))
    write_snapshot(source)
    index = LiveIndex(source.store, OWNER, SPACE, DIMENSIONS + 1, tuned(snapshot_from=1))
    index.start()
    assert index.settle(120)
    assert not index.ready
    index.close()


def test_no_trace_of_an_erased_memory_is_in_a_snapshot(source: VaultSource) -> None:
    """V12: an erasure deletes the snapshot at once; the next one does not hold the vector, its key or its codes."""
    vectors = clustered(300, 1)
    kept = source.add(vectors)
    write_snapshot(source)
    stored = dict(source.store.vectors.visible(OWNER, SPACE))
    doomed, stays = kept[7], kept[8]
    assert stored[doomed.key][4:] in decrypted(source)
    with opened(source) as index:
        source.erase(doomed)
        assert list(file_of(source).parent.iterdir()) == []
        assert len(nearest(index, vectors[7], 400).keys) == 299
    held = decrypted(source)
    assert stored[doomed.key][4:] not in held
    assert doomed.key.to_bytes(8, "little") + stays.key.to_bytes(8, "little") not in held
    assert stored[stays.key][4:] in held


def test_an_erasure_during_writing_leaves_no_snapshot(source: VaultSource) -> None:
    """The erasure may come before the file is filled, or after that and before it gets its name."""
    vectors = clustered(40, 1)
    kept = source.add(vectors)
    stored = dict(source.store.vectors.visible(OWNER, SPACE))
    index = LiveIndex(source.store, OWNER, SPACE, DIMENSIONS, tuned())
    index.start()
    assert index.settle(120)

    def erase_then_fill(out: Any) -> int:
        source.erase(kept[0])
        return index._fill(out)

    def fill_then_erase(out: Any) -> int:
        count = index._fill(out)
        source.erase(kept[1])
        return count

    for fill in (erase_then_fill, fill_then_erase):
        assert source.store.vectors.put_snapshot(OWNER, SPACE, fill) is False
        assert list(file_of(source).parent.iterdir()) == []
    assert source.store.vectors.put_snapshot(OWNER, SPACE, index._fill) is True
    held = decrypted(source)
    assert [key for key in (kept[0].key, kept[1].key) if stored[key][4:] in held] == []
    index.close()


def test_a_snapshot_includes_tier_codes_unless_rows_were_removed(source: VaultSource, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    usual = tiers.BACKENDS["quantized"]
    built: list[int] = []

    class Counting(Quantized):
        def _build(self, start: int, count: int, stop: Any) -> Any:
            built.append(count - start)
            return super()._build(start, count, stop)

    soon = Backend("quantized", lambda rows, settings: Counting(rows, tail=64, few=5), usual.bytes_per_vector, usual.needs)
    monkeypatch.setitem(tiers.BACKENDS, "quantized", soon)
    vectors = clustered(500, 1)
    kept = source.add(vectors)
    queries = clustered(10, 3)
    with opened(source, vector_backend="quantized") as index:
        before = [nearest(index, query).keys.tolist() for query in queries]
    assert built
    built.clear()
    with opened(source, vector_backend="quantized") as index:
        assert (index.warmth.origin, index.warmth.backend) == ("snapshot", "quantized")
        assert [nearest(index, query).keys.tolist() for query in queries] == before
        assert built == []
        source.erase(kept[3])
        nearest(index, queries[0])
    with opened(source, vector_backend="quantized") as index:
        assert index.warmth.origin == "snapshot"
        assert built, "codes over an erased row were put away"
        assert kept[3].key not in nearest(index, vectors[3], 500).keys


def test_the_snapshot_file_is_private_with_padded_size_and_neutral_times(source: VaultSource) -> None:
    old = os.umask(0)
    try:
        source.add(clustered(100, 1))
        file = write_snapshot(source)
        sizes = {file.stat().st_size}
        clear_and_add(source, 5)
        sizes.add(write_snapshot(source).stat().st_size)
    finally:
        os.umask(old)
    assert len(sizes) == 1
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert {file.stat().st_mtime, file.parent.stat().st_mtime} == {86_400.0}
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def clear_and_add(source: VaultSource, count: int) -> None:
    assert clear_snapshots(source.store.gate.opened.folder)
    source.add(clustered(count, 9))


def test_small_vaults_write_no_snapshot_and_a_fresh_one_is_kept(source: VaultSource) -> None:
    source.add(clustered(30, 1))
    with opened(source, snapshot_from=31):
        pass
    assert not file_of(source).parent.exists()
    before = write_snapshot(source).read_bytes()
    source.add(clustered(1, 2))
    with opened(source) as index:
        nearest(index, clustered(1, 2)[0])
    assert file_of(source).read_bytes() == before, "one memory more is no reason to write all of it again"


def test_restoring_a_backup_deletes_the_snapshot(source: VaultSource) -> None:
    from engram.store.sqlite import backups

    source.add(clustered(10, 1))
    source.store.health.backup(OWNER)
    write_snapshot(source)
    opened_vault = source.store.gate.opened
    backups.restore(opened_vault.folder, opened_vault.key, None, source.store.gate.live.now)
    assert list(file_of(source).parent.iterdir()) == []


# ── while it loads ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_text_hits_are_scored_by_vector_while_the_index_loads(source: VaultSource) -> None:
    """R16: while vectors load, text hits are compared by vectors from the store; visibility holds there too."""
    vectors = clustered(6, 1)
    mine = source.add(vectors[:3], REX)
    theirs = source.add(vectors[3:], Scope(agent="ada"))
    index = LiveIndex(source.store, OWNER, SPACE, DIMENSIONS, tuned())
    asked = [mine[2].key, theirs[0].key, 10**9, mine[0].key]
    early, made = index.score(Reader(REX), vectors[0], asked), index.vectors(Reader(REX), asked)
    assert index.search(OWNER, vectors[0], 3) is None
    index.start()
    assert index.settle(120)
    np.testing.assert_allclose(early, index.score(Reader(REX), vectors[0], asked), atol=1e-5)
    np.testing.assert_allclose(made, index.vectors(Reader(REX), asked), atol=1e-5)
    assert np.isnan(np.asarray(early)).tolist() == [False, True, True, False]
    index.close()


def test_a_search_just_after_start_waits_briefly_for_vectors(source: VaultSource) -> None:
    vectors = clustered(50, 1)
    source.add(vectors)
    index = LiveIndex(source.store, OWNER, SPACE, DIMENSIONS, tuned(warm_patience_s=60.0))
    index.start()
    assert len(nearest(index, vectors[0], 99).keys) == 50
    index.close()


def test_warm_reports_loading_progress(source: VaultSource) -> None:
    source.add(clustered(50, 1))
    index = LiveIndex(source.store, OWNER, SPACE, DIMENSIONS, tuned())
    told: list[Any] = []
    assert index.warm(120, told.append)
    assert told[-1].ready
    assert (told[-1].loaded, told[-1].total) == (50, 50)
    index.close()
    broken = LiveIndex(source.store, OWNER, SPACE, DIMENSIONS + 1, tuned())
    assert not broken.warm(120)
    broken.close()
