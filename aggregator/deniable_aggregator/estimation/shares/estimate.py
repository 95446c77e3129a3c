"""From tallies to the shares of items with standard errors, intervals and detection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.estimation.shares.items import combine_specs
from deniable_aggregator.estimation.shares.selection import select
from deniable_aggregator.estimation.shares.subset_shares import estimate_subset_share
from deniable_aggregator.statistics.intervals import DEFAULT_LEVEL
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from deniable_aggregator.estimation.shares.share_estimate import ShareEstimate
    from deniable_aggregator.statistics.repeated_reports import PeriodsBySpec
    from deniable_shared.spec import Spec


def estimate_shares(
    tallies: Sequence[tuple[Spec, NDArray[np.int64]]],
    items: Sequence[str] | None = None,
    options: EstimateOptions | None = None,
    *,
    add: Sequence[str] | None = None,
    periods: PeriodsBySpec | None = None,
    level: float = DEFAULT_LEVEL,
    versions: Sequence[Spec] = (),
) -> ShareEstimate:
    """Estimates the shares of items from the tallies of one metric.

    Tallies of different specs are never added: each is debiased by itself, and an item's estimates
    are averaged over the reports of the specs that know it, see `CombinedShares`.

    Args:
        tallies: one entry per spec: the spec, and its counts as int64, (cells,).
        items: what is asked for; None for all items of a known domain, or for those of the sum.
        add: items whose share together is asked for.
        periods: how many of the reports there are in each of the metric's periods, by the specs'
            digests: the same devices may have reported in all of them. None for a single period.
        level: of the intervals, in (0, 1).
        versions: as of `combine_specs`.

    Raises:
        ParameterError: if there is no report, items are missing for a string metric, an item is
            in no spec's domain or comes twice, or an option does not fit the metric.
    """
    options = options or EstimateOptions()
    _check_sum(versions or [spec for spec, _ in tallies], add)
    estimates = combine_specs(
        tallies, items, options.margin, add=add, periods=periods, versions=versions
    )
    total = None
    if add is not None:
        position = {item: index for index, item in enumerate(estimates.domain)}
        places = [position[item] for item in add]
        total = estimate_subset_share(
            estimates.combined.parts, places, add, options.margin, 1 - level
        )
        if total is None and not versions:
            raise ParameterError("combined", "values that some report is about", list(add))
    return select(estimates, options, level, whole=items is None, total=total)


def _check_sum(specs: Sequence[Spec], add: Sequence[str] | None) -> None:
    if add is not None and not add:
        raise ParameterError("combined", "at least one value", list(add))
    if add is not None and any(spec.type == "attributes" for spec in specs):
        raise ParameterError(
            "combined", "asked of a metric with one domain: attributes overlap", list(add)
        )
