"""How much of the evidence stands in a context of so many tokens: our packing beside the usual ones, on the same ranking.

Comes in: files of conversations as `bench_recall` reads them. Goes out: figures as plain values (`run`) and a page (`render`),
with what each line means beside it. Means over questions that name evidence; every way is filled from the same hits.

That a memory stands there does not say that the answer does: its key fact may have lost it. So there are two stricter figures:
what stands there whole or as its summary, and the share of the answer's own words that are said by what stands there.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, islice
from pathlib import Path

from engram.bench.recall import OURS, PATIENCE_S, Progress, Question, Results, Store, percentiles, read_stores, share
from engram.bench.warm import warm
from engram.context.budget import PROFILES
from engram.context.packing import Tier
from engram.context.window import ContextWindow, build
from engram.engine import Engram
from engram.env import Env
from engram.models.embedders import Embedder
from engram.rules.duplicates import stems
from engram.text.tokens import count
from engram.types import Recall
from engram.values.frozen import field, frozen, mutable

_BUDGETS = (500, 1000, 2000, 4000)
_HITS = 400
_FRAME = 40  # tokens that the other ways spend on a frame like ours
_LINE = 4  # and on a line, as ours do; they have no dates
_FEW = (5, 10, 20)

_PACKED, _WHOLE, _TOP, _TURNS, _HISTORY, _AMONG = "packed", "packed whole", "top-k", "top-k turns", "history", "among the hits"
DEFINITIONS = {
    _PACKED: "share of the evidence turns of which a memory stands, at whatever tier, in a window of N tokens, all included",
    _WHOLE: "the same, counting only what stands there whole or as its summary",
    _TOP: "our statements, whole, from the best down until one does not fit",
    _TURNS: "the turns that the hits come from, whole, likewise",
    "top 5, 10, 20 turns": "the first so many of these turns, as far as they fit whole: a fixed k, cut to the budget",
    _HISTORY: "the last N tokens of what was said",
    _AMONG: "share of the evidence among the hits at all: what no packing of them can exceed",
    "won": "of the evidence that the other way leaves out, how much is there by packing: (packed - other) / (1 - other)",
    "answers": "share of the answer's telling words that are said by what stands there of the evidence turns; over questions"
    " whose answer has words that its evidence has and the question has not",
}

Standing = list[tuple[tuple[str, ...], str]]
"""What a context holds: the refs that it comes from, and its words."""


@mutable
class _Tally:
    shares: dict[tuple[str, int], list[float]] = field(default_factory=dict)
    answers: dict[tuple[str, int], list[float]] = field(default_factory=dict)
    used: dict[int, list[float]] = field(default_factory=dict)
    tiers: dict[int, dict[str, int]] = field(default_factory=dict)
    over: int = 0
    questions: int = 0
    packing_ms: list[float] = field(default_factory=list)


@frozen
class _Talk:
    """One store's turns by their refs, what a line of each text costs, and the last of them that fit into each budget."""

    texts: Mapping[str, str]
    costs: Mapping[str, int]
    tails: Mapping[int, Standing]


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
    return {"definitions": DEFINITIONS, "budgets": list(budgets), "files": files}


def _measure(store: Store, budgets: Sequence[int], tally: _Tally, embedder: Embedder | None) -> None:
    with tempfile.TemporaryDirectory(prefix="engram-bench-") as folder:
        path = Path(folder) / "vault"
        with Engram.open(path, key=Env().random(32), settings=OURS, embedder=embedder) as vault:
            vault.ingest(store.turns)
            warm(vault, PATIENCE_S)
            talk = _talk(store, budgets)
            for question in store.questions:
                if question.evidence:
                    found = vault.recall(question.text, limit=_HITS, now=question.at)
                    _ask(question, found, budgets, talk, tally)


def _talk(store: Store, budgets: Sequence[int]) -> _Talk:
    texts = {turn.ref or "": f"{turn.speaker}: {turn.text}" for turn in store.turns}
    costs = {text: count(text) + _LINE for text in texts.values()}
    said: Standing = [((turn.ref or "",), texts[turn.ref or ""]) for turn in reversed(store.turns)]
    return _Talk(texts, costs, {budget: _fitting(said, budget, lambda one: count(f"{one}\n")) for budget in budgets})


def _ask(question: Question, found: Recall, budgets: Sequence[int], talk: _Talk, tally: _Tally) -> None:
    tally.questions += 1
    wanted = _answer(question, talk)
    for budget in budgets:
        began = time.perf_counter()
        window = build(question.text, found, budget=budget, profile=PROFILES["chat"], count=count)
        tally.packing_ms.append((time.perf_counter() - began) * 1000)
        tally.over += window.tokens > budget
        tally.used.setdefault(budget, []).append(window.tokens / budget)
        for item in window.items:
            if item.tier is not None:
                of = tally.tiers.setdefault(budget, {})
                of[item.tier.name.lower()] = of.get(item.tier.name.lower(), 0) + 1
        for way, standing in _ways(window, found, budget, talk).items():
            refs = {ref for come_from, _ in standing for ref in come_from}
            tally.shares.setdefault((way, budget), []).append(share(question.evidence, sorted(refs)))
            if wanted:
                said = (stems(text) for come_from, text in standing if question.evidence.intersection(come_from))
                tally.answers.setdefault((way, budget), []).append(share(wanted, sorted(frozenset().union(*said))))


