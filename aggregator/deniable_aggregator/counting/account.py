"""What the metrics of a registry cost a device in so many days: each by itself, and together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.counting.composition import (
    POINTS,
    Losses,
    array_components,
    compose,
    group_alike,
    shuffled_losses,
)
from deniable_shared.accounting import (
    DEFAULT_DELTA,
    Bound,
    Component,
    HistoryBounds,
    bounds_of,
    counted_epsilon,
    group_bound,
    history_bounds,
)
from deniable_shared.accounting.bounds import ROUNDING, at_most_the_sum
from deniable_shared.errors import ParameterError
from deniable_shared.periods import most_periods
from deniable_shared.planning.budget import (
    DAYS_OF_A_YEAR,
    days_until_lifetime_is_spent,
    most_reports,
)

if TYPE_CHECKING:
    from deniable_shared.registry import Registry


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Upper bounds of what the same reports cost, in nats.

    Attributes:
        sum: of their epsilons, those with fresh noise at most the device's budget; None if there is
            no bound, as answers of some metric are not randomized again for each report.
        sum_delta: of their deltas, which is the delta of the sum.
        advanced: by advanced composition; None where no figure holds at the delta asked for.
        renyi: by Renyi composition; None as above.
        renyi_mironov: the same with the older conversion; None as above.
        exact: by exact composition of all reports, or a smaller one of the others; None as above.
        shuffled: exact composition if reports are shuffled; None if not asked for, or as above.
    """

    sum: float | None
    sum_delta: float
    advanced: float | None
    renyi: float | None
    renyi_mironov: float | None
    exact: float | None
    shuffled: float | None = None


@dataclass(frozen=True, kw_only=True)
class Slack:
    """How much of the exact figure of all metrics is owed to how it is computed, in nats.

    Attributes:
        grid: to losses that are put on a grid: a third of what a grid half as fine would add.
        tails: to what is counted as infinite loss, for tails that are cut off and for rounding.
    """

    grid: float
    tails: float


