"""Functions of a few random bits, as truth tables."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    Operator = Callable[[int, int], int]


class RandomBit(NamedTuple):
    """A bit of a row, at whatever place of it.

    Attributes:
        row: which call drew the row, counted from 1 in each run of a randomizer.
        weight: with which the bit is 1, over 2^32.
        kept: whether a device draws it once and for all.
        shift: how far the row was shifted since it was drawn.
    """

    row: int
    weight: int
    kept: bool
    shift: int


class Function(NamedTuple):
    """What a place of a report is, as a function of random bits.

    Attributes:
        bits: what it depends on, in order.
        table: its value for each combination of these bits, as the bits of an integer.
    """

    bits: tuple[RandomBit, ...]
    table: int


ZERO = Function((), 0)
ONE = Function((), 1)


@lru_cache(maxsize=4_096)
def combined(one: Function, two: Function, operator: Operator) -> Function:
    """The function that an operator makes of two, without the bits that it does not depend on.

    Args:
        one: the left operand.
        two: the right operand.
        operator: of two bits.
    """
    bits = tuple(sorted({*one.bits, *two.bits}))
    table = 0
    for index, values in enumerate(itertools.product((0, 1), repeat=len(bits))):
        given = dict(zip(bits, values, strict=True))
        table |= operator(_value(one, given), _value(two, given)) << index
    return _reduced(Function(bits, table))


def _value(function: Function, given: dict[RandomBit, int]) -> int:
    index = 0
    for bit in function.bits:
        index = 2 * index + given[bit]
    return function.table >> index & 1


def _reduced(function: Function) -> Function:
    for bit in function.bits:
        rest = tuple(each for each in function.bits if each != bit)
        tables = []
        for fixed in (0, 1):
            table = 0
            for index, values in enumerate(itertools.product((0, 1), repeat=len(rest))):
                given = dict(zip(rest, values, strict=True)) | {bit: fixed}
                table |= _value(function, given) << index
            tables.append(table)
        if tables[0] == tables[1]:
            return _reduced(Function(rest, tables[0]))
    return function


def shifted(function: Function, count: int) -> Function:
    """The same of rows that were shifted to the left by so many places more."""
    bits = tuple(bit._replace(shift=bit.shift + count) for bit in function.bits)
    return Function(bits, function.table)
