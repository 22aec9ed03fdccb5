"""The `Operation`: name, input, output, effect and least role of a call, and the one function that runs it.

An input is a frozen dataclass whose fields are `Annotated[type, Arg(help, …)]`; a face turns them into options, a JSON schema or
a tool. The caller's identity is no field: it belongs to the `mem` that an operation is called with. Below stand the arguments
that several operations share, and the progress reports of long ones: a face installs a callback, the operation calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

from engram.errors import AccessDenied, InvalidQuery
from engram.serve.operations import wire
from engram.types import Reader, Role, Turn
from engram.values.frozen import MISSING, fields, frozen, replace
from engram.values.memories import SHORT_IDS

if TYPE_CHECKING:
    from engram.engine import Engram


_RANKS = tuple(Role)


class Effect(StrEnum):
    """The most that an operation may do to stored data."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"


@frozen
class Arg:
    """The help text and bounds of an argument. `low` and `high` bound a number, or the length of a list or mapping.

    is_id: the id of a memory, or several; a short id is accepted for it.

    The rest is for the command line. positional: taken without an option name. free_text: may be several words, or come from
    standard input. long: limited by the setting `import_bytes` only. flags: names of its option, else the argument's name.
    """

    help: str
    low: float | None = None
    high: float | None = None
    positional: bool = False
    free_text: bool = False
    long: bool = False
    flags: tuple[str, ...] = ()
    is_id: bool = False


@frozen
class InputField:
    """A field of an input as faces need it: its type without the annotation, its `Arg` and its default."""

    name: str
    type: Any
    arg: Arg
    default: Any
    required: bool


@frozen(kw_only=True)
class Operation:
    """An entry of the table. `role`: the lowest role that may call it. `idempotent`: a second call changes nothing more. A write
    called with an idempotency key is done once per key. `reports_progress`: it calls the callback of `progress_to`."""

    name: str
    help: str
    input: type
    output: type
    run: Callable[[Engram, Any], Any]
    effect: Effect = Effect.READ
    idempotent: bool = True
    role: Role = Role.GUEST
    reports_progress: bool = False

    @property
    def reads(self) -> bool:
        return self.effect is Effect.READ

    @property
    def fields(self) -> tuple[InputField, ...]:
        return fields_of(self.input)

    def allows(self, role: Role) -> bool:
        return _RANKS.index(role) >= _RANKS.index(self.role)

    def call(self, mem: Engram, given: object, *, timeout: float | None = None, idempotency_key: str | None = None) -> Any:
        """Run the operation and return its value. The role check, the deadline and the idempotency key are applied only here."""
        reader = mem.reader
        if not self.allows(reader.role):
            raise AccessDenied(
                f"`{self.name}` is for the role {self.role.value!r} and above, not for {reader.role.value!r}.",
                way_out=f"Use a token of that role: `engram token create NAME --role {self.role.value}`.",
            )
        if not self.reads:
            require_writes(reader, self.name)
        if timeout is not None and not timeout > 0:
            raise InvalidQuery("`timeout` must be a number of seconds above 0.")
        if idempotency_key is not None and not self.reads:
            mem = mem.keyed(idempotency_key)
        with mem.deadline(timeout):
            return self.run(mem, _with_whole_ids(mem, given))

    def answer(self, mem: Engram, given: object, *, timeout: float | None = None, key: str | None = None) -> wire.Plain:
        """Run the operation and return its value in the wire form, which is equal on every face. key: the idempotency key."""
        return wire.plain(self.call(mem, given, timeout=timeout, idempotency_key=key))


def _with_whole_ids(mem: Engram, given: Any) -> Any:
    """Return the input with the whole id of a memory wherever a short one was given. One that is not found stays."""
    whole: dict[str, str | tuple[str, ...]] = {}
    kind: type = type(given)
    for field in fields_of(kind):
        ids = getattr(given, field.name)
        if field.arg.is_id and ids is not None:
            found = [_whole_id(mem, memory_id) for memory_id in ((ids,) if isinstance(ids, str) else ids)]
            whole[field.name] = found[0] if isinstance(ids, str) else tuple(found)
    return replace(given, **whole) if whole else given


