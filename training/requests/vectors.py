"""Encode the labelled texts, and the statements of real talk as a background (run in the project's own environment).

usage: vectors.py --talk FILE.jsonl.gz … --stores STORE … --out vectors.npz
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import tempfile
from datetime import datetime
from pathlib import Path

import numpy as np

import engram
from engram.models.embedders import Embedder

HERE = Path(__file__).parent
HELD = ("lme-pool-6", "realmem-kenta_tanaka")  # authors and stores that measure the model
NAMES = ("Maria", "Tom", "Aisha", "Daniel", "Ingrid", "Kofi", "Lucía", "Pavel", "Mei", "Owen")
WORDS = {
    "i": "{}", "my": "{}'s", "me": "{}", "i'm": "{} is", "i've": "{} has", "i'd": "{} would", "i'll": "{} will", "am": "is",
}  # fmt: skip
FIRST = re.compile(rf"\b({'|'.join(sorted(WORDS, key=len, reverse=True))})\b", re.IGNORECASE)


def rows(folder: str, leave: tuple[str, ...] = ()) -> list[dict]:
    files = sorted(path for path in (HERE / folder).glob("*.jsonl") if path.stem not in leave)
    return [json.loads(line) for path in files for line in path.read_text("utf-8").splitlines() if line.strip()]


def of_others(questions: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the questions for a fact as somebody asks them who speaks of another person: these are no requests, either."""
    facts = [(text, intent) for text, intent in questions if intent not in ("request", "procedural") and FIRST.search(text)]
    return [
        (FIRST.sub(lambda found, name=NAMES[place % len(NAMES)]: WORDS[found[1].lower()].format(name), text), intent)
        for place, (text, intent) in enumerate(facts)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--talk", nargs="+", required=True)
    parser.add_argument("--stores", nargs="+", required=True)
    parser.add_argument("--out", required=True)
    given = parser.parse_args()
    pairs = rows("pairs")
    written = rows("questions", leave=("labels",)) + rows("../recall/questions", leave=HELD)
    questions = [(row["text"], row["intent"]) for row in written if "intent" in row]
    labels = {(row["store"], row["id"]): row["intent"] for row in rows("questions") if "store" in row}
    background = []
    with tempfile.TemporaryDirectory() as folder, engram.open(f"{folder}/texts") as mem:
        encoder = mem._vault.embedder
        for path in given.talk:
            with gzip.open(path, "rt") as file:
                stores = [json.loads(line) for line in file]
            for store in stores:
                asked = [(question["text"], labels.get((store["store"], question["id"]))) for question in store["questions"]]
                questions += [(text, intent) for text, intent in asked if intent]
                if store["store"] in given.stores:
                    background.append(statements(f"{folder}/{store['store']}", store["turns"]))
        questions += of_others(questions)
        np.savez(
            given.out,
            encoder=encoder.fingerprint,
            statements=encoder.passages(["The user: " + row["text"] for row in pairs]),
            governed=np.stack([[encoder.query(text) for text in row["requests"]] for row in pairs]),
            near=np.stack([[encoder.query(text) for text in row["near"]] for row in pairs]),
            questions=np.stack([encoder.query(text) for text, _ in questions]),
            asks=np.array([intent in ("request", "procedural") for _, intent in questions]),
            background=np.concatenate([*background, *[short_statements(encoder)] * 2]),
        )


def short_statements(encoder: Embedder) -> np.ndarray:
    """Return the vectors of 3,000 short statements of the pair model's talk; in real talk they are rare."""
    files = sorted((HERE.parent / "pairs" / "talk").glob("*.jsonl"))
    lines = [json.loads(line) for path in files for line in path.read_text("utf-8").splitlines()]
    texts = sorted({line["b"].split(": ", 1)[-1] for line in lines if line.get("language", "en") == "en"})
    random.Random(1).shuffle(texts)
    return encoder.passages(["The user: " + text for text in texts[:3000]])


def statements(vault: str, turns: list[dict]) -> np.ndarray:
    """Return the vectors of all memories that capture makes of a talk."""
    with engram.open(vault, agent="talk") as mem:
        mem.ingest(
            [
                engram.Turn(turn["text"], speaker=turn["speaker"], at=datetime.fromisoformat(turn["at"]), session=turn["session"])
                for turn in turns
                if turn["text"].strip()
            ]
        )
        mem.warm()
        keys = mem._vault.store.memories.keys_having(mem._reader, engram.Filter())
        vectors = mem._vault.index.vectors(mem._reader, keys)
    return vectors[np.isfinite(vectors).all(axis=1)]


if __name__ == "__main__":
    main()
