"""Commands that are registered as entry points: this program's own benchmarks and demo, and those of other packages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from serve.console import Engram, Ran, in_process_of_its_own
from serve.test_console import completed


def installed(folder: Path, module: str) -> dict[str, str]:
    """Return an environment in which a package registers the command `greet`, with this module behind it."""
    (folder / "greeter.py").write_text(module)
    info = folder / "greeter-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[engram.commands]\ngreet = greeter:app\n")
    return {"PYTHONPATH": os.pathsep.join((str(folder), *sys.path))}


GREETER = """
import typer
app = typer.Typer()
@app.command("greet")
def greet(name: str) -> None:
    "Greet somebody."
    print(f"Hello {name}")
"""


def test_bench_and_demo_are_in_help_completion_and_suggestions(engram: Engram) -> None:
    shown = engram("--help").out
    assert "bench " in shown
    assert "demo " in shown
    assert "Measure speed" in engram("bench", "--help").out
    assert completed("engram", "ben") == {"bench"}
    assert completed("engram", "bench", "sp") == {"speed"}
    assert "Did you mean 'bench'" in engram("benhc").err


def test_other_commands_and_hooks_do_not_import_the_benchmarks() -> None:
    for call in (["--version"], ["list", "--help"], ["hook", "stop"]):
        code = (
            f"import sys; from engram.serve.cli import main; main({call}); print([m for m in sys.modules if 'engram.bench' in m])"
        )
        ran = subprocess.run([sys.executable, "-c", code], input="{}", capture_output=True, text=True, timeout=60, check=True)
        assert ran.stdout.splitlines()[-1] == "[]", call


def test_a_command_of_another_package_is_a_command_like_any_other(tmp_path: Path) -> None:
    world = installed(tmp_path, GREETER)
    assert in_process_of_its_own("greet", "Ada", environment=world).out == "Hello Ada\n"
    assert "Greet somebody." in in_process_of_its_own("--help", environment=world).out


@pytest.mark.parametrize("module", ["import no_such_module", "app = 7", "1 / 0"])
def test_a_command_that_does_not_load_fails_alone(tmp_path: Path, module: str) -> None:
    world = installed(tmp_path, module)
    called = in_process_of_its_own("greet", "Ada", environment=world)
    assert (called.code, called.err[:5]) == (1, "E5003")
    assert "greeter" in called.err
    shown = in_process_of_its_own("--help", environment=world)
    assert (shown.code, "bench" in shown.out) == (0, True)
    assert "`greet` of greeter does not load" in shown.err


def test_without_its_metadata_the_program_says_how_to_get_bench_back() -> None:
    hidden = "import sys, importlib.metadata as m; m.entry_points = lambda **named: (); from engram.serve.cli import main; "
    done = subprocess.run(
        [sys.executable, "-c", f"{hidden} sys.exit(main(['bench']))"], capture_output=True, text=True, timeout=60
    )
    ran = Ran(done.returncode, done.stdout, done.stderr)
    assert (ran.code, ran.err[:5]) == (1, "E5003")
    assert "pip install" in ran.err
