"""`@frozen` and `@mutable`: dataclasses with slots, made in a fraction of the time, and without `dataclasses`.

The standard decorator writes and compiles six functions for every class (0.7 ms each), and it loads `inspect`, `ast` and
`tokenize`: together half of all that a hook did before it could answer. Here nothing is compiled but `__init__`, and that once a
few instances have been made the slow way, which of most classes they never are; the other methods are the same for all classes
and see the fields through one getter. `fields`, `replace` and `field` here are those of the standard library, without its weight;
its own know such a class as any other, because it becomes one for them when they first look; so does `inspect.signature`.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from operator import attrgetter
from types import MappingProxyType

_SLOWLY = 3  # instances that are made without a compiled `__init__`
_NOT_COPIED = frozenset({"__dict__", "__weakref__"})

TYPE_CHECKING = False
if TYPE_CHECKING:  # checkers know these of the standard library
    from collections.abc import Callable, Mapping, Sequence
    from dataclasses import MISSING as MISSING
    from dataclasses import Field as Field
    from dataclasses import field as field
    from dataclasses import fields as fields
    from dataclasses import is_dataclass as is_dataclass
    from dataclasses import replace as replace
    from typing import Any, TypeVar, dataclass_transform, overload

    T = TypeVar("T")
else:
    MISSING = object()  # the default of a field that has none

    class Field:
        """One field of a class: its name, type and what was said of it."""

        __slots__ = ("compare", "default", "default_factory", "init", "kw_only", "metadata", "name", "repr", "type")

        def __init__(self, default, default_factory, init, repr, compare, kw_only, metadata):
            self.default, self.default_factory, self.init = default, default_factory, init
            self.repr, self.compare, self.kw_only, self.metadata = repr, compare, kw_only, metadata

    def field(*, default=MISSING, default_factory=MISSING, init=True, repr=True, compare=True, kw_only=None, metadata=None):
        """What is to be said of a field besides its type."""
        return Field(default, default_factory, init, repr, compare, kw_only, MappingProxyType(metadata or {}))

    def fields(one):
        """The fields of a class or of a value, in order; of one that the standard library made of ours, all of them."""
        for cls in (one if isinstance(one, type) else one.__class__).__mro__:
            if "__own_fields__" in cls.__dict__:
                return cls.__own_fields__
            if "__dataclass_fields__" in cls.__dict__:
                from dataclasses import fields as theirs

                return theirs(cls)
        raise TypeError("only what was made here has fields")

    def is_dataclass(one):
        """Is it a class that was made here, or a value of one?"""
        return hasattr(one, "__own_fields__")

    def replace(value, /, **changes):
        """The same value but for what is named."""
        for one in fields(value):
            if one.init and one.name not in changes:
                changes[one.name] = getattr(value, one.name)
        return value.__class__(**changes)


if TYPE_CHECKING:

    @overload
    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    def frozen(cls: type[T], /) -> type[T]: ...

    @overload
    def frozen(*, kw_only: bool = False, eq: bool = True) -> Callable[[type[T]], type[T]]: ...


def frozen(cls: type[Any] | None = None, /, *, kw_only: bool = False, eq: bool = True) -> Any:
    """Make a class whose instances are what their fields are, and never change."""
    return _made(cls, kw_only, eq, True) if cls is not None else lambda given: _made(given, kw_only, eq, True)


if TYPE_CHECKING:

    @overload
    @dataclass_transform(field_specifiers=(field,))
    def mutable(cls: type[T], /) -> type[T]: ...

    @overload
    def mutable(*, kw_only: bool = False, eq: bool = True) -> Callable[[type[T]], type[T]]: ...


def mutable(cls: type[Any] | None = None, /, *, kw_only: bool = False, eq: bool = True) -> Any:
    """The same for what is filled in as it goes: its fields may change, and it is in no set."""
    return _made(cls, kw_only, eq, False) if cls is not None else lambda given: _made(given, kw_only, eq, False)


def _made(cls: type[Any], kw_only: bool, eq: bool, settled: bool) -> type[Any]:
    """The class anew, with slots: they cannot be added to one that is there."""
    inherited = {one.name: one for base in reversed(cls.__mro__[1:]) for one in base.__dict__.get("__own_fields__", ())}
    own = _declared(cls, kw_only)
    if hidden := (inherited.keys() & cls.__dict__.keys()) - {one.name for one in own}:
        raise TypeError(f"{cls.__qualname__} would hide a field: {', '.join(sorted(hidden))}")
    known = {**inherited, **{one.name: one for one in own}}
    every = tuple(known.values())
    places = [one for one in every if one.init and not one.kw_only]
    if any(_is_preset(one) and not _is_preset(after) for one, after in pairwise(places)):
        raise TypeError(f"{cls.__qualname__} has a field without a default after one that has some")
    body = {name: held for name, held in cls.__dict__.items() if name not in _NOT_COPIED and name not in known}
    body["__slots__"] = tuple(one.name for one in own if one.name not in inherited)
    body["__qualname__"] = cls.__qualname__
    body["__match_args__"] = tuple(one.name for one in places)
    body["__own_fields__"] = every
    body["__dataclass_fields__"], body["__dataclass_params__"] = _Known("fields"), _Known("params")
    body["__signature__"] = _Signature()
    shared = {**_SHARED, **(_SETTLED if settled else {}), **(_compared(every, settled) if eq else {})}
    for name, method in shared.items():
        if body.get(name) is None:  # a class that says when it is equal has a `__hash__` that is None
            body[name] = method
    made: type[Any] = type(cls)(cls.__name__, cls.__bases__, body)  # type: ignore[misc]
    if "__init__" not in body:
        made.__init__ = _first(made, every)
    return made


def _declared(cls: type[Any], kw_only: bool) -> list[Field[Any]]:
    said = {name: str(kind).partition("[")[0].rpartition(".")[2] for name, kind in cls.__annotations__.items()}
    return [_one(cls, name, kind, kw_only) for name, kind in cls.__annotations__.items() if said[name] != "ClassVar"]


def _one(cls: type[Any], name: str, kind: Any, kw_only: bool) -> Field[Any]:
    said: Any = cls.__dict__.get(name, MISSING)
    one = said if isinstance(said, Field) else field(default=said)
    if isinstance(one.default, list | dict | set):
        raise TypeError(f"{cls.__qualname__}.{name} would be one {type(one.default).__name__} for all: use default_factory")
    one.name, one.type = name, kind
    one.kw_only = kw_only if one.kw_only is None else one.kw_only
    return one


def _is_preset(one: Field[Any]) -> bool:
    return one.default is not MISSING or one.default_factory is not MISSING


# ── making instances ───────────────────────────────────────────────────────────────────────────────────────────────────


def _first(made: type[Any], every: Sequence[Field[Any]]) -> Callable[..., None]:
    """An `__init__` that takes its arguments apart itself, a few times; and wherever they do not fit, for whoever is compiled
    says best why."""
    left = _SLOWLY

    def first(self: object, /, *given: Any, **named: Any) -> None:
        nonlocal left
        left -= 1
        values = _fitting(every, given, named) if left >= 0 else None
        if values is None:
            made.__init__ = _init(made, every)  # two threads at once write the same
            made.__init__(self, *given, **named)
            return
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if hasattr(made, "__post_init__"):
            self.__post_init__()  # type: ignore[attr-defined]

    return first


def _fitting(every: Sequence[Field[Any]], given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any] | None:
    """Each field's value; None if these are not the arguments of this class."""
    values: dict[str, Any] = {}
    at = used = 0
    for one in every:
        if not one.init:
            if not _is_preset(one):
                continue
        elif not one.kw_only and at < len(given):
            values[one.name], at = given[at], at + 1
            continue
        elif one.name in named:
            values[one.name], used = named[one.name], used + 1
            continue
        elif not _is_preset(one):
            return None
        values[one.name] = one.default if one.default_factory is MISSING else one.default_factory()
    return values if at == len(given) and used == len(named) else None


