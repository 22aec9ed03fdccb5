"""Measure recall, remember and ingest as multiples of the encoder alone, beside a numpy scan and plain FTS5 in the same run.

Input: sizes in memories. Output: figures as plain values (`run`) and as text (`render`). Memories are generated and their vectors
are random directions, so that filling spends no time in the encoder; questions are encoded by the encoder in use. The run works
in a temporary folder with a key of its own and the default settings.

The candidates alternate, question by question: the encoder alone, our recall, a float32 product with all vectors and a selection
of its best (`numpy`), and an OR over all words of the question in an unencrypted FTS5 table (`fts5`). Opening and RAM are
measured in a process of their own, which holds no baseline.
"""

from __future__ import annotations

import json
import os
import platform
import sqlite3  # noqa: TID251  the baseline; that it encrypts nothing is what is measured
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from engram.bench.recall import percentiles
from engram.bench.store_sides import dice, sentence
from engram.bench.warm import index_of, settle, warm
from engram.capture.embeddings import SPACE, passage
from engram.crypto.hardening import rss_bytes
from engram.engine import Engram
from engram.env import Env
from engram.index.vectors.matrix import encode
from engram.models import catalogue
from engram.models.embedders import Embedder, OnnxEmbedder, Vectors, hashing_embedder
from engram.rules.store_rules import MemoryRules
from engram.serve.operations.operation import ProgressCallback
from engram.settings import LiveSettings, Settings
from engram.store.sqlite.vault import open_vault
from engram.text.terms import terms
from engram.types import Memory, Outcome, Policy, Reader, Role, Turn
from engram.values.frozen import field, mutable
from engram.vault import credentials_from

Results = dict[str, Any]

_OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)
_SETTINGS: dict[str, Any] = {"harden_process": False, "close_on_sigterm": False, "backup_hours": 0.0}
_BATCH = 1000
_SMALL = 500  # a run below this size is a trial
_HITS = 150
_PATIENCE_S = 120.0
_SEED = 7
_STAND_IN = "hashing"
_DIMENSIONS = 384


# ── measurements ───────────────────────────────────────────────────────────────────────────────────────────────────────


def question_about(number: int) -> str:
    """Return a question about the sentence of this number, of natural length: rare names, frequent nouns, stop words."""
    words = sentence(number).split()
    return f"Do you remember what {words[0]} did with the {words[3]} of {words[5]} before we talked about the {words[-2]}?"


def directions(number: int, dimensions: int, seed: int) -> Vectors:
    """Return random vectors of length one, the same on every machine."""
    vectors = np.random.default_rng(seed).standard_normal((number, dimensions), np.float32)
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def encoder() -> tuple[Embedder, bool]:
    """Return the installed encoder and True, or a stand-in and False: ratios to the stand-in mean nothing."""
    model = catalogue.find()
    return (OnnxEmbedder(model), True) if model.installed() else (hashing_embedder(_DIMENSIONS), False)


@mutable
class SpeedBench:
    """A run: a folder with a vault, a plain FTS5 table, and a matrix of the same vectors."""

    folder: Path
    key: bytes
    embedder: Embedder
    trial: bool
    env: Env = field(default_factory=Env)
    held: int = 0
    matrix: list[Vectors] = field(default_factory=list)

    @property
    def settings(self) -> dict[str, Any]:
        return asdict(Settings(**_SETTINGS))

    @property
    def calls(self) -> int:
        return 8 if self.trial else 80

    def open(self) -> Engram:
        given = None if isinstance(self.embedder, OnnxEmbedder) else self.embedder
        return Engram.open(self.folder / "vault", key=self.key, settings=self.settings, env=self.env, embedder=given)

    def fill(self, size: int, report: Callable[[int], None]) -> float:
        """Fill the vault and the baselines up to `size` memories; return memories a second, without encoding."""
        live = LiveSettings(self.settings, monotonic=self.env.monotonic)
        spent, before = 0.0, self.held
        store, _ = open_vault(self.folder / "vault", live, self.env, MemoryRules(live), credentials_from(self.key, None))
        with closing(store), closing(self.plain()) as plain:
            while self.held < size:
                numbers = range(self.held, min(self.held + _BATCH, size))
                vectors = directions(len(numbers), self.embedder.dimensions, _SEED + self.held)
                texts, packed = [sentence(number) for number in numbers], encode(vectors)
                began = time.perf_counter()
                keys = [memory.key for memory in store.memories.add(_OWNER, [Memory(text=text) for text in texts])]
                model, dimensions = self.embedder.fingerprint, self.embedder.dimensions
                store.vectors.put(_OWNER, SPACE, dict(zip(keys, packed, strict=True)), model=model, dimensions=dimensions)
                spent += time.perf_counter() - began
                plain.executemany("INSERT INTO words (text) VALUES (?)", [(text,) for text in texts])
                plain.commit()
                self.matrix.append(vectors)
                self.held += len(numbers)
                report(self.held)
        return (self.held - before) / spent if spent else 0.0

    def plain(self) -> sqlite3.Connection:
        """Open the unencrypted FTS5 table."""
        connection = sqlite3.connect(self.folder / "plain.db")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, tokenize = 'porter unicode61')")
        return connection

    def numbers(self, salt: int) -> Iterator[int]:
        """Iterate over numbers of sentences to ask about, picked at random, the same in every run."""
        return (dice(place, salt) % max(self.held, 1) for place in range(self.calls))


