"""What a metric will show, worked out before anything ships."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, cast

from deniable_shared import planner
from deniable_shared.disclosure import (
    devices_for_width,
    devices_to_see,
    half_width,
    posterior_from_even_odds,
    visible_share,
)
from deniable_shared.mechanisms import (
    MAX_EPSILON,
    ORACLES,
    Mechanism,
    Oracle,
    RandomizedResponse,
    SampledAttribute,
    SampledCoefficients,
    Sketch,
)
from deniable_shared.mechanisms.sketch import (
    ASSUMED_SECOND_MOMENT,
    FAMILY_TO_NOISE,
    rows_for,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deniable_shared.registry import Budget, Metric

SHARES: Final = (0.0, 0.01, 0.1)
"""Shares whose error bars are shown; 0 stands for a rare item."""

HOPELESS_SHARE: Final = 0.1
"""A metric that could not even show an item of this share is refused."""

DEFAULT_CANDIDATES: Final = 1_000
DEFAULT_DAYS: Final = 365
DEVICES_AROUND: Final = 100
PERIOD_DAYS: Final[Mapping[str, int]] = {"day": 1, "week": 7, "month": 30}
_ALL: Final = tuple(name for name in ORACLES if name != RandomizedResponse.name)
_EPSILON_STEPS: Final = 100
"""Suggested epsilons are whole hundredths."""


@dataclass(frozen=True)
class Candidate:
    """One mechanism that could carry a metric.

    Attributes:
        mechanism: with its parameters.
        excess: its error over the optimum, squared; at least 1 or nearly so.
        chosen: whether it is the metric's.
    """

    mechanism: Mechanism
    excess: float
    chosen: bool

    def half_width(self, devices: float) -> float:
        """Of the 95% interval of a rare item."""
        return half_width(self.mechanism, 0.0, devices, family_variance(self.mechanism))


@dataclass(frozen=True)
class Collection:
    """What a device gives away if it reports whenever it may.

    Attributes:
        days: for how long.
        reports: how many reports that makes.
        epsilon: their privacy loss together, in nats (sequential composition).
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
class Refusal:
    """Why a metric cannot work, and the nearest settings that do.

    Attributes:
        reason: in a sentence.
        devices: how many would be enough at this epsilon.
        epsilon: which would be enough for these devices; None if no permitted one is.
    """

    reason: str
    devices: int
    epsilon: float | None


