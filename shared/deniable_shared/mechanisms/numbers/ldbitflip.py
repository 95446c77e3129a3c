"""Memoised dBitFlip: permanent bits for each bin that a device answers for."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final, Self

from deniable_shared.device_classes import CLASSES, classes_by_group
from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, float_upper, log_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import Support, require_integer
from deniable_shared.mechanisms.numbers.dbitflip import GroupedBins
from deniable_shared.mechanisms.numbers.flips import composed_flip, weights_for
from deniable_shared.mechanisms.resemblance import RepeatedBits
from deniable_shared.mechanisms.second_round import SecondRound, bits_flipped

if TYPE_CHECKING:
    from deniable_shared.mechanisms.request import MechanismRequest

DEFAULT_BUCKETS: Final = 1
"""One bin has all of epsilon for its only bit.

Its variance equals that with (1 + sqrt(e))^2 / sqrt(e) bins, which is more than four at any
epsilon, while its total privacy loss, 2 epsilon_permanent, is that with two bins. Only more bins
than that give a smaller variance, for a larger total.
"""


@frozen
class MemoizedDBitFlip(GroupedBins):
    """dBitFlipPM (Ding, Kulkarni and Yekhanin, NIPS 2017, section 4), with output perturbation.

    A device belongs to one group for good, which follows from its class, and never says anything
    about other bins. What it has to say is one of d + 1 things: which of its d bins the value is
    in, or none of them (where it answers for all bins, there is no such thing). For each it has d
    permanent bits, each a lie with probability b1 = permanent / 2^32, drawn when first needed from
    its secret. A report is the bits of what is true of the value, each flipped afresh with
    probability b2 = flip / 2^32; together b = b1 (1 - b2) + (1 - b1) b2.

    `epsilon_permanent` is min(d, 2) ln((1 - b1) / b1). `epsilon_total` is 2 d ln((1 - b1) / b1):
    each of the d bits is about one bin, so between two histories in which the same reports share
    permanent answers it differs for at most two. Some differ by as much. (One epsilon_permanent for
    each thing to say, as it is often put, would be more than that for d of 2 and above.) Other
    histories are not covered.

    Attributes:
        size: number of bins k, in [2, 64].
        buckets: how many bins d a device answers for, in [1, size].
        permanent: weight of a lie of a permanent bit, over 2^32; in [1, 2^31 - 1].
        flip: weight of flipping it in a report, over 2^32; in [0, 2^31 - 1].
    """

    name: ClassVar[str] = "ldbitflip"
    title: ClassVar[str] = "memoised dBitFlip"
    memoized: ClassVar[bool] = True
    size: int
    buckets: int
    permanent: int
    flip: int

    def __post_init__(self) -> None:
        require_integer("ldbitflip size", self.size, 2, CLASSES)
        require_integer("ldbitflip buckets", self.buckets, 1, self.size)
        require_integer("ldbitflip permanent", self.permanent, 1, SCALE // 2 - 1)
        require_integer("ldbitflip flip", self.flip, 0, SCALE // 2 - 1)

    @classmethod
    def for_epsilons(
        cls,
        size: int,
        epsilon: Fraction,
        epsilon_permanent: Fraction,
        buckets: int = DEFAULT_BUCKETS,
    ) -> Self:
        """The mechanism that exceeds neither epsilon.

        Args:
            size: number of bins.
            epsilon: privacy loss of one report, in nats.
            epsilon_permanent: privacy loss of all reports of one value, in nats.
            buckets: how many bins a device answers for.

        Raises:
            ParameterError: if epsilon is above epsilon_permanent, or there are not so many bins.
        """
        permanent, flip = weights_for(epsilon, epsilon_permanent, min(buckets, 2))
        return cls(size=size, buckets=buckets, permanent=permanent, flip=flip)

    @classmethod
    def from_options(cls, request: MechanismRequest) -> Self:
        """Option ``buckets``: how many bins a device answers for."""
        if request.size > CLASSES:
            raise ParameterError("bins", f'at most {CLASSES} with repeat = "memoize"', request.size)
        default = DEFAULT_BUCKETS
        buckets = request.options.integer("buckets", 1, request.size, default=default) or default
        return cls.for_epsilons(request.size, request.epsilon, request.permanent, buckets)

    @property
    def permanent_groups(self) -> int:
        """One for each bin."""
        return self.size

    @property
    def group_shares(self) -> tuple[float, ...]:
        """As many of the 64 classes as belong to each group."""
        return tuple(count / CLASSES for count in classes_by_group(self.size))

    @property
    def asked(self) -> tuple[float, ...]:
        """Of devices: the shares of the groups that have the bin, for each bin."""
        shares, places = self.group_shares, range(self.buckets)
        return tuple(sum(shares[bin_ - place] for place in places) for bin_ in range(self.size))

    @property
    def repeated(self) -> RepeatedBits:
        """A device's bits; each bin is equally likely to be its own."""
        lie, own = self.permanent / SCALE, 1 / self.size
        one = own * (1 - lie) + (1 - own) * lie
        flip = self.flip / SCALE
        return RepeatedBits(self.buckets, one, 1 - flip, flip)

    def permanent_support(self) -> Support:
        """The probabilities of a permanent 1 for the device's own bin (p) and another (q)."""
        lie = self.permanent / SCALE
        return Support(1 - lie, lie)

    @property
    def lie(self) -> Fraction:
        """The probability of one flip out of two."""
        return composed_flip(self.permanent, self.flip)

    @property
    def epsilon_permanent(self) -> float:
        """The privacy loss of all reports of one value, in nats."""
        return log_upper(self._odds**self.differing)

    @property
    def second_round(self) -> SecondRound:
        """A flip of each of the device's bits."""
        rarest = self.buckets * log_upper(Fraction(SCALE, self.permanent))
        return bits_flipped(self.buckets, self.flip, rarest)

    @property
    def memoized_values(self) -> int:
        """One for each bin of the device, and one for all others."""
        return min(self.buckets + 1, self.size)

    @cached_property
    def epsilon_total(self) -> float:
        """The privacy loss of all reports of a device, in nats."""
        return float_upper(2 * self.buckets * Fraction(log_upper(self._odds)))

    @property
    def _odds(self) -> Fraction:
        return Fraction(SCALE - self.permanent, self.permanent)
