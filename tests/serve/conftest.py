"""A temporary vault that the command line finds by itself, and a function that runs commands."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from serve.console import Engram, Ran

from engram.serve.cli import main


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path where the command line looks for its vault; nothing is there yet."""
    path = tmp_path / "vault"
    monkeypatch.setenv("ENGRAM_HOME", str(path))
    return path


@pytest.fixture
def engram(vault: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Engram:
    """Run commands in this process. Standard input is the bytes given, never a terminal."""

    def run(*arguments: str, given: bytes = b"") -> Ran:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
        capsys.readouterr()
        code = main(list(arguments))
        shown = capsys.readouterr()
        return Ran(code, shown.out, shown.err)

    return run


@pytest.fixture
def made(engram: Engram) -> Engram:
    """Run commands in this process, with a vault that exists."""
    assert engram("init").code == 0
    return engram
