"""The functions that answer about two sides: two periods, or two parts of the same reports."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from deniable_aggregator.answering import weekdays
from deniable_aggregator.answering.answering import Answerer, Asked, answers
from deniable_aggregator.answering.asked_reports import (
    Read,
    answered_only,
    least_reports,
    question_of,
    require_large_parts,
    require_large_segment,
)
from deniable_aggregator.answering.change import Change, change, change_of
from deniable_aggregator.answering.comparability import (
    Chosen,
    compare_versions,
    keys_on_one_side,
)
from deniable_aggregator.answering.estimation.estimator import (
    refuse_for_segments,
)
from deniable_aggregator.answering.estimation.inputs import (
    ChangeRequest,
    CollectedTallies,
    MetricReports,
)
from deniable_aggregator.answering.estimation.segment_differences import (
    compare_segments,
    with_both_segments,
    without_notice,
)
from deniable_aggregator.answering.metrics import newest_first
from deniable_aggregator.answering.parts import Split, say_parts
from deniable_aggregator.answering.reader import require_values
from deniable_aggregator.answering.requests import estimate_refused
from deniable_aggregator.answering.review import (
    SIMULATED,
    Review,
)
from deniable_aggregator.answering.sides import sides_of
from deniable_aggregator.answering.small_parts import require_reports
from deniable_aggregator.answering.splitting import change_parts
from deniable_aggregator.answering.why import EFFECTS, explain
from deniable_aggregator.answers.answer import (
    Answer,
    Head,
)
from deniable_aggregator.answers.common import Notice, ordered_notices
from deniable_aggregator.answers.dates import FIRST_DAY, LAST_DAY, DayRange, day_of
from deniable_aggregator.asking import questions
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from deniable_aggregator.answers.questions import (
        ChangeQuery,
        CompareQuery,
    )


@answers(questions.CHANGE)
def _change(of: Answerer, asked: Asked[ChangeQuery]) -> Answer:
    read = Read.by(of, asked)
    one, other = map(of.reader.collect, read.reported, asked.days)
    try:
        versions = compare_versions(one, other, read.newest_first, _first_days(read.reported))
        reported = [
            answered_only(side, chosen, asked.lists)
            for side, chosen in zip(read.reported, (versions.before, versions.after), strict=True)
        ]
        before, after = one.only(versions.before.kept), other.only(versions.after.kept)
        request = ChangeRequest(asked.query, asked.lists)
        result, of_weekdays = _of_same_weekdays(of, reported, (before, after), request)
        split = Split([], [])
        if asked.query.split is not None:

            def compare(sides: Sequence[MetricReports], request: ChangeRequest) -> Change:
                first, second = map(of.reader.collect, sides, asked.days)
                found, _ = _of_same_weekdays(of, sides, (first, second), request)
                return found

            least = least_reports(of)
            split = change_parts(reported, asked.days, request, result, compare, least)
        why = asked.query.why
        effects = (
            []
            if why is None
            else explain(of.reader, reported, asked.days, result, request, why, least_reports(of))
        )
    except ParameterError as error:
        raise estimate_refused(error) from None
    first, second = map(of.reviewer.review, reported)
    head = _head_of_two(result, asked, (first, second), asked.query.periods())
    say_parts(head, split)
    if effects:
        head.meanings["why"] = EFFECTS
    answer = Answer(
        head=head,
        question=question_of("change", asked.query),
        numbers=[*result.numbers(), *effects, *split.numbers],
        notices=ordered_notices(
            versions.notices,
            of_weekdays,
            keys_on_one_side(*reported),
            _of_side("Before", first),
            _of_side("After", second),
            result.notices,
        ),
    )
    require_large_segment(of, answer, asked.query.segment)
    return answer


def _head_of_two(
    result: Change,
    asked: Asked[Any],
    reviews: tuple[Review, Review],
    days: tuple[DayRange, DayRange],
    names: tuple[str, str] | None = None,
) -> Head:
    """The head of a comparison, which has days and health by side."""
    first, second = reviews
    head = result.head(
        second.head(asked.application),
        days,
        (first.days, second.days),
        (first.summary, second.summary),
        names,
    )
    head.days, head.health = None, None
    return head


@answers(questions.COMPARE)
def _compare(of: Answerer, asked: Asked[CompareQuery]) -> Answer:
    query, (days,) = asked.query, asked.days
    only = query.version[0] if len(query.version) == 1 else None
    metric = of.reader.asked_metric(asked.application, asked.name, query.without_key, only)
    require_values(metric.specs, asked.lists)
    everything = of.reader.read(metric, days)
    request = ChangeRequest(query, asked.lists)
    require_large_parts(of, metric, everything, only)
    try:
        if query.axis == "segment":
            return _compare_segments(of, asked, everything, request)
        sides = sides_of(of.reader, metric, everything, query)
        names = sides[0].name, sides[1].name
        tallies = [of.reader.collect(each.reported, days) for each in sides]
        for side, counts in zip(sides, tallies, strict=True):
            require_reports(query.axis, side.name, counts.reports, least_reports(of))
        newest = [entry.spec for entry in newest_first(metric.entries)]
        versions = compare_versions(tallies[0], tallies[1], newest, {}, names)
        reported = [
            answered_only(side.reported, chosen, asked.lists)
            for side, chosen in zip(sides, (versions.before, versions.after), strict=True)
        ]
        before = tallies[0].only(versions.before.kept)
        after = tallies[1].only(versions.after.kept)
        result, of_weekdays = _of_same_weekdays(of, reported, (before, after), request, names)
    except ParameterError as error:
        raise estimate_refused(error) from None
    first, second = map(of.reviewer.review, reported)
    covered = [_days_of(review.reported, days) for review in (first, second)]
    answer = Answer(
        head=_head_of_two(result, asked, (first, second), (covered[0], covered[1]), names),
        question=question_of("compare", query),
        numbers=result.numbers(),
        notices=ordered_notices(
            versions.notices,
            of_weekdays,
            _of_side(names[0], first),
            _of_side(names[1], second),
            result.notices,
        ),
    )
    require_large_segment(of, answer, query.within)
    return answer


def _days_of(reported: MetricReports, asked: DayRange) -> DayRange:
    """The days that were asked about, narrowed to those with reports where an end is left out."""
    first, last = day_of(reported.reported_days[0]), day_of(reported.reported_days[-1])
    return DayRange(
        first if asked.since == FIRST_DAY else asked.since,
        last if asked.until == LAST_DAY else asked.until,
    )


def _compare_segments(
    of: Answerer,
    asked: Asked[CompareQuery],
    everything: MetricReports,
    request: ChangeRequest,
) -> Answer:
    """Two segments of the same reports.

    Raises:
        ParameterError: if they cannot be compared.
    """
    query, (days,) = asked.query, asked.days
    refuse_for_segments(everything.specs, request)
    both = with_both_segments(of.reader.collect(everything, days), query.sides)
    reported = answered_only(
        everything, Chosen(frozenset(s.digest for s in both.specs), ()), asked.lists
    )
    comparison = compare_segments(both, query.sides, request)
    assert comparison.segment is not None
    for size in comparison.segment:
        name = f"segment {size.segment}"
        require_reports("segment", name, (size.estimate or 0.0) * both.reports, least_reports(of))
    result = change_of(comparison, both, both, request)
    review = of.reviewer.review(reported)
    covered = _days_of(reported, days)
    first, second = (size.segment or "" for size in comparison.segment)
    left_out = everything.reports - both.reports
    head = _head_of_two(result, asked, (review, review), (covered, covered), (first, second))
    head.left_out_reports = left_out
    return Answer(
        head=head,
        question=question_of("compare", query),
        numbers=result.numbers(),
        notices=ordered_notices(
            review.notices,
            without_notice(both.specs[0], left_out, query.sides),
            result.notices,
        ),
    )


def _of_same_weekdays(
    of: Answerer,
    reported: Sequence[MetricReports],
    sides: tuple[CollectedTallies, CollectedTallies],
    request: ChangeRequest,
    names: tuple[str, str] | None = None,
) -> tuple[Change, list[Notice]]:
    """A change between two sides; of unlike ones, over the weekdays that both have.

    Raises:
        ParameterError: if it cannot be compared.
    """
    before, after = sides
    days = [weekdays.by_day(side.by_day.values()) for side in reported]
    daily = weekdays.are_daily((*before.specs, *after.specs))
    if not daily or not weekdays.unlike(*days):
        return change(before, after, request), []
    rolled = [
        day_of(period.days[1])
        for side in reported
        for table in side.tables.values()
        for period in table.rolled
    ]
    if rolled:
        return change(before, after, request), [weekdays.not_kept_apart(max(rolled), names)]
    matched = weekdays.match([partial(of.reader.collect, side) for side in reported], days, names)
    result = change(matched.before, matched.after, request)
    return result.beside(change(before, after, request)), [matched.notice]


def _first_days(sides: Sequence[MetricReports]) -> dict[bytes, date]:
    """The first day with reports of each version, by digest."""
    days: dict[bytes, int] = {}
    for side in sides:
        for digest, reports in side.by_day.items():
            days[digest] = min(days.get(digest, min(reports)), min(reports))
    return {digest: day_of(day) for digest, day in days.items()}


def _of_side(when: str, review: Review) -> list[Notice]:
    """The notices about one of two sides, which say about which."""
    return [
        each if each == SIMULATED else replace(each, message=f"{when}: {each.message}")
        for each in review.notices
    ]
