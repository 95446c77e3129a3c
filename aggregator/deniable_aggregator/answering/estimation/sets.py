"""How large sets are: items per device, and the shares of empty and of too large sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable_aggregator.answering.estimation.combination import combine
from deniable_aggregator.answering.estimation.domains import NOWHERE, SpecEstimate
from deniable_aggregator.answers.common import Notice
from deniable_aggregator.answers.measured import NO_ITEMS, Measured
from deniable_aggregator.counting.statistics.influence import influence
from deniable_aggregator.counting.statistics.intervals import repeats_of, z_for_alpha
from deniable_aggregator.counting.tallies import SetTally, nonempty, tally_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.words import Margin
    from deniable_aggregator.counting.statistics.intervals import PeriodsBySpec
    from deniable_aggregator.counting.tallies import ItemShares, SetSizes
    from deniable_shared.spec import Spec

MORE_THAN: Final = "more than {} items"
"""What the share of sets is called that have more items than a report covers."""

MOST_CUT: Final = 0.05
"""Above this share of sets that are larger than a report covers there is a warning."""

_WHOLE: Final = np.zeros(1, np.int64)


class _Part(NamedTuple):
    spec: Spec
    counts: NDArray[np.int64]
    reports: int
    sizes: SetSizes


def estimate_set_sizes(
    tallies: Sequence[tuple[Spec, NDArray[np.int64]]],
    margin: Margin,
    level: float,
    periods: PeriodsBySpec | None = None,
) -> tuple[Measured, ...]:
    """How many items devices have, as far as mechanisms tell: nothing of other metrics than sets.

    Args:
        tallies: of each version its counts; at least one report.
        margin: what errors allow for.
        level: of each interval by itself, in (0, 1).
        periods: by the specs' digests, how many reports there are of each of their periods.
    """
    parts = [
        _Part(spec, counts, reports, tally.sizes(counts))
        for spec, counts, reports in nonempty(tallies)
        if isinstance(tally := tally_for(spec), SetTally)
    ]
    if not parts:
        return ()
    most = sorted({part.sizes.most for part in parts})
    more_than = MORE_THAN.format(" or ".join(map(str, most)))
    found = [
        _items_per_device(parts, 1 - level),
        _share(NO_ITEMS, [(part, part.sizes.empty) for part in parts], margin, 1 - level, periods),
        _share(more_than, [(part, part.sizes.above) for part in parts], margin, 1 - level, periods),
    ]
    return tuple(each for each in found if each is not None)


def cut_sets(sizes: Sequence[Measured]) -> tuple[Notice, ...]:
    """A warning if many sets are larger than a report covers.

    Args:
        sizes: what `estimate_set_sizes` found.
    """
    return tuple(
        Notice(
            "cut_sets",
            "warning",
            f"about {each.estimate:.0%} of the sets have {each.value}: shares are clearly too low. "
            "Raise most in the registry",
        )
        for each in sizes
        if each.value not in (None, NO_ITEMS) and each.estimate is not None
        if (each.low or 0.0) > MOST_CUT
    )


def _share(
    name: str,
    parts: Sequence[tuple[_Part, ItemShares | None]],
    margin: Margin,
    alpha: float,
    periods: PeriodsBySpec | None,
) -> Measured | None:
    """The share of sets of some size, over the versions that tell it; None if none does."""
    estimates = [
        SpecEstimate(
            part.spec,
            part.counts,
            part.reports,
            np.arange(shares.share.size),
            shares,
            repeats_of(part.spec, part.reports, (periods or {}).get(part.spec.digest)),
            impossible=NOWHERE if shares.share.size else _WHOLE,
        )
        for part, shares in parts
        if shares is not None
    ]
    if not any(each.known.size for each in estimates):
        return None
    combined = combine(estimates, 1, margin)
    limits = combined.limits(_WHOLE, alpha)
    low, reports = float(limits.low[0]), int(combined.reports[0])
    return Measured(
        measure="set size",
        value=name,
        estimate=float(combined.share[0]),
        standard_error=float(np.sqrt(combined.variance[0])),
        low=low,
        high=float(limits.high[0]),
        told=low > 0,
        reports=None if len(estimates) == len(parts) else reports,
        versions=None
        if len(estimates) == len(parts)
        else tuple(each.spec.digest.hex() for each in estimates),
        shift_if_fake=float(combined.influence(_WHOLE)[0]),
        method="exact" if limits.exact[0] else "normal",
    )


def _items_per_device(parts: Sequence[_Part], alpha: float) -> Measured | None:
    """The mean number of items, of all that a report covers.

    Its error is that of a random sample, which holds for the devices that reported, too.
    """
    if any(part.sizes.items is None for part in parts):
        return None
    total = sum(part.reports for part in parts)
    mean = variance = moved = 0.0
    for part in parts:
        items, weight = part.sizes.items, part.reports / total
        assert items is not None
        mean += weight * items.mean
        variance += weight**2 * items.variance
    for part in parts:
        items = part.sizes.items
        assert items is not None
        moved = max(moved, float(influence(mean, items.low, items.high, reports=total)))
    error, z = variance**0.5, z_for_alpha(alpha)
    return Measured(
        measure="items per device",
        estimate=mean,
        standard_error=error,
        low=mean - z * error,
        high=mean + z * error,
        shift_if_fake=moved,
        method="normal",
    )
