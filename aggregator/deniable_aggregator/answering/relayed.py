"""What relayed reports of a metric cost, under the conditions under which that may be stated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answering.metrics import newest_first
from deniable_aggregator.answers.dates import FIRST_DAY, LAST_DAY, epoch_of
from deniable_aggregator.answers.relayed import HiddenReports, NoFigure, Relayed, RelayedVersion
from deniable_aggregator.counting.relayed import (
    DAYS_OF_A_WEEK,
    DELTA,
    WORTH_STATING,
    Crowd,
    GroupSize,
    central_epsilon,
    crowds,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_aggregator.answering.estimation.inputs import MetricReports
    from deniable_aggregator.answering.integrity.examiner import Examination
    from deniable_aggregator.answering.review import Review
    from deniable_aggregator.answers.questions import DaysQuery
    from deniable_aggregator.keeping.store import RelayedReports, Store
    from deniable_shared.spec import Spec


def relayed_cost(
    application: str,
    query: DaysQuery,
    store: Store,
    reported: MetricReports,
    review: Callable[[], Review],
) -> Relayed:
    """What the relayed reports of some days cost.

    Args:
        application: whose metric it is.
        query: the days.
        store: knows in which groups reports stood.
        reported: the metric's reports of these days.
        review: checks them; called only if some came through a relay.

    Raises:
        StoreUnavailableError: if the store cannot be read.
    """
    specs = [entry.spec for entry in newest_first(reported.entries)]
    found = store.relayed.of_days(
        [spec.digest for spec in specs],
        epoch_of(query.since or FIRST_DAY),
        epoch_of(query.until or LAST_DAY),
    )
    by_version = {
        spec.digest: [each for each in found if each.digest == spec.digest] for spec in specs
    }
    relayed = [spec for spec in specs if by_version[spec.digest]]
    examination = review().examination if relayed else None
    return Relayed(
        application=application,
        metric=specs[0].name,
        since=query.since,
        until=query.until,
        delta=DELTA,
        versions=[
            _version(spec, by_version[spec.digest], reported, examination)
            for spec in relayed or specs[:1]
        ],
    )


def _version(
    spec: Spec,
    found: Sequence[RelayedReports],
    reported: MetricReports,
    examination: Examination | None,
) -> RelayedVersion:
    of_counted_keys = [
        each
        for each in found
        if each.key not in reported.without and not reported.is_excluded(each.key)
    ]
    counted: list[RelayedReports] = []
    if examination is not None:
        good = {day.epoch for day in examination.days if day.spec.digest == spec.digest}
        good -= {day.epoch for day in examination.failing_days}
        counted = [each for each in of_counted_keys if each.epoch in good]
    hidden: list[HiddenReports] = []
    reason = _reason(spec, found, of_counted_keys, counted)
    if reason is None:
        groups = [GroupSize(each.least, each.reports) for each in counted]
        hidden = [_hidden(spec, crowd) for crowd in crowds(groups)]
        if all(each.epsilon > WORTH_STATING * spec.mechanism.epsilon for each in hidden):
            hidden, reason = [], "small_groups"
    reports = sum(each.reports for each in counted)
    return RelayedVersion(
        version=spec.digest.hex(),
        every=spec.every,
        epsilon=spec.mechanism.epsilon,
        reports=reports,
        not_counted=sum(each.reports for each in found) - reports,
        hidden=hidden,
        reason=reason,
    )


def _reason(
    spec: Spec,
    found: Sequence[RelayedReports],
    of_counted_keys: Sequence[RelayedReports],
    counted: Sequence[RelayedReports],
) -> NoFigure | None:
    """The first condition that is broken."""
    mechanism = spec.mechanism
    broken: Sequence[tuple[bool, NoFigure]] = (
        (not found, "not_relayed"),
        (mechanism.epsilon_permanent is not None, "memoized"),
        (mechanism.delta > 0, "own_delta"),
        (not of_counted_keys, "excluded_keys"),
        (not counted, "suspicious_days"),
    )
    return next((reason for is_broken, reason in broken if is_broken), None)


def _hidden(spec: Spec, crowd: Crowd) -> HiddenReports:
    epsilon = spec.mechanism.epsilon
    daily = spec.every == "day"
    return HiddenReports(
        of_100=crowd.of_100,
        honest=crowd.honest,
        smaller=crowd.smaller,
        epsilon=central_epsilon(epsilon, crowd.honest),
        epsilon_of_week=central_epsilon(epsilon, crowd.honest, DAYS_OF_A_WEEK) if daily else None,
    )
