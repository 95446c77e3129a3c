"""Answers from a store that is opened for reading. Importing this loads all of the aggregator."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from deniable_aggregator.answering.answers import Answerer
from deniable_aggregator.answering.local_source import LocalSource
from deniable_aggregator.answers.dates import epoch_of
from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.asking.dates import parse_day, utc_today
from deniable_aggregator.keeping.parts import Parts
from deniable_aggregator.keeping.store import Store
from deniable_shared.characters import visible
from deniable_shared.nearest import did_you_mean
from deniable_shared.periods import SECONDS_PER_EPOCH

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

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


class StoreSource(LocalSource):
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
        self._today = today
        self._store = store
        parts = Parts(store, clock=self._now)
        known = {each.spec.application for each in parts.catalogue.entries()}
        super().__init__(Answerer(parts), _chosen(application, known))

    def __repr__(self) -> str:
        return f"StoreSource({self._store.name!r}, {self.application!r})"

    def close(self) -> None:
        """Closes the store."""
        self._store.close()

    def today(self) -> date:
        """The day that it is taken to be."""
        return utc_today() if self._today is None else self._today

    def _now(self) -> float:
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