def _whole_id(mem: Engram, memory_id: str) -> str:
    short = len(memory_id.strip("[]")) in SHORT_IDS
    memory = mem.get(memory_id) if short else None
    return memory.id if memory is not None else memory_id


def require_writes(reader: Reader, name: str) -> None:
    """Raise `AccessDenied` for a reader without write access, such as one from a read-only token."""
    if not reader.writes:
        raise AccessDenied(
            f"`{name}` writes, and this identity ({reader.role.value}) may only read.",
            way_out="Use a token that may write: `engram token create NAME --write`.",
        )


@cache
def fields_of(input: type) -> tuple[InputField, ...]:
    hints = get_type_hints(input, include_extras=True)
    return tuple(_field(field.name, hints[field.name], field.default, field.default_factory) for field in fields(input))


def _field(name: str, hint: Any, default: Any, factory: Any) -> InputField:
    if get_origin(hint) is not Annotated:
        raise TypeError(f"the field {name} has no Arg annotation")
    kind, arg = get_args(hint)[:2]
    value = factory() if factory is not MISSING else default
    return InputField(name, kind, arg, None if value is MISSING else value, value is MISSING)


def table(*groups: tuple[Operation, ...]) -> Mapping[str, Operation]:
    return {operation.name: operation for group in groups for operation in group}


Id = Annotated[str, Arg("The memory's id, or the short one that a context cites.", positional=True, is_id=True)]
Ids = Annotated[tuple[str, ...], Arg("Ids of memories.", low=1, high=1000, positional=True, is_id=True)]
Budget = Annotated[int | None, Arg("Tokens that it may have.", low=1, high=10_000_000)]
Turns = Annotated[tuple[Turn, ...], Arg("What was said, in order: turns, or messages of `role` and `content`.", high=10_000)]

UnchangedSince = Annotated[
    datetime | None, Arg("The `updated_at` that it was read with: if it has another now, nothing is done.")
]

People = Annotated[tuple[str, ...], Arg("What mentions these people only.", high=64, flags=("--person",))]
Technologies = Annotated[tuple[str, ...], Arg("What mentions these technologies only.", high=64, flags=("--technology",))]
Files = Annotated[tuple[str, ...], Arg("What mentions these files only, by their path or its end.", high=64, flags=("--file",))]
Languages = Annotated[
    tuple[str, ...],
    Arg("In these languages only, by code (de), or about these programming languages (python).", high=64, flags=("--language",)),
]
Topics = Annotated[
    tuple[str, ...], Arg("On these topics only: a category, or what the talk was about.", high=64, flags=("--topic",))
]
Speakers = Annotated[tuple[str, ...], Arg("What these said only.", high=64, flags=("--speaker",))]

AnyStatus = Literal["live", "active", "challenged", "invalidated", "merged", "superseded", "archived", "any"]


@frozen(kw_only=True)
class NoInput:
    """The input of an operation without arguments."""


@frozen(kw_only=True)
class IdInput:
    """The input of an operation on one memory."""

    id: Id


@frozen(kw_only=True)
class IdsInput:
    """The input of an operation on several memories."""

    ids: Ids


ProgressCallback = Callable[[str, float | None], None]
"""Takes the name of a stage, which holds no stored text, and the share done from 0 to 1, or None if the total is unknown."""

_CALLBACK: ContextVar[ProgressCallback] = ContextVar("progress", default=lambda stage, share: None)


@contextmanager
def progress_to(callback: ProgressCallback) -> Iterator[None]:
    """Report the progress of operations in this block to a callback."""
    token = _CALLBACK.set(callback)
    try:
        yield
    finally:
        _CALLBACK.reset(token)


def progress_callback() -> ProgressCallback:
    """Return the callback in force. Call this before starting a thread: the context variable is not set in new threads."""
    return _CALLBACK.get()
