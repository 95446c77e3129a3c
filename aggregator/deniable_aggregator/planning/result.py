"""What a plan says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.planning.candidates import short_name
from deniable_shared.disclosure_figures import LEVEL, posterior_from_even_odds
from deniable_shared.mechanisms.sketch import FAMILY_TO_NOISE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.planning.candidates import Candidate
    from deniable_aggregator.planning.feasibility import Refusal
    from deniable_shared.mechanisms import Mechanism
    from deniable_shared.registry import Metric

DEVICES_AROUND: Final = 100
"""A picture goes from so many times fewer devices to so many times more."""


@dataclass(frozen=True)
class Collection:
    """What a device gives away if it reports whenever it may.

    Attributes:
        days: for how long.
        reports: how many reports that makes.
        epsilon: their privacy loss together, in nats (sequential composition); no more than that of
            all permanent answers of a device, where it has only so many.
        epsilon_unchanged: the same if the value never changes; smaller only where it is memoised.
        budget_days: after how many days the lifetime budget would be spent by this metric alone;
            None without a budget, or if it is never.
    """

    days: int
    reports: int
    epsilon: float
    epsilon_unchanged: float
    budget_days: int | None


@dataclass(frozen=True)
class Plan:
    """What a metric will show.

    Attributes:
        metric: the metric as the registry resolved it.
        devices: how many report in one period.
        questions: how many items will be asked for at once.
        mean: whether the answer is a mean in the metric's own unit, instead of shares.
        candidates: the mechanisms considered, the best first.
        half_widths: of the 95% interval of an item, by its share; or of the mean, by its place in
            the range.
        visible: the smallest share that is seen, of one item asked for; None for a mean, or if not
            even an item that everybody holds is seen.
        visible_of_all: the same for all items at once.
        width: a half-width that was asked for, or None.
        devices_for_width: how many devices give it to a rare item or a mean.
        family: the sketch's collision error over the variance of its noise; None without a sketch.
        collection: what repeated reports cost.
        refusal: why it is hopeless, or None.
    """

    metric: Metric
    devices: int
    questions: int
    mean: bool
    candidates: tuple[Candidate, ...]
    half_widths: Mapping[float, float]
    visible: float | None
    visible_of_all: float | None
    width: float | None
    devices_for_width: int | None
    family: float | None
    collection: Collection
    refusal: Refusal | None

    @property
    def mechanism(self) -> Mechanism:
        """The metric's mechanism."""
        return self.metric.spec.mechanism

    @property
    def devices_shown(self) -> tuple[float, float]:
        """From and to how many devices a picture goes: two powers of ten around the plan."""
        return self.devices / DEVICES_AROUND, self.devices * DEVICES_AROUND

    @property
    def family_is_large(self) -> bool:
        """Whether a sketch has too few rows for its devices."""
        return self.family is not None and self.family > 1.01 * FAMILY_TO_NOISE

    def curves(self, points: int = 41) -> list[dict[str, Any]]:
        """Half-widths over devices, for each candidate: the rows of a chart."""
        low, high = self.devices_shown
        across = [low * (high / low) ** (point / (points - 1)) for point in range(points)]
        return [
            {
                "candidate": short_name(candidate.mechanism),
                "chosen": candidate.chosen,
                "devices": devices,
                "half_width": candidate.half_width(devices),
            }
            for candidate in self.candidates
            for devices in across
        ]

    def as_dict(self) -> dict[str, Any]:
        """JSON data."""
        spec, collection = self.metric.spec, self.collection
        return {
            "metric": spec.name,
            "type": spec.type,
            "devices": self.devices,
            "epsilon": spec.mechanism.epsilon,
            "epsilon_permanent": spec.mechanism.epsilon_permanent,
            "epsilon_total": spec.mechanism.epsilon_total,
            "mechanism": spec.mechanism.description(),
            "report_bytes": spec.mechanism.report_bytes,
            "candidates": [
                {
                    "name": short_name(candidate.mechanism),
                    "title": candidate.mechanism.title,
                    "report_bytes": candidate.mechanism.report_bytes,
                    "variance_over_optimum": candidate.excess,
                    "chosen": candidate.chosen,
                }
                for candidate in self.candidates
            ],
            "interval_level": LEVEL,
            "half_widths": [
                {"place_in_range" if self.mean else "share": at, "half_width": width}
                for at, width in self.half_widths.items()
            ],
            "items": self.questions,
            "visible_share_of_one_item": self.visible,
            "visible_share_of_all_items": self.visible_of_all,
            "width": self.width,
            "devices_for_width": self.devices_for_width,
            "family_error_over_noise": self.family,
            "collection": {
                "every": spec.every,
                "days": collection.days,
                "reports": collection.reports,
                "epsilon": collection.epsilon,
                "epsilon_of_an_unchanged_value": collection.epsilon_unchanged,
                "posterior_from_even_odds": posterior_from_even_odds(collection.epsilon_unchanged),
                "budget_days": collection.budget_days,
            },
            "refused": None
            if self.refusal is None
            else {
                "reason": self.refusal.reason,
                "enough_devices": self.refusal.devices,
                "enough_epsilon": self.refusal.epsilon,
            },
        }
