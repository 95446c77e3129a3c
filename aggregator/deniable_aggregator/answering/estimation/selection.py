"""Shares of a metric: which of them an answer has, adjusted ones beside the raw.

Adjusted estimates, for instance to add up to 100%: beside the raw ones, never instead of them.

All methods trade bias for variance. Which is best for what was measured by Wang et al. (Locally
Differentially Private Frequency Estimation with Consistency, NDSS 2020) and is tested here. To clip
at zero, with or without rescaling, is not offered: the bias adds up over items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_aggregator.answering.estimation.domains import (
    SpecEstimate,
    cut_strings,
    late_strings,
)
from deniable_aggregator.answering.estimation.items import ItemEstimates, combine_specs
from deniable_aggregator.answering.estimation.pairs import estimate_lifts
from deniable_aggregator.answering.estimation.shares import (
    DETECTION_ALPHA,
    PostprocessedShares,
    ShareEstimate,
)
from deniable_aggregator.answering.estimation.subsets import SubsetShare, estimate_subset_share
from deniable_aggregator.answers.common import Notice
from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.counting.statistics.bloom_filters import RegressionShares
from deniable_aggregator.counting.statistics.consistency import base_cut, ibu, norm_sub, power
from deniable_aggregator.counting.statistics.intervals import (
    DEFAULT_LEVEL,
    alpha_per_interval,
    detect,
)
from deniable_aggregator.counting.statistics.ranks import rank_ranges
from deniable_aggregator.counting.statistics.set_estimates import SetShares
from deniable_aggregator.counting.statistics.sketches import SketchShares
from deniable_aggregator.telling.numbers import OVERLAPPING, PAIR
from deniable_aggregator.telling.wording import shown_value
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import ItemOracle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.combination import CombinedShares
    from deniable_aggregator.answers.measured import Measured
    from deniable_aggregator.answers.words import IntervalKind, Postprocess
    from deniable_aggregator.counting.statistics.intervals import PeriodsBySpec
    from deniable_aggregator.counting.tallies.counts import Counts
    from deniable_shared.spec import Spec


MEANINGS: Final[Mapping[str, str]] = {
    "norm-sub": (
        "the closest shares that are not negative and have the right sum (Norm-Sub); better than "
        "raw for a whole distribution and for many values together, worse for the largest values"
    ),
    "base-cut": (
        "raw where a test for all values at once, at 5%, tells the value from zero, 0 elsewhere "
        "(Base-Cut); for frequent values with few false ones"
    ),
    "power": (
        "what is to be expected if shares follow a power law with the right mean, then Norm-Sub "
        "(Power); best for a whole distribution that has such a law, and misleading otherwise"
    ),
    "ibu": "the most likely shares (the limit of iterative Bayesian update, IBU)",
}
QUASI_LIKELIHOOD: Final = (
    "the limit of iterative Bayesian update (IBU) on the counts of supporting reports; a "
    "quasi-likelihood, consistent, but not the most likely shares"
)


def process(
    method: Postprocess, combined: CombinedShares, size: int, remainder: float | None = None
) -> NDArray[np.float64]:
    """Post-processes the raw shares of all items that were estimated.

    A whole known domain is made to sum to 1, together with the rest if there is any. A list of
    candidates keeps the sum that its raw estimates have, between 0 and 1: what is not listed takes
    the rest.

    Args:
        method: not "none".
        remainder: of a known domain, the share of all items together that are not known over all
            reports; None if it is not known either.

    Returns:
        float64, (items + 1,), the rest last; NaN for items that are not known over all reports, and
        for a rest that is not post-processed.

    Raises:
        ParameterError: if the method does not fit the metric.
    """
    share, scores = combined.share[:size], combined.scores[:size]
    spec = combined.parts[0].spec
    adjusted = np.full(size + 1, np.nan)
    common = np.flatnonzero(combined.reports[:size] == combined.total)
    if method == "base-cut":
        adjusted[common] = base_cut(share, scores)[common]
        return adjusted
    if spec.type in OVERLAPPING:
        constraint = f"none or base-cut for {spec.type}, as {OVERLAPPING[spec.type]}"
        raise ParameterError("postprocess", constraint, method)
    raw, is_domain_known = share[common], not spec.is_open
    if is_domain_known and common.size < size:
        if remainder is None or not common.size:
            return adjusted
        raw = np.append(raw, remainder)
    total = 1.0 if is_domain_known else min(max(float(raw.sum()), 0.0), 1.0)
    if method == "norm-sub":
        processed = norm_sub(raw, total)
    elif method == "power":
        remaining = raw[common.size :].clip(0.0, total)
        processed = power(
            raw[: common.size],
            combined.null_variance[common],
            combined.total,
            total - float(remaining.sum()),
        )
        processed = np.append(processed, remaining)
    else:
        counted = combined.parts[0].shares.support_counts
        if len(combined.parts) > 1 or not is_domain_known or counted is None:
            fitting = "norm-sub, base-cut or power: ibu needs the counts of one domain"
            raise ParameterError("postprocess", fitting, method)
        processed = ibu(counted.supporting, counted.support)
    adjusted[common], adjusted[size] = processed[: common.size], processed[common.size :].sum()
    return adjusted


def method_meaning(method: Postprocess, combined: CombinedShares) -> str:
    """What a method does, in a sentence.

    Args:
        method: not "none".
        combined: the raw estimates.
    """
    likelihood = isinstance(combined.parts[0].spec.mechanism, ItemOracle)
    if method == "ibu" and not likelihood:
        return QUASI_LIKELIHOOD
    return MEANINGS[method]


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
        ranks=_ranks(estimates, chosen, level),
        rest=remainder,
        processed=_postprocess(estimates, method, places, total, remainder),
        combined=total,
        lifts=_lifts(estimates, items, options, interval, level),
        notices=(
            *_unlisted_notices(combined.parts),
            *cut_strings([spec for spec, _ in specs], items),
            *late_strings([spec for spec, _ in specs], items),
            *known_in_part(
                items, reports, combined.total, _BESIDE, sets=spec.type == "set" and not spec.other
            ),
        ),
    )


def _ranks(
    estimates: ItemEstimates, chosen: NDArray[np.int64], level: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Between which ranks the chosen items are, each among the items that can take its place.

    Of attributes these are the values of its own; a flag and pairs have no ranks.
    """
    combined, requested = estimates.combined, estimates.wanted
    first, last = np.zeros(requested.size, np.int64), np.zeros(requested.size, np.int64)
    groups = [np.arange(requested.size)]
    if combined.parts[0].spec.type == "attributes":
        items = [estimates.domain[place] for place in requested.tolist()]
        single = [at for at, item in enumerate(items) if PAIR not in item]
        names = {at: items[at].partition("=")[0] for at in single}
        groups = [
            np.array([at for at in single if names[at] == name])
            for name in dict.fromkeys(names.values())
        ]
    ranked = sum(group.size for group in groups if group.size > 1)
    for group in groups:
        if group.size > 1:
            places = requested[group]
            in_part = (combined.reports[places] < combined.total).any()
            alpha = alpha_per_interval("all", level=level, asked=ranked, shown=ranked)
            ends = (combined.possible if in_part else combined.limits)(places, alpha)
            first[group], last[group] = rank_ranges(ends.low, ends.high)
    return first[chosen], last[chosen]


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
    items: Sequence[str],
    reports: NDArray[np.int64],
    total: int,
    beside: str = "",
    *,
    sets: bool = False,
) -> tuple[Notice, ...]:
    """A notice about the values that are known over some reports only, if there are any.

    Args:
        reports: int64, (items,): over how many reports each is known.
        sets: whether they are items of sets, which count as nothing where they are not listed.
    """
    partly = [items[at] for at in np.flatnonzero(reports < total).tolist()]
    if not partly:
        return ()
    names = ", ".join(map(shown_value, partly[:_NAMED]))
    more = f" and {len(partly) - _NAMED} more" if len(partly) > _NAMED else ""
    told = f"list {names}{more}" if sets else f"tell {names}{more} from other values"
    return (
        Notice(
            "known_in_part",
            "note",
            f"some versions do not {told}. "
            f"Their shares are of the reports of the versions that do{beside}.",
        ),
    )


