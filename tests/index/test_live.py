"""The live index of a vault: loads in the background, follows writes of every process, respects visibility."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from index.sources import DIMENSIONS, SPACE, VaultSource, clustered
from store.vaults import OWNER

from engram.errors import AccessDenied, DimensionMismatch, InvalidQuery
from engram.index.vectors import tiers as registry
from engram.index.vectors.live import LiveIndex, Nearest
from engram.index.vectors.matrix import decode, encode, restore, rotate_back
from engram.index.vectors.quantized import Quantized
from engram.index.vectors.tiers import Backend, VectorLimits
from engram.models.embedders import Vectors
from engram.settings import LiveSettings
from engram.types import Edge, Kind, Memory, Policy, Reader, Role, Scope, Status
from engram.values.query import Filter

REX = Scope(agent="rex")
ADA = Scope(agent="ada")
EVERY = Filter(statuses=())
needs_faiss = pytest.mark.skipif(find_spec("faiss") is None, reason="faiss-cpu is not installed")

MakeIndex = Callable[..., LiveIndex]


def tuned(vector_backend: str = "auto", **limits: Any) -> LiveSettings:
    """Return live settings with limits of the index that suit a test."""
    at_once = {"warm_patience_s": 0.0, "snapshot_from": 10**9, "snapshot_pause_s": 0.0}
    tuning = [VectorLimits(**{**at_once, **limits})]
    return LiveSettings({"vector_backend": vector_backend, "ram_critical_mib": 100_000}, monotonic=time.monotonic, tuning=tuning)


@pytest.fixture
def source(tmp_path: Path) -> Iterator[VaultSource]:
    made = VaultSource(tmp_path / "vault", size_bucket_kib=0)
    yield made
    made.close()


@pytest.fixture
def open_index(source: VaultSource) -> Iterator[MakeIndex]:
    opened: list[LiveIndex] = []

    def do(live: LiveSettings | None = None, *, started: bool = True) -> LiveIndex:
        index = LiveIndex(source.store, OWNER, SPACE, DIMENSIONS, live or tuned())
        opened.append(index)
        if started:
            index.start()
            assert index.settle(120)
        return index

    yield do
    for index in opened:
        index.close()


def nearest(index: LiveIndex, query: Vectors, k: int = 10, *, reader: Reader = OWNER, **narrowed: Any) -> Nearest:
    found = index.search(reader, query, k, **narrowed)
    assert found is not None
    return found


def keys(memories: list[Memory]) -> list[int]:
    return [memory.key for memory in memories]


def test_search_returns_the_nearest_memories_of_the_vault(source: VaultSource, open_index: MakeIndex) -> None:
    vectors = clustered(300, 1)
    kept = source.add(vectors)
    index = open_index()
    query = clustered(1, 2)[0]
    found = nearest(index, query)
    scores = rotate_back(restore(*decode(encode(vectors), DIMENSIONS))) @ query
    assert found.keys.tolist() == [kept[place].key for place in np.argsort(-scores)[:10]]
    np.testing.assert_allclose(found.scores, np.sort(scores)[::-1][:10], atol=1e-5)


def test_search_returns_none_and_reports_progress_while_loading(source: VaultSource, open_index: MakeIndex) -> None:
    source.add(clustered(5, 1))
    index = open_index(started=False)
    assert index.search(OWNER, clustered(1, 2)[0], 10) is None
    assert (index.ready, index.warmth.loaded) == (False, 0)
    index.start()
    index.start()
    assert index.settle(120)
    assert (index.ready, index.warmth.loaded, index.warmth.backend) == (True, 5, "exact")
    assert index.warmth.memory_bytes > 5 * DIMENSIONS


def test_the_index_of_an_empty_vault_is_ready_and_empty(open_index: MakeIndex) -> None:
    index = open_index()
    assert index.ready
    assert len(nearest(index, clustered(1, 2)[0]).keys) == 0


def test_the_next_search_finds_memories_written_since_loading(source: VaultSource, open_index: MakeIndex) -> None:
    vectors = clustered(20, 1)
    index = open_index()
    (one,) = source.add(vectors[:1])
    assert nearest(index, vectors[0]).keys.tolist() == [one.key]
    source.put([one.key], vectors[1:2])
    assert nearest(index, vectors[1]).scores[0] == pytest.approx(1, abs=0.01)
    source.set_status(one, Status.ARCHIVED)
    assert len(nearest(index, vectors[1]).keys) == 0
    assert nearest(index, vectors[1], where=EVERY).keys.tolist() == [one.key]
    source.store.memories.update(OWNER, one.id, {"kind": Kind.SKILL})
    assert nearest(index, vectors[1], where=Filter(statuses=(), kinds=(Kind.SKILL,))).keys.tolist() == [one.key]
    source.store.memories.update(OWNER, one.id, {"text": "other words, whose vector is yet to be made"})
    assert len(nearest(index, vectors[1], where=EVERY).keys) == 0
    source.put([one.key], vectors[2:3])
    assert nearest(index, vectors[2], where=EVERY).keys.tolist() == [one.key]
    source.erase(one)
    assert len(nearest(index, vectors[2], where=EVERY).keys) == 0
    assert index.warmth.loaded == 0


OTHER_PROCESS = """
import sys
from pathlib import Path
from index.sources import VaultSource, clustered
source = VaultSource(Path(sys.argv[1]), size_bucket_kib=0)
kept = source.add(clustered(10, 1)[5:])
source.erase(kept[0])
source.close()
print(kept[2].key, kept[0].key)
"""


def test_the_next_search_finds_memories_written_by_another_process(source: VaultSource, open_index: MakeIndex) -> None:
    vectors = clustered(10, 1)
    source.add(vectors[:5])
    index = open_index()
    assert len(nearest(index, vectors[0], 50).keys) == 5
    world = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    said = subprocess.run([sys.executable, "-c", OTHER_PROCESS, source.path], check=True, capture_output=True, env=world)
    kept, erased = map(int, said.stdout.split())
    assert nearest(index, vectors[7], 1).keys.tolist() == [kept]
    found = nearest(index, vectors[5], 50).keys
    assert len(found) == 9
    assert erased not in found


def test_the_index_is_loaded_again_after_the_change_log_was_truncated(source: VaultSource, open_index: MakeIndex) -> None:
    vectors = clustered(10, 1)
    kept = source.add(vectors)
    index = open_index()
    source.erase(*kept[:5])
    source.cut_log()
    assert index.search(OWNER, vectors[0], 50) is None
    assert index.settle(120)
    assert sorted(nearest(index, vectors[0], 50).keys.tolist()) == keys(kept[5:])


def test_the_index_is_loaded_again_after_a_vault_was_restored(source: VaultSource, open_index: MakeIndex) -> None:
    source.add(clustered(10, 1))
    index = open_index()
    index._seq += 100
    assert index.search(OWNER, clustered(1, 1)[0], 50) is None
    assert index.settle(120)
    assert index.ready


def test_changes_to_edges_alone_leave_the_index_unchanged(source: VaultSource, open_index: MakeIndex) -> None:
    one, two = source.add(clustered(2, 1))
    index = open_index()
    source.store.edges.put(OWNER, [Edge(one.id, two.id, "like")])
    assert len(nearest(index, clustered(1, 1)[0]).keys) == 2


# ── who sees what ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_reader_finds_no_memory_outside_its_visible_scopes(source: VaultSource, open_index: MakeIndex) -> None:
    vectors = clustered(60, 1)
    everyones = source.add(vectors[:20])
    rexs = source.add(vectors[20:40], REX)
    adas = source.add(vectors[40:], ADA)
    index = open_index()
    rex = Reader(REX)
    for vector in vectors:
        assert set(nearest(index, vector, 100, reader=rex).keys.tolist()) == {*keys(everyones), *keys(rexs)}
    own = Reader(REX, Policy.OWN)
    assert set(nearest(index, vectors[0], 100, reader=own).keys.tolist()) == set(keys(rexs))
    assert len(nearest(index, vectors[0], 100).keys) == 60
    scores = index.score(rex, vectors[0], [everyones[0].key, adas[0].key, 10**9])
    assert scores is not None
    assert np.isnan(scores).tolist() == [False, True, True]
    made = index.vectors(rex, [adas[0].key, rexs[0].key])
    assert made is not None
    assert np.isnan(made[0]).all()
    np.testing.assert_allclose(made[1], vectors[20], atol=0.01)


def test_a_scope_created_later_is_visible_to_its_readers(source: VaultSource, open_index: MakeIndex) -> None:
    vectors = clustered(3, 1)
    source.add(vectors[:1], ADA)
    index = open_index()
    rex = Reader(REX)
    assert len(nearest(index, vectors[0], reader=rex).keys) == 0
    (fresh,) = source.add(vectors[1:2], REX)
    assert nearest(index, vectors[0], reader=rex).keys.tolist() == [fresh.key]
    source.add(vectors[2:], Scope(agent="ada", user="zoe"))
    assert nearest(index, vectors[0], reader=rex).keys.tolist() == [fresh.key]


def test_filters_narrow_before_the_search(source: VaultSource, open_index: MakeIndex) -> None:
    vectors = clustered(6, 1)
    day = datetime(2026, 1, 1, tzinfo=UTC)
    old = source.add(vectors[:2], kind=Kind.FACT, happened_at=day)
    new = source.add(vectors[2:4], kind=Kind.SKILL, happened_at=day + timedelta(days=2))
    goal = source.add(vectors[4:], category="goal", happened_at=day + timedelta(days=4))
    index = open_index()

    def found(**narrowed: Any) -> list[int]:
        return sorted(nearest(index, vectors[0], where=Filter(**narrowed)).keys.tolist())

    assert found(kinds=(Kind.FACT,)) == keys(old)
    assert found(kinds=(Kind.FACT, Kind.SKILL)) == keys(old + new)
    assert found(categories=("goal",)) == keys(goal)
    assert found(since=day + timedelta(days=1)) == keys(new + goal)
    assert found(since=day + timedelta(days=2), until=day + timedelta(days=4)) == keys(new)
    assert found(kinds=(Kind.EPISODE,)) == []
    assert found(statuses=(Status.ARCHIVED,)) == []
    some = [old[0].key, goal[0].key, 10**9]
    assert sorted(nearest(index, vectors[0], within=some).keys.tolist()) == some[:2]
    assert nearest(index, vectors[0], within=some, where=Filter(kinds=(Kind.FACT,))).keys.tolist() == some[:1]
    assert nearest(index, vectors[0], within=some, reader=Reader(REX, Policy.OWN)).keys.tolist() == []


def test_a_filter_by_attributes_needs_the_keys_that_have_them(open_index: MakeIndex) -> None:
    with pytest.raises(InvalidQuery):
        open_index().search(OWNER, clustered(1, 1)[0], 5, where=Filter(attributes={"lang": "de"}))


@pytest.mark.parametrize("k", [0, -1])
def test_a_search_for_zero_or_fewer_finds_nothing(source: VaultSource, open_index: MakeIndex, k: int) -> None:
    source.add(clustered(3, 1))
    assert len(nearest(open_index(), clustered(1, 1)[0], k).keys) == 0


def test_a_query_with_other_dimensions_is_refused(open_index: MakeIndex) -> None:
    index = open_index()
    for wrong in (np.ones(DIMENSIONS + 1, np.float32), np.ones((1, DIMENSIONS), np.float32)):
        with pytest.raises(DimensionMismatch):
            index.search(OWNER, wrong, 5)
    with pytest.raises(InvalidQuery):
        index.search(OWNER, np.full(DIMENSIONS, np.nan, np.float32), 5)


def test_stored_vectors_with_other_dimensions_are_reported(source: VaultSource, open_index: MakeIndex) -> None:
    source.add(clustered(3, 1, dimensions=8))
    index = open_index()
    assert not index.ready
    assert "E3003" in index.warmth.notes[0]
    assert index.search(OWNER, clustered(1, 1)[0], 5) is None


# ── tiers ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def sealed_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the quantized tier seal after 64 rows instead of thousands."""
    usual = registry.BACKENDS["quantized"]
    soon = Backend("quantized", lambda rows, limits: Quantized(rows, tail=64, few=5), usual.bytes_per_vector, usual.needs)
    monkeypatch.setitem(registry.BACKENDS, "quantized", soon)


