"""How far forged reports could move an estimate if they were 1% of all reports.

An estimate is the average of what each report contributes, and no report can contribute less than
`low` or more than `high`, which follow from the mechanism. If forged reports are added to n counted
ones until they are a share b of all, and each contributes c, the average f moves by b (c - f)
(Cao, Jia and Gong, USENIX Security 2021). The larger epsilon is, the closer low and high are, and
the less a forged report can do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Support

FORGED_SHARE: Final = 0.01
"""The share of all reports that is assumed to be forged."""

FORGED_PER_REPORT: Final = FORGED_SHARE / (1 - FORGED_SHARE)
"""How many forged reports are assumed for each counted one."""

_HALVINGS: Final = 100


def influence(share: Any, low: Any, high: Any, *, reports: int, about: Any = None) -> Any:
    """How far forged reports could move an average, up or down.

    Args:
        share: the average; a float or float64 array.
        low: the least that one report can contribute.
        high: the most.
        reports: how many reports were counted; decides how many are forged.
        about: how many of the reports the average is over, if not all; all forged reports are
            assumed to be among these.
    """
    fakes = reports * FORGED_PER_REPORT
    part = fakes / (fakes + (reports if about is None else about))
    return part * np.maximum(high - share, share - low)


def support_influence(share: Any, support: Support, *, reports: int, about: Any = None) -> Any:
    """How far forged reports could move shares that are estimated by the support lemma.

    A report contributes one of two numbers: one if it supports the item, another if it does not.

    Args:
        share: the estimates; a float or float64 array.
        support: the probabilities of supporting an item.
        reports: see `influence`.
        about: see `influence`.
    """
    gap = support.p - support.q
    low, high = -support.q / gap, (1 - support.q) / gap
    return influence(share, low, high, reports=reports, about=about)


def concentrate(moved: Any, about: Any, reports: int) -> Any:
    """The influence on an estimate over some of the reports, if all forged ones are among these.

    Args:
        moved: the influence if 1% of these reports are forged.
        about: how many reports the estimate is over; an int or int64 array.
        reports: how many reports were counted in all.
    """
    fakes = reports * FORGED_PER_REPORT
    return moved * (fakes / (fakes + about)) / FORGED_SHARE


def subset_influence(
    share: Any, support: Support, size: int, least: int, most: int, reports: int
) -> Any:
    """How far forged reports could move the summed share of some items.

    Args:
        share: the sum of the estimates.
        support: the probabilities of supporting one item.
        size: how many items are summed.
        least: how many of them one report supports at least.
        most: how many at most.
        reports: how many there are.
    """
    gap = support.p - support.q
    low, high = ((count - size * support.q) / gap for count in (least, most))
    return influence(share, low, high, reports=reports)


def allocated_influence(
    gains: NDArray[np.float64], about: NDArray[np.float64], reports: int
) -> NDArray[np.float64]:
    """The influence on a sum of averages, if the forgers spread their reports over them at best.

    x forged reports among the n_a that average a is over move it by g_a x / (n_a + x). The sum of
    these is largest where one more report would do the same in every average (a Lagrange multiplier
    l): x_a = sqrt(g_a n_a / l) - n_a, or 0 where that is negative.

    Args:
        gains: float64, (items, averages): g; 0 where the sum has no such average.
        about: float64, (items, averages): n, how many reports each average is over.
        reports: how many were counted in all.

    Returns:
        float64, (items,).
    """
    fakes = reports * FORGED_PER_REPORT
    n = np.maximum(about, 1e-9)
    steepest = (gains / n).max(axis=1)
    low, high = np.zeros(len(gains)), np.where(steepest > 0, steepest, 1.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        chosen = np.maximum(np.sqrt(gains * n / middle[:, None]) - n, 0.0)
        enough = chosen.sum(axis=1) >= fakes
        low, high = np.where(enough, middle, low), np.where(enough, high, middle)
    chosen = np.maximum(np.sqrt(gains * n / high[:, None]) - n, 0.0)
    return np.asarray((gains * chosen / (n + chosen)).sum(axis=1))
