"""Answers from a server."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

from deniable_aggregator.answers.administration import (
    Acknowledge,
    Acknowledged,
    Annotate,
    Annotation,
    SavedListHead,
    SaveList,
)
from deniable_aggregator.answers.discoveries import Discovery, DiscoveryLists, DiscoveryQuery
from deniable_aggregator.answers.fields import query_parameters
from deniable_aggregator.answers.questions import ValueLists
from deniable_aggregator.answers.views import SavedView, SaveView
from deniable_aggregator.asking.connection import Connection, ServerAnswer
from deniable_aggregator.asking.credentials import AskingError, Token
from deniable_aggregator.asking.questions import (
    ANY_STRINGS,
    DISCOVER,
    DISCOVERY,
    NO_HINTS,
    NO_LISTS,
    Question,
    path_of,
)
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from datetime import date

    from deniable_aggregator.answers import answer
    from deniable_aggregator.asking.questions import OnProgress

Query = TypeVar("Query")
Answer = TypeVar("Answer")

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

    def ask(
        self,
        question: Question[Query, Answer],
        query: Query | None = None,
        lists: ValueLists = NO_LISTS,
    ) -> Answer:
        """See `Source.ask`."""
        found: Answer = self.fetch(question, query, lists).decode(question.answer)
        return found

    def fetch(
        self,
        question: Question[Query, Any],
        query: Query | None = None,
        lists: ValueLists | DiscoveryLists = NO_LISTS,
        ending: str = "",
    ) -> ServerAnswer:
        """The answer to a question as it came, for programs that pass it on.

        Args:
            question: a row of `asking.questions`, with what it is about.
            query: the options; left out for their defaults.
            lists: the values that it is about.
            ending: the format of the answer, such as "csv"; empty for JSON.

        Raises:
            AskingError: if the server cannot be reached, or answers with a problem.
        """
        body = None if lists in (NO_LISTS, NO_HINTS) else lists
        if isinstance(body, ValueLists):
            body, query = body.joined(query)
        return self._connection.request(
            "GET" if body is None and not question.accepted else "POST",
            question.address(ending),
            params=[] if query is None else query_parameters(query),
            json=body,
        )

    def discover(
        self,
        metric: str,
        query: DiscoveryQuery = ANY_STRINGS,
        lists: DiscoveryLists = NO_HINTS,
        on_progress: OnProgress | None = None,
    ) -> answer.Answer:
        """See `Source.discover`. If the caller is interrupted, the server goes on."""
        asked = DISCOVER.of(metric)
        ended = self.fetch_discovery(asked, query, lists, on_progress).decode(Discovery)
        if not ended.result:
            raise AskingError("the server's answer has no result", "unreadable_answer")
        return ended.result

    def fetch_discovery(
        self,
        question: Question[DiscoveryQuery, Discovery],
        query: DiscoveryQuery = ANY_STRINGS,
        lists: DiscoveryLists = NO_HINTS,
        on_progress: OnProgress | None = None,
    ) -> ServerAnswer:
        """A `Discovery` that is done, as it came.

        Args:
            question: DISCOVER, of a metric.
            query: the options.
            lists: hints, and strings that are not to be shown.
            on_progress: told how far it is.

        Raises:
            AskingError: if there is no answer, or the run has failed.
        """
        came = self.fetch(question, query, lists)
        answer = came.decode(Discovery)
        pause = FIRST_PAUSE_SECONDS
        while answer.state in ("waiting", "running"):
            if on_progress is not None:
                stage = answer.stage if answer.state == "running" else "wait to begin"
                on_progress(answer.progress, visible(stage) or "look for strings")
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_PAUSE_SECONDS)
            came = self.fetch(DISCOVERY.of(*question.place, answer.id))
            answer = came.decode(Discovery)
        if answer.state == "failed":
            raise AskingError(visible(f"the run has failed. {answer.failure}"), "run_failed")
        if on_progress is not None:
            on_progress(1.0, "done")
        return came

    def save_list(self, name: str, values: tuple[str, ...]) -> SavedListHead:
        """Saves a list of values, in place of one of the same name.

        Args:
            name: small letters, digits, - and _.
            values: at least one.

        Raises:
            AskingError: if the server cannot be reached, or refuses it.
        """
        answer = self._connection.request("PUT", path_of(_LIST, name), json=SaveList(values=values))
        return answer.decode(SavedListHead)

    def delete_list(self, name: str) -> None:
        """Deletes a saved list.

        Args:
            name: of the list.

        Raises:
            AskingError: if the server cannot be reached, or has no such list.
        """
        self._connection.request("DELETE", path_of(_LIST, name))

    def save_view(self, name: str, place: str) -> SavedView:
        """Saves the page of a metric as a view, in place of one of the same name.

        Args:
            name: of the view.
            place: path and query of the page.

        Raises:
            AskingError: if the server cannot be reached, or refuses it.
        """
        answer = self._connection.request("PUT", path_of(_VIEW, name), json=SaveView(place=place))
        return answer.decode(SavedView)

    def delete_view(self, name: str) -> None:
        """Deletes a saved view.

        Args:
            name: of the view.

        Raises:
            AskingError: if the server cannot be reached, or has no such view.
        """
        self._connection.request("DELETE", path_of(_VIEW, name))

    def acknowledge(self, metric: str, key: str, sent: Acknowledge) -> Acknowledged:
        """Acknowledges how a key differs from the others.

        Args:
            metric: of which it brings reports.
            key: its id, the first letters of that, or its label.
            sent: the days on which it is seen, and a note.

        Raises:
            AskingError: if the server cannot be reached, or refuses it.
        """
        answer = self._connection.request("PUT", path_of(_ACKNOWLEDGED, metric, key), json=sent)
        return answer.decode(Acknowledged)

    def withdraw(self, metric: str, key: str) -> None:
        """Takes back what was acknowledged of a key.

        Args:
            metric: of which it brings reports.
            key: its id, the first letters of that, or its label.

        Raises:
            AskingError: if the server cannot be reached, or nothing was acknowledged.
        """
        self._connection.request("DELETE", path_of(_ACKNOWLEDGED, metric, key))

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


_ACKNOWLEDGED: Final = "/v1/metrics/<metric>/acknowledged/<key>"
_LIST: Final = "/v1/lists/<name>"
_VIEW: Final = "/v1/views/<name>"
