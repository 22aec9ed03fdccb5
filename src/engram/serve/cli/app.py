"""The root of the command line: global options, the commands, and the handling of errors.

An `EngramError` is printed as its code, message and way out. Any other exception is a defect: only its type is printed, because
its message could hold stored text. ENGRAM_DEBUG=1 lets it through with its traceback.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer
from typer.main import get_command

import engram
from engram.errors import EngramError, InvalidQuery
from engram.serve.cli import (
    access_tokens,
    audit,
    backups,
    boxes,
    commands,
    config,
    context,
    dreams,
    edges,
    entities,
    episodes,
    erasure,
    facts,
    feedback,
    files,
    gaps,
    health,
    hosts,
    is_interrupt,
    keys,
    knowledge,
    lifecycle,
    memories,
    models,
    recall,
    servers,
    skills,
    terminal,
    turns,
    vault,
    working,
)
from engram.serve.cli.caller import BadCall, Caller, caller_of
from engram.serve.cli.extensions import ExtensibleGroup
from engram.serve.cli.help import HELP_OPTIONS, with_plain_help
from engram.settings import completing
from engram.types import SCOPE_DIMENSIONS

app = typer.Typer(
    cls=ExtensibleGroup,
    help="The memory of an AI agent: one encrypted folder that remembers.",
    epilog="Exit codes: 0 done, 1 refused or failed, 2 a bad call, 130 interrupted.",
    context_settings={"help_option_names": HELP_OPTIONS},
)
_WITHOUT_OPENING = frozenset({"backups", "doctor"})  # commands of their own, which work on a vault that cannot be opened
_SPECS = (
    memories.COMMANDS
    | lifecycle.COMMANDS
    | edges.COMMANDS
    | boxes.COMMANDS
    | feedback.COMMANDS
    | turns.COMMANDS
    | recall.COMMANDS
    | context.COMMANDS
    | entities.COMMANDS
    | facts.COMMANDS
    | episodes.COMMANDS
    | skills.COMMANDS
    | working.COMMANDS
    | knowledge.COMMANDS
    | gaps.COMMANDS
    | dreams.COMMANDS
    | health.COMMANDS
    | audit.COMMANDS
    | erasure.COMMANDS
    | backups.COMMANDS
)
commands.add_to(app, _SPECS, without=_WITHOUT_OPENING)
for module in (files, servers, vault, health, backups):
    module.add_to(app)
app.add_typer(keys.app, name="key", rich_help_panel="Vault")
app.add_typer(access_tokens.app, name="token", rich_help_panel="Vault")
app.add_typer(config.app, name="config", rich_help_panel="This program")
app.add_typer(models.app, name="model", rich_help_panel="This program")
app.add_typer(servers.app, name="mcp", rich_help_panel="This program")
app.add_typer(hosts.app, name="hook", rich_help_panel="This program")

_IDENTITY = "Identity"
_UNWRAPPED = 10_000  # columns: in completion output a shell takes each line for a candidate, wrapped help lines too


def _version(wanted: bool) -> None:
    if wanted:
        terminal.line(f"engram {engram.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    vault: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="The vault; else ENGRAM_HOME, the setting `home`, the platform's data folder."),
    ] = None,
    agent: Annotated[str | None, typer.Option(help="Agent to read and write as.", rich_help_panel=_IDENTITY)] = None,
    project: Annotated[str | None, typer.Option(help="Project to stand in.", rich_help_panel=_IDENTITY)] = None,
    squad: Annotated[str | None, typer.Option(help="Squad to belong to.", rich_help_panel=_IDENTITY)] = None,
    channel: Annotated[str | None, typer.Option(help="Channel to speak on.", rich_help_panel=_IDENTITY)] = None,
    user: Annotated[str | None, typer.Option(help="User to speak with.", rich_help_panel=_IDENTITY)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print answers as JSON; commands take this option too.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print data and errors only.")] = False,
    debug: Annotated[bool, typer.Option("--debug", envvar="ENGRAM_DEBUG", hidden=True)] = False,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    caller = caller_of(ctx)
    caller.vault, caller.quiet, caller.debug = vault, quiet, debug
    caller.json |= as_json
    given = {name: ctx.params[name] for name in SCOPE_DIMENSIONS}
    caller.identity = {name: value for name, value in given.items() if value is not None}
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        raise typer.Exit(2)


_COMMAND = with_plain_help(get_command(app))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Errors are printed here."""
    caller = Caller()
    _prepare_output()
    if completing():
        from typer import rich_utils  # late: only completion needs it

        rich_utils.MAX_WIDTH = _UNWRAPPED
    given = sys.argv[1:] if arguments is None else arguments
    with _warnings_as_remarks(caller):
        try:
            _require_text(given)
            code = _COMMAND.main(args=given, prog_name="engram", standalone_mode=False, obj=caller)
            sys.stdout.flush()
        except EngramError as problem:
            if is_interrupt(problem):
                raise
            terminal.error(problem, as_json=_json(caller, given))
            return 1
        except typer.TyperException as problem:
            _bad_call(problem, as_json=_json(caller, given))
            return problem.exit_code
        except SystemExit as end:  # raised by completion, and by typer for a broken pipe
            if end.code:
                _discard_output()
            return 1 if end.code else 0
        except BrokenPipeError:
            _discard_output()
            return 1
        except typer.Abort:  # input ended at a prompt
            terminal.remark("Nothing was done.")
            return 1
        except OSError as refusal:
            _discard_output()
            if caller.debug:
                raise
            terminal.error(_refused(refusal), as_json=_json(caller, given))
            return 1
        except Exception as defect:  # broad on purpose: a traceback could show stored text
            if caller.debug or is_interrupt(defect):
                raise
            _discard_output()
            terminal.error(_unexpected(defect), as_json=_json(caller, given))
            return 1
    return code if isinstance(code, int) else 0


