"""dBitFlip: a histogram from a few of its bins per device."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Self

from deniable_shared.exact_bounds import SCALE, ceil_divide, exp_lower, log_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import Support, SupportMechanism, require_integer
from deniable_shared.mechanisms.losses import dominating_losses, losses_of_support, mixed_losses

if TYPE_CHECKING:
    from deniable_shared.mechanisms.losses import LossClasses
    from deniable_shared.mechanisms.request import MechanismChoice, MechanismRequest

MAX_SIZE: Final = 1_024
DEFAULT_BUCKETS: Final = 16


class GroupedBins(SupportMechanism):
    """A mechanism by which a report answers for a few bins of a histogram.

    A report belongs to one of k groups. Group g answers for the d neighbouring bins g, g + 1, ...,
    modulo k, with one bit each: whether the value is in that bin; the bit may be a lie. The report
    is the group in two bytes, big-endian, and the bits, the first in the highest place of the first
    byte; places after the last bit are zero.

    Attributes:
        size: number of bins k.
        buckets: how many bins d a report answers for.
    """

    types: ClassVar[frozenset[str]] = frozenset({"distribution"})
    size: int
    buckets: int

    @property
    @abstractmethod
    def lie(self) -> Fraction:
        """The probability b that a bit of a report is a lie; below 1/2."""

    @property
    def differing(self) -> int:
        """In how many bits two values differ at most: two, or one if there is only one."""
        return min(self.buckets, 2)

    @property
    def report_bytes(self) -> int:
        """Two bytes for the group, and the bits."""
        return 2 + (self.buckets + 7) // 8

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats."""
        return log_upper(((1 - self.lie) / self.lie) ** self.differing)

    @property
    def support(self) -> Support:
        """The probabilities of a 1 for the device's own bin (p) and for another (q)."""
        lie = float(self.lie)
        return Support(1 - lie, lie)

    @property
    def group_shares(self) -> tuple[float, ...]:
        """The probability of each group: k floats."""
        return (1 / self.size,) * self.size

    @property
    def asked(self) -> tuple[float, ...]:
        """The probability that a report answers for a bin, for each bin: k floats."""
        return (self.buckets / self.size,) * self.size

    def variance(self, share: float, reports: int) -> float:
        """Of a bin's estimated share, for which only a part a = d / k of the reports answer.

        (b (1 - b) / (1 - 2b)^2 + f (1 - f) (1 - a)) / (n a): the second part is that of asking a
        sample. Where a differs from bin to bin, it is the average over all bins.
        """
        rarity = sum(1 / chance for chance in self.asked) / self.size
        noise = float(self.support.variance(share, 1))
        return (rarity * noise + share * (1 - share) * (rarity - 1)) / reports


@frozen
class DBitFlip(GroupedBins):
    """dBitFlip (Ding, Kulkarni and Yekhanin, NIPS 2017, section 3).

    Each bit is a lie with probability b = flip / 2^32. Two values differ in two bits, or, for d =
    1, in one, so epsilon is min(d, 2) ln((1 - b) / b). (The paper flips as if there were always
    two, and so spends only half of epsilon for d = 1.) The group is drawn for every report, where
    the paper draws it once for each device: so reports have nothing lasting in common.

    Attributes:
        size: number of bins k, in [2, 1024].
        buckets: how many bins d a report answers for, in [1, size].
        flip: weight of a lie, over 2^32; in [1, 2^31 - 1].
    """

    name: ClassVar[str] = "dbitflip"
    title: ClassVar[str] = "dBitFlip"
    size: int
    buckets: int
    flip: int

    def __post_init__(self) -> None:
        require_integer("dbitflip size", self.size, 2, MAX_SIZE)
        require_integer("dbitflip buckets", self.buckets, 1, self.size)
        require_integer("dbitflip flip", self.flip, 1, SCALE // 2 - 1)

    @classmethod
    def for_epsilon(cls, size: int, epsilon: Fraction, buckets: int | None = None) -> Self:
        """The mechanism whose epsilon does not exceed the one given.

        Args:
            size: number of bins.
            epsilon: privacy loss of one report, in nats.
            buckets: how many bins a report answers for; 16 or all, if left out.
        """
        asked_bins = min(size, DEFAULT_BUCKETS) if buckets is None else buckets
        flip = ceil_divide(SCALE, 1 + exp_lower(epsilon / min(asked_bins, 2)))
        return cls(size=size, buckets=asked_bins, flip=flip)

    @classmethod
    def from_options(cls, request: MechanismRequest) -> Self:
        """Option ``buckets``: how many bins a report answers for."""
        buckets = request.options.integer("buckets", 1, request.size, default=None)
        return cls.for_epsilon(request.size, request.epsilon, buckets)

    def at_epsilon(self, epsilon: Fraction, choice: MechanismChoice) -> Self:  # noqa: ARG002
        """The same bins."""
        return self.for_epsilon(self.size, epsilon, self.buckets)

    @property
    def lie(self) -> Fraction:
        """What stands in `flip`."""
        return Fraction(self.flip, SCALE)

    def losses(self) -> LossClasses:
        """Of neighbouring bins, which most groups answer for at once, or of bins far apart.

        Neither pair is the worse one at every epsilon. Of pairs in between, the exceedances lie
        between those of the two.
        """
        fewest = max(0, 2 * self.buckets - self.size)
        most = self.buckets - 1 if self.buckets < self.size else self.size
        return dominating_losses(self._losses_of_pair(fewest), self._losses_of_pair(most))

    def _losses_of_pair(self, shared: int) -> LossClasses:
        """The classes of two bins that so many groups answer for at once."""
        truth, lie = 1 - self.lie, self.lie
        in_one, neither = 2 * (self.buckets - shared), self.size - 2 * self.buckets + shared
        return mixed_losses(
            [
                (Fraction(shared, self.size), losses_of_support(truth * truth, lie * lie)),
                (Fraction(in_one, self.size), losses_of_support(truth, lie)),
                (Fraction(neither, self.size), ((Fraction(1), Fraction(1)),)),
            ]
        )
