"""Fits `src/engram/text/language.tsv`, the table by which `text.language` recognises a language in Latin letters.

usage: python training/language/fit.py ROWS.jsonl … [--check]

Rows have `language` and words in `text`, `pieces`, `a`, `b` or `earlier`; `words.toml` beside this script adds bags of frequent
words. A softmax regression on words and groups of three letters, by stochastic gradient descent; --check leaves out one file
after the other and prints the share of its pieces that is recognised, instead of writing the table.
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import random
import re
import tomllib

import numpy as np

from engram.text.dates.lexicon import TABLES
from engram.text.language import _MIDDLE, _by_script, features

HERE = pathlib.Path(__file__).parent
TABLE = HERE.parents[1] / "src/engram/text/language.tsv"
MOST = 3_600  # features that are kept
BAGS = 220  # bags of frequent words for each language; four times as many for English, which shares words with most
EPOCHS = 8
PRIOR = 1.0  # added to the bias of English: "We met last week." could be Dutch by its letters
HEAVIEST = 1.6  # weight of a sample of a language that has few
RATE = 0.5
DECAY = 0.02  # of the weights, each epoch
SCALE = 1 / 20


def texts(row: dict) -> list[str]:
    """Return the pieces of a row that a person wrote."""
    found = [row[name] for name in ("a", "b") if name in row]
    found += [earlier["a"] for earlier in row.get("earlier", ())]
    found += [piece["text"] for piece in row.get("pieces", ())] or [row[name] for name in ("text",) if name in row]
    return [text for text in found if re.search(r"[^\W\d_]", text)]


def load(paths: list[str]) -> dict[str, list[tuple[str, str]]]:
    """Return (text, language) by file."""
    by_file: dict[str, list[tuple[str, str]]] = {}
    for path in paths:
        rows = [json.loads(line) for line in pathlib.Path(path).read_text("utf-8").splitlines()]
        by_file[pathlib.Path(path).stem] = [(text, row["language"]) for row in rows for text in texts(row)]
    return by_file


def bags(rng: random.Random) -> list[tuple[str, str]]:
    """Return bags of frequent words."""
    words = tomllib.loads((HERE / "words.toml").read_text("utf-8"))
    return [
        (" ".join(rng.sample(said.split(), rng.randint(3, 8))), code)
        for code, said in words.items()
        for _ in range(BAGS * (4 if code == "en" else 1))
    ]


def dated() -> list[tuple[str, str]]:
    """Return the sentences of the tests of dates and the words of the tables of dates, which chat about plans is full of."""
    found = []
    for path in sorted((HERE.parents[1] / "tests/text").glob("test_dates_*.py")):
        code = re.search(r'tense, "(\w\w)", expected', path.read_text("utf-8"))
        lines = re.findall(r"^(.+?) \| \w+ \| \S+$", path.read_text("utf-8"), re.MULTILINE)
        found += [(line, code[1]) for line in lines if code]
    for code, folder in TABLES.items():
        table = tomllib.loads((HERE.parents[1] / "src/engram/text" / folder / "dates.toml").read_text("utf-8"))
        groups = [*table["weekday"], *table["month"], *table["days"].values(), *table["units"].values(), *table["steps"].values()]
        found += [(phrase, code) for group in groups for phrase in group.split("|") if len(phrase) > 3]
    return found


def cut(text: str, rng: random.Random) -> str:
    """Return some words of a text in a row, so that short pieces are learned too."""
    words = text.split()
    size = rng.randint(2, 9)
    at = rng.randrange(max(1, len(words) - size + 1))
    return " ".join(words[at : at + size])


def fit(samples: list[tuple[str, str]], seed: int = 7) -> tuple[list[str], np.ndarray, list[str], np.ndarray]:
    """Return codes, biases, features and weights."""
    rng = random.Random(seed)
    samples = [(text, code) for text, code in samples if not _by_script(text)]
    samples = samples + [(cut(text, rng), code) for text, code in samples] + bags(rng)
    samples += [(text, code) for text, code in dated() if not _by_script(text)]
    codes = sorted({code for _, code in samples})
    held = collections.Counter(name for text, _ in samples for name in set(features(text)))
    names = [name for name, count in held.items() if count >= 3]
    place = {name: number for number, name in enumerate(names)}
    data = [
        (np.array([place[name] for name in features(text) if name in place], int), codes.index(code)) for text, code in samples
    ]
    share = collections.Counter(code for _, code in data)
    pull = {code: (len(data) / len(codes) / count) ** 0.5 for code, count in share.items()}
    weights, squares, bias = np.zeros((len(names), len(codes))), np.full((len(names), 1), 1e-2), np.zeros(len(codes))
    for _ in range(EPOCHS):
        rng.shuffle(data)
        for at, code in data:
            if not len(at):
                continue
            size = len(at) ** 0.5
            logits = weights[at].sum(0) + bias
            odds = np.exp(logits - logits.max())
            error = odds / odds.sum()
            error[code] -= 1
            error *= min(pull[code], HEAVIEST)
            squares[at] += (error**2).sum() / size
            weights[at] -= RATE * error / size / np.sqrt(squares[at])
            bias -= 0.01 * error
        weights *= 1 - DECAY
    bias[codes.index("en")] += PRIOR
    worth = np.abs(weights).max(1) * np.sqrt([held[name] for name in names])
    kept = np.argsort(-worth)[:MOST]
    return codes, bias, [names[number] for number in kept], weights[kept]


def rounded(weights: np.ndarray) -> np.ndarray:
    return np.clip(np.round(weights / SCALE) + _MIDDLE, 0, 255).astype(np.uint8)


def write(codes: list[str], bias: np.ndarray, names: list[str], weights: np.ndarray) -> None:
    head = "\t".join([f"{SCALE:.6f}", *(f"{code}={value:.3f}" for code, value in zip(codes, bias, strict=True))])
    lines = sorted(f"{name}\t{row.tobytes().hex()}" for name, row in zip(names, rounded(weights), strict=True))
    TABLE.write_text("\n".join([head, *lines]) + "\n", "utf-8")


def said(text: str, model: tuple[list[str], np.ndarray, dict[str, int], np.ndarray]) -> str:
    """Return the language by a model that was just fitted."""
    codes, bias, place, weights = model
    if code := _by_script(text):
        return code
    at = [place[name] for name in features(text) if name in place]
    return codes[int(np.argmax(weights[at].sum(0) + bias))] if at else ""


def check(by_file: dict[str, list[tuple[str, str]]]) -> None:
    """Print the share of each file that is recognised by a model that did not see it."""
    right, total = collections.Counter(), collections.Counter()
    for left_out, pieces in by_file.items():
        if all(code == "en" for _, code in pieces):
            continue
        codes, bias, names, weights = fit([sample for name, samples in by_file.items() if name != left_out for sample in samples])
        model = codes, bias, {name: number for number, name in enumerate(names)}, weights
        hits = collections.Counter()
        for text, code in pieces:
            if len(text.split()) < 3 and not _by_script(text):
                continue
            total[left_out] += 1
            total[code] += 1
            hit = said(text, model) == code
            right[left_out] += hit
            right[code] += hit
            hits[hit] += 1
    for name in total:
        print(f"{name:16} {right[name] / total[name]:.3f} of {total[name]}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="+")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    by_file = load(options.rows)
    if options.check:
        check(by_file)
    else:
        write(*fit([sample for samples in by_file.values() for sample in samples]))


if __name__ == "__main__":
    main()
