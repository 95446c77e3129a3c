"""Recursive Hadamard response: as many bits of information as a report is allowed to have."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, ceil_divide, exp_lower, log_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import Support, require_integer
from deniable_shared.mechanisms.losses import losses_of_support
from deniable_shared.mechanisms.oracle import DecodedReport, FreshOracle, IndexOracle

if TYPE_CHECKING:
    from deniable_shared.mechanisms.losses import LossClasses
    from deniable_shared.mechanisms.oracle import Bounds

MAX_SIZE: Final = 1 << 20
MAX_BITS: Final = 12
"""More bits are never better below the ceiling of epsilon."""


@frozen
class RecursiveHadamardResponse(IndexOracle, FreshOracle):
    """RHR with L bits (Chen, Kairouz and Ozgur 2020, section 4), items assigned round-robin.

    There are B = 2^(L-1) blocks. Item x belongs to block x mod B, and has there the column x div B
    of a Hadamard matrix of order b, the least power of two with b B >= size. The device draws a row
    r, public and independent of the item, and sends the symbol (block, sign of H[r, column])
    through generalized randomized response over the 2^L symbols: the right one with probability p,
    any other with probability q = other / 2^32. So epsilon is ln(p / q).

    Blocks taken in turn are filled evenly at every size; runs of b items would leave half of them
    empty in the worst case. The row is uniform over the b - 1 rows after the first, which cannot
    tell the items of a block apart; each report of a block still says that the block is held. With
    S+ and S- the shares of reports that name the item's block and have or have not its sign::

        estimate = (b S+ - (b - 2) S- - 2 q) / (b (p - q))                unbiased

    A device that holds another item of the same block disturbs the estimate more than one of
    another block, so the mechanism is not pure: see `variance_within`. With L = 1 it is the one-bit
    Hadamard response.

    The report is the number (r - 1) 2^L + 2 block + s of an outcome, s = 1 for a negative sign.

    Attributes:
        size: number of items, in [2, 2^20]; any, not only powers of two.
        bits: number of bits L, in [1, 12]; 2^(L-1) is below `size`.
        other: weight of each false symbol, over 2^32; smaller than the weight of the right one.
    """

    name: ClassVar[str] = "rhr"
    title: ClassVar[str] = "recursive Hadamard response"
    pure: ClassVar[bool] = False
    size: int
    bits: int
    other: int

    def __post_init__(self) -> None:
        require_integer("rhr size", self.size, 2, MAX_SIZE)
        require_integer("rhr bits", self.bits, 1, MAX_BITS)
        require_integer("rhr other", self.other, 1, SCALE - 1)
        if not self.blocks < self.size:
            most = (self.size - 1).bit_length()
            raise ParameterError("rhr bits", f"at most {most} for size {self.size}", self.bits)
        if not self.own > self.other:
            raise ParameterError("rhr other", f"below 2^32 / {self.symbols}", self.other)

    @classmethod
    def for_epsilon(cls, size: int, epsilon: Fraction) -> Self:
        """The mechanism over `size` items whose epsilon does not exceed the one given.

        L is the number of bits with the least total squared error, by the exact variance; the
        usual rule, epsilon log2(e) bits, is only near it.
        """
        require_integer("rhr size", size, 2, MAX_SIZE)
        most = min(MAX_BITS, (size - 1).bit_length())
        oracles = [cls.with_bits(size, bits, epsilon) for bits in range(1, most + 1)]
        return min(oracles, key=lambda mechanism: mechanism.variance(1 / size, 1))

    @classmethod
    def with_bits(cls, size: int, bits: int, epsilon: Fraction) -> Self:
        """The same with a given number of bits."""
        other = ceil_divide(SCALE, exp_lower(epsilon) + (1 << bits) - 1)
        return cls(size=size, bits=bits, other=other)

    @property
    def symbols(self) -> int:
        """How many symbols randomized response chooses from: 2^L."""
        return 1 << self.bits

    @property
    def blocks(self) -> int:
        """The number of blocks B."""
        return self.symbols // 2

    @property
    def order(self) -> int:
        """The order b of a block's matrix: a power of two, at least 2."""
        largest_block = -(-self.size // self.blocks)
        return 1 << (largest_block - 1).bit_length()

    @property
    def own(self) -> int:
        """The weight of the right symbol, over 2^32."""
        return SCALE - (self.symbols - 1) * self.other

    @property
    def outcomes(self) -> int:
        """A row and a symbol."""
        return (self.order - 1) * self.symbols

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats."""
        return log_upper(Fraction(self.own, self.other))

    def losses(self) -> LossClasses:
        """The symbols of items of different blocks; if there is only one, where its rows differ."""
        order, truth = self.order, Fraction(1)
        if self.blocks == 1:
            truth = Fraction(order // 2, order - 1)
        return losses_of_support(
            truth * Fraction(self.own, SCALE), truth * Fraction(self.other, SCALE)
        )

    @property
    def support(self) -> Support:
        """The probabilities of an item's symbol for its own device and for one of another block."""
        return Support(self.own / SCALE, self.other / SCALE)

    def outcome_bounds(self) -> Bounds:
        """A row is uniform, and the symbol in it is a given false one or the right one."""
        rows = self.order - 1
        return self.other / SCALE / rows, self.own / SCALE / rows

    def decode(self, report: bytes) -> DecodedReport:
        """The items of one block that have this sign in this row."""
        number = int.from_bytes(report, "big")
        row, symbol = 1 + number // self.symbols, number % self.symbols
        block, sign = symbol // 2, symbol % 2
        items = (
            item
            for item in range(block, self.size, self.blocks)
            if (row & item // self.blocks).bit_count() % 2 == sign
        )
        support = self.support
        return DecodedReport("random_group", items, 1 / self.symbols, support.p, support.q)

    def variance(self, share: float, reports: int) -> float:
        """The variance of an item's share, if the rest is spread evenly over all other items."""
        mates = -(-self.size // self.blocks) - 1
        block = share + (1 - share) * mates / (self.size - 1)
        return float(self.variance_within(share, block, reports))

    def variance_within(self, share: Any, block: Any, reports: int) -> Any:
        """The exact variance of an item's estimated share, over the devices that reported.

        Args:
            share: the item's true share; a float or float64 array.
            block: the share of all items of its block together; not below `share`.
            reports: how many devices reported; at least 1.
        """
        p, q, order = self.own / SCALE, self.other / SCALE, self.order
        scale = order * (p - q)
        right, wrong, absent = ((order - 2 * q), (2 - order - 2 * q), -2 * q)

        def spread(agree: float, differ: float, mean: int) -> float:
            # Not `** 2`, see `Support.variance`.
            square = agree * (right * right) + differ * (wrong * wrong)
            square += (1 - agree - differ) * (absent * absent)
            return square / (scale * scale) - mean * mean

        # Two columns agree in order / 2 - 1 of the rows and differ in order / 2.
        agreeing = (order / 2 - 1) / (order - 1)
        mate = spread(agreeing * p + (1 - agreeing) * q, agreeing * q + (1 - agreeing) * p, 0)
        own, stranger = spread(p, q, 1), spread(q, q, 0)
        return (share * own + (block - share) * mate + (1 - block) * stranger) / reports
