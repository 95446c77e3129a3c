"""The second round of a memoised mechanism: what each report adds to the permanent answers.

Permanent answers have one law, whatever a device's values are. So two histories of values that
differ in n reports are told apart by no more than n second rounds: with the same permanent answers,
all other reports have the same probabilities. Nothing smaller holds for every two histories. Where
values change at other reports, permanent answers that differ show it report by report.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable_shared.exact_bounds import SCALE, log_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.losses import losses_of_support

if TYPE_CHECKING:
    from deniable_shared.mechanisms.losses import LossClasses


@frozen
class SecondRound:
    """How a report is drawn from a permanent answer, as independent draws.

    Attributes:
        draws: so many are in one report, at least 1.
        own: probability of what a draw says most often, given the permanent answer.
        other: probability of the same, given another permanent answer; 0 if it never says so.
        rarest: a lower bound of the probability of every permanent answer, in nats: its negative
            logarithm, rounded up.
    """

    draws: int
    own: Fraction
    other: Fraction
    rarest: float

    @property
    def epsilon(self) -> float:
        """How far one draw tells two permanent answers apart, in nats; infinite if for certain."""
        return log_upper(self.own / self.other) if self.other else math.inf

    def losses(self) -> LossClasses:
        """The loss classes of one draw, which dominate every two permanent answers."""
        return losses_of_support(self.own, self.other)


def bits_flipped(bits: int, flip: int, rarest: float) -> SecondRound:
    """A second round that flips every bit of a permanent answer alike.

    Args:
        bits: how many.
        flip: weight of a flip, over 2^32; below 2^31.
        rarest: as of `SecondRound`.
    """
    lie = Fraction(flip, SCALE)
    return SecondRound(bits, 1 - lie, lie, rarest)
