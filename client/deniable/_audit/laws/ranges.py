"""Mechanisms of numbers, proved for every place of the range.

A range has 2^20 + 1 places: too many to follow all draws of each. A bit is one coin, so each place
is asked for its weight. A window moves on a grid of the range, and a place between two points is
rounded to either by one coin: each place is asked for its weight, and for both points. So the law
of every place is a mixture of the laws of grid points, which are followed whole, and no two places
differ by more than two of those do.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import deniable.randomizers.numbers as installed
from deniable._audit.failure import AuditFailure
from deniable._audit.laws.draws import Draw
from deniable._audit.laws.secret import SECRET
from deniable_shared.exact_bounds import SCALE
from deniable_shared.mechanisms import Hybrid, OneBitMean, Piecewise
from deniable_shared.mechanisms.numbers.numeric import RESOLUTION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from deniable_shared.mechanisms.base import Mechanism

_NOTED: Final = 256
"""Of so many places one coin of the bit is followed over all words."""

RangeMechanism = OneBitMean | Piecewise | Hybrid


class Coins:
    """Randomness that answers with given coins, and notes what it was asked for.

    Attributes:
        given: what the coins show, in the order of the draws.
        weights: of the coins that were asked for.
    """

    def __init__(self) -> None:
        self.given: tuple[bool, ...] = ()
        self.weights: list[int] = []

    def bernoulli(self, weight: int) -> bool:
        """As given."""
        weights = self.weights
        weights.append(weight)
        return self.given[len(weights) - 1]


def grid_of(mechanism: RangeMechanism) -> Sequence[int]:
    """The places whose laws are followed whole: the ends, or all points of the window's grid.

    Raises:
        AuditFailure: if these points are not among the places.
    """
    if isinstance(mechanism, OneBitMean):
        return (0, RESOLUTION)
    step, rest = divmod(RESOLUTION, _window_of(mechanism).size - 1)
    if rest:
        raise AuditFailure("the points of its grid are no places of the range")
    return range(0, RESOLUTION + 1, step)


def check_places(mechanism: RangeMechanism, make: Callable[[Any], Any]) -> frozenset[Draw]:
    """Checks that the law of every place is a mixture of those of the grid, with the right mean.

    Args:
        mechanism: of a number.
        make: makes the installed randomizer from its randomness.

    Returns:
        The coins: all that round, and of the bit's those of some places.

    Raises:
        AuditFailure: naming a place of which that is not so.
    """
    coins = Coins()
    with _windows_noted(mechanism, coins):
        report = make(coins).report
        if isinstance(mechanism, Hybrid):
            before, width = (mechanism.heads,), mechanism.report_bytes
            weights = _check_bit(mechanism.bit, report, coins, before, width)
            weights |= _check_window(mechanism.inner, report, coins, before, width)
        elif isinstance(mechanism, OneBitMean):
            weights = _check_bit(mechanism, report, coins, (), mechanism.report_bytes)
        else:
            weights = _check_window(mechanism, report, coins, (), mechanism.report_bytes)
    return frozenset(Draw("bernoulli", (weight,)) for weight in weights)


def _check_bit(
    mechanism: OneBitMean,
    report: Callable[[int, Any], bytes],
    coins: Coins,
    before: tuple[int, ...],
    width: int,
) -> set[int]:
    """Checks that the bit is a coin whose weight follows the place, to the nearest integer.

    Args:
        before: the weights of coins that choose this mechanism by showing tails.
        width: of a report, in bytes.
    """
    weights: set[int] = set()
    slope, most = SCALE - 2 * mechanism.flip, RESOLUTION // 2
    for bit in (False, True):
        coins.given, expected = (*(False for _ in before), bit), bit.to_bytes(width, "big")
        for place in range(RESOLUTION + 1):
            coins.weights = []
            if report(place, SECRET) != expected:
                raise _failure(place, "sends another bit than its coin shows")
            *chosen, weight = coins.weights
            off = weight * RESOLUTION - (mechanism.flip * RESOLUTION + slope * place)
            if (*chosen,) != before or not -most <= off <= most:
                raise _failure(place, f"is sent by coins of the weights {coins.weights}")
            if not place % _NOTED:
                weights.add(weight)
    return weights


def _check_window(
    mechanism: Piecewise,
    report: Callable[[int, Any], bytes],
    coins: Coins,
    before: tuple[int, ...],
    width: int,
) -> set[int]:
    """Checks that a place is rounded to the points beside it, by a coin that keeps the mean.

    Args:
        before: the weights of coins that choose this mechanism by showing heads; the outcomes of
            the other one come first.
        width: of a report, in bytes.
    """
    steps, first, weights = mechanism.size - 1, 2 * len(before), set()
    for up in (False, True):
        coins.given = (*(True for _ in before), up)
        for place in range(RESOLUTION + 1):
            coins.weights = []
            below, rest = divmod(place * steps, RESOLUTION)
            if up and not rest:
                continue
            if report(place, SECRET) != (first + below + up).to_bytes(width, "big"):
                raise _failure(place, "is not rounded to the points beside it")
            weight = rest * (SCALE // RESOLUTION)
            if (*coins.weights,) != (*before, weight):
                raise _failure(place, f"is rounded by coins of the weights {coins.weights}")
            weights.add(weight)
    return weights


@contextmanager
def _windows_noted(mechanism: Mechanism, coins: Coins) -> Iterator[None]:
    """Replaces the draw from a window by its first outcome; that draw is followed by itself."""
    real, window = installed.windowed, _window_of(mechanism)

    def first_of(given: object, number: int, randomness: object) -> int:
        if given is not window or randomness is not coins:
            raise AuditFailure("a window is drawn that is not the metric's")
        return number

    vars(installed)["windowed"] = first_of
    try:
        yield
    finally:
        vars(installed)["windowed"] = real


def _window_of(mechanism: Any) -> Piecewise:
    inner: Piecewise = mechanism.inner if isinstance(mechanism, Hybrid) else mechanism
    return inner


def _failure(place: int, reason: str) -> AuditFailure:
    return AuditFailure(f"at {place} / {RESOLUTION} of the range {reason}")
