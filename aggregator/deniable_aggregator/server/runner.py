"""Running the aggregator on granian."""

from __future__ import annotations

import errno
import gc
import logging
import math
import os
import signal
import socket
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server import MPServer

from deniable_aggregator.app import EXTENSION, create_app
from deniable_aggregator.config.settings import redacted
from deniable_aggregator.ingest.rate_limit import RateLimiter
from deniable_aggregator.server import log_format
from deniable_aggregator.server.prometheus import PrometheusCollector
from deniable_aggregator.server.rsgi import RsgiApplication
from deniable_aggregator.store import Store, StoreError, StoreUnavailableError
from deniable_aggregator.store.backends.opening import require_existing
from deniable_aggregator.store.backends.urls import is_url
from deniable_shared.errors import DeniableError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from deniable_aggregator.app import Aggregator
    from deniable_aggregator.config.settings import Settings

CONNECTIONS: Final = 1_024
"""More wait until one of these is closed. Each has one request at a time, so this also bounds how
much waits for the event loop."""

BUFFER_BYTES: Final = 64 << 10
"""What is read of a connection before anybody asks for it."""

WSGI_THREADS: Final = 32
QUESTION_SECONDS: Final = 10.0
"""For answers that are being worked out when the server is told to end."""

PORT_SECONDS: Final = 3.0
POLL_SECONDS: Final = 0.25
RESPAWN_SECONDS: Final = 0.5
FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 60.0
"""Between starts of a worker that dies again and again."""

log = logging.getLogger(log_format.OURS)


class ServingError(DeniableError):
    """The server cannot listen where it was told to."""


def serve(settings: Settings) -> None:
    """Serves until a signal ends it: one worker process, started again whenever it dies.

    SIGTERM is an orderly end: the server says that it is not ready, goes on for `drain_seconds`,
    stops accepting, answers what it has begun, commits and closes. SIGINT leaves out the wait.

    Args:
        settings: all of them; `store` must be set.

    Raises:
        StoreError: if it is not a store that this version can work with.
        ParameterError: if uploads cannot be counted where `rate_limit_store` says.
        ServingError: if another program listens at this address.
    """
    _wait_for_port(settings.host, settings.port)
    if settings.metrics_port:
        _wait_for_port(settings.metrics_host, settings.metrics_port)
    # Opened here first, so that a store that cannot be used is told once and clearly, and not by
    # a worker that is started again and again.
    Store(settings.store).close()
    RateLimiter(settings.rate_limit, settings.rate_limit_store)
    # The worker counts on one core beside ingest: threads of a BLAS would only fight for it.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    loader: Callable[[], Any] = partial(_worker, os.getpid(), settings)
    _serve_with_restarts(settings, loader)


def _serve_with_restarts(settings: Settings, loader: Callable[[], Any]) -> None:
    """Serves until a signal ends it, where the web server gives up.

    It does when a worker dies twice within seconds, which may have its reason in something that
    passes: a database that is away, or memory that others have taken.
    """
    pause = FIRST_PAUSE_SECONDS
    while True:
        web = server(settings, Interfaces.RSGI)
        began = time.monotonic()
        try:
            web.serve(target_loader=loader, wrap_loader=False)
        except SystemExit:
            if web.interrupt_signal:
                raise
        else:
            return
        if time.monotonic() - began > LONGEST_PAUSE_SECONDS:
            pause = FIRST_PAUSE_SECONDS
        log.error("the worker died twice within seconds; another one starts in %.0f s", pause)
        # The signals' handlers are still those of the web server.
        web.main_loop_interrupt.clear()
        if web.interrupt_signal or (web.main_loop_interrupt.wait(pause) and web.interrupt_signal):
            return
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        _wait_for_port(settings.host, settings.port)
        _reject_unusable_store(settings.store)
        # A database that hangs keeps this waiting for seconds, in which a signal may come.
        if web.interrupt_signal:
            return


