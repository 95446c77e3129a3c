"""Whether something has changed between two periods, and by how much."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.answer import described
from deniable_aggregator.differences import adjusted, means, shares
from deniable_aggregator.estimate import default_items
from deniable_aggregator.intervals import DEFAULT_LEVEL, Correction
from deniable_aggregator.tallies import with_reports
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from deniable_aggregator.combination import About
    from deniable_aggregator.gathering import Gathered
    from deniable_aggregator.series import Cover, Span

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
        type: "number" or "distribution" for means, None for shares.
        about: what all of this is about.
        interval: whether intervals cover one difference each or all at once.
        level: with which probability, in (0, 1).
        correction: of the p-values.
        gathered: what was counted before and after.
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
    type: str | None
    about: About
    interval: Cover
    level: float
    correction: Correction
    gathered: tuple[Gathered, Gathered]

    def as_dict(self, before: Span, after: Span) -> dict[str, Any]:
        """JSON data: the meaning of the numbers, then one entry per item.

        Args:
            before: the days of the first period.
            after: the days of the second.
        """
        one = self.interval == "item"
        covered = "each covers its difference" if one else "they cover all differences at once"
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
                "meaning": f"{covered} with probability {self.level:g}",
            },
            "test": {
                "alpha": ALPHA,
                "correction": self.correction,
                "meaning": _test_meaning(self.correction),
            },
            "changes": rows,
        }


def change(
    before: Gathered,
    after: Gathered,
    items: Sequence[str] | None = None,
    *,
    about: About = "devices",
    interval: Cover = "item",
    correction: Correction = "bh",
    level: float = DEFAULT_LEVEL,
) -> Change:
    """Compares two periods that do not overlap.

    Fresh noise of the two is independent, so variances add. Permanent noise of a device that is in
    both is the same and would cancel out; how many there are is not known, so the variances are
    added all the same, and what is left if there are as many as possible is said beside it.

    Args:
        before: what was counted in the first period.
        after: in the second.
        items: what is compared; None for all that both know.
        about: what errors, intervals and tests are about; the population for means.
        interval: what intervals cover.
        correction: of the p-values, see `intervals.detect`.
        level: of the intervals, in (0, 1).

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
    if numeric and items is not None:
        raise ParameterError("candidates", "left out: they are about items", kind)
    asked = (specs[0].name,) if numeric else _asked(before, after, items)
    alpha = (1 - level) / (len(asked) if interval == "simultaneous" else 1)
    found = (
        means(before, after, kind, alpha) if numeric else shares(before, after, asked, about, alpha)
    )
    return Change(
        specs[0].name,
        asked,
        **found,
        adjusted=adjusted(found["p_value"], correction),
        type=kind if numeric else None,
        about="population" if numeric else about,
        interval=interval,
        level=level,
        correction=correction,
        gathered=(before, after),
    )


def _asked(before: Gathered, after: Gathered, items: Sequence[str] | None) -> tuple[str, ...]:
    """What is compared: what was asked for, or what both periods know.

    Raises:
        ParameterError: if that is nothing, or more than an answer lists.
    """
    if items is None:
        first, second = default_items(before.specs), default_items(after.specs)
        if first is None or second is None:
            raise ParameterError("candidates", f"given for {before.specs[0].name}", items)
        both = set(first) & set(second)
        items = [item for item in first if item in both]
    if not 0 < len(items) <= MAX_ITEMS:
        raise ParameterError("candidates", f"1 to {MAX_ITEMS:,} items of both", len(items))
    return tuple(items)


def _described(span: Span, gathered: Gathered) -> dict[str, Any]:
    """The days, and what was counted in them."""
    counted = with_reports(gathered.tallies)
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
