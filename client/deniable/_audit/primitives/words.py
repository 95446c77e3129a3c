"""Uniform words of 32 bits that stay symbolic, for the audit of the primitive draws.

A primitive compares a word with thresholds, and divides what is left. Instead of trying four
billion words, a walk gives it a word that stands for all of them: a comparison divides the words
into those for which it holds and the others, and the walk follows both, with exact probabilities.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

from deniable._audit.failure import AuditFailure
from deniable._audit.walk import Walk
from deniable_shared.exact_bounds import SCALE

if TYPE_CHECKING:
    from collections.abc import Callable

    Range = tuple[int, int]


class WordWalk(Walk):
    """Draws words that stand for all words."""

    least_bits = 128

    def word(self) -> Word:
        """A fresh one."""
        return Word(self, [(0, SCALE)])

    def divide(self, word: Word, holds: list[Range], others: list[Range]) -> bool:
        """Follows the words for which something holds, and those for which it does not."""
        weights = [_size(others), _size(holds)]
        if not all(weights):
            return bool(weights[1])
        turn = self._turn(2)
        self._multiply(weights[turn], sum(weights))
        word.ranges = holds if turn else others
        return bool(turn)


class Word:
    """A word that is equally likely to be any in some ranges, less an offset.

    Args:
        walk: where comparisons are followed.
        ranges: from the first to before the last word of each.
        offset: is subtracted.
    """

    def __init__(self, walk: WordWalk, ranges: list[Range], offset: int = 0) -> None:
        self._walk = walk
        self.ranges = ranges
        self._offset = offset

    def __sub__(self, other: int) -> Word:
        return Word(self._walk, self.ranges, self._offset + other)

    def __add__(self, other: int) -> Word:
        return self - -other

    def __lt__(self, other: int) -> bool:
        return self._divided(lambda low, high: [(low, min(high, other + self._offset))])

    def __ge__(self, other: int) -> bool:
        return not self < other

    def __gt__(self, other: int) -> bool:
        return not self < other + 1

    def __le__(self, other: int) -> bool:
        return self < other + 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int):
            self._looked_at()
        at = other + self._offset
        return self._divided(lambda low, high: [(max(low, at), min(high, at + 1))])

    __hash__ = None  # type: ignore[assignment]

    def __mod__(self, divisor: int) -> Spread:
        """What is left of it after dividing, as shares of the words."""
        counts: Counter[int] = Counter()
        whole = 0
        for first, end in self._moved():
            rounds, rest = divmod(end - first, divisor)
            whole += rounds
            counts.update((first + index) % divisor for index in range(rest))
        return Spread(0, divisor, whole, counts, _size(self.ranges))

    def __floordiv__(self, divisor: int) -> Spread:
        """How often it can be divided; of one range that begins with a multiple."""
        ((first, end),) = self._moved()
        rounds, rest = divmod(end - first, divisor)
        if first % divisor or rest:
            self._looked_at()
        return Spread(first // divisor, rounds, divisor, Counter(), end - first)

    def _moved(self) -> list[Range]:
        return [(low - self._offset, high - self._offset) for low, high in self.ranges]

    def _divided(self, part: Callable[[int, int], list[Range]]) -> bool:
        holds: list[Range] = []
        others: list[Range] = []
        for low, high in self.ranges:
            for first, end in part(low, high):
                inside = (first, max(first, end))
                holds.append(inside)
                others += [(low, inside[0]), (inside[1], high)]
        return self._walk.divide(self, _nonempty(holds), _nonempty(others))

    def _looked_at(self) -> NoReturn:
        raise AuditFailure("a primitive uses a word in a way that is not followed")

    def __index__(self) -> int:
        self._looked_at()

    __int__ = __bool__ = __index__


class Spread:
    """Integers from `first` on, each as likely as the number of words that lead to it.

    Args:
        first: the smallest.
        count: how many there are.
        each: how many words lead to each, at least.
        more: how many words more lead to some.
        words: how many words there are.
    """

    def __init__(self, first: int, count: int, each: int, more: Counter[int], words: int) -> None:
        self._first = first
        self._count = count
        self._each = each
        self._more = more
        self._words = words

    def __add__(self, other: int) -> Spread:
        return Spread(self._first + other, self._count, self._each, self._more, self._words)

    __radd__ = __add__

    def outcome(self) -> tuple[int, int, Fraction]:
        """The first integer, how many there are, and the probability of each.

        Raises:
            AuditFailure: if they are not equally likely.
        """
        if any(self._more.values()) or self._each * self._count != self._words:
            raise AuditFailure("a draw that must be uniform favours some outcomes")
        return self._first, self._count, Fraction(self._each, self._words)


def _size(ranges: list[Range]) -> int:
    return sum(end - first for first, end in ranges)


def _nonempty(ranges: list[Range]) -> list[Range]:
    return [(first, end) for first, end in ranges if first < end]
