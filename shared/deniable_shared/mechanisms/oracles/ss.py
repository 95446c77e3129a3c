"""Subset selection: a random set of items that holds the device's own more often than not."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Self

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, ceil_divide, exp_lower, log_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import (
    MUTUALLY_EXCLUSIVE,
    PairSupport,
    Support,
    require_integer,
)
from deniable_shared.mechanisms.losses import losses_of_support
from deniable_shared.mechanisms.oracle import BitsOracle, DecodedReport, FreshOracle, set_bits

if TYPE_CHECKING:
    from deniable_shared.mechanisms.losses import LossClasses

MAX_SIZE: Final = 1_024
"""The largest domain: drawing a subset takes the device as many steps as it has items."""


@frozen
class SubsetSelection(BitsOracle, FreshOracle):
    """Subset selection (Ye and Barg 2018; Wang et al. 2016): optimal at every size and epsilon.

    The device sends a set of w of the k items. With probability p = own / 2^32 the set is its own
    item and a uniform subset of w - 1 others; otherwise it is a uniform subset of w of the *other*
    items. Each set with the item then has probability p / C(k-1, w-1), each set without it
    (1 - p) / C(k-1, w), so epsilon is ln(p (k - w) / ((1 - p) w)), attained. If the second kind
    could hold the item after all, epsilon would be larger than that. Another item is in the set
    with probability q = (w - p) / (k - 1).

    The report is one bit per item, w of them set. With w = 1 it is generalized randomized response.

    Attributes:
        size: number of items k, in [2, 1024].
        subset: number of items w in a set, in [1, k - 1].
        own: weight of a set with the device's item, over 2^32; more than w / k of it.
    """

    name: ClassVar[str] = "ss"
    title: ClassVar[str] = "subset selection"
    size: int
    subset: int
    own: int

    def __post_init__(self) -> None:
        require_integer("ss size", self.size, 2, MAX_SIZE)
        require_integer("ss subset", self.subset, 1, self.size - 1)
        require_integer("ss own", self.own, 1, SCALE - 1)
        if not self.own * self.size > self.subset * SCALE:
            raise ParameterError("ss own", f"above {self.subset} / {self.size} of 2^32", self.own)

    @classmethod
    def for_epsilon(cls, size: int, epsilon: Fraction) -> Self:
        """The mechanism over `size` items whose epsilon does not exceed the one given.

        w is the integer with the least total squared error, by the exact variance. That has one
        minimum over real w, at k / (e^epsilon + 1), so it is one of the two neighbours.

        Raises:
            ParameterError: if size is not in [2, 1024].
        """
        require_integer("ss size", size, 2, MAX_SIZE)
        below = int(size / (exp_lower(epsilon) + 1))
        oracles = [cls.with_subset(size, max(1, w), epsilon) for w in (below, below + 1)]
        return min(oracles, key=lambda mechanism: mechanism.variance(1 / size, 1))

    @classmethod
    def with_subset(cls, size: int, subset: int, epsilon: Fraction) -> Self:
        """The same with sets of a given number of items."""
        absent = size - subset
        return cls(
            size=size,
            subset=subset,
            own=SCALE - ceil_divide(SCALE * absent, exp_lower(epsilon) * subset + absent),
        )

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats."""
        with_item = Fraction(self.own, self.subset)
        without = Fraction(SCALE - self.own, self.size - self.subset)
        return log_upper(with_item / without)

    def losses(self) -> LossClasses:
        """Sets that hold one of two items and not the other."""
        own, other_items = Fraction(self.own, SCALE), self.size - 1
        return losses_of_support(
            own * (self.size - self.subset) / other_items, (1 - own) * self.subset / other_items
        )

    @property
    def support(self) -> Support:
        """The probabilities that the set holds the device's item (p) and a given other one (q)."""
        other = (self.subset * SCALE - self.own) / (SCALE * (self.size - 1))
        return Support(self.own / SCALE, other)

    def pair_support(self) -> PairSupport:
        """The items of a set other than the device's are a uniform subset."""
        size, chosen, own = self.size, self.subset, self.own / SCALE
        if size == 2:
            return MUTUALLY_EXCLUSIVE
        with_own = (chosen - 1) * (chosen - 2)
        without = chosen * (chosen - 1)
        return PairSupport(
            own * (chosen - 1) / (size - 1),
            (own * with_own + (1 - own) * without) / ((size - 1) * (size - 2)),
        )

    def decode(self, report: bytes) -> DecodedReport:
        """The items of the set."""
        items = set_bits(report, self.size)
        share = len(items) / self.size
        return DecodedReport("set", items, share, self.support.p, self.support.q)
