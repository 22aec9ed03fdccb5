"""Vaults for tests: a fixed key, an encoder of hashed words, an owner who may see everything."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

import engram
from engram.engine import Engram
from engram.models import catalogue
from engram.models.embedders import CallableEmbedder, Embedder, OnnxEmbedder, hashing_embedder
from engram.rules.pairs import PairWeights
from engram.store.limits import StoreLimits
from engram.store.sqlite.store import SqliteStore
from engram.types import Memory, Policy, Reader, Role

KEY = bytes(range(32))
NO_PAIRS = PairWeights(most_at_once=0, most_at_rest=0)
"""For vaults whose encoder knows words only: there statements of one pattern lie so near that all of them would be compared."""
OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)
MODELS = os.environ.get("ENGRAM_MODELS", "")  # read before the tests' own world hides it
NO_MODEL = "the encoder is not installed (ENGRAM_MODELS)"

FACTS = (
    "The API runs on Heroku in Frankfurt",
    "My sister Carla lives in Lisbon",
    "Deploys on Fridays are forbidden",
    "Green tea tastes better than coffee",
    "Invoice 77 was paid in March",
    "Ann plays chess against computers",
    "Bob ran the marathon of Boston",
    "Rust compiles slowly but safely",
    "Winters up north stay dark",
    "The garage door code changed yesterday",
    "Our standup starts at half past nine",
    "Lemon trees need plenty of sunlight",
)


def hashing_encoder() -> CallableEmbedder:
    """Return an encoder of hashed words with so many dimensions that different words hardly collide."""
    return hashing_embedder(1024)


def open_engram(
    path: Path,
    *,
    agent: str = "rex",
    embedder: Embedder | None = None,
    words_only: bool = False,
    tuning: Iterable[object] = (),
    **settings: object,
) -> Engram:
    made = None if words_only else embedder or hashing_encoder()
    given = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False, "agent": agent}
    # with patience for a loaded machine
    patient = {"write_patience_s": 60.0, **given, **settings}
    tuned = [StoreLimits(read_patience_s=60.0), NO_PAIRS, *tuning]
    mem = Engram.open(path, key=KEY, embedder=made, settings=patient, tuning=tuned)
    if mem._vault.index is not None:  # there is none over the vectors of another model
        settle(mem)
    return mem


def settle(mem: Engram) -> None:
    """Wait until the vector index has loaded all vectors."""
    index = mem._vault.index
    assert index is not None
    assert index.settle(120)


def store_of(mem: Engram) -> SqliteStore:
    return mem._vault.store


def last_change(mem: Engram) -> int:
    return store_of(mem).changes.latest(mem.reader)


def texts(found: Sequence[object]) -> list[str]:
    """Return the texts of memories or of hits."""
    return [one.text if isinstance(one, Memory) else one.memory.text for one in found]  # type: ignore[attr-defined]


def at(day: int, hour: int = 12) -> datetime:
    return datetime(2026, 2, day, hour, tzinfo=engram.engine.Env().now().tzinfo)


def real_encoder() -> OnnxEmbedder | None:
    """Return the installed encoder, or None; ENGRAM_MODELS must be set."""
    model = catalogue.find()
    return OnnxEmbedder(model) if model.installed() else None
