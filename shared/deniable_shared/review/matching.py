"""How probably a device's reports are told to be its own, by the permanent answer that they repeat.

Somebody knows t reports of one device, and picks its next one among one report of each device: the
one that the permanent answer beneath the known ones makes most probable, in comparison with how
frequent such reports are. Nobody can do better. The device's value stays, all values are equally
common, and groups that reports show for good, such as a sketch's row, leave only the devices of its
own group to choose from.

With G the probability that another device's report scores higher, and g that it scores the same,
the right one is picked with probability ((1 - G)^n - (1 - G - g)^n) / (n g) among n devices. This
is averaged over what the device may have said: exactly for two reports of few bits, and over a
fixed low-discrepancy sequence otherwise. Nothing is drawn, so a registry always has the same
figures.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache
from itertools import accumulate, pairwise, product
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_shared.device_classes import CLASSES, classes_by_group
from deniable_shared.mechanisms.resemblance import RepeatedBits, RepeatedItem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.mechanisms import Mechanism

SECOND: Final = 1
"""How many reports are known before the second."""

EIGHTH: Final = 7
"""How many reports are known before the eighth."""

_POINTS: Final = 1_024
_EXACT_BITS: Final = 40
_MOST_OUTCOMES: Final = 512
_SAME: Final = 1e-9
_NEWTON_STEPS: Final = 40
_PRIMES: Final = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)


class Matching(NamedTuple):
    """How probably the next report of a device is told to be its own.

    Attributes:
        pair: of one that has reported once before.
        eighth: of one whose seven reports before are known to be its own.
    """

    pair: float
    eighth: float


def matching(mechanism: Mechanism, devices: int) -> Matching | None:
    """How well reports of one device can be matched; None if nothing is memoised.

    Args:
        devices: among how many, at least 1.
    """
    repeated = mechanism.repeated
    if repeated is None:
        return None
    groups = mechanism.permanent_groups
    alike = CLASSES**2 / sum(count**2 for count in classes_by_group(groups))
    return Matching(*(_matched(repeated, known, devices, alike) for known in (SECOND, EIGHTH)))


@lru_cache(maxsize=256)
def _matched(
    repeated: RepeatedBits | RepeatedItem, known: int, devices: int, groups: float
) -> float:
    if isinstance(repeated, RepeatedItem):
        return _matched_items(repeated, known, devices, groups)
    return _matched_bits(repeated, known, devices, groups)


def _picked(above: float, equal: float, devices: int, groups: float) -> float:
    """The probability that nobody else in the group scores higher, if ties are drawn."""
    above, equal = above / groups, equal / groups
    others = devices - 1
    if equal * others < _SAME:
        return math.exp(others * math.log1p(-min(above + equal / 2, 1 - _SAME)))
    none_above, none_as_high = (
        math.exp(devices * math.log1p(-min(part, 1 - 1e-15))) for part in (above, above + equal)
    )
    return (none_above - none_as_high) / (devices * equal)


MOST_PAIR: Final = 0.1
"""A second report that is told more often is a finding."""

MOST_EIGHTH: Final = 0.5
"""An eighth report that is told more often is a finding."""


def matching_text(found: Matching, devices: int) -> str:
    """How well reports of one device can be matched, as the end of a sentence.

    Args:
        devices: among how many.
    """
    return (
        f"among {devices:,} devices a second report is told to be the same device's "
        f"{_often(found.pair)}, and an eighth, if seven are known, {_often(found.eighth)}"
    )


def _often(probability: float) -> str:
    if probability < 0.01:
        return "in less than 1% of cases"
    return "in more than 99% of cases" if probability > 0.99 else f"in {probability:.0%} of cases"


class _Levels(NamedTuple):
    """Permanent bits by how many of the known reports have a 1 there.

    Attributes:
        probability: of each number.
        one: the probability that the next report has a 1, by that number.
        if_one: by how much a 1 in a report speaks for the device, as a logarithm.
        if_zero: by how much a 0 does.
        usual: the probability of a 1 in the report of another device.
    """

    probability: tuple[float, ...]
    one: tuple[float, ...]
    if_one: tuple[float, ...]
    if_zero: tuple[float, ...]
    usual: float


def _levels(repeated: RepeatedBits, known: int) -> _Levels:
    permanent, if_one, if_zero = repeated.permanent, repeated.if_one, repeated.if_zero
    usual = permanent * if_one + (1 - permanent) * if_zero
    probability, one = [], []
    for count in range(known + 1):
        set_bit = permanent * if_one**count * (1 - if_one) ** (known - count)
        unset = (1 - permanent) * if_zero**count * (1 - if_zero) ** (known - count)
        together = max(set_bit + unset, 1e-300)
        probability.append(math.comb(known, count) * together)
        chance = (set_bit * if_one + unset * if_zero) / together
        one.append(min(max(chance, 1e-12), 1 - 1e-12))
    return _Levels(
        tuple(probability),
        tuple(one),
        tuple(math.log(chance / usual) for chance in one),
        tuple(math.log((1 - chance) / (1 - usual)) for chance in one),
        usual,
    )


def _matched_bits(repeated: RepeatedBits, known: int, devices: int, groups: float) -> float:
    levels = _levels(repeated, known)
    if known == SECOND and repeated.bits <= _EXACT_BITS:
        return _matched_exactly(repeated.bits, levels, devices, groups)
    others: dict[tuple[int, ...], _Law | None] = {}
    total = 0.0
    for index in range(_POINTS):
        numbers, score = _said(repeated.bits, levels, index)
        if numbers not in others:
            others[numbers] = _law(numbers, levels)
        law = others[numbers]
        if law is None:
            above, equal = _tail(numbers, levels, score), 0.0
        else:
            above, equal = law.tail(score)
        total += _picked(above, equal, devices, groups)
    return total / _POINTS


def _matched_exactly(bits: int, levels: _Levels, devices: int, groups: float) -> float:
    """Of two reports: over all numbers of ones of the first, and of both."""
    total = 0.0
    for ones, weight in enumerate(_binomial(bits, levels.probability[1])):
        numbers = bits - ones, ones
        law = _law(numbers, levels)
        assert law is not None
        own = [
            _binomial(number, chance) for number, chance in zip(numbers, levels.one, strict=True)
        ]
        for counts in product(*(range(number + 1) for number in numbers)):
            chance = math.prod(each[count] for each, count in zip(own, counts, strict=True))
            if weight * chance > 1e-12:
                picked = _picked(*law.tail(_score(numbers, counts, levels)), devices, groups)
                total += weight * chance * picked
    return total


def _score(numbers: Sequence[int], ones: Sequence[int], levels: _Levels) -> float:
    """How much a report speaks for the device, by its ones among the bits of each level."""
    return sum(
        count * if_one + (number - count) * if_zero
        for number, count, if_one, if_zero in zip(
            numbers, ones, levels.if_one, levels.if_zero, strict=True
        )
    )


def _said(bits: int, levels: _Levels, index: int) -> tuple[tuple[int, ...], float]:
    """One of the things that a device may have said: bits by level, and its next report's score."""
    places = [(index + 0.5) / _POINTS]
    places += [(index + 1) * math.sqrt(prime) % 1 for prime in _PRIMES]
    place = iter(places)
    numbers, left, rest = [], bits, 1.0
    for probability in levels.probability[:-1]:
        number = _quantile(left, min(1.0, probability / max(rest, 1e-15)), next(place))
        numbers.append(number)
        left, rest = left - number, rest - probability
    numbers.append(left)
    ones = [
        _quantile(number, chance, next(place))
        for number, chance in zip(numbers, levels.one, strict=True)
    ]
    return tuple(numbers), _score(numbers, ones, levels)


