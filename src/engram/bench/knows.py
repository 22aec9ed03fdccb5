"""Whether a memory knows what it knows (§38): levels against what is there, on conversations whose questions name their evidence.

Each store is a vault of its own, filled with its turns; then `knows` is asked, as a question and as the bare words of it, for the
store's own questions and for some of another store's, which are about other people. A level means something if the evidence of
what is called confident is found, and of what is called unknown is not there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path

from engram.bench.recall import OURS, PATIENCE_S, Progress, Question, Results, Store, read_stores
from engram.bench.warm import warm
from engram.engine import Engram
from engram.env import Env
from engram.models.embedders import Embedder
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
    "level": "what `knows` answers to the text",
    OWN: "share of those asked that are the store's own questions and marked answerable",
    UNANSWERABLE: "share that are its own and marked unanswerable",
    STRANGE: f"share that are answerable questions of the next store, the first {_STRANGE} of it, put to this one",
    "found": f"share whose evidence turns are all among the first {_FIRST} distinct refs of recall; only answerable ones can be",
    "answered": "share of each sort of question to which recall's outcome is `answered`",
}


@frozen
class Judged:
    """One text: what sort of question it was made from, in which form, and what was said of it."""

    sort: str
    form: str
    level: KnowledgeLevel
    found: bool
    answered: bool


def run(
    paths: Sequence[Path],
    *,
    stores: int | None = None,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
) -> Results:
    tell = progress or (lambda stage, share: None)
    results = []
    for path in paths:
        chosen = list(islice(read_stores(path), stores))
        judged: list[Judged] = []
        for number, store in enumerate(chosen):
            tell(f"{path.name}: {store.name}", number / len(chosen))
            judged += _judged(store, chosen[(number + 1) % len(chosen)] if len(chosen) > 1 else None, embedder)
        results.append({"file": path.name, "stores": len(chosen), **_figures(judged)})
    return {"definitions": DEFINITIONS, "files": results}


def _judged(store: Store, other: Store | None, embedder: Embedder | None) -> Iterator[Judged]:
    with (
        tempfile.TemporaryDirectory(prefix="engram-bench-") as folder,
        Engram.open(Path(folder) / "vault", key=Env().random(32), settings=OURS, embedder=embedder) as vault,
    ):
        vault.ingest(store.turns)
        warm(vault, PATIENCE_S)
        for question in store.questions:
            yield from _asked(vault, question, OWN if question.answerable else UNANSWERABLE, question.at)
        strange = [one for one in (other.questions if other else ()) if one.answerable]
        for question in strange[:_STRANGE]:
            yield from _asked(vault, question, STRANGE, store.questions[-1].at)


def _asked(vault: Engram, question: Question, sort: str, at: datetime | None) -> Iterator[Judged]:
    for form, made in FORMS.items():
        text = made(question.text)
        if not text:
            continue
        found = vault.recall(text, limit=3 * _FIRST, now=at)
        refs = list(dict.fromkeys(ref for hit in found for ref in hit.memory.refs))[:_FIRST]
        there = sort == OWN and bool(question.evidence) and question.evidence <= set(refs)
        yield Judged(sort, form, vault.knows(text, now=at).level, there, found.outcome is Outcome.ANSWERED)


def _figures(judged: Sequence[Judged]) -> Results:
    tables = {}
    for form in FORMS:
        of_form = [one for one in judged if one.form == form]
        levels = {level.value: _shares([one for one in of_form if one.level is level]) for level in KnowledgeLevel}
        answered = {sort: _share([one.answered for one in of_form if one.sort == sort]) for sort in (OWN, UNANSWERABLE, STRANGE)}
        tables[form] = {"levels": levels, "answered": answered}
    return {"asked": len(judged), "forms": tables}


def _shares(some: Sequence[Judged]) -> Results:
    sorts = {sort: _share([one.sort == sort for one in some]) for sort in (OWN, UNANSWERABLE, STRANGE)}
    return {"asked": len(some), **sorts, "found": _share([one.found for one in some])}


def _share(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None


def render(results: Results) -> str:
    lines = [f"{name}: {meaning}" for name, meaning in results["definitions"].items()]
    for found in results["files"]:
        lines += ["", f"{found['file']}: {found['stores']} stores, {found['asked']:,} texts"]
        for form, table in found["forms"].items():
            lines += ["", f"{f'as {form}':12} {'n':>6} " + " ".join(f"{name:>{width}}" for name, width in _WIDTHS.items())]
            for level, shares in table["levels"].items():
                cells = (
                    f"{_cell(shares[name]):>{width}}"
                    for name, width in ((OWN, 12), (UNANSWERABLE, 13), (STRANGE, 16), ("found", 7))
                )
                lines.append(f"{level:12} {shares['asked']:6} " + " ".join(cells))
            answered = ", ".join(f"{sort} {_cell(share)}" for sort, share in table["answered"].items())
            lines.append(f"recall says `answered` to: {answered}")
    return "\n".join(lines)


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
