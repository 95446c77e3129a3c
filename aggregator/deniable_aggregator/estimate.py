"""From tallies to what an analyst reads: shares, standard errors, intervals, detection."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from deniable_aggregator.intervals import DEFAULT_LEVEL, detect, z_value
from deniable_aggregator.tallies import tally_for
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from deniable_shared.spec import Spec

DETECTION_ALPHA: Final = 0.05


@dataclass(frozen=True)
class Estimate:
    """Unbiased estimates of the items of one metric; nothing is clipped or rescaled.

    Attributes:
        metric: the metric's name.
        items: what is estimated.
        share: float64, (items,): estimated share among the devices that reported; may lie outside
            [0, 1].
        standard_error: float64, (items,), of the share.
        low: float64, (items,): lower end of the interval.
        high: float64, (items,): upper end of the interval.
        detected: bool, (items,): whether the item is present at all, by a one-sided test with the
            Benjamini-Hochberg correction at 5% over all items asked for.
        level: the probability with which each single interval covers, in (0, 1).
        reports: how many reports were counted.
        specs: for each spec that contributed, the spec and its number of reports.
    """

    metric: str
    items: tuple[str, ...]
    share: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    detected: NDArray[np.bool_]
    level: float
    reports: int
    specs: tuple[tuple[Spec, int], ...]

    def top(self, count: int) -> Estimate:
        """The items with the largest estimated shares, the largest first."""
        order = np.argsort(-self.share, kind="stable")[:count]
        return replace(
            self,
            items=tuple(self.items[index] for index in order),
            share=self.share[order],
            standard_error=self.standard_error[order],
            low=self.low[order],
            high=self.high[order],
            detected=self.detected[order],
        )

    def as_dict(self) -> dict[str, Any]:
        """JSON data: the meaning of the numbers, then one entry per item."""
        columns = zip(
            self.items,
            self.share.tolist(),
            self.standard_error.tolist(),
            self.low.tolist(),
            self.high.tolist(),
            self.detected.tolist(),
            strict=True,
        )
        names = ("item", "share", "standard_error", "low", "high", "detected")
        return {
            "metric": self.metric,
            "reports": self.reports,
            "unit": "share of the devices that reported; unbiased, neither clipped nor rescaled",
            "interval": {
                "level": self.level,
                "meaning": (
                    f"each interval, taken by itself, covers the share among the devices that "
                    f"reported with probability {self.level:g}; not all of them at once"
                ),
            },
            "detection": {
                "alpha": DETECTION_ALPHA,
                "meaning": (
                    "detected items differ from zero; the expected part of false ones among them "
                    f"is at most {DETECTION_ALPHA:g} (Benjamini-Hochberg over all items asked for)"
                ),
            },
            "specs": [
                {
                    "digest": spec.digest.hex(),
                    "title": spec.mechanism.title,
                    "mechanism": spec.mechanism.described(),
                    "epsilon": spec.mechanism.epsilon,
                    "epsilon_permanent": spec.mechanism.epsilon_permanent,
                    "reports": reports,
                }
                for spec, reports in self.specs
            ],
            "estimates": [dict(zip(names, column, strict=True)) for column in columns],
        }


def default_items(specs: Sequence[Spec]) -> tuple[str, ...] | None:
    """All items of a known domain, or None for strings, which need a candidate list."""
    if any(spec.type == "string" for spec in specs):
        return None
    return tuple(dict.fromkeys(item for spec in specs for item in spec.items))


def estimate(
    tallies: Sequence[tuple[Spec, NDArray[np.int64]]],
    items: Sequence[str] | None = None,
    *,
    level: float = DEFAULT_LEVEL,
) -> Estimate:
    """Estimates the shares of items from the tallies of one metric.

    Tallies of different specs are never added: each is debiased by itself, and an item's estimates
    are combined by inverse variance, over the specs whose domain has it.

    Args:
        tallies: one entry per spec: the spec, and its counts as int64, (cells,).
        items: what is asked for; None for all items of a known domain.
        level: of the intervals, in (0, 1).

    Raises:
        ParameterError: if there is no report, items are missing for a string metric, an item is
            in no spec's domain or comes twice, or the level is out of range.
    """
    half_width = z_value(level)
    counted = [
        (spec, counts, reports)
        for spec, counts in tallies
        if (reports := tally_for(spec).reports(counts)) > 0
    ]
    if not counted:
        raise ParameterError("reports", "at least 1", 0)
    specs = [spec for spec, _, _ in counted]
    asked = default_items(specs) if items is None else tuple(items)
    if not asked:
        raise ParameterError("candidates", f"given for the strings of {specs[0].name}", items)
    position = {item: index for index, item in enumerate(asked)}
    if len(position) != len(asked):
        raise ParameterError("candidates", "all different", f"{len(asked)} items")

    weights, weighted = np.zeros(len(asked)), np.zeros(len(asked))
    null_weights = np.zeros(len(asked))
    for spec, counts, _ in counted:
        known = _known(spec, asked, position)
        shares = tally_for(spec).shares(counts, [asked[index] for index in known])
        weights[known] += 1 / shares.variance
        null_weights[known] += 1 / shares.null_variance
        weighted[known] += shares.share / shares.variance
    unknown = np.flatnonzero(weights == 0)
    if unknown.size:
        raise ParameterError(
            "candidates", f"items of {specs[0].name}: see its values", asked[unknown[0]]
        )
    share, error = weighted / weights, np.sqrt(1 / weights)
    return Estimate(
        metric=specs[0].name,
        items=asked,
        share=share,
        standard_error=error,
        low=share - half_width * error,
        high=share + half_width * error,
        detected=detect(share * np.sqrt(null_weights), alpha=DETECTION_ALPHA),
        level=level,
        reports=sum(reports for _, _, reports in counted),
        specs=tuple((spec, reports) for spec, _, reports in counted),
    )


def _known(spec: Spec, items: Sequence[str], position: Mapping[str, int]) -> NDArray[np.int64]:
    """The positions of the items that a spec can say anything about."""
    domain = default_items([spec])
    if domain is None:
        return np.arange(len(items))
    return np.array([position[item] for item in domain if item in position], np.int64)
