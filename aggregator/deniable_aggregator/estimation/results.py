"""What an analyst reads: numbers, and what each of them means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.statistics.influence import FORGED_SHARE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from deniable_aggregator.estimation.combination import About
    from deniable_aggregator.estimation.subset_shares import SubsetShare
    from deniable_aggregator.statistics.intervals import Correction, IntervalKind
    from deniable_shared.spec import Spec

DETECTION_ALPHA: Final = 0.05

POISONING: Final[Mapping[str, Any]] = {
    "fakes": FORGED_SHARE,
    "meaning": (
        f"poisoning_radius is how far fake reports could move the estimate beside it, up or down, "
        f"if they came on top of those counted until they were {FORGED_SHARE:.0%} of all, each "
        f"made to move it most; no interval contains it"
    ),
}
"""What the poisoning radius beside every estimate is."""

WHOSE: Final[Mapping[str, str]] = {
    "devices": "the devices that reported",
    "population": "the population that the devices that reported are a random sample of",
}
"""Whose shares an estimate, its errors and its intervals are about."""

_EXACT: Final = (
    " Where fewer than 20 reports (more, for many items at once) would support an absent item, "
    "they are exact binomial intervals instead of normal ones: see each one's method."
)


@dataclass(frozen=True)
class PostprocessedShares:
    """Post-processed shares; no interval belongs to them.

    Attributes:
        method: its name.
        meaning: what it does.
        share: float64, (items,).
        sum: that of the items of a sum that was asked for, or None.
    """

    method: str
    meaning: str
    share: NDArray[np.float64]
    sum: float | None = None


@dataclass(frozen=True)
class ShareEstimate:
    """Unbiased estimates of the items of one metric; nothing of it is clipped or rescaled.

    Attributes:
        metric: the metric's name.
        items: what is shown.
        share: float64, (items,): estimated share; may lie outside [0, 1].
        standard_error: float64, (items,), of the share.
        low: float64, (items,): lower end of the interval.
        high: float64, (items,): upper end of the interval.
        exact: bool, (items,): whether the interval is an exact binomial one.
        detected: bool, (items,): whether the item is present at all, by a one-sided test corrected
            for all items asked for.
        asked: how many items were asked for; those shown may be a selection.
        about: what the errors and intervals are about.
        interval: what the intervals cover.
        level: with which probability, in (0, 1).
        correction: of detection.
        reports: how many reports were counted.
        specs: for each spec that contributed, the spec and its number of reports.
        radius: float64, (items,): how far 1% of fake reports could move each share.
        processed: post-processed shares beside the raw ones, or None.
        sum: the share of a set of items, or None.
    """

    metric: str
    items: tuple[str, ...]
    share: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    exact: NDArray[np.bool_]
    detected: NDArray[np.bool_]
    asked: int
    about: About
    interval: IntervalKind
    level: float
    correction: Correction
    reports: int
    specs: tuple[tuple[Spec, int], ...]
    influence: NDArray[np.float64]
    processed: PostprocessedShares | None = None
    sum: SubsetShare | None = None

    def as_dict(self) -> dict[str, Any]:
        """JSON data: the meaning of the numbers, then one entry per item."""
        where = WHOSE[self.about]
        data: dict[str, Any] = {
            "metric": self.metric,
            "reports": self.reports,
            "about": self.about,
            "unit": f"share of {where}; unbiased, neither clipped nor rescaled",
            "interval": {
                "kind": self.interval,
                "level": self.level,
                "meaning": self._interval_meaning(where) + _EXACT,
            },
            "detection": {
                "alpha": DETECTION_ALPHA,
                "correction": self.correction,
                "meaning": _detection_meaning(self.correction),
            },
            "poisoning": POISONING,
            "specs": [described(spec, reports) for spec, reports in self.specs],
        }
        if len(self.specs) > 1:
            data["combined"] = (
                f"{len(self.specs)} specs, each debiased by itself, weighted by inverse variance "
                "item by item over those that know it; this takes their devices to be alike"
            )
        if self.processed is not None:
            processed = self.processed
            data["postprocess"] = {"method": processed.method, "meaning": processed.meaning}
        if self.sum is not None:
            data["sum"] = self.sum.as_dict()
            data["sum"]["meaning"] = (
                f"the share of all of these items together among {where}; the interval is of "
                f"level {self.level:g} for a set chosen before looking"
            )
            if self.processed is not None:
                data["sum"]["processed"] = self.processed.sum
        return {**data, "estimates": self._rows()}

    def _rows(self) -> list[dict[str, Any]]:
        columns: dict[str, Sequence[Any]] = {
            "item": self.items,
            "share": self.share.tolist(),
            "standard_error": self.standard_error.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "method": ["exact" if exact else "normal" for exact in self.exact.tolist()],
            "detected": self.detected.tolist(),
            "poisoning_radius": self.influence.tolist(),
        }
        if self.processed is not None:
            columns["processed"] = self.processed.share.tolist()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _interval_meaning(self, where: str) -> str:
        if self.interval == "simultaneous":
            return (
                f"with probability {self.level:g}, the intervals of all {self.asked:,} items asked "
                f"for cover their shares among {where} at once (Bonferroni)."
            )
        if self.interval == "selected":
            return (
                f"of the intervals shown, chosen by their estimates out of {self.asked:,} items, "
                f"at most {1 - self.level:.2g} on average fail to cover the share among {where} "
                "(false coverage rate, Benjamini and Yekutieli)."
            )
        return (
            f"each interval, taken by itself, covers the share among {where} with probability "
            f"{self.level:g}; not all of them at once, and not if it was picked for its estimate."
        )


def _detection_meaning(correction: Correction) -> str:
    if correction == "bh":
        return (
            "detected items differ from zero; the expected part of false ones among them is at "
            f"most {DETECTION_ALPHA:g} (Benjamini-Hochberg over all items asked for)"
        )
    return (
        "detected items differ from zero; the probability that any of them is false is at most "
        f"{DETECTION_ALPHA:g} (Bonferroni over all items asked for)"
    )


REPEATED: Final = (
    "the reports of a device share its permanent noise, which does not average out: where the same "
    "devices report, periods err alike. Over several periods together, errors and intervals allow "
    "for the same devices having reported in all of them"
)


def described(spec: Spec, reports: int) -> dict[str, Any]:
    """What an answer says of a spec that contributed to it, as JSON data.

    Args:
        spec: a metric.
        reports: how many of its reports were counted.
    """
    data: dict[str, Any] = {
        "digest": spec.digest.hex(),
        "title": spec.mechanism.title,
        "mechanism": spec.mechanism.description(),
        "epsilon": spec.mechanism.epsilon,
        "epsilon_permanent": spec.mechanism.epsilon_permanent,
        "epsilon_total": spec.mechanism.epsilon_total,
        "reports": reports,
    }
    if spec.range is not None:
        data["range"] = [float(end) for end in spec.range]
    if spec.mechanism.epsilon_permanent is not None:
        data["repeated"] = REPEATED
    if spec.mechanism.delta:
        data["delta"] = spec.mechanism.delta
        data["privacy"] = (
            "(epsilon, delta): with probability delta a report may reveal more than epsilon"
        )
    return data
