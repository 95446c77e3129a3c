"""The last pages of a report: how to read it, what can mislead, and what devices gave away."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from deniable_aggregator.telling.document import Column, Row, Table
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
    yield Chapter(
        "What the ranges mean",
        [
            "A range such as 44 to 46% covers the true number with a probability of 95%, each "
            "range by itself: of twenty ranges one misses on average. It is rounded outward, so "
            "what is printed is never surer than what was computed. “For noise only” means that "
            "it is about the devices that reported; “for noise and sampling” means that it is "
            "about all devices that these are a random sample of.",
            "A value that can't be told from zero may be rare or may not exist; its upper end is "
            "what is known. Leading values are too close to call where their ranges overlap.",
        ],
    )
    yield Chapter(
        "What a clear change is",
        [
            "A change is clear if a test finds it that allows for all values and for all metrics "
            "of this report: of the changes called clear, at most 5% on average are chance. This "
            "is stricter than asking about one metric alone, and allows for the devices of both "
            "periods being random samples: that by chance others reported is no change. No clear "
            "change means that the reports do not tell: “less than 2 points either way” says what "
            "can be excluded.",
            "The numbers do not say why something has changed. The devices that report may have "
            "become others, too.",
        ],
    )
    yield Chapter(
        "Reports are not people",
        [
            "A report is what one device sent for one period. A device that is used daily sends "
            "more of them than one that is not, and a person may have several devices or share "
            "one. Nobody can tell which reports came from the same device.",
        ],
    )
    yield Chapter(
        "Fake reports",
        [
            "Whoever can send reports can send false ones. Checks find reports whose noise is not "
            "that of devices; a forger who adds honest noise to a chosen value passes them all. "
            "The table says how far estimates could have been moved if 1% of the reports were such "
            "fakes. No range allows for that.",
        ],
        _fakes(report),
    )
    yield Chapter(
        "What devices gave away",
        [
            "Every report was made random on the device before it was sent. Whatever a device "
            "holds, its report is at most e^epsilon times as likely as if it held something else: "
            f"{math.e:.1f} times at epsilon 1, {math.e**2:.1f} times at epsilon 2. The server "
            "keeps sums of such reports and cannot say what any device holds.",
        ],
        _privacy(report),
    )
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
