"""Makes src/engram/guard/injection.weights from the sentences beside this file. The same seed makes the same file.

    python tools/injection/train.py [--check]

Logistic regression over hashed words, pairs and triples, L2, full-batch Adam; one byte a bucket. `--check` compares instead of writing.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import attacks
import grammar
import ordinary

from engram.guard.injection import BUCKETS, classifier_tokens, feature_buckets, windows
from engram.guard.injection_rules import normalize

OUT = Path(__file__).parents[2] / "src/engram/guard/injection.weights"
SEED = 7
STEPS, RATE, L2 = 260, 0.4, 3e-5
FRAMES = (
    "{{'content': '{}', 'id': 'a12'}}", '{{"text": "{}", "from": "kim@work.example", "time": "2023-04-11"}}', "{{'reviews': [{{'name': 'Jo', 'rating': 4, 'text': '{}'}}]}}",
    '{{"notes": [{{"title": "Plan", "body": "{}"}}]}}', "{{'bio': '{}', 'user': 'kite9'}}", "SUBJECT: Update | CONTENT: Hi Sam, thanks for your order.\n{}", "From: ops@work.example\n\n{}",
    "<p>{}</p>", "{{'event': {{'name': '{}', 'start': '2023-02-01T10:00'}}}}", "> {}",
)  # fmt: skip


def sentences() -> tuple[list[str], list[bool]]:
    dice = random.Random(SEED)
    texts, labels = [], []
    plain = [t for name in ("talk", "asking", "advice", "mail") for t in ordinary.FAMILIES[name][0]]
    for name, (templates, count) in attacks.FAMILIES.items():
        for _ in range(count):
            text = grammar.roughened(grammar.grow(dice.choice(templates), attacks.LISTS, dice), dice)
            if name in ("extracting", "overriding", "unbinding", "forging") and dice.random() < 0.35:  # attacks come in rows
                other = dice.choice(list(attacks.FAMILIES))
                text += " " + grammar.grow(dice.choice(attacks.FAMILIES[other][0]), attacks.LISTS, dice)
            texts.append(_framed(text, 0.35 if name in ("commanding", "overriding") else 0.08, plain, dice))
            labels.append(True)
    for name, (templates, count) in ordinary.FAMILIES.items():
        for _ in range(count):
            text = grammar.roughened(grammar.grow(dice.choice(templates), ordinary.LISTS, dice), dice)
            if name in ("talk", "asking", "meant") and dice.random() < 0.4:
                text += " " + grammar.grow(dice.choice(templates), ordinary.LISTS, dice)
            texts.append(_framed(text, 0.10 if name in ("talk", "advice") else 0.0, plain, dice))
            labels.append(False)
    return texts, labels


def _framed(text: str, often: float, plain: list[str], dice: random.Random) -> str:
    if dice.random() < often:
        return dice.choice(FRAMES).format(text)
    if dice.random() < often:
        return grammar.grow(dice.choice(plain), ordinary.LISTS, dice) + " " + text
    return text


def train() -> bytes:
    texts, labels = sentences()
    rows, truth = [], []
    for text, label in zip(texts, labels, strict=True):
        words = classifier_tokens(normalize(text).text)
        for start, end in windows(len(words))[: 1 if label else 4]:
            row = np.concatenate(feature_buckets(words[start:end]))
            rows.append(row[row != BUCKETS - 1])
            truth.append(label)
    lengths = np.array([len(row) for row in rows])
    owners = np.repeat(np.arange(len(rows)), lengths)
    columns = np.concatenate(rows)
    values = np.repeat(1.0 / np.sqrt(lengths), lengths)
    y = np.array(truth, float)
    each = np.where(y > 0, 0.5 / y.sum(), 0.5 / (1 - y).sum())
    w, bias, m, v = np.zeros(BUCKETS), 0.0, np.zeros(BUCKETS + 1), np.zeros(BUCKETS + 1)
    for step in range(1, STEPS + 1):
        logits = bias + np.bincount(owners, w[columns] * values, len(rows))
        error = (1.0 / (1.0 + np.exp(-logits)) - y) * each
        slope = np.append(np.bincount(columns, error[owners] * values, BUCKETS) + L2 * w, error.sum())
        m, v = 0.9 * m + 0.1 * slope, 0.999 * v + 0.001 * slope**2
        move = RATE * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        w, bias = w - move[:-1], bias - move[-1]
    scale = np.abs(w).max() / 127
    sys.stderr.write(
        f"{len(rows):,} windows, accuracy {((logits > 0) == (y > 0)).mean():.4f}, largest weight {np.abs(w).max():.1f}\n"
    )
    return np.array([scale, bias], "<f4").tobytes() + np.round(w / scale).astype(np.int8).tobytes()


def same(one: bytes, other: bytes) -> bool:
    """To one step of a byte: another numpy may round the last digit of an exponential differently."""
    if len(one) != len(other):
        return False
    steps = [np.frombuffer(raw, np.int8, offset=8).astype(int) for raw in (one, other)]
    return int(np.abs(steps[0] - steps[1]).max()) <= 1


if __name__ == "__main__":
    made = train()
    if "--check" in sys.argv:
        sys.exit(0 if same(OUT.read_bytes(), made) else "the weights are not those of these sentences")
    OUT.write_bytes(made)
