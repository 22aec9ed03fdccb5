"""Questions and their answers: what was found and why, what was not and why not, what an agent would be told."""

from __future__ import annotations

from collections.abc import Mapping

from engram.errors import NotFound
from engram.serve.page.asking import Asking, Shown
from engram.types import Explanation, Kind, Mode, Recall

_LEFT_OUT = 12
FILTERS = ("kind", "category", "since", "until", "mode")
_MODEL = "claude-opus-4-6"


def search(asking: Asking) -> Shown:
    query, why = asking.text("q"), asking.text("why")
    filters = {name: asking.text(name) for name in FILTERS}
    values: dict[str, object] = {
        "query": query,
        "why": why,
        "filters": filters,
        "kinds": [one.value for one in Kind],
        "modes": [one.value for one in Mode],
        "recall": None,
        "explained": None,
        "missing": False,
        "others": {},
    }
    if not query:
        return Shown("search.html", values)
    asked = {
        "query": query,
        "kinds": [filters["kind"]] if filters["kind"] else None,
        "categories": [filters["category"]] if filters["category"] else None,
        "mode": filters["mode"],
        "since": asking.day("since"),
        "until": asking.day("until", end=True),
    }
    found: Recall = asking.call("recall", explain=True, **asked)
    values |= {"recall": found, "others": asking.memories([one.id for one in found.left_out[:_LEFT_OUT]])}
    if why:
        values |= _explained(asking, why, asked)
    return Shown("search.html", values)


def _explained(asking: Asking, id: str, asked: Mapping[str, object]) -> dict[str, object]:
    """Why one memory is, or is not, in the answer; an id that leads nowhere is said beside the field."""
    try:
        found: Explanation = asking.call("explain", id=id, **asked)
    except NotFound:
        return {"missing": True}
    return {"explained": found, "subject": asking.memories([id]).get(id)}


def reason(asking: Asking) -> Shown:
    question = asking.text("q")
    return Shown("reason.html", {"query": question, "reasoned": asking.call("reason", question=question) if question else None})


def context(asking: Asking) -> Shown:
    message, budget = asking.text("q"), asking.number("budget", 1, 1_000_000)
    model = asking.text("model") or _MODEL
    window = None
    if message:
        window = asking.call("context", message=message, model=model, budget=None if budget is None else int(budget))
    return Shown("context.html", {"query": message, "model": model, "budget": budget, "window": window})
