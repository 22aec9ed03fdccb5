"""The one way to ONNX Runtime: without its telemetry.

From 1.31 on its wheels write a device id and a database of events into the user's cache folder as soon as they are imported, and
send them to their maker. A variable that they read at import prevents it; `disable_telemetry_events`, called after, leaves both
files there, and is for whoever imported it before us.
"""

from __future__ import annotations

from typing import Any

from engram import settings as settings_room


def runtime() -> Any:
    """The module. Late: loading it takes longer than opening a vault, and a vault is often opened to read only."""
    with settings_room.told("ORT_DISABLE_TELEMETRY", "1"):
        import onnxruntime
    getattr(onnxruntime, "disable_telemetry_events", lambda: None)()
    return onnxruntime
