"""Checks of reports: does what noise alone decides look as noise makes it?

Every check has a p-value that is exact or too large, for any number of reports and whatever devices
hold: honest reports fail it at the level p with probability p at most. On one day every device
reports once, so its reports are independent, memoised or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from deniable_aggregator.statistics.bit_tests import bit_pairs_test
from deniable_aggregator.statistics.tail_bounds import (
    bennett_bound,
    evenness_test,
    most_extreme_count,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Support

MEANINGS: Final[Mapping[str, str]] = {
    "bounds": "no answer comes more often, or more rarely, than noise allows in any population",
    "groups": "public groups (rows, cohorts, attributes) are as common as they are drawn",
    "pairs": "no two bits are ones together more, or less, often than by chance",
    "seeds": "seeds of hash functions are spread evenly",
    "sizes": "reports have as many ones as noise gives them",
    "sum": "the shares of the whole domain add up to 1",
}
"""What each check asks of honest reports."""


class Check(NamedTuple):
    """One check of some reports.

    Attributes:
        name: one of `MEANINGS`.
        p: how probable honest reports are to look so odd, at most; None if it could not be made,
            because some reports were counted before their diagnostics were.
        finding: what was found, in words.
    """

    name: str
    p: float | None
    finding: str


def bounds_check(counts: NDArray[np.int64], trials: Any, low: Any, high: Any) -> Check:
    """Whether counts are possible if each report adds to them with a probability within bounds.

    Args:
        counts: int64, (counts,).
        trials: how many reports each one is of: one number, or (counts,).
        low: the lowest probability: one number, or (counts,).
        high: the highest.
    """
    extreme = most_extreme_count(counts, trials, low, high)
    of = int(np.broadcast_to(trials, counts.shape)[extreme.place])
    finding = f"the oddest of {counts.size:,} counts is {counts[extreme.place]:,} of {of:,}"
    return Check("bounds", extreme.p, finding)


def evenness_check(name: str, counts: NDArray[np.int64], places: str, shares: Any = None) -> Check:
    """Whether reports are spread over places as their probabilities say.

    Args:
        name: of the check.
        counts: int64, (places,).
        places: what the places are, for the finding.
        shares: float64, (places,): the probability of each place; None if all are equal.
    """
    extreme = evenness_test(counts, shares)
    share = 1 / counts.size if shares is None else float(shares[extreme.place])
    finding = (
        f"of {places} the oddest has {counts[extreme.place]:,} reports, "
        f"{share * counts.sum():,.1f} expected"
    )
    return Check(name, extreme.p, finding)


def sum_check(supporting: NDArray[np.int64], reports: int, support: Support) -> Check:
    """Whether shares add up to 1 where a report supports every item independently.

    Then the total is a sum of as many known coins, whatever devices hold.

    Args:
        supporting: int64, (items,): how many reports support each item of the domain.
        reports: how many there are; at least 1.
        support: with which probabilities.
    """
    p, q, size = support.p, support.q, supporting.size
    total = int(supporting.sum())
    variance = reports * (p * (1 - p) + (size - 1) * q * (1 - q))
    found = float(bennett_bound(total - reports * (p + (size - 1) * q), variance, 1.0))
    share = (total - reports * size * q) / (reports * (p - q))
    error = variance**0.5 / (reports * (p - q))
    return Check("sum", found, f"they add up to {share:.4f} with a standard error of {error:.4f}")


def pairs_check(
    lengths: NDArray[np.int64],
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    counts: NDArray[np.int64],
    ones: NDArray[np.int64],
    reports: int,
    support: Support,
) -> Check:
    """Whether bits come together as often as they must; see `bit_pairs_test`."""
    extreme = bit_pairs_test(lengths, pairs, counts, ones, reports, support)
    one, other = (int(side[extreme.place]) for side in pairs)
    run = "bits" if lengths[0] == 1 else f"runs of {lengths[0]} bits, the"
    finding = f"the oddest {run} {one + 1} and {other + 1} of {lengths.size}"
    return Check("pairs", extreme.p, finding)


def not_counted(name: str) -> Check:
    """A check that could not be made."""
    return Check(name, None, "some of these reports were counted before this was looked at")
