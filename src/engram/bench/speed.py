"""How fast recall and remember are, as multiples of the encoder alone, of a numpy scan and of plain FTS5 in the same run.

Comes in: sizes in memories. Goes out: figures as plain values (`run`) and as a page of text (`render`). Memories are made up
and their vectors are random directions, so that filling spends no time in the encoder; questions are encoded by the encoder
in use. Works in a temporary folder with a key of its own and the settings that ship.

What is compared takes turns, question by question: the encoder alone, our recall, a float32 product with all vectors and
the best of it (`numpy`), and an OR over all words of the question in an unencrypted FTS5 table (`fts5`). Opening and memory
are measured in a process of their own, which holds no baseline.
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
from engram.crypto.process import rss_bytes
from engram.engine import Engram
from engram.env import Env
from engram.index.vectors.matrix import encode
from engram.models import catalog
from engram.models.embedders import Embedder, OnnxEmbedder, Vectors, hashing_embedder
from engram.settings import LiveSettings, Settings
from engram.store.sqlite.vault import open_vault
from engram.text.terms import terms
from engram.types import Memory, Outcome, Policy, Reader, Role, Turn
from engram.values.frozen import field, mutable
from engram.vault import credentials_from

Progress = Callable[[str, float | None], None]
Results = dict[str, Any]

_OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)
_SETTINGS: dict[str, Any] = {"harden_process": False, "close_on_sigterm": False, "backup_hours": 0.0}
_BATCH = 1000
_SMALL = 500  # below this size a run is only a trial
_FOUND = 150
_PATIENCE_S = 120.0
_SEED = 7
_STAND_IN = "hashing"
_DIMENSIONS = 384


# ── what is measured ───────────────────────────────────────────────────────────────────────────────────────────────────


def asked_about(number: int) -> str:
    """A question about one of the sentences, in a natural length: rare names, frequent nouns, words that say nothing."""
    words = sentence(number).split()
    return f"Do you remember what {words[0]} did with the {words[3]} of {words[5]} before we talked about the {words[-2]}?"


def directions(number: int, dimensions: int, seed: int) -> Vectors:
    """Random vectors of length one, the same on every machine."""
    made = np.random.default_rng(seed).standard_normal((number, dimensions), np.float32)
    unit: Vectors = made / np.linalg.norm(made, axis=1, keepdims=True)
    return unit


def encoder() -> tuple[Embedder, bool]:
    """The installed one; without it a stand-in that takes no time, and ratios to it mean nothing."""
    model = catalog.find()
    return (OnnxEmbedder(model), True) if model.installed() else (hashing_embedder(_DIMENSIONS), False)


@mutable
class Bench:
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

    def fill(self, size: int, tell: Callable[[int], None]) -> float:
        """Up to `size` memories with vectors, here and in the baselines; memories a second, encoding left out."""
        live = LiveSettings(self.settings, monotonic=self.env.monotonic)
        spent, before = 0.0, self.held
        store, _ = open_vault(self.folder / "vault", live, self.env, credentials_from(self.key, None))
        with closing(store), closing(self.plain()) as plain:
            while self.held < size:
                numbers = range(self.held, min(self.held + _BATCH, size))
                vectors = directions(len(numbers), self.embedder.dimensions, _SEED + self.held)
                texts, packed = [sentence(number) for number in numbers], encode(vectors)
                began = time.perf_counter()
                kept = store.add(_OWNER, [Memory(text=text) for text in texts])
                keys = [memory.key for memory in kept]
                model, dimensions = self.embedder.fingerprint, self.embedder.dimensions
                store.put_vectors(_OWNER, SPACE, dict(zip(keys, packed, strict=True)), model=model, dimensions=dimensions)
                spent += time.perf_counter() - began
                plain.executemany("INSERT INTO words (text) VALUES (?)", [(text,) for text in texts])
                plain.commit()
                self.matrix.append(vectors)
                self.held += len(numbers)
                tell(self.held)
        return (self.held - before) / spent if spent else 0.0

    def plain(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.folder / "plain.db")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, tokenize = 'porter unicode61')")
        return connection

    def numbers(self, salt: int) -> Iterator[int]:
        return (dice(place, salt) % max(self.held, 1) for place in range(self.calls))


def recalls(bench: Bench, vault: Engram) -> Results:
    """Each question to all sides in turn, the first quarter to warm up; then percentiles, and ratios of the medians."""
    matrix = np.concatenate(bench.matrix) if bench.matrix else np.zeros((1, bench.embedder.dimensions), np.float32)
    spent: dict[str, list[float]] = {}
    strategies: dict[str, int] = {}
    with closing(bench.plain()) as plain:
        for place, number in enumerate(bench.numbers(11)):
            question = asked_about(number)
            took: dict[str, float] = {}
            with _clock(took, "embedding"):
                vector = bench.embedder.query(question)
            with _clock(took, "recall"):
                found = vault.recall(question)
            with _clock(took, "numpy"):
                scores = matrix @ vector
                best = np.argpartition(-scores, min(_FOUND, len(scores) - 1))[:_FOUND]
                best[np.argsort(-scores[best])]
            with _clock(took, "fts5"):
                match = " OR ".join(f'"{term}"' for term in terms(question))
                sql = "SELECT rowid, bm25(words) FROM words WHERE words MATCH ? ORDER BY 2 LIMIT ?"
                plain.execute(sql, (match, _FOUND)).fetchall()
            took |= {f"stage {name}": value for name, value in found.quality.milliseconds.items()}
            if place * 4 >= bench.calls:
                strategies[found.quality.strategy] = strategies.get(found.quality.strategy, 0) + 1
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


def remembers(bench: Bench, vault: Engram) -> Results:
    """One sentence kept, durable and found by the next recall, beside its encoding alone."""
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


def ingests(bench: Bench, vault: Engram) -> Results:
    """Turns a second, with all that capture does; beside the encoder alone on the very passages that these became."""
    number = 32 if bench.trial else 2048
    said = [Turn(sentence(20_000_000 + bench.held * 7 + n), "Ada", session="bench") for n in range(number)]
    alone, ours = 0.0, 0.0
    for start in range(0, number, number // 4):  # in turns, so that what else this machine does hits both
        began = time.perf_counter()
        kept = vault.ingest(said[start : start + number // 4])
        ours += time.perf_counter() - began
        texts = [passage(memory.speaker, memory.text) for known in kept.ids if (memory := vault.get(known))]
        began = time.perf_counter()
        bench.embedder.passages(texts)
        alone += time.perf_counter() - began
    return {"turns_per_s": number / ours, "embedding_per_s": number / alone, "share": alone / ours}


def imports(bench: Bench) -> Results:
    """What comes in from a file a second where nothing is encoded: memories of others, and turns, which are read."""
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


def opens(bench: Bench) -> Results:
    """From a closed vault to the first answer, and to the first with vectors, in a new interpreter; then its memory."""
    script = f"from {__name__} import child; child()"
    told = json.dumps({"folder": str(bench.folder), "key": bench.key.hex(), "held": bench.held, "trial": bench.trial})
    done = subprocess.run(  # noqa: S603  our own interpreter and words; the key goes through the pipe
        [sys.executable, "-c", script], input=told, capture_output=True, text=True, check=True
    )
    figures: Results = json.loads(done.stdout)
    return figures


def child() -> None:
    """What `opens` starts."""
    order = json.load(sys.stdin)
    before = rss_bytes()  # interpreter and imports
    bench = Bench(Path(order["folder"]), bytes.fromhex(order["key"]), encoder()[0], order["trial"], held=order["held"])
    began = time.perf_counter()
    with bench.open() as vault:
        opened = time.perf_counter()
        first = vault.recall(asked_about(1))
        answered = time.perf_counter()
        if first.outcome is not Outcome.ANSWERED:
            warm(vault, _PATIENCE_S)
            vault.recall(asked_about(2))
        full = time.perf_counter()
        settle(vault, _PATIENCE_S)
        for number in list(bench.numbers(12))[:40]:
            vault.recall(asked_about(number))
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


def run(sizes: Sequence[int] = (1000, 10_000, 100_000), *, progress: Progress | None = None) -> Results:
    """All figures at each size, and each bar with whether it holds."""
    rising = sorted({max(size, 1) for size in sizes})
    tell = progress or (lambda stage, share: None)
    embedder, real = encoder()
    with tempfile.TemporaryDirectory(prefix="engram-bench-") as folder:
        bench = Bench(Path(folder), Env().random(32), embedder, rising[-1] < _SMALL)
        results: Results = {"environment": environment(embedder, real), "sizes": []}
        for number, size in enumerate(rising):
            done = number / len(rising)
            filled = bench.fill(size, partial(_filled, tell, done))
            tell(f"opening {size:,} memories", done)
            found: Results = {"memories": size, "fill_per_s": filled, "open": opens(bench)}
            tell(f"measuring at {size:,} memories", done)
            with bench.open() as vault:
                settle(vault, _PATIENCE_S)
                found |= {"recall": recalls(bench, vault), "remember": remembers(bench, vault), "ingest": ingests(bench, vault)}
            results["sizes"].append(found)
        tell("importing", 1.0)
        results["import"] = imports(bench)
        tell("done", 1.0)
    return {**results, "bars": bars(results)}


def _filled(tell: Progress, done: float, held: int) -> None:
    tell(f"filled {held:,} memories", done)


def environment(embedder: Embedder, real: bool) -> Results:
    return {
        "cpus": os.cpu_count() or 1,
        "platform": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "encoder": embedder.fingerprint if real else f"none installed: {_STAND_IN}, so ratios to it mean nothing",
        "encoder_installed": real,
    }


_RECALL_BARS = ((10_000, 2.0), (100_000, 2.5), (1_000_000, 5.0))


def bars(results: Results) -> list[Results]:
    """What DESIGN §7 promises, at the sizes that were measured; ratios only against a real encoder."""
    made: list[tuple[str, float, float, str]] = []
    for found in results["sizes"]:
        size = found["memories"]
        limits = [limit for at, limit in _RECALL_BARS if at == size]
        if results["environment"]["encoder_installed"]:
            made += [
                (f"recall p50 at {size:,}, against the encoder alone", found["recall"]["ratio"], limit, "×") for limit in limits
            ]
            made += [(f"remember at {size:,}, against the encoder alone", found["remember"]["ratio"], 4.0, "×")] if limits else []
            made += (
                [(f"ingest at {size:,}, against the encoder alone", 1 / found["ingest"]["share"], 1 / 0.85, "×")]
                if limits
                else []
            )
        if size == 100_000:
            made.append(("open to first answer at 100,000", found["open"]["first_answer_ms"], 1000.0, "ms"))
            grown = found["open"]["rss_mib"] - found["open"]["rss_before_mib"]
            made.append(("memory at 100,000 over interpreter and imports", grown, 350.0, "MiB"))
            made.append(("import of 1,000 memories without encoding", 1e6 / results["import"]["memories_per_s"], 1000.0, "ms"))
    return [
        {"bar": bar, "value": value, "limit": limit, "unit": unit, "passed": value <= limit} for bar, value, limit, unit in made
    ]


def render(results: Results) -> str:
    """The figures as a page of text; milliseconds are p50 / p95."""
    env = results["environment"]
    lines = [f"{env['platform']}, {env['cpus']} CPUs, Python {env['python']}, numpy {env['numpy']}", f"encoder: {env['encoder']}"]
    for found in results["sizes"]:
        lines += ["", *_page(found)]
    rates = results["import"]
    lines += ["", f"import without encoding: {rates['memories_per_s']:,.0f} memories/s, {rates['turns_per_s']:,.0f} turns/s", ""]
    for bar in results["bars"]:
        lines.append(
            f"{'pass' if bar['passed'] else 'FAIL'}  {bar['bar']}: {bar['value']:.2f} {bar['unit']} (≤ {bar['limit']:.3g})"
        )
    return "\n".join(lines).rstrip()


def _page(found: Results) -> list[str]:
    recall, remember, ingest, opening = (found[name] for name in ("recall", "remember", "ingest", "open"))
    stages = ", ".join(f"{name} {_ms(value)}" for name, value in recall["stages"].items())
    strategies = ", ".join(f"{name} ×{number}" for name, number in recall["strategies"].items())
    return [
        f"{found['memories']:,} memories, filled at {found['fill_per_s']:,.0f}/s; {opening['backend'] or 'no'} vectors"
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
