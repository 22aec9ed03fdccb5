"""How much of what was said comes back: the measures of retrieval, on conversations whose questions name their evidence.

Comes in: files of conversations, one store a line (plain or gzipped JSONL; `store`, `turns`, `questions`). Goes out: figures
as plain values (`run`) and as a page of text (`render`), with the definition of each measure beside it.

Every store is a vault of its own, in a temporary folder, with a key of its own; its turns are ingested in order, then each
question is asked as of its `at`. Settings are those in force; what differs from what ships is told with the figures.
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

from engram.bench.warm import warm
from engram.engine import Engram
from engram.env import Env
from engram.errors import InvalidContent
from engram.files.turns import NotATurn, moment, opened, turn_of
from engram.models.embedders import Embedder
from engram.settings import LiveSettings, Settings
from engram.text.tokens import count
from engram.types import Hit, Recall, Turn
from engram.values.frozen import field, frozen, mutable

Progress = Callable[[str, float | None], None]
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
    "reachable": "share of the evidence turns that any memory came from: what no ranking can exceed",
    "tokens@k": "tokens (cl100k_base) of the hits that it takes to reach k distinct refs",
    "AUROC": "chance that an answerable question's top score is above an unanswerable one's; ties count half, no hit is lowest",
}
"""All are means over questions that name evidence: `all` of them, those marked `answerable`, and by category."""


@frozen
class Question:
    text: str
    at: Any
    category: str
    answerable: bool
    evidence: frozenset[str]
    sessions: frozenset[str]
    answer: str = ""


@frozen
class Store:
    """One line of a file."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


@frozen
class Scored:
    """One question's figures."""

    category: str
    answerable: bool
    has_evidence: bool
    figures: Mapping[str, float]
    top: float


@mutable
class _Tally:
    """What is gathered over the stores of a file."""

    scored: list[Scored] = field(default_factory=list)
    milliseconds: dict[str, list[float]] = field(default_factory=dict)
    strategies: dict[str, int] = field(default_factory=dict)
    turns: int = 0
    memories: int = 0
    seconds: float = 0.0

    def took(self, stage: str, milliseconds: float) -> None:
        self.milliseconds.setdefault(stage, []).append(milliseconds)


# ── reading ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_stores(path: Path) -> Iterator[Store]:
    """The stores of a file; the first line that is none ends it, because a figure over a part would mean nothing."""
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                yield _store(json.loads(line))
            except (NotATurn, KeyError, TypeError, AttributeError, ValueError) as error:
                reason = str(error) if isinstance(error, NotATurn) else type(error).__name__
                problem = InvalidContent(
                    f"line {number} of {path.name} is not a store as this benchmark reads it ({reason}).",
                    way_out="See `engram bench recall --help`.",
                )
            else:
                continue
            raise problem


def _store(row: Mapping[str, Any]) -> Store:
    turns = tuple(turn_of(turn, Settings()) for turn in row["turns"])
    session_of = {turn.ref: turn.session or "" for turn in turns}
    return Store(row["store"], turns, tuple(_question(one, session_of) for one in row["questions"]))


