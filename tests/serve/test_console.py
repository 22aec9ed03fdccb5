"""The command line as a process: exit codes, errors, pipes, signals, terminals."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from serve.console import COMMAND, Engram, Terminal, heed_interrupts, in_process_of_its_own

import engram as library
from engram import deadline
from engram.serve.cli import app, is_interrupt, memories
from engram.serve.cli.interrupts import cancel_on_interrupt

terminals = pytest.mark.skipif(sys.platform == "win32", reason="needs pseudo-terminals")
ESCAPE = "\x1b"


def test_init_remember_list_and_erase_work_in_separate_processes(vault: Path) -> None:
    run = in_process_of_its_own
    assert run("--version").out == f"engram {library.__version__}\n"
    assert run("init").code == 0
    kept = run("remember", "-", given="Grüße aus Köln\n".encode()).id
    assert run("list", "--json").json["memories"][0]["text"] == "Grüße aus Köln"
    gone = run("forget", kept, "--erase")
    assert (gone.code, gone.out) == (2, "")
    assert run("forget", kept, "--erase", "--yes").code == 0
    missing = run("show", kept)
    assert (missing.code, missing.out) == (1, "")
    assert re.fullmatch(r"E1008: [^\n]+\n[^\n]+\n", missing.err)


@pytest.mark.parametrize(
    "arguments",
    [
        "frobnicate",
        "list --limit 0",
        "list --limit many",
        "list --status gone",
        "list --kind x",
        "remember",
        "remember x --importance 2",
        "remember x --importance nan",
        "show",
        "show a b",
        "update x",
        "box nonsense",
        "purge nonsense name",
        "practise id well",
        "end-episode id well",
        "import nonsense",
        "config get",
        "restore-backup zero",
        "key import --to pocket",
        "audit --limit 99999999999999999999",
        "remember half-a-character-\udcff",
        "--agent \udcff list",
        "bench store --sizes many",
        "bench store --sizes 1,-1",
        "bench speed --sizes many",
        "bench recall",
        "--nonsense list",
        "",
    ],
)
def test_bad_usage_ends_with_exit_code_2_and_a_message(engram: Engram, vault: Path, arguments: str) -> None:
    bad = engram(*arguments.split())
    assert bad.code == 2
    assert bad.err or not arguments
    assert "Traceback" not in bad.err
    assert not vault.exists()


def test_a_usage_error_is_one_line_without_the_libraries_own_wording(engram: Engram) -> None:
    assert "Choose from: user, agent, channel, squad, project\n" in engram("purge").err
    assert engram("recall", "x", "--kind", "nope").err.startswith("Invalid value for '--kind': 'nope' is not one of")


def test_import_of_an_empty_file_name_does_not_read_the_current_folder(engram: Engram, vault: Path) -> None:
    """To the operating system an empty name is the current folder: `engram import "$UNSET"` would import all of it."""
    bad = engram("import", "")
    assert (bad.code, "file name" in bad.err, vault.exists()) == (2, True, False)


def test_a_command_with_an_idempotency_key_runs_once(made: Engram) -> None:
    kept = [made("remember", "Tea is green", "--idempotency-key", "k", "--json").json for _ in range(2)]
    assert kept[0] == kept[1]
    other = made("remember", "Tea is black", "--idempotency-key", "k")
    assert (other.code, other.err[:6]) == (1, "E1010:")


def test_an_interrupt_is_recognised_as_the_cause_of_another_error() -> None:
    error = RuntimeError("a class could not be made")
    assert not is_interrupt(error)
    error.__context__ = KeyboardInterrupt()
    assert is_interrupt(error)


def test_an_interrupt_cancels_running_work_before_it_unwinds() -> None:
    """Without that, cleaning up would wait for the batch being encoded: a minute for a batch of a book."""

    def work() -> None:
        with cancel_on_interrupt():
            try:
                signal.raise_signal(signal.SIGINT)
            finally:
                seen.append(deadline.deadline_passed())

    seen: list[bool] = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with SIGINT ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
        assert (seen, deadline.deadline_passed()) == ([True], False)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


COMMANDS = """
    init remember recall observe import model ingest explain context feedback versions words edges get
    working attend clear-working checkpoint resume check backups traverse events promote
    list show update forget restore pin relate status doctor backup restore-backup key audit config bench demo