def recalls(bench: SpeedBench, vault: Engram) -> Results:
    """Put each question to all candidates in turn; return percentiles, and ratios of medians. The first quarter warms up."""
    matrix = np.concatenate(bench.matrix) if bench.matrix else np.zeros((1, bench.embedder.dimensions), np.float32)
    spent: dict[str, list[float]] = {}
    strategies: dict[str, int] = {}
    with closing(bench.plain()) as plain:
        for place, number in enumerate(bench.numbers(11)):
            question = question_about(number)
            took: dict[str, float] = {}
            with _clock(took, "embedding"):
                vector = bench.embedder.query(question)
            with _clock(took, "recall"):
                recall = vault.recall(question)
            with _clock(took, "numpy"):
                scores = matrix @ vector
                best = np.argpartition(-scores, min(_HITS, len(scores) - 1))[:_HITS]
                best[np.argsort(-scores[best])]
            with _clock(took, "fts5"):
                match = " OR ".join(f'"{term}"' for term in terms(question))
                sql = "SELECT rowid, bm25(words) FROM words WHERE words MATCH ? ORDER BY 2 LIMIT ?"
                plain.execute(sql, (match, _HITS)).fetchall()
            took |= {f"stage {name}": value for name, value in recall.quality.milliseconds.items()}
            if place * 4 >= bench.calls:
                strategies[recall.quality.strategy] = strategies.get(recall.quality.strategy, 0) + 1
                for name, value in took.items():
                    spent.setdefault(name, []).append(value)
    figures = {name: percentiles(values) for name, values in spent.items()}
    staged = sum(figures[name]["p50"] for name in figures if name.startswith("stage "))
    return {
        **{name: value for name, value in figures.items() if not name.startswith("stage ")},
        "stages": {name.removeprefix("stage "): value for name, value in figures.items() if name.startswith("stage ")},
        "outside_stages_ms": figures["recall"]["p50"] - staged,
        "ratio": figures["recall"]["p50"] / figures["embedding"]["p50"],
        "strategies": strategies,
    }


