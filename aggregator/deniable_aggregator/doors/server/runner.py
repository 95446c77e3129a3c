"""The aggregator as a server, until a signal comes."""

from __future__ import annotations

import gc
import logging
import os
import signal
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable_aggregator.answering.discoveries.questions import deny_list_notices
from deniable_aggregator.doors.app import EXTENSION, Aggregator, create_app
from deniable_aggregator.doors.http.upload_limits import RateLimiter
from deniable_aggregator.doors.server.log_format import OURS
from deniable_aggregator.doors.server.prometheus import PrometheusCollector
from deniable_aggregator.doors.server.rsgi import RsgiApplication
from deniable_aggregator.doors.server.supervision import (
    drain_on_sigterm,
    end_with_parent,
    serve_with_restarts,
    wait_for_port,
)
from deniable_aggregator.keeping.settings import Settings, redacted
from deniable_aggregator.keeping.store import Store, StoreError, StoreUnavailableError
from deniable_aggregator.keeping.store.base import is_url
from deniable_aggregator.keeping.store.opening import require_existing

if TYPE_CHECKING:
    from collections.abc import Callable


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
        app,
        settings,
        on_start=lambda loop: drain_on_sigterm(
            loop, settings.drain_seconds, aggregator.readiness.drain
        ),
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
    wait_for_port(settings.host, settings.port)
    if settings.metrics_port:
        wait_for_port(settings.metrics_host, settings.metrics_port)
    # Opened here first, so that a store or a counter that cannot be used is reported once and
    # clearly, and not by a worker that is started again and again.
    Store(settings.store).close()
    RateLimiter(settings.rate_limit, settings.rate_limit_store)
    # The worker counts reports on one core beside ingest, which a BLAS with threads would slow.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    loader: Callable[[], Any] = partial(
        load_application, os.getpid(), settings, development=development
    )
    serve_with_restarts(settings, loader, partial(_reject_unusable_store, settings.store))


def _reject_unusable_store(store: str) -> None:
    """Raises if this version can never use the store; a store that is only unreachable passes."""
    with suppress(StoreUnavailableError):
        if is_url(store) or Path(store).exists():
            Store(store).close()
