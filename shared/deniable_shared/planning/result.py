"""The figures of a plan, and their JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from deniable_shared.mechanisms import Sketch
from deniable_shared.mechanisms.sketch import FAMILY_TO_NOISE
from deniable_shared.planning.candidates import Candidate, short_name
from deniable_shared.planning.disclosure_figures import LEVEL, posterior_from_even_odds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_shared.accounting import HistoryBounds
    from deniable_shared.mechanisms import Mechanism
    from deniable_shared.planning.discovery import Example, Remedy, Suggestion
    from deniable_shared.planning.experiment import Experiment
    from deniable_shared.planning.feasibility import Refusal
    from deniable_shared.registry import Metric

DEVICES_AROUND: Final = 100
"""A picture shows from 100 times fewer devices than planned to 100 times more."""

_MOST_OF_FITTED: Final = 0.2
"""Of the noise: so much may collisions add where common strings are fitted, without a note."""


@dataclass(frozen=True)
class Collection:
    """What one device gives away if it reports as often as it may.

    Attributes:
        days: for how many days it reports.
        reports: how many reports that makes.
        epsilon: the privacy loss of all these reports together, for any two histories of values;
            infinite where permanent answers are sent as they are.
        histories: the same by how the value changes; None without permanent answers.
        delta: of all these reports together, see `Mechanism.delta`; 0 for all mechanisms but
            gaussian.
        budget_days: after how many days this metric alone would have spent the lifetime budget;
            None without a budget, or if it never does.
    """

    days: int
    reports: int
    epsilon: float
    histories: HistoryBounds | None
    delta: float
    budget_days: int | None

    @property
    def epsilon_unchanged(self) -> float:
        """The privacy loss of all reports while the value never changes."""
        return self.epsilon if self.histories is None else self.histories.never


@dataclass(frozen=True)
class Plan:
    """What a metric will show.

    Attributes:
        metric: the metric, with its mechanism.
        devices: how many report in one period.
        values_asked: about how many values analysts will ask at once.
        is_mean: whether the answer is a mean in the metric's own unit, instead of shares.
        candidates: the mechanisms that could carry the metric, the least error first.
        half_widths: half the width of the 95% interval, by the share of a value; or of a mean, by
            its place in the range, 0 to 1.
        detectable_share: the smallest share that is detected of one value asked for by itself; None
            for a mean, or if not even a value that all devices have is detected.
        detectable_share_of_all: the same if all values are asked for at once.
        width: the half-width that was asked for, or None.
        devices_for_width: how many devices give a mean, or a value that hardly anybody has, an
            interval of that half-width.
        share: the share of a value that is to be told from zero, or None.
        devices_for_share: how many devices tell it from zero if it is asked for by itself; of
            strings to discover, if it is short. None if no number does.
        devices_for_share_of_all: the same if all values are asked for at once; of strings to
            discover, if it is as long as can be.
        collision_error: the variance that a sketch's hash collisions add, over the variance of its
            noise; None without a sketch.
        collection: what repeated reports cost a device.
        refusal: why the metric cannot work, or None if it can.
        examples: of a metric that discovers, what becomes of some strings.
        experiment: how many devices tell a difference between two arms; None where nobody asked.
        remedy: what to change where not all of these would be found; None if nothing.
        suggestion: the levels that the metric's model suggests; None if it has them.
    """

    metric: Metric
    devices: int
    values_asked: int
    is_mean: bool
    candidates: tuple[Candidate, ...]
    half_widths: Mapping[float, float]
    detectable_share: float | None
    detectable_share_of_all: float | None
    width: float | None
    devices_for_width: int | None
    share: float | None
    devices_for_share: int | None
    devices_for_share_of_all: int | None
    collision_error: float | None
    collection: Collection
    refusal: Refusal | None
    examples: tuple[Example, ...]
    experiment: Experiment | None
    remedy: Remedy | None
    suggestion: Suggestion | None

    @property
    def mechanism(self) -> Mechanism:
        """The metric's mechanism."""
        return self.metric.spec.mechanism

    @property
    def devices_shown(self) -> tuple[float, float]:
        """The fewest and the most devices of a picture of this plan."""
        return self.devices / DEVICES_AROUND, self.devices * DEVICES_AROUND

    @property
    def has_many_collisions(self) -> bool:
        """Whether hash collisions of a sketch add more to the errors than it was planned for."""
        if self.collision_error is None:
            return False
        is_fitted = isinstance(self.mechanism, Sketch) and self.mechanism.is_fitted
        return self.collision_error > (_MOST_OF_FITTED if is_fitted else 1.01 * FAMILY_TO_NOISE)

    def curves(self, points: int = 41) -> list[dict[str, Any]]:
        """Half-widths of the 95% interval over devices: the rows of a chart.

        Args:
            points: for how many numbers of devices, at least 2.
        """
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
                {"place_in_range" if self.is_mean else "share": at, "half_width": width}
                for at, width in self.half_widths.items()
            ],
            "values_asked": self.values_asked,
            "detectable_share": self.detectable_share,
            "detectable_share_of_all": self.detectable_share_of_all,
            "width": self.width,
            "devices_for_width": self.devices_for_width,
            "share": self.share,
            "devices_for_share": self.devices_for_share,
            "devices_for_share_of_all": self.devices_for_share_of_all,
            "collision_error": self.collision_error,
            "collection": {
                "every": spec.every,
                "days": collection.days,
                "reports": collection.reports,
                "epsilon": None if math.isinf(collection.epsilon) else collection.epsilon,
                "epsilon_of_an_unchanged_value": collection.epsilon_unchanged,
                "delta": collection.delta,
                "posterior_from_even_odds": posterior_from_even_odds(collection.epsilon_unchanged),
                "budget_days": collection.budget_days,
            },
            "experiment": None if self.experiment is None else self.experiment.as_dict(),
            "examples": [example.as_dict() for example in self.examples],
            "suggested_levels": None if self.suggestion is None else self.suggestion.as_dict(),
            "refused": None
            if self.refusal is None
            else {
                "reason": self.refusal.reason,
                "enough_devices": self.refusal.devices,
                "enough_epsilon": self.refusal.epsilon,
            },
        }