def _question(row: Mapping[str, Any], session_of: Mapping[str | None, str]) -> Question:
    evidence = frozenset(map(str, row.get("evidence") or ()))
    sessions = row.get("evidence_sessions") or {session_of[ref] for ref in evidence if session_of.get(ref)}
    at = None if row.get("at") is None else moment(row["at"])
    return Question(
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
    return list(dict.fromkeys(name for name in names if name))


def share(wanted: frozenset[str], found: Sequence[str]) -> float:
    return len(wanted & set(found)) / len(wanted)


def ndcg(wanted: frozenset[str], found: Sequence[str], k: int) -> float:
    gained = sum(1 / math.log2(place + 2) for place, name in enumerate(found[:k]) if name in wanted)
    return gained / sum(1 / math.log2(place + 2) for place in range(min(len(wanted), k)))


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """The chance that a positive stands above a negative; None without both."""
    if not positive or not negative:
        return None
    wins = sum((high > low) + 0.5 * (high == low) for high in positive for low in negative)
    return wins / len(positive) / len(negative)


def tokens_to(hits: Sequence[Hit], k: int) -> int:
    """Tokens of the first hits, up to the one that brings the k-th distinct ref."""
    seen: set[str] = set()
    spent = 0
    for hit in hits:
        if len(seen) >= k:
            break
        seen.update(hit.memory.refs)
        spent += count(hit.memory.text)
    return spent


def score(question: Question, found: Recall, session_of: Mapping[str, str], known: set[str], ks: Sequence[int]) -> Scored:
    refs = first_distinct(ref for hit in found for ref in hit.memory.refs)
    sessions = first_distinct(session_of.get(ref, "") for ref in refs)
    figures: dict[str, float] = {f"tokens@{k}": float(tokens_to(found.hits, k)) for k in ks}
    if question.evidence:
        figures["reachable"] = share(question.evidence, sorted(known))
        figures[f"ndcg@{NDCG_AT}"] = ndcg(question.evidence, refs, NDCG_AT)
        for k in ks:
            figures[f"turn R@{k}"] = share(question.evidence, refs[:k])
            figures[f"turn all@{k}"] = float(question.evidence <= set(refs[:k]))
    if question.evidence and question.sessions:
        for k in ks:
            figures[f"session R@{k}"] = share(question.sessions, sessions[:k])
            figures[f"session all@{k}"] = float(question.sessions <= set(sessions[:k]))
    top = found[0].score if len(found) else -math.inf
    return Scored(question.category, question.answerable, bool(question.evidence), figures, top)


# ── the run ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def run(
    paths: Sequence[Path],
    *,
    ks: Sequence[int] = (5, 10, 20),
    stores: int | None = None,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
) -> Results:
    """All figures, file by file. `stores`: the first so many of each file. `embedder`: instead of the installed one."""
    tell = progress or (lambda stage, share: None)
    results = []
    for path in paths:
        tally = _Tally()
        chosen = list(islice(read_stores(path), stores))
        for number, store in enumerate(chosen):
            _Asker(store, sorted(set(ks)), tally, embedder).all(_Place(tell, path.name, number, len(chosen)).step)
        results.append({"file": path.name, "stores": len(chosen), **_figures(tally, sorted(set(ks)))})
    return {"definitions": DEFINITIONS, "ks": sorted(set(ks)), "limit": _limit(ks), "settings": _differing(), "files": results}


@frozen
class _Place:
    """Where in the file a store is, for those who wait."""

    tell: Progress
    file: str
    number: int
    stores: int

    def step(self, stage: str, part: float) -> None:
        self.tell(f"{self.file}: {stage}", (self.number + part) / self.stores)


def _limit(ks: Sequence[int]) -> int:
    """Hits to ask for: several memories may come from one turn, so more than the refs that are counted."""
    return max(_LIMIT, 3 * max(ks))


@mutable
class _Asker:
    """One store: a vault is made, filled, asked and thrown away."""

    store: Store
    ks: Sequence[int]
    tally: _Tally
    embedder: Embedder | None

    def all(self, tell: Callable[[str, float], None]) -> None:
        with tempfile.TemporaryDirectory(prefix="engram-bench-") as folder:
            path = Path(folder) / "vault"
            with Engram.open(path, key=Env().random(32), settings=OURS, embedder=self.embedder) as vault:
                self._ingest(vault, tell)
                warm(vault, PATIENCE_S)
                self._ask(vault, tell)

    def _ingest(self, vault: Engram, tell: Callable[[str, float], None]) -> None:
        heard = 0

        def step(turns: int) -> None:
            nonlocal heard
            heard += turns
            tell(f"{self.store.name}, heard {heard:,} turns", 0.7 * heard / len(self.store.turns))

        began = time.perf_counter()
        report = vault.ingest(self.store.turns, progress=step)
        self.tally.seconds += time.perf_counter() - began
        self.tally.turns += len(self.store.turns)
        self.tally.memories += report.counts["kept"]

    def _ask(self, vault: Engram, tell: Callable[[str, float], None]) -> None:
        known = _known_refs(vault)
        session_of = {turn.ref: turn.session or "" for turn in self.store.turns if turn.ref}
        for number, question in enumerate(self.store.questions):
            tell(f"{self.store.name}, asked {number:,} questions", 0.7 + 0.3 * number / len(self.store.questions))
            began = time.perf_counter()
            found = vault.recall(question.text, limit=_limit(self.ks), now=question.at)
            self.tally.took("whole", (time.perf_counter() - began) * 1000)
            for stage, spent in found.quality.milliseconds.items():
                self.tally.took(stage, spent)
            strategy = found.quality.strategy
            self.tally.strategies[strategy] = self.tally.strategies.get(strategy, 0) + 1
            self.tally.scored.append(score(question, found, session_of, known, self.ks))


def _known_refs(vault: Engram) -> set[str]:
    known: set[str] = set()
    cursor: str | None = None
    while True:
        page = vault.list(limit=1000, cursor=cursor)
        known.update(ref for memory in page for ref in memory.refs)
        cursor = page.cursor
        if cursor is None:
            return known


