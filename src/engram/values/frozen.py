"""`@frozen` and `@mutable`: dataclasses with slots, built in a fraction of the time and without importing `dataclasses`.

The standard decorator generates and compiles six functions for every class (0.7 ms each), and imports `inspect`, `ast` and
`tokenize`: together half of the work of a hook before it could answer. Here only `__init__` is compiled, and only after some
instances have been made without it, which for most classes never happens; the other methods are shared by all classes and
read the fields through one getter. `fields`, `replace` and `field` work as in the standard library. The functions of
`dataclasses` and `inspect.signature` accept these classes too: what they look for is built on first access.
"""

from __future__ import annotations

import sys
from itertools import repeat
from operator import attrgetter
from types import MappingProxyType

_UNCOMPILED = 50  # instances made before `__init__` is compiled; compiling takes as long as making 30 to 150 of them
_NOT_COPIED = frozenset({"__dict__", "__weakref__"})

TYPE_CHECKING = False
if TYPE_CHECKING:  # type checkers use the declarations of the standard library
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
            return "<factory>"  # shown in signatures, as the standard library does

    MISSING = _Missing()  # the default of a field that has none

    class Field:
        """A field of a class: its name, type, default and options."""

        default = default_factory = MISSING
        init = repr = compare = True
        kw_only = None
        metadata = MappingProxyType({})

    def field(*, default=MISSING, default_factory=MISSING, init=True, repr=True, compare=True, kw_only=None, metadata=None):
        """Declare the default and the options of a field."""
        made = Field()
        made.default, made.default_factory, made.init = default, default_factory, init
        made.repr, made.compare, made.kw_only = repr, compare, kw_only
        if metadata:
            made.metadata = MappingProxyType(metadata)
        return made

    def fields(class_or_instance):
        """Return the fields of a class or an instance, in order. For a standard dataclass derived from ours, all of them."""
        for cls in (class_or_instance if isinstance(class_or_instance, type) else class_or_instance.__class__).__mro__:
            if "__own_fields__" in cls.__dict__:
                return cls.__own_fields__
            if "__dataclass_fields__" in cls.__dict__:
                from dataclasses import fields as standard_fields

                return standard_fields(cls)
        raise TypeError("must be a class made by `frozen` or `mutable`, or an instance of one")

    def is_dataclass(class_or_instance):
        """Return True for a class made by `frozen` or `mutable`, or an instance of one."""
        return hasattr(class_or_instance, "__own_fields__")

    def replace(value, /, **changes):
        """Return a copy of a value with some fields changed."""
        for part in fields(value):
            if part.init and part.name not in changes:
                changes[part.name] = getattr(value, part.name)
        return value.__class__(**changes)


if TYPE_CHECKING:

    @overload
    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    def frozen(cls: type[T], /) -> type[T]: ...

    @overload
    def frozen(*, kw_only: bool = False, eq: bool = True) -> Callable[[type[T]], type[T]]: ...


def frozen(cls: type[Any] | None = None, /, *, kw_only: bool = False, eq: bool = True) -> Any:
    """Make a class with slots whose instances are immutable and compare by their fields."""
    return _build(cls, kw_only, eq, True) if cls is not None else lambda declared: _build(declared, kw_only, eq, True)


if TYPE_CHECKING:

    @overload
    @dataclass_transform(field_specifiers=(field,))
    def mutable(cls: type[T], /) -> type[T]: ...

    @overload
    def mutable(*, kw_only: bool = False, eq: bool = True) -> Callable[[type[T]], type[T]]: ...


def mutable(cls: type[Any] | None = None, /, *, kw_only: bool = False, eq: bool = True) -> Any:
    """Make a class with slots whose fields may change. Instances compare by their fields and are not hashable."""
    return _build(cls, kw_only, eq, False) if cls is not None else lambda declared: _build(declared, kw_only, eq, False)


def _build(cls: type[Any], kw_only: bool, eq: bool, immutable: bool) -> type[Any]:
    """Build the class anew, since slots cannot be added to an existing one. Written for speed: a hook builds some 50."""
    by_name = {part.name: part for base in cls.__mro__[-2:0:-1] for part in base.__dict__.get("__own_fields__", ())}
    inherited = set(by_name)
    own = _declared(cls, kw_only)
    for part in own:
        by_name[part.name] = part
    body = {name: value for name, value in cls.__dict__.items() if name not in _NOT_COPIED}
    if inherited and (hidden := inherited.intersection(body).difference([part.name for part in own])):
        raise TypeError(f"{cls.__qualname__} would hide a field: {', '.join(sorted(hidden))}")
    for part in own:
        body.pop(part.name, None)
    body["__slots__"] = tuple([part.name for part in own if part.name not in inherited])
    body["__qualname__"] = cls.__qualname__
    body["__own_fields__"] = every = tuple(by_name.values())
    body["__match_args__"] = _positional(cls, every)
    if eq:
        body["__compared__"] = _values([part.name for part in every if part.compare])
    for name, method in _METHODS[immutable, eq].items():
        if body.get(name) is None:  # Python sets `__hash__` to None in a class that defines `__eq__`
            body[name] = method
    made: type[Any] = type(cls)(cls.__name__, cls.__bases__, body)  # type: ignore[misc]
    if "__init__" not in body:
        made.__init__ = _uncompiled_init(made, every)
    return made


