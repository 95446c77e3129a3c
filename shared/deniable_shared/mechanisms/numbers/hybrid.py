"""The Hybrid Mechanism: piecewise for some devices, one bit for the others."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Self

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, exp_lower
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import require_integer
from deniable_shared.mechanisms.losses import mixed_losses
from deniable_shared.mechanisms.numbers.duchi import OneBitMean
from deniable_shared.mechanisms.numbers.numeric import FreshMean
from deniable_shared.mechanisms.numbers.window import Piecewise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.mechanisms.losses import LossClasses
    from deniable_shared.mechanisms.oracle import Bounds

CROSSOVER: Final = Fraction(6094, 10_000)
"""Up to this epsilon, in nats, one bit alone has the smaller worst variance."""


@frozen
class Hybrid(FreshMean):
    """The Hybrid Mechanism (Wang et al., ICDE 2019, section 3.3).

    A coin that does not look at the value chooses between the Piecewise Mechanism, with probability
    1 - e^(-eps / 2) above an epsilon of 0.6094 and never below it, and one bit. Either is debiased
    by itself and epsilon is the larger of the two. Its variance is nearly the same for all values.
    The first two outcomes are the bit's, the others the window's.

    Attributes:
        inner: the piecewise mechanism.
        flip: as in `OneBitMean`, over 2^32.
        heads: weight of the piecewise mechanism, over 2^32; in [0, 2^32].
    """

    name: ClassVar[str] = "hybrid"
    title: ClassVar[str] = "hybrid mechanism"
    inner: Piecewise
    flip: int
    heads: int

    def __post_init__(self) -> None:
        if not isinstance(self.inner, Piecewise):
            raise ParameterError("hybrid inner", "a piecewise mechanism", self.inner)
        require_integer("hybrid flip", self.flip, 1, SCALE // 2 - 1)
        require_integer("hybrid heads", self.heads, 0, SCALE)

    @classmethod
    def for_epsilon(cls, epsilon: Fraction) -> Self:
        """The mechanism whose epsilon does not exceed the one given."""
        coin = 1 - 1 / exp_lower(epsilon / 2) if epsilon > CROSSOVER else Fraction(0)
        return cls(
            inner=Piecewise.for_epsilon(epsilon),
            flip=OneBitMean.for_epsilon(epsilon).flip,
            heads=round(coin * SCALE),
        )

    @property
    def bit(self) -> OneBitMean:
        """The other mechanism."""
        return OneBitMean(flip=self.flip)

    @property
    def outcomes(self) -> int:
        """Two more than the piecewise mechanism's."""
        return 2 + self.inner.outcomes

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats."""
        return max(self.inner.epsilon, self.bit.epsilon)

    def losses(self) -> LossClasses:
        """Those of the two mechanisms: the ends of the range are the worst of both."""
        heads = Fraction(self.heads, SCALE)
        return mixed_losses([(1 - heads, self.bit.losses()), (heads, self.inner.losses())])

    def outcome_bounds(self) -> Bounds:
        """Those of the two mechanisms, each times how often it is chosen."""
        heads = self.heads / SCALE
        bit, window = self.bit.outcome_bounds(), self.inner.outcome_bounds()
        low, high = (
            [(1 - heads) * of_bit] * 2 + [heads * bound for bound in of_window]
            for of_bit, of_window in zip(bit, window, strict=True)
        )
        return low, high

    def outcome_values(self) -> Sequence[float]:
        """Those of the two mechanisms."""
        return [*self.bit.outcome_values(), *self.inner.outcome_values()]

    def variance(self, share: float, reports: int) -> float:
        """The mixture of the two: both are unbiased, so nothing is added between them."""
        heads = self.heads / SCALE
        mixed = heads * self.inner.variance(share, 1) + (1 - heads) * self.bit.variance(share, 1)
        return mixed / reports
