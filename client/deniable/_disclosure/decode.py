"""What a report over a known domain says: which items it names, and how likely that was."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from deniable_shared import hashing
from deniable_shared.mechanisms.olh import SEED_BYTES, item_word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from deniable_shared.mechanisms import (
        HadamardResponse,
        OptimizedLocalHashing,
        Oracle,
        ProjectiveGeometryResponse,
        RecursiveHadamardResponse,
    )


class ReportKind(Enum):
    """How a mechanism speaks of the device's item."""

    ITEM = "item"
    """It names one item. p and q are the probabilities of naming it, if it is the own, and if not.
    """
    SET = "set"
    """It names several. p and q are the probabilities that the own item, or another, is named."""
    BITS = "bits"
    """It answers yes or no to each. p and q are those of a yes to the own item, or another."""
    RANDOM_GROUP = "lot"
    """All items were put into groups by a lot that has nothing to do with the own one, and it names
    a group. p and q are the probabilities of naming this group, if the own item is in it, and if
    not; the lot given."""


class DecodedReport(NamedTuple):
    """A report, read.

    Attributes:
        manner: what the report does.
        items: the numbers of the items that it names.
        named: how many items it names, one by one or on average over the lot, as a share of all.
        p: see `Manner`.
        q: see `Manner`.
    """

    kind: ReportKind
    items: Iterable[int]
    named_share: float
    p: float
    q: float


def decode_report(oracle: Oracle, report: bytes) -> DecodedReport:
    """What a report of an oracle says.

    Args:
        oracle: the mechanism.
        report: its report, of the right width.

    Raises:
        KeyError: if nobody has put the oracle's reports into words.
    """
    return _READERS[oracle.name](oracle, report)


def _item(oracle: Oracle, report: bytes) -> DecodedReport:
    support = oracle.support
    number = int.from_bytes(report, "big")
    if number >= oracle.size:
        raise ValueError("a report names an item of its domain")
    return DecodedReport(ReportKind.ITEM, (number,), 1 / oracle.size, support.p, support.q)


def _bits(oracle: Oracle, report: bytes, manner: ReportKind = ReportKind.BITS) -> DecodedReport:
    items = set_bits(report, oracle.size)
    support = oracle.support
    return DecodedReport(manner, items, len(items) / oracle.size, support.p, support.q)


def _subset(oracle: Oracle, report: bytes) -> DecodedReport:
    return _bits(oracle, report, ReportKind.SET)


def _hadamard(oracle: HadamardResponse, report: bytes) -> DecodedReport:
    number = int.from_bytes(report, "big")
    row, sign = 1 + number // 2, number % 2
    items = (item for item in range(oracle.size) if (row & item).bit_count() % 2 == sign)
    # Given the row the report is one bit, and `support` speaks of the own sign.
    own = oracle.support.p
    return DecodedReport(ReportKind.RANDOM_GROUP, items, 1 / 2, own, 1 - own)


def _recursive(oracle: RecursiveHadamardResponse, report: bytes) -> DecodedReport:
    number = int.from_bytes(report, "big")
    row, symbol = 1 + number // oracle.symbols, number % oracle.symbols
    block, sign = symbol // 2, symbol % 2
    items = (
        item
        for item in range(block, oracle.size, oracle.blocks)
        if (row & item // oracle.blocks).bit_count() % 2 == sign
    )
    support = oracle.support
    return DecodedReport(ReportKind.RANDOM_GROUP, items, 1 / oracle.symbols, support.p, support.q)


def _hashed(oracle: OptimizedLocalHashing, report: bytes) -> DecodedReport:
    key = hashing.key(int.from_bytes(report[:SEED_BYTES], "big"))
    bucket = int.from_bytes(report[SEED_BYTES:], "big")
    items = (
        item
        for item in range(oracle.size)
        if hashing.bucket(item_word(item), key, oracle.buckets) == bucket
    )
    lie = (1 - oracle.support.p) / (oracle.buckets - 1)
    return DecodedReport(ReportKind.RANDOM_GROUP, items, 1 / oracle.buckets, oracle.support.p, lie)


def _geometric(oracle: ProjectiveGeometryResponse, report: bytes) -> DecodedReport:
    q = oracle.q
    point = _coordinates(int.from_bytes(report, "big"), q)
    items = (
        number
        for number, item in enumerate(_points(oracle.size, q))
        # The last coordinates stand under each other; what the shorter one lacks are zeros.
        if sum(map(int.__mul__, point, item)) % q == 0
    )
    support = oracle.support
    return DecodedReport(
        ReportKind.SET, items, oracle.hyperplane / oracle.outcomes, support.p, support.q
    )


def _coordinates(number: int, q: int) -> tuple[int, ...]:
    """A point's coordinates, the last one first: the digits in bijective base q, then a 1."""
    digits = []
    while number:
        number, digit = divmod(number - 1, q)
        digits.append(digit)
    return (*digits, 1)


@lru_cache(4)
def _points(size: int, q: int) -> tuple[tuple[int, ...], ...]:
    return tuple(_coordinates(number, q) for number in range(size))


def set_bits(report: bytes, size: int) -> list[int]:
    """Which of so many bits are set, the first one in the highest place of the first byte."""
    bits = int.from_bytes(report, "big") >> 8 * len(report) - size
    return [index for index in range(size) if bits >> size - 1 - index & 1]


_READERS: Final = cast(
    "Mapping[str, Callable[[Any, bytes], DecodedReport]]",
    {
        "grr": _item,
        "ht": _hadamard,
        "lgrr": _item,
        "losue": _bits,
        "olh": _hashed,
        "oue": _bits,
        "pgr": _geometric,
        "rhr": _recursive,
        "rr": _item,
        "ss": _subset,
        "sue": _bits,
    },
)