def _init(made: type[Any], every: Sequence[Field[Any]]) -> Callable[..., None]:
    """Sets each field through its slot, for the instance itself may let nobody. Names in it are those of its module."""
    known: dict[str, Any] = {"__missing": MISSING}
    places, named, lines = ["self"], ["*"], ["pass"]
    for number, one in enumerate(every):
        name, preset, given = one.name, "", one.name
        known[f"__set{number}"] = getattr(made, name).__set__
        if one.default_factory is not MISSING:
            known[f"__new{number}"], preset = one.default_factory, "=__missing"
            given = f"__new{number}() if {name} is __missing else {name}" if one.init else f"__new{number}()"
        elif one.default is not MISSING:
            known[f"__default{number}"], preset = one.default, f"=__default{number}"
            given = name if one.init else f"__default{number}"
        elif not one.init:
            continue
        if one.init:
            (named if one.kw_only else places).append(name + preset)
        lines.append(f"__set{number}(self, {given})")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join(places + (named if len(named) > 1 else []))
    source = f"def _maker({', '.join(known)}):\n def __init__({parameters}): {'; '.join(lines)}\n return __init__"
    found: dict[str, Any] = {}
    place = sys.modules.get(made.__module__)
    exec(source, {} if place is None else vars(place), found)  # noqa: S102  made of names of fields alone
    init: Callable[..., None] = found["_maker"](**known)
    init.__qualname__ = f"{made.__qualname__}.__init__"
    init.__annotations__ = {**{one.name: one.type for one in every if one.init}, "return": None}
    return init


