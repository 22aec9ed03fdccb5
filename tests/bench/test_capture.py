"""The figures of the benchmark of capture equal those counted by hand, on a few messages that leave no doubt."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from recall.vaults import hashing_encoder

from engram.bench import capture
from engram.errors import InvalidContent

SISTER, BROTHER = "My sister Lena is allergic to peanuts.", "My brother Karl works at the harbour in Oslo."
MOVED = "We moved to Lisbon on 3 March 2024."


def piece(text: str, kind: str = "fact", *, keep: bool = True, date: str | None = None, **more: object) -> dict[str, object]:
    return {"text": text, "keep": keep, "kind": kind, "date": date, **more}


def message(text: str, *pieces: dict[str, object], speaker: str = "user", before: str = "") -> dict[str, object]:
    return {"text": text, "speaker": speaker, "before": before, "at": "2024-05-15T10:00:00Z", "pieces": list(pieces)}


def measured(folder: Path, *rows: dict[str, object]) -> dict[str, Any]:
    path = folder / "messages.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    results = capture.run([path], embedder=hashing_encoder())
    figures: dict[str, Any] = results["files"]["messages.jsonl"]
    assert all(name in capture.render(results) for name in figures)
    return figures


def test_what_is_kept_cut_and_dated_as_labelled_counts_in_full(tmp_path: Path) -> None:
    figures = measured(
        tmp_path,
        message(f"{SISTER} {BROTHER}", piece(SISTER), piece(BROTHER)),
        message(MOVED, piece(MOVED, "event", date="2024-03-03")),
        message("Always answer me in German from now on.", piece("Always answer me in German from now on.", "instruction")),
        message("Thanks a lot!", piece("Thanks a lot!", "reaction", keep=False), before="The boat is booked."),
        message("Please translate it into French.", piece("Please translate it into French.", "request", keep=False)),
    )
    assert (figures["messages"], figures["statements"], figures["memories"]) == (5, 4, 4)
    assert (figures["kept"], figures["atomic"], figures["dated"], figures["left undated"]) == (1.0, 1.0, 1.0, 1.0)
    assert (figures["junk"], figures["instructions"], figures["requests"]) == (0.0, 1.0, 0.0)
    assert figures["observe"] > 0


def test_what_differs_from_the_labels_is_counted_against_it(tmp_path: Path) -> None:
    figures = measured(
        tmp_path,
        message(SISTER, piece("Nobody said this")),
        message(BROTHER, piece("My brother Karl works"), piece("at the harbour in Oslo")),
        message(MOVED, piece(MOVED, "event", date="2024-03-04")),
        message("We met in Oslo on 1 June 2023.", piece("We met in Oslo on 1 June 2023.", "event")),
        message("I work at the harbour.", piece("I work at the harbour.", "momentary", keep=False)),
    )
    assert (figures["kept"], figures["statements"]) == (0.8, 5)
    assert (figures["atomic"], figures["dated"], figures["left undated"]) == (0.5, 0.0, 0.667)
    assert (figures["junk"], figures["instructions"], figures["requests"]) == (1.0, 0.0, 0.0)


def test_pieces_on_which_the_readers_of_the_file_disagreed_do_not_count(tmp_path: Path) -> None:
    figures = measured(
        tmp_path,
        message(f"{SISTER} {BROTHER}", piece(SISTER), piece(BROTHER, doubt=True)),
        message("I work at the harbour.", piece("I work at the harbour.", "momentary", keep=False, doubt=True)),
    )
    assert (figures["statements"], figures["kept"], figures["junk"]) == (1, 1.0, 0.0)


def test_a_compressed_file_is_read_and_one_of_another_format_refused(tmp_path: Path) -> None:
    packed = tmp_path / "messages.jsonl.gz"
    packed.write_bytes(gzip.compress(json.dumps(message(SISTER, piece(SISTER))).encode()))
    assert capture.run([packed], embedder=hashing_encoder())["files"][packed.name]["kept"] == 1.0
    for content in (
        b"",
        b"[]",
        b'{"text": "Hello"}',
        b"no json",
        b"\xff\xfe",
        gzip.compress(b"x" * 999)[:-12],
        packed.read_bytes()[:40],
    ):
        other = tmp_path / ("other.gz" if content[:1] == b"\x1f" else "other.jsonl")
        other.write_bytes(content)
        with pytest.raises(InvalidContent, match="no labelled messages"):
            capture.run([other], embedder=hashing_encoder())
    damaged = bytearray(packed.read_bytes())
    damaged[20:40] = bytes(20)
    packed.write_bytes(damaged)
    with pytest.raises(InvalidContent, match="no labelled messages"):
        capture.run([packed], embedder=hashing_encoder())
