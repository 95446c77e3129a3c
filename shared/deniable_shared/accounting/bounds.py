"""Bounds of what many draws cost together: the sum, advanced composition and Renyi composition."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_shared.accounting.component import Component

DEFAULT_DELTA: Final = 1e-6
"""Of bounds that have a delta, unless another one is asked for."""

ROUNDING: Final = 1e-12
"""Every figure is raised by this relative amount, because floats were rounded on the way to it."""

_ORDERS: Final = (1e-4, 1e5)
"""The smallest and the largest Renyi order that is tried, minus 1."""
_GOLDEN: Final = (math.sqrt(5) - 1) / 2


class Bound(NamedTuple):
    """An epsilon and its delta.

    No event is more than e^epsilon times as probable for one history of values as for another, plus
    delta. This is not the probability that a loss exceeds epsilon, which is larger.

    Attributes:
        epsilon: in nats.
        delta: in [0, 1]; 0 for a proof without one.
    """

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Bounds:
    """What the same draws cost at most, by several ways to add them up.

    Attributes:
        sum: epsilons and deltas added up; holds at its own delta, which is that of the mechanisms.
            Those with fresh noise are no more than the device's budget.
        advanced: by Kairouz, Oh and Viswanath, at the delta that was asked for; None where the
            mechanisms' own deltas need all of it.
        renyi: by Renyi divergences, with the conversion of Canonne, Kamath and Steinke; None as
            above.
        renyi_mironov: the same with Mironov's conversion, which is older and larger.
    """

    sum: Bound
    advanced: float | None
    renyi: float | None
    renyi_mironov: float | None


def bounds_of(components: Sequence[Component], delta: float, limit: float = math.inf) -> Bounds:
    """What draws cost together; none is more than the sum, where that holds at the same delta.

    Args:
        components: what is drawn.
        delta: in [0, 1); 0 leaves the sum only.
        limit: the sum of epsilons at which devices stop, whichever reports these are. It does not
            bound what comes from permanent answers, which devices count otherwise.
    """
    fresh, permanent = (
        math.fsum(each.draws * each.epsilon for each in components if each.permanent == kind)
        * (1 + ROUNDING)
        for kind in (False, True)
    )
    deltas = math.fsum(component.draws * component.delta for component in components)
    together = Bound(min(fresh, limit) + permanent, deltas)
    smaller_bounds: tuple[float | None, ...] = (None, None, None)
    if delta > 0 and together.epsilon < math.inf:
        smaller_bounds = (advanced(components, delta), *renyi(components, delta, limit))
    return Bounds(together, *(at_most_the_sum(bound, together, delta) for bound in smaller_bounds))


def at_most_the_sum(epsilon: float | None, total: Bound, delta: float) -> float | None:
    """The smaller one of a bound and the sum, if the sum holds at this delta."""
    if total.delta > delta:
        return epsilon
    return total.epsilon if epsilon is None else min(epsilon, total.epsilon)


def advanced(components: Sequence[Component], delta: float) -> float | None:
    """Advanced composition of different mechanisms (Kairouz, Oh and Viswanath 2015, theorem 3.5).

    It knows nothing of a mechanism but epsilon and delta.

    Args:
        components: what is drawn.
        delta: in (0, 1).
    """
    kept_probability = math.fsum(
        component.draws * math.log1p(-component.delta) for component in components
    )
    # 1 - (1 - delta) / e^kept; a small delta would be lost in a difference from 1.
    slack = -math.expm1(math.log1p(-delta) - kept_probability)
    slack -= 4 * sys.float_info.epsilon * (delta - kept_probability)  # both logarithms are rounded
    if not slack > 0:
        return None
    mean = math.fsum(
        component.draws * component.epsilon * math.tanh(component.epsilon / 2)
        for component in components
    )
    squares = math.fsum(component.draws * component.epsilon**2 for component in components)
    logarithm = min(math.log(1 / slack), math.log(math.e + math.sqrt(squares) / slack))
    return (mean + math.sqrt(2 * squares * logarithm)) * (1 + ROUNDING)


def renyi(
    components: Sequence[Component], delta: float, limit: float = math.inf
) -> tuple[float | None, float | None]:
    """Renyi composition: divergences add up, and the best order is looked for.

    With D the sum of the divergences of order a, the two epsilons are::

        D + ln((a - 1) / a) - (ln delta + ln a) / (a - 1)
        D + ln(1 / delta) / (a - 1)

    The first is proposition 12 of Canonne, Kamath and Steinke (2020), the second proposition 3 of
    Mironov (2017).

    Both follow from E e^((a - 1) L) over the finite losses; infinite ones are taken off delta.
    Where devices stop at a sum of epsilons, D is that of all draws from permanent answers and of
    the costliest others that fit into it, and a part of one: it holds however devices choose what
    to report (Feldman and Zrnic 2021).

    Args:
        components: what is drawn.
        delta: in (0, 1).
        limit: the sum of epsilons at which devices stop.
    """
    delta_left = delta - math.fsum(
        component.draws * component.profile.infinite for component in components
    )
    if not delta_left > 0:
        return None, None
    profiles = {id(component.profile): component.profile for component in components}
    counts: dict[tuple[int, float, bool], int] = {}
    for component in components:
        key = id(component.profile), component.epsilon, component.permanent
        counts[key] = counts.get(key, 0) + component.draws

    def divergence(order: float) -> float:
        moments = {key: profile.log_moment(order) for key, profile in profiles.items()}
        fresh = [
            (moments[key], epsilon, count)
            for (key, epsilon, permanent), count in counts.items()
            if not permanent
        ]
        others = math.fsum(
            count * moments[key] for (key, _, permanent), count in counts.items() if permanent
        )
        return (_costliest(fresh, limit) + others) / order

    def improved(order: float, of_order: float) -> float:
        return of_order + math.log(order / (1 + order)) - math.log(delta_left * (1 + order)) / order

    def mironov(order: float, of_order: float) -> float:
        return of_order - math.log(delta_left) / order

    divergences: dict[float, float] = {}

    def least(conversion: Callable[[float, float], float]) -> float:
        def at(logarithm: float) -> float:
            if logarithm not in divergences:
                divergences[logarithm] = divergence(math.exp(logarithm))
            return conversion(math.exp(logarithm), divergences[logarithm])

        return max(0.0, _least(at, *map(math.log, _ORDERS))) * (1 + ROUNDING)

    return least(improved), least(mironov)


def group_bound(bound: Bound, devices: int) -> Bound:
    """What holds for a person of several devices, from a bound of one device alone.

    Values of all devices may differ at once: C epsilon, and delta (e^(C eps) - 1) / (e^eps - 1)
    (Dwork and Roth 2014, theorem 2.2, summed). Composing the reports of all devices is tighter.

    Args:
        bound: of one device.
        devices: C, at least 1.
    """
    epsilon, delta = devices * bound.epsilon, bound.delta
    if devices == 1 or not delta:
        return Bound(epsilon, delta)
    if not bound.epsilon > 0:
        return Bound(0.0, min(1.0, devices * delta))
    if epsilon > 700:
        return Bound(epsilon, 1.0)
    return Bound(epsilon, min(1.0, delta * math.expm1(epsilon) / math.expm1(bound.epsilon)))


def _costliest(draws: Sequence[tuple[float, float, int]], limit: float) -> float:
    """The largest total cost of the draws by one measure, given a limit on another.

    Args:
        draws: of each kind the cost, the epsilon, and how many there are.
        limit: the largest sum of epsilons.
    """
    cost = 0.0
    for cost_each, epsilon, count in sorted(
        draws, key=lambda draw: draw[0] / draw[1], reverse=True
    ):
        draws_taken = min(count, limit / epsilon)
        cost += draws_taken * cost_each
        limit -= draws_taken * epsilon
    return cost


def _least(function: Callable[[float], float], low: float, high: float) -> float:
    """The least value of a function with a single minimum; any value that is found is a bound.

    A grid finds the valley, and the golden section its bottom.
    """
    steps = 24
    grid = [low + (high - low) * step / steps for step in range(steps + 1)]
    values = [function(point) for point in grid]
    best = min(range(steps + 1), key=values.__getitem__)
    start, end = grid[max(best - 1, 0)], grid[min(best + 1, steps)]
    left, two = end - _GOLDEN * (end - start), start + _GOLDEN * (end - start)
    at_one, at_two = function(left), function(two)
    for _ in range(30):
        if at_one < at_two:
            end, two, at_two = two, left, at_one
            left = end - _GOLDEN * (end - start)
            at_one = function(left)
        else:
            start, left, at_one = left, two, at_two
            two = start + _GOLDEN * (end - start)
            at_two = function(two)
    return min(*values, at_one, at_two)