class _Law(NamedTuple):
    """The scores of other devices' reports.

    Attributes:
        scores: those that are possible, ascending.
        above: the probability of each or a higher one; 0 after the last.
    """

    scores: list[float]
    above: list[float]

    def tail(self, score: float) -> tuple[float, float]:
        """The probabilities of a higher score, and of the same."""
        first = bisect_left(self.scores, score - _SAME)
        after = bisect_left(self.scores, score + _SAME)
        return self.above[after], self.above[first] - self.above[after]


def _law(numbers: tuple[int, ...], levels: _Levels) -> _Law | None:
    """None if there are too many different reports."""
    if math.prod(number + 1 for number in numbers) > _MOST_OUTCOMES:
        return None
    found = [(0.0, 1.0)]
    for number, if_one, if_zero in zip(numbers, levels.if_one, levels.if_zero, strict=True):
        if number:
            law = _binomial(number, levels.usual)
            steps = [
                (count * if_one + (number - count) * if_zero, chance)
                for count, chance in enumerate(law)
            ]
            found = [
                (score + step, chance * part) for score, chance in found for step, part in steps
            ]
    found.sort()
    above = list(accumulate((chance for _, chance in reversed(found)), initial=0.0))
    return _Law([score for score, _ in found], above[::-1])


def _tail(numbers: Sequence[int], levels: _Levels, score: float) -> float:
    """The probability of a higher score, by a saddlepoint (Lugannani and Rice 1980)."""
    usual, parts = levels.usual, []
    for number, if_one, if_zero in zip(numbers, levels.if_one, levels.if_zero, strict=True):
        if number:
            parts.append((number, if_one, if_zero))
    tilt, low, high, spread = 1.0, -50.0, 50.0, 0.0
    for _ in range(_NEWTON_STEPS):
        mean = spread = 0.0
        for number, if_one, if_zero in parts:
            one, zero = usual * math.exp(tilt * if_one), (1 - usual) * math.exp(tilt * if_zero)
            chance, apart = one / (one + zero), if_one - if_zero
            mean += number * (if_zero + chance * apart)
            spread += number * chance * (1 - chance) * apart**2
        low, high = (tilt, high) if mean < score else (low, tilt)
        moved = tilt + (score - mean) / max(spread, 1e-12)
        moved = moved if low < moved < high else (low + high) / 2
        if abs(moved - tilt) < 1e-7:
            break
        tilt = moved
    cumulant = sum(
        number * math.log(usual * math.exp(tilt * if_one) + (1 - usual) * math.exp(tilt * if_zero))
        for number, if_one, if_zero in parts
    )
    distance = 2 * (tilt * score - cumulant)
    if distance < 1e-9 or spread < 1e-12:
        return 0.5
    root = math.copysign(math.sqrt(distance), tilt)
    corrected = root + math.log(tilt * math.sqrt(spread) / root) / root
    return 0.5 * math.erfc(corrected / math.sqrt(2))


