"""Stored answers about unlisted strings: how far a run is, and what it has found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import msgspec

from deniable_aggregator.answers.answer import Answer
from deniable_aggregator.answers.discoveries import (
    Discoveries,
    Discovery,
    DiscoveryState,
)
from deniable_aggregator.api.discoveries.asking import AskedDiscovery
from deniable_aggregator.api.discoveries.deny_list import DenyList
from deniable_aggregator.api.discoveries.found import still_shown
from deniable_aggregator.dates import day_of
from deniable_aggregator.http.problems import ProblemError

if TYPE_CHECKING:
    from deniable_aggregator.api.discoveries.asking import DiscoveryAsker
    from deniable_aggregator.store import Store, StoredDiscovery

MOST_LISTED: Final = 100


class DiscoveryReader:
    """Reads answers about unlisted strings, as what must not be shown is named today.

    Args:
        store: has the questions and their results.
        asker: tells whether results still hold.
    """

    def __init__(self, store: Store, asker: DiscoveryAsker) -> None:
        self._store = store
        self._asker = asker

    def find(self, application: str, name: str, number: int) -> Discovery:
        """How far an earlier question is, and its result.

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
        return self.answer(stored)

    def list(self, application: str, name: str) -> Discoveries:
        """The questions about a metric, newest first, without their results.

        Args:
            application: whose metric it is.
            name: of the metric.
        """
        found = self._store.discoveries.newest(application, name, MOST_LISTED)
        return Discoveries(name, application, [_described(each) for each in found])

    def answer(self, stored: StoredDiscovery) -> Discovery:
        """The answer to a question, as far as it is.

        Args:
            stored: the question.
        """
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
