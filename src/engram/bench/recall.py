"""Measure retrieval on conversations whose questions name their evidence.

Input: files of conversations, one store a line (plain or gzipped JSONL; `store`, `turns`, `questions`). Output: figures as plain
values (`run`) and as text (`render`), with a definition of each.

Every store becomes a temporary vault with a key of its own; its turns are ingested in order, then each question is asked as of
its `at`. The settings in force apply; those that differ from their defaults are listed with the figures.
"""

from __future__ import annotations

import json
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from engram.bench.tuning import changed
from engram.bench.warm import warm
from engram.engine import Engram
from engram.env import Env
from engram.errors import InvalidContent
from engram.files.turns import NotATurn, moment, opened, turn_of
from engram.models.embedders import Embedder
from engram.serve.operations.operation import ProgressCallback
from engram.settings import LiveSettings, Settings
from engram.text.tokens import count
from engram.types import Hit, Recall, Turn
from engram.values.frozen import field, frozen, mutable

Results = dict[str, Any]

NDCG_AT = 10
_LIMIT = 60
PATIENCE_S = 600.0
OURS: dict[str, object] = {"harden_process": False, "close_on_sigterm": False, "backup_hours": 0.0}

DEFINITIONS = {
    "turn R@k": "share of the evidence turns (`evidence`) among the first k distinct refs of the ranked hits",
    "turn all@k": "1 if all evidence turns are among them, else 0",
    f"ndcg@{NDCG_AT}": f"gain 1 for an evidence turn among the first {NDCG_AT} distinct refs, over that of the best order",
    "session R@k, all@k": "the same for the evidence's sessions among the first k distinct sessions of the ranked hits",
    "reachable": "share of the evidence turns that any memory came from: the upper limit for every ranking",
    "tokens@k": "tokens (cl100k_base) of the hits that it takes to reach k distinct refs",
    "AUROC": "chance that an answerable question's top score is above an unanswerable one's; ties count half, no hit is lowest",
}
"""All but AUROC are means over questions that name evidence: `all` of them, those marked `answerable`, and by category."""


@frozen
class BenchQuestion:
    """A labelled question.

    at: the time as of which it is asked. evidence: refs of the turns that answer it. sessions: the sessions of those turns.
    """

    text: str
    at: Any
    category: str
    answerable: bool
    evidence: frozenset[str]
    sessions: frozenset[str]
    answer: str = ""


