"""A relay as a server: ``deniable relay``."""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.answers.dates import format_day
from deniable_aggregator.asking.connection import Connection
from deniable_aggregator.doors.http.browsers import NO_SNIFFING
from deniable_aggregator.doors.relay.accepting import EnvelopeHandler
from deniable_aggregator.doors.relay.envelopes import EnvelopeStore
from deniable_aggregator.doors.relay.figures import RelayCollector
from deniable_aggregator.doors.relay.rounds import Rounds
from deniable_aggregator.doors.relay.settings import first_day
from deniable_aggregator.doors.server.bodies import respond_problem
from deniable_aggregator.doors.server.log_format import OURS
from deniable_aggregator.doors.server.prometheus import MetricsEndpoint
from deniable_aggregator.doors.server.supervision import (
    drain_on_sigterm,
    end_with_parent,
    serve_with_restarts,
    wait_for_port,
)
from deniable_aggregator.keeping.store import StoreError, StoreUnavailableError
from deniable_shared.periods import epoch_at
from deniable_shared.remote import PATH as REMOTE_PATH
from deniable_shared.sealing import SEALED_PATH

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from deniable_aggregator.doors.relay.envelopes import Closing
    from deniable_aggregator.doors.relay.settings import RelaySettings
    from deniable_aggregator.doors.server.granian_adapter import HTTPProtocol, Scope

BATCHES_PATH: Final = "/v1/batches"
JSON: Final = "application/json"
OK: Final = "ok"

log = logging.getLogger(OURS)


class RelayApplication:
    """Answers the requests of the worker process, of which no `GET` waits for the disk.

    Args:
        settings: all of them.
        clock: seconds since 1970.
        monotonic: seconds by a clock that cannot be set.

    Attributes:
        store: the relay's file.
        handler: takes envelopes.
        rounds: closes and forwards.

    Raises:
        StoreError: if the file cannot be used.
        ParameterError: if the limit of the rate is none.
    """

    def __init__(
        self,
        settings: RelaySettings,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._draining = False
        self.store = EnvelopeStore(settings.path, first_day(settings.every, epoch_at(clock())))
        self.handler = EnvelopeHandler(self.store, settings)
        connection = Connection(settings.aggregator, settings.token)
        self.rounds = Rounds(self.store, connection, settings, clock=clock, monotonic=monotonic)
        self.figures = RelayCollector(self.store, self.handler, self.rounds, clock)
        self._answers: dict[str, Callable[[], tuple[int, bytes]]] = {
            REMOTE_PATH: self._remote,
            BATCHES_PATH: self._batches,
            "/healthz": lambda: (200, json.dumps({"status": OK}).encode()),
            "/readyz": self._ready,
        }

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Called by the web server before its event loop runs."""
        drain_on_sigterm(loop, self._settings.server.drain_seconds, self._drain)
        self.rounds.start()

    def __rsgi_del__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Called by the web server when the loop has ended, so that no request is left."""
        self.close()

    def close(self) -> None:
        """Ends what has begun, and closes the file."""
        self.rounds.close()
        self.handler.close()
        self.store.close()

    async def __rsgi__(self, scope: Scope, protocol: HTTPProtocol) -> None:
        """Answers one request."""
        self.handler.used_share = self.rounds.used_share
        answer = self._answers.get(scope.path)
        if scope.path == SEALED_PATH and scope.method == "POST":
            await self.handler.handle(scope.headers, protocol)
        elif scope.path == SEALED_PATH or (answer and scope.method not in ("GET", "HEAD")):
            allowed = "POST" if scope.path == SEALED_PATH else "GET, HEAD"
            detail = "The header Allow lists the methods of this path."
            refusal = ProblemError("method_not_allowed", detail, headers={"Allow": allowed})
            respond_problem(protocol, refusal)
        elif answer is None:
            detail = f"A relay has {SEALED_PATH}, {', '.join(self._answers)}."
            respond_problem(protocol, ProblemError("not_found", detail))
        else:
            self._respond(protocol, answer)

    @staticmethod
    def _respond(protocol: HTTPProtocol, answer: Callable[[], tuple[int, bytes]]) -> None:
        try:
            status, content = answer()
        except ProblemError as error:
            respond_problem(protocol, error)
        else:
            protocol.response_bytes(status, [("content-type", JSON), NO_SNIFFING], content)

    def _drain(self) -> bool:
        was_draining, self._draining = self._draining, True
        return not was_draining

    def _remote(self) -> tuple[int, bytes]:
        if self.rounds.document is None:
            detail = "The aggregator had no remote configuration when it was asked, hourly."
            raise ProblemError("not_found", detail)
        return 200, self.rounds.document

    def _batches(self) -> tuple[int, bytes]:
        return 200, json.dumps({"batches": batch_rows(self.rounds.closings)}).encode()

    def _ready(self) -> tuple[int, bytes]:
        checks = {
            "draining": "the relay was told to end" if self._draining else OK,
            "disk": OK
            if self.rounds.used_share < 1
            else "the file is as large as it may be, or the disk is full",
            "file": self.rounds.failure or OK,
        }
        status = 200 if set(checks.values()) == {OK} else 503
        return status, json.dumps({"checks": checks}).encode()


def batch_rows(closings: Sequence[Closing]) -> list[dict[str, Any]]:
    """Closes for JSON: their days, the sizes of the batches, and how many were dropped."""
    return [
        {"day": format_day(each.day), "size": each.size, "dropped": each.dropped}
        for each in closings
    ]


def load_relay(parent: int, settings: RelaySettings) -> RelayApplication:
    """Makes the application in a worker process.

    Args:
        parent: the process that started this one.
        settings: all of them.

    Raises:
        SystemExit: if the file cannot be opened.
    """
    end_with_parent(parent, signal.SIGINT)
    try:
        application = RelayApplication(settings)
    except StoreError as error:
        log.error("the relay's file cannot be opened: %s", error)
        raise SystemExit(1) from None
    server = settings.server
    if server.metrics_port:
        try:
            MetricsEndpoint(server.metrics_host, server.metrics_port, application.figures.registry)
        except OSError as error:
            # The relay must not end because it cannot be watched.
            log.error("cannot serve Prometheus: %s", error.strerror)
    gc.collect()
    gc.freeze()
    log.info("relaying on %s to %s", server.origin, settings.aggregator)
    return application


def serve_relay(settings: RelaySettings) -> None:
    """Serves until a signal ends it.

    Args:
        settings: all of them.

    Raises:
        StoreError: if the file cannot be used.
        ParameterError: if the limit of the rate is none.
        ServingError: if another program listens on the address.
    """
    server = settings.server
    wait_for_port(server.host, server.port)
    if server.metrics_port:
        wait_for_port(server.metrics_host, server.metrics_port)
    _open_and_close(settings)
    loader: Callable[[], Any] = partial(load_relay, os.getpid(), settings)
    serve_with_restarts(server, loader, partial(_reject_unusable, settings))


def _open_and_close(settings: RelaySettings) -> None:
    """Reports once and clearly what no worker could use."""
    RelayApplication(settings).close()


def _reject_unusable(settings: RelaySettings) -> None:
    with suppress(StoreUnavailableError):
        _open_and_close(settings)
