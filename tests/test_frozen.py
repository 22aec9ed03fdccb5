"""Values are what a frozen dataclass with slots makes of the same class, whichever way they are asked."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest

from engram.frozen import frozen


@frozen
class Place:
    """Somewhere."""

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
    """What `Place` would be otherwise."""

    name: str
    height: float = 0.0
    notes: Mapping[str, str] = field(default_factory=dict)
    secret: str = field(default="", repr=False, compare=False)


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


def test_it_is_made_as_a_dataclass_is() -> None:
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


def test_it_never_changes_and_holds_nothing_else() -> None:
    place = Place("Ida")
    with pytest.raises(FrozenInstanceError):
        place.height = 3.0  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del place.name
    with pytest.raises(FrozenInstanceError):
        place.depth = 3  # type: ignore[attr-defined]
    assert not hasattr(place, "__dict__")
    assert place == Place("Ida")


def test_it_is_told_by_its_fields() -> None:
    assert Place("Ida", secret="gold") == Place("Ida", secret="silver")
    assert Place("Ida") != Place("Oeta")
    assert Place("Ida") != Peak("Ida")
    assert Place("Ida") != Twin("Ida")
    assert len({Bent(3), Bent(-3), Bent(4)}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(Place("Ida"))
    assert repr(Place("Ida", 2.5, secret="gold")) == repr(Twin("Ida", 2.5)).replace("Twin", "Place")
    assert repr(Bent(3)) == "<3>"


def test_one_field_is_compared_as_several_are() -> None:
    unknown = Depth(float("nan"))
    assert copy.copy(unknown) == unknown
    assert hash(Depth(3.0)) == hash((3.0,))
    with pytest.raises(ValueError, match="ambiguous"):
        assert Depth(np.array([1, 2])) == Depth(np.array([1, 3]))  # type: ignore[arg-type]


def test_what_says_itself_when_it_is_equal_can_still_be_in_a_set() -> None:
    assert Alike(3) == Alike(4)
    assert hash(Alike(3)) == hash(Alike(3))


def test_it_is_known_as_a_dataclass() -> None:
    place: Any = Peak("Ida", 2456.0, {"in": "Crete"}, climbed=True)
    assert is_dataclass(Peak)
    assert [one.name for one in fields(place)] == ["name", "height", "notes", "secret", "climbed", "seen"]
    assert replace(place, climbed=False) == Peak("Ida", 2456.0, {"in": "Crete"})
    assert asdict(place)["notes"] == {"in": "Crete"}
    assert place.is_high
    assert str(inspect.signature(Place)).startswith("(name: 'str', height: 'float' = 0.0")
    match place:
        case Place(name, height):
            assert (name, height) == ("Ida", 2456.0)


def test_it_is_copied_and_pickled() -> None:
    place = Place("Ida", 2456.0, {"in": "Crete"}, "gold")
    for again in (copy.copy(place), copy.deepcopy(place), pickle.loads(pickle.dumps(place))):
        assert again == place
        assert again.secret == "gold"


def test_what_it_does_not_know_is_refused() -> None:
    with pytest.raises(TypeError, match="needs a dataclass"):

        @frozen
        class _Derived:
            size: int
            double: int = field(init=False)

    with pytest.raises(TypeError, match="without a default after"):

        @frozen
        class _Disordered:
            size: int = 3
            name: str  # type: ignore[misc]
