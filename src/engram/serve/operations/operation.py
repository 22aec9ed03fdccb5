"""One operation as every face sees it: what it takes, what it gives, what it may do, and the one way to call it.

An input is a frozen dataclass whose fields are `Annotated[type, Arg(help, …)]`; a face makes options, a JSON schema or a tool
of them and decides nothing. Who asks is not among them: that is the `mem` an operation is called with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

from engram.errors import AccessDenied, InvalidQuery
from engram.frozen import MISSING, fields, frozen
from engram.serve import wire
from engram.types import Reader, Role

if TYPE_CHECKING:
    from engram.engine import Engram

_RANKS = tuple(Role)


class Effect(StrEnum):
    """What calling it may do to what is kept."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"


@frozen
class Arg:
    """One argument: a sentence about it, and its bounds (of a number, or of how many there are of it).

    main: what the operation is about; the command line takes it without an option. words: free text, which may there be many
    words, or come from standard input. long: of any length. flags: its options there, else its name.
    """

    help: str
    low: float | None = None
    high: float | None = None
    main: bool = False
    words: bool = False
    long: bool = False
    flags: tuple[str, ...] = ()


@frozen
class Field:
    """A field of an input as a face needs it: its type without the annotation, and what was said of it."""

    name: str
    type: Any
    arg: Arg
    default: Any
    required: bool


@frozen(kw_only=True)
class Operation:
    """A line of the table. `role`: the least that may call it. `idempotent`: calling it again changes nothing more. A write that
    is called with an idempotency key is made once for it. `tells`: it works in many steps, and says how far it is."""

    name: str
    help: str
    input: type
    output: type
    run: Callable[[Engram, Any], Any]
    effect: Effect = Effect.READ
    idempotent: bool = True
    role: Role = Role.GUEST
    tells: bool = False

    @property
    def reads(self) -> bool:
        return self.effect is Effect.READ

    @property
    def fields(self) -> tuple[Field, ...]:
        return fields_of(self.input)

    def allows(self, role: Role) -> bool:
        return _RANKS.index(role) >= _RANKS.index(self.role)

    def call(self, mem: Engram, given: object, *, timeout: float | None = None, idempotency_key: str | None = None) -> Any:
        """The value it answers with. Here, and nowhere else, who may not is refused, and a deadline and a key are set."""
        reader = mem.reader
        if not self.allows(reader.role):
            raise AccessDenied(
                f"`{self.name}` is for the role {self.role.value!r} and above, not for {reader.role.value!r}.",
                way_out=f"Ask with a token of that role: `engram token create NAME --role {self.role.value}`.",
            )
        if not self.reads:
            require_writes(reader, self.name)
        if timeout is not None and not timeout > 0:
            raise InvalidQuery("`timeout` is a number of seconds above 0.")
        if idempotency_key is not None and not self.reads:
            mem = mem.keyed(idempotency_key)
        with mem.deadline(timeout):
            return self.run(mem, given)

    def answer(self, mem: Engram, given: object, *, timeout: float | None = None, key: str | None = None) -> wire.Plain:
        """The same in its wire form, which is equal on every face.

        key: the caller's own name for this very request; a write that is asked for again under it is not done again.
        """
        return wire.plain(self.call(mem, given, timeout=timeout, idempotency_key=key))


def require_writes(reader: Reader, name: str) -> None:
    """Refuse whoever only reads; on a face that is a token which was made so."""
    if not reader.writes:
        raise AccessDenied(
            f"`{name}` writes, and this identity ({reader.role.value}) may only read.",
            way_out="Ask with a token that may write: `engram token create NAME --write`.",
        )


@cache
def fields_of(input: type) -> tuple[Field, ...]:
    hints = get_type_hints(input, include_extras=True)
    return tuple(_field(one.name, hints[one.name], one.default, one.default_factory) for one in fields(input))


def _field(name: str, hint: Any, default: Any, factory: Any) -> Field:
    if get_origin(hint) is not Annotated:
        raise TypeError(f"{name} says nothing about itself")
    kind, arg = get_args(hint)[:2]
    made = factory() if factory is not MISSING else default
    return Field(name, kind, arg, None if made is MISSING else made, made is MISSING)


def table(*groups: tuple[Operation, ...]) -> Mapping[str, Operation]:
    return {operation.name: operation for group in groups for operation in group}
