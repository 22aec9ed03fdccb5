"""Operations as commands: arguments, options and help come from the table, and so does what `--json` prints.

A `Face` says what the table cannot know: how an answer looks on a terminal, whether a missing vault is made, what to ask
before going on. An operation without one is a command all the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import typer

from engram.errors import EngramError
from engram.files.turns import read_turns
from engram.frozen import field, frozen, replace
from engram.serve.cli import caller, show
from engram.serve.cli.caller import All, BadCall, Caller, Json, Yes
from engram.serve.cli.interrupts import called_off_by_interrupt
from engram.serve.cli.progress import progress
from engram.serve.operations import OPERATIONS, Operation
from engram.serve.operations.operation import InputField
from engram.serve.operations.schema import moment
from engram.serve.operations.telling import progress_to
from engram.types import Role, Turn

if TYPE_CHECKING:
    from engram.engine import Engram

_PATIENCE_S = 30.0

Once = Annotated[
    str | None,
    typer.Option("--idempotency-key", metavar="KEY", show_default=False, help="Make it once, however often it is run with KEY."),
]
Timeout = Annotated[float | None, typer.Option(min=0.001, metavar="SECONDS", show_default=False, help="How long it may take.")]


@frozen
class Done:
    """A command that was carried out: by whom, with what, and what came of it."""

    asked: Caller
    given: Any
    value: Any
    everything: bool
    options: Mapping[str, Any]


@frozen(kw_only=True)
class Face:
    """One operation on the command line.

    panel: where it stands in the help. more: a sentence after the operation's own. options: parameters of its display, by
    name. also: what is said beside the answer, in JSON too; notes: the same, for what the vault must be asked for.
    everywhere: has `--all`; wide: looks everywhere unless an identity is given as an option, and as `narrow` if one is.
    makes: a missing vault is made. warms: worth the moment that the vectors take, because it asks once and ends. asks: what to
    confirm, if anything.
    """

    panel: str = "Memories"
    show: Callable[[Done], None] = lambda done: show.value(done.value)
    more: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    also: Callable[[Done], None] = lambda done: None
    notes: Callable[[Engram, Any, Any], Iterable[str]] = lambda mem, given, value: ()
    everywhere: bool = True
    wide: bool = False
    narrow: Role = Role.OWNER
    makes: bool = False
    warms: bool = False
    asks: Callable[[Any], str] | None = None
    settings: Mapping[str, object] = field(default_factory=dict)


def add_to(app: typer.Typer, faces: Mapping[str, Face], *, without: Collection[str] = ()) -> None:
    for name in (name for name in OPERATIONS if name not in without):
        face, operation = faces.get(name, Face()), OPERATIONS[name]
        app.command(name.replace("_", "-"), rich_help_panel=face.panel, short_help=operation.help)(command(operation, face))


def command(operation: Operation, face: Face) -> Callable[..., None]:
    """A function as typer takes one, with a parameter for every field of the operation's input."""

    def run(ctx: typer.Context, **given: Any) -> None:
        asked = caller.of(ctx, given["as_json"])
        options = {name: given[name] for name in face.options}
        meant = _meant(operation, {one.name: _value(one, given[one.name], asked) for one in operation.fields})
        done = carry_out(asked, operation, face, meant, given, options)
        face.also(done)
        if asked.json:
            show.data(done.value)
        else:
            face.show(done)

    parameters = _parameters(operation, face)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__name__, run.__doc__ = operation.name, " ".join(filter(None, (operation.help, face.more)))
    return run


def carry_out(
    asked: Caller, operation: Operation, face: Face, meant: object, given: Mapping[str, Any], options: Mapping[str, Any]
) -> Done:
    if face.asks is not None and (question := face.asks(meant)):
        asked.confirm(question, given["yes"])
    everything = given.get("everything", False) or (face.wide and not asked.identity)
    with asked.open(everything=everything, make=face.makes, settings=face.settings) as vault:
        if face.warms:
            vault.warm(_PATIENCE_S)
        mem = vault if everything else vault.as_reader(replace(vault.reader, role=face.narrow))
        with called_off_by_interrupt(), progress(asked) as tell, progress_to(tell):
            value = operation.call(mem, meant, timeout=given.get("timeout"), idempotency_key=given.get("once"))
        notes = list(face.notes(mem, meant, value))
    for note in notes:
        asked.remark(f"note: {note}")
    return Done(asked, meant, value, everything, options)


