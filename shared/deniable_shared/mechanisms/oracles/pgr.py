"""Projective geometry response: optimal noise for large domains, in reports of a few bytes."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Final, Self

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, exp_lower, log_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import PairSupport, Support, require_integer
from deniable_shared.mechanisms.losses import losses_of_support
from deniable_shared.mechanisms.oracle import DecodedReport, FreshOracle, IndexOracle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_shared.mechanisms.losses import LossClasses
    from deniable_shared.mechanisms.oracle import Bounds

MAX_DIMENSION: Final = 22
MAX_POINTS: Final = 1 << 22
"""The largest space: a tally has one integer per point."""

MAX_LISTED: Final = 65_536
"""The largest domain that a space is chosen for. Larger ones are those of a mechanism that chooses
the space itself."""

MAX_POINTS_PER_ITEM: Final = 16
"""The space that is chosen may be this much larger than the domain. Up to epsilon 4 no larger one
is better by more than 1%; at 5 by up to 6%, at 6 by a quarter, for a hundred integers per item."""


@frozen
class ProjectiveGeometryResponse(IndexOracle, FreshOracle):
    """PGR (Feldman, Nelson, Nguyen and Talwar, ICML 2022, section 3), over a prime field.

    The outcomes are the K = (q^t - 1) / (q - 1) points of the projective space over F_q^t. Item x
    is a point too, and its own set S_x = {u : <u, x> = 0} is a hyperplane of
    c = (q^(t-1) - 1) / (q - 1) points. A report is a uniform point of S_x with probability
    P = inside / 2^32, and a uniform point outside it otherwise. A point has one of two
    probabilities, so epsilon is ln of their ratio, P (K - c) / ((1 - P) c), attained.

    Two different hyperplanes share the same number of points, (q^(t-2) - 1) / (q - 1), whichever
    they are, so the support lemma holds exactly. With q near e^epsilon + 1 and a large domain the
    variance of a rare item is 4 e^eps / (n (e^eps - 1)^2), the optimum.

    The number of a point is read off its multiple whose leading coordinate is 1. If the coordinates
    after the leading one are d_1, ..., d_m, the number is the sum of (d_i + 1) q^(m - i): the
    numbers 0 to K - 1 in bijective base q. Item x is the point with the number x; all points are
    equivalent under the group of the geometry, so another assignment would gain nothing.

    Attributes:
        size: number of items, in [2, 2^22] and at most K.
        q: order of the field, a prime.
        t: dimension of the vector space, in [2, 22]; K is at most 2^22.
        inside: weight of a report from the item's own set, over 2^32; above its share of the space.
    """

    name: ClassVar[str] = "pgr"
    title: ClassVar[str] = "projective geometry response"
    size: int
    q: int
    t: int
    inside: int

    def __post_init__(self) -> None:
        require_integer("pgr size", self.size, 2, MAX_POINTS)
        require_integer("pgr q", self.q, 2, MAX_POINTS - 1)
        require_integer("pgr t", self.t, 2, MAX_DIMENSION)
        require_integer("pgr inside", self.inside, 1, SCALE - 1)
        if not is_prime(self.q):
            raise ParameterError("pgr q", "a prime", self.q)
        if not self.size <= self.outcomes <= MAX_POINTS:
            limits = f"such that (q^t - 1) / (q - 1) is in [{self.size}, {MAX_POINTS}] for q"
            raise ParameterError("pgr t", f"{limits} {self.q}", self.t)
        if not self._ratio() > 1:
            share = f"{self.hyperplane} / {self.outcomes}"
            raise ParameterError("pgr inside", f"above 2^32 times {share}", self.inside)

    @classmethod
    def for_epsilon(cls, size: int, epsilon: Fraction) -> Self:
        """The mechanism over `size` items whose epsilon does not exceed the one given.

        Among all spaces of at least `size` and at most 16 times as many points, the one with the
        least summed variance of all items, compared exactly; of equals, the smallest.

        Raises:
            ParameterError: if size is not in [2, 65536].
        """
        require_integer("pgr size", size, 2, MAX_LISTED)
        most = min(MAX_POINTS_PER_ITEM * size, MAX_POINTS)
        oracles = [cls.over_space(q, t, size, epsilon) for q, t in spaces(size, most)]
        return min(oracles, key=lambda oracle: (oracle.total_variance(), oracle.outcomes))

    @classmethod
    def over_space(cls, q: int, t: int, size: int, epsilon: Fraction) -> Self:
        """The mechanism over this very space whose epsilon does not exceed the one given.

        Raises:
            ParameterError: if the space does not hold the items.
        """
        own = exp_lower(epsilon) * points(q, t - 1)
        return cls(size=size, q=q, t=t, inside=int(SCALE * own / (own + q ** (t - 1))))

    @property
    def outcomes(self) -> int:
        """The points K of the space, whichever of them are items."""
        return points(self.q, self.t)

    @property
    def hyperplane(self) -> int:
        """How many points an item's own set has."""
        return points(self.q, self.t - 1)

    @property
    def outside(self) -> int:
        """How many points are not in an item's own set: q^(t-1)."""
        return int(self.q ** (self.t - 1))

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats."""
        return log_upper(self._ratio())

    def losses(self) -> LossClasses:
        """Points of one hyperplane that are not in the other."""
        apart = self.hyperplane - points(self.q, self.t - 2)
        inside = Fraction(self.inside, SCALE)
        own, other = inside / self.hyperplane, (1 - inside) / self.outside
        return losses_of_support(apart * own, apart * other)

    @property
    def support(self) -> Support:
        """The probabilities of a point in the own hyperplane (p) and in any other (q)."""
        own, other = self._probabilities()
        return Support(float(own), float(other))

    def outcome_bounds(self) -> Bounds:
        """A point outside the own hyperplane, and one inside."""
        inside = self.inside / SCALE
        return (1 - inside) / self.outside, inside / self.hyperplane

    def total_variance(self) -> Fraction:
        """The summed variance of all items for one report, whatever their shares."""
        own, other = self._probabilities()
        spread = own * (1 - own) + (self.size - 1) * other * (1 - other)
        return spread / (own - other) ** 2

    def pair_support(self) -> PairSupport:
        """Averages over all pairs of items: the probabilities depend on which points lie on a line.

        The intersection of two hyperplanes lies in a third if their three points are on a line.
        """
        inside = self.inside / SCALE / self.hyperplane
        outside = (1 - self.inside / SCALE) / self.outside
        two, three = points(self.q, self.t - 2), points(self.q, self.t - 3) if self.t > 2 else 0
        on_line = (self.q - 1) / max(self.outcomes - 2, 1)
        apart = inside * three + outside * (two - three)
        other = on_line * inside * two + (1 - on_line) * apart
        return PairSupport(inside * two, other, averaged=True)

    def decode(self, report: bytes) -> DecodedReport:
        """The items whose hyperplanes hold the point."""
        point = _coordinates(int.from_bytes(report, "big"), self.q)
        items = (
            number
            for number, item in enumerate(_item_points(self.size, self.q))
            # The last coordinates stand under each other; what the shorter one lacks are zeros.
            if sum(map(int.__mul__, point, item)) % self.q == 0
        )
        support = self.support
        return DecodedReport("set", items, self.hyperplane / self.outcomes, support.p, support.q)

    def _ratio(self) -> Fraction:
        """The probability of a point in the own hyperplane over that of a point outside."""
        return Fraction(self.inside * self.outside, (SCALE - self.inside) * self.hyperplane)

    def _probabilities(self) -> tuple[Fraction, Fraction]:
        own = Fraction(self.inside, SCALE)
        common = points(self.q, self.t - 2)
        other = own * common / self.hyperplane
        other += (1 - own) * (self.hyperplane - common) / self.outside
        return own, other


def _coordinates(number: int, q: int) -> tuple[int, ...]:
    """A point's coordinates, the last one first: the digits in bijective base q, then a 1."""
    digits = []
    while number:
        number, digit = divmod(number - 1, q)
        digits.append(digit)
    return (*digits, 1)


@lru_cache(4)
def _item_points(size: int, q: int) -> tuple[tuple[int, ...], ...]:
    return tuple(_coordinates(number, q) for number in range(size))


def points(q: int, t: int) -> int:
    """How many points the projective space over F_q^t has: (q^t - 1) / (q - 1)."""
    return int((q**t - 1) // (q - 1))


def is_prime(number: int) -> bool:
    """Whether a number is prime, by trial division."""
    if number % 2 == 0 or number < 2:
        return number == 2
    return all(number % divisor for divisor in range(3, int(number**0.5) + 1, 2))


def spaces(least: int, most: int) -> Iterator[tuple[int, int]]:
    """All (q, t) worth considering whose spaces have `least` to `most` points."""
    for t in range(2, MAX_DIMENSION + 1):
        # A space has at most (q + 1)^(t-1) points.
        q = max(2, int(least ** (1 / (t - 1))) - 1)
        while points(q, t) <= most:
            if points(q, t) >= least and is_prime(q):
                yield q, t
                if t == 2:  # an own set of one point: further points only dilute
                    break
            q += 1