def _differing() -> dict[str, object]:
    """Settings in force that are not as shipped, apart from those this benchmark sets, and the vault's place: it has its own."""
    shipped, now = asdict(Settings()), asdict(LiveSettings(monotonic=Env().monotonic).now)
    return {name: value for name, value in now.items() if value != shipped[name] and name not in (*OURS, "home")}


def _figures(tally: _Tally, ks: Sequence[int]) -> Results:
    asked = tally.scored
    with_evidence = [one for one in asked if one.has_evidence]
    groups = {"all": with_evidence, "answerable": [one for one in with_evidence if one.answerable]}
    for category in sorted({one.category for one in asked}):
        groups[category] = [one for one in with_evidence if one.category == category]
    return {
        "questions": len(asked),
        "unanswerable": sum(not one.answerable for one in asked),
        "measures": {name: _means(group, ks) for name, group in groups.items()},
        "auroc": auroc([one.top for one in asked if one.answerable], [one.top for one in asked if not one.answerable]),
        "turns": tally.turns,
        "memories": tally.memories,
        "ingest_turns_per_s": tally.turns / tally.seconds if tally.seconds else 0.0,
        "strategies": tally.strategies,
        "recall_ms": {stage: percentiles(spent) for stage, spent in tally.milliseconds.items()},
    }


def _means(group: Sequence[Scored], ks: Sequence[int]) -> Results:
    names = [f"{what} {how}@{k}" for what in ("turn", "session") for how in ("R", "all") for k in ks]
    means: Results = {"questions": len(group)}
    for name in [*names, f"ndcg@{NDCG_AT}", "reachable", *(f"tokens@{k}" for k in ks)]:
        values = [one.figures[name] for one in group if name in one.figures]
        means[name] = statistics.fmean(values) if values else None
    return means


def percentiles(values: Sequence[float]) -> Results:
    """Nearest rank: a value that was measured, never one between two."""
    ordered = sorted(values)
    return {f"p{p}": ordered[max(math.ceil(p / 100 * len(ordered)) - 1, 0)] if ordered else 0.0 for p in (50, 95)}


# ── the page ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def render(results: Results) -> str:
    lines = [f"{name}: {meaning}" for name, meaning in results["definitions"].items()]
    ks = ", ".join(map(str, results["ks"]))
    lines.append(
        f"Means over questions that name evidence; k = {ks}; {results['limit']} hits asked for, as of each question's time."
    )
    if results["settings"]:
        lines.append("Not as shipped: " + ", ".join(f"{name} = {value}" for name, value in results["settings"].items()))
    for found in results["files"]:
        lines += ["", *_page(found, results["ks"])]
    return "\n".join(lines)


def _page(found: Results, ks: Sequence[int]) -> list[str]:
    lines = [
        f"{found['file']}: {found['stores']} stores, {found['turns']:,} turns, {found['memories']:,} memories kept,"
        f" {found['questions']:,} questions ({found['unanswerable']:,} unanswerable)"
    ]
    for what in ("turn", "session"):
        lines += ["", *_table(found["measures"], what, ks)]
    auc = "n/a" if found["auroc"] is None else f"{found['auroc']:.3f}"
    strategies = ", ".join(f"{name} ×{number:,}" for name, number in found["strategies"].items())
    lines += ["", f"abstention AUROC of the top score: {auc}", f"arms: {strategies}"]
    lines.append(f"ingest: {found['ingest_turns_per_s']:,.1f} turns/s, encoding included")
    stages = (f"{stage} {spent['p50']:.2f} / {spent['p95']:.2f}" for stage, spent in found["recall_ms"].items())
    return [*lines, "recall, ms p50 / p95: " + ", ".join(stages)]


def _table(measures: Results, what: str, ks: Sequence[int]) -> list[str]:
    columns = [f"{what} {how}@{k}" for how in ("R", "all") for k in ks]
    if what == "turn":
        columns += [f"ndcg@{NDCG_AT}", "reachable", *(f"tokens@{k}" for k in ks)]
    heads = [name.removeprefix(f"{what} ") for name in columns]
    widths = [max(len(head), 6) for head in heads]
    lines = [f"{f'by {what}':26} {'n':>5} " + " ".join(f"{head:>{width}}" for head, width in zip(heads, widths, strict=True))]
    for name, means in measures.items():
        cells = (_cell(column, means[column], width) for column, width in zip(columns, widths, strict=True))
        lines.append(f"{name:26} {means['questions']:5} " + " ".join(cells))
    return lines


def _cell(column: str, value: float | None, width: int) -> str:
    if value is None:
        return f"{'–':>{width}}"
    return f"{value:{width}.0f}" if column.startswith("tokens") else f"{value:{width}.3f}"
