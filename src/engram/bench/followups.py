"""Measure whether the talk so far helps a follow-up message and leaves a self-contained one alone.

Input: files as for `bench recall`. Each store becomes a temporary vault. Each question that names its evidence is followed by
messages that refer to it without its words ("why?"), with the question as history. Each question is also asked with another one
as history, towards which it must not be drawn. The figure is the share of the evidence among the first ten turns.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

from engram.bench.recall import OURS, PATIENCE_S, BenchQuestion, Conversation, first_distinct, read_stores, share
from engram.bench.warm import warm
from engram.engine import Engram
from engram.env import Env
from engram.errors import InvalidContent
from engram.models.embedders import Embedder
from engram.serve.operations.operation import ProgressCallback
from engram.types import Turn

Shares = dict[tuple[str, str], list[float]]

FOLLOW_UPS = ("ok, tell me more about that", "why?", "and then?", "what else was said about it?")
FOLLOWED, ALONE = "follow-up", "question of its own after another"
PLAIN, WITH_TALK = "by itself", "with the talk"
_FIRST = 10


def run(
    paths: Sequence[Path],
    embedder: Embedder | None = None,
    stores: int | None = None,
    progress: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Return the mean shares of follow-ups and of self-contained questions, by themselves and with the talk."""
    shares: Shares = defaultdict(list)
    for path in paths:
        for store in islice(read_stores(path), stores):
            if progress is not None:
                progress(f"{path.name}, {store.name}", None)
            _measure(store, embedder, shares)
    if not shares:
        raise InvalidContent("no question of these files names its evidence.", way_out="See `engram bench recall --help`.")
    rows = {case: {method: fmean(shares[case, method]) for method in (PLAIN, WITH_TALK)} for case in (FOLLOWED, ALONE)}
    return {"questions": len(shares[ALONE, PLAIN]), f"R@{_FIRST}": rows}


def _measure(store: Conversation, embedder: Embedder | None, shares: Shares) -> None:
    questions = [question for question in store.questions if question.answerable and question.evidence]
    if len(questions) < 2:
        return
    with (
        tempfile.TemporaryDirectory(prefix="engram-bench-") as folder,
        Engram.open(Path(folder) / "vault", key=Env().random(32), settings=OURS, embedder=embedder) as vault,
    ):
        vault.ingest(store.turns)
        warm(vault, PATIENCE_S)
        for number, question in enumerate(questions):
            before = [Turn(question.text, "user")], [Turn(questions[number - 1].text, "user")]
            for case, texts, history in ((FOLLOWED, FOLLOW_UPS, before[0]), (ALONE, (question.text,), before[1])):
                for text in texts:
                    shares[case, PLAIN].append(_share(vault, question, text, []))
                    shares[case, WITH_TALK].append(_share(vault, question, text, history))


def _share(vault: Engram, question: BenchQuestion, text: str, history: Sequence[Turn]) -> float:
    answer = vault.recall(text, limit=4 * _FIRST, now=question.at, history=history)
    return share(question.evidence, first_distinct(ref for hit in answer for ref in hit.memory.refs)[:_FIRST])


def render(results: dict[str, Any]) -> str:
    """Return the figures as text."""
    rows = results[f"R@{_FIRST}"]
    width = max(map(len, rows))
    lines = [f"{case:<{width}}  " + "  ".join(f"{row[name]:<{len(name)}.3f}" for name in row) for case, row in rows.items()]
    head = f"{results['questions']:,} questions, R@{_FIRST}"
    return "\n".join([head, "", f"{'':<{width}}  {PLAIN}  {WITH_TALK}", *lines])