def _unlisted_notices(parts: Sequence[SpecEstimate]) -> Iterator[Notice]:
    """That a common string is not among the candidates, where the sketches show it clearly."""
    estimated = [
        (part.reports, part.shares.unlisted)
        for part in parts
        if isinstance(part.shares, SketchShares | RegressionShares | SetShares)
        and part.shares.unlisted is not None
    ]
    if estimated:
        reports = sum(count for count, _ in estimated)
        share = sum(count * share_there for count, share_there in estimated) / reports
        stands = "is in" if parts[0].spec.type == "set" else "holds"
        yield Notice(
            "unlisted_string",
            "warning",
            f"a string that was not looked for {stands} about {share:.0%} of the reports. "
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
    share = process(method, combined, size, None if remainder is None else remainder.share)
    added = None
    if total is not None:
        members = set(total.items)
        places = [at for at, item in enumerate(estimates.domain) if item in members]
        if remainder is not None and members >= set(remainder.items):
            places = [at for at in places if combined.reports[at] == combined.total] + [size]
        added = float(share[places].sum())
    meaning = method_meaning(method, combined)
    return PostprocessedShares(
        method,
        meaning,
        share[shown_places],
        added,
        None if remainder is None else float(share[size]),
    )


def estimate_shares(
    tallies: Sequence[tuple[Spec, Counts]],
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
        tallies: one entry per spec: the spec, and its counts.
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
    if add is not None:
        for kind, overlapping in OVERLAPPING.items():
            if any(spec.type == kind for spec in specs):
                constraint = f"asked of a metric whose values exclude each other: {overlapping}"
                raise ParameterError("combined", constraint, list(add))
