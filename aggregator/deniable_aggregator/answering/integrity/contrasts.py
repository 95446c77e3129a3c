"""Each key beside all others: whose devices answer differently, and how much.

Whether one key's devices answer differently from those of all other keys.

A forger with a key of its own can draw reports exactly as devices do, so that no check of the noise
sees it. What it cannot hide is that its key answers unlike the others. Keys of different platforms
may differ as well: a contrast is a reason to look, and no proof.

A key is compared with the other keys on the same days and the same version of the metric. Each day
counts with the weight n m / (n + m), of n reports of the key and m of the others, as in the test of
Cochran, Mantel and Haenszel: a change over time, or another mix of weekdays, is no contrast.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np
from scipy import special

from deniable_aggregator.answering.integrity.day_checks import KeySums, compared_days, compared_sums
from deniable_aggregator.counting.tallies import ShareTally, Tally
from deniable_aggregator.counting.tallies.numbers import DBitFlipTally, NumberTally
from deniable_aggregator.counting.tallies.strings import GroupedTally

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.inputs import MetricReports
    from deniable_aggregator.answering.integrity.kept_verdicts import KeptVerdicts
    from deniable_aggregator.answering.slices import SliceTable
    from deniable_shared.spec import Spec


LEAST_WEIGHT: Final = 50.0
"""Fewer reports than these are not compared."""

PARTS: Final = 256


class Contrast(NamedTuple):
    """By how much a key differs from the others where it differs most.

    Attributes:
        kind: whether a share, a mean or (of strings, whose values are not known) all of what
            reports say is compared.
        value: the value whose shares are compared, or None.
        own: the estimate of the key.
        difference: how far they are apart: of a share from 0 to 1, of a mean as a part of the
            range, of strings the distance of all shares (root of the sum of squares).
        least: the lower end of its interval, corrected for the number of comparisons.
    """

    kind: Literal["share", "mean", "distance"]
    value: str | None
    own: float | None
    others: float | None
    difference: float
    least: float


def measure_contrast(
    tally: Tally,
    own_counts: NDArray[np.float64],
    other_counts: NDArray[np.float64],
    noise_of_own: float,
    alpha: float,
) -> Contrast | None:
    """By how much reports differ from as many others.

    Args:
        own_counts: float64, (cells,): the counts of one side, weighted by day.
        other_counts: float64, (cells,): of the other, of about as many reports.
        noise_of_own: which part of the noise of their difference is that of the one side, in
            (0, 1): nearly all of it, if the counts of the other are those of many more reports.
        alpha: the probability that `least` is above the true difference, at most.

    Returns:
        None where there are too few reports, or nothing to compare.
    """
    own, rest_counts = (np.rint(counts).astype(np.int64) for counts in (own_counts, other_counts))
    if min(tally.reports(own), tally.reports(rest_counts)) < LEAST_WEIGHT:
        return None
    if isinstance(tally, NumberTally):
        return _of_means(tally, own, rest_counts, alpha)
    if isinstance(tally, DBitFlipTally):
        bins = [str(number + 1) for number in range(tally.cells // 2)]
        estimates = [tally.shares(counts) for counts in (own, rest_counts)]
        sides = [
            _with_sampling(estimate.share, estimate.variance, tally.reports(side))
            for estimate, side in zip(estimates, (own, rest_counts), strict=True)
        ]
        return _of_shares(bins, sides, alpha)
    if isinstance(tally, GroupedTally):
        # A group has few reports: so that rounding is no noise, they are counted in parts.
        own, rest_counts = (
            np.rint(counts * PARTS).astype(np.int64) for counts in (own_counts, other_counts)
        )
        return _of_groups(tally, own, rest_counts, noise_of_own, alpha)
    if isinstance(tally, ShareTally):
        items = tally.spec.items
        shares = tally.shares_of_slices(np.stack([own, rest_counts]), items)
        reports = tally.reports(own), tally.reports(rest_counts)
        return _of_shares(items, list(map(_with_sampling, *shares, reports)), alpha)
    return None


def _of_means(
    tally: NumberTally, own: NDArray[np.int64], rest_counts: NDArray[np.int64], alpha: float
) -> Contrast:
    own_mean, rest_mean = tally.mean(own), tally.mean(rest_counts)
    difference = abs(own_mean.mean - rest_mean.mean)
    # Days are weighted so that the variance of the difference is that of one side's mean.
    half = _z(alpha, 1) * max(own_mean.variance, rest_mean.variance) ** 0.5
    return Contrast(
        "mean",
        None,
        _in_unit(tally, own_mean.mean),
        _in_unit(tally, rest_mean.mean),
        difference,
        max(difference - half, 0.0),
    )


def _in_unit(tally: Tally, mean: float) -> float:
    """A mean in the metric's own unit, from one in widths of its range."""
    low, high = map(float, tally.spec.range or (0, 1))
    return low + mean * (high - low)


