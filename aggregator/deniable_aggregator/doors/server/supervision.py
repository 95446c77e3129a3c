"""What every server of this project does: one worker process, started again whenever it dies."""

from __future__ import annotations

import errno
import logging
import os
import signal
import socket
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.doors.server.granian_adapter import granian_server
from deniable_aggregator.doors.server.log_format import OURS
from deniable_shared.errors import DeniableError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from deniable_aggregator.keeping.settings import Settings


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


def drain_on_sigterm(
    loop: asyncio.AbstractEventLoop, seconds: float, begin: Callable[[], bool]
) -> None:
    """Lets SIGTERM make the server unready at once, and end it later.

    Args:
        loop: the worker's event loop.
        seconds: how much later.
        begin: makes the server unready; returns whether it was ready.
    """

    def drain() -> None:
        if begin():  # the signal may come to all processes, and again to each
            # The web server's own handler of SIGINT stops accepting and ends.
            loop.call_later(seconds, os.kill, os.getpid(), signal.SIGINT)

    loop.add_signal_handler(signal.SIGTERM, drain)


PORT_SECONDS: Final = 3.0
PORT_POLL_SECONDS: Final = 0.25
FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 60.0
"""Between starts of a worker that dies again and again."""


class ServingError(DeniableError):
    """The server cannot listen on its address."""


def serve_with_restarts(
    settings: Settings, loader: Callable[[], Any], check: Callable[[], object]
) -> None:
    """Serves until a signal comes, also where the web server gives up.

    It gives up when a worker dies twice within seconds. The reason may pass: a database is away,
    or other programs have taken the memory.

    Args:
        settings: where to listen, and how long to wait for what.
        loader: makes the application in a worker process.
        check: called before another start; raises if no start can succeed.
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
        wait_for_port(settings.host, settings.port)
        check()
        # Opening a store that hangs takes seconds, in which a signal may come.
        if server.ended_by_signal:
            return


def wait_for_port(host: str, port: int) -> None:
    """Waits until no program listens on an address.

    Granian would share the port with another server of the same user, and each would get a part of
    the requests. A server that was just killed may take a moment to release it.

    Raises:
        ServingError: if one does.
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
