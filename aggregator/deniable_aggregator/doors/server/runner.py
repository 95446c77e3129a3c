"""Serving until a signal comes: one worker process, started again whenever it dies."""

from __future__ import annotations

import errno
import gc
import logging
import os
import signal
import socket
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.answering.discoveries.questions import deny_list_notices
from deniable_aggregator.doors.app import EXTENSION, Aggregator, create_app
from deniable_aggregator.doors.http.upload_limits import RateLimiter
from deniable_aggregator.doors.server.granian_adapter import granian_server
from deniable_aggregator.doors.server.log_format import OURS
from deniable_aggregator.doors.server.prometheus import PrometheusCollector
from deniable_aggregator.doors.server.rsgi import RsgiApplication
from deniable_aggregator.keeping.settings import Settings, redacted
from deniable_aggregator.keeping.store import Store, StoreError, StoreUnavailableError
from deniable_aggregator.keeping.store.base import is_url
from deniable_aggregator.keeping.store.opening import require_existing
from deniable_shared.errors import DeniableError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


POLL_SECONDS: Final = 0.25


def end_with_parent(parent: int, how: signal.Signals) -> None:
    """Sends this process a signal once another process is no longer its parent.

    Args:
        parent: the id of the process that started this one.
        how: the signal.
    """
    watch = threading.Thread(target=_watch, args=(parent, how), name="deniable-parent", daemon=True)
    watch.start()


def _watch(parent: int, how: signal.Signals) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os.kill(os.getpid(), how)


log = logging.getLogger(OURS)


def load_application(parent: int, settings: Settings, development: bool) -> RsgiApplication:
    """Makes the application in a worker process.

    Args:
        parent: the process that started this one.
        settings: all of them.
        development: see `create_app`.

    Raises:
        SystemExit: if the store cannot be opened.
    """
    end_with_parent(parent, signal.SIGINT)
    try:
        # The parent has created the store if it was absent. If it is absent now it was lost, which
        # a new one would hide.
        require_existing(settings.store)
        app = create_app(store=settings.store, settings=settings, development=development)
    except StoreError as error:
        log.error("the store cannot be opened: %s", error)
        raise SystemExit(1) from None
    aggregator: Aggregator = app.extensions[EXTENSION]
    application = RsgiApplication(
        app, settings, on_start=partial(_install_drain, aggregator, settings)
    )
    aggregator.operations.questions = application.questions
    if settings.metrics_port:
        uploads = application.uploads.memory
        collector = PrometheusCollector(
            aggregator, in_flight_bytes=lambda: uploads.used, questions=application.questions
        )
        collector.listen(settings.metrics_host, settings.metrics_port)
    # Objects made so far stay until the end. Searching them for garbage again and again was
    # measured at a seventh of what an upload costs.
    gc.collect()
    gc.freeze()
    # Logged only now: the store is open, and the parent has bound the port.
    pages = " (open it in a browser to see its pages)" if settings.serves_pages else ""
    log.info("serving %s on %s%s", redacted("store", settings.store), settings.origin, pages)
    for notice in deny_list_notices(settings.deny_list):
        log.warning("%s", notice)
    return application


def _install_drain(
    aggregator: Aggregator, settings: Settings, loop: asyncio.AbstractEventLoop
) -> None:
    """Lets SIGTERM make the server unready at once, and end it `drain_seconds` later."""

    def drain() -> None:
        if aggregator.readiness.draining:  # the signal may come to all processes, and again to each
            return
        aggregator.readiness.draining = True
        # The web server's own handler of SIGINT stops accepting and ends.
        loop.call_later(settings.drain_seconds, os.kill, os.getpid(), signal.SIGINT)

    loop.add_signal_handler(signal.SIGTERM, drain)


PORT_SECONDS: Final = 3.0
PORT_POLL_SECONDS: Final = 0.25
FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 60.0
"""Between starts of a worker that dies again and again."""


class ServingError(DeniableError):
    """The server cannot listen on its address."""


def serve(settings: Settings, *, development: bool = False) -> None:
    """Serves until a signal ends it.

    After SIGTERM the server says that it is not ready, accepts requests for `drain_seconds` more,
    then answers what it has begun, commits and ends. After SIGINT it does so without the wait.

    Args:
        settings: all of them; `store` must be set.
        development: see `create_app`.

    Raises:
        StoreError: if this version cannot work with the store.
        ParameterError: if uploads cannot be counted in `rate_limit_store`.
        ServingError: if another program listens on the address.
    """
    _wait_for_port(settings.host, settings.port)
    if settings.metrics_port:
        _wait_for_port(settings.metrics_host, settings.metrics_port)
    # Opened here first, so that a store or a counter that cannot be used is reported once and
    # clearly, and not by a worker that is started again and again.
    Store(settings.store).close()
    RateLimiter(settings.rate_limit, settings.rate_limit_store)
    # The worker counts reports on one core beside ingest, which a BLAS with threads would slow.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    loader: Callable[[], Any] = partial(
        load_application, os.getpid(), settings, development=development
    )
    _serve_with_restarts(settings, loader)


def _serve_with_restarts(settings: Settings, loader: Callable[[], Any]) -> None:
    """Serves until a signal comes, also where the web server gives up.

    It gives up when a worker dies twice within seconds. The reason may pass: a database is away,
    or other programs have taken the memory.
    """
    pause = FIRST_PAUSE_SECONDS
    while True:
        server = granian_server(settings)
        start = time.monotonic()
        try:
            server.serve(target_loader=loader, wrap_loader=False)
        except SystemExit:
            if server.ended_by_signal:
                raise
        else:
            return
        if time.monotonic() - start > LONGEST_PAUSE_SECONDS:
            pause = FIRST_PAUSE_SECONDS
        log.error("the worker died twice within seconds; another one starts in %.0f s", pause)
        if server.wait_for_signal(pause):
            return
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        _wait_for_port(settings.host, settings.port)
        _reject_unusable_store(settings.store)
        # Opening a store that hangs takes seconds, in which a signal may come.
        if server.ended_by_signal:
            return


def _reject_unusable_store(store: str) -> None:
    """Raises if this version can never use the store; a store that is only unreachable passes."""
    with suppress(StoreUnavailableError):
        if is_url(store) or Path(store).exists():
            Store(store).close()


def _wait_for_port(host: str, port: int) -> None:
    """Waits until no program listens on an address.

    Granian would share the port with another server of the same user, and each would get a part of
    the requests. A server that was just killed may take a moment to release it.
    """
    deadline = time.monotonic() + PORT_SECONDS
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    while True:
        try:
            socket.create_server((host, port), family=family).close()
        except OSError as error:
            if time.monotonic() >= deadline or error.errno != errno.EADDRINUSE:
                raise ServingError(
                    f"cannot listen on {host}:{port}: {error.strerror}. "
                    "Name another address or port, or end the program that listens there."
                ) from error
            time.sleep(PORT_POLL_SECONDS)
        else:
            return
