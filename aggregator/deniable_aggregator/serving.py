"""Running the aggregator on granian."""

from __future__ import annotations

import errno
import os
import signal
import socket
import threading
import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server import MPServer

from deniable_aggregator.app import create_app
from deniable_aggregator.catalogue import Catalogue
from deniable_aggregator.store import Store
from deniable_shared.errors import DeniableError

if TYPE_CHECKING:
    from pathlib import Path

    from flask import Flask

    from deniable_aggregator.settings import Settings

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8787
DEFAULT_THREADS: Final = 32
BACKPRESSURE: Final = 1_024
PORT_SECONDS: Final = 3.0
POLL_SECONDS: Final = 0.25
RESPAWN_SECONDS: Final = 0.5


class ServingError(DeniableError):
    """The server cannot listen where it was told to."""


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
        StoreError: if the path does not hold a store that this version can work with.
        ServingError: if another program listens at this address.
    """
    _await_port(host, port)
    # Opened here first, so that a store that cannot be used is told once and clearly, and not by
    # a worker that is started again and again.
    with closing(Store(store)) as opened:
        Catalogue(opened)
    # The worker counts on one core beside ingest: threads of a BLAS would only fight for it.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    settings = replace(settings, enough_uploads=max(1, threads * 3 // 4))
    loader = partial(_worker, os.getpid(), store=store, settings=settings)
    server(host, port, threads).serve(target_loader=loader, wrap_loader=False)


def _await_port(host: str, port: int) -> None:
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
                    "Name another --host or --port, or end what listens there."
                ) from error
            time.sleep(POLL_SECONDS)
        else:
            return


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _worker(parent: int, *, store: Path, settings: Settings) -> Flask:
    """The application in a worker process, which ends when its parent is gone."""
    threading.Thread(target=_end_with, args=(parent,), name="deniable-parent", daemon=True).start()
    return create_app(store=store, settings=settings)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


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
