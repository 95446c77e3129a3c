"""Integer noise added to a number: discrete Laplace, and discrete Gaussian."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final, Self

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import float_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import Mechanism, require_integer
from deniable_shared.mechanisms.numbers.noise_losses import gaussian_losses, laplace_losses
from deniable_shared.mechanisms.numbers.numeric import (
    MAX_OUTCOMES,
    FreshMean,
    NumericMechanism,
    fresh_means,
    rounding_variance,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deniable_shared.mechanisms.losses import LossClasses
    from deniable_shared.mechanisms.oracle import Bounds
    from deniable_shared.mechanisms.request import MechanismChoice, MechanismRequest

MAX_STEPS: Final = 4_096
MAX_SCALE: Final = 256
MAX_VARIANCE: Final = 1 << 21
LAPLACE_REACH: Final = 24
"""Outcomes end this many scales beyond the range; the noise of 4e-11 of reports is larger."""

GAUSSIAN_REACH: Final = 10
"""The same in standard deviations: 2e-23."""

NANO: Final = 10**9
_GAUSSIAN_OUTCOMES: Final = 16_000
_GAUSSIAN_STEPS: Final = 256
_ROUNDING: Final = 1e-9


@frozen
class AdditiveNoise(NumericMechanism):
    """The range is divided into steps, a value rounded to one of their ends, and noise added.

    Rounding is at random, to one of the two points beside the value, so that the mean is kept. The
    noise is a whole number of steps, drawn exactly. What lands more than `reach` steps outside the
    range is reported as just so far outside: a report has a fixed width, and cutting off what is
    already noise costs no privacy.

    Attributes:
        steps: how many steps make up the range, in [1, 4096].
    """

    steps: int

    def __post_init__(self) -> None:
        require_integer(f"{self.name} steps", self.steps, 1, MAX_STEPS)
        if not self.outcomes <= MAX_OUTCOMES:
            raise ParameterError(f"{self.name} outcomes", f"at most {MAX_OUTCOMES}", self.outcomes)

    @property
    @abstractmethod
    def reach(self) -> int:
        """How many steps outside the range the last outcome is."""

    @property
    @abstractmethod
    def noise_variance(self) -> float:
        """The variance of the noise, in squared steps."""

    @abstractmethod
    def outcome_probability(self, outcome: int, point: int) -> float:
        """How probable an outcome is for a value at a point of the grid.

        Args:
            outcome: in [0, outcomes - 1]; the two outermost stand for all that lies beyond them.
            point: in [0, steps].
        """

    def outcome_bounds(self) -> Bounds:
        """At least next to nothing; at most the probability for the nearest point of the range."""
        points = (min(max(at - self.reach, 0), self.steps) for at in range(self.outcomes))
        return 0.0, [self.outcome_probability(at, point) for at, point in enumerate(points)]

    def _distance(self, outcome: int, point: int) -> tuple[int, bool]:
        """How many steps of noise lead to an outcome, and whether more of them do as well."""
        return abs(outcome - self.reach - point), outcome in (0, self.outcomes - 1)

    @property
    def outcomes(self) -> int:
        """Every point of the grid as far as the reach goes."""
        return self.steps + 2 * self.reach + 1

    def outcome_values(self) -> Sequence[float]:
        """The points of the grid."""
        return [(outcome - self.reach) / self.steps for outcome in range(self.outcomes)]

    def variance(self, share: float, reports: int) -> float:
        """That of the noise, and what rounding adds."""
        noise = self.noise_variance / self.steps**2
        return (noise + rounding_variance(share, self.steps)) / reports


@frozen
class DiscreteLaplace(AdditiveNoise, FreshMean):
    """Discrete Laplace noise: P(k) = (1 - a) / (1 + a) a^|k|, a = e^(-1 / scale).

    Two values are at most `steps` apart, so epsilon is exactly steps / scale (Ghosh, Roughgarden
    and Sundararajan, STOC 2009). The variance of the noise is 2 a / (1 - a)^2.

    Attributes:
        steps: how many steps make up the range.
        scale: in steps, in [1, 256].
    """

    name: ClassVar[str] = "laplace"
    title: ClassVar[str] = "discrete Laplace"
    scale: int

    def __post_init__(self) -> None:
        require_integer("laplace scale", self.scale, 1, MAX_SCALE)
        super().__post_init__()

    @classmethod
    def for_epsilon(cls, epsilon: Fraction) -> Self:
        """The finest grid with a scale of 128 to 256 steps that comes nearest to epsilon."""
        scales = range(MAX_SCALE // 2, MAX_SCALE + 1)
        scale = max(scales, key=lambda scale: (Fraction(int(epsilon * scale), scale), scale))
        return cls(steps=int(epsilon * scale), scale=scale)

    @property
    def reach(self) -> int:
        """24 scales."""
        return LAPLACE_REACH * self.scale

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats: this very quotient, rounded up."""
        return float_upper(Fraction(self.steps, self.scale))

    def losses(self) -> LossClasses:
        """Those of the ends of the range."""
        return laplace_losses(self.steps, self.scale)

    def outcome_probability(self, outcome: int, point: int) -> float:
        """By the distance."""
        noise, outermost = self._distance(outcome, point)
        decay = math.exp(-1 / self.scale)
        beyond = 1.0 if outermost else 1 - decay
        return beyond * decay**noise / (1 + decay)

    @property
    def noise_variance(self) -> float:
        """2 a / (1 - a)^2."""
        a = math.exp(-1 / self.scale)
        return 2 * a / (1 - a) ** 2


