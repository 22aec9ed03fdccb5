"""The page of settings: search them, and change them on the vault's own machine."""

from __future__ import annotations

from collections.abc import Iterable

from engram.errors import AccessDenied, InvalidQuery
from engram.serve.page.request import PageRequest, PageView, Redirect, place
from engram.settings import TABLE, config_path, problem_with, save
from engram.settings.tunable import Setting, listing
from engram.types import Role

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
    "home": "The vault",
    "synchronous": "Store",
    "size_bucket_kib": "What the disk tells",
    "content_bytes": "Content",
    "import_bytes": "Capture",
    "vector_weight": "Recall",
    "ask_per_minute": "Rate limits",
    "model": "Encoder",
    "embed_url": "Embedding endpoints",
    "llm": "Language models",
    "working_slots": "Working memory",
    "injection_mode": "Context",
    "half_life_days": "Strength",
    "hook_scope": "Hooks of coding agents",
    "backup_hours": "Backups",
    "dream": "At rest",
    "serve_host": "Serving",
    "audit_rows": "Audit and health",
}
"""Headings of the settings page, by the first setting of each topic in the order of the table."""


def settings(request: PageRequest) -> PageView:
    """The settings whose name or help contains the search text, in groups."""
    _require_owner(request)
    wanted, live = request.text("find").lower(), request.mem.settings
    found = [setting for setting in listing(live.now, live.origin) if wanted in setting.name or wanted in setting.help.lower()]
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
    if wrong := problem_with(name, value):
        raise InvalidQuery(f"nothing was set: {wrong}", way_out="Go back and enter another value.")
    _, kept, warning = save(name, value)
    live = request.mem.settings
    if getattr(live.reload(), name) != kept:
        done = "overridden"
    else:
        done = "set_later" if TABLE[name].metadata["restart"] else "bent" if warning else "set"
    return Redirect(place("/settings", done=done, name=name, find=request.text("find"), _mark=f"s-{name}"))


def _require_owner(request: PageRequest) -> None:
    if request.mem.reader.role is not Role.OWNER:
        raise AccessDenied("only the owner may see the settings.", way_out="Run `engram ui` on the vault's own machine.")
