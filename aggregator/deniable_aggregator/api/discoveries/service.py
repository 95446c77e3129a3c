"""Questions about unlisted strings: starts a run, or answers with the result that there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.http.problems import RETRY_SECONDS, ProblemError

if TYPE_CHECKING:
    from deniable_aggregator.answers.discoveries import (
        Discoveries,
        Discovery,
        DiscoveryLists,
        DiscoveryQuery,
    )
    from deniable_aggregator.api.discoveries.asking import DiscoveryAsker
    from deniable_aggregator.api.discoveries.reader import DiscoveryReader
    from deniable_aggregator.api.discoveries.runs import DiscoveryRuns
    from deniable_aggregator.store import Store

MOST_WAITING: Final = 8
"""So many questions of an application may wait: each may hold a request full of hints."""


class DiscoveryService:
    """Answers about unlisted strings, and has runs that wait worked on.

    Args:
        store: has the questions and their results.
        asker: makes questions.
        reader: reads answers.
        runs: works on questions.
    """

    def __init__(
        self, store: Store, asker: DiscoveryAsker, reader: DiscoveryReader, runs: DiscoveryRuns
    ) -> None:
        self._store = store
        self._asker = asker
        self._reader = reader
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
        discoveries = self._store.discoveries
        if not discoveries.knows(new.tag) and discoveries.waiting(application) >= MOST_WAITING:
            raise ProblemError(
                "overloaded",
                f"{MOST_WAITING} questions about unlisted strings wait already. Ask again when "
                "some of them are answered.",
                headers={"Retry-After": str(RETRY_SECONDS)},
            )
        stored = discoveries.ask(new)
        self._runs.wake()
        return self._reader.answer(stored)

    def find(self, application: str, name: str, number: int) -> Discovery:
        """See `DiscoveryReader.find`."""
        answer = self._reader.find(application, name, number)
        self._wake_for(answer)
        return answer

    def list(self, application: str, name: str) -> Discoveries:
        """See `DiscoveryReader.list`."""
        answer = self._reader.list(application, name)
        self._wake_for(*answer.discoveries)
        return answer

    def _wake_for(self, *answers: Discovery) -> None:
        """Lets somebody work on what is not answered, if the server that was asked has ended."""
        if any(each.state in ("waiting", "running") for each in answers):
            self._runs.wake()
