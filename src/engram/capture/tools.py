"""What capture works with, and the one thing all of it does with an encoder: give statements their vectors."""

from __future__ import annotations

from collections.abc import Sequence

from engram.capture.backfill import encoded, passage
from engram.capture.sift import Candidate
from engram.env import Env
from engram.errors import EmbeddingError
from engram.frozen import mutable
from engram.index.vectors.live import LiveIndex
from engram.models.embed import Embedder
from engram.settings import LiveSettings
from engram.store.sqlite.store import SqliteStore


@mutable
class Tools:
    """Of one open vault. The encoder and the index may be missing, and may come later."""

    store: SqliteStore
    embedder: Embedder | None
    index: LiveIndex | None
    live: LiveSettings
    env: Env


def give_vectors(tools: Tools, candidates: Sequence[Candidate]) -> tuple[str, ...]:
    """Encode statements; without vectors they are kept all the same, and what is said here tells why."""
    if not candidates:
        return ()
    if tools.embedder is None:
        return ("no model is installed, so these memories have no vectors yet (`engram model install`).",)
    try:
        said = [passage(c.statement.proposition.speaker, c.statement.proposition.text) for c in candidates]
        made = encoded(tools.store, tools.embedder, said)
    except EmbeddingError as error:
        return (f"{error.code}: {error.message} These memories are kept and have no vectors yet.",)
    for candidate, vector in zip(candidates, made, strict=True):
        candidate.vector = vector
    return ()
