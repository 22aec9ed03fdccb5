"""Pages about the vault: its health and backups, and the audit log."""

from __future__ import annotations

from collections import Counter

from engram.serve.page.request import PageRequest, PageView, Redirect, place

_ENTRIES = (50, 200, 1000)


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