class _Side(NamedTuple):
    """The shares of one side.

    Attributes:
        share: float64, (items,).
        variance: float64, (items,): with that of having sampled the devices.
    """

    share: NDArray[np.float64]
    variance: NDArray[np.float64]


def _with_sampling(
    share: NDArray[np.float64], variance: NDArray[np.float64], reports: int
) -> _Side:
    clipped = np.clip(share, 0.0, 1.0)
    return _Side(share, variance + clipped * (1 - clipped) / reports)


def _of_shares(items: Sequence[str], sides: Sequence[_Side], alpha: float) -> Contrast | None:
    own, rest = sides
    difference = np.abs(own.share - rest.share)
    half = _z(alpha, len(items)) * np.sqrt(np.maximum(own.variance, rest.variance))
    least = np.maximum(difference - half, 0.0)
    if not np.isfinite(half).any():
        return None
    place = int(np.lexsort((difference, least))[-1])
    return Contrast(
        "share",
        items[place],
        float(own.share[place]),
        float(rest.share[place]),
        float(difference[place]),
        float(least[place]),
    )


def _of_groups(
    tally: GroupedTally,
    own: NDArray[np.int64],
    rest_counts: NDArray[np.int64],
    noise_of_own: float,
    alpha: float,
) -> Contrast | None:
    """The distance of all shares, from the buckets of all rows: no string need be known.

    Of each row the squared difference of every bucket, less what noise makes it, estimates without
    bias the sum over all strings of their squared differences.
    """
    reports, ones = tally.supported_by_group(own)
    other_reports, other_ones = tally.supported_by_group(rest_counts)
    used = np.minimum(reports, other_reports) >= PARTS
    if not used.any():
        return None
    # Of each group there may be more or fewer reports than its part.
    weight = (1 / PARTS) / (
        noise_of_own / reports[used, None] + (1 - noise_of_own) / other_reports[used, None]
    )
    first = ones[used] / reports[used, None]
    second = other_ones[used] / other_reports[used, None]
    pooled = (1 - noise_of_own) * first + noise_of_own * second
    # The pooled share is itself uncertain.
    own_part = noise_of_own * (1 - noise_of_own)
    noise = np.maximum(pooled * (1 - pooled) / (1 - own_part / weight), 1 / weight) / weight
    squares = (first - second) ** 2
    support = tally.spec.mechanism.support  # type: ignore[attr-defined]
    scale = (support.p - support.q) ** 2 * getattr(tally.spec.mechanism, "hashes", 1)
    shape = weight[:, 0] ** 2 / (weight**2).sum()
    squared = float(shape @ (squares - noise).sum(axis=1)) / scale
    variance = float(shape**2 @ (2 * noise**2 + 4 * noise * squares).sum(axis=1)) / scale**2
    least = squared - _z(alpha, 1) * variance**0.5
    return Contrast("distance", None, None, None, max(squared, 0.0) ** 0.5, max(least, 0.0) ** 0.5)


def _z(alpha: float, comparisons: int) -> float:
    """Standard errors of a two-sided interval, corrected for the number of comparisons."""
    return float(-special.ndtri(alpha / (2 * max(comparisons, 1))))


LEAST_CONTRAST: Final = 0.2
"""Keys that differ by less than 20 percentage points, or a fifth of a number's range, are even:
platforms differ."""

LEAST_MOVED: Final = 0.01
"""So are keys that move no share by more than a percentage point."""

FAMILY_P: Final = 1e-3
"""Keys that are even make any key of an answer uneven with this probability, at most."""

MOST_CELLS: Final = 1 << 24
"""At most so many counters of one version are read; the earlier days are left out then."""

MOST_UNEVEN: Final = 5
REMEMBERED: Final = 512


class KeyContrast(NamedTuple):
    """One key against all others.

    Attributes:
        spec: the version of the metric.
        key: the id of the key.
        reports: how many of the version's reports it brought.
        share: which part of all of the metric's reports these are.
        contrast: where it differs most.
        uneven: whether that is more than platforms may differ.
        epochs: of an uneven key, the days on which this is seen on the day alone.
    """

    spec: Spec
    key: str
    reports: int
    share: float
    contrast: Contrast
    uneven: bool
    epochs: tuple[int, ...] = ()


