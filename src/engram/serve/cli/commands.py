"""Commands generated from the table of operations: arguments, options, help, and the output of `--json`.

A `CommandSpec` adds what the table does not know: how a value is displayed, whether a missing vault is made, what to confirm
first. An operation without a spec is a command with the defaults.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import typer

from engram.errors import EngramError
from engram.files.turns import read_turns
from engram.serve.cli import terminal
from engram.serve.cli.caller import INPUT_BYTES, All, BadCall, Caller, Json, Yes, caller_of, text_argument
from engram.serve.cli.interrupts import cancel_on_interrupt
from engram.serve.cli.progress import progress
from engram.serve.operations import OPERATIONS, Operation
from engram.serve.operations.operation import InputField, progress_to
from engram.serve.operations.schema import moment, read_argument
from engram.types import Role, Turn
from engram.values.frozen import field, fields, frozen, is_dataclass, replace

if TYPE_CHECKING:
    from engram.engine import Engram

_VECTORS_WAIT_S = 30.0

IdempotencyKey = Annotated[
    str | None,
    typer.Option("--idempotency-key", metavar="KEY", show_default=False, help="Make it once, however often it is run with KEY."),
]
Timeout = Annotated[float | None, typer.Option(min=0.001, metavar="SECONDS", show_default=False, help="How long it may take.")]


@frozen
class CommandResult:
    """The value that an operation returned to a command, with the input and the caller it ran for. everything: all scopes."""

    caller: Caller
    given: Any
    value: Any
    everything: bool
    options: Mapping[str, Any]


@frozen(kw_only=True)
class CommandSpec:
    """The appearance of an operation on the command line.

    panel: its heading in the help. show: prints the result. extra_help: a sentence after the operation's own help. options: typer
    options for `show`, by name. notes: remarks made while the vault is open, printed with --json too. offers_all: has `--all`.
    whole_vault: reads all scopes unless the caller names an identity; then it runs with `narrowed_role`. creates_vault: a missing
    vault is made. waits_for_vectors: loads the vector index first, since a command asks once and ends. confirmation: the question
    to confirm, or "". settings: overrides for this command.
    """

    panel: str = "Memories"
    show: Callable[[CommandResult], None] = lambda result: terminal.value(result.value)
    extra_help: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    notes: Callable[[Engram, Any, Any], Iterable[str]] = lambda mem, given, value: ()
    offers_all: bool = True
    whole_vault: bool = False
    narrowed_role: Role = Role.OWNER
    creates_vault: bool = False
    waits_for_vectors: bool = False
    confirmation: Callable[[Any], str] | None = None
    settings: Mapping[str, object] = field(default_factory=dict)


def add_to(app: typer.Typer, specs: Mapping[str, CommandSpec], *, without: Collection[str] = ()) -> None:
    """Add a command for every operation except those in `without`."""
    for name in (name for name in OPERATIONS if name not in without):
        spec, operation = specs.get(name, CommandSpec()), OPERATIONS[name]
        app.command(name.replace("_", "-"), rich_help_panel=spec.panel, short_help=operation.help)(command(operation, spec))


def command(operation: Operation, spec: CommandSpec) -> Callable[..., None]:
    """Return the function that typer runs, with a parameter for every field of the operation's input."""

    def run(ctx: typer.Context, **given: Any) -> None:
        caller = caller_of(ctx, given["as_json"])
        options = {name: given[name] for name in spec.options}
        arguments = {field.name: _value(field, given[field.name], caller) for field in operation.fields}
        result = _carry_out(caller, operation, spec, _input(operation, arguments), given, options)
        if caller.json:
            terminal.data(result.value)
        else:
            spec.show(result)

    parameters = _parameters(operation, spec)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__name__, run.__doc__ = operation.name, " ".join(filter(None, (operation.help, spec.extra_help)))
    return run


def _carry_out(
    caller: Caller, operation: Operation, spec: CommandSpec, input: object, given: Mapping[str, Any], options: Mapping[str, Any]
) -> CommandResult:
    """Confirm, open the vault, run the operation and print its notes."""
    if spec.confirmation is not None and (question := spec.confirmation(input)):
        caller.confirm(question, given["yes"])
    everything = given.get("everything", False) or (spec.whole_vault and not caller.identity)
    with caller.open(everything=everything, make=spec.creates_vault, settings=spec.settings) as vault:
        if spec.waits_for_vectors:
            vault.warm(_VECTORS_WAIT_S)
        mem = vault if everything else vault.as_reader(replace(vault.reader, role=spec.narrowed_role))
        with cancel_on_interrupt(), progress(caller) as report, progress_to(report):
            value = operation.call(mem, input, timeout=given.get("timeout"), idempotency_key=given.get("once"))
        notes = list(spec.notes(mem, input, value))
    for note in notes:
        caller.remark(f"note: {note}")
    return CommandResult(caller, input, value, everything, options)


