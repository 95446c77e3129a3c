"""What stands in a report: its chapters, and how to read it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from deniable_aggregator.telling.changes import clear_changes
from deniable_aggregator.telling.document import Column, Row, Table
from deniable_aggregator.telling.effects import explained
from deniable_aggregator.telling.figures import figure_of
from deniable_aggregator.telling.findings import finding
from deniable_aggregator.telling.lines import robust_check
from deniable_aggregator.telling.method import (
    CLEAR_CHANGES,
    FAKE_REPORTS,
    GIVEN_AWAY,
    RANGES,
    REPORTS_NOT_PEOPLE,
)
from deniable_aggregator.telling.ranges import number_in_words
from deniable_aggregator.telling.report_document import Chapter, Item, ReportDocument, Section
from deniable_aggregator.telling.tell import tell
from deniable_aggregator.telling.wording import (
    as_sentence,
    counted,
    days_between,
    days_shortly,
    key_in_words,
)
from deniable_shared import __version__
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.health_overview import MetricHealth
    from deniable_aggregator.telling.figure import Figure
    from deniable_aggregator.telling.report.gathering import MetricAnswers, Report


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
    headings = (
        "metric",
        "type",
        "reports every",
        "epsilon of a report",
        "of a value",
        "of all values",
    )
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


MOST_ROWS: Final = 20
"""Of a table; `deniable estimate` has all."""

MOST_DRAWN: Final = 12
"""Values of a picture."""

MOST_FOLLOWED: Final = 4
"""Values of a picture over time."""

VERDICTS: Final = {
    "ok": "no check fails",
    "surge": "unusual volume",
    "uneven": "keys differ",
    "suspicious": "SUSPICIOUS",
    "unknown": "not checked",
}
"""What verdicts are called in a report."""


def compose(report: Report) -> ReportDocument:
    """The report as a document.

    Args:
        report: its answers.
    """
    anchors = {each.metric.name: f"metric-{number}" for number, each in enumerate(report.metrics)}
    answered = [each for each in report.metrics if each.estimate or each.found]
    days = days_between(report.days.since, report.days.until)
    return ReportDocument(
        title=f"{visible(report.application)}, {days}",
        lead=list(_lead(report, len(answered))),
        warnings=list(warnings_of(report, anchors)),
        changes=None if report.before is None else changes_of(report, anchors),
        unchanged=unchanged_of(report),
        sections=[section_of(each, anchors[each.metric.name]) for each in answered],
        health=_health(report),
        not_answered=list(_not_answered(report)),
        method=list(method(report)),
    )


def _lead(report: Report, answered: int) -> Iterator[str]:
    text = f"{counted(answered, 'metric')} of {visible(report.application)}"
    text += f" from {days_between(report.days.since, report.days.until)}"
    if report.before is not None:
        text += f", compared with {days_between(report.before.since, report.before.until)}"
    yield f"{text}. Made on {report.made}."
    if report.without_key:
        keys = ", ".join(map(visible, report.without_key))
        yield f"Without the reports of {'keys' if report.without_key[1:] else 'key'} {keys}."
    yield (
        "Devices add noise to every report, so each number has a range, and the ranges are the "
        "finding. Numbers are shares of reports; reports are not people."
    )


def warnings_of(
    report: Report, anchors: Mapping[str, str], *, details: bool = True
) -> Iterator[Item]:
    """Suspicious reports, uneven keys, reports that have stopped, and days that are not over.

    Args:
        report: its answers.
        anchors: the section of each metric.
        details: whether keys are named.
    """
    healths = [each.health for each in report.metrics if each.health is not None]
    for verdict in ("suspicious", "uneven", "surge"):
        for each in healths:
            if each.verdict == verdict:
                yield Item(each.metric, unwell(each, details=details), anchors.get(each.metric, ""))
    for each in healths:
        if each.stopped_since is not None:
            text = f"there are no reports from {each.stopped_since} on"
            yield Item(each.metric, text, anchors.get(each.metric, ""))
    if report.days.until >= report.made:
        yield Item("", f"{report.made} is not over: more reports will come.")
    for failure in report.failures:
        yield Item(
            failure.metric, f"{failure.question} was not answered: {visible(failure.message)}"
        )


def unwell(health: MetricHealth, *, details: bool = True) -> str:
    """How reports do not look like those of devices.

    Args:
        health: of reports that do not.
        details: whether keys are named.
    """
    if health.verdict == "surge":
        return f"far more reports than usual came on {days_shortly(health.surge_days)}"
    if not details and health.verdict == "uneven":
        return "one key answers differently from the others"
    keys = health.suspicious_keys if health.verdict == "suspicious" else health.uneven_keys
    named = ", ".join(visible(key_in_words(each.key, each.label)) for each in keys)
    if health.verdict == "suspicious":
        text = (
            f"reports of {days_shortly(health.suspicious_days)} are not all those of honest devices"
        )
        return f"{text}; key {named} stands out" if named and details else text
    return f"key {named} answers differently from the others"


def changes_of(report: Report, anchors: Mapping[str, str]) -> list[Item]:
    """Clear changes, the largest first.

    Args:
        report: its answers.
        anchors: the section of each metric.
    """
    clear = [
        (_size(each.change), each.change)
        for each in report.metrics
        if each.change is not None and _is_clear(each.change)
    ]
    clear.sort(key=lambda each: -each[0])
    return [
        Item(change.head.metric, _change(change), anchors.get(change.head.metric, ""))
        for _, change in clear
    ]


def _change(change: Answer) -> str:
    """The clear changes of a metric, and whether they may be made by fake reports."""
    verdicts = {each.verdict for each in change.head.summaries}
    text = as_sentence("; ".join(clear_changes(change)))
    if "suspicious" in verdicts:
        return f"{text} Its reports are suspicious: do not rely on this."
    if "uneven" in verdicts:
        return f"{text} One key answers differently from the others: compare without it."
    if "surge" in verdicts:
        return f"{text} Far more reports came than usual: compare without these days or keys."
    return text


def _is_clear(change: Answer) -> bool:
    values = change.of("distance", "difference in share", "difference in mean")
    return any(each.told for each in values)


def _size(change: Answer) -> float:
    """How large a clear change is: in points of shares, or as a part of the number before."""
    sizes = [0.0]
    for each in change.of("difference in share", "difference in mean"):
        if each.told and each.estimate is not None and each.before is not None:
            whole = 1.0 if each.unit == "points" else abs(each.before)
            sizes.append(abs(each.estimate) / whole if whole else 1.0)
    return max(sizes)


def unchanged_of(report: Report) -> str:
    """What is said of all metrics that were compared and have not clearly changed; or nothing."""
    others = [
        each for each in report.metrics if each.change is not None and not _is_clear(each.change)
    ]
    if not others:
        return ""
    names = ", ".join(visible(each.metric.name) for each in others)
    return f"No clear change in {counted(len(others), 'metric')}: {names}."


def section_of(answers: MetricAnswers, anchor: str = "") -> Section:
    """What a report says of one metric.

    Args:
        answers: about it.
        anchor: names the section within its document.
    """
    metric = answers.metric
    change = None if answers.change is None else explained(answers.change)
    section = Section(anchor, metric.name, metric.description or metric.name)
    shown = [
        (answer, tell(answer, order="largest", most=MOST_ROWS))
        for answer in (answers.estimate, answers.found, change)
        if answer is not None
    ]
    for answer, document in shown:
        for text in document.cautions:
            if text.removeprefix("Before: ").removeprefix("After: ") not in section.cautions:
                section.cautions.append(text)
        section.sentences.append(document.finding)
        if answer.head.kind != "mean" and answer is not change:
            section.figures.append(_figure(answer, "These days"))
        section.tables.extend(each for each in document.tables if each.name not in _LEFT_OUT)
    if shown:
        section.basis.append(shown[-1][1].basis)
    if answers.estimate is not None:
        section.basis.extend(robust_check(answers.estimate))
    if answers.series is not None and len(answers.series.head.periods) > 1:
        section.sentences.append(finding(answers.series))
        section.figures.append(_figure(answers.series, "Over time", MOST_FOLLOWED))
    return section


_LEFT_OUT: Final = ("bins", "pairs")
"""Tables of which the picture says enough."""


def _figure(answer: Answer, title: str, most: int = MOST_DRAWN) -> Figure:
    """A picture without what the section says already."""
    figure = figure_of(answer, most=most)
    return replace(figure, title=title, warnings=(), subtitle=figure.subtitle[1:2])


def _health(report: Report) -> Table | None:
    if report.overview is None:
        return None
    rows = []
    for each in report.metrics:
        health = each.health
        if health is not None:
            last = "never" if health.last_day is None else str(health.last_day)
            verdict = VERDICTS[health.verdict] if health.reports else "no reports"
            cells = (
                health.metric, verdict, f"{health.reports:,}", f"{health.reported_days:,}", last,
            )  # fmt: skip
            rows.append(Row(cells=cells))
    columns = [
        Column(heading="metric", words=True),
        Column(heading="reports look", words=True),
        Column(heading="reports"),
        Column(heading="days with reports"),
        Column(heading="last report"),
    ]
    return Table(name="health", caption="Reports of these days", columns=columns, rows=rows)


def _not_answered(report: Report) -> Iterator[Item]:
    """Why there is no answer: metrics with the same reason stand together."""
    reasons: dict[str, list[str]] = {}
    for each in report.metrics:
        if each.not_asked:
            reasons.setdefault(each.not_asked, []).append(each.metric.name)
        for failure in each.failures:
            if failure.question != "series":
                reason = f"{failure.question}: {visible(failure.message)}"
                reasons.setdefault(reason, []).append(each.metric.name)
    for reason, names in reasons.items():
        yield Item(visible(", ".join(names)), reason)
