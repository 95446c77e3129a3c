"""The audit of `Randomness.bits`: the law of two bits, over all bytes, and that bits do not touch.

Bits are drawn by tables from bytes, two at a time, or, where a weight has few binary digits, as
one row of fair bits for each digit. What a call with two bits does is found by trying all bytes.
A call with more bits must then do the same for each two of them, from bytes of their own.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable import _randomness
from deniable._audit.failure import AuditFailure
from deniable_shared.exact_bounds import SCALE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

STREAMS: Final = 6
"""On so many streams of bytes a long row is compared with its pairs."""

_LAST_BYTES: Final = 6
_LAST: Final = 1 << 8 * _LAST_BYTES


class _Exhausted(Exception):  # noqa: N818  no error: more bytes are tried next
    """The code asks for more bytes than are given."""

    def __init__(self, asked: int) -> None:
        super().__init__(asked)
        self.asked = asked


def check_bits(count: int, weight: int) -> None:
    """Checks that `bits` draws independent bits of this weight.

    Raises:
        AuditFailure: if it does not.
    """
    if _asked_first(64, weight) == 8:
        _check_fair_rows(count, weight, _fair_law(weight))
    else:
        _check_pairs(count, _pair_law(weight))


def _drawn(data: bytes, count: int, weight: int) -> int:
    position = 0

    def source(asked: int) -> bytes:
        nonlocal position
        if position + asked > len(data):
            raise _Exhausted(asked)
        position += asked
        return data[position - asked : position]

    return _randomness.Randomness(source, 1).bits(count, weight)


def _asked_first(count: int, weight: int) -> int:
    try:
        _drawn(b"", count, weight)
    except _Exhausted as exhausted:
        return exhausted.asked
    return 0


class _Pairs(NamedTuple):
    """Two bits by the first byte, or by the first two; what leaves them open is in neither."""

    first: Mapping[int, int]
    second: Mapping[tuple[int, int], int]
    weight: int


def _pair_law(weight: int) -> _Pairs:
    """All bytes are tried; the last six are compared as one number, so its steps are searched."""
    found: Counter[int] = Counter()
    first: dict[int, int] = {}
    second: dict[tuple[int, int], int] = {}
    open_bytes = []
    for byte in range(256):
        try:
            first[byte] = _drawn(bytes((byte,)), 2, weight)
            found[first[byte]] += _LAST * 256
        except _Exhausted:
            open_bytes.append(byte)
    for byte, other in itertools.product(open_bytes, range(256)):
        try:
            second[byte, other] = _drawn(bytes((byte, other)), 2, weight)
            found[second[byte, other]] += _LAST
        except _Exhausted as exhausted:
            if exhausted.asked != _LAST_BYTES:
                raise AuditFailure("bits are drawn from bytes that are not followed") from None
            for result, words in _steps(bytes((byte, other)), weight):
                found[result] += words
    one = Fraction(weight, SCALE)
    for pattern in range(4):
        claimed = (one if pattern & 2 else 1 - one) * (one if pattern & 1 else 1 - one)
        if Fraction(found[pattern], _LAST << 16) != claimed:
            raise AuditFailure(f"two bits of weight {weight} are not drawn with it")
    return _Pairs(first, second, weight)


def _steps(prefix: bytes, weight: int) -> Iterator[tuple[int, int]]:
    """Each result, and for how many of the last words it comes; by bisection."""

    def result_of(word: int) -> int:
        return _drawn(prefix + word.to_bytes(_LAST_BYTES, "big"), 2, weight)

    start = 0
    while start < _LAST:
        result = result_of(start)
        low, high = start, _LAST
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if result_of(middle) == result else (low, middle)
        yield result, high - start
        start = high


def _check_pairs(count: int, law: _Pairs) -> None:
    pairs = (count + 1) // 2
    for number in range(STREAMS):
        firsts = _stream(number, pairs)
        undecided = [byte for byte in range(256) if byte not in law.first]
        if number == STREAMS - 1 and undecided:
            firsts = bytes(undecided[:1] * pairs)
        seconds, digits = b"", []
        for byte in firsts:
            digit = law.first.get(byte)
            if digit is None:
                decided = [other for other in range(256) if (byte, other) in law.second]
                other = decided[(len(seconds) * 37 + number) % len(decided)]
                seconds += bytes((other,))
                digit = law.second[byte, other]
            digits.append(digit)
        expected = int("".join(map(str, digits)), 4) >> (count & 1)
        try:
            drawn = _drawn(firsts + seconds, count, law.weight)
        except _Exhausted:
            drawn = -1
        if drawn != expected:
            raise AuditFailure(f"{count} bits of weight {law.weight} are not drawn pair by pair")


def _fair_law(weight: int) -> Mapping[tuple[int, ...], int]:
    """The bit by the fair bits that it is made of, all of which are tried."""
    rows = 0
    while True:
        try:
            _drawn(bytes(rows), 1, weight)
            break
        except _Exhausted:
            rows += 1
    law = {
        fair: _drawn(bytes(0x80 * bit for bit in fair), 1, weight)
        for fair in itertools.product((0, 1), repeat=rows)
    }
    if Fraction(sum(law.values()), len(law)) != Fraction(weight, SCALE):
        raise AuditFailure(f"a bit of weight {weight} is not drawn with it")
    return law


def _check_fair_rows(count: int, weight: int, law: Mapping[tuple[int, ...], int]) -> None:
    size = (count + 7) // 8
    depth = len(next(iter(law)))
    for number in range(STREAMS):
        data = _stream(number, depth * size)
        rows = [int.from_bytes(data[at : at + size], "big") for at in range(0, len(data), size)]
        expected = 0
        for place in range(8 * size - 1, 8 * size - count - 1, -1):
            expected = 2 * expected + law[tuple(row >> place & 1 for row in rows)]
        if _drawn(data, count, weight) != expected:
            raise AuditFailure(f"{count} bits of weight {weight} are not drawn bit by bit")


def _stream(number: int, count: int) -> bytes:
    return hashlib.shake_256(f"bits {number}".encode()).digest(count)
