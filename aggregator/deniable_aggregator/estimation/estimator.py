"""From what was counted to an answer, for every type of metric."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.estimation.distributions import DistributionEstimate, estimate_distribution
from deniable_aggregator.estimation.means import MeanEstimate, estimate_mean
from deniable_aggregator.estimation.options import ItemSelection
from deniable_aggregator.estimation.segments import estimate_segment_sizes, estimate_within_segment
from deniable_aggregator.estimation.shares import default_items, estimate_shares, items_between
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.estimation.inputs import CollectedTallies
    from deniable_aggregator.estimation.options import EstimateOptions
    from deniable_aggregator.statistics.reconstruction import Reconstruction
    from deniable_shared.spec import Spec

LARGEST_ANSWER: Final = 100_000
"""An answer lists at most so many items, those with the largest shares: a million as JSON would
take a gigabyte of memory."""


def answered(
    gathered: CollectedTallies,
    asked: ItemSelection,
    options: EstimateOptions,
    reconstruction: Reconstruction,
    segment: str | None,
) -> dict[str, Any]:
    """What a metric amounts to, as JSON data.

    Args:
        gathered: what was counted of it; at least one report.
        asked: the items that the question is about.
        options: how to answer.
        reconstruction: how the histogram of a distribution is found.
        segment: within which segment, or None.

    Raises:
        ParameterError: if this cannot be estimated.
    """
    specs = gathered.specs
    _refuse_mixed(specs)
    if segment is not None:
        _refuse_lists(asked, segment)
        return estimate_within_segment(
            gathered.tallies, segment, options, gathered.periods
        ).as_dict()
    if specs[0].range is not None:
        _refuse_items(specs[0].type, asked, options)
        return _number(gathered, reconstruction).as_dict()
    return _shares(gathered, asked, options)


def _shares(
    gathered: CollectedTallies, asked: ItemSelection, options: EstimateOptions
) -> dict[str, Any]:
    """The shares of items as JSON data, and of segments where there are any."""
    specs, tallies, periods = gathered.specs, gathered.tallies, gathered.periods
    answer = estimate_shares(
        tallies,
        asked.candidates,
        _bounded(options, asked, specs),
        add=asked.sum if asked.range is None else items_between(specs, *asked.range),
        periods=periods,
    )
    segments = estimate_segment_sizes(tallies, options.about, options.level, periods)
    more = {"segments": segments} if segments else {}
    return {"items_asked_for": answer.asked, **answer.as_dict(), **more}


def _refuse_lists(asked: ItemSelection, segment: str) -> None:
    """Refuses to look for single items within a segment.

    Raises:
        ParameterError: always, if there are any.
    """
    if asked != ItemSelection():
        constraint = "asked for without a body: within it, all values are estimated"
        raise ParameterError("segment", constraint, segment)


def _number(
    gathered: CollectedTallies, reconstruction: Reconstruction
) -> MeanEstimate | DistributionEstimate:
    tallies, periods = gathered.tallies, gathered.periods
    if tallies[0][0].type == "number":
        return estimate_mean(tallies, periods=periods)
    return estimate_distribution(tallies, method=reconstruction, periods=periods)


def _refuse_mixed(specs: Sequence[Spec]) -> None:
    """Refuses reports of different types together.

    Raises:
        ParameterError: naming the types.
    """
    types = sorted({spec.type for spec in specs})
    if len(types) > 1:
        raise ParameterError("type", "the same in all of these days: narrow since and until", types)


def _refuse_items(kind: str, asked: ItemSelection, options: EstimateOptions) -> None:
    """Refuses to look for items in numbers.

    Raises:
        ParameterError: saying what does not fit.
    """
    chosen = {
        **asked._asdict(),
        "top": options.top,
        "detected": options.detected or None,
        "interval": options.interval,
        "postprocess": options.postprocess,
    }
    for name, value in chosen.items():
        if value is not None:
            constraint = f"left out: it is about items, and a {kind} has none"
            raise ParameterError(name, constraint, value)


def _bounded(
    options: EstimateOptions, asked: ItemSelection, specs: Sequence[Spec]
) -> EstimateOptions:
    """The options, with a limit on the number of items shown."""
    items = asked.candidates or asked.sum or default_items(specs) or ()
    if min(len(items), options.top or len(items)) <= LARGEST_ANSWER:
        return options
    return replace(options, top=LARGEST_ANSWER)