# ── what all of them do alike ──────────────────────────────────────────────────────────────────────────────────────────


def _compared(every: Sequence[Field[Any]], settled: bool) -> dict[str, Callable[..., Any] | None]:
    values = _values([one.name for one in every if one.compare])

    def equal(self: object, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: object) -> int:
        return hash(values(self))

    return {"__eq__": equal, "__hash__": hashed if settled else None}


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
    from dataclasses import FrozenInstanceError  # late: for a mistake alone

    raise FrozenInstanceError(f"cannot change {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for one, held in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, held)


_SHARED: dict[str, Callable[..., Any]] = {"__repr__": _told, "__replace__": replace}
_SETTLED: dict[str, Callable[..., Any]] = {
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__getstate__": _state,
    "__setstate__": _restore,
}


class _Known:
    """What the standard library looks for on a dataclass: it makes one of the same fields when it first looks."""

    __slots__ = ("what",)

    def __init__(self, what: str) -> None:
        self.what = what

    def __get__(self, one: object, cls: type[Any]) -> Any:
        import dataclasses

        cls = next(each for each in cls.__mro__ if "__own_fields__" in each.__dict__)
        body: dict[str, Any] = {"__annotations__": {each.name: each.type for each in fields(cls)}}
        for each in fields(cls):
            more: Any = {name: getattr(each, name) for name in ("init", "repr", "compare", "kw_only", "metadata")}
            preset = {name: held for name in ("default", "default_factory") if (held := getattr(each, name)) is not MISSING}
            body[each.name] = dataclasses.field(**more, **preset)
        settled = cls.__setattr__ is _refuse
        twin: Any = dataclasses.dataclass(init=False, repr=False, eq=False, frozen=settled)(type(cls.__name__, (), body))
        for name in ("__dataclass_fields__", "__dataclass_params__"):
            setattr(cls, name, getattr(twin, name))
        return getattr(cls, f"__dataclass_{self.what}__")


class _Signature:
    """What `inspect.signature` looks for: that of the compiled `__init__`, also before there is one."""

    __slots__ = ()

    def __get__(self, one: object, cls: type[Any]) -> Any:
        if one is not None:  # a value that can be called has another
            raise AttributeError("__signature__")
        import inspect

        made: Any = next(each for each in cls.__mro__ if "__init__" in each.__dict__)
        if made.__init__.__name__ == "first":
            made.__init__ = _init(made, fields(made))
        told = inspect.signature(made.__init__)
        return told.replace(parameters=list(told.parameters.values())[1:])
