"""The page of the audit log."""

from __future__ import annotations

from collections import Counter

from engram.serve.page.request import PageRequest, PageView

_ENTRIES = (50, 200, 1000)


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
