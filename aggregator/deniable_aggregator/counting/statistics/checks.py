"""Checks of reports: does what noise alone decides look as noise makes it?

Every check has a p-value that is exact or too large, for any number of reports and whatever devices
hold: honest reports fail it at the level p with probability p at most. On one day every device
reports once, so its reports are independent, memoised or not.

A check is made of many slices at once: of what each key uploaded on each day, or of whole days.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np
from scipy import special

from deniable_aggregator.counting.statistics.binomial import log_probabilities
from deniable_aggregator.counting.statistics.tail_bounds import (
    ExtremeCounts,
    bennett_bound,
    bennett_exponent,
    evenness_test,
    most_extreme_counts,
    most_extreme_of_groups,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Support


MARGIN: Final = 5.0
"""A variance that depends on a share uses the estimate plus this many standard errors."""


def ones_distribution(bits: int, own: int, support: Support) -> NDArray[np.float64]:
    """How probable each number of ones is: float64, (bits + 1,).

    Args:
        bits: how many bits there are.
        own: how many of them are a device's own, and ones with probability p.
        support: p, and the probability q of the others.
    """
    law = _binomial(bits - own, support.q)
    return np.convolve(law, _binomial(own, support.p)) if own else law


def _binomial(trials: int, probability: float) -> NDArray[np.float64]:
    """The law of a number of successes: float64, (trials + 1,)."""
    return np.asarray(np.exp(log_probabilities(np.arange(trials + 1), trials, probability)))


def bit_pairs_test(
    lengths: NDArray[np.int64],
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    counts: NDArray[np.int64],
    ones: NDArray[np.int64],
    reports: NDArray[np.int64],
    support: Support,
) -> ExtremeCounts:
    """Tests whether two runs of bits have ones together as often as they must, for any values.

    A device has one own bit, so of two different runs at least one has only bits that are ones with
    probability q, independently of all others: the product of both runs' deviations from q has mean
    0. For a run with itself, its square less a multiple of itself has a known mean.

    Args:
        lengths: int64, (runs,): how many bits each run has.
        pairs: int64, (pairs,) twice: the first and the second run of each pair.
        counts: int64, (slices, pairs): summed over the reports, the product of both runs' ones.
        ones: int64, (slices, bits): how often each bit was 1.
        reports: int64, (slices,): in how many reports.
        support: with which probabilities bits are ones.

    Returns:
        The most surprising pair of each slice.
    """
    p, q = support.p, support.q
    base, own = q * (1 - q), p * (1 - p) + (p - q) ** 2
    edges = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    sizes = lengths.astype(np.float64)
    sums = np.add.reduceat(ones, edges, axis=1).astype(np.float64)
    n = reports[:, None].astype(np.float64)
    null = support.variance(0.0, 1) / n
    shares = (sums - n * q * sizes) / (n * (p - q)) + MARGIN * np.sqrt(null * sizes)
    shares = np.clip(shares, 0.0, 1.0)
    first_bit, second_bit = pairs
    size_product = sizes[first_bit] * sizes[second_bit]
    # Of runs i and j, s_i s_j (w_i + w_j) is q (s_j S_i + s_i S_j) - n q^2 s_i s_j.
    expected = q * sums / sizes - n * (q * q / 2)
    deviation = counts - size_product * (expected[:, first_bit] + expected[:, second_bit])
    more = max(own - base, 0.0)
    spread = n * base * (base / 2 + more * shares / sizes)
    variance = size_product * (spread[:, first_bit] + spread[:, second_bit])
    largest = max(q, 1 - q) ** 2 * size_product
    for index in np.flatnonzero(first_bit == second_bit).tolist():
        run = int(first_bit[index])
        square = _square(int(lengths[run]), support)
        deviation[:, index] -= square.slope * (sums[:, run] - reports * q * sizes[run])
        deviation[:, index] -= reports * base * sizes[run]
        of_report = square.other + shares[:, run] * (square.own - square.other)
        variance[:, index] = reports * np.maximum(of_report, square.other)
        largest[index] = square.largest
    exponents = bennett_exponent(deviation, variance, largest)
    place = exponents.argmax(axis=1)
    p_of_pair = np.minimum(1.0, 2 * np.exp(-exponents[np.arange(len(place)), place]))
    return ExtremeCounts(np.minimum(1.0, exponents.shape[1] * p_of_pair), place)


class _Square(NamedTuple):
    """A run's squared deviation less `slope` times itself: variances, and the largest distance."""

    slope: float
    own: float
    other: float
    largest: float