class KeyComparison:
    """Compares keys, and caches the results until the counts change."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Hashable, tuple[KeyContrast, ...]] = OrderedDict()

    def compare(
        self,
        reported: MetricReports,
        kept: Mapping[bytes, Sequence[KeptVerdicts]] | None = None,
    ) -> tuple[KeyContrast, ...]:
        """Every key that matters against the others, the most different first.

        Keys are found uneven one after the other, each against those that are left: a large key
        of a forger does not make the honest ones look uneven.

        Args:
            kept: what was found of periods whose slices are no longer stored, by digest.
        """
        before = [
            uneven.of_version(entry.spec)
            for entry in reported.entries
            for verdicts in (kept or {}).get(entry.spec.digest, ())
            for uneven in verdicts.uneven
        ]
        return tuple(sorted((*self._compare_keys(reported), *before), key=_most_different_first))

    def _compare_keys(self, reported: MetricReports) -> tuple[KeyContrast, ...]:
        name = frozenset(table.fingerprint for table in reported.tables.values())
        with self._lock:
            if name in self._known:
                self._known.move_to_end(name)
                return self._known[name]
        total = sum(int(table.reports.sum()) for table in reported.tables.values())
        tables = [
            reported.tables[entry.spec.digest]
            for entry in reported.entries
            if entry.spec.digest in reported.tables
        ]
        contrasts = tuple(
            contrast for table in tables for contrast in contrasts_of_version(table, total)
        )
        with self._lock:
            self._known[name] = contrasts
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return contrasts


def _most_different_first(contrast: KeyContrast) -> tuple[bool, float]:
    return not contrast.uneven, -contrast.contrast.least


def contrasts_of_version(table: SliceTable, total: int) -> Iterator[KeyContrast]:
    """Every key of a version that matters against the others."""
    reports, compared = table.reports_by_key, _latest_days(table)
    # What brought less can move nothing by as much as matters.
    keys = [key for key, count in reports.items() if count >= LEAST_MOVED * total]
    removed: set[str] = set()
    while len(reports) - len(removed) > 1 and len(removed) <= MOST_UNEVEN:
        remaining = compared.without(removed)
        # Only those with a slice, as each takes memory for all counters.
        compared_keys = [key for key in keys if key in remaining.reports_by_key]
        contrasts_by_key = (
            _contrasts(remaining, compared_keys, FAMILY_P / len(keys)) if compared_keys else {}
        )
        uneven = {
            key: contrast
            for key, contrast in contrasts_by_key.items()
            if contrast.least >= LEAST_CONTRAST
            and contrast.difference * reports[key] >= LEAST_MOVED * total
        }
        worst = min(
            uneven,
            key=lambda key: (-round(uneven[key].least, 6), reports[key]),
            default=None,
        )
        for key, contrast in contrasts_by_key.items():
            if worst is None or key == worst:
                share, is_uneven = reports[key] / total, key == worst
                epochs = _uneven_days(remaining, key) if is_uneven else ()
                yield KeyContrast(
                    table.entry.spec, key, reports[key], share, contrast, is_uneven, epochs
                )
        if worst is None:
            return
        removed.add(worst)


def _contrasts(table: SliceTable, keys: Sequence[str], alpha: float) -> dict[str, Contrast]:
    """Those keys that have enough reports to be compared."""
    tally, sums = table.entry.tally, compared_sums(table, keys)
    contrasts = {key: _measure(tally, sums, row, alpha) for row, key in enumerate(keys)}
    return {key: contrast for key, contrast in contrasts.items() if contrast is not None}


def _uneven_days(table: SliceTable, key: str) -> tuple[int, ...]:
    """The days whose own reports show that a key is uneven."""
    tally, alpha = table.entry.tally, FAMILY_P / len(table.days)
    return tuple(
        epoch
        for epoch, sums in compared_days(table, key)
        if (contrast := _measure(tally, sums, 0, alpha)) is not None
        and contrast.least >= LEAST_CONTRAST
    )


def _measure(tally: Tally, sums: KeySums, row: int, alpha: float) -> Contrast | None:
    if sums.weight[row] < LEAST_WEIGHT:
        return None
    noise_of_own = sums.noise_of_own[row] / sums.weight[row]
    return measure_contrast(tally, sums.own[row], sums.others[row], noise_of_own, alpha)


def _latest_days(table: SliceTable) -> SliceTable:
    """The latest days whose slices together are few enough to be read."""
    slices_since = len(table) - table.starts
    few = np.flatnonzero(slices_since * table.entry.tally.cells <= MOST_CELLS)
    last = int(table.days[-1])
    return table.between(int(table.days[few[0]]) if few.size else last + 1, last)
