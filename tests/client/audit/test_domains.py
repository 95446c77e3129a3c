"""Which values an audit looks at, and that the client takes each of them for what it is."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from deniable._audit import AuditFailure
from deniable._audit.domains import domain_of
from deniable_shared import spec as specs
from deniable_shared.mechanisms import OneBitMean, SquareWave
from tests.privacy.specs import histogram, number

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