@lru_cache(256)
def _square(length: int, support: Support) -> _Square:
    p, q = support.p, support.q
    base, own = q * (1 - q), p * (1 - p) + (p - q) ** 2
    slope = (own - base) / (p - q)
    deviation: Any = np.arange(length + 1) - length * q
    term = deviation**2 - slope * deviation - length * base
    of_own, of_other = (
        float(ones_distribution(length, have, support) @ term**2) for have in (1, 0)
    )
    return _Square(slope, of_own, of_other, float(np.abs(term).max()))


MEANINGS: Final[Mapping[str, str]] = {
    "bounds": "no answer comes more often, or more rarely, than noise allows in any population",
    "fillers": "no number of items or less is more common in sets than a larger number or less",
    "groups": "public groups (rows, cohorts, attributes) are as common as they are drawn",
    "levels": "levels of a metric that discovers strings are as common as they are drawn",
    "pairs": "no two bits are ones together more, or less, often than by chance",
    "seeds": "seeds of hash functions are spread evenly",
    "sizes": "reports have as many ones as noise gives them",
    "sum": "the shares of the whole domain add up to 1",
}
"""What each check asks of honest reports."""

NOT_COUNTED: Final = "too little was counted of these reports for this check"


class Check(NamedTuple):
    """One check of some reports.

    Attributes:
        name: one of `MEANINGS`.
        p: how probable honest reports are to look so odd, at most; None if it could not be made,
            because what it looks at was not counted of all the reports, or no report is about it.
        finding: what was found, in words.
    """

    name: str
    p: float | None
    finding: str


@dataclass(frozen=True, eq=False)
class SliceChecks:
    """One check, made of the reports of several slices.

    Attributes:
        name: one of `MEANINGS`.
        p: float64, (slices,): as of `Check`; NaN if it could not be made.
        finding: what was found, in words, with a place such as ``{0:,}`` for each of the numbers.
        numbers: int64 or float64, (slices,), each: what stands in these places.
        not_made: what is said instead where it could not be made.
    """

    name: str
    p: NDArray[np.float64]
    finding: str
    numbers: tuple[NDArray[Any], ...]
    not_made: str = NOT_COUNTED

    def take(self, slices: Any) -> Self:
        """The check of some of the slices.

        Args:
            slices: their positions, or a slice object.
        """
        numbers = tuple(column[slices] for column in self.numbers)
        # `replace` would take longer than all else: this is called for every day and key.
        return type(self)(self.name, self.p[slices], self.finding, numbers, self.not_made)

    def only_where(self, mask: NDArray[np.bool_]) -> Self:
        """The same check, not made of some slices.

        Args:
            mask: bool, (slices,): of which it is made.
        """
        return replace(self, p=np.where(mask, self.p, np.nan))

    def findings(self) -> list[str]:
        """What was found in each slice, in words."""
        words = self.finding.format
        findings = [words(*row) for row in zip(*map(_as_list, self.numbers), strict=True)]
        for place in np.flatnonzero(np.isnan(self.p)).tolist():
            findings[place] = self.not_made
        return findings

    def values(self) -> list[float | None]:
        """The p-value of each slice; None if the check could not be made."""
        return np.where(np.isnan(self.p), None, self.p).tolist()  # type: ignore[call-overload, no-any-return]

    def as_checks(self) -> list[Check]:
        """The check of each slice, with what was found."""
        pairs = zip(self.values(), self.findings(), strict=True)
        return [Check(self.name, p, finding) for p, finding in pairs]


def _as_list(column: NDArray[Any]) -> list[Any]:
    values: list[Any] = column.tolist()
    return values


def join_checks(parts: Sequence[Sequence[SliceChecks]]) -> list[SliceChecks]:
    """The checks of all slices.

    Args:
        parts: the checks of some slices each: the same, in the same order.
    """
    return [
        replace(
            checks[0],
            p=np.concatenate([check.p for check in checks]),
            numbers=tuple(
                map(np.concatenate, zip(*(check.numbers for check in checks), strict=True))
            ),
        )
        for checks in zip(*parts, strict=True)
    ]


def bounds_check(counts: NDArray[np.int64], trials: Any, low: Any, high: Any) -> SliceChecks:
    """Whether counts are possible if each report adds to them with a probability within bounds.

    Args:
        counts: int64, (slices, counts) or (slices, groups, counts).
        trials: how many reports each one is of, of a shape that can be broadcast to theirs.
        low: the lowest probability, likewise.
        high: the highest.
    """
    extreme = most_extreme_counts(counts, trials, low, high)
    place = np.arange(len(counts)), *np.unravel_index(extreme.place, counts.shape[1:])
    total = np.broadcast_to(trials, counts.shape)[place]
    size = int(np.prod(counts.shape[1:]))
    finding = f"the oddest of {size:,} counts is {{0:,}} of {{1:,}}"
    return SliceChecks("bounds", extreme.p, finding, (counts[place], total))


