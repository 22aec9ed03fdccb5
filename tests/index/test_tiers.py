"""The choice of a search tier, and the fallback if it is not available."""

from __future__ import annotations

import subprocess
import sys

import pytest

from engram.errors import ConfigInvalid
from engram.index.vectors import tiers
from engram.index.vectors.exact import Exact
from engram.index.vectors.matrix import Rows
from engram.index.vectors.tiers import Backend, VectorLimits, choose, make

LIMITS = VectorLimits()


@pytest.fixture(autouse=True)
def faiss_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the rule independent of this machine: `quantized` needs a module that every Python has."""
    quantized = tiers.BACKENDS["quantized"]
    monkeypatch.setitem(
        tiers.BACKENDS, "quantized", Backend("quantized", quantized.make, quantized.bytes_per_vector, needs="json")
    )


@pytest.mark.parametrize(
    ("count", "current", "name"),
    [
        (0, "", "exact"),
        (20_000, "", "exact"),
        (20_001, "", "quantized"),
        (1_000_000, "exact", "quantized"),
        (16_000, "quantized", "quantized"),  # does not swap back at once
        (15_000, "quantized", "exact"),
        (16_000, "exact", "exact"),
    ],
)
def test_the_tier_is_chosen_by_row_count_with_hysteresis(count: int, current: str, name: str) -> None:
    assert choose(count, 384, 10_000, "auto", LIMITS, current).name == name


def test_a_configured_tier_is_used_at_any_row_count() -> None:
    assert choose(10, 384, 10_000, "quantized", LIMITS).name == "quantized"
    assert choose(10**6, 384, 10_000, "exact", LIMITS).name == "exact"


def test_the_exact_tier_is_chosen_if_memory_fits_only_the_rows() -> None:
    rows_alone = 100_000 * tiers.BACKENDS["exact"].bytes_per_vector(384) / 2**20
    chosen = choose(100_000, 384, rows_alone + 3, "auto", LIMITS, "quantized")
    assert chosen.name == "exact"
    assert "MiB" in chosen.note


def test_the_faster_tier_is_kept_with_a_note_if_not_even_the_rows_fit() -> None:
    chosen = choose(1_000_000, 384, 100, "auto", LIMITS, "quantized")
    assert chosen.name == "quantized"
    assert "MiB" in chosen.note


def test_a_tier_that_is_not_installed_falls_back_to_exact_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    quantized = tiers.BACKENDS["quantized"]
    missing = Backend("quantized", quantized.make, quantized.bytes_per_vector, needs="a_module_that_nobody_has")
    monkeypatch.setitem(tiers.BACKENDS, "quantized", missing)
    chosen = choose(100_000, 384, 10_000, "auto", LIMITS)
    assert chosen.name == "exact"
    assert "a_module_that_nobody_has" in chosen.note


def test_a_registered_tier_can_be_configured_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "BACKENDS", dict(tiers.BACKENDS))
    tiers.register(Backend("mine", lambda rows, limits: Exact(rows), lambda dimensions: dimensions))
    assert choose(10, 384, 100, "mine", LIMITS).name == "mine"
    assert len(make("mine", Rows(4), LIMITS)) == 0


def test_an_unknown_tier_name_raises_config_invalid() -> None:
    with pytest.raises(ConfigInvalid, match="'hnsw'"):
        choose(10, 384, 100, "hnsw", LIMITS)


def test_search_works_with_numpy_alone() -> None:
    """In an interpreter in which neither numkong nor faiss can be imported."""
    program = """
import sys
from importlib.machinery import PathFinder
usual = PathFinder.find_spec
absent = ("numkong", "faiss")
PathFinder.find_spec = lambda name, *rest: None if name in absent else usual(name, *rest)
import numpy as np
from engram.index.vectors import exact, tiers as registry
from engram.index.vectors.matrix import quantize
from engram.index.vectors.matrix import Rows
from engram.index.vectors.tiers import VectorLimits
assert exact.best_kernel() is exact.blas
choice = registry.choose(10**6, 8, 10**6, "auto", VectorLimits())
assert choice.name == "exact" and "faiss" in choice.note, choice
rows = Rows(8)
rows.add(np.arange(8), *quantize(np.eye(8, dtype=np.float32)))
assert registry.make("exact", rows, VectorLimits()).search(np.eye(8, dtype=np.float32)[3], 1).numbers.tolist() == [3]
"""
    subprocess.run([sys.executable, "-c", program], check=True)
