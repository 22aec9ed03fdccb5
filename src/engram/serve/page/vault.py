"""Pages about the vault: its health and backups, the audit log, and the settings in force.

The page about background passes (`consolidate`, `dream`): those that ran, a dry run, a run, and undoing one.

The page of memories that need a person's decision: unanswered questions, disputed, contradicting and flagged memories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from engram.errors import AccessDenied, InvalidQuery, SearchTimeout, WriteFailed
from engram.rules.lifecycle import Verification, verification
from engram.serve.page.request import PageRequest, PageView, Redirect, place
from engram.settings import TABLE, config_path, nonsense, save
from engram.settings.lines import Setting, lines
from engram.types import Edge, Memory, Policy, Role, Status
from engram.values.dreams import PassReport
from engram.values.entities import GapKind

_ENTRIES = (50, 200, 1000)
_FIRST = (
    "vector_weight",
    "recall_limit",
    "recall_threshold",
    "reranker",
    "diversity",
    "guard_injection",
    "guard_personal",
    "backup_hours",
)
"""Settings that people change most often; the page lists them first."""

TOPICS = {
    "agent": "Who asks",
    "cipher": "The vault",
    "synchronous": "Store",
    "size_bucket_kib": "What the disk tells",
    "content_bytes": "Content",
    "import_bytes": "Capture",
    "vector_weight": "Recall",
    "working_slots": "Working memory",
    "embed_url": "Embedding endpoints",
    "llm": "Language models",
    "injection_mode": "Context",
    "edge_reinforce": "Links, strength, skills and boxes",
    "hook_scope": "Hooks of coding agents",
    "backup_hours": "Checks and backups",
    "dream": "At rest",
    "serve_host": "Serving",
    "audit_rows": "Audit and health",
}
"""Headings of the settings page, by the first setting of each topic in the order of the table."""


def health(request: PageRequest) -> PageView:
    """The state of the vault, its backups and its working memory."""
    values = {
        "condition": request.call("status"),
        "backups": request.call("backups").backups if request.may("backups") else (),
        "mind": request.call("working"),
        "checked": None,
    }
    return PageView("health.html", values)


def backup(request: PageRequest) -> Redirect:
    """Make a backup."""
    request.call("backup")
    return Redirect(place("/health", done="backed_up"))


def check(request: PageRequest) -> PageView:
    """Check every page of the vault's files, which takes a while, and show the result."""
    view = health(request)
    return PageView(view.template, {**view.values, "checked": request.call("check")})


def audit(request: PageRequest) -> PageView:
    """The latest entries of the audit log, of all operations or of one: most entries are reads."""
    limit, wanted = int(request.number("limit", 1, _ENTRIES[-1]) or _ENTRIES[0]), request.text("only")
    entries = request.call("audit", limit=limit).entries
    values = {
        "entries": [entry for entry in entries if wanted in ("", entry.operation)],
        "sorts": Counter(entry.operation for entry in entries).most_common(),
        "only": wanted,
        "limit": limit,
        "limits": _ENTRIES,
    }
    return PageView("audit.html", values)


# ── settings ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def settings(request: PageRequest) -> PageView:
    """The settings whose name or help contains the search text, in groups."""
    _require_owner(request)
    wanted, live = request.text("find").lower(), request.mem.settings
    found = [setting for setting in lines(live.now, live.origin) if wanted in setting.name or wanted in setting.help.lower()]
    values = {
        "groups": _grouped(found),
        "find": request.text("find"),
        "path": config_path(),
        "local": request.session.local,
        "changed": request.text("name"),
    }
    return PageView("settings.html", values)


def _grouped(found: Iterable[Setting]) -> dict[str, list[Setting]]:
    """Return settings by heading: those that differ from their default, those often changed, and the others by topic."""
    topic, topics = "", dict[str, str]()
    for name in TABLE:
        topic = TOPICS.get(name, topic)
        topics[name] = topic
    groups: dict[str, list[Setting]] = {heading: [] for heading in ("Changed", "Often turned", *TOPICS.values())}
    for setting in found:
        often = "Often turned" if setting.name in _FIRST else topics[setting.name]
        groups["Changed" if setting.value != setting.default else often].append(setting)
    return {heading: members for heading, members in groups.items() if members}


def change(request: PageRequest) -> Redirect:
    """Write a setting to the configuration file, as `engram config set` does, and load it into this process."""
    _require_owner(request)
    if not request.session.local:
        raise AccessDenied(
            "settings can be changed only on the vault's own machine.", way_out="Run `engram ui` or `engram config set` there."
        )
    name, value = request.text("name"), request.text("value")
    if name not in TABLE:
        raise InvalidQuery("there is no such setting.", way_out="Find it by a part of its name.")
    if wrong := nonsense(name, value):
        raise InvalidQuery(f"nothing was set: {wrong}", way_out="Go back and enter another value.")
    _, kept, warning = save(name, value)
    live = request.mem.settings
    if getattr(live.again(), name) != kept:
        done = "overridden"
    else:
        done = "set_later" if TABLE[name].metadata["restart"] else "bent" if warning else "set"
    return Redirect(place("/settings", done=done, name=name, find=request.text("find"), _mark=f"s-{name}"))


def _require_owner(request: PageRequest) -> None:
    if request.mem.reader.role is not Role.OWNER:
        raise AccessDenied("only the owner may see the settings.", way_out="Run `engram ui` on the vault's own machine.")


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


_NEWEST = 400  # memories that are searched for disputed and flagged ones
_PER_LIST = 20
_CONTRADICTS = "contradicts"


def review(request: PageRequest) -> PageView:
    """Show what needs a decision. Only the newest memories are searched: the store keeps no list of disputed ones."""
    active: Sequence[Memory] = request.call("list", limit=_NEWEST).memories
    challenged: Sequence[Memory] = request.call("list", limit=_PER_LIST, status=Status.CHALLENGED.value).memories
    disputed = [memory for memory in active if verification(memory) is Verification.DISPUTED]
    values = {
        "gaps": [gap for gap in request.call("gaps", limit=_PER_LIST).gaps if gap.kind is GapKind.UNANSWERED],
        "disputed": [*challenged, *disputed][:_PER_LIST],
        "pairs": _contradictions(request, [*active, *challenged])[:_PER_LIST],
        "flagged": [memory for memory in active if memory.flagged][:_PER_LIST],
        "looked_at": len(active),
    }
    return PageView("review.html", values)


def _contradictions(request: PageRequest, memories: Sequence[Memory]) -> list[tuple[Memory, Memory]]:
    """Return pairs of these memories that contradict each other, each with the newer first."""
    by_id = {memory.id: memory for memory in memories}
    if not by_id:
        return []
    edges: Sequence[Edge] = request.call("edges", ids=list(by_id)).edges
    contradicting = [edge for edge in edges if edge.kind == _CONTRADICTS and edge.weight > 0]
    pairs = {tuple(sorted((edge.source, edge.target), reverse=True)) for edge in contradicting}
    return [(by_id[new], by_id[old]) for new, old in sorted(pairs, reverse=True) if new in by_id and old in by_id]
