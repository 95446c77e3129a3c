"""The last pages of a report: how to read it, what can mislead, and what devices gave away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.telling.document import Column, Row, Table
from deniable_aggregator.telling.method import (
    CLEAR_CHANGES,
    FAKE_REPORTS,
    GIVEN_AWAY,
    RANGES,
    REPORTS_NOT_PEOPLE,
)
from deniable_aggregator.telling.ranges import number_in_words
from deniable_aggregator.telling.report_document import Chapter
from deniable_shared import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.report.gathering import MetricAnswers, Report


def method(report: Report) -> Iterator[Chapter]:
    """The chapters about method and privacy.

    Args:
        report: its answers.
    """
    for passage in (RANGES, CLEAR_CHANGES, REPORTS_NOT_PEOPLE):
        yield Chapter(*passage)
    yield Chapter(*FAKE_REPORTS, _fakes(report))
    yield Chapter(*GIVEN_AWAY, _privacy(report))
    yield Chapter("How it was made", [f"By deniable report, version {__version__}."])


def _fakes(report: Report) -> Table | None:
    rows = [
        Row(cells=(each.metric.name, shift))
        for each in report.metrics
        if each.estimate is not None and (shift := _largest_shift(each.estimate))
    ]
    if not rows:
        return None
    heading = "possible shift if 1% of reports are fake"
    return Table(
        name="fakes",
        caption="The largest possible shift of an estimate",
        columns=[Column(heading="metric", words=True), Column(heading=heading)],
        rows=rows,
    )


def _largest_shift(answer: Answer) -> str:
    """How far fakes could move the estimate that they move most."""
    mean = answer.one("mean")
    if mean is not None:
        shift = mean.shift_if_fake or 0.0
        return f"{number_in_words(shift, -shift / 2, shift / 2)} (mean)" if shift else "none"
    shifts = [each.shift_if_fake for each in answer.of("share")]
    if not shifts:
        return ""
    if None in shifts:
        return "anywhere"
    return f"{100 * max(shift for shift in shifts if shift is not None):.1f} points"


def _privacy(report: Report) -> Table:
    headings = ("metric", "type", "reports every", "epsilon of a report", "of a value", "of a life")
    return Table(
        name="privacy",
        caption="The newest version of each metric",
        columns=[Column(heading=each, words=each == "metric") for each in headings],
        rows=[Row(cells=_given_away(each)) for each in report.metrics],
    )


def _given_away(each: MetricAnswers) -> tuple[str, ...]:
    metric = each.metric
    of_value = "" if metric.epsilon_permanent is None else f"{metric.epsilon_permanent:.2g}"
    of_life = "no bound" if metric.epsilon_total is None else f"{metric.epsilon_total:.3g}"
    return metric.name, metric.type, metric.every, f"{metric.epsilon:.2g}", of_value, of_life
