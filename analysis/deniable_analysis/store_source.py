"""Answers from a store that is opened for reading. Importing this loads all of the aggregator."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from deniable_aggregator.answers.estimate_table import EstimateTable, TableRow
from deniable_aggregator.answers.parsing import MalformedQueryError, parse_query
from deniable_aggregator.api.discoveries.asking import DiscoveryAsker
from deniable_aggregator.api.discoveries.messages import Job
from deniable_aggregator.api.discoveries.work import DiscoveryWork
from deniable_aggregator.api.query_service import QueryService
from deniable_aggregator.asking.dates import parse_day, utc_today
from deniable_aggregator.asking.errors import AskingError
from deniable_aggregator.asking.http_source import query_parameters
from deniable_aggregator.asking.source import (
    ALL_DAYS,
    ANY_STRINGS,
    CLOSED_DAYS,
    DAILY,
    NO_HINTS,
    NO_LISTS,
    WHOLE,
)
from deniable_aggregator.catalog import MetricCatalog
from deniable_aggregator.config.settings import Settings
from deniable_aggregator.dates import FIRST_DAY, LAST_DAY, epoch_of
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.store import Store
from deniable_shared.characters import visible
from deniable_shared.nearest import did_you_mean
from deniable_shared.periods import SECONDS_PER_EPOCH, epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date
    from pathlib import Path

    import msgspec

    from deniable_aggregator.answers.administration import Metrics
    from deniable_aggregator.answers.discoveries import (
        DiscoveryLists,
        DiscoveryQuery,
        FoundStrings,
    )
    from deniable_aggregator.answers.estimate_table import EstimateTableQuery
    from deniable_aggregator.answers.estimates import Estimate
    from deniable_aggregator.answers.health_overview import HealthOverview
    from deniable_aggregator.answers.integrity import Health
    from deniable_aggregator.answers.metrics import MetricDetails
    from deniable_aggregator.answers.questions import (
        ChangeQuery,
        DaysQuery,
        EstimateQuery,
        SeriesQuery,
        ValueLists,
    )
    from deniable_aggregator.answers.trends import Change, Series
    from deniable_aggregator.asking.source import OnProgress

Query = TypeVar("Query", bound="msgspec.Struct")
Answer = TypeVar("Answer")

_NOON = 0.5


def open_source(
    target: str | Path, application: str | None, today: date | str | None
) -> StoreSource:
    """Opens a store for reading.

    Args:
        target: the path of a store or of its backup, or a ``postgresql://`` URL.
        application: whose metrics; None if the store has those of one application.
        today: the day that it is taken to be; None for today.

    Raises:
        AskingError: if the store has no such application, or several and none is named.
        StoreError: if it is not a store, or cannot be read.
        ParameterError: if today is not a day.
    """
    day = None if today is None else parse_day(today, utc_today(), name="today")
    store = Store(target, read_only=True)
    try:
        return StoreSource(store, application, day)
    except BaseException:
        store.close()
        raise


class StoreSource:
    """Answers questions from an open store, as a server that has it would.

    Args:
        store: closed with this source.
        application: whose metrics; None if the store has those of one application.
        today: the day that it is taken to be; None for today.

    Attributes:
        application: whose metrics are asked about.

    Raises:
        AskingError: if the store has no such application, or several and none is named.
    """

    def __init__(self, store: Store, application: str | None, today: date | None) -> None:
        self._store = store
        self._today = today
        self._settings = Settings()
        self._catalogue = MetricCatalog(store)
        entries = self._catalogue.entries()
        self.application = _chosen(application, {each.spec.application for each in entries})
        self._service = QueryService(
            store=store, catalogue=self._catalogue, settings=self._settings, clock=self._clock
        )

    def __repr__(self) -> str:
        return f"StoreSource({self._store.name!r}, {self.application!r})"

    def close(self) -> None:
        """Closes the store."""
        self._store.close()

    def today(self) -> date:
        """The day that it is taken to be."""
        return utc_today() if self._today is None else self._today

    def metrics(self) -> Metrics:
        """See `Source.metrics`."""
        return _answered(lambda: self._service.metrics(self.application))

    def metric(self, metric: str) -> MetricDetails:
        """See `Source.metric`."""
        return _answered(lambda: self._service.metric(self.application, metric))

    def estimate(
        self, metric: str, query: EstimateQuery = WHOLE, lists: ValueLists = NO_LISTS
    ) -> Estimate:
        """See `Source.estimate`."""
        asked = _checked(query)
        return _answered(lambda: self._service.estimate(self.application, metric, asked, lists))

    def series(
        self, metric: str, query: SeriesQuery = DAILY, lists: ValueLists = NO_LISTS
    ) -> Series:
        """See `Source.series`."""
        asked = _checked(query)
        of = _with_values(asked, lists)
        return _answered(lambda: self._service.series(self.application, metric, asked, of))

    def change(self, metric: str, query: ChangeQuery, lists: ValueLists = NO_LISTS) -> Change:
        """See `Source.change`."""
        asked = _checked(query)
        of = _with_values(asked, lists)
        return _answered(lambda: self._service.change(self.application, metric, asked, of))

    def health(self, metric: str, query: DaysQuery = ALL_DAYS) -> Health:
        """See `Source.health`."""
        asked = _checked(query)
        return _answered(lambda: self._service.health(self.application, metric, asked))

    def health_overview(self, query: DaysQuery = ALL_DAYS) -> HealthOverview:
        """See `Source.health_overview`."""
        asked = _checked(query)
        return _answered(lambda: self._service.health_overview(self.application, asked))

    def estimates(self, query: EstimateTableQuery = CLOSED_DAYS) -> EstimateTable:
        """See `Source.estimates`."""
        asked = _checked(query)
        names = {each.spec.name for each in self._catalogue.for_application(self.application)}
        rows = self._store.estimates.read(
            self.application,
            asked.period,
            since=asked.since or FIRST_DAY,
            until=asked.until or LAST_DAY,
            metrics=names & set(asked.metric) if asked.metric else names,
            measures=asked.measure,
        )
        return EstimateTable(
            application=self.application,
            period=asked.period,
            rows=[TableRow(**row) for row in rows],
        )

    def discover(
        self,
        metric: str,
        query: DiscoveryQuery = ANY_STRINGS,
        lists: DiscoveryLists = NO_HINTS,
        on_progress: OnProgress | None = None,
    ) -> FoundStrings:
        """See `Source.discover`. The server's deny list is unknown here: give one with `lists`."""
        asked = _checked(query)
        asker = DiscoveryAsker(self._store, self._catalogue, self._settings, self._clock)
        new = _answered(lambda: asker.ask(self.application, metric, asked, lists))
        job = Job(
            store=self._store.name,
            memory_bytes=self._settings.discovery_memory_bytes,
            accept_days=self._settings.accept_days,
            today=epoch_at(self._clock()),
            application=self.application,
            metric=metric,
            since=new.since,
            query=asked,
            hints=list(lists.hints),
            deny=list(lists.deny),
        )

        def tell(stage: str, part: float) -> None:
            if on_progress is not None:
                on_progress(part, stage)

        work = DiscoveryWork(self._store, self._catalogue, job, tell)
        return _answered(lambda: work.find(self.application, metric))

    def _clock(self) -> float:
        if self._today is None:
            return time.time()
        return (epoch_of(self._today) + _NOON) * SECONDS_PER_EPOCH


def _chosen(application: str | None, known: set[str]) -> str:
    names = ", ".join(sorted(known))
    if application is None and len(known) == 1:
        return known.pop()
    if not known:
        raise AskingError("no metric is registered in this store", "unknown_application")
    if application is None:
        raise AskingError(
            f"the store has metrics of several applications: name one of {names}",
            "unknown_application",
        )
    if application not in known:
        meant = did_you_mean(application, known)
        raise AskingError(
            visible(f"there is no application {application!r} here.{meant} There are {names}."),
            "unknown_application",
        )
    return application


def _checked(query: Query) -> Query:
    """The query as a server reads it, which refuses what is out of its range."""
    try:
        return parse_query(type(query), query_parameters(query))
    except MalformedQueryError as error:
        raise AskingError(visible(f"{error}."), "malformed_question") from None


def _with_values(query: SeriesQuery | ChangeQuery, lists: ValueLists) -> ValueLists:
    return replace(lists, candidates=query.value) if query.value else lists


def _answered(answer: Callable[[], Answer]) -> Answer:
    try:
        return answer()
    except ProblemError as error:
        problem = error.document
        told = f"{problem.title} ({problem.code}). {problem.detail}"
        raise AskingError(visible(told), problem.code) from None