@dataclass(frozen=True)
class Plan:
    """What a metric will show.

    Attributes:
        metric: the metric as the registry resolved it.
        devices: how many report in one period.
        questions: how many items will be asked for at once.
        candidates: the mechanisms considered, the best first.
        half_widths: of the 95% interval of an item, by its share.
        visible: the smallest share that is seen, of one item asked for.
        visible_of_all: the same for all items at once.
        width: a half-width that was asked for, or None.
        devices_for_width: how many devices give it to a rare item.
        family: the sketch's collision error over the variance of its noise; None without a sketch.
        collection: what repeated reports cost.
        refusal: why it is hopeless, or None.
    """

    metric: Metric
    devices: int
    questions: int
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

    def curves(self, points: int = 41) -> list[dict[str, Any]]:
        """Half-widths over devices, for each candidate: the rows of a chart."""
        low, high = self.devices_shown
        across = [low * (high / low) ** (point / (points - 1)) for point in range(points)]
        return [
            {
                "candidate": name_of(candidate.mechanism),
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
            "mechanism": spec.mechanism.described(),
            "report_bytes": spec.mechanism.report_bytes,
            "candidates": [
                {
                    "name": name_of(candidate.mechanism),
                    "title": candidate.mechanism.title,
                    "report_bytes": candidate.mechanism.report_bytes,
                    "variance_over_optimum": candidate.excess,
                    "chosen": candidate.chosen,
                }
                for candidate in self.candidates
            ],
            "interval_level": 0.95,
            "half_widths": [
                {"share": share, "half_width": width} for share, width in self.half_widths.items()
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


def plan(
    metric: Metric,
    *,
    devices: int | None = None,
    questions: int | None = None,
    days: int = DEFAULT_DAYS,
    width: float | None = None,
    budget: Budget | None = None,
) -> Plan:
    """Works out what a metric of shares will show.

    Args:
        metric: a resolved metric whose answers are shares of items.
        devices: how many report; None for as many as the registry expects.
        questions: how many items are asked for at once; None for all of a known domain, and
            1,000 candidates of an open one.
        days: how long a device reports.
        width: a half-width to find the number of devices for, as a share.
        budget: what a device may spend.
    """
    spec, mechanism = metric.spec, metric.spec.mechanism
    devices = metric.expected_devices if devices is None else devices
    if questions is None:
        questions = len(spec.items) or DEFAULT_CANDIDATES
    family = family_variance(mechanism)
    return Plan(
        metric=metric,
        devices=devices,
        questions=questions,
        candidates=considered(mechanism, devices),
        half_widths={share: half_width(mechanism, share, devices, family) for share in SHARES},
        visible=visible_share(mechanism, devices),
        visible_of_all=visible_share(mechanism, devices, questions),
        width=width,
        devices_for_width=None if width is None else devices_for_width(mechanism, 0.0, width),
        family=family * devices / mechanism.variance(0.0, 1) if family else None,
        collection=_collection(metric, days, budget),
        refusal=_refusal(mechanism, devices),
    )


def considered(mechanism: Mechanism, devices: int) -> tuple[Candidate, ...]:
    """The mechanisms that could stand in a mechanism's place at its epsilon, the best first.

    For a domain of k items the optimum is the least total risk of any mechanism (Ye and Barg);
    for a flag and for strings it is the noise of one question, and of one of very many items.
    """
    epsilon = Fraction(mechanism.epsilon)
    found: list[tuple[float, Mechanism]]
    if isinstance(mechanism, RandomizedResponse):
        found = [(1.0, mechanism)]
    elif isinstance(mechanism, SampledAttribute | SampledCoefficients):
        # Of single flags; pairs answers for every two of them as well.
        sampled = SampledAttribute(inner=mechanism.oracles)
        rivals: list[Mechanism] = [sampled]
        if all(isinstance(oracle, RandomizedResponse) for oracle in mechanism.oracles):
            rivals.append(SampledCoefficients.for_epsilon(len(mechanism.oracles), epsilon))
        best = sampled.variance(0.0, 1)
        found = [(each.variance(0.0, 1) / best, each) for each in _with(mechanism, rivals)]
    elif isinstance(mechanism, Oracle):
        # The devices are drawn from a population, as the optimum assumes.
        drawn, best = 1 - 1 / mechanism.size, planner.optimum(mechanism.size, mechanism.epsilon)
        others = planner.candidates(mechanism.size, epsilon, _ALL)
        found = [
            ((planner.total_variance(oracle) + drawn) / best, oracle)
            for oracle in _with(mechanism, others)
            if isinstance(oracle, Oracle)
        ]
    else:
        best = planner.optimum_for_rare(mechanism.epsilon)
        sketches: list[Mechanism] = [
            Sketch(rows=rows_for(inner, devices), inner=inner)
            for inner in planner.inner_candidates(epsilon, names=_ALL)
        ]
        found = [(each.variance(0.0, 1) / best, each) for each in _with(mechanism, sketches)]
    found.sort(key=lambda pair: pair[0])
    return tuple(Candidate(each, excess, each is mechanism) for excess, each in found)


def name_of(mechanism: Mechanism) -> str:
    """A short name: what a registry file calls it, with a sketch's inner oracle."""
    if isinstance(mechanism, Sketch):
        return f"{mechanism.name} over {mechanism.inner.name}"
    return mechanism.name


def family_variance(mechanism: Mechanism) -> float:
    """What a sketch's one hash family adds to the variance, however many devices report."""
    if not isinstance(mechanism, Sketch):
        return 0.0
    return mechanism.family_variance(float(ASSUMED_SECOND_MOMENT))


def family_is_large(planned: Plan) -> bool:
    """Whether a sketch has too few rows for its devices."""
    return planned.family is not None and planned.family > 1.01 * FAMILY_TO_NOISE


def _with(mechanism: Mechanism, others: list[Any]) -> list[Mechanism]:
    """The candidates, with the metric's own mechanism in the place of its like."""
    return [mechanism, *(each for each in others if name_of(each) != name_of(mechanism))]


def _collection(metric: Metric, days: int, budget: Budget | None) -> Collection:
    spec, mechanism = metric.spec, metric.spec.mechanism
    period = PERIOD_DAYS.get(spec.every)
    reports = 1 if period is None else math.ceil(days / period)
    total = reports * mechanism.epsilon
    permanent = mechanism.epsilon_permanent
    spent = None
    if budget is not None and period is not None:
        spent = int(budget.epsilon_lifetime / mechanism.epsilon) * period
    return Collection(
        days=days,
        reports=reports,
        epsilon=total,
        epsilon_unchanged=total if permanent is None else min(total, permanent),
        budget_days=spent,
    )


def _refusal(mechanism: Mechanism, devices: int) -> Refusal | None:
    enough = devices_to_see(mechanism, HOPELESS_SHARE)
    if enough <= devices:
        return None
    return Refusal(
        reason=(
            f"with {devices:,} devices at epsilon {mechanism.epsilon:.4g} not even an item that "
            f"{HOPELESS_SHARE:.0%} of them hold would be seen"
        ),
        devices=enough,
        epsilon=_enough_epsilon(mechanism, devices),
    )


def _enough_epsilon(mechanism: Mechanism, devices: int) -> float | None:
    """The smallest epsilon, in hundredths, that shows an item of 10%; None if none may."""
    remade = _remade(mechanism)

    def enough(steps: int) -> bool:
        other = remade(Fraction(steps, _EPSILON_STEPS))
        return devices_to_see(other, HOPELESS_SHARE) <= devices

    low, high = math.floor(mechanism.epsilon * _EPSILON_STEPS), MAX_EPSILON * _EPSILON_STEPS
    if mechanism.epsilon_permanent is not None or not enough(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high / _EPSILON_STEPS


def _remade(mechanism: Mechanism) -> Callable[[Fraction], Mechanism]:
    """What the planner would take in a mechanism's place at another epsilon."""
    if isinstance(mechanism, RandomizedResponse):
        return lambda epsilon: RandomizedResponse.for_epsilon(2, epsilon)
    if isinstance(mechanism, Oracle):
        size = mechanism.size
        return lambda epsilon: planner.oracle_for(size, epsilon)
    if isinstance(mechanism, SampledCoefficients):
        flags = mechanism.attributes
        return lambda epsilon: SampledCoefficients.for_epsilon(flags, epsilon)
    if isinstance(mechanism, SampledAttribute):
        remade = [_remade(oracle) for oracle in mechanism.inner]
        return lambda epsilon: SampledAttribute(
            inner=tuple(cast("Oracle", remake(epsilon)) for remake in remade)
        )
    return lambda epsilon: planner.sketch_for(epsilon, 1)