"""


@pytest.mark.parametrize(
    "command",
    [
        "",
        *COMMANDS.split(),
        "key export",
        "token create",
        "token list",
        "token revoke",
        "serve",
        "ui",
        "bench serve",
        "key import",
        "config set",
        "model install",
        "model list",
        "model show",
        "model verify",
        "bench store",
        "bench recall",
        "bench speed",
    ],
)
def test_every_command_has_help(engram: Engram, command: str) -> None:
    helped = engram(*command.split(), "--help")
    assert helped.code == 0
    assert f"Usage: engram {command}".strip() in helped.out
    assert not re.search(r"<\w|list\[", helped.out), "types as Python names them"


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [("show nothing --json", 1, "E1008"), ("--json show nothing", 1, "E1008"), ("list --limit 0 --json", 2, "E2004")],
)
def test_errors_are_json_under_the_json_option(made: Engram, arguments: str, code: int, error: str) -> None:
    failed = made(*arguments.split())
    assert (failed.code, failed.out) == (code, "")
    problem = json.loads(failed.err)["error"]
    assert problem.keys() == {"code", "message", "way_out"}
    assert problem["code"] == error


def completed(*words: str) -> set[str]:
    asked = {"_ENGRAM_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from engram.serve.cli import main; sys.argv[0] = 'engram'; sys.exit(main())"],
        env={**os.environ, **asked, "_TYPER_COMPLETE_TESTING": "1"},
        capture_output=True,
        text=True,
    )
    return set(done.stdout.split())


def test_commands_are_completed() -> None:
    found = completed("engram", "re")
    assert {"remember", "recall", "restore", "relate", "resume"} <= found
    assert "list" not in found
    assert completed("engram", "mcp", "install", "--client", "c") == {"claude-code", "claude-desktop", "cursor", "codex"}
    assert completed("engram", "config", "get", "recall_l") == {"recall_limit"}


SHELLS = {
    "bash": """eval "$(engram --show-completion)"
        complete() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _engram_completion engram; printf "%s\\n" "${COMPREPLY[@]}"; }""",
    "zsh": """compdef() { }; eval "$(engram --show-completion)"
        _arguments() { eval "offered=( ${1[7,-3]} )"; print -rl -- "${offered[@]%%:*}" }
        complete() { words=("$@"); CURRENT=$#words; _engram_completion }""",
    "fish": """engram --show-completion | source
        function shown; complete -C "$argv"; end""",
}
"""The setup that a shell reads once, and a function that prints its candidates. zsh's `_arguments` works on an open line only."""


@pytest.mark.parametrize("shell", SHELLS)
def test_shell_completion_offers_names_without_help_texts(shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    program = tmp_path / "engram"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m engram.serve.cli "$@"\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "40")
    ask = "shown" if shell == "fish" else "complete"
    script = f"{SHELLS[shell]}\n{ask} engram re\necho\n{ask} engram mcp install --client c"
    done = subprocess.run([shell, "-c", script], capture_output=True, text=True, timeout=120)
    commands, clients = (sorted(line.partition("\t")[0] for line in part.splitlines()) for part in done.stdout.split("\n\n"))
    assert commands == ["reason", "recall", "record", "relate", "remember", "restore", "restore-backup", "resume", "review"]
    assert clients == ["claude-code", "claude-desktop", "codex", "cursor"]


def test_every_line_of_a_completion_is_a_candidate() -> None:
    asked = {"_ENGRAM_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args", "_TYPER_COMPLETE_ARGS": "engram "}
    done = in_process_of_its_own(environment={**asked, "COLUMNS": "40"})
    assert all(re.fullmatch(r"[a-z-]+\t.+", line) for line in done.out.splitlines())


