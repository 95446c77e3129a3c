"""What can be asked for answers: a server, or a store that was opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from deniable_aggregator.answers.discoveries import DiscoveryLists, DiscoveryQuery
from deniable_aggregator.answers.estimate_table import EstimateTableQuery
from deniable_aggregator.answers.questions import DaysQuery, EstimateQuery, SeriesQuery, ValueLists

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.answers.administration import Metrics
    from deniable_aggregator.answers.annotations import Annotations
    from deniable_aggregator.answers.discoveries import Discoveries, Discovery, FoundStrings
    from deniable_aggregator.answers.estimate_table import EstimateTable
    from deniable_aggregator.answers.estimates import Estimate
    from deniable_aggregator.answers.health_overview import HealthOverview
    from deniable_aggregator.answers.integrity import Health
    from deniable_aggregator.answers.metrics import MetricDetails
    from deniable_aggregator.answers.questions import ChangeQuery
    from deniable_aggregator.answers.registry_history import RegistryHistory
    from deniable_aggregator.answers.saved_lists import SavedList, SavedLists
    from deniable_aggregator.answers.trends import Change, Series

    OnProgress = Callable[[float, str], None]
    """Told how much is done, from 0 to 1, and what is being done, in words."""

NO_LISTS: Final = ValueLists()
"""A question about all values."""

ALL_DAYS: Final = DaysQuery()
"""All days with reports."""

CLOSED_DAYS: Final = EstimateTableQuery()
WHOLE: Final = EstimateQuery()
DAILY: Final = SeriesQuery()
ANY_STRINGS: Final = DiscoveryQuery()
NO_HINTS: Final = DiscoveryLists()


class Source(Protocol):
    """Answers questions about the metrics of one application.

    All methods raise `AskingError` if there is no answer.
    """

    def metrics(self) -> Metrics:
        """The registered metrics."""

    def registry_history(self) -> RegistryHistory:
        """Every version of a metric that was ever registered, in a chain."""

    def metric(self, metric: str) -> MetricDetails:
        """One metric: what its versions ask of devices, and what each report reveals."""

    def estimate(
        self, metric: str, query: EstimateQuery = WHOLE, lists: ValueLists = NO_LISTS
    ) -> Estimate:
        """What a metric amounts to over some days."""

    def series(
        self, metric: str, query: SeriesQuery = DAILY, lists: ValueLists = NO_LISTS
    ) -> Series:
        """A metric period by period."""

    def change(self, metric: str, query: ChangeQuery, lists: ValueLists = NO_LISTS) -> Change:
        """What has changed between two periods."""

    def health(self, metric: str, query: DaysQuery = ALL_DAYS) -> Health:
        """Whether the reports of a metric look like those of devices."""

    def health_overview(self, query: DaysQuery = ALL_DAYS) -> HealthOverview:
        """The same of all metrics, at a glance."""

    def estimates(self, query: EstimateTableQuery = CLOSED_DAYS) -> EstimateTable:
        """The SQL table of estimates: closed days, weeks or months of all metrics at once."""

    def discover(
        self,
        metric: str,
        query: DiscoveryQuery = ANY_STRINGS,
        lists: DiscoveryLists = NO_HINTS,
        on_progress: OnProgress | None = None,
    ) -> FoundStrings:
        """Popular strings that nobody listed; takes seconds to a minute."""

    def discoveries(self, metric: str) -> Discoveries:
        """What was asked about the strings of a metric, newest first, without results."""

    def discovery(self, metric: str, number: int) -> Discovery:
        """How far one of these is, and what it has found."""

    def saved_lists(self) -> SavedLists:
        """The lists of values that analysts keep, without their values."""

    def saved_list(self, name: str) -> SavedList:
        """One of these lists, with its values."""

    def annotations(self) -> Annotations:
        """What happened on which day, such as a release, the newest first."""
