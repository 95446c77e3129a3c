"""Parts of the reports that are too small to be looked at, or to be left out.

Every part that is shown alone, left out or subtracted has some reports in the days asked, as the
setting `part_reports` says: a key, a version, a segment, and what remains without it. Parts beside
each other are folded into others instead, by `estimation.decomposition.kept_parts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answering.estimation.inputs import UnanswerableError
from deniable_aggregator.telling.wording import counted, key_in_words

if TYPE_CHECKING:
    from deniable_aggregator.answering.estimation.inputs import MetricReports
    from deniable_aggregator.answering.reader import AskedMetric, MetricReader
    from deniable_aggregator.answers.answer import Answer


def require_parts(
    reader: MetricReader,
    metric: AskedMetric,
    reported: MetricReports,
    least: int,
    version: str | None = None,
) -> None:
    """Refuses a question that shows, or leaves out, a part of the reports that is too small.

    Whoever asks with and without it could subtract. What there is nothing of may be left out.

    Args:
        reader: reads the reports of other versions.
        metric: as it was asked about.
        reported: the reports of the days that are asked about, without keys that are left out.
        least: how many reports a part needs.
        version: the only version that is asked about; None for all.

    Raises:
        UnanswerableError: if a part has fewer.
    """
    shown = reported.reports
    asked_out = [each for each in reported.left_out if not reported.is_excluded(each.key)]
    if asked_out:
        names = [
            key_in_words(key, reported.keys[key].label if key in reported.keys else "")
            for key in sorted({each.key for each in asked_out})
        ]
        what = f"{'key' if len(names) == 1 else 'keys'} {', '.join(names)}"
        require_reports("without_key", what, sum(each.reports for each in asked_out), least)
        require_reports("without_key", f"{metric.name} without {what}", shown, least)
    if version is not None:
        whole = reader.asked_metric(metric.application, metric.name)
        others = reader.reports_of(whole, reported.days, reported.without) - shown
        if others > 0:
            require_reports("version", f"version {version}", shown, least)
            require_reports("version", f"{metric.name} without version {version}", others, least)


def require_segment(answer: Answer, segment: str | None, least: int) -> None:
    """Refuses to answer within a segment that is too small.

    Args:
        answer: within it.
        segment: its name; None of all reports.
        least: how many reports it needs: of a series altogether, else of each period.

    Raises:
        UnanswerableError: if it has fewer, as far as that can be estimated.
    """
    if segment is None:
        return
    sizes = [
        (size.estimate or 0.0) * answer.head.periods[size.period].reports
        for size in answer.of("segment size")
    ]
    if sizes:
        reports = sum(sizes) if answer.question.name == "series" else min(sizes)
        require_reports("segment", f"segment {segment}", reports, least)


def require_reports(axis: str, name: str, reports: float, least: int) -> None:
    """Refuses to look at a part of the reports that is too small.

    Args:
        axis: what it is: key, version or segment.
        name: of the part, in words.
        reports: how many it has, or about how many.
        least: how many it needs.

    Raises:
        UnanswerableError: if it has fewer.
    """
    if reports < least:
        about = "about " if axis == "segment" else ""
        raise UnanswerableError(
            axis,
            name,
            f"{name} has {about}{counted(max(round(reports), 0), 'report')} in these days, and "
            f"what is shown or left out by itself needs {least:,} (part_reports): fewer say "
            "little, and much of each device. Ask about more days",
        )