def grouped_bounds_check(
    least: NDArray[np.int64],
    most: NDArray[np.int64],
    trials: NDArray[np.int64],
    bounds: tuple[Any, Any],
    size: int,
) -> SliceChecks:
    """As `bounds_check`, of groups of counts of which only the least and the largest are known.

    Args:
        least: int64, (slices, groups).
        most: int64, (slices, groups).
        trials: int64, (slices, groups): how many reports the counts of a group are of.
        bounds: the lowest and the highest probability of the counts of each group.
        size: how many counts all groups of a slice have.
    """
    extreme = most_extreme_of_groups(least, most, trials, bounds, size)
    of_slice = np.arange(len(trials)), extreme.place
    count, total = np.hstack([most, least])[of_slice], np.hstack([trials, trials])[of_slice]
    finding = f"the oddest of {size:,} counts is {{0:,}} of {{1:,}}"
    return SliceChecks("bounds", extreme.p, finding, (count, total))


def evenness_check(
    name: str, counts: NDArray[np.int64], places: str, shares: NDArray[np.float64] | None = None
) -> SliceChecks:
    """Whether reports are spread over places as their probabilities say.

    Args:
        counts: int64, (slices, places).
        places: what the places are, for the finding.
        shares: float64, (places,): the probability of each place; None if all are equal.
    """
    extreme = evenness_test(counts, shares)
    share = 1 / counts.shape[1] if shares is None else shares[extreme.place]
    finding = f"of {places} the oddest has {{0:,}} reports, {{1:,.1f}} expected"
    count = counts[np.arange(len(counts)), extreme.place]
    return SliceChecks(name, extreme.p, finding, (count, share * counts.sum(axis=1)))


def falling_check(name: str, counts: NDArray[np.int64], places: str) -> SliceChecks:
    """Whether places come as often as, or more often than, all places after them.

    Given how many reports name one of two places, those of the later one are at most a binomial
    count at one half, if no device is more likely to name the later one.

    Args:
        counts: int64, (slices, places); at least two places.
        places: what the places are, for the finding.
    """
    first, second = np.triu_indices(counts.shape[1], 1)
    later, both = counts[:, second], counts[:, first] + counts[:, second]
    tail = np.where(later > 0, special.bdtrc(np.maximum(later - 1, 0), both, 0.5), 1.0)
    place = tail.argmin(axis=1)
    p_value = np.minimum(1.0, first.size * tail[np.arange(len(counts)), place])
    before, after = (counts[np.arange(len(counts)), column[place]] for column in (first, second))
    finding = f"of {counts.shape[1]} {places} the oddest has {{0:,}} reports, a larger one {{1:,}}"
    return SliceChecks(name, p_value, finding, (after, before))


def sum_check(
    supporting: NDArray[np.int64], reports: NDArray[np.int64], support: Support
) -> SliceChecks:
    """Whether shares add up to 1 where a report supports every item independently.

    Then the total is a sum of as many known coins, whatever devices hold.

    Args:
        supporting: int64, (slices, items): how many reports support each item of the domain.
        reports: int64, (slices,): how many there are; at least 1.
        support: with which probabilities.
    """
    p, q, size = support.p, support.q, supporting.shape[1]
    total = supporting.sum(axis=1)
    variance = reports * (p * (1 - p) + (size - 1) * q * (1 - q))
    p_value = bennett_bound(total - reports * (p + (size - 1) * q), variance, 1.0)
    share = (total - reports * size * q) / (reports * (p - q))
    error = np.sqrt(variance) / (reports * (p - q))
    finding = "they add up to {0:.4f} with a standard error of {1:.4f}"
    return SliceChecks("sum", p_value, finding, (share, error))


def pairs_check(
    lengths: NDArray[np.int64],
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    counts: NDArray[np.int64],
    ones: NDArray[np.int64],
    reports: NDArray[np.int64],
    support: Support,
) -> SliceChecks:
    """Whether bits come together as often as they must; see `bit_pairs_test`."""
    extreme = bit_pairs_test(lengths, pairs, counts, ones, reports, support)
    run = "bits" if lengths[0] == 1 else f"runs of {lengths[0]} bits, the"
    finding = f"the oddest {run} {{0}} and {{1}} of {lengths.size}"
    first, second = (side[extreme.place] + 1 for side in pairs)
    return SliceChecks("pairs", extreme.p, finding, (first, second))