def _declared(cls: type[Any], kw_only: bool) -> list[Field[Any]]:
    """Return the fields that a class itself declares."""
    own, namespace = [], vars(cls)
    for name, kind in cls.__annotations__.items():
        if "ClassVar" in str(kind) and str(kind).partition("[")[0].rpartition(".")[2] == "ClassVar":
            continue
        part: Any = namespace.get(name, MISSING)
        if part.__class__ is not Field:
            part, default = Field(), part  # type: ignore[call-arg]  # our Field takes no arguments
            part.default = default
        if part.default.__class__.__hash__ is None:  # unhashable, so mutable
            shared = type(part.default).__name__
            raise TypeError(f"{cls.__qualname__}.{name} would share one {shared} between instances: use default_factory")
        part.name, part.type = name, kind
        if part.kw_only is None:
            part.kw_only = kw_only
        own.append(part)
    return own


def _positional(cls: type[Any], every: Sequence[Field[Any]]) -> tuple[str, ...]:
    """Return the names of the fields that `__init__` takes by position."""
    defaults, names = False, []
    for part in every:
        if part.init and not part.kw_only:
            if defaults and not _has_default(part):
                raise TypeError(f"{cls.__qualname__} has a field without a default after one with a default")
            defaults = defaults or _has_default(part)
            names.append(part.name)
    return tuple(names)


def _has_default(part: Field[Any]) -> bool:
    return part.default is not MISSING or part.default_factory is not MISSING


# ── making instances ───────────────────────────────────────────────────────────────────────────────────────────────────


def _uncompiled_init(made: type[Any], every: Sequence[Field[Any]]) -> Callable[..., None]:
    """Return an `__init__` that binds its arguments itself. It compiles the real one after some instances, or when the
    arguments do not fit, since the compiled function raises the right TypeError."""
    left = _UNCOMPILED
    bind: Callable[..., dict[str, Any] | None] | None = None

    def uncompiled(self: object, /, *positional: Any, **named: Any) -> None:
        nonlocal left, bind
        left -= 1
        bind = bind or _binder(made.__match_args__, every)
        values = bind(positional, named) if left >= 0 else None
        if values is None:
            made.__init__ = _compiled_init(made, every)  # two threads may both do this: the functions are the same
            made.__init__(self, *positional, **named)
            return
        any(map(object.__setattr__, repeat(self), values, values.values()))  # all return None; half the time of a loop
        if hasattr(made, "__post_init__"):
            self.__post_init__()  # type: ignore[attr-defined]

    return uncompiled


def _binder(positions: Sequence[str], every: Sequence[Field[Any]]) -> Callable[..., dict[str, Any] | None]:
    """Return a function from arguments to the values of the fields, or None if the arguments do not fit the class."""
    parameters = {part.name for part in every if part.init}
    defaults = {part.name: part.default for part in every if part.default is not MISSING}
    factories = {part.name: part.default_factory for part in every if part.default_factory is not MISSING}
    needed = len(parameters.union(defaults, factories))

    def bind(positional: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any] | None:
        values = {**defaults, **named}
        if positional:
            by_name = dict(zip(positions, positional, strict=False))
            if len(by_name) < len(positional) or not named.keys().isdisjoint(by_name):
                return None
            values.update(by_name)
        for name, factory in factories.items():
            if name not in values:
                values[name] = factory()
        return values if len(values) == needed and named.keys() <= parameters else None

    return bind


