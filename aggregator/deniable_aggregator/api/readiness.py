"""``/healthz`` says that the process answers, ``/readyz`` whether it can do its work."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.service import Alive, Ready
from deniable_aggregator.http.json import json_response
from deniable_aggregator.http.operation import Operations, operation
from deniable_aggregator.http.problems import RETRY_SECONDS, ProblemError
from deniable_aggregator.operations.probe import ProbeTimeoutError, SharedProbe
from deniable_aggregator.store import StoreMovedError, StoreRefusedError, StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flask import Response

    from deniable_aggregator.config.settings import Settings
    from deniable_aggregator.store import Store

PATHS: Final = ("/healthz", "/readyz")
CACHE_SECONDS: Final = 1.0
PATIENCE_SECONDS: Final = 3.0
"""A store that does not answer the checks for so long is reported as not answering."""

OK: Final = "ok"
CLOCK: Final = "clock"

log = logging.getLogger("deniable_aggregator")


class Readiness:
    """Checks whether a load balancer should send requests to this server.

    Args:
        store: checked to be reachable, writable and of this version's schema.
        lag_seconds: for how long the oldest pending report has waited to be counted.
        settings: limits.
        days_ahead: by how many days the clock is ahead of the last plausible day.
        monotonic: a clock in seconds.

    Attributes:
        draining: set when the server was told to end.
        days_ahead: by how many days the clock is ahead of what is believed.
    """

    def __init__(
        self,
        *,
        store: Store,
        lag_seconds: Callable[[], float],
        settings: Settings,
        days_ahead: Callable[[], int] = lambda: 0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.draining = False
        self._store = store
        self._lag_seconds = lag_seconds
        self._settings = settings
        self.days_ahead = days_ahead
        self._found: Mapping[str, str] = {}
        self._lookout = SharedProbe(self._check, "deniable-looking", monotonic)

    def checks(self, timeout_seconds: float | None = None) -> Mapping[str, str]:
        """The result of each check, by name: ``ok``, or what is wrong; at most a second old.

        If the store does not answer in time, the other checks keep their last results.

        Args:
            timeout_seconds: how long to wait for the store; None for `PATIENCE_SECONDS`.
        """
        patience = PATIENCE_SECONDS if timeout_seconds is None else timeout_seconds
        try:
            found = self._lookout.result(timeout_seconds=patience, max_age_seconds=CACHE_SECONDS)
            self._found = found
        except ProbeTimeoutError as error:
            log.error("the store does not answer")
            found = {**self._found, "database": str(error)}
        return {"draining": "the server was told to end" if self.draining else OK, **found}

    def _check(self) -> Mapping[str, str]:
        return {
            "database": self._database(),
            "migrations": self._migrations(),
            "disk": self._disk(),
            "fold": self._fold(),
            CLOCK: self._clock(),
        }

    def _database(self) -> str:
        try:
            # A write transaction that changes nothing.
            self._store.keys.mark_used((), 0)
        except StoreMovedError as error:
            return str(error)
        except StoreUnavailableError:
            return "it cannot be written; the server's log says why"
        return OK

    def _migrations(self) -> str:
        try:
            self._store.check_schema()
        except StoreRefusedError as error:
            return str(error)
        except StoreUnavailableError:
            return "the schema cannot be read"
        return OK

    def _disk(self) -> str:
        try:
            free = self._store.free_bytes()
        except OSError:
            return "the store's directory cannot be looked at"
        least = self._settings.min_free_bytes
        if free is None or free >= least:
            return OK
        return f"{free:,} bytes are free, min_free_bytes is {least:,}: uploads are refused"

    def _fold(self) -> str:
        lag = self._lag_seconds()
        most = self._settings.max_fold_lag_seconds + self._settings.fold_seconds
        return OK if lag <= most else f"reports have waited to be counted for {lag:,.0f} seconds"

    def _clock(self) -> str:
        days = self.days_ahead()
        return f"it is {days:,} days ahead of the newest report, and in doubt" if days else OK


@operation("GET", "/healthz", Alive)
def healthz() -> Response:
    """The process answers."""
    return json_response(Alive())


@operation("GET", "/readyz", Ready, problems=("not_ready",))
def readyz(health: Readiness) -> Response:
    """The server can do its work."""
    checks = health.checks()
    wrong = [name for name, said in checks.items() if said != OK]
    # Stay ready with a doubted clock: only further reports can confirm the day.
    if wrong and wrong != [CLOCK]:
        raise ProblemError(
            "not_ready",
            "; ".join(f"{name}: {checks[name]}" for name in wrong),
            headers={"Retry-After": str(RETRY_SECONDS)},
            checks=dict(checks),
        )
    return json_response(Ready("ok", dict(checks)))


def blueprint(health: Readiness) -> Operations:
    """The routes."""
    routes = Operations("health")
    routes.add(healthz)
    routes.add(readyz, health)
    return routes
