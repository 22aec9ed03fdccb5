"""The states of recall in `health` (R16): degradation, warm-up in the background (V9), caches under memory pressure (I7)."""

from __future__ import annotations

from pathlib import Path

import pytest
from patience import wait_until
from recall.vaults import FACTS, KEY, hashing_encoder, open_engram, texts

from engram.dream.limits import DreamLimits
from engram.engine import Engram
from engram.index.vectors.tiers import VectorLimits
from engram.models.embedders import hashing_embedder
from engram.types import Outcome

CARE = {"agent": "rex", "model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False}


def unasked(path: Path, *tuning: object, **settings: object) -> Engram:
    return Engram.open(path, key=KEY, embedder=hashing_encoder(), settings={**CARE, **settings}, tuning=tuning)


def test_with_encoder_and_vectors_the_state_is_full(full: Engram) -> None:
    health = full.health()
    assert (health.degradation, health.warnings) == ("full", tuple(w for w in health.warnings if "pressure" in w))
    assert health.index is not None
    assert (health.index.ready, health.index.backend, health.index.origin) == (True, "exact", "rows")


def test_without_an_encoder_the_state_is_words(wordy: Engram) -> None:
    health = wordy.health()
    assert (health.degradation, health.index) == ("words", None)
    assert any("no encoder" in warning for warning in health.warnings)


def test_with_vectors_of_another_model_the_state_is_words(full: Engram, tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault", embedder=hashing_embedder(512)) as other:
        health = other.health()
        assert health.degradation == "words"
        assert any("of the model" in warning for warning in health.warnings)


def test_while_vectors_load_the_state_is_disk_vectors(full: Engram, tmp_path: Path) -> None:
    with unasked(tmp_path / "vault", VectorLimits(warm_patience_s=0.0), DreamLimits(warm_after_s=3600.0)) as mem:
        index = mem._vault.index
        assert index is not None
        with index._lock:  # what was loaded cannot be put in place
            health = mem.health()
            assert health.degradation == "disk_vectors"
            assert any("not loaded yet" in warning for warning in health.warnings)
            found = mem.recall("Where does Carla live?", limit=3)
        assert texts(found)[0] == FACTS[1]
        assert found.outcome is Outcome.DEGRADED
        assert any("still loading" in note for note in found.notes)
        assert {signal.arm: signal.rank for signal in found[0].why.signals}["vectors"] == 1, "meaning had no say"
        assert mem.warm(120)
        assert mem.health().degradation == "full"
        after = mem.recall("Where does Carla live?", limit=3)
        assert after.outcome is Outcome.ANSWERED
        assert after[0].why.signals[0].score == pytest.approx(found[0].why.signals[0].score, abs=1e-5)


def test_a_vault_that_stays_open_loads_its_vectors_and_a_short_run_does_not(full: Engram, tmp_path: Path) -> None:
    with unasked(tmp_path / "vault", DreamLimits(warm_after_s=3600.0)) as mem:
        mem.list()
        assert (mem.health().index, mem.health().degradation) == (None, "full")
    with unasked(tmp_path / "vault", DreamLimits(warm_after_s=0.0)) as mem:
        wait_until(lambda: (index := mem.health().index) is not None and index.ready)


@pytest.mark.parametrize(("critical", "pressure"), [(100, "critical"), (1_000_000, "elevated")])
def test_memory_pressure_drops_masks_and_pages_and_health_reports_it(
    full: Engram, tmp_path: Path, critical: int, pressure: str
) -> None:
    low = {"ram_warning_mib": 50, "ram_critical_mib": critical}
    ballast = bytearray(b"x") * (120 << 20)  # the setting goes no lower than 100 MiB
    with open_engram(tmp_path / "vault", tuning=[DreamLimits(care_pause_s=0.05)], **low) as mem:
        found = [""]

        def shed() -> bool:
            mem.recall("Carla", limit=1)
            found[0] = " ".join(mem.health().shed)
            return "masks" in found[0] and (pressure == "elevated" or "idle connections" in found[0])

        wait_until(shed)
        health = mem.health()
        assert health.pressure == pressure
        assert any(pressure in warning for warning in health.warnings)
        assert ("tier" in found[0]) == (pressure == "critical")
        assert texts(mem.recall("Carla", limit=1)) == [FACTS[1]]
    del ballast


def test_no_cache_is_dropped_without_memory_pressure(full: Engram) -> None:
    full.settings.set(ram_warning_mib=1_000_000, ram_critical_mib=1_000_000)
    full.recall("Carla", limit=1)
    assert full._vault.upkeep.relieve() == "normal"
    assert full.health().shed == ()


def test_warm_reports_its_progress(full: Engram, tmp_path: Path) -> None:
    told: list[int] = []
    with unasked(tmp_path / "vault") as mem:
        assert mem.warm(120, progress=lambda warmth: told.append(warmth.loaded))
    assert told[-1:] in ([], [len(FACTS)])
