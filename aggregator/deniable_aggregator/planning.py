"""What a metric will show, worked out before anything ships."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from deniable_shared import planner
from deniable_shared.disclosure import (
    LEVEL,
    Z,
    devices_to_see,
    posterior_from_even_odds,
    visible_share,
)
from deniable_shared.mechanisms import (
    MAX_EPSILON,
    NUMERIC,
    ORACLES,
    DBitFlip,
    Mechanism,
    NumericMechanism,
    Oracle,
    RandomizedResponse,
    SampledAttribute,
    SampledCoefficients,
    Sketch,
    SquareWave,
)
from deniable_shared.mechanisms.sketch import (
    ASSUMED_SECOND_MOMENT,
    FAMILY_TO_NOISE,
    rows_for,
)
from deniable_shared.numbers import MEANS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from deniable_shared.registry import Budget, Metric
    from deniable_shared.spec import Spec

AnyMechanism = TypeVar("AnyMechanism", bound=Mechanism)

SHARES: Final = (0.0, 0.01, 0.1)
"""Shares whose error bars are shown; 0 stands for a rare item."""

PLACES: Final = (0.0, 0.5, 1.0)
"""Where in its range a mean may lie: the ends and the middle have the extremes of its variance."""

HOPELESS_SHARE: Final = 0.1
"""A metric that could not even show an item of this share is refused."""

HOPELESS_PART: Final = 0.25
"""A mean whose interval reaches further than this part of its range to either side is refused."""

DEFAULT_CANDIDATES: Final = 1_000
DEFAULT_DAYS: Final = 365
DEVICES_AROUND: Final = 100
PERIOD_DAYS: Final[Mapping[str, int]] = {"day": 1, "week": 7, "month": 30}
_ORACLES: Final = tuple(name for name in ORACLES if name != RandomizedResponse.name)
_EPSILON_STEPS: Final = 100
"""Suggested epsilons are whole hundredths."""


@dataclass(frozen=True)
class Candidate:
    """One mechanism that could carry a metric.

    Attributes:
        mechanism: with its parameters.
        excess: its squared error over the least that is possible, or for numbers over the least of
            all candidates.
        chosen: whether it is the metric's.
        variance: of one report: of a rare item's share, or the largest of a mean.
        family: variance that is there however many devices report.
    """

    mechanism: Mechanism
    excess: float
    chosen: bool
    variance: float
    family: float

    def half_width(self, devices: float) -> float:
        """Of the 95% interval of a rare item or a mean."""
        return Z * math.sqrt(self.variance / devices + self.family)


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


def plan(
    metric: Metric,
    *,
    devices: int | None = None,
    questions: int | None = None,
    days: int = DEFAULT_DAYS,
    width: float | None = None,
    budget: Budget | None = None,
) -> Plan:
    """Works out what a metric will show.

    Args:
        metric: a resolved metric.
        devices: how many report; None for as many as the registry expects.
        questions: how many items are asked for at once; None for all of a known domain, and
            1,000 candidates of an open one.
        days: how long a device reports.
        width: a half-width to find the number of devices for, as a share, or in a number's unit.
        budget: what a device may spend.
    """
    spec, mechanism = metric.spec, metric.spec.mechanism
    devices = metric.expected_devices if devices is None else devices
    if questions is None:
        questions = _questions(spec)
    mean = isinstance(mechanism, NumericMechanism)
    candidates = considered(spec, devices)
    chosen = next(candidate for candidate in candidates if candidate.chosen)
    unit = _unit(spec)
    return Plan(
        metric=metric,
        devices=devices,
        questions=questions,
        mean=mean,
        candidates=candidates,
        half_widths={
            at: Z * unit * math.sqrt(mechanism.variance(at, 1) / devices + chosen.family)
            for at in (PLACES if mean else SHARES)
        },
        visible=None if mean else visible_share(mechanism, devices),
        visible_of_all=None if mean else visible_share(mechanism, devices, questions),
        width=width,
        devices_for_width=None
        if width is None
        else max(1, math.ceil(chosen.variance * (Z / width) ** 2)),
        family=chosen.family * devices / chosen.variance if chosen.family else None,
        collection=_collection(metric, days, budget),
        refusal=_refusal(mechanism, devices),
    )


def considered(spec: Spec, devices: int) -> tuple[Candidate, ...]:
    """The mechanisms that could stand in the place of a metric's own, the best first.

    For a domain of k items errors are measured against the least total risk of any mechanism (Ye
    and Barg), for strings against the noise of one of very many items, and for a mean against the
    best of the candidates, each at its worst place in the range.
    """
    mechanism, unit = spec.mechanism, _unit(spec)
    epsilon = Fraction(mechanism.epsilon)
    found: list[tuple[float, Mechanism]] = [(1.0, mechanism)]
    if isinstance(mechanism, Oracle) and not isinstance(mechanism, RandomizedResponse):
        # The devices are drawn from a population, as the optimum assumes.
        drawn, best = 1 - 1 / mechanism.size, planner.optimum(mechanism.size, mechanism.epsilon)
        others = planner.candidates(mechanism.size, epsilon, _ORACLES)
        found = [
            ((planner.total_variance(oracle) + drawn) / best, oracle)
            for oracle in (mechanism, *_unlike(mechanism, others))
        ]
    elif spec.type == "string":
        best = planner.optimum_for_rare(mechanism.epsilon)
        sketches = [
            Sketch(rows=rows_for(inner, devices), inner=inner)
            for inner in planner.inner_candidates(epsilon, names=_ORACLES)
        ]
        found = [
            (each.variance(0.0, 1) / best, each)
            for each in (mechanism, *_unlike(mechanism, sketches))
        ]
    elif spec.type == "number":
        means = [kind.for_epsilon(epsilon) for kind in MEANS.values()]
        every = (mechanism, *_unlike(mechanism, means))
        best = min(map(_worst, every))
        found = [(_worst(each) / best, each) for each in every]
    elif isinstance(mechanism, SampledAttribute | SampledCoefficients):
        # Of single flags; pairs answers for every two of them as well.
        sampled = SampledAttribute(inner=mechanism.oracles)
        rivals: list[Mechanism] = [sampled]
        if all(isinstance(oracle, RandomizedResponse) for oracle in mechanism.oracles):
            rivals.append(SampledCoefficients.for_epsilon(len(mechanism.oracles), epsilon))
        best = sampled.variance(0.0, 1)
        found = [
            (each.variance(0.0, 1) / best, each)
            for each in (mechanism, *_unlike(mechanism, rivals))
        ]
    found.sort(key=lambda pair: pair[0])
    return tuple(
        Candidate(
            mechanism=each,
            excess=excess,
            chosen=each is mechanism,
            variance=unit**2 * _worst(each),
            family=family_variance(each),
        )
        for excess, each in found
    )


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


def _unlike(mechanism: Mechanism, others: Iterable[AnyMechanism]) -> list[AnyMechanism]:
    """The others that are not of the mechanism's own kind, which stands for itself."""
    return [each for each in others if name_of(each) != name_of(mechanism)]


