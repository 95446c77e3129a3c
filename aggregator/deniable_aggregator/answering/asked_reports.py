"""Reads the reports that a question is about, before they are estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deniable_aggregator.answering.metrics import newest_first
from deniable_aggregator.answering.reader import require_values
from deniable_aggregator.answering.requests import estimate_refused
from deniable_aggregator.answering.small_parts import require_parts, require_segment
from deniable_aggregator.answers.answer import AskedQuestion, QuestionName
from deniable_aggregator.answers.questions import ValueLists, given_parameters
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from msgspec import Struct

    from deniable_aggregator.answering.answering import Answerer, Asked
    from deniable_aggregator.answering.comparability import Chosen
    from deniable_aggregator.answering.estimation.inputs import MetricReports
    from deniable_aggregator.answering.reader import AskedMetric
    from deniable_aggregator.answers.answer import Answer
    from deniable_shared.spec import Spec


@dataclass(frozen=True)
class Read:
    """The reports that a question is about.

    Attributes:
        reported: which there are, of each range of days.
        newest_first: the versions.
    """

    reported: Sequence[MetricReports]
    newest_first: Sequence[Spec]

    @classmethod
    def by(cls, of: Answerer, asked: Asked[Any]) -> Read:
        """Reads them.

        Raises:
            ProblemError: if the metric is unknown or has no reports, values must be listed, or a
                part that is asked about is too small.
        """
        query = asked.query
        metric = of.reader.asked_metric(
            asked.application, asked.name, query.without_key, query.version
        )
        require_values(metric.specs, asked.lists)
        reported = [of.reader.read(metric, each) for each in asked.days]
        for each in reported:
            require_large_parts(of, metric, each, query.version)
        versions = [entry.spec for entry in newest_first(metric.entries)]
        return cls(reported, versions)


def answered_only(reported: MetricReports, chosen: Chosen, lists: ValueLists) -> MetricReports:
    """The reports of the versions that are answered.

    Raises:
        ProblemError: if values must be listed.
    """
    kept = reported.only(chosen.kept)
    require_values(kept.specs, lists)
    return kept


def question_of(name: QuestionName, query: Struct) -> AskedQuestion:
    """What was asked, as its answer says it."""
    return AskedQuestion(name=name, parameters=given_parameters(query))


def require_large_parts(
    of: Answerer, metric: AskedMetric, reported: MetricReports, version: str | None = None
) -> None:
    """Refuses a question about too small a part, see `require_parts`.

    Raises:
        ProblemError: which part is too small.
    """
    try:
        require_parts(of.reader, metric, reported, least_reports(of), version)
    except ParameterError as error:
        raise estimate_refused(error) from None


def require_large_segment(of: Answerer, answer: Answer, segment: str | None) -> None:
    """Refuses to answer within too small a segment, see `require_segment`.

    Raises:
        ProblemError: if it is too small.
    """
    try:
        require_segment(answer, segment, least_reports(of))
    except ParameterError as error:
        raise estimate_refused(error) from None


def least_reports(of: Answerer) -> int:
    """How many reports a part of all reports needs."""
    return of.parts.settings.part_reports
