"""The benchmark of the store has every figure that it promises, against a baseline that does the same work."""

from __future__ import annotations

import functools
import math
import tempfile
from pathlib import Path
from typing import Any

import pytest

from engram.bench import store as bench_store
from engram.bench.store_sides import StoreBench, open_plain, open_unkeyed, question, sentence
from engram.store.sqlite import migrations

pytestmark = pytest.mark.slow  # a run of a benchmark, however small

WORKLOADS = ("single_inserts", "batched_inserts", "warm_reads", "any_reads", "searches")


@functools.cache
def trial() -> tuple[dict[str, Any], list[tuple[str, float]], set[Path]]:
    """Return the results of a small run, made once for all tests; the progress it reported; and the files it left behind."""
    reports: list[tuple[str, float]] = []
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", folder)  # a folder of its own: other tests may measure at the same time
        results = bench_store.run((0, 200), progress=lambda stage, share: reports.append((stage, share)))
        return results, reports, set(Path(folder).iterdir())


@pytest.fixture
def bench(tmp_path: Path) -> StoreBench:
    return StoreBench(tmp_path, bytes(range(32)), trial=True)


def figures(value: object, name: str = "") -> dict[str, float]:
    """Return every number of the results by its path."""
    if isinstance(value, dict):
        return {path: n for key, one in value.items() for path, n in figures(one, f"{name}/{key}").items()}
    if isinstance(value, list):
        return {path: n for key, one in enumerate(value) for path, n in figures(one, f"{name}/{key}").items()}
    return {name: float(value)} if isinstance(value, int | float) else {}


def test_a_small_run_has_every_figure_at_every_size() -> None:
    results, _, _ = trial()
    assert [found["memories"] for found in results["sizes"]] == [0, 200]
    for found in results["sizes"]:
        assert {*WORKLOADS, "open"} <= set(found)
        assert {"plain_first_ms", "ours_first_ms", "plain_rss_mib", "ours_rss_mib"} == set(found["process"])
    assert set(WORKLOADS) == set(results["cipher"])
    assert {f"{side}_{what}_scaling" for side in ("plain", "ours") for what in ("reads", "searches")} <= set(results["crowds"])
    assert {"cpus", "python", "sqlite_plain", "sqlite_ours", "cipher"} <= set(results["environment"])


def test_every_figure_is_finite_and_every_ratio_positive() -> None:
    results, _, _ = trial()
    found = figures(results)
    assert all(math.isfinite(number) for number in found.values())
    ratios = {path: number for path, number in found.items() if path.endswith(("ratio", "scaling", "per_s", "_ms"))}
    assert len(ratios) > 50
    assert [path for path, number in ratios.items() if number <= 0 and not path.endswith("queue_ms")] == []


def test_the_page_shows_each_bar_and_the_environment() -> None:
    results, _, _ = trial()
    page = bench_store.render(results)
    assert len(results["bars"]) == 8
    for bar in results["bars"]:
        assert f"{'pass' if bar['passed'] else 'FAIL'}  {bar['bar']}: " in page
    assert results["environment"]["python"] in page
    assert results["environment"]["sqlite_plain"] in page
    assert "aegis" in page


@pytest.mark.parametrize(("value", "passed"), [(1.0, True), (1.15, True), (1.16, False)])
def test_a_bar_passes_at_its_limit_and_not_beyond(value: float, passed: bool) -> None:
    results, _, _ = trial()
    sizes = [*results["sizes"][:-1], {**results["sizes"][-1], "warm_reads": {"ratio": value}}]
    assert bench_store.bars({**results, "sizes": sizes})[0]["passed"] is passed


def test_progress_rises_from_nothing_to_all() -> None:
    _, reports, _ = trial()
    shares = [share for _, share in reports]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)


def test_a_run_leaves_no_file_behind() -> None:
    _, _, left = trial()
    assert left == set()


def test_both_sides_hold_and_find_the_same(bench: StoreBench) -> None:
    with bench.both() as (plain, ours):
        bench.grow((plain, ours), 60)
        for mine, theirs in zip(*bench.visible, strict=True):
            ((a,), (b,)) = plain.get(mine), ours.get(theirs)
            assert (a.text, a.scope, a.key) == (b.text, b.scope, b.key)
        for number in range(0, 60, 7):
            a_hits, b_hits = plain.search(question(number)), ours.search(question(number))
            assert [hit.key for hit in a_hits] == [hit.key for hit in b_hits]
            assert b_hits or number % 5 == 4


def test_neither_side_shows_what_the_reader_may_not_see(bench: StoreBench) -> None:
    with bench.both() as (plain, ours):
        for place, side in enumerate((plain, ours)):
            hidden = [memory for memory in side.add(bench.fresh(place, 10)) if memory.scope.agent == "ada"]
            assert len(hidden) == 2
            assert [found for memory in hidden for found in side.get(memory.id)] == []


def test_the_baseline_is_plaintext_and_ours_is_not(bench: StoreBench) -> None:
    with bench.both() as sides:
        bench.grow(sides, 5)
    word = sentence(0).split()[0].encode()
    assert word in (bench.folder / "plain.db").read_bytes()
    assert all(word not in file.read_bytes() for file in (bench.folder / "vault").iterdir() if file.is_file())


def test_the_baseline_has_every_table_and_index_of_the_store(bench: StoreBench) -> None:
    listing = "SELECT type, name FROM sqlite_master ORDER BY type, name"
    baseline = open_plain(bench.folder / "p.db", bench.settings)
    store = open_unkeyed(bench.folder / "u.db", bench.settings)
    migrations.migrate(store, bench.env.now())
    there = {tuple(row) for row in store.execute(listing)} - {("table", "schema_version")}
    here = {tuple(row) for row in baseline.execute(listing)} - {("table", "schema_version")}
    store.close()
    baseline.close()
    assert here == there


def test_sentences_are_many_and_repeatable() -> None:
    assert len({sentence(number) for number in range(2000)}) == 2000
    assert sentence(7) == sentence(7)
    assert set(question(7)) <= set(sentence(7).lower().split())
