"""Documents name only files and tests that exist, generated pages match the code, and the README's sample runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
FEATURES = (ROOT / "docs" / "features.md").read_text("utf-8")


def test_every_test_that_a_feature_names_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", FEATURES)
    assert len(named) > 40
    missing = [f"{file}::{test}" for file, test in named if f"def {test}(" not in (ROOT / "tests" / file).read_text("utf-8")]
    assert missing == []


def test_every_module_that_a_feature_names_exists() -> None:
    rows = [line.split("|")[3].strip() for line in FEATURES.splitlines() if re.match(r"\| [A-Z]\d+ \|", line)]
    assert rows
    assert [name for row in rows for name in row.split(", ") if not (ROOT / "src" / "engram" / name).exists()] == []


def test_the_page_of_settings_is_what_make_docs_writes() -> None:
    made = subprocess.run(
        [sys.executable, "-m", "engram.serve.cli", "config", "--markdown"],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    assert made.stdout == (ROOT / "docs" / "settings.md").read_text("utf-8"), "run `make docs`"


def test_the_page_of_operations_is_what_make_docs_writes() -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "tools" / "reference.py"], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert made.stdout == (ROOT / "docs" / "reference.md").read_text("utf-8"), "run `make docs`"


def test_no_link_of_a_document_is_dead() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_module_that_a_page_names_exists() -> None:
    places = [ROOT, ROOT / "src" / "engram", ROOT / "tests"]
    for page in PAGES:
        for name in set(re.findall(r"`((?:\w+/)+\w+\.py)\b", page.read_text("utf-8"))):
            assert any((place / name).exists() for place in places), f"{page.name}: {name}"


def test_the_page_on_architecture_names_every_room() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    rooms = [room for layer in contracts[0]["layers"] for room in layer.split(" | ")]
    assert [room for room in rooms if not re.search(rf"\b{room}\b", page)] == []


def test_the_shell_finds_what_the_sample_of_the_readme_stored() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    sample = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)[0]
    shown = subprocess.run([sys.executable, "-c", sample], capture_output=True, text=True, check=True, encoding="utf-8").stdout
    assert "Fly.io" in shown
    command = re.findall(r"^\$ engram (recall .*)$", readme, re.MULTILINE)[0]
    answer = subprocess.run(
        [sys.executable, "-m", "engram.serve.cli", *shlex.split(command)],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    assert "Fly.io" in answer.stdout