def _worst(mechanism: Mechanism) -> float:
    """The variance of one report: of a rare item, or of a mean where it is largest."""
    if isinstance(mechanism, NumericMechanism):
        return max(mechanism.variance(place, 1) for place in PLACES)
    return mechanism.variance(0.0, 1)


def _unit(spec: Spec) -> float:
    """The width of a mean's range, in the metric's own unit; 1 for shares."""
    if spec.range is None or not isinstance(spec.mechanism, NumericMechanism):
        return 1.0
    return float(spec.range[1] - spec.range[0])


def _questions(spec: Spec) -> int:
    """How many items are asked for if nothing else is said."""
    return 1 if spec.type in NUMERIC else len(spec.items) or DEFAULT_CANDIDATES


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
    """Why a metric is hopeless, and what would do."""
    enough = _enough_devices(mechanism)
    if enough <= devices:
        return None
    what = (
        f"the mean would not be known to ± {HOPELESS_PART:.0%} of its range"
        if isinstance(mechanism, NumericMechanism)
        else f"not even an item that {HOPELESS_SHARE:.0%} of them hold would be seen"
    )
    return Refusal(
        reason=f"with {devices:,} devices at epsilon {mechanism.epsilon:.4g} {what}",
        devices=enough,
        epsilon=_enough_epsilon(mechanism, devices),
    )


def _enough_devices(mechanism: Mechanism) -> int:
    if isinstance(mechanism, NumericMechanism):
        return math.ceil(_worst(mechanism) * (Z / HOPELESS_PART) ** 2)
    return devices_to_see(mechanism, HOPELESS_SHARE)


def _enough_epsilon(mechanism: Mechanism, devices: int) -> float | None:
    """The smallest epsilon, in hundredths, at which so many devices are enough.

    None if no permitted one is, or if the mechanism has more than one epsilon to change.
    """
    remade = _remade(mechanism)
    low, high = math.floor(mechanism.epsilon * _EPSILON_STEPS), MAX_EPSILON * _EPSILON_STEPS

    def enough(steps: int) -> bool:
        return _enough_devices(remade(Fraction(steps, _EPSILON_STEPS))) <= devices

    if mechanism.epsilon_permanent is not None or mechanism.delta or not enough(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high / _EPSILON_STEPS


def _remade(mechanism: Mechanism) -> Callable[[Fraction], Mechanism]:
    """What stands in a mechanism's place at another epsilon."""
    if isinstance(mechanism, Sketch):
        return lambda epsilon: planner.sketch_for(epsilon, 1)
    if isinstance(mechanism, RandomizedResponse):
        return lambda epsilon: RandomizedResponse.for_epsilon(2, epsilon)
    if isinstance(mechanism, Oracle):
        return lambda epsilon: planner.oracle_for(mechanism.size, epsilon)
    if isinstance(mechanism, SquareWave):
        return lambda epsilon: SquareWave.for_epsilon(mechanism.size, epsilon)
    if isinstance(mechanism, DBitFlip):
        return lambda epsilon: DBitFlip.for_epsilon(mechanism.size, epsilon, mechanism.buckets)
    if isinstance(mechanism, SampledAttribute):
        oracles = [_remade(oracle) for oracle in mechanism.inner]
        return lambda epsilon: SampledAttribute(
            inner=tuple(cast("Oracle", remade(epsilon)) for remade in oracles)
        )
    if isinstance(mechanism, SampledCoefficients):
        return lambda epsilon: SampledCoefficients.for_epsilon(mechanism.attributes, epsilon)
    return lambda epsilon: MEANS[mechanism.name].for_epsilon(epsilon)