def _json(caller: Caller, given: Sequence[str]) -> bool:
    """Return whether to print errors as JSON. The arguments are searched too: a bad call may fail before options are parsed."""
    return caller.json or "--json" in given


def _refused(refusal: OSError) -> EngramError:
    return EngramError(f"The operating system refused: {refusal.strerror or type(refusal).__name__}.")


def _unexpected(defect: Exception) -> EngramError:
    return EngramError(
        f"Unexpected {type(defect).__name__}. This is a defect in Engram; its details may hold stored text and are not shown.",
        way_out="ENGRAM_DEBUG=1 shows them; `engram doctor` examines the vault.",
    )


def _bad_call(problem: typer.TyperException, *, as_json: bool) -> None:
    # Typer wraps lines, and pydantic puts "Value error, " before a message.
    message = re.sub(r"\s*[\n\t]\s*", " ", problem.format_message().replace(": Value error, ", ": "))
    if as_json:
        terminal.error(InvalidQuery(message, way_out=_usage(problem).strip()), as_json=True)
    else:
        terminal.remark(message + _usage(problem))


def _require_text(arguments: Sequence[str]) -> None:
    """Raise `BadCall` for an argument that is not text in the terminal's encoding: Python passes its bytes as lone surrogates,
    which cannot be stored."""
    for number, argument in enumerate(arguments, 1):
        if any("\ud800" <= character <= "\udfff" for character in argument):
            raise BadCall(f"Argument {number} is not text in the encoding of this terminal.")


def _usage(problem: typer.TyperException) -> str:
    """Return a pointer to the command's help, or "": only typer's own errors carry the command."""
    path = getattr(getattr(problem, "ctx", None), "command_path", "")
    return f"\nSee `{path} --help`." if path else ""


@contextlib.contextmanager
def _warnings_as_remarks(caller: Caller) -> Iterator[None]:
    """Print the warnings and errors that are logged in this block as remarks; under --quiet only errors."""
    log, handler = logging.getLogger("engram"), _RemarkHandler(caller)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


class _RemarkHandler(logging.Handler):
    def __init__(self, caller: Caller) -> None:
        super().__init__(logging.WARNING)
        self._caller = caller

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.ERROR or not self._caller.quiet:
            terminal.remark(f"{record.levelname.lower()}: {record.getMessage()}")


def _prepare_output() -> None:
    """Escape characters that the terminal's encoding lacks, instead of failing after the work was done.

    A stream that was closed by the caller is replaced by the null device: else the next file opened would get its descriptor.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  open until the process ends
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _discard_output() -> None:
    """Send standard output to the null device, so that flushing its buffer at exit does not fail a second time."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
