"""The functions that answer about one period, or about no metric; comparisons.py has the others.

They are called by `Answerer.answer`, which reads steadily where days may become one meanwhile.
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answering import comparisons
from deniable_aggregator.answering.answering import Answerer, Asked, answers, answers_in_rows
from deniable_aggregator.answering.asked_reports import (
    Read,
    answered_only,
    least_reports,
    question_of,
    require_large_parts,
    require_large_segment,
)
from deniable_aggregator.answering.comparability import (
    Chosen,
    choose_versions,
    followed_versions,
    left_out_notices,
)
from deniable_aggregator.answering.estimation.estimator import (
    common_kind,
    estimate,
)
from deniable_aggregator.answering.estimation.inputs import (
    EstimateRequest,
    MetricReports,
    say_periods,
)
from deniable_aggregator.answering.estimation.shares import ShareEstimate
from deniable_aggregator.answering.integrity import report
from deniable_aggregator.answering.integrity.examiner import FAMILY_P
from deniable_aggregator.answering.integrity.slice_medians import MEANING
from deniable_aggregator.answering.kept_periods import KeptSeries, asked_key
from deniable_aggregator.answering.metrics import list_metrics, metric_details
from deniable_aggregator.answering.overview import all_metrics_health
from deniable_aggregator.answering.parts import Split, say_parts
from deniable_aggregator.answering.relayed import relayed_cost
from deniable_aggregator.answering.requests import ProblemError, estimate_refused
from deniable_aggregator.answering.review import (
    HEALTH_CELLS,
    SIMULATED,
    Review,
)
from deniable_aggregator.answering.series import MAX_PERIODS, calendar_periods, series
from deniable_aggregator.answering.splitting import estimate_parts, series_parts
from deniable_aggregator.answers.administration import Annotations, Metrics, SavedList, SavedLists
from deniable_aggregator.answers.answer import (
    Answer,
    ChecksNote,
)
from deniable_aggregator.answers.common import ordered_notices
from deniable_aggregator.answers.dates import FIRST_DAY, LAST_DAY, DayRange, day_of
from deniable_aggregator.answers.row import EstimateTable, EstimateTableQuery, Row
from deniable_aggregator.answers.words import VERSION_LETTERS
from deniable_aggregator.asking import questions
from deniable_aggregator.counting.statistics.checks import MEANINGS
from deniable_aggregator.counting.statistics.intervals import DEFAULT_LEVEL
from deniable_aggregator.keeping.lists_and_annotations import NoSuchListError
from deniable_aggregator.media.rows import rows_of
from deniable_shared.characters import visible
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.answers.discoveries import Discoveries, Discovery, DiscoveryQuery
    from deniable_aggregator.answers.health_overview import HealthOverview
    from deniable_aggregator.answers.metrics import MetricDetails
    from deniable_aggregator.answers.questions import (
        DaysQuery,
        EstimateQuery,
        SeriesQuery,
    )
    from deniable_aggregator.answers.registry_history import RegistryHistory
    from deniable_aggregator.answers.relayed import Relayed
    from deniable_aggregator.answers.views import SavedViews
    from deniable_aggregator.keeping.parts import Parts
    from deniable_shared.spec import Spec

__all__ = [
    "Answerer",
    "comparisons",
    "no_such_list",
]


def read_rows(parts: Parts, application: str, query: EstimateTableQuery) -> Iterator[Row]:
    """The rows that a question is about, with whole identifiers of versions.

    Args:
        parts: the store that holds the table, and its metrics.
        application: whose rows are read.
        query: which of them.
    """
    specs = [entry.spec for entry in parts.catalogue.for_application(application)]
    names = {spec.name for spec in specs}
    ids = {spec.digest.hex()[:VERSION_LETTERS]: spec.digest.hex() for spec in specs}
    whole = lru_cache(lambda short: " ".join(ids.get(each, each) for each in short.split()))
    for row in parts.store.estimates.read(
        application,
        query.period,
        since=query.since or FIRST_DAY,
        until=query.until or LAST_DAY,
        metrics=names & set(query.metric) if query.metric else names,
        measures=query.measure,
        values=query.value,
        top=query.top,
        brief=query.brief,
    ):
        row["version"] = row["version"] and whole(row["version"])
        yield Row(application=application, question="estimate", **row)


@answers(questions.METRICS)
def _metrics(of: Answerer, asked: Asked[None]) -> Metrics:
    entries = of.parts.catalogue.for_application(asked.application)
    notices = [SIMULATED] if of.parts.catalogue.simulated else []
    return Metrics(asked.application, list_metrics(of.parts.store, entries), notices)


@answers(questions.METRIC)
def _metric(of: Answerer, asked: Asked[None]) -> MetricDetails:
    entries = of.reader.asked_metric(asked.application, asked.name).entries
    return metric_details(of.parts.store, entries, of.reader.hidden_by_key(entries))


@answers(questions.ESTIMATE)
def _estimate(of: Answerer, asked: Asked[EstimateQuery]) -> Answer:
    query, read = asked.query, Read.by(of, asked)
    (everything,) = read.reported
    (days,) = asked.days
    question = asked_key((query, asked.lists)), tuple(read.newest_first)
    fingerprint = everything.fingerprint(days)
    known = of.kept_estimates.find(question, days, fingerprint)
    if known is None:
        counted = of.reader.collect(everything, days)
        chosen = choose_versions(counted, read.newest_first)
    else:
        chosen = known[0]
    reported = answered_only(everything, chosen, asked.lists)
    request = EstimateRequest(query, asked.lists)
    split = Split([], [])
    try:
        if known is None:
            result = estimate(counted.only(chosen.kept), request)
            of.kept_estimates.keep(question, days, fingerprint, (chosen, result), result)
        else:
            result = known[1]
        if query.split is not None:
            split = estimate_parts(of.reader, reported, days, request, result, least_reports(of))
    except ParameterError as error:
        raise estimate_refused(error) from None
    review = of.reviewer.review(reported)
    head = result.head(review.head(asked.application))
    say_periods(head, reported.specs, reported.by_day)
    say_parts(head, split)
    head.left_out_reports += chosen.reports_left_out
    # Of a segment, and of versions that do not add up, some reports are left out.
    head.periods[0].reports = head.reports
    answer = Answer(
        head=head,
        question=question_of("estimate", query),
        numbers=[*result.numbers(), *split.numbers],
        notices=ordered_notices(
            review.notices,
            result.notices,
            left_out_notices(chosen.left_out, reported.specs[0]),
        ),
    )
    require_large_segment(of, answer, query.segment)
    if isinstance(result, ShareEstimate):
        _add_robust_checks(of, answer, review)
    return answer


def _add_robust_checks(of: Answerer, answer: Answer, review: Review) -> None:
    checked = of.medians.robust_checks(
        review.reported.of_days, answer.of("share"), DEFAULT_LEVEL, review.kept
    )
    if checked is None:
        return
    answer.head.meanings["robust check"] = MEANING
    shares = iter(checked)
    answer.numbers = [
        next(shares) if number.measure == "share" and not number.of_part else number
        for number in answer.numbers
    ]
    answer.notices = ordered_notices(
        answer.notices, report.of_robust_checks(answer.head.metric, checked)
    )


@answers(questions.SERIES)
def _series(of: Answerer, asked: Asked[SeriesQuery]) -> Answer:
    read = Read.by(of, asked)
    (everything,) = read.reported
    periods = _periods(everything, asked.query)
    followed: Sequence[Spec] = everything.specs
    if common_kind(followed) is None:
        counted = of.reader.collect(everything, *asked.days)
        followed = followed_versions(counted, read.newest_first).versions
    versions = frozenset(spec.digest for spec in followed)
    left_out = [
        (spec, sum(everything.by_day[spec.digest].values()))
        for spec in everything.specs
        if spec.digest not in versions
    ]
    reported = answered_only(everything, Chosen(versions, left_out), asked.lists)
    split = Split([], [])
    try:
        ahead = everything.reading_ahead()
        result = series(
            lambda period: of.reader.collect(ahead, period),
            reported.specs,
            periods,
            asked.query,
            asked.lists,
            newest_first=read.newest_first,
            kept=KeptSeries(of.kept_periods, everything.fingerprint),
        )
        if asked.query.split is not None:
            split = series_parts(
                of.reader,
                reported,
                periods,
                asked.query,
                asked.lists,
                result,
                read.newest_first,
                least_reports(of),
            )
    except ParameterError as error:
        raise estimate_refused(error) from None
    first, last = periods[0].since, periods[-1].until
    review = of.reviewer.review(reported)
    head = result.head(review.head(asked.application))
    say_parts(head, split)
    head.annotations = of.parts.annotations.between(asked.application, first, last)
    answer = Answer(
        head=head,
        question=question_of("series", asked.query),
        numbers=[*result.numbers(), *split.numbers],
        checks=result.checks(review.days),
        notices=ordered_notices(
            review.notices,
            result.notices,
            left_out_notices(left_out, reported.specs[0]),
        ),
    )
    require_large_segment(of, answer, asked.query.segment)
    return answer


def _periods(reported: MetricReports, query: SeriesQuery) -> list[DayRange]:
    """The periods of a series; where an end is left out, up to the last day with reports."""
    since = query.since or day_of(reported.reported_days[0])
    until = query.until or day_of(reported.reported_days[-1])
    periods = list(itertools.islice(calendar_periods(query.by, since, until), MAX_PERIODS + 1))
    if len(periods) > MAX_PERIODS:
        raise ProblemError(
            "malformed_question",
            f"A series has at most {MAX_PERIODS} periods: narrow since and until, or choose a "
            "longer period with by.",
        )
    return periods


@answers(questions.HEALTH)
def _health(of: Answerer, asked: Asked[DaysQuery]) -> Answer:
    query = asked.query
    metric = of.reader.asked_metric(asked.application, asked.name, query.without_key)
    reported = of.reader.read(metric, *asked.days)
    require_large_parts(of, metric, reported)
    review = of.reviewer.review(reported, most_cells=HEALTH_CELLS)
    keys = reported.keys
    head = review.head(asked.application)
    head.checks = ChecksNote(
        made=review.examination.checks_made,
        p_below=review.examination.limit,
        meaning=_ALARM,
        asks={**MEANINGS, **report.VOLUME_MEANINGS},
        invisible=report.INVISIBLE,
    )
    return Answer(
        head=head,
        question=question_of("health", query),
        numbers=[report.contrast(contrast, keys) for contrast in review.contrasts],
        checks=report.by_day(review.examination, review.volumes.surges, keys),
        notices=ordered_notices(review.notices, report.of_acknowledged(review.pasts, keys)),
    )


_ALARM: Final = (
    "a check fails if the probability of such counts in honest reports is below p_below: "
    "4.2 standard deviations, or more where many checks are made, so that honest reports "
    f"fail any of them with a probability of {FAMILY_P:g} at most"
)


@answers(questions.HEALTH_OVERVIEW)
def _health_overview(of: Answerer, asked: Asked[DaysQuery]) -> HealthOverview:
    return all_metrics_health(of.parts, of.reader, of.reviewer, asked.application, asked.query)


@answers(questions.RELAYED)
def _relayed(of: Answerer, asked: Asked[DaysQuery]) -> Relayed:
    metric = of.reader.asked_metric(asked.application, asked.name, asked.query.without_key)
    (days,) = asked.days
    reported = of.reader.read(metric, days)
    require_large_parts(of, metric, reported)
    return relayed_cost(
        asked.application,
        asked.query,
        of.parts.store,
        reported,
        lambda: of.reviewer.review(reported, most_cells=HEALTH_CELLS),
    )


@answers(questions.ESTIMATES)
def _estimates(of: Answerer, asked: Asked[EstimateTableQuery]) -> EstimateTable:
    return EstimateTable(
        application=asked.application,
        period=asked.query.period,
        rows=list(read_rows(of.parts, asked.application, asked.query)),
    )


@answers_in_rows(questions.ESTIMATES)
def _rows_of_estimates(of: Answerer, asked: Asked[EstimateTableQuery]) -> Iterator[Row]:
    return read_rows(of.parts, asked.application, asked.query)


@answers(questions.DISCOVER)
def _discover(of: Answerer, asked: Asked[DiscoveryQuery]) -> Discovery:
    return of.discoveries.ask(asked.application, asked.name, asked.query, asked.lists)


@answers(questions.DISCOVERIES)
def _discoveries(of: Answerer, asked: Asked[None]) -> Discoveries:
    return of.discoveries.list(asked.application, asked.name)


@answers(questions.DISCOVERY)
def _discovery(of: Answerer, asked: Asked[None]) -> Discovery:
    metric, number = asked.place
    return of.discoveries.find(asked.application, str(metric), int(number))


@answers_in_rows(questions.DISCOVERY)
def _rows_of_discovery(of: Answerer, asked: Asked[None]) -> Iterator[Row]:
    answer = _discovery(of, asked)
    if not answer.result:
        raise ProblemError(
            "no_result",
            f"Discovery {answer.id} is {answer.state}. The same path as JSON says how far it is.",
        )
    return rows_of(answer.result)


@answers(questions.SAVED_LISTS)
def _saved_lists(of: Answerer, asked: Asked[None]) -> SavedLists:
    return of.parts.lists.all(asked.application)


@answers(questions.SAVED_LIST)
def _saved_list(of: Answerer, asked: Asked[None]) -> SavedList:
    try:
        return of.parts.lists.find(asked.application, asked.name)
    except NoSuchListError:
        raise no_such_list(asked.name) from None


def no_such_list(name: str) -> ProblemError:
    """The problem of a list that is not there.

    Args:
        name: as it was asked for.
    """
    return ProblemError(
        "not_found", visible(f"There is no saved list {name[:100]!r}. GET /v1/lists lists them.")
    )


@answers(questions.SAVED_VIEWS)
def _saved_views(of: Answerer, asked: Asked[None]) -> SavedViews:
    return of.parts.views.all(asked.application)


@answers(questions.ANNOTATIONS)
def _annotations(of: Answerer, asked: Asked[None]) -> Annotations:
    return of.parts.annotations.all(asked.application)


@answers(questions.REGISTRY_HISTORY)
def _registry_history(of: Answerer, asked: Asked[None]) -> RegistryHistory:
    return of.parts.store.metrics.history(asked.application)
