"""Measure whether the levels of `knows` are right, on conversations whose questions name their evidence.

Each store becomes a vault with its turns. `knows` then judges the store's own questions and some of another store's, which are
about other people, each as a question and as its bare words. The levels are right if recall finds the evidence of what is called
confident, and if what is called unknown has none.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path

from engram.bench.recall import OURS, PATIENCE_S, BenchQuestion, Conversation, Results, read_stores
from engram.bench.tuning import changed
from engram.bench.warm import warm
from engram.engine import Engram
from engram.env import Env
from engram.models.embedders import Embedder
from engram.serve.operations.operation import ProgressCallback
from engram.text.english.courtesy import STOP_WORDS
from engram.text.terms import terms
from engram.types import Outcome
from engram.values.entities import KnowledgeLevel
from engram.values.frozen import frozen

_FIRST = 10
_STRANGE = 50
OWN, UNANSWERABLE, STRANGE = "answerable", "unanswerable", "another store's"
_WIDTHS = {OWN: 12, UNANSWERABLE: 13, STRANGE: 16, "found": 7}
FORMS: dict[str, Callable[[str], str]] = {
    "question": lambda text: text,
    "words": lambda text: " ".join(word for word in terms(text) if word not in STOP_WORDS),
}

DEFINITIONS = {
    "level": "the answer of `knows` to the text",
    OWN: "share of the texts that are the store's own questions and marked answerable",
    UNANSWERABLE: "share that are its own and marked unanswerable",
    STRANGE: f"share that are answerable questions of the next store (its first {_STRANGE}), put to this one",
    "found": f"share whose evidence turns are all among the first {_FIRST} distinct refs of recall; 0 for the other two kinds",
    "answered": "share of each kind of question for which recall's outcome is `answered`",
}


@frozen
class KnowsSample:
    """A judged text: the kind of question it comes from, its form, and the judgements of `knows` and recall."""

    kind: str
    form: str
    level: KnowledgeLevel
    found: bool
    answered: bool


def run(
    paths: Sequence[Path],
    *,
    stores: int | None = None,
    embedder: Embedder | None = None,
    tuning: Sequence[object] = (),
    progress: ProgressCallback | None = None,
) -> Results:
    """Return the figures of each file. `stores`: only the first so many stores of a file."""
    report = progress or (lambda stage, share: None)
    results = []
    for path in paths:
        chosen = list(islice(read_stores(path), stores))
        samples: list[KnowsSample] = []
        for number, store in enumerate(chosen):
            report(f"{path.name}: {store.name}", number / len(chosen))
            samples += _samples(store, chosen[(number + 1) % len(chosen)] if len(chosen) > 1 else None, embedder, tuning)
        results.append({"file": path.name, "stores": len(chosen), **_figures(samples)})
    return {"definitions": DEFINITIONS, "tuning": changed(tuning), "files": results}


def _samples(
    store: Conversation, other: Conversation | None, embedder: Embedder | None, tuning: Sequence[object]
) -> Iterator[KnowsSample]:
    with (
        tempfile.TemporaryDirectory(prefix="engram-bench-") as folder,
        Engram.open(Path(folder) / "vault", key=Env().random(32), settings=OURS, embedder=embedder, tuning=tuning) as vault,
    ):
        vault.ingest(store.turns)
        warm(vault, PATIENCE_S)
        for question in store.questions:
            yield from _judge(vault, question, OWN if question.answerable else UNANSWERABLE, question.at)
        strange = [question for question in (other.questions if other else ()) if question.answerable]
        for question in strange[:_STRANGE]:
            yield from _judge(vault, question, STRANGE, store.questions[-1].at)


def _judge(vault: Engram, question: BenchQuestion, kind: str, at: datetime | None) -> Iterator[KnowsSample]:
    for form, reword in FORMS.items():
        text = reword(question.text)
        if not text:
            continue
        recall = vault.recall(text, limit=3 * _FIRST, now=at)
        refs = list(dict.fromkeys(ref for hit in recall for ref in hit.memory.refs))[:_FIRST]
        found = kind == OWN and bool(question.evidence) and question.evidence <= set(refs)
        yield KnowsSample(kind, form, vault.knows(text, now=at).level, found, recall.outcome is Outcome.ANSWERED)


def _figures(samples: Sequence[KnowsSample]) -> Results:
    tables = {}
    for form in FORMS:
        of_form = [sample for sample in samples if sample.form == form]
        levels = {level.value: _shares([sample for sample in of_form if sample.level is level]) for level in KnowledgeLevel}
        answered = {
            kind: _share([sample.answered for sample in of_form if sample.kind == kind]) for kind in (OWN, UNANSWERABLE, STRANGE)
        }
        tables[form] = {"levels": levels, "answered": answered}
    return {"asked": len(samples), "forms": tables}


def _shares(samples: Sequence[KnowsSample]) -> Results:
    kinds = {kind: _share([sample.kind == kind for sample in samples]) for kind in (OWN, UNANSWERABLE, STRANGE)}
    return {"asked": len(samples), **kinds, "found": _share([sample.found for sample in samples])}


def _share(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None


def render(results: Results) -> str:
    """Return the figures as text."""
    lines = [f"{name}: {meaning}" for name, meaning in results["definitions"].items()]
    for file in results["files"]:
        lines += ["", f"{file['file']}: {file['stores']} stores, {file['asked']:,} texts"]
        for form, table in file["forms"].items():
            lines += ["", f"{f'as {form}':12} {'n':>6} " + " ".join(f"{name:>{width}}" for name, width in _WIDTHS.items())]
            for level, shares in table["levels"].items():
                cells = (f"{_cell(shares[name]):>{width}}" for name, width in _WIDTHS.items())
                lines.append(f"{level:12} {shares['asked']:6} " + " ".join(cells))
            answered = ", ".join(f"{kind} {_cell(share)}" for kind, share in table["answered"].items())
            lines.append(f"recall says `answered` to: {answered}")
    return "\n".join(lines)


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
