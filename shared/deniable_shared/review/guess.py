"""What one report makes of somebody's guess about a device, by Bayes' rule."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from deniable_shared.frozen import frozen
from deniable_shared.mechanisms import ItemOracle
from deniable_shared.review.entropy import posterior
from deniable_shared.review.information import information

if TYPE_CHECKING:
    from deniable_shared.spec import Spec


@frozen
class FlagAnswer:
    """What the answers of a flag make of a guess that it is true.

    Attributes:
        after_a_yes: how probable it is after a yes, in (0, 1).
        after_a_no: after a no, likewise.
        average_bits: what an answer tells on average.
        bits_of_a_yes: what a yes tells.
    """

    after_a_yes: float
    after_a_no: float
    average_bits: float
    bits_of_a_yes: float


@frozen
class Guess:
    """What one report makes of a guess.

    Attributes:
        name: of the metric.
        prior: how probable it seemed that a device has a value, in (0, 1).
        most: how probable it is after the report that speaks most for it, at most; with a delta,
            rare reports may speak more for it.
        delta: of the report; 0 nearly always.
        flag: what its answers make of it; None for other metrics than flags.
    """

    name: str
    prior: float
    most: float
    delta: float
    flag: FlagAnswer | None


def guess_after(spec: Spec, prior: float) -> Guess:
    """What one report of a metric makes of a guess.

    Args:
        prior: how probable it seemed that a device has a value, in (0, 1).
    """
    mechanism = spec.mechanism
    most = posterior(prior, math.exp(mechanism.epsilon), 1.0)
    if spec.type != "boolean" or not isinstance(mechanism, ItemOracle):
        return Guess(spec.name, prior, most, mechanism.delta, None)
    p, q = mechanism.support.p, mechanism.support.q
    after_a_yes = posterior(prior, p, q)
    flag = FlagAnswer(
        after_a_yes=after_a_yes,
        after_a_no=posterior(prior, 1 - p, 1 - q),
        average_bits=information(mechanism, (1 - prior, prior)).bits,
        bits_of_a_yes=math.log2(after_a_yes / prior),
    )
    return Guess(spec.name, prior, most, mechanism.delta, flag)
