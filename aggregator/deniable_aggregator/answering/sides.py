"""The two sides of a comparison that are not two periods: keys or versions, in the same days."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deniable_aggregator.answering.reader import no_reports
from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.answering.review import version_named
from deniable_aggregator.answers.words import VERSION_LETTERS
from deniable_aggregator.telling.wording import key_in_words

if TYPE_CHECKING:
    from deniable_aggregator.answering.estimation.inputs import MetricReports
    from deniable_aggregator.answering.reader import AskedMetric, MetricReader
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