def _input(operation: Operation, arguments: Mapping[str, Any]) -> Any:
    """Return the operation's input. Arguments that contradict each other are bad usage: exit code 2, not 1."""
    try:
        return operation.input(**arguments)
    except EngramError as problem:
        raise BadCall(f"{problem.message[:1].upper()}{problem.message[1:]} {problem.way_out}") from None


# ── a field as a parameter ─────────────────────────────────────────────────────────────────────────────────────────────


def _parameters(operation: Operation, spec: CommandSpec) -> list[inspect.Parameter]:
    """Return the parameters of a command. Free text comes after ids, because it takes all remaining words."""
    ordered = sorted(operation.fields, key=lambda field: (not field.arg.positional, field.arg.free_text))
    parameters = [_parameter("ctx", typer.Context), *(_field_parameter(field) for field in ordered)]
    parameters += [_parameter(name, hint, False) for name, hint in spec.options.items()]
    if spec.confirmation is not None:
        parameters.append(_parameter("yes", Yes, False))
    if spec.offers_all:
        parameters.append(_parameter("everything", All, False))
    if not operation.reads:
        parameters.append(_parameter("once", IdempotencyKey, None))
    return [*parameters, _parameter("timeout", Timeout, None), _parameter("as_json", Json, False)]


def _parameter(name: str, hint: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _field_parameter(field: InputField) -> inspect.Parameter:
    kind, many, optional = _type_parts(field.type)
    typer_options: dict[str, Any] = {"help": field.arg.help, "show_default": field.default not in (None, (), "", {})}
    default = inspect.Parameter.empty if field.required else None if many or field.arg.free_text else field.default
    if field.arg.positional:
        if field.arg.free_text:
            typer_options["help"] += " A single - reads standard input."
            hint: Any = list[str]
        else:
            hint = list[str] if many else kind
            typer_options["metavar"] = "ID" if field.name in ("id", "ids") else field.name.upper()
        argument = typer.Argument(**typer_options | {"show_default": False})
        return _parameter(field.name, Annotated[hint if field.required else hint | None, argument], default)
    if kind in (int, float) and not many:
        typer_options |= {"min": field.arg.low, "max": field.arg.high}
    flags = field.arg.flags or (f"--{field.name.replace('_', '-')}",)
    if kind is Turn:
        hint = Path | None
        typer_options |= {"exists": True, "dir_okay": False, "help": f"{field.arg.help} A file of JSONL turns."}
    elif is_dataclass(kind):
        hint = Path | None
        members = ", ".join(member.name for member in fields(kind))
        typer_options |= {"exists": True, "dir_okay": False, "help": f"{field.arg.help} A JSON file: a list with {members}."}
    elif kind is Mapping:
        hint, typer_options["metavar"] = list[str] | None, "NAME=VALUE"
    elif kind is datetime:
        hint = datetime | None
        typer_options |= {"parser": partial(_moment, field.name), "metavar": "TIME"}
    else:
        hint = list[kind] | None if many else kind | None if optional else kind  # type: ignore[valid-type]
    if many and not is_dataclass(kind):
        typer_options["help"] += " May be repeated."
    return _parameter(field.name, Annotated[hint, typer.Option(*flags, **typer_options)], default)


def _type_parts(hint: Any) -> tuple[Any, bool, bool]:
    """Return the item type of a hint, whether it is a collection, and whether it may be None."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is tuple:
        return parts[0], True, False
    if origin is Mapping:
        return Mapping, True, False
    if type(None) in parts:
        return next(part for part in parts if part is not type(None)), False, True
    return hint, False, False


def _moment(name: str, text: str) -> datetime:
    try:
        return moment(text, name)
    except ValueError:
        raise typer.BadParameter("expected a time as in 2023-05-08T13:56:40Z or 2023-05-08.") from None


def _value(field: InputField, given: Any, caller: Caller) -> Any:
    """Convert the value that typer parsed to the one that the operation's input takes."""
    kind, many, _ = _type_parts(field.type)
    if field.arg.free_text:
        most = caller.live().now.import_bytes if field.arg.long else INPUT_BYTES
        return text_argument(given, most) if given else field.default
    if given is None:
        return field.default
    if kind is Turn:
        return tuple(read_turns(given, caller.live().now, lambda line, reason: caller.remark(f"line {line}: {reason}; skipped.")))
    if is_dataclass(kind):
        return _objects(field, given)
    if kind is Mapping:
        return dict(_pair(text, field) for text in given)
    return tuple(given) if many else given


def _objects(field: InputField, path: Path) -> Any:
    """Return the values that a JSON file describes."""
    try:
        with path.open(encoding="utf-8") as file:
            given = json.loads(file.read(INPUT_BYTES))
    except (ValueError, OSError):
        raise BadCall(f"--{field.name} takes a JSON file.") from None
    return read_argument(field, given)


def _pair(text: str, field: InputField) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise BadCall(f"{field.arg.flags[0]} takes NAME=VALUE.")
    return name, value
