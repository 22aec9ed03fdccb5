"""Ask the labelled questions of their stores and print the share of evidence turns among the first ten hits, by kind.

usage: measure.py FILE.jsonl.gz … [--history]
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from statistics import mean

import engram

QUESTIONS = Path(__file__).parent / "questions"
HELD = ("lme-pool-6", "realmem-kenta_tanaka")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--history", action="store_true", help="give recall what was said before a follow-up")
    given = parser.parse_args()
    shares: dict[tuple[str, str], list[float]] = defaultdict(list)
    answered: dict[bool, list[bool]] = {True: [], False: []}
    for path in given.files:
        with gzip.open(path, "rt") as file:
            stores = [json.loads(line) for line in file]
        for store in stores:
            labels = QUESTIONS / f"{store['store']}.jsonl"
            if not labels.exists():
                continue
            rows = [json.loads(line) for line in labels.read_text("utf-8").splitlines()]
            side = "held out" if store["store"] in HELD else "in view"
            with tempfile.TemporaryDirectory() as folder, engram.open(f"{folder}/vault", agent="measure") as mem:
                mem.ingest(turns(store["turns"], rows))
                for row in (row for row in rows if row["kind"] != "insert"):
                    history = row.get("history", ()) if given.history else ()
                    found = mem.recall(row["text"], limit=40, now=moment(row["at"]), history=history)
                    refs = list(dict.fromkeys(ref for hit in found for ref in hit.memory.refs))
                    answered[row["answerable"]].append(found.outcome == "answered")
                    if row["evidence"]:
                        share = len(set(row["evidence"]) & set(refs[:10])) / len(row["evidence"])
                        shares[side, row["kind"]].append(share)
                        shares[side, "all"].append(share)
    for (side, kind), found in sorted(shares.items()):
        print(f"{side}\t{kind}\t{len(found)}\t{mean(found):.3f}")
    print(f"not answered: {1 - mean(answered[False]):.3f} of the unanswerable, {1 - mean(answered[True]):.3f} of the others")


def turns(told: list[dict], rows: list[dict]) -> list[engram.Turn]:
    """Return the turns of a store with those that the author inserted."""
    inserted = defaultdict(list)
    for row in rows:
        if row["kind"] == "insert":
            inserted[row["after"]].append(row)
    made = []
    for turn in told:
        made.append(turn)
        made += [{**turn, "speaker": "user", "ref": row["ref"], "text": row["text"]} for row in inserted[turn["ref"]]]
    return [
        engram.Turn(turn["text"], turn["speaker"], moment(turn["at"]), turn["session"], ref=turn["ref"])
        for turn in made
        if turn["text"].strip()
    ]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


if __name__ == "__main__":
    main()
