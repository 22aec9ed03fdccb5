"""Collect the pairs that capture would compare in real talk, to see what the model makes of them and to learn from its mistakes.

python mine.py longmemeval-train.jsonl.gz realmem-dev.jsonl.gz --out mined.jsonl

Runs in the project's own environment. `mined/labels.jsonl` holds the judgements of readers on such pairs, each under the digest
of its two texts: the texts stay with their data sets. Of 1,400 pairs that an earlier fit took for the same or replaced, 30 were
the same and 12 replaced; all others, read or not, are learned as neither.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import tempfile
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import engram
from engram.capture import duplicates, pairs
from engram.models.pair_reader import PairReader
from engram.rules.pairs import PairWeights, shown

LABELS = Path(__file__).parent / "mined" / "labels.jsonl"
MOST_TURNS = 450


def digest(earlier: str, later: str) -> str:
    return hashlib.sha256(f"{earlier}\n{later}".encode()).hexdigest()[:20]


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("files", nargs="+", type=Path)
    ask.add_argument("--out", type=Path, required=True)
    given = ask.parse_args()
    known = {row["digest"]: row["label"] for row in map(json.loads, LABELS.read_text(encoding="utf-8").splitlines())}
    found: dict[str, dict[str, Any]] = {}

    def collect(reader: PairReader, candidates: Iterable[pairs.PairCandidate[Any]], weights: PairWeights) -> pairs.Relations[Any]:
        """Judge the pairs and note them, instead of following the judgement."""
        texts = [(shown(pair.earlier), shown(pair.later)) for pair in pairs.chosen(candidates, weights)]
        for (earlier, later), judged in zip(texts, reader.judge(texts), strict=True):
            name = digest(earlier, later)
            found[name] = {
                "a": earlier, "b": later, "label": known.get(name, "neither"), "kind": "mined", "language": "en",
                "same": judged.same, "replaces": judged.replaces,
            }  # fmt: skip
        return pairs.Relations({})

    duplicates.relations = collect  # type: ignore[assignment]
    for path in given.files:
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            store = json.loads(line)
            said = [turn for turn in store["turns"] if turn["text"].strip() and turn["speaker"] != "assistant"][:MOST_TURNS]
            with tempfile.TemporaryDirectory() as folder, engram.open(f"{folder}/vault", agent="miner") as mem:
                mem.ingest(
                    engram.Turn(turn["text"], turn["speaker"], datetime.fromisoformat(turn["at"]), turn["session"], turn["ref"])
                    for turn in said
                )
            print(store["store"], len(found), flush=True)
    given.out.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found.values()), encoding="utf-8")


if __name__ == "__main__":
    main()