def test_help_and_completion_load_no_engine() -> None:
    code = (
        "import sys; from engram.serve.cli import main; main(['recall', '--help']);"
        "print([m for m in ('numpy', 'onnxruntime', 'engram.engine', 'engram.recall', 'starlette', 'mcp') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "[]"


def test_a_defect_shows_its_type_and_nothing_else(made: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the words of a memory")

    monkeypatch.setattr(memories, "_list", fail)
    failed = made("list")
    assert failed.code == 1
    assert failed.err.startswith("Unexpected RuntimeError.")
    assert "words of a memory" not in failed.err + failed.out
    monkeypatch.setenv("ENGRAM_DEBUG", "1")
    with pytest.raises(RuntimeError, match="the words of a memory"):
        made("list")


def test_an_operating_system_error_is_printed_with_its_reason(made: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "/a/name")

    monkeypatch.setattr(memories, "_list", fail)
    ran = made("list")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "Permission denied" in ran.err


def test_the_log_handler_is_removed_after_a_command(made: Engram) -> None:
    import logging

    before = list(logging.getLogger("engram").handlers)
    made("list")
    assert logging.getLogger("engram").handlers == before
    assert app.run(["--version"]) == 0


def test_importing_the_package_loads_no_face() -> None:
    code = "import engram, sys; engram.open; print([m for m in sys.modules if m.startswith(('engram.serve', 'typer', 'rich'))])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_closed_pipe_ends_a_command_without_an_error_message(made: Engram) -> None:
    with subprocess.Popen([*COMMAND, "config"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
        assert process.wait(120) == 1
    assert said == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written_fails_without_a_traceback(made: Engram) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*COMMAND, "config", "get", "kdf"], stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert b"No space left on device" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_closed_streams_do_no_harm(made: Engram) -> None:
    kept = subprocess.run(f"{' '.join(COMMAND)} remember hidden >&- 2>&- <&-", shell=True)
    assert kept.returncode == 0
    assert [row.split("\t")[-1] for row in made("list").lines] == ["hidden"]


def test_characters_that_the_terminal_encoding_lacks_are_escaped(made: Engram) -> None:
    made("remember", "Größe")
    plain = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    assert in_process_of_its_own("list", environment=plain).out.rstrip().endswith(r"Gr\xf6\xdfe")


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_an_interrupt_ends_with_exit_code_130_and_no_output(made: Engram) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([*COMMAND, "remember", "-"], stdin=pipe, stderr=pipe, preexec_fn=heed_interrupts) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"x" * 300_000)  # more than a pipe buffers, so this returns once the command reads
        process.stdin.flush()
        time.sleep(0.5)  # now the command waits for more input
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 130
        said = process.stderr.read()
    assert said == b""


# ── on a terminal ──────────────────────────────────────────────────────────────────────────────────────────────────────


@terminals
def test_erasing_asks_on_a_terminal(made: Engram) -> None:
    kept = made("remember", "x").id
    for answer in ("n\n", "\n", "what\n"):
        console = Terminal("forget", kept, "--erase")
        console.wait_for("Erase 1 memory for good? [y/N]")
        console.type(answer)
        assert console.end()[0] == 1
    assert made("show", kept).code == 0
    console = Terminal("forget", kept, "--erase")
    console.wait_for("[y/N]")
    console.type("y\n")
    assert console.end()[0] == 0
    assert made("show", kept).code == 1


@terminals
def test_end_of_input_at_a_prompt_changes_nothing(made: Engram) -> None:
    kept = made("remember", "x").id
    console = Terminal("forget", kept, "--erase")
    console.wait_for("[y/N]")
    console.type("\x04")
    code, screen = console.end()
    assert (code, "Nothing was done." in screen) == (1, True)
    assert made("show", kept).code == 0


@terminals
def test_an_interrupt_at_a_prompt_ends_with_exit_code_130(made: Engram) -> None:
    console = Terminal("restore-backup")
    console.wait_for("[y/N]")
    console.send(signal.SIGINT)
    code, screen = console.end()
    assert code == 130
    assert "Traceback" not in screen


@terminals
def test_a_passphrase_is_typed_without_echo(engram: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_ARGON2_MEMORY_KIB", "8192")
    console = Terminal("init", "--passphrase")
    console.wait_for("New passphrase: ")
    console.type("open sesame\n")
    console.wait_for("The same again: ")
    console.type("open sesame\n")
    code, screen = console.end()
    assert code == 0
    assert "under your passphrase" in screen.replace("\r\n", " ")
    assert "sesame" not in screen
    console = Terminal("status", "--json")
    console.wait_for("Passphrase: ")
    console.type("open sesame\n")
    assert console.end()[0] == 0
    console = Terminal("status")
    console.wait_for("Passphrase: ")
    console.type("wrong\n")
    code, screen = console.end()
    assert code == 1
    assert "E1001: " in screen


@terminals
def test_two_passphrases_that_differ_make_nothing(engram: Engram, vault: Path) -> None:
    console = Terminal("init", "--passphrase")
    console.wait_for("New passphrase: ")
    console.type("one\n")
    console.wait_for("The same again: ")
    console.type("two\n")
    code, screen = console.end()
    assert code == 1
    assert "E1001: " in screen
    assert not (vault / "vault.toml").exists()


@terminals
def test_a_recovery_key_is_typed_without_echo(made: Engram) -> None:
    text = made("key", "export").out.strip()
    console = Terminal("key", "import", "--to", "file")
    console.wait_for("Recovery key: ")
    console.type(text + "\n")
    code, screen = console.end()
    assert code == 0
    assert text not in screen


@terminals
def test_a_terminal_gets_columns_and_colour_but_no_stored_escape(made: Engram) -> None:
    made("remember", f"{ESCAPE}[2J{ESCAPE}]0;title\x07 [red]x[/red] " + "long " * 100)
    code, screen = Terminal("list").end()
    assert code == 0
    assert "learned" in screen
    assert f"{ESCAPE}[1m" in screen
    assert "…" in screen
    for listing in (("list",), ("show", made("list").lines[0].split("\t")[0]), ("status",), ("doctor",), ("audit",), ("config",)):
        screen = Terminal(*listing).end()[1]
        assert re.sub(ESCAPE + r"\[\d*(;\d+)*m", "", screen).count(ESCAPE) == 0, listing


@terminals
def test_no_color_is_respected(made: Engram, vault: Path) -> None:
    (vault / "vault.db").chmod(0o644)
    assert f"{ESCAPE}[33m" in Terminal("doctor").end()[1]
    screen = Terminal("doctor", environment={"NO_COLOR": "1"}).end()[1]
    assert f"{ESCAPE}[33m" not in screen
    assert "warning" in screen


def test_piped_output_has_no_colour_even_under_force_color(made: Engram, vault: Path) -> None:
    (vault / "vault.db").chmod(0o644)
    forced = {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}
    for command in (("doctor",), ("list", "--all"), ("status",)):
        assert ESCAPE not in in_process_of_its_own(*command, environment=forced).out
    assert os.environ.get("FORCE_COLOR") is None
