"""The numbers that tune capture, in one value that a benchmark can sweep."""

from __future__ import annotations

from engram.values.frozen import frozen


@frozen(kw_only=True)
class CaptureLimits:
    """Sizes of batches: of an ingest (C14), and of the turns that a language model reads together (C1)."""

    ingest_batch: int = 32  # turns that are stored together
    ingest_characters: int = 16_384  # the same by length: of a book, so much is durable and reported every few seconds
    buffer_turns: int = 6  # turns of a session that wait before an extractor reads them together
    buffer_minutes: float = 5.0  # longest that a turn waits for an extractor
