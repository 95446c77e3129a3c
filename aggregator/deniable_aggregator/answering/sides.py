"""The two sides of a comparison that are not two periods: keys or versions, in the same days."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deniable_aggregator.answering.estimation.inputs import UnanswerableError
from deniable_aggregator.answering.reader import no_reports
from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.answering.review import version_named
from deniable_aggregator.answers.words import VERSION_LETTERS
from deniable_aggregator.telling.wording import counted, key_in_words

if TYPE_CHECKING:
    from deniable_aggregator.answering.estimation.inputs import MetricReports
    from deniable_aggregator.answering.reader import AskedMetric, MetricReader
    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.questions import CompareQuery

BETWEEN_KEYS = "+"


class Side(NamedTuple):
    """One side of a comparison.

    Attributes:
        name: what it is, such as "key store-3".
        reported: its reports.
    """

    name: str
    reported: MetricReports


def sides_of(
    reader: MetricReader, metric: AskedMetric, reported: MetricReports, query: CompareQuery
) -> tuple[Side, Side]:
    """The two sides of a comparison of keys or versions.

    Args:
        reader: knows the keys.
        metric: what is asked about.
        reported: all of its reports.
        query: the question; not about two segments.

    Raises:
        ProblemError: if a side names no key or version, or has no report, or both have a key.
    """
    if query.axis == "version":
        sides = [_of_version(metric, reported, start) for start in query.sides]
    else:
        named = [
            reader.keys_named(metric.application, names.split(BETWEEN_KEYS), "key")
            for names in query.sides
        ]
        if named[0] & named[1]:
            both = ", ".join(sorted(named[0] & named[1]))
            raise ProblemError("malformed_question", f"key must be two without {both} in both")
        sides = [_of_keys(reported, chosen) for chosen in named]
    for side in sides:
        if not side.reported.reported_days:
            raise no_reports(f"{metric.name}, {side.name},", excluded=side.reported.excluded)
    if {*sides[0].reported.by_day} == {*sides[1].reported.by_day} and query.axis == "version":
        raise ProblemError("malformed_question", "version must be two that differ")
    return sides[0], sides[1]


def _of_version(metric: AskedMetric, reported: MetricReports, start: str) -> Side:
    spec = version_named(metric.entries, start).spec
    return Side(
        f"version {spec.digest.hex()[:VERSION_LETTERS]}", reported.apart.only({spec.digest})
    )


def _of_keys(reported: MetricReports, chosen: frozenset[str]) -> Side:
    names = [
        key_in_words(key, reported.keys[key].label if key in reported.keys else "")
        for key in sorted(chosen)
    ]
    what = "key" if len(names) == 1 else "keys"
    return Side(f"{what} {f' {BETWEEN_KEYS} '.join(names)}", reported.of_keys(chosen))


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
    shown = sum(sum(by_day.values()) for by_day in reported.by_day.values())
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
