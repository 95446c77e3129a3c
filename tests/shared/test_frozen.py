"""Frozen values behave as those of ``dataclass(frozen=True)``; each test asks both."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from functools import cached_property
from typing import ClassVar

import pytest

from deniable_shared.frozen import field_names, frozen


def _made(decorate):
    @decorate
    class Place:
        kind: ClassVar[str] = "place"
        row: int
        name: str = "here"

        def __post_init__(self):
            if self.row < 0:
                raise ValueError("row must be 0 or more")

        @cached_property
        def twice(self):
            return 2 * self.row

    @decorate
    class Deep(Place):
        depth: int = 1

    return Place, Deep


STANDARD = _made(dataclasses.dataclass(frozen=True))
OURS = _made(frozen)
BOTH = pytest.mark.parametrize("classes", [STANDARD, OURS], ids=["standard", "ours"])


@frozen
class Spot:
    row: int


@BOTH
def test_fields_are_given_by_place_or_by_name_and_have_defaults(classes):
    place, deep = classes
    assert (place(3).row, place(3).name, place(row=3, name="there").name) == (3, "here", "there")
    assert vars(deep(1, "x", 2)) == {"row": 1, "name": "x", "depth": 2}
    assert deep(1).kind == "place"


@BOTH
@pytest.mark.parametrize(
    ("arguments", "named"),
    [((), {}), ((1, "x", 2), {}), ((1,), {"row": 1}), ((1,), {"depth": 1}), ((), {"depth": 1})],
)
def test_wrong_arguments_are_refused(classes, arguments, named):
    with pytest.raises(TypeError):
        classes[0](*arguments, **named)


@BOTH
def test_what_is_checked_afterwards_is_checked(classes):
    with pytest.raises(ValueError, match="row must be"):
        classes[1](-1)


@BOTH
def test_values_are_equal_if_class_and_fields_are(classes):
    place, deep = classes
    assert place(1) == place(1, "here")
    assert hash(place(1)) == hash(place(1, "here"))
    assert place(1) != place(2)
    assert place(1) != deep(1)
    assert place(1) != (1, "here")
    assert place(1).__eq__(1) is NotImplemented


@BOTH
def test_values_show_their_fields(classes):
    assert repr(classes[1](1)) == "_made.<locals>.Deep(row=1, name='here', depth=1)"


@BOTH
def test_nothing_can_be_changed(classes):
    value = classes[0](1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.row = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.new = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del value.row
    assert value.twice == 2


@BOTH
def test_the_functions_of_the_standard_module_work(classes):
    place, deep = classes
    assert dataclasses.is_dataclass(place)
    assert [field.name for field in dataclasses.fields(deep)] == ["row", "name", "depth"]
    assert dataclasses.replace(deep(1), depth=5) == deep(1, "here", 5)
    assert dataclasses.asdict(place(1)) == {"row": 1, "name": "here"}
    with pytest.raises(ValueError, match="row must be"):
        dataclasses.replace(place(1), row=-1)


@BOTH
def test_values_can_be_matched_and_copied(classes):
    place, _ = classes
    match place(1):
        case place(row, name):
            assert (row, name) == (1, "here")
    assert copy.deepcopy(place(1)) == place(1)


def test_values_survive_pickling():
    assert pickle.loads(pickle.dumps(Spot(3))) == Spot(3)


def test_fields_are_named_in_their_order():
    assert field_names(OURS[1]) == ("row", "name", "depth")
