"""Which values an audit looks at, and that the client takes each of them for what it is."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import pytest

from deniable._audit import AuditFailure
from deniable._audit.domains import domain_of
from deniable_shared import spec as specs
from deniable_shared.mechanisms import OneBitMean, PrivSet, SquareWave
from tests.privacy.specs import histogram, number, set_of

ONE = Fraction(1)


PLAIN = {
    "number": number(OneBitMean.for_epsilon(ONE)),
    "distribution": histogram(SquareWave.for_epsilon(32, ONE)),
}


def metric(kind, low, high):
    return replace(PLAIN[kind], range=(Fraction(low), Fraction(high)))


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize(("low", "high"), [("0", "30"), ("-0.1", "0.7"), ("1e9", "1000000000.3")])
def test_each_value_that_is_looked_at_is_the_place_that_it_stands_for(kind, low, high):
    """Also where no float is just this place, as in a range with ends such as 0.7."""
    domain = domain_of(metric(kind, low, high))
    some = range(0, domain.size, max(1, domain.size // 500))
    assert [domain.item_at(index) for index in some] == list(some)
    assert domain.item_at(domain.size - 1) == domain.size - 1


def test_all_sets_of_few_items_are_looked_at_and_of_many_some_of_every_size():
    few = domain_of(set_of("ant bee cat", PrivSet.for_epsilon(3, 2, ONE)))
    assert few.size == few.of == 9  # one of them has an item that nobody listed
    assert {few.item_at(index) for index in range(9)} == {
        *[tuple(held) for size in range(4) for held in itertools.combinations(range(3), size)]
    }
    assert (few.name_at(0), few.name_at(5)) == ("no items", "ant & cat")
    names = " ".join(f"item{number}" for number in range(60))
    many = domain_of(set_of(names, PrivSet.for_epsilon(60, 4, ONE)))
    assert many.of is None
    held = [many.item_at(index) for index in range(many.size)]
    for size in (1, 4, 5, 6):
        assert {item for each in held if len(each) == size for item in each} == set(range(60))
    assert tuple(range(60)) in held


@pytest.mark.parametrize(
    ("kind", "name"), [("number", "nearest_place"), ("distribution", "bin_index")]
)
@pytest.mark.parametrize("off", [-1, 1])
def test_a_client_that_is_off_by_one_place_is_refused(kind, name, off, monkeypatch):
    """In every range: floats may miss a place, but what each must become is known exactly."""
    original = getattr(specs.numbers, name)
    monkeypatch.setattr(specs.numbers, name, lambda *words: original(*words) + off)
    for low, high in (("0", "30"), ("-0.1", "0.7")):
        domain = domain_of(metric(kind, low, high))
        with pytest.raises(
            AuditFailure, match=f"is recorded as number {7 + off} of its range, not 7"
        ):
            domain.item_at(7)
