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
    found: ItemEstimates,
    options: EstimateOptions,
    level: float,
    *,
    whole: bool,
    total: SubsetShare | None,
) -> ShareEstimate:
    """Chooses what is shown, and makes its intervals.

    Args:
        found: the estimates.
        options: how to answer.
        level: of the intervals, in (0, 1).
        whole: whether a whole domain was asked for.
        total: the share of some items together, or None.

    Raises:
        ParameterError: if an option does not fit the metric.
    """
    combined, wanted = found.combined, found.wanted
    spec = combined.parts[0].spec
    detected = detect(
        combined.scores[wanted], false_finds=options.false_finds, alpha=DETECTION_ALPHA
    )
    chosen = np.flatnonzero(detected) if options.detected else np.arange(wanted.size)
    selected = options.detected or options.top is not None
    if selected:
        order = np.argsort(-combined.share[wanted[chosen]], kind="stable")
        chosen = chosen[order[: options.top]]
    interval = options.interval or ("picked" if selected else "one")
    alpha = alpha_per_interval(interval, level=level, asked=wanted.size, shown=chosen.size)
    shown = wanted[chosen]
    items = tuple(found.domain[index] for index in shown.tolist())
    known = combined.reports[shown]
    limits = possible = combined.limits(shown, alpha)
    if (known < combined.total).any():
        possible = combined.possible(shown, alpha)
    rest = _rest(found, options, 1 - level) if spec.type == "category" else None
    method = options.postprocess
    if method is None:
        distribution = whole and not selected and spec.type == "category"
        method = "norm-sub" if distribution or total is not None else "none"
    specs = tuple(dict.fromkeys((part.spec, part.reports) for part in combined.parts))
    return ShareEstimate(
        metric=spec.name,
        items=items,
        share=combined.share[shown],
        standard_error=np.sqrt(combined.variance[shown]),
        low=limits.low,
        high=limits.high,
        exact=limits.exact,
        detected=detected[chosen],
        asked=int(wanted.size),
        margin=options.margin,
        interval=interval,
        level=level,
        false_finds=options.false_finds,
        reports=combined.total,
        specs=specs,
        influence=combined.influence(shown),
        known=known,
        versions=combined.versions_of(shown),
        possible=(possible.low, possible.high),
        rest=rest,
        processed=_processed(found, method, shown, total, rest),
        combined=total,
        lifts=_lifts(found, items, options, interval, level),
        notices=(
            *_unlisted(combined.parts),
            *cut_strings([spec for spec, _ in specs], items),
            *known_in_part(items, known, combined.total, _BESIDE),
        ),
    )


def _lifts(
    found: ItemEstimates,
    shown: Sequence[str],
    options: EstimateOptions,
    interval: IntervalKind,
    level: float,
) -> tuple[str, list[Measured]] | None:
    """The lifts of what is shown, of attributes that are observed in pairs."""
    parts = found.combined.parts
    if parts[0].spec.type != "attributes":
        return None
    asked = [found.domain[place] for place in found.wanted.tolist()]
    return estimate_lifts(parts, asked, shown, options, interval, level)


def _rest(found: ItemEstimates, options: EstimateOptions, alpha: float) -> SubsetShare | None:
    """The share of all items together that are not known over all reports, if it is known itself.

    With the items that are known over all reports it makes up the whole.
    """
    combined, size = found.combined, len(found.domain)
    places = np.flatnonzero(combined.reports[:size] < combined.total).tolist()
    if not places:
        return None
    items = [found.domain[place] for place in places]
    rest = estimate_subset_share(combined.parts, places, items, options.margin, alpha)
    return None if rest is None or rest.reports < combined.total else rest


def known_in_part(
    items: Sequence[str], known: NDArray[np.int64], total: int, beside: str = ""
) -> tuple[Notice, ...]:
    """A notice about the values that are known over some reports only, if there are any.

    Args:
        items: the values.
        known: int64, (items,): over how many reports each is known.
        total: how many reports there are.
        beside: what is said of all reports.
    """
    partly = [items[at] for at in np.flatnonzero(known < total).tolist()]
    if not partly:
        return ()
    named = ", ".join(map(shown_value, partly[:_NAMED]))
    more = f" and {len(partly) - _NAMED} more" if len(partly) > _NAMED else ""
    return (
        Notice(
            "known_in_part",
            "note",
            f"some versions do not tell {named}{more} from other values. "
            f"Their shares are of the reports of the versions that do{beside}.",
        ),
    )


def _unlisted(parts: Sequence[SpecEstimate]) -> Iterator[Notice]:
    """That a common string is not among the candidates, where the sketches show it clearly."""
    seen = [
        (part.reports, part.shares.unlisted)
        for part in parts
        if isinstance(part.shares, SketchShares | RegressionShares)
        and part.shares.unlisted is not None
    ]
    if seen:
        reports = sum(count for count, _ in seen)
        share = sum(count * held for count, held in seen) / reports
        yield Notice(
            "unlisted_string",
            "warning",
            f"a string that was not looked for holds about {share:.0%} of the reports. "
            "Look for more values to find out which",
        )


def _processed(
    found: ItemEstimates,
    method: Postprocess,
    shown: NDArray[np.int64],
    total: SubsetShare | None,
    rest: SubsetShare | None,
) -> PostprocessedShares | None:
    """Post-processes all estimates, and keeps those of the items that are shown."""
    if method == "none":
        return None
    combined, size = found.combined, len(found.domain)
    share = processing.process(method, combined, size, None if rest is None else rest.share)
    added = None
    if total is not None:
        members = set(total.items)
        places = [at for at, item in enumerate(found.domain) if item in members]
        if rest is not None and members >= set(rest.items):
            places = [at for at in places if combined.reports[at] == combined.total] + [size]
        added = float(share[places].sum())
    meaning = processing.meaning(method, combined)
    return PostprocessedShares(
        method, meaning, share[shown], added, None if rest is None else float(share[size])
    )
