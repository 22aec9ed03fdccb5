"""Classes made by `frozen` and `mutable` behave like standard dataclasses with slots."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import sys
import typing
from collections import Counter
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, asdict, dataclass
from functools import partial
from itertools import combinations
from typing import Any, get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.values import frozen as ours
from engram.values.frozen import field, fields, frozen, mutable, replace


@frozen
class Place:
    """A place."""

    name: str
    height: float = 0.0
    notes: Mapping[str, str] = field(default_factory=dict)
    secret: str = field(default="", repr=False, compare=False)

    @property
    def is_high(self) -> bool:
        return self.height > 1000


@frozen(kw_only=True)
class Peak(Place):
    climbed: bool = False
    seen: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Twin:
    """`Place` as a standard dataclass."""

    name: str
    height: float = 0.0
    notes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    secret: str = dataclasses.field(default="", repr=False, compare=False)


@dataclass(frozen=True)
class Lake(Place):
    """A standard dataclass derived from one of ours."""

    depth: float = 0.0


@mutable
class Tour:
    """A mutable class."""

    start: str
    stops: list[str] = field(default_factory=list)
    length: float = field(init=False, default=0.0)
    map: Any = field(init=False, repr=False, compare=False)


@frozen(eq=False)
class Shape:
    points: Any


@frozen
class Depth:
    metres: float


@frozen
class Alike:
    size: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike)


@frozen
class Nothing:
    pass


@frozen
class Bent:
    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", abs(self.size))

    def __repr__(self) -> str:
        return f"<{self.size}>"


def test_an_instance_is_made_like_that_of_a_dataclass() -> None:
    assert Place("Ida") == Place(name="Ida", height=0.0, notes={})
    assert Place("Ida").notes is not Place("Ida").notes
    assert Peak("Ida", 2456.0, climbed=True).seen == []
    assert Bent(-3).size == 3
    assert Nothing() == Nothing()
    for made in (Place, Twin):
        with pytest.raises(TypeError, match=rf"{made.__name__}.__init__\(\) missing 1 required positional argument: 'name'"):
            made()  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="unexpected keyword argument 'depth'"):
            made("Ida", depth=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Peak("Ida", 2456.0, {}, "", True)  # type: ignore[misc]


def test_an_instance_is_immutable_and_has_no_dict() -> None:
    place = Place("Ida")
    with pytest.raises(FrozenInstanceError):
        place.height = 3.0  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del place.name
    with pytest.raises(FrozenInstanceError):
        place.depth = 3  # type: ignore[attr-defined]
    assert not hasattr(place, "__dict__")
    assert place == Place("Ida")


def test_instances_compare_and_hash_by_their_fields() -> None:
    assert Place("Ida", secret="gold") == Place("Ida", secret="silver")
    assert Place("Ida") != Place("Oeta")
    assert Place("Ida") != Peak("Ida")
    assert Place("Ida") != Twin("Ida")
    assert len({Bent(3), Bent(-3), Bent(4)}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(Place("Ida"))
    assert repr(Place("Ida", 2.5, secret="gold")) == repr(Twin("Ida", 2.5)).replace("Twin", "Place")
    assert repr(Bent(3)) == "<3>"


def test_a_single_field_is_compared_like_several() -> None:
    unknown = Depth(float("nan"))
    assert copy.copy(unknown) == unknown
    assert hash(Depth(3.0)) == hash((3.0,))
    with pytest.raises(ValueError, match="ambiguous"):
        assert Depth(np.array([1, 2])) == Depth(np.array([1, 3]))  # type: ignore[arg-type]


def test_a_class_with_its_own_eq_stays_hashable() -> None:
    assert Alike(3) == Alike(4)
    assert hash(Alike(3)) == hash(Alike(3))


def test_the_standard_library_accepts_the_class_as_a_dataclass() -> None:
    place: Any = Peak("Ida", 2456.0, {"in": "Crete"}, climbed=True)
    for library in (dataclasses, ours):
        assert library.is_dataclass(Peak)
        assert not library.is_dataclass(3)
        assert [one.name for one in library.fields(place)] == ["name", "height", "notes", "secret", "climbed", "seen"]
        assert [one.kw_only for one in library.fields(Peak)] == [False, False, False, False, True, True]
        assert [one.repr for one in library.fields(Place)] == [True, True, True, False]
        assert library.fields(Place)[0].default is library.MISSING
        assert library.replace(place, climbed=False) == Peak("Ida", 2456.0, {"in": "Crete"})
    assert asdict(place)["notes"] == {"in": "Crete"}
    assert place.is_high
    for name in map(str, range(ours._UNCOMPILED + 3)):  # the last have a compiled `__init__`
        assert Place(name).name == name
    assert str(inspect.signature(Place)).startswith("(name: 'str', height: 'float' = 0.0")
    match place:
        case Place(name, height):
            assert (name, height) == ("Ida", 2456.0)


def test_the_signature_is_known_before_the_first_instance() -> None:
    @frozen
    class Lake:
        name: str
        notes: Mapping[str, str] = field(default_factory=dict)

        def __call__(self, depth: float) -> None: ...

    class Pond(Lake):
        def __init__(self, fish: int) -> None:
            super().__init__("", {"fish": str(fish)})

    assert str(inspect.signature(Lake)) == "(name: 'str', notes: 'Mapping[str, str]' = <factory>) -> None"
    assert list(inspect.signature(Pond).parameters) == ["fish"]
    assert list(inspect.signature(Pond(3)).parameters) == ["depth"]
    inspect.signature(Place)
    assert get_type_hints(Place.__init__)["notes"] == Mapping[str, str]


def test_a_class_may_be_subclassed_with_or_without_the_decorator() -> None:
    class Plain(Bent):
        def __post_init__(self) -> None:
            object.__setattr__(self, "size", 7)

    assert {Plain(3).size for _ in range(ours._UNCOMPILED + 2)} == {7}
    lake = Lake("Ohrid", depth=288.0)
    for again in (
        replace(lake), dataclasses.replace(lake), copy.copy(lake), copy.deepcopy(lake), pickle.loads(pickle.dumps(lake))
    ):  # fmt: skip
        assert (again, again.depth) == (lake, 288.0)
    assert [one.name for one in fields(Lake)] == ["name", "height", "notes", "secret", "depth"]
    with pytest.raises(TypeError, match="made by `frozen`"):
        fields(3)  # type: ignore[arg-type]


def test_a_field_may_have_any_name() -> None:
    @frozen
    class Odd:
        of_all: typing.ClassVar[int] = 3
        x: list[int] = field(default_factory=list)
        new_x: int = 1
        set_x: int = 2
        default_y: int = 3
        y: int = field(default=4, init=False)
        MISSING: int = 5

    for _ in range(ours._UNCOMPILED + 2):
        assert Odd(MISSING=6) == replace(Odd(), MISSING=6)
        assert repr(Odd()) == f"{Odd.__qualname__}(x=[], new_x=1, set_x=2, default_y=3, y=4, MISSING=5)"
    assert Odd.of_all == 3


@pytest.mark.skipif(sys.version_info < (3, 13), reason="there is none before")
def test_copy_replace_works() -> None:
    assert copy.replace(Depth(3.0), metres=4.0) == Depth(4.0)  # type: ignore[attr-defined,unused-ignore]


def test_an_instance_can_be_copied_and_pickled() -> None:
    place = Place("Ida", 2456.0, {"in": "Crete"}, "gold")
    for again in (copy.copy(place), copy.deepcopy(place), pickle.loads(pickle.dumps(place))):
        assert again == place
        assert again.secret == "gold"


def test_unsupported_declarations_are_refused() -> None:
    with pytest.raises(TypeError, match="use default_factory"):

        @frozen
        class _Shared:
            names: list[str] = []  # noqa: RUF012

    for changing in (Counter[str](), bytearray(), Tour("Athens")):
        with pytest.raises(TypeError, match=f"share one {type(changing).__name__}"):

            @frozen
            class _Counted:
                held: Any = changing

    with pytest.raises(TypeError, match="would hide a field: name"):

        @frozen
        class _Hidden(Place):
            @property
            def name(self) -> str:  # type: ignore[override]
                return "Ida"

    with pytest.raises(TypeError, match="without a default after"):

        @frozen
        class _Disordered:
            size: int = 3
            name: str  # type: ignore[misc]


def test_a_mutable_instance_compares_by_its_fields_and_is_unhashable() -> None:
    tour = Tour("Athens")
    tour.stops.append("Delphi")
    tour.length, tour.map = 164.0, "folded"
    assert repr(tour) == "Tour(start='Athens', stops=['Delphi'], length=164.0)"
    assert copy.deepcopy(tour) == pickle.loads(pickle.dumps(tour)) == tour != Tour("Athens")
    assert replace(Tour("Athens", ["Delphi"]), start="Thebes").stops == ["Delphi"]
    with pytest.raises(TypeError, match="unhashable"):
        hash(tour)
    with pytest.raises(AttributeError):
        tour.depth = 3  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="unexpected keyword argument 'length'"):
        Tour("Athens", length=3.0)  # type: ignore[call-arg]


def test_without_eq_instances_compare_by_identity() -> None:
    points = np.array([1, 2])
    one, other = Shape(points), Shape(points)
    assert one != other
    assert len({one, one, other}) == 2


def test_arguments_are_bound_alike_before_and_after_init_is_compiled() -> None:
    def called(*given: Any, **named: Any) -> Any:
        @frozen
        class Pair:
            left: int
            right: int = 2

        answers = []
        for _ in range(ours._UNCOMPILED + 2):
            try:
                answers.append(fields_of(Pair(*given, **named)))
            except TypeError as problem:
                answers.append(str(problem))
        assert len(set(answers)) == 1
        return answers[0]

    def fields_of(value: Any) -> tuple[Any, ...]:
        return tuple(getattr(value, one.name) for one in fields(value))

    assert called(1) == called(left=1) == (1, 2)
    assert called(1, 3) == called(1, right=3) == called(right=3, left=1) == (1, 3)
    assert "missing 1 required positional argument: 'left'" in called()
    assert "missing 1 required positional argument: 'left'" in called(right=3)
    assert "multiple values for argument 'left'" in called(1, left=1)
    assert "takes from 2 to 3 positional arguments but 4 were given" in called(1, 2, 3)
    assert "unexpected keyword argument 'top'" in called(1, top=2)


# ── whatever the class ─────────────────────────────────────────────────────────────────────────────────────────────────

YES_OR_NO, NUMBER = st.booleans(), st.integers(0, 2)
PRESET = st.sampled_from([{}, {"default": 7}, {"default_factory": list}])
FIELD = st.builds(
    lambda preset, init, kw_only, **more: {
        **preset,
        **kw_only,
        **more,
        "init": init or not preset,
    },  # unset, each Python compares it its way
    PRESET,
    YES_OR_NO,
    st.sampled_from([{}, {"kw_only": True}, {"kw_only": False}]),
    repr=YES_OR_NO,
    compare=YES_OR_NO,
)
CLASS = st.tuples(st.dictionaries(st.sampled_from("abcd"), FIELD, max_size=4), YES_OR_NO, YES_OR_NO)
CALL = st.tuples(st.lists(NUMBER, max_size=4), st.dictionaries(st.sampled_from("abcdz"), NUMBER, max_size=4))
Drawn = tuple[dict[str, dict[str, Any]], bool, bool]


def line_of(shapes: list[Drawn], library: Any, decorate: Any) -> Any:
    """Build a chain of classes, each derived from the one before, and return the last."""
    made: type[Any] = object
    for said, kw_only, eq in shapes:
        body: dict[str, Any] = {name: library.field(**one) for name, one in said.items()}
        body |= {"__annotations__": dict.fromkeys(said, "int"), "__qualname__": "Made"}
        made = decorate(kw_only=kw_only, eq=eq)(type("Made", (made,), body))
    return made


def answer(call: Any, *given: Any, **named: Any) -> Any:
    try:
        return call(*given, **named)
    except (TypeError, AttributeError) as problem:
        return str(problem)


@given(st.lists(CLASS, min_size=1, max_size=3), st.booleans(), st.lists(CALL, min_size=1, max_size=4))
def test_random_classes_behave_like_standard_dataclasses(shapes: list[Drawn], settled: bool, calls: list[Any]) -> None:
    standard = partial(dataclass, frozen=settled, slots=True)
    try:
        theirs = line_of(shapes, dataclasses, standard)
    except TypeError:
        with pytest.raises(TypeError, match="without a default"):
            line_of(shapes, ours, frozen if settled else mutable)
        return
    mine = line_of(shapes, ours, frozen if settled else mutable)
    values = []
    for placed, named in calls:
        one, other = answer(mine, *placed, **named), answer(theirs, *placed, **named)
        assert isinstance(one, str) == isinstance(other, str)
        if isinstance(one, str):
            assert one == other
            continue
        values.append((one, other))
        assert answer(repr, one) == answer(repr, other)
        for field_ in dataclasses.fields(theirs):
            assert answer(getattr, one, field_.name) == answer(getattr, other, field_.name)
        if shapes[-1][2] and settled:
            assert answer(hash, one) == answer(hash, other)
    for one, other in combinations(values, 2):
        assert answer(one[0].__eq__, other[0]) == answer(one[1].__eq__, other[1])
    described = ("name", "type", "init", "repr", "compare", "kw_only")
    for library in (dataclasses, ours):
        assert [[getattr(one, name) for name in described] for one in library.fields(mine)] == [
            [getattr(one, name) for name in described] for one in dataclasses.fields(theirs)
        ]
    assert mine.__match_args__ == theirs.__match_args__
    assert str(inspect.signature(mine)) == str(inspect.signature(theirs))