def remembers(bench: SpeedBench, vault: Engram) -> Results:
    """Measure storing one sentence, durable and found by the next recall, beside its encoding alone."""
    spent: dict[str, list[float]] = {"embedding": [], "remember": [], "observe": []}
    for place in range(bench.calls // 2):
        new = 10_000_000 + bench.held * 7 + place * 2
        took: dict[str, float] = {}
        with _clock(took, "embedding"):
            bench.embedder.passages([sentence(new)])
        with _clock(took, "remember"):
            vault.remember(sentence(new))
        with _clock(took, "observe"):
            vault.observe(Turn(sentence(new + 1), "Ada"))
        if place * 4 >= bench.calls // 2:
            for name, value in took.items():
                spent[name].append(value)
    figures = {name: percentiles(values) for name, values in spent.items()}
    return {**figures, "ratio": figures["remember"]["p50"] / figures["embedding"]["p50"]}


def ingests(bench: SpeedBench, vault: Engram) -> Results:
    """Measure ingested turns a second, with all of capture, beside the encoder alone on the passages that they became."""
    number = 32 if bench.trial else 2048
    turns = [Turn(sentence(20_000_000 + bench.held * 7 + n), "Ada", session="bench") for n in range(number)]
    alone, ours = 0.0, 0.0
    for start in range(0, number, number // 4):  # alternating, so that other load on the machine affects both
        began = time.perf_counter()
        report = vault.ingest(turns[start : start + number // 4])
        ours += time.perf_counter() - began
        texts = [passage(memory.speaker, memory.text) for id in report.ids if (memory := vault.get(id))]
        began = time.perf_counter()
        bench.embedder.passages(texts)
        alone += time.perf_counter() - began
    return {"turns_per_s": number / ours, "embedding_per_s": number / alone, "share": alone / ours}


def imports(bench: SpeedBench) -> Results:
    """Measure imports a second without an encoder: another program's memories, and turns, which go through capture."""
    number = 32 if bench.trial else 4096
    rates: Results = {}
    texts = [sentence(40_000_000 + n) for n in range(2 * number)]
    with Engram.open(
        bench.folder / "plainly", key=bench.key, settings=bench.settings | {"model": "none"}, env=bench.env
    ) as vault:
        file = bench.folder / "memories.json"
        file.write_text(json.dumps({"results": [{"id": str(n), "memory": text} for n, text in enumerate(texts[:number])]}))
        rates["memories_per_s"] = _rate(number, lambda: vault.import_(file))
        file = bench.folder / "turns.jsonl"
        file.write_text(
            "\n".join(json.dumps({"text": text, "speaker": "Ada", "ref": str(n)}) for n, text in enumerate(texts[number:]))
        )
        rates["turns_per_s"] = _rate(number, lambda: vault.import_(file))
    return rates


def _rate(number: int, work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return number / (time.perf_counter() - began)


@contextmanager
def _clock(took: dict[str, float], name: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    took[name] = (time.perf_counter() - began) * 1000


# ── a process of its own ───────────────────────────────────────────────────────────────────────────────────────────────


def opens(bench: SpeedBench) -> Results:
    """Measure a new interpreter from a closed vault to its first answer and to its first with vectors; then its RAM."""
    script = f"from {__name__} import child; child()"
    order = json.dumps({"folder": str(bench.folder), "key": bench.key.hex(), "held": bench.held, "trial": bench.trial})
    done = subprocess.run(  # noqa: S603  our own interpreter and script; the key goes through the pipe
        [sys.executable, "-c", script], input=order, capture_output=True, text=True, check=True
    )
    figures: Results = json.loads(done.stdout)
    return figures


def child() -> None:
    """Measure opening in the process that `opens` starts; the order comes on standard input."""
    order = json.load(sys.stdin)
    before = rss_bytes()  # interpreter and imports
    bench = SpeedBench(Path(order["folder"]), bytes.fromhex(order["key"]), encoder()[0], order["trial"], held=order["held"])
    began = time.perf_counter()
    with bench.open() as vault:
        opened = time.perf_counter()
        first = vault.recall(question_about(1))
        answered = time.perf_counter()
        if first.outcome is not Outcome.ANSWERED:
            warm(vault, _PATIENCE_S)
            vault.recall(question_about(2))
        full = time.perf_counter()
        settle(vault, _PATIENCE_S)
        for number in list(bench.numbers(12))[:40]:
            vault.recall(question_about(number))
        vault.remember(sentence(30_000_000 + bench.held))
        index = index_of(vault)
        figures = {
            "open_ms": (opened - began) * 1000,
            "first_answer_ms": (answered - began) * 1000,
            "first_outcome": first.outcome.value,
            "first_with_vectors_ms": (full - began) * 1000,
            "rss_before_mib": before / 2**20,
            "rss_mib": rss_bytes() / 2**20,
            "loaded_from": "" if index is None else index.warmth.origin,
            "backend": "" if index is None else index.warmth.backend,
            "index_mib": 0.0 if index is None else index.warmth.memory_bytes / 2**20,
        }
    print(json.dumps(figures))


# ── the run ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def run(sizes: Sequence[int] = (1000, 10_000, 100_000), *, progress: ProgressCallback | None = None) -> Results:
    """Return all figures at each size, and each bar with whether it holds."""
    rising = sorted({max(size, 1) for size in sizes})
    report = progress or (lambda stage, share: None)
    embedder, real = encoder()
    with tempfile.TemporaryDirectory(prefix="engram-bench-") as folder:
        bench = SpeedBench(Path(folder), Env().random(32), embedder, rising[-1] < _SMALL)
        results: Results = {"environment": environment(embedder, real), "sizes": []}
        for number, size in enumerate(rising):
            done = number / len(rising)
            filled = bench.fill(size, partial(_report_filled, report, done))
            report(f"opening {size:,} memories", done)
            figures: Results = {"memories": size, "fill_per_s": filled, "open": opens(bench)}
            report(f"measuring at {size:,} memories", done)
            with bench.open() as vault:
                settle(vault, _PATIENCE_S)
                figures |= {"recall": recalls(bench, vault), "remember": remembers(bench, vault), "ingest": ingests(bench, vault)}
            results["sizes"].append(figures)
        report("importing", 1.0)
        results["import"] = imports(bench)
        report("done", 1.0)
    return {**results, "bars": bars(results)}


def _report_filled(report: ProgressCallback, done: float, held: int) -> None:
    report(f"filled {held:,} memories", done)


def environment(embedder: Embedder, real: bool) -> Results:
    """Describe the machine and the versions in use."""
    return {
        "cpus": os.cpu_count() or 1,
        "platform": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "encoder": embedder.fingerprint if real else f"none installed: {_STAND_IN}, so ratios to it mean nothing",
        "encoder_installed": real,
    }


_RECALL_LIMITS = {10_000: 2.0, 100_000: 2.5, 1_000_000: 5.0}
"""Multiples of the encoder alone, by the number of memories."""


def bars(results: Results) -> list[Results]:
    """Return the promised limits at the sizes that were measured, each with its value; ratios only with a real encoder."""
    measured: list[tuple[str, float, float, str]] = []
    for figures in results["sizes"]:
        size = figures["memories"]
        limit = _RECALL_LIMITS.get(size)
        if results["environment"]["encoder_installed"] and limit is not None:
            measured += [
                (f"recall p50 at {size:,}, against the encoder alone", figures["recall"]["ratio"], limit, "×"),
                (f"remember at {size:,}, against the encoder alone", figures["remember"]["ratio"], 4.0, "×"),
                (f"ingest at {size:,}, against the encoder alone", 1 / figures["ingest"]["share"], 1 / 0.85, "×"),
            ]
        if size == 100_000:
            opening = figures["open"]
            measured += [
                ("open to first answer at 100,000", opening["first_answer_ms"], 1000.0, "ms"),
                ("memory at 100,000 over interpreter and imports", opening["rss_mib"] - opening["rss_before_mib"], 350.0, "MiB"),
                ("import of 1,000 memories without encoding", 1e6 / results["import"]["memories_per_s"], 1000.0, "ms"),
            ]
    return [
        {"bar": bar, "value": value, "limit": limit, "unit": unit, "passed": value <= limit}
        for bar, value, limit, unit in measured
    ]


def render(results: Results) -> str:
    """Return the figures as text; milliseconds are p50 / p95."""
    env = results["environment"]
    lines = [f"{env['platform']}, {env['cpus']} CPUs, Python {env['python']}, numpy {env['numpy']}", f"encoder: {env['encoder']}"]
    for figures in results["sizes"]:
        lines += ["", *_page(figures)]
    rates = results["import"]
    lines += ["", f"import without encoding: {rates['memories_per_s']:,.0f} memories/s, {rates['turns_per_s']:,.0f} turns/s", ""]
    for bar in results["bars"]:
        lines.append(
            f"{'pass' if bar['passed'] else 'FAIL'}  {bar['bar']}: {bar['value']:.2f} {bar['unit']} (≤ {bar['limit']:.3g})"
        )
    return "\n".join(lines).rstrip()


def _page(figures: Results) -> list[str]:
    recall, remember, ingest, opening = (figures[name] for name in ("recall", "remember", "ingest", "open"))
    stages = ", ".join(f"{name} {_ms(value)}" for name, value in recall["stages"].items())
    strategies = ", ".join(f"{name} ×{number}" for name, number in recall["strategies"].items())
    return [
        f"{figures['memories']:,} memories, filled at {figures['fill_per_s']:,.0f}/s; {opening['backend'] or 'no'} vectors"
        f" ({opening['index_mib']:.1f} MiB)",
        f"  recall             {_ms(recall['recall'])} ms, {recall['ratio']:.2f} × the encoder alone"
        f" ({_ms(recall['embedding'])} ms)",
        f"    stages           {stages}; outside {recall['outside_stages_ms']:.2f}",
        f"    arms             {strategies}",
        f"  numpy exact scan   {_ms(recall['numpy'])} ms",
        f"  plain FTS5         {_ms(recall['fts5'])} ms",
        f"  remember           {_ms(remember['remember'])} ms, {remember['ratio']:.2f} × the encoder alone"
        f" ({_ms(remember['embedding'])} ms); observe {_ms(remember['observe'])} ms",
        f"  ingest             {ingest['turns_per_s']:,.0f} turns/s, {ingest['share']:.0%} of the encoder's"
        f" {ingest['embedding_per_s']:,.0f}/s",
        f"  open               {opening['open_ms']:.0f} ms; first answer {opening['first_answer_ms']:.0f} ms"
        f" ({opening['first_outcome']}); with vectors {opening['first_with_vectors_ms']:.0f} ms"
        f", index from {opening['loaded_from'] or 'nothing'}",
        f"  memory             {opening['rss_mib']:.0f} MiB, {opening['rss_mib'] - opening['rss_before_mib']:.0f} of it over"
        " interpreter and imports",
    ]


def _ms(value: Results) -> str:
    return f"{value['p50']:.2f} / {value['p95']:.2f}"
