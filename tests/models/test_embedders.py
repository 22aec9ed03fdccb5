"""ONNX Runtime is loaded without telemetry."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("given", [None, "0"])
def test_the_runtime_writes_no_telemetry_and_leaves_the_environment_unchanged(tmp_path: Path, given: str | None) -> None:
    code = "import os; from engram.models.embedders import runtime; runtime(); print(os.environ.get('ORT_DISABLE_TELEMETRY'))"
    kept = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    world = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    more = {} if given is None else {"ORT_DISABLE_TELEMETRY": given}
    ran = subprocess.run(
        [sys.executable, "-c", code], env={**world, **kept, **more}, capture_output=True, timeout=120, check=True
    )
    assert ran.stdout.decode().strip() == str(given)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
