"""Measure how much of the evidence for a question fits into a context of N tokens: our packing against the usual ones.

Input: files of conversations in the format of `bench recall`. Output: figures as plain values (`run`) and as text (`render`),
with a definition of each. All figures are means over the questions that name evidence, and every method packs the same hits.

A memory in the window need not contain the answer: its key fact may have lost it. Two stricter figures therefore count only
memories that are there in full or as a summary, and the share of the answer's own words that the window contains.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, islice
from pathlib import Path

from engram.bench.recall import OURS, PATIENCE_S, BenchQuestion, Conversation, Results, percentiles, read_stores, share
from engram.bench.tuning import changed
from engram.bench.warm import warm
from engram.context.packing import Tier
from engram.context.sections import PROFILES
from engram.context.window import ContextWindow, build
from engram.engine import Engram
from engram.env import Env
from engram.models.embedders import Embedder
from engram.rules.duplicates import stems
from engram.serve.operations.operation import ProgressCallback
from engram.text.tokens import count
from engram.types import Recall
from engram.values.frozen import field, frozen, mutable

_BUDGETS = (500, 1000, 2000, 4000)
_HITS = 400
_FRAME = 40  # tokens that the other methods are charged for a frame like ours
_LINE = 4  # tokens that they are charged for a line, as ours are; their lines have no dates
_TOP_K = (5, 10, 20)

_PACKED, _WHOLE, _TOP, _TURNS, _HISTORY, _AMONG = "packed", "packed whole", "top-k", "top-k turns", "history", "among the hits"
DEFINITIONS = {
    _PACKED: "share of the evidence turns with a memory, at any tier, in a window of N tokens, its frame included",
    _WHOLE: "the same, counting only memories in full or as a summary",
    _TOP: "our statements in full, from the best down until one does not fit",
    _TURNS: "the turns that the hits come from, in full, from the best down until one does not fit",
    "top 5, 10, 20 turns": "the first 5, 10 or 20 of these turns, as far as they fit: a fixed k, cut to the budget",
    _HISTORY: "the last N tokens of the conversation",
    _AMONG: "share of the evidence among all hits: the upper limit for every packing of them",
    "won": "share of the evidence that the other method leaves out and packing includes: (packed - other) / (1 - other)",
    "answers": "share of the answer's distinctive words that the evidence turns in the window contain; over questions whose"
    " answer has words that its evidence has and the question has not",
}

Contents = list[tuple[tuple[str, ...], str]]
"""The pieces of a context: the refs of the turns that each comes from, and its text."""


@mutable
class _ContextTally:
    """Figures gathered over the stores of a file. `over` counts windows that exceed their budget."""

    shares: dict[tuple[str, int], list[float]] = field(default_factory=dict)
    answers: dict[tuple[str, int], list[float]] = field(default_factory=dict)
    used: dict[int, list[float]] = field(default_factory=dict)
    tiers: dict[int, dict[str, int]] = field(default_factory=dict)
    over: int = 0
    questions: int = 0
    packing_ms: list[float] = field(default_factory=list)


@frozen
class _TurnTexts:
    """The turns of a store: their texts by ref, the tokens of each text, and the last turns that fit into each budget."""

    texts: Mapping[str, str]
    costs: Mapping[str, int]
    tails: Mapping[int, Contents]


def run(
    paths: Sequence[Path],
    *,
    budgets: Sequence[int] = _BUDGETS,
    stores: int | None = None,
    embedder: Embedder | None = None,
    tuning: Sequence[object] = (),
    progress: ProgressCallback | None = None,
) -> Results:
    """Return the figures of each file at each budget. `stores`: only the first so many stores of a file."""
    report = progress or (lambda stage, share: None)
    files = []
    for path in paths:
        tally = _ContextTally()
        chosen = list(islice(read_stores(path), stores))
        for number, store in enumerate(chosen):
            report(f"{path.name}: {store.name}", number / len(chosen))
            _measure(store, budgets, tally, embedder, tuning)
        files.append(_figures(path.name, len(chosen), tally, budgets))
    return {"definitions": DEFINITIONS, "budgets": list(budgets), "tuning": changed(tuning), "files": files}


def _measure(
    store: Conversation, budgets: Sequence[int], tally: _ContextTally, embedder: Embedder | None, tuning: Sequence[object]
) -> None:
    with tempfile.TemporaryDirectory(prefix="engram-bench-") as folder:
        path = Path(folder) / "vault"
        with Engram.open(path, key=Env().random(32), settings=OURS, embedder=embedder, tuning=tuning) as vault:
            vault.ingest(store.turns)
            warm(vault, PATIENCE_S)
            turns = _turn_texts(store, budgets)
            for question in store.questions:
                if question.evidence:
                    recall = vault.recall(question.text, limit=_HITS, now=question.at)
                    _score(question, recall, budgets, turns, tally)


def _turn_texts(store: Conversation, budgets: Sequence[int]) -> _TurnTexts:
    texts = {turn.ref or "": f"{turn.speaker}: {turn.text}" for turn in store.turns}
    costs = {text: count(text) + _LINE for text in texts.values()}
    latest: Contents = [((turn.ref or "",), texts[turn.ref or ""]) for turn in reversed(store.turns)]
    return _TurnTexts(texts, costs, {budget: _fitting(latest, budget, lambda text: count(f"{text}\n")) for budget in budgets})


def _score(question: BenchQuestion, recall: Recall, budgets: Sequence[int], turns: _TurnTexts, tally: _ContextTally) -> None:
    tally.questions += 1
    answer_words = _answer_words(question, turns)
    for budget in budgets:
        began = time.perf_counter()
        window = build(question.text, recall, budget=budget, profile=PROFILES["chat"], count=count)
        tally.packing_ms.append((time.perf_counter() - began) * 1000)
        tally.over += window.tokens > budget
        tally.used.setdefault(budget, []).append(window.tokens / budget)
        for item in window.items:
            if item.tier is not None:
                tiers = tally.tiers.setdefault(budget, {})
                tiers[item.tier.name.lower()] = tiers.get(item.tier.name.lower(), 0) + 1
        for method, contents in _methods(window, recall, budget, turns).items():
            refs = {ref for source_refs, _ in contents for ref in source_refs}
            tally.shares.setdefault((method, budget), []).append(share(question.evidence, sorted(refs)))
            if answer_words:
                words = (stems(text) for source_refs, text in contents if question.evidence.intersection(source_refs))
                tally.answers.setdefault((method, budget), []).append(share(answer_words, sorted(frozenset().union(*words))))


def _answer_words(question: BenchQuestion, turns: _TurnTexts) -> frozenset[str]:
    """Return the words of the answer that are in the evidence and not in the question: they tell whether it is there."""
    evidence = (stems(turns.texts.get(ref, "")) for ref in question.evidence)
    return (stems(question.answer) - stems(question.text)) & frozenset().union(*evidence)


def _methods(window: ContextWindow, recall: Recall, budget: int, turn_texts: _TurnTexts) -> dict[str, Contents]:
    """Return the contents of a context of this size by the name of the packing method."""
    statements: Contents = [(hit.memory.refs, hit.memory.text) for hit in recall]
    costs = {hit.memory.text: (hit.memory.tokens[0] or count(hit.memory.text)) + _LINE for hit in recall}
    refs = dict.fromkeys(ref for hit in recall for ref in hit.memory.refs if ref in turn_texts.texts)
    turns: Contents = [((ref,), turn_texts.texts[ref]) for ref in refs]
    room = budget - _FRAME
    return {
        _PACKED: _packed(window, tuple(Tier)),
        _WHOLE: _packed(window, (Tier.FULL, Tier.SUMMARY)),
        _TOP: _fitting(statements, room, costs.__getitem__),
        _TURNS: _fitting(turns, room, turn_texts.costs.__getitem__),
        **{f"top {k} turns": _fitting(turns[:k], room, turn_texts.costs.__getitem__) for k in _TOP_K},
        _HISTORY: turn_texts.tails[budget],
        _AMONG: statements,
    }


def _packed(window: ContextWindow, tiers: Sequence[Tier]) -> Contents:
    """Return the memories of a window at these tiers, each with the text of its tier."""
    return [
        (memory.refs, item.excerpt or (memory.text, memory.summary, memory.key_fact, memory.tag)[item.tier])
        for item in window.items
        if item.tier is not None and item.tier in tiers
        for memory in (item.memory,)
    ]


def _fitting(contents: Contents, room: int, cost: Callable[[str], int]) -> Contents:
    """Return the first pieces, as many as fit into `room` tokens."""
    spent = accumulate(cost(text) for _, text in contents)
    return [piece for piece, so_far in zip(contents, spent, strict=True) if so_far <= room]


def _figures(name: str, stores: int, tally: _ContextTally, budgets: Sequence[int]) -> Results:
    methods = list(dict.fromkeys(method for method, _ in tally.shares))
    context = {method: {str(n): mean(tally.shares[method, n]) for n in budgets} for method in methods}
    return {
        "file": name,
        "stores": stores,
        "questions": tally.questions,
        "context": context,
        "won": {
            method: {str(n): _won(context, method, str(n)) for n in budgets} for method in (_TOP, _TURNS) if method in context
        },
        "answered": len(next(iter(tally.answers.values()), [])),
        "answers": {method: {str(n): mean(tally.answers.get((method, n), [])) for n in budgets} for method in methods},
        "used": {str(n): mean(tally.used.get(n, [])) for n in budgets},
        "tiers": {str(n): tally.tiers.get(n, {}) for n in budgets},
        "over_budget": tally.over,
        "packing_ms": percentiles(tally.packing_ms),
    }


def _won(context: Mapping[str, Mapping[str, float]], other: str, budget: str) -> float:
    missing = 1.0 - context[other][budget]
    return (context[_PACKED][budget] - context[other][budget]) / missing if missing > 0 else 0.0


def mean(values: Sequence[float]) -> float:
    """Return the mean, or 0 without values."""
    return statistics.fmean(values) if values else 0.0


def render(results: Results) -> str:
    """Return the figures as text."""
    budgets = [str(n) for n in results["budgets"]]
    lines = [f"{name}: {meaning}" for name, meaning in results["definitions"].items()]
    for file in results["files"]:
        lines += ["", f"{file['file']}: {file['stores']} stores, {file['questions']:,} questions with evidence"]
        lines.append(f"{'context':22}" + "".join(f"{f'@{n}':>9}" for n in budgets))
        lines += _rows(file["context"], budgets)
        for method, shares in file["won"].items():
            lines.append(f"{f'won over {method}':22}" + "".join(f"{shares[n]:9.1%}" for n in budgets))
        lines.append(f"{'budget used':22}" + "".join(f"{file['used'][n]:9.1%}" for n in budgets))
        if file["answered"]:
            lines += [f"answers ({file['answered']:,} questions)", *_rows(file["answers"], budgets)]
        for n in budgets:
            lines.append(f"  @{n}: " + ", ".join(f"{name} ×{number:,}" for name, number in file["tiers"][n].items()))
        spent = file["packing_ms"]
        lines.append(f"over budget: {file['over_budget']}; packing {spent['p50']:.2f} / {spent['p95']:.2f} ms (p50 / p95)")
    return "\n".join(lines)


def _rows(figures: Mapping[str, Mapping[str, float]], budgets: Sequence[str]) -> list[str]:
    return [f"{method:22}" + "".join(f"{shares[n]:9.3f}" for n in budgets) for method, shares in figures.items()]
