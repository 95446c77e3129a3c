"""Upper bounds of what the same reports cost, by every way to add them up."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deniable_aggregator.accounting.array_profile import group_alike
from deniable_aggregator.accounting.composition import POINTS, compose
from deniable_aggregator.accounting.grid import Losses
from deniable_aggregator.accounting.shuffled import shuffled_losses
from deniable_shared.accounting import bounds_of
from deniable_shared.accounting.bounds import at_most_the_sum
from deniable_shared.planning.budget import most_reports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.accounting import Component


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Upper bounds of what the same reports cost, in nats.

    Attributes:
        sum: of their epsilons; at most the device's budget.
        sum_delta: of their deltas, which is the delta of the sum.
        of_all_reports: the sum of epsilons if no budget stopped the device.
        advanced: by advanced composition; None where no figure holds at the delta asked for.
        renyi: by Renyi composition; None as above.
        renyi_mironov: the same with the older conversion; None as above.
        exact: by exact composition of all reports, or a smaller one of the others; None as above.
        shuffled: exact composition if reports are shuffled; None if not asked for, or as above.
    """

    sum: float
    sum_delta: float
    of_all_reports: float
    advanced: float | None
    renyi: float | None
    renyi_mironov: float | None
    exact: float | None
    shuffled: float | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether the device's budget is spent before all reports are sent."""
        return self.sum < self.of_all_reports


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
            of_all_reports=bounds.of_all_reports,
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
