"""The process that answers: it opens the store, runs the application, and ends with its parent."""

from __future__ import annotations

import gc
import logging
import os
import signal
from functools import partial
from typing import TYPE_CHECKING

from deniable_aggregator.app import EXTENSION, create_app
from deniable_aggregator.config.settings import redacted
from deniable_aggregator.server.log_format import OURS
from deniable_aggregator.server.parent import end_with_parent
from deniable_aggregator.server.prometheus import PrometheusCollector
from deniable_aggregator.server.rsgi import RsgiApplication
from deniable_aggregator.store import StoreError
from deniable_aggregator.store.backends.opening import require_existing

if TYPE_CHECKING:
    import asyncio

    from deniable_aggregator.app import Aggregator
    from deniable_aggregator.config.settings import Settings

log = logging.getLogger(OURS)


def load_application(parent: int, settings: Settings) -> RsgiApplication:
    """Makes the application in a worker process.

    Args:
        parent: the process that started this one.
        settings: all of them.

    Raises:
        SystemExit: if the store cannot be opened.
    """
    end_with_parent(parent, signal.SIGINT)
    try:
        # The parent has created the store if it was absent. If it is absent now it was lost, which
        # a new one would hide.
        require_existing(settings.store)
        app = create_app(store=settings.store, settings=settings)
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
