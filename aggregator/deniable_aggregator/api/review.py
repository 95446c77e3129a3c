"""What every answer says of the reports behind it: days, verdict, and what to know first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.answer import Head, Period
from deniable_aggregator.answers.common import IntegritySummary, Notice, ordered_notices
from deniable_aggregator.api.covered_days import covered_days
from deniable_aggregator.api.metric_list import newest_registration
from deniable_aggregator.dates import day_of
from deniable_aggregator.integrity import notices, report
from deniable_aggregator.integrity.examiner import Examination, Examiner
from deniable_aggregator.integrity.kept_verdicts import kept_of
from deniable_aggregator.integrity.key_contrasts import KeyComparison, KeyContrast
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deniable_aggregator.answers.days import Days
    from deniable_aggregator.estimation.metric_reports import MetricReports
    from deniable_aggregator.integrity.kept_verdicts import KeptVerdicts
    from deniable_aggregator.store import Store

SUMMARY_CELLS: Final = 1 << 22
"""Beside an estimate, at most so many counters are read for checks that were not read before."""

HEALTH_CELLS: Final = 1 << 26
"""The same for a question about health alone, of one metric or of all of them together."""

LEAST_CELLS: Final = 1 << 18
"""The least share of these that one of many metrics has."""


@dataclass(frozen=True)
class Review:
    """What is known of some reports.

    Attributes:
        reported: the reports; at least one.
        examination: the checks of what noise decides.
        contrasts: every key against the others.
        days: the days that are covered.
        summary: the verdict.
        notices: what to know first.
        kept: what was found of days before they became one, by the digests of their versions.
    """

    reported: MetricReports
    examination: Examination
    contrasts: Sequence[KeyContrast]
    days: Days
    summary: IntegritySummary
    notices: Sequence[Notice]
    kept: Mapping[bytes, Sequence[KeptVerdicts]]

    @property
    def description(self) -> str:
        """What the metric is for, as its newest version says."""
        return newest_registration(self.reported.entries).description

    def head(self, application: str, pending_reports: int) -> Head:
        """The head of an answer about these reports.

        Args:
            application: whose metric it is.
            pending_reports: how many reports of the metric wait to be counted.
        """
        reported, days = self.reported, self.days
        reports = sum(sum(counted.values()) for counted in reported.by_day.values())
        return Head(
            application=application,
            metric=reported.entries[0].spec.name,
            description=self.description,
            kind="health",
            days=days,
            health=self.summary,
            periods=[
                Period(
                    since=days.since,
                    until=days.until,
                    reports=reports,
                    marks=days.marks(days.since, days.until),
                )
            ],
            reports=reports,
            pending_reports=pending_reports,
            excluded_reports=reported.excluded,
        )


class Reviewer:
    """Reviews reports; what was checked once is not checked again until the counts change.

    Args:
        store: has the tallies.
        accept_days: for how many days a day stays open for reports.
        clock: seconds since 1970.
    """

    def __init__(self, store: Store, accept_days: int, clock: Callable[[], float]) -> None:
        self._store = store
        self._accept_days = accept_days
        self._clock = clock
        self._examiner = Examiner()
        self._comparison = KeyComparison()

    def review(self, reported: MetricReports, *, most_cells: int = SUMMARY_CELLS) -> Review:
        """What is known of the reports of a metric.

        Args:
            reported: at least one report.
            most_cells: how many counters are read for checks, at most.
        """
        kept = kept_of(reported)
        days = reported.of_days
        examination = self._examiner.examine(days, most_cells=most_cells, kept=kept)
        contrasts = self._comparison.compare(days, kept)
        digests = [entry.spec.digest for entry in reported.entries]
        name, keys = reported.entries[0].spec.name, reported.keys
        return Review(
            reported,
            examination,
            contrasts,
            covered_days(
                reported,
                examination,
                contrasts,
                self._store.tallies.first_days(digests, reported.without),
                today=day_of(epoch_at(self._clock())),
                accept_days=self._accept_days,
            ),
            report.summary(examination, contrasts, keys),
            ordered_notices(
                notices.of_checks(name, examination, keys),
                notices.of_contrasts(contrasts, keys),
                notices.of_mixed_keys(reported.mixed, keys),
            ),
            kept,
        )


def pending_notices(pending_reports: int) -> list[Notice]:
    """A note about reports that are not counted yet, if there are any.

    Args:
        pending_reports: how many.
    """
    if not pending_reports:
        return []
    message = (
        f"{pending_reports:,} more reports of this metric have arrived and are waiting to be "
        "counted: later answers have them."
    )
    return [Notice("pending_reports", "note", message)]
