"""From estimates of items to an answer: a selection with intervals, tests and adjusted shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_aggregator.answers.common import Notice
from deniable_aggregator.estimation.shares import postprocess as processing
from deniable_aggregator.estimation.shares.cut_strings import cut_strings
from deniable_aggregator.estimation.shares.lifts import estimate_lifts
from deniable_aggregator.estimation.shares.share_estimate import (
    DETECTION_ALPHA,
    PostprocessedShares,
    ShareEstimate,
)
from deniable_aggregator.estimation.shares.subset_shares import estimate_subset_share
from deniable_aggregator.statistics.hashed.regression_shares import RegressionShares
from deniable_aggregator.statistics.hashed.sketch_shares import SketchShares
from deniable_aggregator.statistics.intervals import alpha_per_interval, detect
from deniable_aggregator.telling.wording import shown_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.measured import Measured
    from deniable_aggregator.answers.questions import EstimateOptions
    from deniable_aggregator.answers.words import IntervalKind, Postprocess
    from deniable_aggregator.estimation.shares.items import ItemEstimates
    from deniable_aggregator.estimation.shares.spec_estimates import SpecEstimate
    from deniable_aggregator.estimation.shares.subset_shares import SubsetShare

_BESIDE: Final = "; beside them stands what they can be of all reports"
_NAMED: Final = 5
"""A notice names so many values at most."""


def select(
    estimates: ItemEstimates,
    options: EstimateOptions,
    level: float,
    *,
    whole: bool,
    total: SubsetShare | None,
) -> ShareEstimate:
    """Chooses what is shown, and makes its intervals.

    Args:
        level: of the intervals, in (0, 1).
        whole: whether a whole domain was asked for.
        total: the share of some items together, or None.

    Raises:
        ParameterError: if an option does not fit the metric.
    """
    combined, requested = estimates.combined, estimates.wanted
    spec = combined.parts[0].spec
    detected = detect(
        combined.scores[requested], false_finds=options.false_finds, alpha=DETECTION_ALPHA
    )
    chosen = np.flatnonzero(detected) if options.detected else np.arange(requested.size)
    selected = options.detected or options.top is not None
    if selected:
        order = np.argsort(-combined.share[requested[chosen]], kind="stable")
        chosen = chosen[order[: options.top]]
    interval = options.interval or ("picked" if selected else "one")
    alpha = alpha_per_interval(interval, level=level, asked=requested.size, shown=chosen.size)
    places = requested[chosen]
    items = tuple(estimates.domain[index] for index in places.tolist())
    reports = combined.reports[places]
    limits = possible = combined.limits(places, alpha)
    if (reports < combined.total).any():
        possible = combined.possible(places, alpha)
    remainder = _estimate_rest(estimates, options, 1 - level) if spec.type == "category" else None
    method = options.postprocess
    if method is None:
        distribution = whole and not selected and spec.type == "category"
        method = "norm-sub" if distribution or total is not None else "none"
    specs = tuple(dict.fromkeys((part.spec, part.reports) for part in combined.parts))
    return ShareEstimate(
        metric=spec.name,
        items=items,
        share=combined.share[places],
        standard_error=np.sqrt(combined.variance[places]),
        low=limits.low,
        high=limits.high,
        exact=limits.exact,
        detected=detected[chosen],
        asked=int(requested.size),
        margin=options.margin,
        interval=interval,
        level=level,
        false_finds=options.false_finds,
        reports=combined.total,
        specs=specs,
        influence=combined.influence(places),
        known=reports,
        versions=combined.versions_of(places),
        possible=(possible.low, possible.high),
        rest=remainder,
        processed=_postprocess(estimates, method, places, total, remainder),
        combined=total,
        lifts=_lifts(estimates, items, options, interval, level),
        notices=(
            *_unlisted_notices(combined.parts),
            *cut_strings([spec for spec, _ in specs], items),
            *known_in_part(items, reports, combined.total, _BESIDE),
        ),
    )


def _lifts(
    estimates: ItemEstimates,
    shown_items: Sequence[str],
    options: EstimateOptions,
    interval: IntervalKind,
    level: float,
) -> tuple[str, list[Measured]] | None:
    """The lifts of what is shown, of attributes that are observed in pairs."""
    parts = estimates.combined.parts
    if parts[0].spec.type != "attributes":
        return None
    requested = [estimates.domain[place] for place in estimates.wanted.tolist()]
    return estimate_lifts(parts, requested, shown_items, options, interval, level)


def _estimate_rest(
    estimates: ItemEstimates, options: EstimateOptions, alpha: float
) -> SubsetShare | None:
    """The share of all items together that are not known over all reports, if it is known itself.

    With the items that are known over all reports it makes up the whole.
    """
    combined, size = estimates.combined, len(estimates.domain)
    places = np.flatnonzero(combined.reports[:size] < combined.total).tolist()
    if not places:
        return None
    items = [estimates.domain[place] for place in places]
    remainder = estimate_subset_share(combined.parts, places, items, options.margin, alpha)
    return None if remainder is None or remainder.reports < combined.total else remainder


def known_in_part(
    items: Sequence[str], reports: NDArray[np.int64], total: int, beside: str = ""
) -> tuple[Notice, ...]:
    """A notice about the values that are known over some reports only, if there are any.

    Args:
        reports: int64, (items,): over how many reports each is known.
    """
    partly = [items[at] for at in np.flatnonzero(reports < total).tolist()]
    if not partly:
        return ()
    names = ", ".join(map(shown_value, partly[:_NAMED]))
    more = f" and {len(partly) - _NAMED} more" if len(partly) > _NAMED else ""
    return (
        Notice(
            "known_in_part",
            "note",
            f"some versions do not tell {names}{more} from other values. "
            f"Their shares are of the reports of the versions that do{beside}.",
        ),
    )


def _unlisted_notices(parts: Sequence[SpecEstimate]) -> Iterator[Notice]:
    """That a common string is not among the candidates, where the sketches show it clearly."""
    estimated = [
        (part.reports, part.shares.unlisted)
        for part in parts
        if isinstance(part.shares, SketchShares | RegressionShares)
        and part.shares.unlisted is not None
    ]
    if estimated:
        reports = sum(count for count, _ in estimated)
        share = sum(count * share_there for count, share_there in estimated) / reports
        yield Notice(
            "unlisted_string",
            "warning",
            f"a string that was not looked for holds about {share:.0%} of the reports. "
            "Look for more values to find out which",
        )


def _postprocess(
    estimates: ItemEstimates,
    method: Postprocess,
    shown_places: NDArray[np.int64],
    total: SubsetShare | None,
    remainder: SubsetShare | None,
) -> PostprocessedShares | None:
    """Post-processes all estimates, and keeps those of the items that are shown_places."""
    if method == "none":
        return None
    combined, size = estimates.combined, len(estimates.domain)
    share = processing.process(
        method, combined, size, None if remainder is None else remainder.share
    )
    added = None
    if total is not None:
        members = set(total.items)
        places = [at for at, item in enumerate(estimates.domain) if item in members]
        if remainder is not None and members >= set(remainder.items):
            places = [at for at in places if combined.reports[at] == combined.total] + [size]
        added = float(share[places].sum())
    meaning = processing.meaning(method, combined)
    return PostprocessedShares(
        method,
        meaning,
        share[shown_places],
        added,
        None if remainder is None else float(share[size]),
    )
