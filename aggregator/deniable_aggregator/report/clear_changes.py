"""Which changes are clear where many metrics are compared at once.

Each metric's test allows for its own values. A report of fifty metrics would still show two or
three clear changes where nothing has changed. So metrics are chosen first, by Benjamini and
Hochberg over one p-value per metric, and within those that are chosen the level is made smaller by
the part that they are of all (Benjamini and Bogomolov, 2014, "Selective inference on multiple
families of hypotheses"): of the changes that the report calls clear, 5% at most on average, over
the chosen metrics, are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.trends import Change, Difference


def at_report_level(changes: Sequence[Change]) -> dict[str, Change]:
    """The same changes, clear only if they are so among those of all metrics; by metric.

    Args:
        changes: one per metric, as each was answered by itself.
    """
    smallest = sorted(_smallest(each) for each in changes)
    alpha = min((each.test.alpha for each in changes), default=0.0)
    chosen = max(
        (
            count
            for count, p_value in enumerate(smallest, 1)
            if p_value <= alpha * count / len(changes)
        ),
        default=0,
    )
    level = alpha * chosen / max(len(changes), 1)
    return {each.metric: _at_level(each, level) for each in changes}


def _smallest(change: Change) -> float:
    """The p-value that nothing has changed in a metric."""
    rows = min((row.adjusted_p_value for row in change.changes), default=1.0)
    if change.kind == "shares" or not change.shape:
        return rows
    return min(1.0, 2 * min(rows, change.shape.p_value))


def _at_level(change: Change, level: float) -> Change:
    """A change in which only what has a p-value of at most this level is clear."""
    two = change.kind == "mean" and bool(change.shape)
    each = level / 2 if two else level
    rows = [replace(row, changed=_is_clear(row, each)) for row in change.changes]
    shape = change.shape
    if shape:
        # The values of a category are tested one by one: the test of all is not one more find.
        among = shape.p_value <= each if two else any(row.changed for row in rows)
        shape = replace(shape, changed=shape.changed and among)
    moved = bool(shape and shape.changed) or any(row.changed for row in rows)
    quantiles = change.quantiles
    if quantiles is not UNSET:
        quantiles = [replace(row, changed=row.changed and moved) for row in quantiles or ()]
    return replace(change, changes=rows, shape=shape, quantiles=quantiles)


def _is_clear(row: Difference, level: float) -> bool:
    """Whether the test finds a change at this level, and the interval does not deny it."""
    return row.changed and row.adjusted_p_value <= level and not row.low <= 0 <= row.high
