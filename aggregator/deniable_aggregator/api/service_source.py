"""What answers questions about one application from the store itself, without HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from deniable_aggregator.annotations import AnnotationKeeper
from deniable_aggregator.answers.estimate_table import EstimateTable
from deniable_aggregator.answers.parsing import MalformedQueryError, parse_query
from deniable_aggregator.api.discoveries.asking import DiscoveryAsker
from deniable_aggregator.api.discoveries.messages import Job
from deniable_aggregator.api.discoveries.reader import DiscoveryReader
from deniable_aggregator.api.discoveries.work import DiscoveryWork
from deniable_aggregator.api.estimate_table.reading import read_rows
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
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.saved_lists import NoSuchListError, SavedListKeeper
from deniable_shared.characters import visible
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable

    import msgspec

    from deniable_aggregator.answers.administration import Metrics
    from deniable_aggregator.answers.annotations import Annotations
    from deniable_aggregator.answers.discoveries import (
        Discoveries,
        Discovery,
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
    from deniable_aggregator.answers.registry_history import RegistryHistory
    from deniable_aggregator.answers.saved_lists import SavedList, SavedLists
    from deniable_aggregator.answers.trends import Change, Series
    from deniable_aggregator.api.conditional import Validity
    from deniable_aggregator.api.kept_answers import KeptAnswers
    from deniable_aggregator.api.query_service import QueryService
    from deniable_aggregator.asking.source import OnProgress
    from deniable_aggregator.catalog import MetricCatalog
    from deniable_aggregator.config.settings import Settings
    from deniable_aggregator.store import Store

Query = TypeVar("Query", bound="msgspec.Struct")
Answer = TypeVar("Answer")


class ServiceSource:
    """Answers questions as HTTP would, in this process: an `asking.source.Source`.

    Args:
        service: answers them.
        store: the store.
        catalogue: the registered metrics.
        settings: limits.
        clock: seconds since 1970.
        application: whose metrics are asked about.
        kept: keeps answers; None for no keeping.

    Attributes:
        application: whose metrics are asked about.
    """

    def __init__(
        self,
        service: QueryService,
        store: Store,
        catalogue: MetricCatalog,
        settings: Settings,
        clock: Callable[[], float],
        application: str,
        kept: KeptAnswers | None = None,
    ) -> None:
        self._kept = kept
        self._service = service
        self._store = store
        self._catalogue = catalogue
        self._settings = settings
        self._clock = clock
        self.application = application

    def metrics(self) -> Metrics:
        """See `Source.metrics`."""
        return _answered(lambda: self._service.metrics(self.application))

    def registry_history(self) -> RegistryHistory:
        """See `Source.registry_history`."""
        return self._store.metrics.history(self.application)

    def metric(self, metric: str) -> MetricDetails:
        """See `Source.metric`."""
        return _answered(lambda: self._service.metric(self.application, metric))

    def estimate(
        self, metric: str, query: EstimateQuery = WHOLE, lists: ValueLists = NO_LISTS
    ) -> Estimate:
        """See `Source.estimate`."""
        asked = _checked(query)
        return self._answer(self._service.estimate, metric, asked, lists)

    def series(
        self, metric: str, query: SeriesQuery = DAILY, lists: ValueLists = NO_LISTS
    ) -> Series:
        """See `Source.series`."""
        asked = _checked(query)
        of = _with_values(asked, lists)
        return self._answer(self._service.series, metric, asked, of)

    def change(self, metric: str, query: ChangeQuery, lists: ValueLists = NO_LISTS) -> Change:
        """See `Source.change`."""
        asked = _checked(query)
        of = _with_values(asked, lists)
        return self._answer(self._service.change, metric, asked, of)

    def _answer(
        self,
        ask: Callable[[str, str, Any, ValueLists], Answer],
        metric: str,
        query: EstimateQuery | SeriesQuery | ChangeQuery,
        lists: ValueLists,
    ) -> Answer:
        """An answer, perhaps one that was worked out before."""

        def work_out() -> Answer:
            return ask(self.application, metric, query, lists)

        if self._kept is None:
            return _answered(work_out)
        kept = self._kept

        def validity() -> Validity:
            return self._service.validity(self.application, metric, query, lists)

        return _answered(lambda: kept.answer(validity, lists, work_out))

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
        rows = read_rows(self._store, self._catalogue, self.application, asked)
        return EstimateTable(
            application=self.application,
            period=asked.period,
            rows=list(rows),
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

    def discoveries(self, metric: str) -> Discoveries:
        """See `Source.discoveries`."""
        return _answered(lambda: self._discoveries().list(self.application, metric))

    def discovery(self, metric: str, number: int) -> Discovery:
        """See `Source.discovery`."""
        return _answered(lambda: self._discoveries().find(self.application, metric, number))

    def saved_lists(self) -> SavedLists:
        """See `Source.saved_lists`."""
        return SavedListKeeper(self._store, self._settings).all(self.application)

    def saved_list(self, name: str) -> SavedList:
        """See `Source.saved_list`."""
        try:
            return SavedListKeeper(self._store, self._settings).find(self.application, name)
        except NoSuchListError:
            told = f"There is no saved list {name!r}."
            raise AskingError(visible(told), "not_found") from None

    def annotations(self) -> Annotations:
        """See `Source.annotations`."""
        return AnnotationKeeper(self._store).all(self.application)

    def _discoveries(self) -> DiscoveryReader:
        asker = DiscoveryAsker(self._store, self._catalogue, self._settings, self._clock)
        return DiscoveryReader(self._store, asker)


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