@needs_faiss
@pytest.mark.usefixtures("sealed_soon")
def test_growing_past_the_limit_swaps_the_tier_and_shrinking_swaps_it_back(source: VaultSource, open_index: MakeIndex) -> None:
    vectors = clustered(500, 1)
    index = open_index(tuned(vector_exact_limit=100))
    kept = source.add(vectors[:90])
    nearest(index, vectors[0])
    assert index.settle(120)
    assert index.warmth.backend == "exact"
    kept += source.add(vectors[90:])
    nearest(index, vectors[0])
    assert index.settle(120)
    assert index.warmth.backend == "quantized"
    source.erase(*kept[60:])
    nearest(index, vectors[0])
    assert index.settle(120)
    assert index.warmth.backend == "exact"
    assert sorted(nearest(index, vectors[0], 100).keys.tolist()) == keys(kept[:60])


@needs_faiss
def test_a_changed_setting_swaps_the_tier_of_a_running_index(source: VaultSource, open_index: MakeIndex) -> None:
    source.add(clustered(50, 1))
    live = tuned()
    index = open_index(live)
    live.set(vector_backend="quantized")
    nearest(index, clustered(1, 1)[0])
    assert index.settle(120)
    assert index.warmth.backend == "quantized"


def test_memory_pressure_drops_cached_masks(source: VaultSource, open_index: MakeIndex) -> None:
    source.add(clustered(300, 1))
    index = open_index()
    nearest(index, clustered(1, 1)[0])
    before = index.warmth.memory_bytes
    index.relieve("normal")
    assert index.warmth.memory_bytes == before
    index.relieve("critical")
    assert index.warmth.memory_bytes < before
    assert index.settle(120)
    assert len(nearest(index, clustered(1, 1)[0]).keys) == 10


