"""What is said of all metrics."""

from __future__ import annotations

from datetime import date

import pytest

from deniable_aggregator.answers.administration import Metric, Metrics
from deniable_aggregator.telling.administration import metrics_document


def listed(reports):
    """The cells of a metric with so many reports in 74 days."""
    metric = Metric(
        name="crash",
        type="boolean",
        description="",
        owners=[],
        expires=None,
        retention_days=None,
        every="day",
        mechanism="grr",
        epsilon=1.0,
        epsilon_permanent=None,
        epsilon_total=None,
        delta=0.0,
        version="0" * 64,
        registered=date(2026, 1, 1),
        candidates=False,
        discovers=False,
        first_day=date(2026, 1, 1),
        last_day=date(2026, 3, 15),
        reports=reports,
        excluded_reports=0,
        reports_for_one_percent=None,
    )
    (table,) = metrics_document(Metrics("flightdeck", [metric])).tables
    (row,) = table.rows
    return row.cells


@pytest.mark.parametrize(
    ("reports", "words"), [(33, "less than 1"), (74, "1"), (7_400, "100"), (0, "0")]
)
def test_a_few_reports_in_many_days_are_not_none_a_day(reports, words):
    assert words in listed(reports)
