"""The root of the command line: options before the command, the commands, and what becomes of errors.

An `EngramError` is one line with its code, and its way out. Anything else that is raised is a defect: its type is told
and nothing more, because its message could hold the words of a memory; ENGRAM_DEBUG=1 lets it through.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, Any

import typer
from typer.main import get_command

import engram
from engram.errors import EngramError, InvalidQuery
from engram.serve.cli import (
    bench,
    care,
    carrying,
    commands,
    config,
    context,
    hooks,
    interrupted,
    key,
    knowing,
    mcp,
    memories,
    model,
    recalling,
    recounting,
    resting,
    serving,
    show,
    token,
    working,
)
from engram.serve.cli.caller import BadCall, Caller, of
from engram.settings import completing
from engram.types import SCOPE_DIMENSIONS

_HELP = ["-h", "--help"]
app = typer.Typer(
    help="The memory of an AI agent: one encrypted folder that remembers.",
    epilog="Exit codes: 0 done, 1 refused or failed, 2 a bad call, 130 interrupted.",
    context_settings={"help_option_names": _HELP},
)
_OF_THEIR_OWN = frozenset({"backups", "doctor"})  # commands that do what an operation does without opening the vault
commands.add_to(
    app,
    memories.FACES
    | knowing.FACES
    | recalling.FACES
    | context.FACES
    | working.FACES
    | recounting.FACES
    | resting.FACES
    | care.FACES,
    without=_OF_THEIR_OWN,
)
carrying.add_to(app)
serving.add_to(app)
care.add_to(app)
app.add_typer(key.app, name="key", rich_help_panel="Vault")
app.add_typer(token.app, name="token", rich_help_panel="Vault")
app.add_typer(config.app, name="config", rich_help_panel="This program")
app.add_typer(model.app, name="model", rich_help_panel="This program")
app.add_typer(mcp.app, name="mcp", rich_help_panel="This program")
app.add_typer(hooks.app, name="hook", rich_help_panel="This program")
app.add_typer(bench.app, name="bench", rich_help_panel="This program")
app.command("demo", rich_help_panel="This program")(bench.demo)

_IDENTITY = "Identity"
_ENDLESS = 10_000  # columns: a shell takes each line for a word that could stand here, the second of a help text too
_TYPES = {
    "str": "TEXT",
    "int": "INTEGER",
    "float": "NUMBER",
    "Path": "PATH",
    "path": "PATH",
    "file": "FILE",
    "directory": "FOLDER",
}


def _version(wanted: bool) -> None:
    if wanted:
        show.line(f"engram {engram.__version__}")
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
    caller = of(ctx)
    caller.vault, caller.quiet, caller.debug = vault, quiet, debug
    caller.json |= as_json
    given = {name: ctx.params[name] for name in SCOPE_DIMENSIONS}
    caller.identity = {name: value for name, value in given.items() if value is not None}
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        raise typer.Exit(2)


def _told_plainly(command: Any) -> Any:
    """A command, or a group of them (the class that both have is typer's own), with help that reads well: typer says
    of a flag that it takes a <bool>, while it takes nothing, names types as Python does, and breaks lines where a docstring
    does."""
    for option in (*command.params, command.get_help_option(typer.Context(command, help_option_names=_HELP))):
        if isinstance(option, typer.core.TyperOption) and option.is_flag:
            option.metavar = ""
        option.display_type = partial(_type_of, option.display_type)
    parts = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
    command.help, command.short_help = "\n\n".join(parts), command.short_help or parts[0]
    for part in getattr(command, "commands", {}).values():
        _told_plainly(part)
    return command


def _type_of(named: Callable[[typer.Context], str], ctx: typer.Context) -> str:
    """`TEXT …` for `<list[str]>`."""
    one = named(ctx).strip("<>").removesuffix(" range")
    each = one.removeprefix("list[").removesuffix("]")
    return _TYPES.get(each, each) + (" …" if each != one else "")


_COMMAND = _told_plainly(get_command(app))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; every error ends here as a line and an exit code."""
    caller = Caller()
    _prepare_output()
    if completing():
        from typer import rich_utils  # late: no other command needs it

        rich_utils.MAX_WIDTH = _ENDLESS
    given = sys.argv[1:] if arguments is None else arguments
    with _warnings_told(caller):
        try:
            _require_text(given)
            code = _COMMAND.main(args=given, prog_name="engram", standalone_mode=False, obj=caller)
            sys.stdout.flush()
        except EngramError as problem:
            if interrupted(problem):
                raise
            show.error(problem, as_json=_json(caller, given))
            return 1
        except typer.TyperException as problem:
            _bad_call(problem, as_json=_json(caller, given))
            return problem.exit_code
        except SystemExit as end:  # completion ends so, and typer makes one of a broken pipe
            if end.code:
                _let_go_of_output()
            return 1 if end.code else 0
        except BrokenPipeError:
            _let_go_of_output()
            return 1
        except typer.Abort:  # the end of input where an answer was asked for
            show.remark("Nothing was done.")
            return 1
        except OSError as refusal:
            _let_go_of_output()
            if caller.debug:
                raise
            show.error(_refused(refusal), as_json=_json(caller, given))
            return 1
        except Exception as defect:  # the one broad net: no traceback reaches the terminal
            if caller.debug or interrupted(defect):
                raise
            _let_go_of_output()
            show.error(_unexpected(defect), as_json=_json(caller, given))
            return 1
    return code if isinstance(code, int) else 0


def _json(caller: Caller, given: Sequence[str]) -> bool:
    """Are errors wanted as JSON? A call may be so bad that no option of it was read."""
    return caller.json or "--json" in given


def _refused(refusal: OSError) -> EngramError:
    return EngramError(f"The system refused: {refusal.strerror or type(refusal).__name__}.")


def _unexpected(defect: Exception) -> EngramError:
    return EngramError(
        f"Unexpected {type(defect).__name__}. This is a defect in Engram; its details may hold stored words, "
        "so they are not shown.",
        way_out="ENGRAM_DEBUG=1 shows them; `engram doctor` looks at the vault.",
    )


def _bad_call(problem: typer.TyperException, *, as_json: bool) -> None:
    told = re.sub(r"\s*[\n\t]\s*", " ", problem.format_message().replace(": Value error, ", ": "))  # typer's, and pydantic's
    if as_json:
        show.error(InvalidQuery(told, way_out=_usage(problem).strip()), as_json=True)
    else:
        show.remark(told + _usage(problem))


def _require_text(arguments: Sequence[str]) -> None:
    """Bytes that are no text in this terminal's encoding arrive as halves of characters, which nothing can keep."""
    for number, argument in enumerate(arguments, 1):
        if any("\ud800" <= character <= "\udfff" for character in argument):
            raise BadCall(f"Argument {number} is not text in the encoding of this terminal.")


def _usage(problem: typer.TyperException) -> str:
    """Where to read on; only typer's own errors know which command was meant."""
    path = getattr(getattr(problem, "ctx", None), "command_path", "")
    return f"\nSee `{path} --help`." if path else ""


@contextlib.contextmanager
def _warnings_told(caller: Caller) -> Iterator[None]:
    """What the rooms below warn of is a remark here; under --quiet only errors are."""
    log, teller = logging.getLogger("engram"), _Teller(caller)
    log.addHandler(teller)
    try:
        yield
    finally:
        log.removeHandler(teller)


class _Teller(logging.Handler):
    def __init__(self, caller: Caller) -> None:
        super().__init__(logging.WARNING)
        self._caller = caller

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.ERROR or not self._caller.quiet:
            show.remark(f"{record.levelname.lower()}: {record.getMessage()}")


def _prepare_output() -> None:
    """A terminal that cannot show a character gets it spelled out, not a failure after the work was done.

    A stream that the caller closed leads nowhere: left closed, its number would go to the next file that is opened.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  open until the process ends
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _let_go_of_output() -> None:
    """Who read our output has gone, or it cannot be written: what is left in the buffer must not fail again at exit."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
