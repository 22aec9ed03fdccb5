"""`engram config`: show and change settings, and print their documentation. All of it comes from `settings/table.py`."""

from __future__ import annotations

from typing import Annotated

import typer

from engram.errors import ConfigInvalid
from engram.serve.cli import terminal
from engram.serve.cli.caller import BadCall, Json, caller_of, complete_from
from engram.settings import TABLE, Settings, Value, config_path, problem_with, save, unknown
from engram.settings.tunable import Setting, listing

app = typer.Typer(help="Show settings, and change them.", add_completion=False)
Name = Annotated[str, typer.Argument(autocompletion=complete_from(TABLE), show_default=False, help="The name of the setting.")]

_HEAD = """\
# Settings

Written by `make docs` (`engram config --markdown`) from the table in `src/engram/settings/table.py`: change it there.

A value comes from, later wins: the default below, the configuration file (a line `name = value`, in TOML; `engram config`
says where it is), the environment (`ENGRAM_` and the name in capitals), the arguments of `engram.open(settings={…})`.
`engram config set NAME VALUE` writes the file, and running processes follow within a second; what is marked with ↻ is read
when a vault is opened. A number out of range is clamped, with a warning.

| setting | default | range | what it does |
|---|---|---|---|
"""


@app.callback(invoke_without_command=True)
def config(
    ctx: typer.Context,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the documentation of all settings.")] = False,
    as_json: Json = False,
) -> None:
    caller = caller_of(ctx, as_json)
    if ctx.invoked_subcommand is not None:
        return
    if markdown:
        terminal.line(documentation().removesuffix("\n"))
        return
    live = caller.live()
    known = listing(live.now, live.origin)
    if caller.json:
        terminal.data({"path": config_path(), "settings": known})
        return
    rows = [(setting.name, worded(setting.value), setting.origin, setting.unit, setting.range, setting.help) for setting in known]
    terminal.table(("name", "value", "from", "unit", "range", "what it does"), rows, wrap=True)
    caller.remark(f"The configuration file is {config_path()}.")


@app.command("get")
def get(ctx: typer.Context, name: Name, as_json: Json = False) -> None:
    """Print the value that is in force."""
    caller = caller_of(ctx, as_json)
    if name not in TABLE:
        raise ConfigInvalid(unknown(name) + ".")
    value: Value = getattr(caller.live().now, name)
    if caller.json:
        terminal.data({"name": name, "value": value})
    else:
        terminal.line(worded(value))


@app.command("set")
def set_(
    ctx: typer.Context,
    name: Name,
    value: Annotated[str, typer.Argument(show_default=False, help="Its new value.")],
    as_json: Json = False,
) -> None:
    """Write one setting into the configuration file; running processes follow within a second."""
    caller = caller_of(ctx, as_json)
    _require_sense(name, value)
    path, kept, warning = save(name, value)
    if caller.json:
        terminal.data({"name": name, "value": kept, "path": path, "warning": warning})
    else:
        caller.say(f"{name} = {worded(kept)}")
    if warning:
        terminal.remark(f"warning: {warning}")
    if getattr(caller.live().now, name) != kept:
        terminal.remark(f"warning: the environment, an option or another setting goes over {name} here.")
    elif TABLE[name].metadata["restart"]:
        caller.remark("It is read when a vault is opened: programs that have one open keep the old value until then.")


def _require_sense(name: str, value: str) -> None:
    """Raise for an unknown setting or a value of the wrong type. A number out of range is accepted here: it is clamped with a
    warning."""
    if name not in TABLE:
        raise ConfigInvalid(unknown(name) + ".")
    if wrong := problem_with(name, value):
        raise BadCall(wrong)


def worded(value: Value) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def documentation() -> str:
    """`docs/settings.md`: the defaults, whatever this machine has set."""
    return _HEAD + "".join(f"| {' | '.join(_cells(setting))} |\n" for setting in listing(Settings()))


def _cells(setting: Setting) -> tuple[str, str, str, str]:
    default = f"`{worded(setting.default)}`" if setting.default != "" else "empty"
    limits = ", ".join(f"`{choice}`" for choice in setting.choices) or setting.range
    help = setting.help + (f" ({setting.ref})" if setting.ref else "") + (" ↻" if setting.restart else "")
    return f"`{setting.name}`", " ".join(filter(None, (default, setting.unit))), limits, help.replace("|", "\\|")
