from __future__ import annotations

from fractions import Fraction

from deniable_shared.mechanisms import RandomizedResponse
from tests.privacy.conformance import MechanismConformance
from tests.privacy.specs import boolean


def rr(epsilon):
    return boolean(RandomizedResponse.for_epsilon(2, Fraction(epsilon)))


class TestRandomizedResponse(MechanismConformance):
    small = [(rr(epsilon), Fraction(epsilon), (True, False)) for epsilon in ("0.5", "1", "2", "4")]
    spec = rr("1")
    population = [True] * 30 + [False] * 70
    items = ["true"]

    @classmethod
    def with_noise(cls, mechanism, factor):
        return RandomizedResponse.for_epsilon(2, Fraction(mechanism.epsilon) / factor)

    @classmethod
    def label(cls, value):
        return "true" if value else "false"

    def out_of_range(self):
        return [b"\x02", b"\xff"]