def _matched_items(repeated: RepeatedItem, known: int, devices: int, groups: float) -> float:
    """Over all ways in which the known answers may be spread over the items."""
    size, kept = repeated.size, repeated.kept
    other = (1 - kept) / (size - 1)
    total = 0.0
    for spread in _partitions(known, size):
        numbers = [spread.count(count) for count in range(known + 1)]
        numbers[0] = size - len(spread)
        ways = math.factorial(known) / math.prod(map(math.factorial, spread))
        ways *= math.factorial(size) / math.prod(map(math.factorial, numbers))
        # Whichever item is the permanent answer: it was said `count` times.
        weights = [kept**count * other ** (known - count) / size for count in range(known + 1)]
        whole = sum(number * weight for number, weight in zip(numbers, weights, strict=True))
        scores = [kept * weight / whole + other * (1 - weight / whole) for weight in weights]
        for count, number in enumerate(numbers):
            if number:
                above = sum(numbers[count + 1 :]) / size
                picked = _picked(above, number / size, devices, groups)
                total += ways * whole * number * scores[count] * picked
    return total


def _partitions(total: int, parts: int, most: int | None = None) -> list[list[int]]:
    """All ways to write a number as a sum of at most so many positive numbers, largest first."""
    if total == 0:
        return [[]]
    if parts == 0:
        return []
    return [
        [first, *rest]
        for first in range(min(total, most or total), 0, -1)
        for rest in _partitions(total - first, parts - 1, first)
    ]


@lru_cache(maxsize=4_096)
def _cumulated(number: int, chance: float) -> tuple[float, ...]:
    """The probabilities of at most 0, 1, ... of so many."""
    if chance <= 0 or chance >= 1:
        return tuple(float(chance <= 0 or count == number) for count in range(number + 1))
    logs = (
        math.lgamma(number + 1)
        - math.lgamma(count + 1)
        - math.lgamma(number - count + 1)
        + count * math.log(chance)
        + (number - count) * math.log1p(-chance)
        for count in range(number + 1)
    )
    return tuple(accumulate(math.exp(each) for each in logs))


@lru_cache(maxsize=4_096)
def _binomial(number: int, chance: float) -> tuple[float, ...]:
    """The probabilities of exactly 0, 1, ... of so many."""
    return tuple(after - before for before, after in pairwise((0.0, *_cumulated(number, chance))))


def _quantile(number: int, chance: float, place: float) -> int:
    return min(bisect_left(_cumulated(number, chance), place), number)
