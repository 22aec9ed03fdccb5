"""A loaded index as a stream of arrays, so that the next open need not read every row of the store.

Input: a loaded index at one point of the change log. Output: arrays in numpy's own format, one after the other; the caller
encrypts the stream. Only rows that were not removed are written. Segments that a tier spent long on are included unless a row
among them was removed: their codes would be a trace of it.

At 100,000 rows of 384 dimensions a snapshot is read in 0.2 s of CPU; the rows take 0.7 s and the tier's codes about 1 s more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import IO, Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from engram.index.vectors.exact import Exact
from engram.index.vectors.filters import FilterColumns, PackedColumns
from engram.index.vectors.loaded import LoadedIndex
from engram.index.vectors.matrix import BLOCK, Numbers, Rows
from engram.index.vectors.tier import SealedSegments, VectorTier
from engram.values.frozen import frozen

_VERSION = 1


class ByteSink(Protocol):
    def write(self, content: bytes) -> object: ...


class ByteSource(Protocol):
    def read(self, size: int) -> bytes: ...


@frozen
class SnapshotContent:
    """An index at one point of the change log, ready to be written.

    Rows never change, so their numbers are enough; filter columns may change, so they are copied.
    """

    identity: str
    seq: int
    rows: Rows
    numbers: Numbers
    packed: PackedColumns
    tier: VectorTier | None

    @classmethod
    def of(cls, identity: str, seq: int, index: LoadedIndex) -> SnapshotContent:
        """Collect the content of an index. The caller holds the lock under which `index` is written."""
        rows = index.rows
        numbers = rows.living()
        if rows.removed:  # the tier's codes are left out then, so rows may be put in key order, as loading does
            numbers = numbers[np.argsort(rows.keys(numbers))]
        return cls(identity, seq, rows, numbers, index.columns.pack(numbers), None if rows.removed else index.tier)


@frozen
class LoadedSnapshot:
    """An index read from a snapshot, the change it is up to date with, and the tier's segments."""

    seq: int
    index: LoadedIndex
    sealed: SealedSegments


@frozen
class SnapshotState:
    """The last snapshot this process read or wrote: its change number, its time, and whether it holds the tier's segments."""

    seq: int = 0
    at: float = -math.inf
    sealed: bool = False

    def outdated(self, index: LoadedIndex, seq: int, *, paused: bool, exists: bool) -> bool:
        """True if a new snapshot is worth writing.

        paused: enough time has passed since the last one. exists: its file is still there; an erasure deletes it.
        """
        if not self.seq or not exists:
            return True
        sealed = bool(index.tier.memory_bytes) and not index.rows.removed
        return paused and (seq - self.seq >= max(_CATCH_UP, len(index.rows) // 50) or (sealed and not self.sealed))


_CATCH_UP = 1000
"""Changes that the next open can read from the log without noticeable delay."""


def write(out: ByteSink, content: SnapshotContent) -> int:
    """Write a snapshot; return its number of rows."""
    packed, sealed = content.packed, SealedSegments() if content.tier is None else content.tier.pack()
    _put(out, _text_array(content.identity))
    _put(out, np.array([_VERSION, content.seq, len(content.numbers), len(sealed.segments)], np.int64))
    for words in packed.words:
        encoded = [word.encode() for word in words]
        _put(out, np.array([len(word) for word in encoded], np.int64))
        _put(out, np.frombuffer(b"".join(encoded), np.uint8))
    for start in range(0, len(content.numbers), BLOCK):
        block = slice(start, start + BLOCK)
        numbers = content.numbers[block]
        scales, codes = content.rows.gather(numbers)
        arrays: list[npt.NDArray[Any]] = [content.rows.keys(numbers), scales, codes]
        for array in (*arrays, *(column[block] for column in packed.columns)):
            _put(out, array)
    _put(out, _text_array(sealed.maker))
    for start, end, segment in sealed.segments:
        _put(out, np.array([start, end], np.int64))
        _put(out, segment)
    return len(content.numbers)


def read(source: ByteSource, identity: str, dimensions: int, progress: Callable[[int, int], bool]) -> LoadedSnapshot | None:
    """Read a snapshot; None if it has another identity or format version, or if `progress` stopped it.

    progress: called with the rows read so far and their total; returning True stops the reading.
    """
    if _text(_get(source)) != identity:
        return None
    version, seq, count, segments = _get(source).tolist()
    if version != _VERSION:
        return None
    words = [_words(_get(source), _get(source)) for _ in range(3)]
    rows = Rows(dimensions)
    columns = FilterColumns(rows)
    columns.set_words(words)
    while rows.count < count:
        if progress(rows.count, count):
            return None
        keys, scales, codes, *arrays = (_get(source) for _ in range(8))
        columns.unpack(rows.count, arrays)
        rows.add(keys, scales, codes)
    maker = _text(_get(source))
    sealed = []
    for _ in range(segments):
        start, end = _get(source).tolist()
        sealed.append((start, end, _get(source)))
    while source.read(1 << 20):  # read through the padding: a stream that was cut or altered fails to decrypt
        continue
    return LoadedSnapshot(seq, LoadedIndex(rows, columns, Exact(rows)), SealedSegments(maker, tuple(sealed)))


def _put(out: ByteSink, array: npt.NDArray[Any]) -> None:
    np.lib.format.write_array(cast(IO[bytes], out), array, allow_pickle=False)


def _get(source: ByteSource) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = np.lib.format.read_array(cast(IO[bytes], source), allow_pickle=False)
    return array


def _text_array(text: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text.encode(), np.uint8)


def _text(letters: npt.NDArray[np.uint8]) -> str:
    return letters.tobytes().decode()


def _words(lengths: npt.NDArray[np.int64], letters: npt.NDArray[np.uint8]) -> list[str]:
    ends = np.cumsum(lengths).tolist()
    return [letters[end - length : end].tobytes().decode() for length, end in zip(lengths.tolist(), ends, strict=True)]