def _answer(question: Question, talk: _Talk) -> frozenset[str]:
    """The words of the answer by which it can be known whether it is said: in the evidence, and not in the question."""
    evidence = (stems(talk.texts.get(ref, "")) for ref in question.evidence)
    return (stems(question.answer) - stems(question.text)) & frozenset().union(*evidence)


def _ways(window: ContextWindow, found: Recall, budget: int, talk: _Talk) -> dict[str, Standing]:
    statements: Standing = [(hit.memory.refs, hit.memory.text) for hit in found]
    costs = {hit.memory.text: (hit.memory.tokens[0] or count(hit.memory.text)) + _LINE for hit in found}
    refs = dict.fromkeys(ref for hit in found for ref in hit.memory.refs if ref in talk.texts)
    turns: Standing = [((ref,), talk.texts[ref]) for ref in refs]
    room = budget - _FRAME
    return {
        _PACKED: _standing(window, tuple(Tier)),
        _WHOLE: _standing(window, (Tier.FULL, Tier.SUMMARY)),
        _TOP: _fitting(statements, room, costs.__getitem__),
        _TURNS: _fitting(turns, room, talk.costs.__getitem__),
        **{f"top {k} turns": _fitting(turns[:k], room, talk.costs.__getitem__) for k in _FEW},
        _HISTORY: talk.tails[budget],
        _AMONG: statements,
    }


def _standing(window: ContextWindow, tiers: Sequence[Tier]) -> Standing:
    """Each memory with the form of it that stands there."""
    return [
        (one.refs, (one.text, one.summary, one.key_fact, one.tag)[item.tier])
        for item in window.items
        if item.tier is not None and item.tier in tiers
        for one in (item.memory,)
    ]


def _fitting(these: Standing, room: int, cost: Callable[[str], int]) -> Standing:
    """From the first on, until the next one does not fit."""
    spent = accumulate(cost(text) for _, text in these)
    return [one for one, so_far in zip(these, spent, strict=True) if so_far <= room]


def _figures(name: str, stores: int, tally: _Tally, budgets: Sequence[int]) -> Results:
    ways = list(dict.fromkeys(way for way, _ in tally.shares))
    context = {way: {str(n): mean(tally.shares[way, n]) for n in budgets} for way in ways}
    return {
        "file": name,
        "stores": stores,
        "questions": tally.questions,
        "context": context,
        "won": {way: {str(n): _won(context, way, str(n)) for n in budgets} for way in (_TOP, _TURNS) if way in context},
        "answered": len(next(iter(tally.answers.values()), [])),
        "answers": {way: {str(n): mean(tally.answers.get((way, n), [])) for n in budgets} for way in ways},
        "used": {str(n): mean(tally.used.get(n, [])) for n in budgets},
        "tiers": {str(n): tally.tiers.get(n, {}) for n in budgets},
        "over_budget": tally.over,
        "packing_ms": percentiles(tally.packing_ms),
    }


def _won(context: Mapping[str, Mapping[str, float]], other: str, budget: str) -> float:
    missing = 1.0 - context[other][budget]
    return (context[_PACKED][budget] - context[other][budget]) / missing if missing > 0 else 0.0


def mean(values: Sequence[float]) -> float:
    return statistics.fmean(values) if values else 0.0


def render(results: Results) -> str:
    budgets = [str(n) for n in results["budgets"]]
    lines = [f"{name}: {meaning}" for name, meaning in results["definitions"].items()]
    for found in results["files"]:
        lines += ["", f"{found['file']}: {found['stores']} stores, {found['questions']:,} questions with evidence"]
        lines.append(f"{'context':22}" + "".join(f"{f'@{n}':>9}" for n in budgets))
        lines += _rows(found["context"], budgets)
        lines += [f"{f'won over {way}':22}" + "".join(f"{of[n]:9.1%}" for n in budgets) for way, of in found["won"].items()]
        lines.append(f"{'budget used':22}" + "".join(f"{found['used'][n]:9.1%}" for n in budgets))
        if found["answered"]:
            lines += [f"answers ({found['answered']:,} questions)", *_rows(found["answers"], budgets)]
        for n in budgets:
            lines.append(f"  @{n}: " + ", ".join(f"{name} ×{number:,}" for name, number in found["tiers"][n].items()))
        spent = found["packing_ms"]
        lines.append(f"over budget: {found['over_budget']}; packing {spent['p50']:.2f} / {spent['p95']:.2f} ms (p50 / p95)")
    return "\n".join(lines)


def _rows(figures: Mapping[str, Mapping[str, float]], budgets: Sequence[str]) -> list[str]:
    return [f"{way:22}" + "".join(f"{of[n]:9.3f}" for n in budgets) for way, of in figures.items()]
