"""Whether something has changed between two periods, and by how much."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from deniable_aggregator.estimation.results import described
from deniable_aggregator.estimation.shares import FLAG, combine_specs, default_items
from deniable_aggregator.statistics.intervals import DEFAULT_LEVEL, Correction, alpha_per_interval
from deniable_aggregator.tallies import nonempty
from deniable_aggregator.trends.comparison import (
    adjust_p_values,
    compare_means,
    compare_shares,
    compare_subset,
)
from deniable_aggregator.trends.influence import POISONING_OF_CHANGES
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.estimation.combination import About
    from deniable_aggregator.estimation.inputs import CollectedTallies
    from deniable_aggregator.statistics.intervals import IntervalKind
    from deniable_aggregator.trends.series import DayRange

ALPHA: Final = 0.05
MAX_ITEMS: Final = 100_000

_WHOSE: Final[Mapping[str, str]] = {
    "devices": "among the devices that reported before and those that reported after",
    "population": "in the population that the devices that reported are random samples of",
}
_OVERLAP: Final = (
    "how many devices reported in both periods is not known. Errors, intervals and tests are for "
    "none, which is the largest error as long as what a device held before does not make it less "
    "likely to hold it after; standard_error_same_devices is for as many as possible, with the "
    "permanent noise, and about a population the sampling, that cancels out then"
)


class OnlyInOnePeriod(NamedTuple):
    """Items that only one of the two periods knows. In the other they are unknown, which is not 0.

    Attributes:
        before: those that only the first knows.
        after: those that only the second knows.
    """

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def as_rows(self) -> list[dict[str, str]]:
        """JSON data."""
        return [
            {"item": item, "known": when}
            for when, items in self._asdict().items()
            for item in items
        ]


@dataclass(frozen=True)
class Change:
    """By how much each item, or a mean, differs between two periods; after minus before.

    Attributes:
        metric: the metric's name.
        items: what is compared; one that is called as the metric for a mean.
        before: float64, (items,): the estimate of the first period; unbiased, not clipped.
        after: float64, (items,): of the second.
        standard_error: float64, (items,): of the difference, if the devices are all different.
        same_devices: float64, (items,): the same if they are the same as far as possible; NaN where
            it is not known.
        low: float64, (items,): lower end of the interval of the difference.
        high: float64, (items,): upper end.
        p_value: float64, (items,): of the two-sided test that nothing has changed.
        adjusted: float64, (items,): the same, corrected for the number of items.
        radius: float64, (items,): how far 1% of fake reports in either period could move the
            difference; of RAPPOR, recursive Hadamard response, pairs and means an upper bound.
        asked: how many items were compared; those shown may be a selection.
        apart: what only one period knows, and is not compared.
        type: "number" or "distribution" for means, None for shares.
        about: what all of this is about.
        interval: what intervals cover.
        level: with which probability, in (0, 1).
        correction: of the p-values.
        gathered: what was counted before and after.
        sum: the change of the share of some items together, as JSON data, or None.
    """

    metric: str
    items: tuple[str, ...]
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    same_devices: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    p_value: NDArray[np.float64]
    adjusted: NDArray[np.float64]
    radius: NDArray[np.float64]
    asked: int
    apart: OnlyInOnePeriod
    type: str | None
    about: About
    interval: IntervalKind
    level: float
    correction: Correction
    gathered: tuple[CollectedTallies, CollectedTallies]
    sum: Mapping[str, Any] | None = None

    def as_dict(self, before: DayRange, after: DayRange) -> dict[str, Any]:
        """JSON data: the meaning of the numbers, then one entry per item.

        Args:
            before: the days of the first period.
            after: the days of the second.
        """
        columns = {
            "before": self.before,
            "after": self.after,
            "change": self.after - self.before,
            "standard_error": self.standard_error,
            "standard_error_same_devices": self.same_devices,
            "low": self.low,
            "high": self.high,
            "p_value": self.p_value,
            "adjusted_p_value": self.adjusted,
            "poisoning_radius": self.radius,
        }
        values = zip(*(_listed(column) for column in columns.values()), strict=True)
        rows = [
            {"item": item, **dict(zip(columns, row, strict=True))}
            for item, row in zip(self.items, values, strict=True)
        ]
        for row in rows:
            row["changed"] = bool(row["adjusted_p_value"] <= ALPHA)
            if self.type is not None:
                del row["item"]
        kind = {} if self.type is None else {"type": self.type}
        return {
            "metric": self.metric,
            **kind,
            "before": _described(before, self.gathered[0]),
            "after": _described(after, self.gathered[1]),
            "about": self.about,
            "unit": f"after minus before, {_WHOSE[self.about]}; unbiased, neither clipped nor "
            "rescaled",
            "overlap": _OVERLAP,
            "interval": {
                "kind": self.interval,
                "level": self.level,
                "meaning": self._covered(),
            },
            "test": {
                "alpha": ALPHA,
                "correction": self.correction,
                "meaning": _test_meaning(self.correction),
            },
            "poisoning": POISONING_OF_CHANGES,
            **({"items_compared": self.asked} if self.type is None else {}),
            **({} if self.sum is None else {"sum": self._summed(self.sum)}),
            "changes": rows,
            "not_compared": self.apart.as_rows(),
        }

    def _summed(self, found: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **found,
            "changed": found["p_value"] <= ALPHA,
            "meaning": (
                f"of the share of all of these items together; interval of level {self.level:g} "
                "and test for a set chosen before looking, both normal, with the errors of "
                "different devices; its poisoning radius is an upper bound"
            ),
        }

    def _covered(self) -> str:
        if self.interval == "selected":
            return (
                f"of those shown, chosen out of {self.asked:,} because their changes are the "
                f"largest, at most {1 - self.level:.2g} on average fail to cover (false coverage "
                "rate, Benjamini and Yekutieli)"
            )
        one = self.interval == "item"
        covered = "each covers its difference" if one else "they cover all differences at once"
        return f"{covered} with probability {self.level:g}"


def change(
    before: CollectedTallies,
    after: CollectedTallies,
    items: Sequence[str] | None = None,
    *,
    about: About = "devices",
    interval: IntervalKind | None = None,
    correction: Correction = "bh",
    level: float = DEFAULT_LEVEL,
    top: int | None = None,
    add: Sequence[str] | None = None,
) -> Change:
    """Compares two periods that do not overlap.

    Fresh noise of the two is independent, so variances add. Permanent noise of a device that is in
    both is the same and would cancel out; how many there are is not known, so the variances are
    added all the same, and what is left if there are as many as possible is said beside it.

    Args:
        before: what was counted in the first period.
        after: in the second.
        items: what is compared, as far as both periods know it; None for all that both know.
        about: what errors, intervals and tests are about; the population for means.
        interval: what intervals cover, see `intervals.alpha_of`; None for "selected" with `top`,
            and "item" without.
        correction: of the p-values, see `intervals.detect`.
        level: of the intervals, in (0, 1).
        top: only so many items, the largest changes first; None for all. Tests stay corrected for
            all that were compared.
        add: items whose share together is compared too; what is compared where `items` is None.

    Raises:
        ParameterError: if a period has no report, the type has changed, or the items are not those
            of both.
    """
    specs = [*before.specs, *after.specs]
    types = {spec.type for spec in specs}
    if not before.tallies or not after.tallies:
        raise ParameterError("reports", "at least 1 in both periods", 0)
    if len(types) > 1:
        raise ParameterError("type", "the same before and after", sorted(types))
    kind, numeric = specs[0].type, specs[0].range is not None
    if numeric:
        for name, value in (("candidates", items), ("top", top), ("sum", add)):
            if value is not None:
                raise ParameterError(name, f"left out: it is about items, not of a {kind}", value)
    both: tuple[str, ...] = (specs[0].name,)
    apart = OnlyInOnePeriod()
    if not numeric:
        both, apart = _asked(before, after, add if items is None else items, about)
    interval = interval or ("item" if top is None else "selected")
    alpha = alpha_per_interval(
        interval, level=level, asked=len(both), shown=min(top or len(both), len(both))
    )
    found = (
        compare_means(before, after, kind, alpha)
        if numeric
        else compare_shares(before, after, both, about, alpha)
    )
    found["adjusted"] = adjust_p_values(found["p_value"], correction)
    shown = np.arange(len(both))
    if top is not None:
        shown = np.argsort(-np.abs(found["after"] - found["before"]), kind="stable")[:top]
    return Change(
        specs[0].name,
        tuple(both[index] for index in shown.tolist()),
        **{name: column[shown] for name, column in found.items()},
        asked=len(both),
        apart=apart,
        type=kind if numeric else None,
        about="population" if numeric else about,
        interval=interval,
        level=level,
        correction=correction,
        gathered=(before, after),
        sum=None if add is None else compare_subset(before, after, add, about, 1 - level),
    )


def _asked(
    before: CollectedTallies, after: CollectedTallies, items: Sequence[str] | None, about: About
) -> tuple[tuple[str, ...], OnlyInOnePeriod]:
    """What is compared: of what was asked for, or of everything, what both periods know.

    Raises:
        ParameterError: if that is nothing, or more than an answer lists.
    """
    metric = before.specs[0].name
    first, second = (_known(each, about, named=items is not None) for each in (before, after))
    if first is None or second is None:
        if items is None:
            raise ParameterError("candidates", f"given for {metric}", items)
        first = second = tuple(items)
    earlier, later = dict.fromkeys(first), dict.fromkeys(second)
    listed = list(items) if items is not None else list(earlier | later)
    for item in listed:
        if item not in earlier and item not in later:
            raise ParameterError("candidates", f"items of {metric} in either period", item)
    both = tuple(item for item in listed if item in earlier and item in later)
    if not 0 < len(both) <= MAX_ITEMS:
        wanted = f"1 to {MAX_ITEMS:,} items that both periods know"
        raise ParameterError("candidates", wanted, len(both))
    return both, OnlyInOnePeriod(
        tuple(item for item in listed if item not in later),
        tuple(item for item in listed if item not in earlier),
    )


def _known(gathered: CollectedTallies, about: About, *, named: bool) -> tuple[str, ...] | None:
    """What a period says something about; None for strings, where that is whatever is asked."""
    specs = gathered.specs
    if specs[0].type == "boolean" and named:
        return FLAG
    if specs[0].type != "attributes":
        return default_items(specs)
    # Of single attributes there may be no report at all.
    read = combine_specs(gathered.tallies, None, about, periods=gathered.periods)
    return tuple(read.domain[place] for place in read.wanted.tolist())


def _described(span: DayRange, gathered: CollectedTallies) -> dict[str, Any]:
    """The days, and what was counted in them."""
    counted = nonempty(gathered.tallies)
    return {
        **span.as_dict(),
        "reports": sum(reports for _, _, reports in counted),
        "specs": [described(spec, reports) for spec, _, reports in counted],
    }


def _listed(column: NDArray[np.float64]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in column.tolist()]


def _test_meaning(correction: Correction) -> str:
    if correction == "bh":
        return (
            f"of the items said to have changed, {ALPHA:.0%} at most on average have not "
            "(Benjamini-Hochberg over all items compared)"
        )
    return (
        f"the probability that any item is said to have changed although it has not is at most "
        f"{ALPHA:g} (Bonferroni over all items compared)"
    )
