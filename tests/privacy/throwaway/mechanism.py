"""What stands in the shared package: parameters, probabilities, and what a report says."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.exact_bounds import SCALE, ceil_divide, exp_lower, log_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import PairSupport, Support, require_integer
from deniable_shared.mechanisms.losses import losses_of_support
from deniable_shared.mechanisms.oracle import DecodedReport, FreshOracle, IndexOracle

if TYPE_CHECKING:
    from deniable_shared.mechanisms.losses import LossClasses
    from deniable_shared.mechanisms.oracle import Bounds


@frozen
class CopiedHadamardResponse(IndexOracle, FreshOracle):
    """As `HadamardResponse`: a row of a Hadamard matrix, and the item's sign there or its opposite.

    Attributes:
        size: number of items, in [2, 64].
        flip: weight of a false sign, over 2^32; in [1, 2^31 - 1].
    """

    name: ClassVar[str] = "copied"
    title: ClassVar[str] = "copied Hadamard response"
    size: int
    flip: int

    def __post_init__(self) -> None:
        require_integer("copied size", self.size, 2, 64)
        require_integer("copied flip", self.flip, 1, SCALE // 2 - 1)

    @classmethod
    def for_epsilon(cls, size: int, epsilon: Fraction) -> Self:
        return cls(size=size, flip=ceil_divide(SCALE, 1 + exp_lower(epsilon)))

    @property
    def order(self) -> int:
        return 1 << (self.size - 1).bit_length()

    @property
    def outcomes(self) -> int:
        return 2 * (self.order - 1)

    @property
    def epsilon(self) -> float:
        return log_upper(Fraction(SCALE - self.flip, self.flip))

    def losses(self) -> LossClasses:
        told, lie = Fraction(self.order // 2, self.order - 1), Fraction(self.flip, SCALE)
        return losses_of_support(told * (1 - lie), told * lie)

    @property
    def support(self) -> Support:
        half, own = self.order // 2, SCALE - self.flip
        other = ((half - 1) * own + half * self.flip) / (SCALE * (self.order - 1))
        return Support(own / SCALE, other)

    def outcome_bounds(self) -> Bounds:
        rows, lie = self.order - 1, self.flip / SCALE
        return lie / rows, (1 - lie) / rows

    def pair_support(self) -> PairSupport:
        rows, own, quarter = self.order - 1, self.support.p, self.order / 4
        return PairSupport(
            own * (2 * quarter - 1) / rows, ((quarter - 1) * own + quarter * (1 - own)) / rows
        )

    def decode(self, report: bytes) -> DecodedReport:
        row, sign = divmod(int.from_bytes(report, "big"), 2)
        items = (item for item in range(self.size) if (row + 1 & item).bit_count() % 2 == sign)
        return DecodedReport("random_group", items, 1 / 2, self.support.p, 1 - self.support.p)