def _reject_unusable_store(store: str) -> None:
    """Refuses a store that will not be one that this version can work with by waiting for it."""
    with suppress(StoreUnavailableError):
        if is_url(store) or Path(store).exists():
            Store(store).close()


def _wait_for_port(host: str, port: int) -> None:
    """Waits until nobody listens at an address.

    Granian would share a port with whatever else the same user runs there, each getting a part of
    the requests. A server that was just killed may take a moment to let go of it.
    """
    deadline = time.monotonic() + PORT_SECONDS
    while True:
        try:
            socket.create_server((host, port), family=_family(host)).close()
        except OSError as error:
            if time.monotonic() >= deadline or error.errno != errno.EADDRINUSE:
                raise ServingError(
                    f"cannot listen on {host}:{port}: {error.strerror}. "
                    "Name another address or port, or end what listens there."
                ) from error
            time.sleep(POLL_SECONDS)
        else:
            return


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _worker(parent: int, settings: Settings) -> RsgiApplication:
    """The application in a worker process, which ends when its parent is gone."""
    threading.Thread(
        target=_exit_with_parent, args=(parent,), name="deniable-parent", daemon=True
    ).start()
    try:
        # The parent has made it if need be. Another one would hide that the first is lost.
        require_existing(settings.store)
        app = create_app(store=settings.store, settings=settings)
    except StoreError as error:
        log.error("the store cannot be opened: %s", error)
        raise SystemExit(1) from None
    running: Aggregator = app.extensions[EXTENSION]
    application = RsgiApplication(app, settings, started=partial(_install_drain, running, settings))
    if settings.metrics_port:
        telemetry = PrometheusCollector(running, in_flight_bytes=lambda: application.bodies.used)
        telemetry.listen(settings.metrics_host, settings.metrics_port)
    # What was imported and set up stays until the end. Looking through it for garbage again and
    # again was measured at a seventh of all that an upload costs.
    gc.collect()
    gc.freeze()
    # Said here and not before: the store is open, and the port is bound by the parent.
    where = f"[{settings.host}]" if ":" in settings.host else settings.host
    log.info("serving %s on http://%s:%d", redacted("store", settings.store), where, settings.port)
    return application


def _install_drain(
    running: Aggregator, settings: Settings, loop: asyncio.AbstractEventLoop
) -> None:
    """Makes SIGTERM say first that the server is not ready, and end it a while later."""

    def drain() -> None:
        if running.readiness.draining:  # one signal may come to all processes, and again to each
            return
        running.readiness.draining = True
        # The web server has a handler for this one too, which stops accepting.
        loop.call_later(settings.drain_seconds, os.kill, os.getpid(), signal.SIGINT)

    loop.add_signal_handler(signal.SIGTERM, drain)


def _exit_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGINT)


def server(settings: Settings, interface: Interfaces) -> MPServer:
    """The web server as it was measured; it calls the loader that its `serve` is given.

    One worker, because a second one on the same SQLite file was measured to be slower.

    Args:
        settings: where to listen, and how long to wait for what.
        interface: how it talks to the application.
    """
    patience = settings.body_seconds + settings.queue_seconds + QUESTION_SECONDS
    return MPServer(
        "deniable_aggregator.server.rsgi:Application",
        address=settings.host,
        port=settings.port,
        interface=interface,
        workers=1,
        blocking_threads=WSGI_THREADS if interface == Interfaces.WSGI else 1,
        loop=Loops.uvloop,
        backpressure=CONNECTIONS,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(
            header_read_timeout=int(settings.header_seconds * 1_000),
            max_buffer_size=BUFFER_BYTES,
        ),
        websockets=False,
        log_level=LogLevels.error,
        log_dictconfig=log_format.logging_config(settings.log_format, settings.log_level),
        log_access=False,  # an access log is a list of addresses and times
        respawn_failed_workers=True,
        respawn_interval=RESPAWN_SECONDS,
        workers_kill_timeout=math.ceil(settings.drain_seconds + patience),
    )
