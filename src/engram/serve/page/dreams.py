"""The page of background passes (`consolidate`, `dream`): those that ran, a dry run, a run, and undoing one."""

from __future__ import annotations

from engram.errors import InvalidQuery, SearchTimeout, WriteFailed
from engram.serve.page.request import PageRequest, PageView, Redirect, place
from engram.types import Policy
from engram.values.dreams import PassReport

_PASSES = 30
_SHOWN = 6
_VERBS = ("consolidate", "dream")


def rest(request: PageRequest, tried: PassReport | None = None) -> PageView:
    """The latest passes, and the changes that a dry run would make."""
    passes = request.call("dreams", limit=_PASSES).passes
    changes = {} if tried is None else tried.changes
    samples = request.memories([id for ids in changes.values() for id in ids[:_SHOWN]])
    return PageView("rest.html", {"passes": passes, "tried": tried, "samples": samples, "shown": _SHOWN})


def trial(request: PageRequest) -> PageView | Redirect:
    """Show the changes that a pass would make."""
    report = _run_pass(request, dry_run=True)
    return Redirect(place("/rest", done="untried")) if report is None else rest(request, report)


def run(request: PageRequest) -> Redirect:
    """Run a pass, as far as it gets within one request."""
    done = "rested" if _run_pass(request) is not None else "goes_on" if _resumes_by_itself(request) else "unfinished"
    return Redirect(place("/rest", done=done))


def _resumes_by_itself(request: PageRequest) -> bool:
    """Return whether the upkeep thread will finish the pass: it runs passes of the owner, who sees all memories."""
    return request.mem.settings.now.dream and request.mem.reader.policy is Policy.ALL


def _run_pass(request: PageRequest, *, dry_run: bool = False) -> PassReport | None:
    """Return the report of a pass, or None if it outlasts the request, which is no failure: the next run resumes it."""
    verb, until = _verb(request), request.mem.env.monotonic() + request.timeout
    try:
        report: PassReport = request.call(verb, dry_run=dry_run)
    except (SearchTimeout, WriteFailed):
        if request.mem.env.monotonic() < until:
            raise
        return None
    return report


def undo(request: PageRequest) -> Redirect:
    """Undo a pass."""
    request.call("undo_dream", id=request.text("id"))
    return Redirect(place("/rest", done="undone"))


def _verb(request: PageRequest) -> str:
    if (verb := request.text("verb")) not in _VERBS:
        raise InvalidQuery("there is no such pass.", way_out=f"Choose {' or '.join(_VERBS)}.")
    return verb