def _compiled_init(made: type[Any], every: Sequence[Field[Any]]) -> Callable[..., None]:
    """Compile an `__init__` that sets each field through its slot, because a frozen instance refuses assignment. Its globals
    are those of the class's module."""
    constants: dict[str, Any] = {"__missing": MISSING}
    positional, named, lines = ["self"], ["*"], ["pass"]
    defaults: dict[str, Any] = {}
    for number, part in enumerate(every):
        name, value = part.name, part.name
        constants[f"__set{number}"] = getattr(made, name).__set__
        if part.default_factory is not MISSING:
            constants[f"__new{number}"], defaults[name] = part.default_factory, MISSING
            value = f"__new{number}() if {name} is __missing else {name}" if part.init else f"__new{number}()"
        elif part.default is not MISSING:
            defaults[name] = part.default
            if not part.init:
                value = f"__default{number}"
                constants[value] = part.default
        elif not part.init:
            continue
        if part.init:
            (named if part.kw_only else positional).append(name)
        lines.append(f"__set{number}(self, {value})")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join(positional + (named if len(named) > 1 else []))
    source = f"def _maker({', '.join(constants)}):\n def __init__({parameters}): {'; '.join(lines)}\n return __init__"
    namespace: dict[str, Any] = {}
    module = sys.modules.get(made.__module__)
    exec(source, {} if module is None else vars(module), namespace)  # noqa: S102  built from field names only
    init: Any = namespace["_maker"](**constants)
    init.__qualname__ = f"{made.__qualname__}.__init__"
    init.__annotations__ = {**{part.name: part.type for part in every if part.init}, "return": None}
    # Set here instead of in the source, where they took a third of the compile time.
    init.__defaults__ = tuple(defaults[name] for name in positional if name in defaults)
    init.__kwdefaults__ = {name: defaults[name] for name in named if name in defaults}
    return init  # type: ignore[no-any-return]


# ── methods shared by all classes ──────────────────────────────────────────────────────────────────────────────────────


def _equal(self: Any, other: Any) -> bool:
    return self.__compared__(self) == self.__compared__(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(self.__compared__(self))


def _values(names: Sequence[str]) -> Callable[[Any], Any]:
    """Return a getter of the named fields as a tuple, also of one or none: tuples with the same NaN object are equal."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return staticmethod(lambda _: ())
    only = attrgetter(names[0])
    return staticmethod(lambda value: (only(value),))


def _repr(self: Any) -> str:
    shown = ", ".join(f"{part.name}={getattr(self, part.name)!r}" for part in fields(self) if part.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse(self: object, name: str, value: object = None) -> None:
    from dataclasses import FrozenInstanceError  # late: needed only for this error

    raise FrozenInstanceError(f"cannot change {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, part.name) for part in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for part, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, part.name, value)


class _DataclassAttribute:
    """An attribute that the standard library looks for on a dataclass. Built on first access, from a dataclass of the same
    fields."""

    __slots__ = ("what",)

    def __init__(self, what: str) -> None:
        self.what = what

    def __get__(self, instance: object, cls: type[Any]) -> Any:
        import dataclasses

        cls = next(base for base in cls.__mro__ if "__own_fields__" in base.__dict__)
        body: dict[str, Any] = {"__annotations__": {part.name: part.type for part in fields(cls)}}
        for part in fields(cls):
            options: Any = {name: getattr(part, name) for name in ("init", "repr", "compare", "kw_only", "metadata")}
            default = {name: value for name in ("default", "default_factory") if (value := getattr(part, name)) is not MISSING}
            body[part.name] = dataclasses.field(**options, **default)
        immutable = cls.__setattr__ is _refuse
        twin: Any = dataclasses.dataclass(init=False, repr=False, eq=False, frozen=immutable)(type(cls.__name__, (), body))
        for name in ("__dataclass_fields__", "__dataclass_params__"):
            setattr(cls, name, getattr(twin, name))
        return getattr(cls, f"__dataclass_{self.what}__")


class _Signature:
    """The `__signature__` that `inspect.signature` and `help` look for: that of the compiled `__init__`."""

    __slots__ = ()

    def __get__(self, instance: object, cls: type[Any]) -> Any:
        if instance is not None:  # a callable instance has the signature of its `__call__`
            raise AttributeError("__signature__")
        import inspect

        made: Any = next(base for base in cls.__mro__ if "__init__" in base.__dict__)
        if made.__init__.__name__ == "uncompiled":
            made.__init__ = _compiled_init(made, fields(made))
        signature = inspect.signature(made.__init__)
        return signature.replace(parameters=list(signature.parameters.values())[1:])


_ALL: dict[str, Any] = {
    "__repr__": _repr,
    "__replace__": replace,
    "__dataclass_fields__": _DataclassAttribute("fields"),
    "__dataclass_params__": _DataclassAttribute("params"),
    "__signature__": _Signature(),
}
_IMMUTABLE: dict[str, Any] = {
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__getstate__": _state,
    "__setstate__": _restore,
}
_METHODS = {
    (True, True): {**_ALL, **_IMMUTABLE, "__eq__": _equal, "__hash__": _hash},
    (True, False): {**_ALL, **_IMMUTABLE},
    (False, True): {**_ALL, "__eq__": _equal, "__hash__": None},
    (False, False): _ALL,
}