@dataclass(frozen=True)
class Conditions:
    """Under which conditions figures are asked for.

    Attributes:
        delta: of all figures but the sum, in [0, 1).
        limit: the sum of epsilons at which devices stop.
        shuffled_among: how many honest reports of a metric and period are shuffled; None for none.
    """

    delta: float
    limit: float
    shuffled_among: int | None

    def figures(self, components: Sequence[Component], points: int = POINTS) -> Figures:
        """What these draws cost together.

        Args:
            components: with profiles of arrays, see `array_components`.
            points: of the grid of exact composition.
        """
        bounds = bounds_of(components, self.delta, self.limit)
        if not bounds.sum.epsilon < math.inf:
            return Figures(
                sum=None,
                sum_delta=bounds.sum.delta,
                advanced=None,
                renyi=None,
                renyi_mironov=None,
                exact=None,
            )
        components = self._within_the_limit(components)
        exact: float | None = compose(group_alike(components), points).epsilon_at(self.delta)
        exact = self._least(exact, bounds.renyi, bounds.advanced)
        of_the_kept = bounds_of(components, 0.0, self.limit).sum
        exact = at_most_the_sum(exact, of_the_kept, self.delta)
        shuffled = None
        if self.shuffled_among is not None:
            of_shuffled = compose(self._shuffle_profiles(components), points).epsilon_at(self.delta)
            shuffled = self._least(of_shuffled, exact)
        return Figures(
            sum=bounds.sum.epsilon,
            sum_delta=bounds.sum.delta,
            advanced=bounds.advanced,
            renyi=bounds.renyi,
            renyi_mironov=bounds.renyi_mironov,
            exact=exact,
            shuffled=shuffled,
        )

    def _within_the_limit(self, components: Sequence[Component]) -> Sequence[Component]:
        """As many reports of a metric as fit; of several, how they share the limit is not known."""
        if len(components) > 1 or components[0].permanent:
            return components
        (alone,) = components
        return [replace(alone, draws=min(alone.draws, most_reports(self.limit, alone.epsilon)))]

    def slack(self, components: Sequence[Component], exact: float | None) -> Slack | None:
        """How loose exact composition is; None if another way gave the smallest figure.

        Args:
            components: as of `figures`.
            exact: what `figures` says of them.
        """
        if exact is None:
            return None
        parts = group_alike(self._within_the_limit(components))
        fine = compose(parts)
        figure = fine.epsilon_at(self.delta)
        if figure != exact:
            return None
        coarse = compose(parts, POINTS // 2)
        tails = figure - fine.epsilon_at(self.delta, allowing=False)
        return Slack(grid=abs(coarse.epsilon_at(self.delta) - figure) / 3, tails=tails)

    def _shuffle_profiles(self, components: Sequence[Component]) -> list[tuple[Losses, int]]:
        """Permanent answers and reports with a delta stay as they are: nothing amplifies them."""
        assert self.shuffled_among is not None
        parts = []
        for component in components:
            ((losses, draws),) = group_alike([component])
            if not component.permanent and not component.delta:
                shuffled = shuffled_losses(component.epsilon, self.shuffled_among)
                # Few others hide less than some mechanisms do by themselves; either is a bound.
                losses = min(losses, shuffled, key=Losses.log_moment)
            parts.append((losses, draws))
        return parts

    @staticmethod
    def _least(*figures: float | None) -> float | None:
        bounds = [figure for figure in figures if figure is not None and figure < math.inf]
        return min(bounds, default=None)


MOMENTS: Final = 17
"""For how many numbers of days a picture has figures."""

_FEWER_POINTS: Final = 1 << 13

Progress = Callable[[int, int], None]
"""Called with the number of figures that are computed, and of all."""


@dataclass(frozen=True, kw_only=True)
class MetricAccount:
    """One metric's part.

    Attributes:
        every: how often a device may report.
        reports_absence: whether a device reports even if nothing was recorded.
        picks: whether a stored report may be replaced by that of a later value of its period.
        reports: how many reports one device sends at most.
        epsilon: of one report.
        delta: of one report.
        histories: of all reports, by how the value changes; None without permanent answers.
        figures: of all reports, for any two histories of values.
    """

    metric: str
    every: str
    reports_absence: bool
    picks: bool
    reports: int
    epsilon: float
    delta: float
    histories: HistoryBounds | None
    figures: Figures


@dataclass(frozen=True, kw_only=True)
class Account:
    """What a registry costs a device.

    Attributes:
        application: the registry's.
        days: how many, in a row.
        delta: of all figures but the sum; see `deniable_shared.accounting.Bound`.
        devices_per_person: how many devices of one person count as one.
        shuffled_among: how many honest reports of a metric and period are shuffled; None for none.
        together: of all metrics, for any two histories of values.
        unchanging: the same while no value of a memoised metric changes; None without such metrics.
        counted: what devices count for all reports, if no budget stops them. Of memoised metrics
            that is what permanent answers can cost, and no bound for values that change.
        extended: the exact figure of one device, extended to the person's devices without composing
            their reports; None for one device.
        slack: of the exact figure together; None where it is not the smallest.
        epsilon_lifetime: where a device's own ledger stops.
        days_until_lifetime_is_spent: after how many days of all reports; None for never.
        over_days: together, for numbers of days from 1 up.
    """

    application: str
    days: int
    delta: float
    devices_per_person: int
    shuffled_among: int | None
    metrics: tuple[MetricAccount, ...]
    together: Figures
    unchanging: Figures | None
    counted: float
    extended: Bound | None
    slack: Slack | None
    epsilon_lifetime: float
    days_until_lifetime_is_spent: int | None
    over_days: tuple[tuple[int, Figures], ...]

    @property
    def is_stopped(self) -> bool:
        """Whether the device's budget is spent before all reports are sent."""
        return self.counted > self.epsilon_lifetime * self.devices_per_person * (1 + ROUNDING)

    def as_dict(self) -> dict[str, Any]:
        """JSON data; null where there is no bound."""
        data = asdict(self)
        for metric in data["metrics"]:
            if (histories := metric["histories"]) is not None:
                metric["histories"] = {
                    name: bound if bound < math.inf else None for name, bound in histories.items()
                }
        data["extended"] = self.extended and self.extended._asdict()
        data["over_days"] = [{"days": days, **asdict(figures)} for days, figures in self.over_days]
        return data


def account_of(
    registry: Registry,
    *,
    days: int = DAYS_OF_A_YEAR,
    delta: float = DEFAULT_DELTA,
    devices_per_person: int = 1,
    shuffled_among: int | None = None,
    progress: Progress = lambda _done, _all: None,
) -> Account:
    """Works out what a registry costs.

    Args:
        days: for how many days in a row a device reports as often as it may; at least 1.
        delta: in [0, 1).
        devices_per_person: how many devices of one person hold the same values; at least 1.
        shuffled_among: how many honest reports of each metric and period are shuffled together;
            for one device per person only.
        progress: is told after every figure.

    Raises:
        ParameterError: if several devices per person are shuffled: one shuffle hides them less.
    """
    if shuffled_among is not None and devices_per_person != 1:
        raise ParameterError(
            "devices_per_person", "1 where reports are shuffled", devices_per_person
        )
    specs = [metric.spec for metric in registry.metrics.values()]
    limit = registry.budget.epsilon_lifetime
    conditions = Conditions(delta, limit * devices_per_person, shuffled_among)
    components = array_components(specs, days, devices_per_person)
    moments = _moments(days)
    steps = len(specs) + len(moments) + 1
    metrics = []
    for spec in specs:
        reports = most_periods(spec.every, days)
        own = [component for component in components if component.name == spec.name]
        metrics.append(
            MetricAccount(
                metric=spec.name,
                every=spec.every,
                reports_absence=spec.reports_absence,
                picks=spec.picks,
                reports=reports,
                epsilon=spec.mechanism.epsilon,
                delta=spec.mechanism.delta,
                histories=history_bounds(spec.mechanism, reports, devices_per_person),
                figures=conditions.figures(own),
            )
        )
        progress(len(metrics), steps)
    together = conditions.figures(components)
    slack = conditions.slack(components, together.exact)
    unchanging = None
    if any(component.permanent for component in components):
        kept = array_components(specs, days, devices_per_person, changing=False)
        unchanging = conditions.figures(kept)
    progress(len(metrics) + 1, steps)
    over_days = []
    for moment in moments:
        period_components = array_components(specs, moment, devices_per_person)
        over_days.append((moment, conditions.figures(period_components, _FEWER_POINTS)))
        progress(len(metrics) + 1 + len(over_days), steps)
    extended = None
    if devices_per_person > 1:
        alone = Conditions(delta, limit, None).figures(array_components(specs, days, 1))
        if alone.exact is not None:
            extended = group_bound(Bound(alone.exact, delta), devices_per_person)
    return Account(
        application=registry.application,
        days=days,
        delta=delta,
        devices_per_person=devices_per_person,
        shuffled_among=shuffled_among,
        metrics=tuple(metrics),
        together=together,
        unchanging=unchanging,
        counted=counted_epsilon(specs, days, devices_per_person),
        extended=extended,
        slack=slack,
        epsilon_lifetime=limit,
        days_until_lifetime_is_spent=days_until_lifetime_is_spent(registry),
        over_days=tuple(over_days),
    )


def _moments(days: int) -> list[int]:
    """Numbers of days from 1 up to all of them, about evenly spaced on a logarithmic scale."""
    return sorted({round(days ** (step / (MOMENTS - 1))) for step in range(MOMENTS)})
