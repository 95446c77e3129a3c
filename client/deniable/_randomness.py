"""Exact sampling from random bytes.

Probabilities are integer weights over 2^32. Long rows of bits are drawn two bits at a time. For a
pair of bits, random bytes are compared with the base-256 digits of the probabilities of 11, 10 and
01, and the next byte is drawn only at a tie. So one byte nearly always decides two bits, and their
probabilities are still exact. The client's only source of randomness is the operating system.
"""

from __future__ import annotations

import math
import os
from functools import lru_cache

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

BUFFER_BYTES: Final = 8_192
_WORD_BYTES: Final = 4
_WORD_BITS: Final = 32
_WORDS: Final = 1 << _WORD_BITS
_MAX_SLICES: Final = 6
_DIGITS: Final = b"0123"
_MARKS: Final = b"abc"


class Randomness:
    """A buffered stream of uniform bytes, and exact samples drawn from it.

    Not thread-safe: two threads could get the same bytes, so the owner holds a lock. A forked child
    must call `discard_buffer` before it draws.

    Args:
        source: returns the given number of uniform bytes.
        buffer_bytes: how many bytes to take from the source at once.
    """

    def __init__(
        self, source: Callable[[int], bytes] = os.urandom, buffer_bytes: int = BUFFER_BYTES
    ) -> None:
        self._source = source
        self._buffer_bytes = buffer_bytes
        self._buffer = b""
        self._position = 0

    def discard_buffer(self) -> None:
        """Forgets the buffered bytes."""
        self._buffer = b""
        self._position = 0

    def take(self, count: int) -> bytes:
        """The next `count` bytes of the stream; no byte is returned twice."""
        start = self._position
        end = start + count
        if end > len(self._buffer):
            self._buffer = self._source(max(count, self._buffer_bytes))
            start, end = 0, count
        self._position = end
        return self._buffer[start:end]

    def word(self) -> int:
        """A uniform integer in [0, 2^32)."""
        return int.from_bytes(self.take(_WORD_BYTES), "big")

    def bernoulli(self, weight: int) -> bool:
        """True with probability weight / 2^32, exactly."""
        return self.word() < weight

    def bernoulli_fraction(self, numerator: int, denominator: int) -> bool:
        """True with probability numerator / denominator, exactly.

        Compares words with the base-2^32 digits of the fraction, and draws another only at a tie.

        Args:
            numerator: in [0, denominator].
            denominator: greater than 0, of any size.
        """
        while numerator:
            digit, numerator = divmod(numerator << _WORD_BITS, denominator)
            word = self.word()
            if word != digit:
                return word < digit
        return False

    def bernoulli_exp(self, numerator: int, denominator: int) -> bool:
        """True with probability e^(-numerator / denominator), exactly.

        Canonne, Kamath and Steinke (2020), algorithm 1: integers only, no exponential.

        Args:
            numerator: 0 or more.
            denominator: greater than 0.
        """
        while numerator > denominator:
            if not self.bernoulli_exp(1, 1):
                return False
            numerator -= denominator
        turn = 1
        while self.bernoulli_fraction(numerator, denominator * turn):
            turn += 1
        return turn % 2 == 1

    def laplace(self, scale: int) -> int:
        """An integer k with probability proportional to e^(-|k| / scale).

        Canonne, Kamath and Steinke (2020), algorithm 2.

        Args:
            scale: in [1, 2^32].
        """
        while True:
            rest = self.uniform_below(scale)
            if not self.bernoulli_exp(rest, scale):
                continue
            whole = 0
            while self.bernoulli_exp(1, 1):
                whole += 1
            size = rest + scale * whole
            negative = self.bernoulli(_WORDS // 2)
            if size or not negative:  # or 0 would be twice as likely
                return -size if negative else size

    def gaussian(self, variance: int) -> int:
        """An integer k with probability proportional to e^(-k^2 / (2 variance)).

        Canonne, Kamath and Steinke (2020), algorithm 3: rejection from discrete Laplace noise.

        Args:
            variance: at least 1.
        """
        scale = math.isqrt(variance) + 1
        while True:
            drawn = self.laplace(scale)
            if self.bernoulli_exp((abs(drawn) * scale - variance) ** 2, 2 * variance * scale**2):
                return drawn

    def one_of(self, own: int, other: int) -> int:
        """0 with probability own / 2^32, and 1, 2, ... with probability other / 2^32 each.

        One word decides: the words from `own` on are divided into equal shares.

        Args:
            own: weight of 0, in [0, 2^32].
            other: weight of each further outcome; divides 2^32 - own.
        """
        word = self.word()
        return 0 if word < own else 1 + (word - own) // other

    def weighted_place(self, *weights: int) -> int:
        """A place in `weights`, each with probability its weight / 2^32, exactly.

        Args:
            weights: integers greater than 0, whose sum is 2^32.
        """
        word = self.word()
        end = place = 0
        for weight in weights[:-1]:
            end += weight
            if word < end:
                break
            place += 1
        return place

    def uniform_below(self, bound: int) -> int:
        """A uniform integer in [0, bound), by rejection; bound is in [1, 2^32]."""
        limit = _WORDS - _WORDS % bound
        while (word := self.word()) >= limit:
            pass
        return word % bound

    def bits(self, count: int, weight: int) -> int:
        """`count` independent bits, each 1 with probability weight / 2^32, as one integer.

        Args:
            count: how many bits, greater than 0.
            weight: in [0, 2^32].
        """
        slices = _binary_digits(weight)
        if len(slices) <= _MAX_SLICES:
            return self._sliced_bits(count, slices)
        table, ties = _pair_table(weight)
        digits: bytes | bytearray = self.take((count + 1) // 2).translate(table)
        marks = digits.translate(None, _DIGITS)
        if marks:
            digits = bytearray(digits)
            position = -1
            for mark, byte in zip(marks, self.take(len(marks)), strict=True):
                position = digits.find(mark, position + 1)
                digits[position] = ties[mark][byte] or self._resolve_tie(weight, ties[mark], byte)
        return int(digits, 4) >> (count & 1)

    def _resolve_tie(self, weight: int, tie: _Tie, byte: int) -> int:
        """Decides a pair of bits that two bytes could not decide; six further bytes always do."""
        word = int.from_bytes(bytes((tie.first, byte)) + self.take(6), "big")
        return _pair_digit(word, _bounds(weight))

    def _sliced_bits(self, count: int, slices: tuple[bool, ...]) -> int:
        """Does what `bits` does, for weights with few binary digits: one row of fair bits a digit.

        From the last digit to the first, a 1 takes the union with fresh fair bits, and a 0 the
        intersection: the probability of a bit becomes (digit + probability so far) / 2.
        """
        size = (count + 7) // 8
        row = 0
        for digit in slices:
            fair = int.from_bytes(self.take(size), "big")
            row = row | fair if digit else row & fair
        return row >> (8 * size - count)


def keyed_randomness(secret: bytes, label: bytes, length: int) -> Randomness:
    """Randomness that is a function of a secret and a label: SHAKE-256 as a keyed stream.

    With it, permanent answers are memoised without a table: they are drawn again, from the same
    stream, for every report. Without the secret, the stream cannot be distinguished from uniform
    bytes. What a mechanism draws from it, and in which order, is therefore part of the mechanism's
    meaning and must never change.

    Args:
        secret: 32 bytes that never leave the device.
        label: what the randomness is for.
        length: how many bytes will probably be needed; more are made in blocks of this length.
    """
    import hashlib  # costs start-up time; the registry loads it anyway

    block = 0

    def source(count: int) -> bytes:
        nonlocal block
        block += 1
        prefix = secret + block.to_bytes(4, "big")
        return hashlib.shake_256(prefix + label).digest(count)

    return Randomness(source, length)


@lru_cache(maxsize=256)
def _binary_digits(weight: int) -> tuple[bool, ...]:
    """The binary digits of weight / 2^32 after the point, last first, without trailing zeros."""
    if weight in (0, _WORDS):
        # A weight of 2^32 has no digits after the point. So many ones select the other algorithm.
        return () if weight == 0 else (True,) * (_MAX_SLICES + 1)
    text = f"{weight:032b}".rstrip("0")
    return tuple(digit == "1" for digit in reversed(text))


class _Tie(tuple[int, ...]):
    """The digit for each second byte after a first one that did not decide, or 0."""

    first: int


@lru_cache(maxsize=256)
def _pair_table(weight: int) -> tuple[bytes, dict[int, _Tie]]:
    """A table from bytes to pairs of bits (digits of base 4) or marks of ties; and these ties."""
    bounds = _bounds(weight)
    table, ties = bytearray(), dict[int, _Tie]()
    for first in range(256):
        digit = _common_digit(first << 56, 56, bounds)
        if not digit:
            digit = _MARKS[len(ties)]
            tie = ties[digit] = _Tie(
                _common_digit(first << 56 | second << 48, 48, bounds) for second in range(256)
            )
            tie.first = first
        table.append(digit)
    return bytes(table), ties


def _bounds(weight: int) -> tuple[int, int, int]:
    """The words of 64 bits below which a pair of bits is 11, at least 10, and at least 01."""
    both, one = weight * weight, weight * (_WORDS - weight)
    return both, both + one, both + 2 * one


def _pair_digit(word: int, bounds: tuple[int, int, int]) -> int:
    return _DIGITS[3 - sum(word >= bound for bound in bounds)]


def _common_digit(low: int, free_bits: int, bounds: tuple[int, int, int]) -> int:
    """The digit of all words with the leading bits of `low`, or 0 if their digits differ."""
    digit = _pair_digit(low, bounds)
    return digit if digit == _pair_digit(low | (1 << free_bits) - 1, bounds) else 0
