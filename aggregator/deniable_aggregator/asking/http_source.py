"""Answers from a server."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import msgspec

from deniable_aggregator.answers.administration import Metrics
from deniable_aggregator.answers.annotations import Annotate, Annotation, Annotations
from deniable_aggregator.answers.discoveries import Discoveries, Discovery, DiscoveryLists
from deniable_aggregator.answers.estimate_table import EstimateTable
from deniable_aggregator.answers.estimates import Estimate
from deniable_aggregator.answers.health_overview import HealthOverview
from deniable_aggregator.answers.integrity import Health
from deniable_aggregator.answers.metrics import MetricDetails
from deniable_aggregator.answers.registry_history import RegistryHistory
from deniable_aggregator.answers.saved_lists import SavedList, SavedListHead, SavedLists, SaveList
from deniable_aggregator.answers.trends import Change, Series
from deniable_aggregator.asking.connection import Connection
from deniable_aggregator.asking.errors import AskingError
from deniable_aggregator.asking.source import (
    ALL_DAYS,
    ANY_STRINGS,
    CLOSED_DAYS,
    DAILY,
    NO_HINTS,
    NO_LISTS,
    WHOLE,
)
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from datetime import date

    from deniable_aggregator.answers.discoveries import DiscoveryQuery, FoundStrings
    from deniable_aggregator.answers.estimate_table import EstimateTableQuery
    from deniable_aggregator.answers.questions import (
        ChangeQuery,
        DaysQuery,
        EstimateQuery,
        SeriesQuery,
        ValueLists,
    )
    from deniable_aggregator.asking.connection import ServerAnswer
    from deniable_aggregator.asking.credentials import Token
    from deniable_aggregator.asking.source import OnProgress

FIRST_PAUSE_SECONDS: Final = 0.2
LONGEST_PAUSE_SECONDS: Final = 2.0
"""Between two questions whether a run that looks for strings has ended."""


class HttpSource:
    """Answers questions by asking a server. Thread-safe.

    Args:
        server: the aggregator's address.
        token: a key of scope read.

    Attributes:
        server: the address, without a slash at its end.

    Raises:
        ParameterError: if the one is no address or the other no token.
    """

    def __init__(self, server: str, token: str | Token) -> None:
        self._connection = Connection(server, token)
        self.server = self._connection.server

    def __repr__(self) -> str:
        return f"HttpSource({self.server!r})"

    def close(self) -> None:
        """Closes the connection; the next question opens another."""
        self._connection.close()

    def metrics(self) -> Metrics:
        """See `Source.metrics`."""
        return self.ask_about_all("metrics").decode(Metrics)

    def registry_history(self) -> RegistryHistory:
        """See `Source.registry_history`."""
        return self._connection.request("GET", "/v1/registry-history").decode(RegistryHistory)

    def metric(self, metric: str) -> MetricDetails:
        """See `Source.metric`."""
        return self.ask(metric).decode(MetricDetails)

    def estimate(
        self, metric: str, query: EstimateQuery = WHOLE, lists: ValueLists = NO_LISTS
    ) -> Estimate:
        """See `Source.estimate`."""
        found: Estimate = self.ask(metric, "estimate", query, lists).decode(Estimate)
        return found

    def series(
        self, metric: str, query: SeriesQuery = DAILY, lists: ValueLists = NO_LISTS
    ) -> Series:
        """See `Source.series`."""
        return self.ask(metric, "series", query, lists).decode(Series)

    def change(self, metric: str, query: ChangeQuery, lists: ValueLists = NO_LISTS) -> Change:
        """See `Source.change`."""
        return self.ask(metric, "change", query, lists).decode(Change)

    def health(self, metric: str, query: DaysQuery = ALL_DAYS) -> Health:
        """See `Source.health`."""
        return self.ask(metric, "health", query).decode(Health)

    def health_overview(self, query: DaysQuery = ALL_DAYS) -> HealthOverview:
        """See `Source.health_overview`."""
        return self.ask_about_all("health", query).decode(HealthOverview)

    def estimates(self, query: EstimateTableQuery = CLOSED_DAYS) -> EstimateTable:
        """See `Source.estimates`."""
        params = query_parameters(query)
        return self._connection.request("GET", "/v1/estimates", params=params).decode(EstimateTable)

    def discover(
        self,
        metric: str,
        query: DiscoveryQuery = ANY_STRINGS,
        lists: DiscoveryLists = NO_HINTS,
        on_progress: OnProgress | None = None,
    ) -> FoundStrings:
        """See `Source.discover`. If the caller is interrupted, the server goes on."""
        ended = self.ask_discovery(metric, query, lists, on_progress).decode(Discovery)
        if not ended.result:
            raise AskingError("the server's answer has no result", "unreadable_answer")
        return ended.result

    def discoveries(self, metric: str) -> Discoveries:
        """See `Source.discoveries`."""
        return self.ask(metric, "discoveries").decode(Discoveries)

    def discovery(self, metric: str, number: int) -> Discovery:
        """See `Source.discovery`."""
        return self.ask(metric, f"discoveries/{number}").decode(Discovery)

    def saved_lists(self) -> SavedLists:
        """See `Source.saved_lists`."""
        return self._connection.request("GET", "/v1/lists").decode(SavedLists)

    def saved_list(self, name: str) -> SavedList:
        """See `Source.saved_list`."""
        return self._connection.request("GET", _list_path(name)).decode(SavedList)

    def save_list(self, name: str, values: tuple[str, ...]) -> SavedListHead:
        """Saves a list of values, in place of one of the same name.

        Args:
            name: small letters, digits, - and _.
            values: at least one.

        Raises:
            AskingError: if the server cannot be reached, or refuses it.
        """
        answer = self._connection.request("PUT", _list_path(name), json=SaveList(values=values))
        return answer.decode(SavedListHead)

    def delete_list(self, name: str) -> None:
        """Deletes a saved list.

        Args:
            name: of the list.

        Raises:
            AskingError: if the server cannot be reached, or has no such list.
        """
        self._connection.request("DELETE", _list_path(name))

    def annotations(self) -> Annotations:
        """See `Source.annotations`."""
        return self._connection.request("GET", "/v1/annotations").decode(Annotations)

    def annotate(self, day: date, text: str) -> Annotation:
        """Says what happened on a day, in place of what was said of it.

        Args:
            day: when it happened.
            text: a line of at most 60 characters.

        Raises:
            AskingError: if the server cannot be reached, or refuses it.
        """
        answer = self._connection.request("PUT", f"/v1/annotations/{day}", json=Annotate(text=text))
        return answer.decode(Annotation)

    def remove_annotation(self, day: date) -> None:
        """Says nothing of a day any more.

        Args:
            day: of the annotation.

        Raises:
            AskingError: if the server cannot be reached, or nothing was said of the day.
        """
        self._connection.request("DELETE", f"/v1/annotations/{day}")

    def ask_about_all(self, question: str, query: msgspec.Struct | None = None) -> ServerAnswer:
        """The answer to a question about all metrics, as it came.

        Args:
            question: the last part of the address: "metrics" or "health".
            query: how to answer.

        Raises:
            AskingError: if the server cannot be reached, or answers with a problem.
        """
        params = [] if query is None else query_parameters(query)
        return self._connection.request("GET", f"/v1/{question}", params=params)

    def ask(
        self,
        metric: str,
        question: str = "",
        query: msgspec.Struct | None = None,
        lists: ValueLists = NO_LISTS,
    ) -> ServerAnswer:
        """The answer to a question as it came, for programs that pass it on.

        Args:
            metric: the metric's name.
            question: the last part of the address, such as "estimate" or "series.csv"; nothing
                for what the metric is.
            query: how to answer.
            lists: the values that the question is about.

        Raises:
            AskingError: if the server cannot be reached, or answers with a problem.
        """
        whole = lists == NO_LISTS
        method, body = ("GET", None) if whole else ("POST", lists)
        return self._about(metric, method, question and f"/{question}", query, body)

    def ask_discovery(
        self,
        metric: str,
        query: DiscoveryQuery = ANY_STRINGS,
        lists: DiscoveryLists = NO_HINTS,
        on_progress: OnProgress | None = None,
    ) -> ServerAnswer:
        """A `Discovery` that is done, as it came.

        Raises:
            AskingError: if there is no answer, or the run has failed.
        """
        body = None if lists == NO_HINTS else lists
        asked = self._about(metric, "POST", "/discoveries", query, body)
        answer = asked.decode(Discovery)
        pause = FIRST_PAUSE_SECONDS
        while answer.state in ("waiting", "running"):
            if on_progress is not None:
                stage = answer.stage if answer.state == "running" else "wait to begin"
                on_progress(answer.progress, visible(stage) or "look for strings")
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_PAUSE_SECONDS)
            asked = self._about(metric, "GET", f"/discoveries/{answer.id}")
            answer = asked.decode(Discovery)
        if answer.state == "failed":
            raise AskingError(visible(f"the run has failed. {answer.failure}"), "run_failed")
        if on_progress is not None:
            on_progress(1.0, "done")
        return asked

    def _about(
        self,
        metric: str,
        method: str,
        path: str = "",
        query: msgspec.Struct | None = None,
        body: msgspec.Struct | None = None,
    ) -> ServerAnswer:
        address = f"/v1/metrics/{quote(metric, safe='')}{path}"
        params = [] if query is None else query_parameters(query)
        return self._connection.request(method, address, params=params, json=body)


def _list_path(name: str) -> str:
    return f"/v1/lists/{quote(name, safe='')}"


def query_parameters(query: msgspec.Struct) -> list[tuple[str, str]]:
    """A query as the parameters of an address; fields that have their defaults are left out.

    Args:
        query: one of those that `answers.parsing` reads.
    """
    given: list[tuple[str, str]] = []
    for field in msgspec.structs.fields(query):
        value: Any = getattr(query, field.name)
        if value == field.default:
            continue
        values = value if isinstance(value, tuple) else (value,)
        given += [(field.name, _as_text(each)) for each in values]
    return given


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
