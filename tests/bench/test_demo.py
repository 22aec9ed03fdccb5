"""`engram demo` runs every part, prints real results and leaves nothing behind."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import pytest
from serve.console import Engram, in_process_of_its_own

from engram.bench import demo
from engram.types import Memory


def everything_under(*folders: Path) -> set[Path]:
    return {path for folder in folders for path in folder.rglob("*")}


def test_the_demo_runs_every_part_and_touches_nothing_else(tmp_path: Path) -> None:
    world = (Path(os.environ["HOME"]), Path(os.environ["ENGRAM_CONFIG"]).parent)
    before = everything_under(*world)
    shown = in_process_of_its_own(
        "demo",
        environment={"TMPDIR": str(tmp_path), "ENGRAM_AGENT": "someone", "ENGRAM_CIPHER": "sqlcipher", "ENGRAM_PASSPHRASE": "x"},
    )
    assert shown.err == ""
    assert len(shown.lines) <= 75
    assert all(len(line) <= 80 for line in shown.lines if str(tmp_path) not in line)  # whose name has no place to fold at
    for words in (
        "ada: 0 memories",
        "rex: 5 memories",
        "cipher aegis",
        "dropped  Hi there!  (a greeting)",
        "kept     I finally moved to Lisbon in March,\n",
        "The user: I play the cello in a small orchestra.  (trust ",
        "because: words #1 ",
        "note: no model is installed: this answer is from words alone",
        "1: ",
        " of 200 tokens (working ",
        ", recalled ",
        "warning: Tried and failed: deploy the API",
        "skill:   build the image, take the state lock, terraform apply",
        "  API: ",
        "unknown    the database password: Nothing is known of this.",
        "10 tools; memory_search: who owns the API?\n    The platform team owns the API now",
        "'peanuts': not found",
        "wrong key: E1001: ",
        "was removed",
    ):
        assert words in shown.out
    assert re.search(r"v1  .*Tuesday\n  v2  .*Wednesday  \(now\)\n  Which day .*Wednesday\n", shown.out)
    assert list(tmp_path.iterdir()) == []
    assert everything_under(*world) == before


def test_the_demo_as_json_has_the_same_parts(engram: Engram) -> None:
    parts = engram("demo", "--fast", "--json").json["parts"]
    assert not any("MCP" in part["title"] for part in parts)
    assert [part["title"] for part in parts][:2] == ["A new vault", "Remembered as rex, read back newest first"]
    assert all(part["lines"] for part in parts)


def test_the_search_of_the_demo_would_find_a_leak(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The demo really searches the files: a plaintext file beside the vault makes it report the word."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    real = demo.Engram.remember

    def leaking(self: demo.Engram, text: str, **more: object) -> Memory:
        (folder,) = tmp_path.glob("engram-demo-*")
        with (folder / "vault" / "leak").open("a") as leak:
            leak.write(text)
        return real(self, text, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(demo.Engram, "remember", leaking)
    said: list[str] = []
    demo.run(title=said.append, say=said.append, fast=True)
    assert any("for 'peanuts': found 1 times" in line for line in said)
