"""`@frozen`: a frozen dataclass with slots, made in a tenth of the time.

`dataclass(frozen=True, slots=True)` writes and compiles six functions for every class: 0.7 ms each, a third of all that a hook
did before it could answer. Here one is written, `__init__`, and that when the first instance is made, which of most classes is
never; the others are the same for all and see the fields through one getter. `fields`, `replace`, `asdict` and `is_dataclass`
know such a class as any other; `inspect.signature` knows it from its first instance on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def frozen(cls: type[T], /) -> type[T]: ...


@overload
def frozen(*, kw_only: bool) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[Any] | None = None, /, *, kw_only: bool = False) -> Any:
    """Make a class whose instances are what their fields are, and never change."""
    return _made(cls, kw_only) if cls is not None else lambda given: _made(given, kw_only)


def _made(cls: type[Any], kw_only: bool) -> type[Any]:
    cls.__doc__ = cls.__doc__ or cls.__name__  # else a signature is put together in its place, which takes longer than all this
    made: type[Any] = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
    own = fields(made)
    if any(not one.init or one.hash is not None for one in own):
        raise TypeError(f"{cls.__qualname__} needs a dataclass: `init` and `hash` of a field are not known here")
    places = [_is_preset(one) for one in own if not one.kw_only]
    if places != sorted(places):
        raise TypeError(f"{cls.__qualname__} has a field without a default after one that has some")
    for name, method in {"__init__": _first(made, own), **_compared([one.name for one in own if one.compare]), **_SHARED}.items():
        if cls.__dict__.get(name) is None:  # a class that says when it is equal has a `__hash__` that is None
            setattr(made, name, method)
    return made


def _is_preset(one: Field[Any]) -> bool:
    return one.default is not MISSING or one.default_factory is not MISSING


def _first(made: type[Any], own: Sequence[Field[Any]]) -> Callable[..., None]:
    def first(self: object, *given: object, **named: object) -> None:
        made.__init__ = _init(made, own)  # two threads at once write the same
        made.__init__(self, *given, **named)

    return first


def _init(made: type[Any], own: Sequence[Field[Any]]) -> Callable[..., None]:
    """Sets each field through its slot, for the instance itself lets nobody."""
    known: dict[str, Any] = {"MISSING": MISSING}
    places, named, lines = ["self"], ["*"], ["pass"]
    for one in own:
        name, preset, given = one.name, "", one.name
        known[f"set_{name}"] = getattr(made, name).__set__
        if one.default_factory is not MISSING:
            known[f"new_{name}"], preset = one.default_factory, "=MISSING"
            given = f"new_{name}() if {name} is MISSING else {name}"
        elif one.default is not MISSING:
            known[f"default_{name}"], preset = one.default, f"=default_{name}"
        (named if one.kw_only else places).append(name + preset)
        lines.append(f"set_{name}(self, {given})")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join(places + (named if len(named) > 1 else []))
    exec(f"def __init__({parameters}): {'; '.join(lines)}", known)  # noqa: S102  made of names of fields alone
    init: Callable[..., None] = known["__init__"]
    init.__qualname__ = f"{made.__qualname__}.__init__"
    init.__annotations__ = {one.name: one.type for one in own}
    return init


def _compared(names: Sequence[str]) -> dict[str, Callable[..., Any]]:
    values = _values(names)

    def equal(self: object, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: object) -> int:
        return hash(values(self))

    return {"__eq__": equal, "__hash__": hashed}


def _values(names: Sequence[str]) -> Callable[[Any], Any]:
    """As a tuple also of one or none: two tuples with the same NaN in them are equal, and always equal or not."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda _: ()
    only = attrgetter(names[0])
    return lambda one: (only(one),)


def _told(self: Any) -> str:
    told = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({told})"


def _refuse(self: object, name: str, given: object = None) -> None:
    raise FrozenInstanceError(f"cannot change {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for one, held in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, held)


_SHARED: dict[str, Callable[..., Any]] = {
    "__repr__": _told,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__getstate__": _state,
    "__setstate__": _restore,
}
