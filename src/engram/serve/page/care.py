"""How the vault is, who did what, and the settings in force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from engram.errors import AccessDenied, InvalidQuery
from engram.serve.page.asking import Asking, Sent, Shown, place
from engram.settings import TABLE, config_path, nonsense, save
from engram.settings.lines import Setting, lines
from engram.types import Role

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
"""What people turn: these stand first."""

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
    "check_inline_mib": "Checks and backups",
    "dream": "At rest",
    "serve_host": "Serving",
    "audit_ring": "Audit and health",
}
"""The table goes by topic; each begins with this setting."""


def health(asking: Asking) -> Shown:
    values = {
        "condition": asking.call("status"),
        "backups": asking.call("backups").backups if asking.may("backups") else (),
        "mind": asking.call("working"),
        "checked": None,
    }
    return Shown("health.html", values)


def backup(asking: Asking) -> Sent:
    asking.call("backup")
    return Sent(place("/health", done="backed_up"))


def check(asking: Asking) -> Shown:
    """A form, not a link: every page of the vault is read."""
    shown = health(asking)
    return Shown(shown.template, {**shown.values, "checked": asking.call("check")})


def audit(asking: Asking) -> Shown:
    """All that was done, or one sort of it: reading is noted too, and is most of it."""
    limit, wanted = int(asking.number("limit", 1, _ENTRIES[-1]) or _ENTRIES[0]), asking.text("only")
    entries = asking.call("audit", limit=limit).entries
    values = {
        "entries": [one for one in entries if wanted in ("", one.operation)],
        "sorts": Counter(one.operation for one in entries).most_common(),
        "only": wanted,
        "limit": limit,
        "limits": _ENTRIES,
    }
    return Shown("audit.html", values)


# ── settings ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def settings(asking: Asking) -> Shown:
    _require_owner(asking)
    wanted, live = asking.text("find").lower(), asking.mem.settings
    found = [one for one in lines(live.now, live.origin) if wanted in one.name or wanted in one.help.lower()]
    values = {
        "groups": _grouped(found),
        "find": asking.text("find"),
        "path": config_path(),
        "local": asking.session.local,
        "changed": asking.text("name"),
    }
    return Shown("settings.html", values)


def _grouped(found: Iterable[Setting]) -> dict[str, list[Setting]]:
    """What was changed, what people turn, and the others by topic."""
    begins, topics = "", dict[str, str]()
    for name in TABLE:
        begins = TOPICS.get(name, begins)
        topics[name] = begins
    groups: dict[str, list[Setting]] = {name: [] for name in ("Changed", "Often turned", *TOPICS.values())}
    for one in found:
        group = "Changed" if one.value != one.default else "Often turned" if one.name in _FIRST else topics[one.name]
        groups[group].append(one)
    return {name: some for name, some in groups.items() if some}


def change(asking: Asking) -> Sent:
    """Write a line of the configuration file, as `engram config set` does; this process follows at once."""
    _require_owner(asking)
    if not asking.session.local:
        raise AccessDenied("settings are changed where the vault is.", way_out="Run `engram ui` or `engram config set` there.")
    name, value = asking.text("name"), asking.text("value")
    if name not in TABLE:
        raise InvalidQuery("there is no such setting.", way_out="Find it by a part of its name.")
    if wrong := nonsense(name, value):
        raise InvalidQuery(f"nothing was set: {wrong}", way_out="Go back, and say another value.")
    _, kept, warning = save(name, value)
    live = asking.mem.settings
    if getattr(live.again(), name) != kept:
        done = "overridden"
    else:
        done = "set_later" if TABLE[name].metadata["restart"] else "bent" if warning else "set"
    return Sent(place("/settings", done=done, name=name, find=asking.text("find"), _mark=f"s-{name}"))


def _require_owner(asking: Asking) -> None:
    if asking.mem.reader.role is not Role.OWNER:
        raise AccessDenied("settings are the owner's.", way_out="Run `engram ui` where the vault is.")
