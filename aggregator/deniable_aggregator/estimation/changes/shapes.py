"""Whether the distribution of a metric has changed as a whole, and how far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from deniable_aggregator.statistics.consistency import norm_sub
from deniable_aggregator.statistics.distances import earth_mover, total_variation
from deniable_aggregator.statistics.histograms.homogeneity import (
    Repetition,
    combined_p_value,
    homogeneity_p_value,
)
from deniable_aggregator.statistics.repeated_reports import repeats_of
from deniable_aggregator.tallies import nonempty, tally_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_aggregator.estimation.changes.comparison import Differences
    from deniable_aggregator.estimation.inputs import CollectedTallies
    from deniable_aggregator.estimation.numbers.histograms import Histogram
    from deniable_shared.spec import Spec

REPLICATES: Final = 200
SEED: Final = 20_201_120
"""The same reports always give the same distance, with the same interval."""

_TAILS: Final = (0.025, 0.975)


class ShapeTest(NamedTuple):
    """The test that nothing has changed.

    Attributes:
        p_value: of the outcomes of all versions that reported in both periods.
        left_out: how many reports are of versions that did not, in both periods together.
        permanent: whether some answers are permanent, which makes the test find less.
    """

    p_value: float
    left_out: int
    permanent: bool


class ShapeDistance(NamedTuple):
    """How far two distributions are apart.

    Attributes:
        size: the distance of the estimates: noise makes it larger than that of the truths.
        low: the lower end of its interval.
        high: the upper end.
        noise: what the distance is on average if nothing has changed.
    """

    kind: Literal["earth-mover", "total-variation"]
    size: float
    low: float
    high: float
    noise: float


def compare_shapes(before: CollectedTallies, after: CollectedTallies) -> ShapeTest | None:
    """Tests that the distribution has not changed.

    Outcomes are compared within each version, since a version's channel is its own, and the tests
    of all versions are combined.

    Returns:
        None where no version has reports in both periods, or no test is known.
    """
    first, second = (
        {spec: counts for spec, counts, _ in nonempty(side.tallies)} for side in (before, after)
    )
    p_values, used, permanent = [], 0, False
    for spec in first.keys() & second.keys():
        tally = tally_for(spec)
        outcomes = [tally.outcomes(counts[spec]) for counts in (first, second)]
        if outcomes[0] is None or outcomes[1] is None:
            continue
        reports = [tally.reports(counts[spec]) for counts in (first, second)]
        fixed = _is_permanent(spec)
        permanent |= fixed
        used += sum(reports)
        extra = [
            repeats_of(spec, number, side.periods.get(spec.digest)).extra
            for number, side in zip(reports, (before, after), strict=True)
        ]
        epsilon = np.inf if fixed else spec.mechanism.epsilon
        repetition = Repetition(extra[0], extra[1], epsilon)
        p_values.append(homogeneity_p_value(outcomes[0], outcomes[1], repetition))
    if not p_values:
        return None
    total = sum(reports for side in (before, after) for _, _, reports in nonempty(side.tallies))
    return ShapeTest(combined_p_value(p_values), total - used, permanent)


def histogram_distance(before: Histogram, after: Histogram) -> ShapeDistance:
    """The earth mover's distance of two histograms over the same bins, in widths of the range."""
    random = np.random.default_rng(SEED)
    sizes = np.array([side.reports for side in (before, after)], np.float64)
    pooled = (sizes[0] * before.held + sizes[1] * after.held) / sizes.sum()
    unchanged = (side.redraw(pooled, REPLICATES, random) for side in (before, after))
    redrawn = (side.redraw(side.held, REPLICATES, random) for side in (before, after))
    size = float(earth_mover(before.held[None], after.held[None])[0])
    return _distance("earth-mover", size, earth_mover(*unchanged), earth_mover(*redrawn))


def share_distance(differences: Differences) -> ShapeDistance:
    """The total variation of the shares of a whole domain, each made to add up to 1.

    Args:
        differences: of all items of the domain.
    """
    random = np.random.default_rng(SEED)
    raw = np.array([differences.before, differences.after])
    shares = norm_sub(raw)
    size = float(total_variation(shares[:1], shares[1:])[0])
    error = differences.standard_error / 2**0.5
    noise = random.standard_normal((2, 2, REPLICATES, error.size)) * error
    unchanged = total_variation(*(norm_sub(shares.mean(axis=0) + draw) for draw in noise[0]))
    redrawn = (norm_sub(own + draw) for own, draw in zip(shares, noise[1], strict=True))
    return _distance("total-variation", size, unchanged, total_variation(*redrawn))


def _distance(
    kind: Literal["earth-mover", "total-variation"],
    size: float,
    unchanged: NDArray[np.float64],
    redrawn: NDArray[np.float64],
) -> ShapeDistance:
    """The basic bootstrap interval, which takes off what noise adds to the distance."""
    highest, lowest = (max(0.0, 2 * size - end) for end in np.quantile(redrawn, _TAILS).tolist())
    return ShapeDistance(kind, size, lowest, highest, float(unchanged.mean()))


def _is_permanent(spec: Spec) -> bool:
    """Whether a device fixes something for good that its reports depend on."""
    return spec.mechanism.epsilon_permanent is not None
