"""Loss classes as floats: what composition computes with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable_shared.mechanisms import Mechanism
    from deniable_shared.mechanisms.losses import LossClasses
    from deniable_shared.mechanisms.second_round import SecondRound


@dataclass(frozen=True)
class LossProfile:
    """The privacy loss of one report under the worst value, as a distribution.

    Attributes:
        losses: the natural logarithm of each class's ratio, in nats.
        weights: with which probability it occurs.
        infinite: with which probability the report may give its value away; 0 unless probabilities
            are irrational, and then below 2^-100.
    """

    losses: tuple[float, ...]
    weights: tuple[float, ...]
    infinite: float = 0.0

    def log_moment(self, order: float) -> float:
        """Ln E e^(order L) over the finite losses; `order` times the Renyi divergence of order + 1.

        Args:
            order: above 0.
        """
        most = order * max(self.losses)
        return most + math.log(
            math.fsum(
                weight * math.exp(order * loss - most)
                for loss, weight in zip(self.losses, self.weights, strict=True)
            )
        )


@lru_cache(256)  # mechanisms of a registry are often alike, and noise has thousands of classes
def profile_of(mechanism: Mechanism) -> LossProfile:
    """The loss of one report of a mechanism."""
    return _profile(mechanism.losses())


@lru_cache(256)
def profile_of_round(second: SecondRound) -> LossProfile:
    """The loss of one draw of a second round."""
    return _profile(second.losses())


@lru_cache(256)
def pure_profile(epsilon: float) -> LossProfile:
    """The loss of randomized response at an epsilon: the worst of all that keep it.

    Args:
        epsilon: in nats, at least 0.
    """
    lie = 1 / (1 + math.exp(epsilon)) if epsilon < 700 else 0.0
    return LossProfile((epsilon, -epsilon), (1 - lie, lie))


def _profile(classes: LossClasses) -> LossProfile:
    losses, weights = [], []
    infinite = 1 - sum(own for own, _ in classes)
    for own, other in classes:
        if not own:
            continue
        if not other:
            infinite += own
            continue
        # Integers divide to the nearest float; a quotient of two floats would be rounded thrice.
        ratio = (own.numerator * other.denominator) / (own.denominator * other.numerator)
        losses.append(math.log(ratio))
        weights.append(float(own))
    return LossProfile(tuple(losses), tuple(weights), float(infinite))
