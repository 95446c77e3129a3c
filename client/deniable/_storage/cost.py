"""The privacy cost of reports, in whole nano-nats (10^-9 of epsilon), so that sums are exact."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable._status import DELTA_UNITS, NANO

if TYPE_CHECKING:
    from deniable_shared.spec import Spec


def cost_nano_nats(epsilon: float) -> int:
    """The cost of one report with this epsilon, in nano-nats, rounded up."""
    return math.ceil(Fraction(epsilon) * NANO)


def limit_nano_nats(epsilon: float) -> int:
    """A budget that a registry states in decimal digits, to the nearest nano-nat."""
    return round(epsilon * NANO)


def delta_units(delta: float) -> int:
    """A delta in units of 10^-12, rounded up."""
    return math.ceil(Fraction(delta) * DELTA_UNITS)


PAID: Final = ":paid:"
"""Follows the name under which metrics that report absence pay, before the digest of their spec: a
device pays for a period when it is first at work in it, with each version of the metric, and notes
apart, under the name alone, that the report was written."""


class Charge(NamedTuple):
    """What the reports of one metric cost; see `charge_of`.

    Attributes:
        metric: the metric's name; with `PAID` and the digest of its spec where a period is paid for
            before its report is made.
        every: the kind of its periods, since periods of different kinds are not comparable.
        cost: of one report, in nano-nats.
        digest: the digest of the spec if its mechanism memoises a bounded number of answers, else
            None.
        total: what all reports of this spec together are charged at most, in nano-nats; 0 without a
            digest.
        delta: by how much an event may be more probable than epsilon allows, in units of 10^-12.
    """

    metric: str
    every: str
    cost: int
    digest: bytes | None = None
    total: int = 0
    delta: int = 0


def charge_for(spec: Spec) -> Charge:
    """What the reports of a spec cost, each amount rounded up."""
    cost = cost_nano_nats(spec.mechanism.epsilon)
    name = spec.name + PAID + spec.digest.hex() if spec.reports_absence else spec.name
    total = spec.mechanism.epsilon_total
    if total is None:
        delta = delta_units(spec.mechanism.delta)
        return Charge(name, spec.every, cost, delta=delta)
    return Charge(name, spec.every, cost, spec.digest, cost_nano_nats(total))
