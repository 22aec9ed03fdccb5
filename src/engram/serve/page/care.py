"""How the vault is, who did what, and the settings in force."""

from __future__ import annotations

from collections import Counter

from engram.errors import AccessDenied, InvalidQuery
from engram.frozen import frozen
from engram.serve.page.asking import Asking, Sent, Shown, place
from engram.settings import TABLE, Settings, Value, coerce, config_path, save
from engram.types import Role

_ENTRIES = (50, 200, 1000)
_FIRST = (
    "vector_weight",
    "recall_limit",
    "recall_threshold",
    "reranker",
    "rerank_weight",
    "time_weight",
    "entity_weight",
    "graph_weight",
    "guard_injection",
    "guard_personal",
    "backup_hours",
)
"""What people turn: these stand first."""


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


@frozen
class Setting:
    """One line of the table with the value in force. `fixed`: what goes over the file, so that a change would not show."""

    name: str
    value: Value
    default: Value
    origin: str
    unit: str
    low: float | None
    high: float | None
    choices: tuple[str, ...]
    restart: bool
    ref: str
    help: str

    @property
    def fixed(self) -> bool:
        return self.origin in ("environment", "program")

    @property
    def truth(self) -> bool:
        return isinstance(self.default, bool)

    @property
    def number(self) -> bool:
        return isinstance(self.default, int | float) and not self.truth


def settings(asking: Asking) -> Shown:
    _require_owner(asking)
    wanted, live = asking.text("find").lower(), asking.mem.settings
    shipped, now = Settings(), live.now
    lines = [
        Setting(name=name, value=getattr(now, name), default=getattr(shipped, name), origin=live.origin(name), **line.metadata)
        for name, line in TABLE.items()
        if wanted in name or wanted in line.metadata["help"].lower()
    ]
    groups = {
        "Changed": [one for one in lines if one.value != one.default],
        "Often turned": [one for one in lines if one.name in _FIRST and one.value == one.default],
        "All others": [one for one in lines if one.name not in _FIRST and one.value == one.default],
    }
    values = {
        "groups": {name: some for name, some in groups.items() if some},
        "find": asking.text("find"),
        "path": config_path(),
        "local": asking.session.local,
        "changed": asking.text("name"),
    }
    return Shown("settings.html", values)


def change(asking: Asking) -> Sent:
    """Write a line of the configuration file, as `engram config set` does; this process follows at once."""
    _require_owner(asking)
    if not asking.session.local:
        raise AccessDenied("settings are changed where the vault is.", way_out="Run `engram ui` or `engram config set` there.")
    name, value = asking.text("name"), asking.text("value")
    if name not in TABLE:
        raise InvalidQuery("there is no such setting.", way_out="Find it by a part of its name.")
    kept, warning = coerce(name, value)
    if warning and kept not in (TABLE[name].metadata["low"], TABLE[name].metadata["high"]):
        raise InvalidQuery(warning.partition("; using")[0] + ".")
    save(name, kept)
    live = asking.mem.settings
    if getattr(live.again(), name) != kept:
        done = "overridden"
    else:
        done = "set_later" if TABLE[name].metadata["restart"] else "bent" if warning else "set"
    return Sent(place("/settings", done=done, name=name, find=asking.text("find"), _mark=f"s-{name}"))


def _require_owner(asking: Asking) -> None:
    if asking.mem.reader.role is not Role.OWNER:
        raise AccessDenied("settings are the owner's.", way_out="Run `engram ui` where the vault is.")
