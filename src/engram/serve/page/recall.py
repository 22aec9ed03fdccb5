"""The pages of search, reasoning and context: hits with their scores, memories left out with the reason, and the prompt."""

from __future__ import annotations

from collections.abc import Mapping

from engram.errors import NotFound
from engram.serve.page.request import PageRequest, PageView
from engram.types import Explanation, Kind, Mode, Recall

_LEFT_OUT = 12
NAMES = {
    "person": "people",
    "technology": "technologies",
    "file": "files",
    "language": "languages",
    "topic": "topics",
    "speaker": "speakers",
}
"""Fields of a form that filter by one name, and the arguments they become."""

FILTERS = ("kind", "category", "since", "until", "mode", *NAMES)
_MODEL = "claude-opus-4-6"


def search(request: PageRequest) -> PageView:
    """The hits for a question, with their explanation."""
    query, why = request.text("q"), request.text("why")
    filters = {name: request.text(name) for name in FILTERS}
    values: dict[str, object] = {
        "query": query,
        "why": why,
        "filters": filters,
        "kinds": [kind.value for kind in Kind],
        "modes": [mode.value for mode in Mode],
        "recall": None,
        "explained": None,
        "missing": False,
        "others": {},
    }
    if not query:
        return PageView("search.html", values)
    arguments = {
        "query": query,
        "kinds": [filters["kind"]] if filters["kind"] else None,
        "categories": [filters["category"]] if filters["category"] else None,
        "mode": filters["mode"],
        "since": request.day("since"),
        "until": request.day("until", end=True),
        **named(filters),
    }
    recall: Recall = request.call("recall", explain=True, **arguments)
    values |= {"recall": recall, "others": request.memories([omitted.id for omitted in recall.left_out[:_LEFT_OUT]])}
    if why:
        values |= _explanation(request, why, arguments)
    return PageView("search.html", values)


def named(filters: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the arguments of the filters by name that are set."""
    return {argument: [filters[field]] for field, argument in NAMES.items() if filters[field]}


def _explanation(request: PageRequest, id: str, arguments: Mapping[str, object]) -> dict[str, object]:
    """Return why a memory is or is not among the hits; for an unknown id, `missing`, which the page shows beside the field."""
    try:
        explanation: Explanation = request.call("explain", id=id, **arguments)
    except NotFound:
        return {"missing": True}
    return {"explained": explanation, "subject": request.memories([id]).get(id)}


def reason(request: PageRequest) -> PageView:
    """The evidence for a question."""
    question = request.text("q")
    reasoning = request.call("reason", question=question) if question else None
    return PageView("reason.html", {"query": question, "reasoned": reasoning})


def context(request: PageRequest) -> PageView:
    """The context block that an agent would get for a message."""
    message, budget = request.text("q"), request.number("budget", 1, 1_000_000)
    model = request.text("model") or _MODEL
    window = None
    if message:
        window = request.call("context", message=message, model=model, budget=None if budget is None else int(budget))
    return PageView("context.html", {"query": message, "model": model, "budget": budget, "window": window})
