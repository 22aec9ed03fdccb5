"""Vectors that memories still lack. What has none is the queue: it was kept while no model answered, or before there was one.

Also what keeps the vectors of two models apart: a space holds those of one, and words of another are kept without.

What capture works with, and the one thing all of it does with an encoder: give statements their vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from engram.capture.duplicates import Candidate
from engram.env import Env
from engram.errors import DimensionMismatch, EmbeddingError, EmbeddingFailed
from engram.index.vectors.live import LiveIndex
from engram.index.vectors.matrix import encode
from engram.models.embedders import Embedder, Vectors
from engram.settings import LiveSettings
from engram.store.ports import Store
from engram.types import Reader, Space
from engram.values.frozen import mutable

SPACE = "text"
_PATIENCE_S = 1.0  # between two looks at whether to go on waiting for another's page


def passage(speaker: str, text: str) -> str:
    """The speaker's name belongs into what is encoded: without it half of what is known of people is not found."""
    return text if not speaker or speaker.lower() in text.lower() else f"{speaker}: {text}"


def space_of(embedder: Embedder | None) -> Space | None:
    """The space that this model's vectors go into; None while their length is not known."""
    return Space(SPACE, embedder.fingerprint, embedder.dimensions) if embedder is not None and embedder.dimensions else None


def encoded(store: Store, embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """The vectors of passages, if this vault can hold them: those of two models could not be compared."""
    _require_own_space(store, embedder)
    made = embedder.passages(texts)
    _require_own_space(store, embedder)  # once more: an endpoint's length may be known only now
    return made


def _require_own_space(store: Store, embedder: Embedder) -> None:
    held, own = store.vectors.space(SPACE), space_of(embedder)
    if held is not None and own is not None and held != own:
        raise DimensionMismatch(f"the vectors here are of the model {held.model!r}, not of {own.model!r}.")


def fill(store: Store, reader: Reader, embedder: Embedder, *, page: int, rest: Callable[[], bool] = lambda: False) -> int:
    """Make the vectors that are missing, page by page; how many were made. `rest` is called between pages: True ends it.

    Texts that the model refuses are passed over; a model that is not there, or refuses a whole page, ends it with its error.
    Whoever else fills this vault, in any process, takes turns with it by the page, so that no vector is made twice.
    """
    made = after = 0
    while True:
        with store.health.filling(_PATIENCE_S) as ours:
            rows = store.vectors.missing(reader, SPACE, after=after, limit=page) if ours else None
            made += _fill_page(store, reader, embedder, rows) if rows else 0
        if rows == []:
            return made
        after = rows[-1][0] if rows else after
        if rest():
            return made


def _fill_page(store: Store, reader: Reader, embedder: Embedder, rows: Sequence[tuple[int, str, str, str]]) -> int:
    vectors = _of_rows(store, embedder, rows)
    space = space_of(embedder)
    if space is None or not vectors:
        return 0
    said = {key: text for key, _, text, _ in rows}
    return store.vectors.put(reader, SPACE, vectors, model=space.model, dimensions=space.dimensions, said=said)


def _of_rows(store: Store, embedder: Embedder, rows: Sequence[tuple[int, str, str, str]]) -> dict[int, bytes]:
    """By key. A page that is refused goes one by one: a text that cannot be encoded must not hold up all others."""
    texts = [encoded_as or passage(speaker, text) for _, speaker, text, encoded_as in rows]
    try:
        return {row[0]: vector for row, vector in zip(rows, encode(encoded(store, embedder, texts)), strict=True)}
    except EmbeddingFailed as error:
        refused = error
    made: dict[int, bytes] = {}
    for row, text in zip(rows, texts, strict=True):
        with suppress(EmbeddingFailed):
            made[row[0]] = encode(encoded(store, embedder, [text]))[0]
    if not made:
        raise refused
    return made


@mutable
class Tools:
    """Of one open vault. The encoder and the index may be missing, and may come later."""

    store: Store
    embedder: Embedder | None
    index: LiveIndex | None
    live: LiveSettings
    env: Env


def _passage_of(candidate: Candidate) -> str:
    proposition = candidate.statement.proposition
    return proposition.passage or passage(proposition.speaker, proposition.text)


def give_vectors(tools: Tools, candidates: Sequence[Candidate]) -> tuple[str, ...]:
    """Encode statements; without vectors they are kept all the same, and what is said here tells why."""
    if not candidates:
        return ()
    if tools.embedder is None:
        return ("no model is installed, so these memories have no vectors yet (`engram model install`).",)
    try:
        said = [_passage_of(c) for c in candidates]
        made = encoded(tools.store, tools.embedder, said)
    except EmbeddingError as error:
        return (f"{error.code}: {error.message} These memories are kept and have no vectors yet.",)
    for candidate, vector in zip(candidates, made, strict=True):
        candidate.vector = vector
    return ()
