"""Cut stories into the pairs that capture would compare, with the labels of their authors.

python cut.py stories/*.jsonl --out FOLDER

Runs in the project's own environment. A story is a talk of weeks or months with links between the words of two turns: the later
ones replace the earlier ones, or say the same. Capture cuts the turns into statements with the words that they carry, and so into
pairs as the model meets them: a statement beside the nearest earlier ones of its speaker. A pair has the label of the link whose
words its statements share; all other pairs are neither.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import engram
from engram.capture import duplicates
from engram.capture.pairs import Relations
from engram.models.catalogue import find
from engram.models.embedders import OnnxEmbedder
from engram.rules.pairs import promise, shown
from engram.text.terms import words
from engram.types import Memory

NEIGHBOURS = 8
BESIDE_A_LINK, BESIDE_NONE = 5, 1  # neighbours of a statement that are neither, the most promising first
LEAST_COSINE = 0.3
LEAST_SHARE = 0.6


def statements(story: dict[str, Any]) -> list[tuple[int, Memory]]:
    """Return the statements that capture keeps of each turn, without comparing them."""
    found = []
    with tempfile.TemporaryDirectory() as folder, engram.open(f"{folder}/vault", agent="cutter") as mem:
        for number, turn in enumerate(story["turns"]):
            at = datetime.fromisoformat(turn["at"])
            at = at if at.tzinfo else at.replace(tzinfo=UTC)
            report = mem.observe(engram.Turn(turn["text"], turn["speaker"], at, story["id"], f"{story['id']}:{number}"))
            found += [(number, mem.get(name)) for name in report.ids]
    return found


def shares(piece: str, quoted: str) -> bool:
    """Return True if most words of the shorter one of two texts stand in the other."""
    first, second = set(words(piece.lower())), set(words(quoted.lower()))
    return len(first & second) >= LEAST_SHARE * max(min(len(first), len(second)), 1)


def label_of(story: dict[str, Any], earlier: tuple[int, Memory], later: tuple[int, Memory]) -> str:
    for label, name in (("replaces", "replaced"), ("same", "same")):
        for i, old, j, new in story[name]:
            if (i, j) == (earlier[0], later[0]) and shares(earlier[1].words, old) and shares(later[1].words, new):
                return label
    return "neither"


def pairs(story: dict[str, Any], encoder: Any) -> Iterator[dict[str, str]]:
    """Yield the pairs of a story: each statement beside the nearest earlier ones of its speaker and those linked to it."""
    kept = statements(story)
    if len(kept) < 2:
        return
    rows = encoder.passages([one.text for _, one in kept])
    for later in range(1, len(kept)):
        said = [n for n in range(later) if kept[n][0] < kept[later][0] and kept[n][1].speaker == kept[later][1].speaker]
        if kept[later][1].speaker == "assistant" or not said:
            continue
        cosines = rows[said] @ rows[later]
        nearest = {said[place] for place in np.argsort(-cosines)[:NEIGHBOURS].tolist() if cosines[place] >= LEAST_COSINE}
        labels = {n: label_of(story, kept[n], kept[later]) for n in said}
        linked = {n for n, label in labels.items() if label != "neither"}
        near = sorted(nearest - linked, key=lambda n: -promise(kept[n][1], kept[later][1]))
        chosen = linked | set(near[: BESIDE_A_LINK if linked else BESIDE_NONE])
        for place, n in enumerate(said):
            if n in chosen:
                label = labels[n]
                yield {
                    "a": shown(kept[n][1]), "b": shown(kept[later][1]), "label": label, "kind": "story",
                    "language": story["language"], "cosine": round(float(cosines[place]), 3), "story": story["id"],
                    "category": f"{kept[n][1].category}>{kept[later][1].category}",
                }  # fmt: skip


def main(paths: Sequence[Path], out: Path) -> None:
    duplicates.relations = lambda *_: Relations({})  # type: ignore[assignment]
    encoder = OnnxEmbedder(find())
    out.mkdir(parents=True, exist_ok=True)
    for path in paths:
        stories = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        made = [pair for story in stories for pair in pairs(story, encoder)]
        (out / path.name).write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in made), encoding="utf-8")
        counts = {label: sum(one["label"] == label for one in made) for label in ("neither", "same", "replaces")}
        linked = {name: sum(len(story[name]) for story in stories) for name in ("replaced", "same")}
        print(path.stem, len(stories), "stories", counts, "of", linked, flush=True)


if __name__ == "__main__":
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("stories", nargs="+", type=Path)
    ask.add_argument("--out", type=Path, required=True)
    given = ask.parse_args()
    main(given.stories, given.out)