def test_compacting_frees_the_memory_of_removed_rows(source: VaultSource, open_index: MakeIndex) -> None:
    vectors = clustered(1200, 1)
    kept = source.add(vectors)
    index = open_index()
    before = index.warmth.memory_bytes
    source.put(keys(kept[:600]), vectors[600:])  # other vectors: the old rows are removed, new ones added
    nearest(index, vectors[0])
    assert index.settle(120)
    assert index.warmth.memory_bytes < before * 1.2
    found = nearest(index, vectors[700], 2)
    assert set(found.keys.tolist()) == {kept[100].key, kept[700].key}


@needs_faiss
@pytest.mark.usefixtures("sealed_soon")
def test_searches_continue_while_tiers_are_swapped_and_rows_change(source: VaultSource, open_index: MakeIndex) -> None:
    """No search fails, none returns a row its reader may not see, and each finds the one row that is never removed."""
    vectors = clustered(1000, 1, clusters=500)
    mine = source.add(vectors[:300], REX)
    theirs = set(keys(source.add(vectors[300:400], ADA)))
    live = tuned()
    index = open_index(live)
    done = threading.Event()
    wrong: list[BaseException] = []
    answers = [0, 0, 0]

    def search(seed: int) -> None:
        rex = Reader(REX, Policy.AGENT)
        dice = np.random.default_rng(seed)
        try:
            while not done.is_set():
                place = int(dice.integers(0, 100))
                found = nearest(index, vectors[place], 5, reader=rex)
                assert found.keys[0] == mine[place].key
                assert not theirs & set(found.keys.tolist())
                answers[seed] += 1
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=search, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    tiers = set()
    for round in range(6):
        live.set(vector_backend=("quantized", "exact")[round % 2])
        start = 400 + round * 100
        theirs |= set(keys(source.add(vectors[start : start + 50], ADA)))
        source.add(vectors[start + 50 : start + 100], REX)
        source.put(keys(mine[100:300]), vectors[start - 100 : start + 100])
        nearest(index, vectors[0])
        assert index.settle(120)
        tiers.add(index.warmth.backend)
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[0]
    assert min(answers) > 0
    assert tiers == {"exact", "quantized"}


def test_closing_during_loading_stops_it(source: VaultSource, open_index: MakeIndex) -> None:
    source.add(clustered(300, 1))
    index = open_index(started=False)
    index.start()
    index.close()
    assert index.search(OWNER, clustered(1, 1)[0], 5) is None


def test_a_guest_sees_no_more_than_its_policy_allows(source: VaultSource, open_index: MakeIndex) -> None:
    source.add(clustered(3, 1))
    with pytest.raises(AccessDenied):
        open_index().search(Reader(policy=Policy.ALL, role=Role.AGENT), clustered(1, 1)[0], 5)
