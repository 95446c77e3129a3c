"""Questions about unlisted strings: starts a run, or answers with the result that there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import msgspec

from deniable_aggregator.answering.discoveries.found import still_shown
from deniable_aggregator.answering.discoveries.questions import (
    AskedDiscovery,
    DenyList,
    DiscoveryAsker,
)
from deniable_aggregator.answering.requests import RETRY_SECONDS, ProblemError
from deniable_aggregator.answers.answer import Answer
from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.answers.discoveries import (
    Discoveries,
    Discovery,
    DiscoveryLists,
    DiscoveryQuery,
    DiscoveryState,
)

if TYPE_CHECKING:
    from deniable_aggregator.answering.discoveries.runs import DiscoveryRuns
    from deniable_aggregator.keeping.parts import Parts
    from deniable_aggregator.keeping.store import StoredDiscovery

MOST_LISTED: Final = 100
MOST_WAITING: Final = 8
"""So many questions of an application may wait: each may hold a request full of hints."""


class DiscoveryService:
    """Answers about unlisted strings, and has runs that wait worked on.

    Args:
        parts: the store with the questions and their results, and what is made over it.
        runs: works on what waits; None where nobody does.
    """

    def __init__(self, parts: Parts, runs: DiscoveryRuns | None = None) -> None:
        self._store = parts.store
        self._asker = DiscoveryAsker(parts)
        self._runs = runs

    def ask(
        self, application: str, name: str, query: DiscoveryQuery, lists: DiscoveryLists
    ) -> Discovery:
        """The result, if there is one of the same question and the same reports; else a new run.

        Args:
            application: whose metric it is.
            name: of the metric.
            query: the days, keys and version.
            lists: hints, and strings that are not to be shown.

        Raises:
            ProblemError: if it is unknown, has no reports or cannot be asked this.
        """
        new = self._asker.ask(application, name, query, lists)
        stored = self._store.discoveries.ask(new, MOST_WAITING)
        if stored is None:
            raise ProblemError(
                "overloaded",
                f"{MOST_WAITING} questions about unlisted strings wait already. Ask again when "
                "some of them are answered.",
                headers={"Retry-After": str(RETRY_SECONDS)},
            )
        if self._runs is not None:
            self._runs.wake()
        return self._answer(stored)

    def find(self, application: str, name: str, number: int) -> Discovery:
        """How far an earlier question is, and its result as what must not be shown is named today.

        Args:
            application: whose metric it is.
            name: of the metric.
            number: of the question.

        Raises:
            ProblemError: if there is no such question.
        """
        stored = self._store.discoveries.find(application, name, number)
        if stored is None:
            raise ProblemError(
                "not_found",
                f"{name} has no discovery {number}, or a newer one has taken its place. GET "
                f"/v1/metrics/{name}/discoveries lists them.",
            )
        answer = self._answer(stored)
        self._wake_for(answer)
        return answer

    def list(self, application: str, name: str) -> Discoveries:
        """The questions about a metric, newest first, without their results.

        Args:
            application: whose metric it is.
            name: of the metric.
        """
        found = self._store.discoveries.newest(application, name, MOST_LISTED)
        answer = Discoveries(name, application, [_described(each) for each in found])
        self._wake_for(*answer.discoveries)
        return answer

    def _wake_for(self, *answers: Discovery) -> None:
        """Lets somebody work on what is not answered, if the server that was asked has ended."""
        unanswered = any(each.state in ("waiting", "running") for each in answers)
        if unanswered and self._runs is not None:
            self._runs.wake()

    def _answer(self, stored: StoredDiscovery) -> Discovery:
        answer = _described(stored)
        if stored.state == "done":
            answer.current = self._asker.is_current(stored)
            encoded = self._store.discoveries.result(stored.number)
            try:
                found = msgspec.json.decode(encoded or b"", type=Answer)
                # The server's list may have grown since, and the least number of devices.
                deny = DenyList(self._asker.deny_list())
                minimum = self._asker.minimum_devices(stored.application, stored.metric)
                answer.result = still_shown(found, deny, minimum)
            except msgspec.DecodeError:
                answer.state, answer.current = "failed", None
                answer.failure = "The result is one of another version of the server. Ask again."
        return answer


def _described(stored: StoredDiscovery) -> Discovery:
    asked = msgspec.json.decode(stored.question, type=AskedDiscovery).query
    answer = Discovery(
        id=stored.number,
        metric=stored.metric,
        application=stored.application,
        asked=day_of(stored.asked),
        since=day_of(stored.since),
        until=day_of(stored.until),
        state=cast("DiscoveryState", stored.state),
        stage=stored.stage,
        progress=stored.progress,
        without_key=list(asked.without_key),
        version=asked.version,
    )
    if stored.failure is not None:
        answer.failure = stored.failure
    return answer
