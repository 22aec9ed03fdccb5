"""`@frozen` and `@mutable`: dataclasses with slots, made in a fraction of the time, and without `dataclasses`.

The standard decorator writes and compiles six functions for every class (0.7 ms each), and it loads `inspect`, `ast` and
`tokenize`: together half of all that a hook did before it could answer. Here nothing is compiled but `__init__`, and that once
some instances have been made the slow way, which of most classes they never are; the other methods are the same for all classes
and see the fields through one getter. `fields`, `replace` and `field` here are those of the standard library, without its weight;
its own know such a class as any other, because it becomes one for them when they first look; so does `inspect.signature`.
"""

from __future__ import annotations

import sys
from itertools import repeat
from operator import attrgetter
from types import MappingProxyType

_SLOWLY = 50  # instances that are made without a compiled `__init__`, which takes as long as 30 to 150 of them
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

    class _Missing:
        def __repr__(self):
            return "<factory>"  # where it is seen, in a signature, it stands for one

    MISSING = _Missing()  # the default of a field that has none

    class Field:
        """One field of a class: its name, type and what was said of it."""

        default = default_factory = MISSING
        init = repr = compare = True
        kw_only = None
        metadata = MappingProxyType({})

    def field(*, default=MISSING, default_factory=MISSING, init=True, repr=True, compare=True, kw_only=None, metadata=None):
        """What is to be said of a field besides its type."""
        one = Field()
        one.default, one.default_factory, one.init = default, default_factory, init
        one.repr, one.compare, one.kw_only = repr, compare, kw_only
        if metadata:
            one.metadata = MappingProxyType(metadata)
        return one

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
    """The class anew, with slots: they cannot be added to one that is there. Some 50 are made for every prompt of a host, so it
    takes the shortest ways."""
    known = {one.name: one for base in cls.__mro__[-2:0:-1] for one in base.__dict__.get("__own_fields__", ())}
    inherited = set(known)
    own = _declared(cls, kw_only)
    for one in own:
        known[one.name] = one
    body = {name: held for name, held in cls.__dict__.items() if name not in _NOT_COPIED}
    if inherited and (hidden := inherited.intersection(body).difference([one.name for one in own])):
        raise TypeError(f"{cls.__qualname__} would hide a field: {', '.join(sorted(hidden))}")
    for one in own:
        body.pop(one.name, None)
    body["__slots__"] = tuple([one.name for one in own if one.name not in inherited])
    body["__qualname__"] = cls.__qualname__
    body["__own_fields__"] = every = tuple(known.values())
    body["__match_args__"] = _places(cls, every)
    if eq:
        body["__compared__"] = _values([one.name for one in every if one.compare])
    for name, method in _METHODS[settled, eq].items():
        if body.get(name) is None:  # a class that says when it is equal has a `__hash__` that is None
            body[name] = method
    made: type[Any] = type(cls)(cls.__name__, cls.__bases__, body)  # type: ignore[misc]
    if "__init__" not in body:
        made.__init__ = _first(made, every)
    return made


def _declared(cls: type[Any], kw_only: bool) -> list[Field[Any]]:
    own, said = [], vars(cls)
    for name, kind in cls.__annotations__.items():
        if "ClassVar" in str(kind) and str(kind).partition("[")[0].rpartition(".")[2] == "ClassVar":
            continue
        one: Any = said.get(name, MISSING)
        if one.__class__ is not Field:
            one, default = Field(), one  # type: ignore[call-arg]  # ours needs none
            one.default = default
        if one.default.__class__.__hash__ is None:  # so it can change
            raise TypeError(f"{cls.__qualname__}.{name} would be one {type(one.default).__name__} for all: use default_factory")
        one.name, one.type = name, kind
        if one.kw_only is None:
            one.kw_only = kw_only
        own.append(one)
    return own


def _places(cls: type[Any], every: Sequence[Field[Any]]) -> tuple[str, ...]:
    """The fields that are given by their place."""
    preset, places = False, []
    for one in every:
        if one.init and not one.kw_only:
            if preset and not _is_preset(one):
                raise TypeError(f"{cls.__qualname__} has a field without a default after one that has some")
            preset = preset or _is_preset(one)
            places.append(one.name)
    return tuple(places)


def _is_preset(one: Field[Any]) -> bool:
    return one.default is not MISSING or one.default_factory is not MISSING


# ── making instances ───────────────────────────────────────────────────────────────────────────────────────────────────


