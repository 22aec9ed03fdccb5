"""How much of the evidence stands in a context of so many tokens: our packing beside the usual ones, on the same ranking.

Comes in: files of conversations as `bench_recall` reads them. Goes out: figures as plain values (`run`) and a page (`render`).

`context@N` is the share of a question's evidence turns whose memory stands, at whatever tier, in a context of N tokens, fence and
headers included; means over questions that name evidence. Beside it, on the same hits: our own statements whole, from the best
down until the next one does not fit (`top-k`); the turns they come from, whole, which is what an engine packs that keeps turns
(`top-k turns`); and the last N tokens of the conversation, without any memory (`history`).
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from engram.context.budget import PROFILES
from engram.context.packing import Tier
from engram.context.window import ContextWindow, build
from engram.engine import Engram
from engram.env import Env
from engram.models.embed import Embedder
from engram.serve.bench_recall import OURS, PATIENCE_S, Progress, Question, Results, Store, percentiles, read_stores, share
from engram.serve.warm import warm
from engram.text.tokens import count
from engram.types import Recall

_BUDGETS = (500, 1000, 2000, 4000)
_HITS = 400
_FRAME = 40  # tokens that the other ways spend on a frame like ours
_LINE = 7


@dataclass(slots=True)
class _Tally:
    shares: dict[tuple[str, int], list[float]] = field(default_factory=dict)
    used: dict[int, list[float]] = field(default_factory=dict)
    tiers: dict[int, dict[str, int]] = field(default_factory=dict)
    over: int = 0
    questions: int = 0
    packing_ms: list[float] = field(default_factory=list)


def run(
    paths: Sequence[Path],
    *,
    budgets: Sequence[int] = _BUDGETS,
    stores: int | None = None,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
) -> Results:
    tell = progress or (lambda stage, share: None)
    files = []
    for path in paths:
        tally = _Tally()
        chosen = list(islice(read_stores(path), stores))
        for number, store in enumerate(chosen):
            tell(f"{path.name}: {store.name}", number / len(chosen))
            _measure(store, budgets, tally, embedder)
        files.append(_figures(path.name, len(chosen), tally, budgets))
    return {"budgets": list(budgets), "files": files}


def _measure(store: Store, budgets: Sequence[int], tally: _Tally, embedder: Embedder | None) -> None:
    with tempfile.TemporaryDirectory(prefix="engram-bench-") as folder:
        path = Path(folder) / "vault"
        with Engram.open(path, key=Env().random(32), settings=OURS, embedder=embedder) as vault:
            vault.ingest(store.turns)
            warm(vault, PATIENCE_S)
            tails = {budget: _tail(store, budget) for budget in budgets}
            lengths = {turn.ref or "": count(f"{turn.speaker}: {turn.text}") for turn in store.turns}
            for question in store.questions:
                if question.evidence:
                    _ask(vault, question, budgets, tails, lengths, tally)


def _ask(
    vault: Engram,
    question: Question,
    budgets: Sequence[int],
    tails: dict[int, set[str]],
    lengths: dict[str, int],
    tally: _Tally,
) -> None:
    found = vault.recall(question.text, limit=_HITS, now=question.at)
    tally.questions += 1
    for budget in budgets:
        began = time.perf_counter()
        window = build(question.text, found, budget=budget, profile=PROFILES["chat"], count=count)
        tally.packing_ms.append((time.perf_counter() - began) * 1000)
        tally.over += window.tokens > budget
        tally.used.setdefault(budget, []).append(window.tokens / budget)
        ways = {
            "engram": _standing(window),
            "top-k": _top(found, budget),
            "top-k turns": _top_turns(found, lengths, budget),
            "history": tails[budget],
        }
        for way, refs in ways.items():
            tally.shares.setdefault((way, budget), []).append(share(question.evidence, sorted(refs)))
        for item in window.items:
            if item.tier is not None:
                name = item.tier.name.lower()
                of = tally.tiers.setdefault(budget, {})
                of[name] = of.get(name, 0) + 1


def _standing(window: ContextWindow, tiers: Sequence[Tier] = tuple(Tier)) -> set[str]:
    return {ref for item in window.items if item.tier in tiers for ref in item.memory.refs}


def _top(found: Recall, budget: int) -> set[str]:
    """Whole texts from the best down, until the next one does not fit."""
    left = budget - _FRAME
    refs: set[str] = set()
    for hit in found:
        left -= (hit.memory.tokens[0] or count(hit.memory.text)) + _LINE
        if left < 0:
            break
        refs.update(hit.memory.refs)
    return refs


def _top_turns(found: Recall, lengths: dict[str, int], budget: int) -> set[str]:
    """The turns that the hits come from, whole, from the best down, until the next one does not fit."""
    left = budget - _FRAME
    refs: set[str] = set()
    for ref in (ref for hit in found for ref in hit.memory.refs):
        if ref in refs:
            continue
        left -= lengths.get(ref, 0) + _LINE
        if left < 0:
            break
        refs.add(ref)
    return refs


def _tail(store: Store, budget: int) -> set[str]:
    left = budget
    refs: set[str] = set()
    for turn in reversed(store.turns):
        left -= count(f"{turn.speaker}: {turn.text}\n")
        if left < 0:
            break
        refs.add(turn.ref or "")
    return refs


def _figures(name: str, stores: int, tally: _Tally, budgets: Sequence[int]) -> Results:
    ways = ("engram", "top-k", "top-k turns", "history")
    return {
        "file": name,
        "stores": stores,
        "questions": tally.questions,
        "context": {way: {str(n): mean(tally.shares.get((way, n), [])) for n in budgets} for way in ways},
        "used": {str(n): mean(tally.used.get(n, [])) for n in budgets},
        "tiers": {str(n): tally.tiers.get(n, {}) for n in budgets},
        "over_budget": tally.over,
        "packing_ms": percentiles(tally.packing_ms),
    }


def mean(values: Sequence[float]) -> float:
    return statistics.fmean(values) if values else 0.0


def render(results: Results) -> str:
    budgets = results["budgets"]
    lines = [
        "context@N: share of the evidence turns whose memory stands, at whatever tier, in a context of N tokens, all included",
        "top-k: whole statements from the best down until one does not fit; top-k turns: the turns they come from, likewise",
        "history: the last N tokens of what was said",
    ]
    for found in results["files"]:
        lines += ["", f"{found['file']}: {found['stores']} stores, {found['questions']:,} questions with evidence"]
        lines.append(f"{'':12}" + "".join(f"{f'@{n}':>9}" for n in budgets))
        for way, figures in found["context"].items():
            lines.append(f"{way:12}" + "".join(f"{figures[str(n)]:9.3f}" for n in budgets))
        lines.append(f"{'used':12}" + "".join(f"{found['used'][str(n)]:9.1%}" for n in budgets))
        for n in budgets:
            lines.append(f"  @{n}: " + ", ".join(f"{name} ×{number:,}" for name, number in found["tiers"][str(n)].items()))
        spent = found["packing_ms"]
        lines.append(f"over budget: {found['over_budget']}; packing {spent['p50']:.2f} / {spent['p95']:.2f} ms (p50 / p95)")
    return "\n".join(lines)
