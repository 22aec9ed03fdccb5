"""Measure what capture makes of labelled messages: where statements begin, what is kept, how it is dated, and what that costs.

A line of a file is a message as in `training/statements/talk`: {"text", "speaker", "before", "at", "pieces": [{"text", "keep",
"kind", "date", …}, …]}. Every message goes through the public `observe` in a scope of its own, in a temporary vault; pieces on
which the two readers of the file disagreed (`doubt`) do not count.
"""

from __future__ import annotations

import gzip
import json
import tempfile
import time
import zlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from engram.bench.recall import OURS
from engram.bench.tuning import changed
from engram.engine import Engram
from engram.env import Env
from engram.errors import InvalidContent
from engram.models import catalogue
from engram.models.embedders import Embedder, OnnxEmbedder
from engram.serve.operations.operation import ProgressCallback
from engram.types import Memory, Reader, Scope, Turn
from engram.values.frozen import mutable

DEFINITIONS = {
    "kept": "statements worth keeping all of whose words stand in one memory",
    "atomic": "of those kept, the share whose memory holds no second statement",
    "dated": "of those kept that name a day, the share with that day; and of those that name none, the share without one",
    "junk": "messages with nothing worth keeping of which something is kept",
    "instructions, requests": "messages with a standing instruction, or with only a request, of which something is kept",
    "observe": "time of `observe` over the time the encoder alone takes for the same statements",
}


@mutable
class _CaptureTally:
    statements: int = 0
    kept: int = 0
    atomic: int = 0
    dated: int = 0
    named_day: int = 0
    undated: int = 0
    named_none: int = 0
    junk: int = 0
    junk_kept: int = 0
    instructions: int = 0
    instructions_kept: int = 0
    requests: int = 0
    requests_kept: int = 0
    memories: int = 0
    seconds: float = 0.0
    encoding: float = 0.0


def run(
    paths: Sequence[Path],
    *,
    embedder: Embedder | None = None,
    tuning: Sequence[object] = (),
    progress: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Return the figures of every file. embedder: replaces the installed one. tuning: `Weights` to try."""
    encoder = embedder or OnnxEmbedder(catalogue.find(catalogue.DEFAULT))
    files = {path.name: _measured(path, encoder, tuning, progress) for path in paths}
    return {"definitions": DEFINITIONS, "settings": changed(tuning), "files": files}


def _measured(path: Path, encoder: Embedder, tuning: Sequence[object], progress: ProgressCallback | None) -> dict[str, float]:
    rows, tally = _rows(path), _CaptureTally()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "vault"
        with Engram.open(place, key=Env().random(32), settings=OURS, embedder=encoder, tuning=tuning) as mem:
            mem.observe(Turn("I like that the first call loads the models."))
            for number, row in enumerate(rows):
                if progress is not None:
                    progress(f"{number:,} messages of {path.name}", number / len(rows))
                _score(row, _observed(mem, encoder, row, number, tally), tally)
    return _figures(len(rows), tally)


def _observed(mem: Engram, encoder: Embedder, row: dict[str, Any], number: int, tally: _CaptureTally) -> list[Memory]:
    """Return the memories of a message, observed in a scope of its own after the message before it."""
    own = mem.as_reader(Reader(Scope(agent=f"row{number}")))
    at, session = datetime.fromisoformat(row["at"]), f"s{number}"
    if row.get("before"):
        other = "assistant" if row["speaker"] == "user" else "user" if row["speaker"] == "assistant" else "Somebody"
        own.observe(Turn(row["before"], other, at, session, "before"))
    began = time.perf_counter()
    own.observe(Turn(row["text"], row["speaker"], at, session, "message"))
    tally.seconds += time.perf_counter() - began
    made = [memory for memory in own.list(limit=200) if "message" in memory.refs]
    began = time.perf_counter()
    encoder.passages([memory.text for memory in made])
    tally.encoding += time.perf_counter() - began
    tally.memories += len(made)
    return made


def _score(row: dict[str, Any], made: Sequence[Memory], tally: _CaptureTally) -> None:
    pieces = [piece for piece in row["pieces"] if not piece.get("doubt")]
    worth = [piece for piece in pieces if piece["keep"]]
    for piece in worth:
        tally.statements += 1
        holders = sorted((one for one in made if _holds(one.words, piece["text"])), key=lambda one: len(one.words))
        if not holders:
            continue
        tally.kept += 1
        tally.atomic += sum(_holds(holders[0].words, other["text"]) for other in worth) <= 1
        day = holders[0].happened_at.date().isoformat() if holders[0].happened_at and holders[0].happened_until else None
        if piece.get("date"):
            tally.named_day += 1
            tally.dated += day == piece["date"]
        else:
            tally.named_none += 1
            tally.undated += day is None
    if len(pieces) < len(row["pieces"]):
        return
    kinds = {piece["kind"] for piece in pieces}
    if worth:
        tally.instructions += "instruction" in kinds
        tally.instructions_kept += "instruction" in kinds and bool(made)
        return
    tally.junk += 1
    tally.junk_kept += bool(made)
    tally.requests += kinds == {"request"}
    tally.requests_kept += kinds == {"request"} and bool(made)


def _holds(words: str, statement: str) -> bool:
    bare = statement.strip(" .,;:!?…")
    return " ".join(bare.split()) in " ".join(words.split())


def _figures(rows: int, tally: _CaptureTally) -> dict[str, float]:
    return {
        "messages": rows,
        "statements": tally.statements,
        "memories": tally.memories,
        "kept": _share(tally.kept, tally.statements),
        "atomic": _share(tally.atomic, tally.kept),
        "dated": _share(tally.dated, tally.named_day),
        "left undated": _share(tally.undated, tally.named_none),
        "junk": _share(tally.junk_kept, tally.junk),
        "instructions": _share(tally.instructions_kept, tally.instructions),
        "requests": _share(tally.requests_kept, tally.requests),
        "observe": _share(tally.seconds, tally.encoding),
    }


def _share(part: float, whole: float) -> float:
    return round(part / whole, 3) if whole else 0.0


def render(results: dict[str, Any]) -> str:
    """Return the figures as text."""
    names = list(next(iter(results["files"].values()), {}))
    width = max((len(name) for name in results["files"]), default=0)
    lines = [f"{name}: {meaning}" for name, meaning in results["definitions"].items()]
    lines += ["", f"{'':<{width}}  {'  '.join(f'{name:>12}' for name in names)}"]
    for file, figures in results["files"].items():
        shown = (f"{value:>12,}" if isinstance(value, int) else f"{value:>12.3f}" for value in figures.values())
        lines.append(f"{file:<{width}}  {'  '.join(shown)}")
    return "\n".join(lines)


def _rows(path: Path) -> list[dict[str, Any]]:
    raw = path.read_bytes()
    try:
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
        if rows and all({"text", "speaker", "at", "pieces"} <= row.keys() for row in rows):
            return rows
    except (OSError, EOFError, zlib.error, ValueError, AttributeError):
        pass
    raise InvalidContent(
        f"{path.name} has no labelled messages.", way_out="See `training/statements/README.md` for the form of a line."
    )