def _first(made: type[Any], every: Sequence[Field[Any]]) -> Callable[..., None]:
    """An `__init__` that takes its arguments apart itself, for a while; and wherever they do not fit, for whoever is compiled
    says best why."""
    left = _SLOWLY
    fitting: Callable[..., dict[str, Any] | None] | None = None

    def first(self: object, /, *given: Any, **named: Any) -> None:
        nonlocal left, fitting
        left -= 1
        fitting = fitting or _fitting(made.__match_args__, every)
        values = fitting(given, named) if left >= 0 else None
        if values is None:
            made.__init__ = _init(made, every)  # two threads at once write the same
            made.__init__(self, *given, **named)
            return
        any(map(object.__setattr__, repeat(self), values, values.values()))  # they answer None: half the time of a loop
        if hasattr(made, "__post_init__"):
            self.__post_init__()  # type: ignore[attr-defined]

    return first


def _fitting(places: Sequence[str], every: Sequence[Field[Any]]) -> Callable[..., dict[str, Any] | None]:
    """What tells each field's value from the arguments; None if these are not the arguments of this class."""
    taken = {one.name for one in every if one.init}
    preset = {one.name: one.default for one in every if one.default is not MISSING}
    fresh = {one.name: one.default_factory for one in every if one.default_factory is not MISSING}
    needed = len(taken.union(preset, fresh))

    def fitting(given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any] | None:
        values = {**preset, **named}
        if given:
            placed = dict(zip(places, given, strict=False))
            if len(placed) < len(given) or not named.keys().isdisjoint(placed):
                return None
            values.update(placed)
        for name, factory in fresh.items():
            if name not in values:
                values[name] = factory()
        return values if len(values) == needed and named.keys() <= taken else None

    return fitting


def _init(made: type[Any], every: Sequence[Field[Any]]) -> Callable[..., None]:
    """Sets each field through its slot, for the instance itself may let nobody. Names in it are those of its module."""
    known: dict[str, Any] = {"__missing": MISSING}
    places, named, lines = ["self"], ["*"], ["pass"]
    preset: dict[str, Any] = {}
    for number, one in enumerate(every):
        name, given = one.name, one.name
        known[f"__set{number}"] = getattr(made, name).__set__
        if one.default_factory is not MISSING:
            known[f"__new{number}"], preset[name] = one.default_factory, MISSING
            given = f"__new{number}() if {name} is __missing else {name}" if one.init else f"__new{number}()"
        elif one.default is not MISSING:
            preset[name] = one.default
            if not one.init:
                given = f"__default{number}"
                known[given] = one.default
        elif not one.init:
            continue
        if one.init:
            (named if one.kw_only else places).append(name)
        lines.append(f"__set{number}(self, {given})")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join(places + (named if len(named) > 1 else []))
    source = f"def _maker({', '.join(known)}):\n def __init__({parameters}): {'; '.join(lines)}\n return __init__"
    found: dict[str, Any] = {}
    place = sys.modules.get(made.__module__)
    exec(source, {} if place is None else vars(place), found)  # noqa: S102  made of names of fields alone
    init: Any = found["_maker"](**known)
    init.__qualname__ = f"{made.__qualname__}.__init__"
    init.__annotations__ = {**{one.name: one.type for one in every if one.init}, "return": None}
    # Not as expressions of the source: they took a third of the time it takes to compile.
    init.__defaults__ = tuple(preset[name] for name in places if name in preset)
    init.__kwdefaults__ = {name: preset[name] for name in named if name in preset}
    return init  # type: ignore[no-any-return]


# ── what all of them do alike ──────────────────────────────────────────────────────────────────────────────────────────


def _equal(self: Any, other: Any) -> bool:
    return self.__compared__(self) == self.__compared__(other) if other.__class__ is self.__class__ else NotImplemented


def _hashed(self: Any) -> int:
    return hash(self.__compared__(self))


def _values(names: Sequence[str]) -> Callable[[Any], Any]:
    """As a tuple also of one or none: two tuples with the same NaN in them are equal, and always equal or not."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return staticmethod(lambda _: ())
    only = attrgetter(names[0])
    return staticmethod(lambda one: (only(one),))


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


_ALL: dict[str, Any] = {
    "__repr__": _told,
    "__replace__": replace,
    "__dataclass_fields__": _Known("fields"),
    "__dataclass_params__": _Known("params"),
    "__signature__": _Signature(),
}
_SETTLED: dict[str, Any] = {
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__getstate__": _state,
    "__setstate__": _restore,
}
_METHODS = {
    (True, True): {**_ALL, **_SETTLED, "__eq__": _equal, "__hash__": _hashed},
    (True, False): {**_ALL, **_SETTLED},
    (False, True): {**_ALL, "__eq__": _equal, "__hash__": None},
    (False, False): _ALL,
}
