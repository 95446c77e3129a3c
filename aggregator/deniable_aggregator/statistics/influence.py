"""How far fake reports could move an estimate: the poisoning radius.

Estimates are averages of what single reports contribute, and that lies between two known ends. If
fakes come on top of n counted reports until they make up a part b of all, each contributing c, the
average f moves by b (c - f): the gain of Cao, Jia and Gong (USENIX Security 2021). The larger
epsilon is, the nearer are the ends, and the less a fake can do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Support

FORGED_SHARE: Final = 0.01
"""The part of all reports that is taken to be fake."""

FORGED_PER_REPORT: Final = FORGED_SHARE / (1 - FORGED_SHARE)
"""How many fakes there are for each counted report."""

_HALVINGS: Final = 100


def influence(share: Any, low: Any, high: Any, *, reports: int, about: Any = None) -> Any:
    """How far 1% of fakes could move an average, in either direction.

    Args:
        share: the average; a float or float64 array.
        low: the least that one report can contribute.
        high: the most.
        reports: how many reports were counted; the fakes are a part of them all.
        about: how many of them the average is of, if not all: then all fakes are among these.
    """
    fakes = reports * FORGED_PER_REPORT
    part = fakes / (fakes + (reports if about is None else about))
    return part * np.maximum(high - share, share - low)


def support_influence(share: Any, support: Support, *, reports: int, about: Any = None) -> Any:
    """The same by the support lemma: a report supports an item or not.

    Args:
        share: the estimates.
        support: with which probabilities.
        reports: as above.
        about: as above.
    """
    gap = support.p - support.q
    low, high = -support.q / gap, (1 - support.q) / gap
    return influence(share, low, high, reports=reports, about=about)


def concentrate(moved: Any, about: int, reports: int) -> Any:
    """A radius over some of the reports, if all of the fakes are among these.

    Args:
        moved: with as many fakes as these reports have by themselves.
        about: how many they are.
        reports: how many there are in all.
    """
    fakes = reports * FORGED_PER_REPORT
    return moved * (fakes / (fakes + about)) / FORGED_SHARE


def subset_influence(
    share: Any, support: Support, size: int, least: int, most: int, reports: int
) -> Any:
    """The same for the summed share of some items.

    Args:
        share: of all of them.
        support: with which probabilities a report supports one.
        size: how many items there are.
        least: how many of them a report supports at least.
        most: how many at most.
        reports: how many there are.
    """
    gap = support.p - support.q
    low, high = ((count - size * support.q) / gap for count in (least, most))
    return influence(share, low, high, reports=reports)


def allocated_influence(
    gains: NDArray[np.float64], about: NDArray[np.float64], reports: int
) -> NDArray[np.float64]:
    """The most that fakes can do who choose between several averages that are added up.

    x fakes among those that average a is of move it by g_a x / (n_a + x). Where the sum over a is
    largest, the last fake does the same in each: x_a = sqrt(g_a n_a / l) - n_a, or none.

    Args:
        gains: float64, (items, averages): g, 0 where there is no such average.
        about: float64, (items, averages): n, how many reports each one is of.
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
