"""Rows of random bits that stay symbolic, and reports that are made of them.

A row of a thousand independent bits has 2^1000 outcomes, which nobody can walk through. So the
randomizer is given a row whose bits are names instead: what it computes of them (and, or, xor, not,
shifts) is written down, for each place of the report, as a truth table over at most a few names.
Places that depend on different names are independent, and the probability of each is exact.
"""

from __future__ import annotations

from operator import and_, or_, xor
from typing import TYPE_CHECKING, NamedTuple, NoReturn, cast

from deniable._audit.failure import AuditFailure
from deniable._audit.laws.truth_tables import ONE, ZERO, Function, RandomBit, combined, shifted

if TYPE_CHECKING:
    from deniable._audit.laws.truth_tables import Operator


class Bits:
    """An integer of which some bits are random: which places are which function.

    Args:
        places: masks of places by function; together all places below `width`.
        width: number of places.
        above: what all higher places are, `ZERO` or `ONE`.
    """

    def __init__(self, places: dict[Function, int], width: int, above: Function = ZERO) -> None:
        self.places = {function: mask for function, mask in places.items() if mask}
        self.width = width
        self.above = above

    @classmethod
    def row(cls, number: int, count: int, weight: int, *, kept: bool) -> Bits:
        """A row of independent bits as it is drawn."""
        drawn = Function((RandomBit(number, weight, kept, 0),), 0b10)
        return cls({drawn: (1 << count) - 1}, count)

    @classmethod
    def constant(cls, number: int, width: int) -> Bits:
        """An integer; if it is negative, all places from `width` on are ones."""
        everywhere = (1 << width) - 1
        places = {ONE: number & everywhere, ZERO: ~number & everywhere}
        return cls(places, width, ONE if number < 0 else ZERO)

    def widened(self, width: int) -> dict[Function, int]:
        """The places below a larger width."""
        places = dict(self.places)
        new = (1 << width) - (1 << self.width)
        places[self.above] = places.get(self.above, 0) | new
        return places

    def _with(self, other: object, operator: Operator) -> Bits:
        if isinstance(other, int):
            other = Bits.constant(other, max(self.width, other.bit_length()))
        if not isinstance(other, Bits):
            return cast("Bits", NotImplemented)
        width = max(self.width, other.width)
        places: dict[Function, int] = {}
        for one, here in self.widened(width).items():
            for two, there in other.widened(width).items():
                if here & there:
                    both = combined(one, two, operator)
                    places[both] = places.get(both, 0) | here & there
        return Bits(places, width, combined(self.above, other.above, operator))

    def __and__(self, other: object) -> Bits:
        return self._with(other, and_)

    def __or__(self, other: object) -> Bits:
        return self._with(other, or_)

    def __xor__(self, other: object) -> Bits:
        return self._with(other, xor)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Bits:
        return self ^ -1

    def __lshift__(self, count: int) -> Bits:
        places = {shifted(each, count): mask << count for each, mask in self.places.items()}
        places[ZERO] = places.get(ZERO, 0) | (1 << count) - 1
        return Bits(places, self.width + count, self.above)

    def __rshift__(self, count: int) -> Bits:
        places = {shifted(each, -count): mask >> count for each, mask in self.places.items()}
        return Bits(places, max(0, self.width - count), self.above)

    def to_bytes(self, length: int, byteorder: str = "big") -> Report:
        """The bytes of the integer, as of an int."""
        places = self.widened(max(self.width, 8 * length))
        fits = self.above == ZERO and all(
            each == ZERO or mask >> 8 * length == 0 for each, mask in places.items()
        )
        if not fits or byteorder != "big":
            raise AuditFailure("a row of random bits does not fit into the bytes of its report")
        kept = {each: mask & (1 << 8 * length) - 1 for each, mask in places.items()}
        return Report(length, Bits(kept, 8 * length))

    def _looked_at(self) -> NoReturn:
        raise AuditFailure("the code looks at a row of random bits before it reports it")

    def __bool__(self) -> bool:
        self._looked_at()

    def __int__(self) -> int:
        self._looked_at()

    def __index__(self) -> int:
        self._looked_at()

    def __eq__(self, other: object) -> bool:
        self._looked_at()

    __hash__ = None  # type: ignore[assignment]


class InnerReport(NamedTuple):
    """The report of a randomizer inside another one, which is audited by itself.

    Attributes:
        place: at which byte of the whole report it begins.
        length: in bytes.
        part: which inner randomizer, by its number.
        item: what it was given.
    """

    place: int
    length: int
    part: int
    item: int


class Report:
    """A report with random bits, or with the report of an inner randomizer in it.

    Args:
        length: in bytes.
        bits: its bytes as a big-endian integer; zeros where inner reports are.
        inner: the inner reports.
    """

    def __init__(self, length: int, bits: Bits, inner: tuple[InnerReport, ...] = ()) -> None:
        self.length = length
        self.bits = bits
        self.inner = inner

    def __len__(self) -> int:
        return self.length

    def __add__(self, other: object) -> Report:
        if isinstance(other, bytes):
            other = Report.of_bytes(other)
        if not isinstance(other, Report):
            return NotImplemented
        moved = tuple(each._replace(place=each.place + self.length) for each in other.inner)
        bits = self.bits << 8 * other.length | other.bits
        return Report(self.length + other.length, bits, self.inner + moved)

    def __radd__(self, other: object) -> Report:
        if not isinstance(other, bytes):
            return NotImplemented
        return Report.of_bytes(other) + self

    @classmethod
    def of_bytes(cls, data: bytes) -> Report:
        """A report without anything random."""
        return cls(len(data), Bits.constant(int.from_bytes(data, "big"), 8 * len(data)))

    def ljust(self, width: int, fill: bytes = b" ") -> Report:
        """As of bytes."""
        return self + fill * max(0, width - self.length)

    def rjust(self, width: int, fill: bytes = b" ") -> Report:
        """As of bytes."""
        return fill * max(0, width - self.length) + self
