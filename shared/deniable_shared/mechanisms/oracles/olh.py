"""Optimized local hashing: the item's bucket under a hash function drawn for this very report."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Self

from deniable_shared import hashing
from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, ceil_divide, exp_lower, log_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import PairSupport, Support, independent_pairs, require_integer
from deniable_shared.mechanisms.losses import losses_of_support
from deniable_shared.mechanisms.oracle import DecodedReport, FreshOracle

if TYPE_CHECKING:
    from deniable_shared.mechanisms.losses import LossClasses

MAX_SIZE: Final = 4_096
"""The largest domain: counting a report costs one hash per item."""

MAX_BUCKETS: Final = 4_096
SEED_BYTES: Final = 4


@frozen
class OptimizedLocalHashing(FreshOracle):
    """OLH (Wang, Blocki, Li and Jha 2017, section 4.4) over a known domain.

    The device draws a seed of 32 bits, hashes its item to one of g buckets with that member of the
    public family of `deniable_shared.hashing`, and sends the seed, and the bucket through
    generalized randomized response: truthfully with probability p, any other with probability
    other / 2^32. The seed is uniform whatever the item, so epsilon is ln(p / (other / 2^32)). A
    report supports every item that its seed sends to its bucket: another item with probability
    q = 1/g over the seeds.

    **The candidates are fixed when reports are folded**: they are the category's values, and the
    tally is one counter per value and the number of reports. Reports are not kept, so an item that
    is not in the domain can never be asked for. A sketch over ``grr`` is local hashing with a
    finite family, and answers for any string at any time.

    The report is the seed in four bytes and the bucket, big-endian.

    Attributes:
        size: number of items, in [2, 4096].
        buckets: range g of the hash functions, in [2, 4096].
        other: weight of each false bucket, over 2^32; smaller than the weight of the true one.
    """

    name: ClassVar[str] = "olh"
    title: ClassVar[str] = "optimized local hashing"
    size: int
    buckets: int
    other: int

    def __post_init__(self) -> None:
        require_integer("olh size", self.size, 2, MAX_SIZE)
        require_integer("olh buckets", self.buckets, 2, MAX_BUCKETS)
        require_integer("olh other", self.other, 1, SCALE - 1)
        if not self.own > self.other:
            raise ParameterError("olh other", f"below 2^32 / {self.buckets}", self.other)

    @classmethod
    def for_epsilon(cls, size: int, epsilon: Fraction) -> Self:
        """The mechanism over `size` items whose epsilon does not exceed the one given.

        g is the integer beside e^epsilon + 1 with the least total squared error, by the exact
        variance.
        """
        below = int(exp_lower(epsilon)) + 1
        oracles = [cls.with_buckets(size, g, epsilon) for g in (below, below + 1)]
        return min(oracles, key=lambda mechanism: mechanism.variance(1 / size, 1))

    @classmethod
    def with_buckets(cls, size: int, buckets: int, epsilon: Fraction) -> Self:
        """The same with a given range of the hash functions."""
        other = ceil_divide(SCALE, exp_lower(epsilon) + buckets - 1)
        return cls(size=size, buckets=buckets, other=other)

    @property
    def own(self) -> int:
        """The weight of the true bucket, over 2^32."""
        return SCALE - (self.buckets - 1) * self.other

    @property
    def report_bytes(self) -> int:
        """Four bytes for the seed, and as few as hold the bucket."""
        return SEED_BYTES + ((self.buckets - 1).bit_length() + 7) // 8

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats."""
        return log_upper(Fraction(self.own, self.other))

    def losses(self) -> LossClasses:
        """A bound: of two items that no seed sends to one bucket. Of any two, 1/g of seeds do."""
        return losses_of_support(Fraction(self.own, SCALE), Fraction(self.other, SCALE))

    @property
    def support(self) -> Support:
        """The probabilities of supporting the device's item (p) and any other (q)."""
        return Support(self.own / SCALE, 1 / self.buckets)

    def pair_support(self) -> PairSupport:
        """Items hash independently, by a function drawn for every report."""
        return independent_pairs(self.support)

    def decode(self, report: bytes) -> DecodedReport:
        """The items that the seed sends to the bucket."""
        key = hashing.key(int.from_bytes(report[:SEED_BYTES], "big"))
        bucket = int.from_bytes(report[SEED_BYTES:], "big")
        items = (
            item
            for item in range(self.size)
            if hashing.bucket(item_word(item), key, self.buckets) == bucket
        )
        lie = self.other / SCALE
        return DecodedReport("random_group", items, 1 / self.buckets, self.own / SCALE, lie)


def item_word(item: int) -> int:
    """The 64-bit word that stands for an item in the hash family.

    Args:
        item: the item's index.
    """
    return hashing.mix(item)