@frozen
class Conversation:
    """A line of a file, there called a store: the turns of a conversation, and questions about it."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[BenchQuestion, ...]


@frozen
class QuestionScores:
    """The figures of one question; `top` is the score of its first hit."""

    category: str
    answerable: bool
    has_evidence: bool
    figures: Mapping[str, float]
    top: float


@mutable
class _RecallTally:
    """Figures gathered over the stores of a file."""

    scored: list[QuestionScores] = field(default_factory=list)
    milliseconds: dict[str, list[float]] = field(default_factory=dict)
    strategies: dict[str, int] = field(default_factory=dict)
    turns: int = 0
    memories: int = 0
    seconds: float = 0.0

    def add_time(self, stage: str, milliseconds: float) -> None:
        self.milliseconds.setdefault(stage, []).append(milliseconds)


# ── reading ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_stores(path: Path) -> Iterator[Conversation]:
    """Iterate over the stores of a file; raise `InvalidContent` at the first line that is none.

    A bad line is not skipped, because a figure over a part of the file would mean nothing.
    """
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                yield _store(json.loads(line))
            except (NotATurn, KeyError, TypeError, AttributeError, ValueError) as error:
                reason = str(error) if isinstance(error, NotATurn) else type(error).__name__
                problem = InvalidContent(
                    f"line {number} of {path.name} is not a store with turns and questions ({reason}).",
                    way_out="See `engram bench recall --help`.",
                )
            else:
                continue
            raise problem


def _store(row: Mapping[str, Any]) -> Conversation:
    turns = tuple(turn_of(turn, Settings()) for turn in row["turns"])
    session_of = {turn.ref: turn.session or "" for turn in turns}
    return Conversation(row["store"], turns, tuple(_question(question, session_of) for question in row["questions"]))


def _question(row: Mapping[str, Any], session_of: Mapping[str | None, str]) -> BenchQuestion:
    evidence = frozenset(map(str, row.get("evidence") or ()))
    sessions = row.get("evidence_sessions") or {session_of[ref] for ref in evidence if session_of.get(ref)}
    at = None if row.get("at") is None else moment(row["at"])
    return BenchQuestion(
        str(row["text"]),
        at,
        str(row.get("category", "")),
        bool(row.get("answerable", True)),
        evidence,
        frozenset(sessions),
        str(row.get("answer") or ""),
    )


# ── scoring ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def first_distinct(names: Iterable[str]) -> list[str]:
    """Return the non-empty names without repetitions, in the order of their first occurrence."""
    return list(dict.fromkeys(name for name in names if name))


def share(wanted: frozenset[str], found: Sequence[str]) -> float:
    """Return the share of the wanted names that were found."""
    return len(wanted & set(found)) / len(wanted)


def ndcg(wanted: frozenset[str], found: Sequence[str], k: int) -> float:
    """Return the normalised discounted cumulative gain of the first k names, each wanted one with gain 1."""
    gain = sum(1 / math.log2(rank + 2) for rank, name in enumerate(found[:k]) if name in wanted)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(len(wanted), k)))


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """Return the chance that a positive score is above a negative one, or None if either list is empty."""
    if not positive or not negative:
        return None
    wins = sum((high > low) + 0.5 * (high == low) for high in positive for low in negative)
    return wins / len(positive) / len(negative)


def tokens_to(hits: Sequence[Hit], k: int) -> int:
    """Return the tokens of the first hits, up to the hit with the k-th distinct ref."""
    seen: set[str] = set()
    spent = 0
    for hit in hits:
        if len(seen) >= k:
            break
        seen.update(hit.memory.refs)
        spent += count(hit.memory.text)
    return spent


def score(
    question: BenchQuestion, recall: Recall, session_of: Mapping[str, str], reachable: set[str], ks: Sequence[int]
) -> QuestionScores:
    """Return the figures of one question. `reachable`: the refs that any memory of the vault has."""
    refs = first_distinct(ref for hit in recall for ref in hit.memory.refs)
    sessions = first_distinct(session_of.get(ref, "") for ref in refs)
    figures: dict[str, float] = {f"tokens@{k}": float(tokens_to(recall.hits, k)) for k in ks}
    if question.evidence:
        figures["reachable"] = share(question.evidence, sorted(reachable))
        figures[f"ndcg@{NDCG_AT}"] = ndcg(question.evidence, refs, NDCG_AT)
        for k in ks:
            figures[f"turn R@{k}"] = share(question.evidence, refs[:k])
            figures[f"turn all@{k}"] = float(question.evidence <= set(refs[:k]))
    if question.evidence and question.sessions:
        for k in ks:
            figures[f"session R@{k}"] = share(question.sessions, sessions[:k])
            figures[f"session all@{k}"] = float(question.sessions <= set(sessions[:k]))
    top = recall[0].score if len(recall) else -math.inf
    return QuestionScores(question.category, question.answerable, bool(question.evidence), figures, top)


# ── the run ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def run(
    paths: Sequence[Path],
    *,
    ks: Sequence[int] = (5, 10, 20),
    stores: int | None = None,
    embedder: Embedder | None = None,
    tuning: Sequence[object] = (),
    progress: ProgressCallback | None = None,
) -> Results:
    """Return all figures, file by file.

    stores: only the first so many of each file. embedder: replaces the installed one. tuning: `Weights` and `Limits` to try.
    """
    report = progress or (lambda stage, share: None)
    results = []
    for path in paths:
        tally = _RecallTally()
        chosen = list(islice(read_stores(path), stores))
        for number, store in enumerate(chosen):
            _StoreRun(store, sorted(set(ks)), tally, embedder, tuning).run(
                _FileProgress(report, path.name, number, len(chosen)).step
            )
        results.append({"file": path.name, "stores": len(chosen), **_figures(tally, sorted(set(ks)))})
    return {
        "definitions": DEFINITIONS,
        "ks": sorted(set(ks)),
        "limit": _limit(ks),
        "settings": _changed_settings() | changed(tuning),
        "files": results,
    }


@frozen
class _FileProgress:
    """Turns the progress within one store into progress within its file."""

    report: ProgressCallback
    file: str
    number: int
    stores: int

    def step(self, stage: str, part: float) -> None:
        self.report(f"{self.file}: {stage}", (self.number + part) / self.stores)


def _limit(ks: Sequence[int]) -> int:
    """Return the number of hits to ask for; more than the refs that are counted, as several memories may share a turn."""
    return max(_LIMIT, 3 * max(ks))


@mutable
class _StoreRun:
    """The run of one store: a temporary vault is made, filled and asked."""

    store: Conversation
    ks: Sequence[int]
    tally: _RecallTally
    embedder: Embedder | None
    tuning: Sequence[object]

    def run(self, report: Callable[[str, float], None]) -> None:
        with tempfile.TemporaryDirectory(prefix="engram-bench-") as folder:
            path = Path(folder) / "vault"
            with Engram.open(path, key=Env().random(32), settings=OURS, embedder=self.embedder, tuning=self.tuning) as vault:
                self._ingest(vault, report)
                warm(vault, PATIENCE_S)
                self._ask(vault, report)

    def _ingest(self, vault: Engram, report: Callable[[str, float], None]) -> None:
        ingested = 0

        def step(turns: int) -> None:
            nonlocal ingested
            ingested += turns
            report(f"{self.store.name}, {ingested:,} turns ingested", 0.7 * ingested / len(self.store.turns))

        began = time.perf_counter()
        counts = vault.ingest(self.store.turns, progress=step).counts
        self.tally.seconds += time.perf_counter() - began
        self.tally.turns += len(self.store.turns)
        self.tally.memories += counts["kept"]

    def _ask(self, vault: Engram, report: Callable[[str, float], None]) -> None:
        reachable = _reachable_refs(vault)
        session_of = {turn.ref: turn.session or "" for turn in self.store.turns if turn.ref}
        for number, question in enumerate(self.store.questions):
            report(f"{self.store.name}, {number:,} questions asked", 0.7 + 0.3 * number / len(self.store.questions))
            began = time.perf_counter()
            recall = vault.recall(question.text, limit=_limit(self.ks), now=question.at)
            self.tally.add_time("whole", (time.perf_counter() - began) * 1000)
            for stage, spent in recall.quality.milliseconds.items():
                self.tally.add_time(stage, spent)
            strategy = recall.quality.strategy
            self.tally.strategies[strategy] = self.tally.strategies.get(strategy, 0) + 1
            self.tally.scored.append(score(question, recall, session_of, reachable, self.ks))


def _reachable_refs(vault: Engram) -> set[str]:
    """Return the refs of the turns that any memory came from."""
    refs: set[str] = set()
    cursor: str | None = None
    while True:
        page = vault.list(limit=1000, cursor=cursor)
        refs.update(ref for memory in page for ref in memory.refs)
        cursor = page.cursor
        if cursor is None:
            return refs


def _changed_settings() -> dict[str, object]:
    """Return the settings in force that differ from their default, without those that the benchmark itself sets."""
    shipped, now = asdict(Settings()), asdict(LiveSettings(monotonic=Env().monotonic).now)
    return {name: value for name, value in now.items() if value != shipped[name] and name not in (*OURS, "home")}


def _figures(tally: _RecallTally, ks: Sequence[int]) -> Results:
    scored = tally.scored
    with_evidence = [scores for scores in scored if scores.has_evidence]
    groups = {"all": with_evidence, "answerable": [scores for scores in with_evidence if scores.answerable]}
    for category in sorted({scores.category for scores in scored}):
        groups[category] = [scores for scores in with_evidence if scores.category == category]
    answerable = [scores.top for scores in scored if scores.answerable]
    unanswerable = [scores.top for scores in scored if not scores.answerable]
    return {
        "questions": len(scored),
        "unanswerable": len(unanswerable),
        "measures": {name: _means(group, ks) for name, group in groups.items()},
        "auroc": auroc(answerable, unanswerable),
        "turns": tally.turns,
        "memories": tally.memories,
        "ingest_turns_per_s": tally.turns / tally.seconds if tally.seconds else 0.0,
        "strategies": tally.strategies,
        "recall_ms": {stage: percentiles(spent) for stage, spent in tally.milliseconds.items()},
    }


def _means(group: Sequence[QuestionScores], ks: Sequence[int]) -> Results:
    names = [f"{unit} {measure}@{k}" for unit in ("turn", "session") for measure in ("R", "all") for k in ks]
    means: Results = {"questions": len(group)}
    for name in [*names, f"ndcg@{NDCG_AT}", "reachable", *(f"tokens@{k}" for k in ks)]:
        values = [scores.figures[name] for scores in group if name in scores.figures]
        means[name] = statistics.fmean(values) if values else None
    return means


def percentiles(values: Sequence[float]) -> Results:
    """Return p50 and p95 by nearest rank: always a measured value, never one between two."""
    ordered = sorted(values)
    return {f"p{p}": ordered[max(math.ceil(p / 100 * len(ordered)) - 1, 0)] if ordered else 0.0 for p in (50, 95)}


# ── the page ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def render(results: Results) -> str:
    """Return the figures as text."""
    lines = [f"{name}: {meaning}" for name, meaning in results["definitions"].items()]
    ks = ", ".join(map(str, results["ks"]))
    lines.append(
        f"Means over questions that name evidence; k = {ks}; {results['limit']} hits asked for, as of each question's time."
    )
    if results["settings"]:
        lines.append("Not at their defaults: " + ", ".join(f"{name} = {value}" for name, value in results["settings"].items()))
    for file in results["files"]:
        lines += ["", *_page(file, results["ks"])]
    return "\n".join(lines)


def _page(file: Results, ks: Sequence[int]) -> list[str]:
    lines = [
        f"{file['file']}: {file['stores']} stores, {file['turns']:,} turns, {file['memories']:,} memories kept,"
        f" {file['questions']:,} questions ({file['unanswerable']:,} unanswerable)"
    ]
    for unit in ("turn", "session"):
        lines += ["", *_table(file["measures"], unit, ks)]
    auc = "n/a" if file["auroc"] is None else f"{file['auroc']:.3f}"
    strategies = ", ".join(f"{name} ×{number:,}" for name, number in file["strategies"].items())
    lines += ["", f"abstention AUROC of the top score: {auc}", f"arms: {strategies}"]
    lines.append(f"ingest: {file['ingest_turns_per_s']:,.1f} turns/s, encoding included")
    stages = (f"{stage} {spent['p50']:.2f} / {spent['p95']:.2f}" for stage, spent in file["recall_ms"].items())
    return [*lines, "recall, ms p50 / p95: " + ", ".join(stages)]


def _table(measures: Results, unit: str, ks: Sequence[int]) -> list[str]:
    columns = [f"{unit} {measure}@{k}" for measure in ("R", "all") for k in ks]
    if unit == "turn":
        columns += [f"ndcg@{NDCG_AT}", "reachable", *(f"tokens@{k}" for k in ks)]
    heads = [name.removeprefix(f"{unit} ") for name in columns]
    widths = [max(len(head), 6) for head in heads]
    lines = [f"{f'by {unit}':26} {'n':>5} " + " ".join(f"{head:>{width}}" for head, width in zip(heads, widths, strict=True))]
    for name, means in measures.items():
        cells = (_cell(column, means[column], width) for column, width in zip(columns, widths, strict=True))
        lines.append(f"{name:26} {means['questions']:5} " + " ".join(cells))
    return lines


def _cell(column: str, value: float | None, width: int) -> str:
    if value is None:
        return f"{'–':>{width}}"
    return f"{value:{width}.0f}" if column.startswith("tokens") else f"{value:{width}.3f}"
