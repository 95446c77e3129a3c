"""The versions of a metric together: what its newest one says, over the days of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deniable_aggregator.answers.administration import Metric


def versions_by_name(metrics: Iterable[Metric]) -> dict[str, list[Metric]]:
    """The versions of each metric, in the order of the metrics' first ones.

    Args:
        metrics: all versions of all metrics.
    """
    found: dict[str, list[Metric]] = {}
    for each in metrics:
        found.setdefault(each.name, []).append(each)
    return found


def whole_metric(versions: Sequence[Metric]) -> Metric:
    """The newest version of a metric, with the days and reports of all; the last of one day.

    Args:
        versions: of one metric, in the order of their registration; at least one.
    """
    return replace(
        max(reversed(versions), key=lambda each: each.registered),
        first_day=min((each.first_day for each in versions if each.first_day), default=None),
        last_day=max((each.last_day for each in versions if each.last_day), default=None),
        reports=sum(each.reports for each in versions),
        pending_reports=sum(each.pending_reports for each in versions),
        excluded_reports=sum(each.excluded_reports for each in versions),
    )