@frozen
class DiscreteGaussian(AdditiveNoise):
    """Discrete Gaussian noise: P(k) in proportion to e^(-k^2 / (2 variance)).

    This is (epsilon, delta)-differential privacy, see `Mechanism.delta`. For values D steps apart
    (Canonne, Kamath and Steinke 2020, theorem 7)::

        delta = P(Y > eps variance / D - D / 2) - e^eps P(Y > eps variance / D + D / 2)

    which is largest for D = steps. The variance is the smallest integer that keeps delta, so it
    is calibrated as in Balle and Wang (ICML 2018). The classical sqrt(2 ln(1.25 / delta)) / eps is
    not used: it is too large for small epsilons and does not hold for large ones.

    Attributes:
        steps: how many steps make up the range.
        noise: the parameter of the noise, in squared steps; in [4, 2^21].
        nanonats: epsilon, in 10^-9 nats; at least 1.
    """

    name: ClassVar[str] = "gaussian"
    title: ClassVar[str] = "discrete Gaussian"
    types: ClassVar[frozenset[str]] = frozenset({"number"})
    takes_delta: ClassVar[bool] = True
    noise: int
    nanonats: int

    def __post_init__(self) -> None:
        require_integer("gaussian noise", self.noise, 4, MAX_VARIANCE)
        require_integer("gaussian nanonats", self.nanonats, 1, 100 * NANO)
        super().__post_init__()

    @classmethod
    def for_epsilon(cls, epsilon: Fraction, delta: Fraction) -> Self:
        """The mechanism with the least noise that keeps both.

        Args:
            epsilon: privacy loss, in nats.
            delta: probability that it is exceeded, in (0, 1).
        """
        nanonats = int(epsilon * NANO)
        sigma = _continuous_sigma(float(epsilon), float(delta))
        steps = min(_GAUSSIAN_STEPS, int(_GAUSSIAN_OUTCOMES / (1 + 2 * GAUSSIAN_REACH * sigma)))
        steps = max(steps, 1)
        enough = int((sigma * steps) ** 2 * 1.1) + 4
        low, high = 4, enough
        while low < high:
            middle = (low + high) // 2
            if cls(steps, middle, nanonats).delta <= delta:
                high = middle
            else:
                low = middle + 1
        return cls(steps, low, nanonats)

    @classmethod
    def from_options(cls, request: MechanismRequest) -> Self:
        """Has no options; takes the metric's delta."""
        assert request.delta is not None
        return cls.for_epsilon(request.epsilon, request.delta)

    def alternatives(self, devices: int, choice: MechanismChoice) -> Iterable[Mechanism]:  # noqa: ARG002
        """What estimates a mean without a delta."""
        return fresh_means(Fraction(self.epsilon))

    @property
    def reach(self) -> int:
        """10 standard deviations."""
        return GAUSSIAN_REACH * (math.isqrt(self.noise) + 1)

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report but for probability `delta`, in nats."""
        return float_upper(Fraction(self.nanonats, NANO))

    @cached_property
    def delta(self) -> float:
        """For the two ends of the range, rounded up; see `Mechanism.delta`."""
        return self.delta_at_distance(self.steps)

    def delta_at_distance(self, apart: int) -> float:
        """Delta for two values a given number of steps apart, rounded up.

        Args:
            apart: in [1, steps].
        """
        edge = self.epsilon * self.noise / apart
        near, far = edge - apart / 2, edge + apart / 2
        last = 2 * GAUSSIAN_REACH * math.isqrt(self.noise) + self.steps
        density = [math.exp(-k * k / (2 * self.noise)) for k in range(last + 1)]
        total = 2 * math.fsum(density) - 1.0

        def above(threshold: float) -> float:
            first = math.floor(threshold) + 1
            if first > 0:
                return math.fsum(density[first:])
            return total - math.fsum(density[1 - first :])

        delta = (above(near) - math.exp(self.epsilon) * above(far)) / total
        return delta * (1 + _ROUNDING)

    def losses(self) -> LossClasses:
        """Those of the ends of the range; some exceed epsilon, which is what delta allows."""
        return gaussian_losses(self.steps, self.noise, self.reach)

    def outcome_probability(self, outcome: int, point: int) -> float:
        """By the distance."""
        noise, outermost = self._distance(outcome, point)
        last = noise + self.reach if outermost else noise
        above = math.fsum(math.exp(-k * k / (2 * self.noise)) for k in range(noise, last + 1))
        # From a parameter of 4 on the sum over all integers is the integral, but for 1e-30.
        return above / math.sqrt(2 * math.pi * self.noise)

    @property
    def noise_variance(self) -> float:
        """The parameter itself: from 4 on the two differ by less than 1e-30."""
        return float(self.noise)


def _continuous_sigma(epsilon: float, delta: float) -> float:
    """The standard deviation of continuous noise, in widths of the range (Balle and Wang 2018)."""

    def upper(x: float) -> float:
        return math.erfc(x / math.sqrt(2)) / 2

    low, high = 1e-3, 1e6
    while high / low > 1 + 1e-9:
        sigma = math.sqrt(low * high)
        shift = 1 / (2 * sigma)
        above = upper(epsilon * sigma - shift)
        reached = above - math.exp(epsilon) * upper(epsilon * sigma + shift)
        low, high = (low, sigma) if reached <= delta else (sigma, high)
    return high
