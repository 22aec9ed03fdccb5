"""Every tier against the oracle: a plain float32 product over the restored vectors of the rows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from index.sources import DIMENSIONS, clustered

from engram.index.vectors.exact import Exact, blas, simd
from engram.index.vectors.matrix import BLOCK, Allowed, Mask, Rows, quantize
from engram.index.vectors.quantized import Quantized
from engram.index.vectors.tier import NearestRows, VectorTier
from engram.models.embedders import Vectors, unit

needs_numkong = pytest.mark.skipif(find_spec("numkong") is None, reason="numkong is not installed")
needs_faiss = pytest.mark.skipif(find_spec("faiss") is None, reason="faiss-cpu is not installed")

TIERS: dict[str, Callable[[Rows], VectorTier]] = {
    "exact-numpy": lambda rows: Exact(rows, blas),
    "exact-simd": lambda rows: Exact(rows, simd),
    "quantized": lambda rows: Quantized(rows, 500, tail=40, few=5, kernel=blas),
    "quantized-few": lambda rows: Quantized(rows, 500, tail=40, few=50, kernel=blas),
}
each_tier = pytest.mark.parametrize(
    "tier",
    [
        "exact-numpy",
        pytest.param("exact-simd", marks=needs_numkong),
        pytest.param("quantized", marks=needs_faiss),
        pytest.param("quantized-few", marks=needs_faiss),
    ],
)


def never() -> bool:
    return False


def add(rows: Rows, vectors: Vectors) -> None:
    rows.add(np.arange(rows.count, rows.count + len(vectors)) + 100, *quantize(vectors))


def oracle(rows: Rows, query: Vectors, k: int, mask: Mask) -> NearestRows:
    numbers = np.flatnonzero(mask)
    scores = (rows.vectors(numbers) @ query).astype(np.float32)
    order = np.argsort(-scores, kind="stable")[:k]
    return NearestRows(numbers[order], scores[order])


def assert_same(found: NearestRows, true: NearestRows, rows: Rows, query: Vectors) -> None:
    """Assert equal scores at each rank, each the score of its row. The order of ties is left open."""
    assert len(set(found.numbers.tolist())) == len(found.numbers) == len(true.numbers)
    np.testing.assert_allclose(found.scores, true.scores, atol=1e-5)
    np.testing.assert_allclose(found.scores, rows.vectors(found.numbers) @ query, atol=1e-5)
    assert np.all(np.diff(found.scores) <= 0)


@each_tier
@given(st.data())
def test_a_tier_finds_what_the_oracle_finds(tier: str, data: st.DataObject) -> None:
    """Holds under any mix of adding, removing, sealing and filtering. Rows are few, so all candidates are scored again."""
    rows = Rows(DIMENSIONS)
    index = TIERS[tier](rows)
    vectors = clustered(400, data.draw(st.integers(0, 5)))
    alive: set[int] = set()
    for step in data.draw(st.lists(st.sampled_from(["add", "add many", "remove", "seal", "search"]), min_size=1, max_size=12)):
        if step in ("add", "add many"):
            some = vectors[rows.count : rows.count + (1 if step == "add" else data.draw(st.integers(2, 90)))]
            alive |= set(range(rows.count, rows.count + len(some)))
            add(rows, some)
        elif step == "remove" and alive:
            gone = data.draw(st.sets(st.sampled_from(sorted(alive)), max_size=20))
            alive -= gone
            rows.remove(np.fromiter(gone, np.int64, len(gone)))
        elif step == "seal":
            index.seal(never)
        elif step == "search":
            query = clustered(1, data.draw(st.integers(10, 20)))[0]
            k = data.draw(st.integers(0, 40))
            mask = rows.alive(rows.count).copy()
            assert set(np.flatnonzero(mask).tolist()) == alive
            assert_same(index.search(query, k), oracle(rows, query, k, mask), rows, query)
            share = data.draw(st.sampled_from([0.0, 0.02, 0.3, 0.9, 1.0]))
            mask &= np.random.default_rng(data.draw(st.integers(0, 9))).random(rows.count) < share
            found = index.search(query, k, Allowed(mask))
            assert mask[found.numbers].all()
            assert_same(found, oracle(rows, query, k, mask), rows, query)
            both = np.stack((query, vectors[0]))
            for one, some in zip(both, index.search_many(both, k, Allowed(mask)), strict=True):
                assert_same(some, oracle(rows, one, k, mask), rows, one)
            assert_same(index.search_many(both, k)[0], index.search(query, k), rows, query)
    assert len(index) == len(alive)


@each_tier
def test_score_returns_the_cosine_of_given_rows(tier: str) -> None:
    rows = Rows(DIMENSIONS)
    index = TIERS[tier](rows)
    add(rows, clustered(200, 1))
    index.seal(never)
    rows.remove(np.asarray([7]))
    query = clustered(1, 2)[0]
    scores = index.score(query, np.asarray([199, 7, 3, 200, -1]))
    assert np.isnan(scores).tolist() == [False, True, False, True, True]
    np.testing.assert_allclose(scores[[0, 2]], rows.vectors(np.asarray([199, 3])) @ query, atol=1e-6)


@each_tier
def test_an_empty_index_finds_nothing(tier: str) -> None:
    index = TIERS[tier](Rows(DIMENSIONS))
    index.seal(never)
    query = clustered(1, 2)[0]
    assert len(index) == 0
    assert len(index.search(query, 10).numbers) == 0
    assert len(index.search(query, 10, Allowed(np.zeros(0, np.bool_))).numbers) == 0


@each_tier
def test_rows_after_the_end_of_a_filter_are_not_found(tier: str) -> None:
    """A filter made before rows were added and sealed does not allow them."""
    rows = Rows(DIMENSIONS)
    index = TIERS[tier](rows)
    add(rows, clustered(100, 1))
    earlier = Allowed(np.ones(100, np.bool_))
    add(rows, clustered(100, 2))
    index.seal(never)
    found = index.search(clustered(1, 3)[0], 150, earlier)
    assert sorted(found.numbers.tolist()) == list(range(100))


@each_tier
def test_a_narrow_filter_still_returns_k_rows(tier: str) -> None:
    """The nearest thousand rows are forbidden: a filter applied after a truncated scan would return nothing."""
    rows = Rows(DIMENSIONS)
    index = TIERS[tier](rows)
    query = clustered(1, 9)[0]
    add(rows, unit(query + 0.01 * clustered(1000, 1)))
    add(rows, clustered(300, 2))
    index.seal(never)
    mask = np.arange(rows.count) >= 1000
    found = index.search(query, 20, Allowed(mask))
    assert_same(found, oracle(rows, query, 20, mask), rows, query)


@each_tier
def test_rows_that_span_several_blocks_are_found(tier: str) -> None:
    rows = Rows(DIMENSIONS)
    index = TIERS[tier](rows)
    for seed in range(3):
        add(rows, clustered(BLOCK // 2 + 7, seed, clusters=2000))
        index.seal(never)
    last = np.asarray([BLOCK - 1, BLOCK, rows.count - 1, 0])
    for number, vector in zip(last, rows.vectors(last), strict=True):
        assert index.search(unit(vector), 1).numbers.tolist() == [number]


@needs_faiss
@pytest.mark.parametrize("share", [1.0, 0.5, 0.1])
def test_one_bit_codes_find_at_least_98_of_100_nearest(share: float) -> None:
    """Measures recall of the ten nearest, in clusters twice as large as the number of candidates."""
    count, dimensions = 20_000, 384
    rows = Rows(dimensions)
    add(rows, clustered(count, 1, dimensions=dimensions, clusters=20))
    index = Quantized(rows, 500, few=0)
    index.seal(never)
    queries = clustered(50, 2, dimensions=dimensions, clusters=20)
    mask = np.random.default_rng(4).random(count) < share
    found = [index.search(query, 10, Allowed(mask)).numbers for query in queries]
    true = [oracle(rows, query, 10, mask).numbers for query in queries]
    assert np.mean([len(set(f.tolist()) & set(t.tolist())) / 10 for f, t in zip(found, true, strict=True)]) >= 0.98


@needs_faiss
def test_a_row_is_resealed_only_logarithmically_often() -> None:
    rows = Rows(DIMENSIONS)
    index = Quantized(rows, tail=40)
    for number in range(64):
        add(rows, clustered(40, number))
        assert index.unsealed
        index.seal(never)
        assert not index.unsealed
        assert len(index._segments) <= 7
        assert sum(segment.stop - segment.start for segment in index._segments) == rows.count


@needs_faiss
def test_stopped_sealing_leaves_the_index_unchanged() -> None:
    rows = Rows(DIMENSIONS)
    index = Quantized(rows, tail=40)
    add(rows, clustered(100, 1))
    index.seal(lambda: True)
    assert index.memory_bytes == 0
    assert len(index.search(clustered(1, 2)[0], 100).numbers) == 100


@each_tier
def test_threads_search_while_one_adds_removes_and_seals(tier: str) -> None:
    """Every answer equals the oracle's for the rows of its filter. Rows are few, so all candidates are scored again."""
    rows = Rows(DIMENSIONS)
    index = TIERS[tier](rows)
    vectors = clustered(560, 1)
    add(rows, vectors[:100])
    done = threading.Event()
    wrong: list[BaseException] = []

    def search(seed: int) -> None:
        dice = np.random.default_rng(seed)
        try:
            while not done.is_set():
                query = vectors[dice.integers(0, 100)]
                mask = dice.random(rows.count) < dice.choice([0.05, 0.8])
                assert_same(index.search(query, 10, Allowed(mask)), oracle(rows, query, 10, mask), rows, query)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=search, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for start in range(100, len(vectors), 20):
        add(rows, vectors[start : start + 20])
        rows.remove(np.asarray([start - 100]))
        index.seal(never)
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[0]


@given(st.lists(st.tuples(st.integers(1, 60), st.booleans()), max_size=120))
def test_keys_added_in_any_order_are_found(steps: list[tuple[int, bool]]) -> None:
    rows = Rows(2)
    at: dict[int, int] = {}
    for key, kept in steps:
        if key in at:
            rows.remove(np.asarray([at.pop(key)]))
        if kept:
            at[key] = rows.count
            rows.add(np.asarray([key]), *quantize(np.asarray([[1.0, 0.0]], np.float32)))
    keys = np.arange(0, 62)
    assert rows.find(keys).tolist() == [at.get(key, -1) for key in keys.tolist()]
    assert len(rows) == len(at)


def test_many_out_of_order_keys_are_merged_into_the_sorted_arrays() -> None:
    rows = Rows(1)
    keys = np.random.default_rng(1).permutation(40_000)
    for start in range(0, len(keys), 500):
        some = keys[start : start + 500]
        rows.add(some, np.ones(len(some), np.float32), np.ones((len(some), 1), np.int8))
    assert rows._directory.strays < 20_000
    assert rows.keys(rows.find(np.arange(40_000))).tolist() == list(range(40_000))
