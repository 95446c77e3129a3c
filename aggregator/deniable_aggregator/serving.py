"""Running the aggregator on granian."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Final

from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server import MPServer

from deniable_aggregator.app import create_app
from deniable_aggregator.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from deniable_aggregator.settings import Settings

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8787
DEFAULT_THREADS: Final = 24
BACKPRESSURE: Final = 1_024
RESPAWN_SECONDS: Final = 0.5


def serve(
    *,
    store: Path,
    settings: Settings,
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    threads: int = DEFAULT_THREADS,
) -> None:
    """Serves until a signal ends it: one worker process, started again whenever it dies.

    Args:
        store: the store's file; created if absent.
        settings: limits.
        host: the address to listen on. Beyond 127.0.0.1, put a buffering reverse proxy in front:
            TLS and slow clients are its business.
        port: the TCP port.
        threads: requests that are worked on at a time.

    Raises:
        StoreRefusedError: if the path does not hold a store that this version can work with.
    """
    # Opened here first, so that a store that cannot be used is told once and clearly, and not by
    # a worker that is started again and again.
    Store(store).close()
    # The worker counts on one core beside ingest: threads of a BLAS would only fight for it.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    loader = partial(create_app, store=store, settings=settings)
    server(host, port, threads).serve(target_loader=loader, wrap_loader=False)


def server(host: str, port: int, threads: int) -> MPServer:
    """The web server as it was measured; it calls the loader that its `serve` is given.

    One worker, because a second one on the same SQLite file was measured to be slower.
    """
    return MPServer(
        "deniable_aggregator.app:create_app",
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        workers=1,
        blocking_threads=threads,
        backpressure=BACKPRESSURE,
        websockets=False,
        log_level=LogLevels.error,
        log_access=False,  # an access log is a list of addresses and times
        respawn_failed_workers=True,
        respawn_interval=RESPAWN_SECONDS,
    )