def _meant(operation: Operation, arguments: Mapping[str, Any]) -> Any:
    try:
        return operation.input(**arguments)
    except EngramError as problem:  # what cannot be meant is a bad call
        raise BadCall(f"{problem.message[:1].upper()}{problem.message[1:]} {problem.way_out}") from None


# ── a field as a parameter ─────────────────────────────────────────────────────────────────────────────────────────────


def _parameters(operation: Operation, face: Face) -> list[inspect.Parameter]:
    """Ids come before words, of which there may be any number."""
    ordered = sorted(operation.fields, key=lambda one: (not one.arg.positional, one.arg.free_text))
    made = [_parameter("ctx", typer.Context), *(_of_field(one) for one in ordered)]
    made += [_parameter(name, hint, False) for name, hint in face.options.items()]
    if face.asks is not None:
        made.append(_parameter("yes", Yes, False))
    if face.everywhere:
        made.append(_parameter("everything", All, False))
    if not operation.reads:
        made.append(_parameter("once", Once, None))
    return [*made, _parameter("timeout", Timeout, None), _parameter("as_json", Json, False)]


def _parameter(name: str, hint: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _of_field(one: InputField) -> inspect.Parameter:
    kind, many, optional = _taken_apart(one.type)
    told: dict[str, Any] = {"help": one.arg.help, "show_default": one.default not in (None, (), "", {})}
    default = inspect.Parameter.empty if one.required else None if many or one.arg.free_text else one.default
    if one.arg.positional:
        if one.arg.free_text:
            told["help"] += " A single - reads standard input."
            hint: Any = list[str]
        else:
            hint = list[str] if many else kind
            told["metavar"] = "ID" if one.name in ("id", "ids") else one.name.upper()
        return _parameter(
            one.name, Annotated[hint if one.required else hint | None, typer.Argument(**told | {"show_default": False})], default
        )
    if kind in (int, float) and not many:
        told |= {"min": one.arg.low, "max": one.arg.high}
    flags = one.arg.flags or (f"--{one.name.replace('_', '-')}",)
    if kind is Turn:
        hint, told = Path | None, told | {"exists": True, "dir_okay": False, "help": f"{one.arg.help} A file of JSONL turns."}
    elif kind is Mapping:
        hint, told["metavar"] = list[str] | None, "NAME=VALUE"
    elif kind is datetime:
        hint, told = datetime | None, told | {"parser": partial(_moment, one.name), "metavar": "TIME"}
    else:
        hint = list[kind] | None if many else kind | None if optional else kind  # type: ignore[valid-type]
    if many and kind is not Turn:
        told["help"] += " May be repeated."
    return _parameter(one.name, Annotated[hint, typer.Option(*flags, **told)], default)


def _taken_apart(hint: Any) -> tuple[Any, bool, bool]:
    """What it is, whether there may be many of it, and whether none."""
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
        raise typer.BadParameter("it is not a time as in 2023-05-08T13:56:40Z or 2023-05-08.") from None


def _value(one: InputField, given: Any, asked: Caller) -> Any:
    """What typer read as the input has it."""
    kind, many, _ = _taken_apart(one.type)
    if one.arg.free_text:
        most = asked.live().now.import_bytes if one.arg.long else caller.INPUT_BYTES
        return caller.words(given, most) if given else one.default
    if given is None:
        return one.default
    if kind is Turn:
        return tuple(read_turns(given, asked.live().now, lambda line, reason: asked.remark(f"line {line}: {reason}; skipped.")))
    if kind is Mapping:
        return dict(_pair(text, one) for text in given)
    return tuple(given) if many else given


def _pair(text: str, one: InputField) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise BadCall(f"{one.arg.flags[0]} takes a name and its value with = between them.")
    return name, value
