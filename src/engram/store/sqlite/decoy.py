"""A file where one would look for a vault first, of which nothing is true: plain, small, and about preferences (§10.2.3).

It is no defence. Who finds it may take it for all there is, and look no further; who knows Engram looks on.
"""

from __future__ import annotations

from pathlib import Path

import apsw

from engram.store.sqlite.binding import require_encryption

NAME = "settings.db"
_ROWS = (
    ("version", "1.0.0"),
    ("theme", "dark"),
    ("language", "en"),
    ("font_size", "13"),
    ("check_for_updates", "weekly"),
    ("telemetry", "off"),
)


def leave(folder: Path) -> Path | None:
    """Put the decoy into a folder; None if a file of its name is there, which is left alone."""
    require_encryption()
    path = folder / NAME
    if path.exists():
        return None
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    try:
        connection.execute("CREATE TABLE app_config (key TEXT PRIMARY KEY, value TEXT)")
        connection.executemany("INSERT INTO app_config VALUES (?, ?)", _ROWS)
    finally:
        connection.close()
    return path
