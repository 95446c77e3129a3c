"""The only module that imports granian: its types, and the server with this project's settings.

RSGI is granian's interface to an application: ``granian.rsgi`` has its types. Whether a signal has
ended the server is known only to attributes that granian does not document, which is why
pyproject.toml keeps it below its next major version.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.rsgi import Headers, HTTPProtocol, ProtocolClosed, Scope
from granian.server import MPServer

from deniable_aggregator.doors.server.log_format import logging_config

if TYPE_CHECKING:
    from deniable_aggregator.keeping.settings import Settings

CONNECTIONS: Final = 1_024
"""Further clients wait until one of these connections is closed. Each has one request at a time, so
this also bounds how many requests the event loop holds."""

BUFFER_BYTES: Final = 64 << 10
"""So much of a body is read from a connection before the application asks for it."""

ANSWER_SECONDS: Final = 10.0
"""When the server is told to end, answers that are being computed get so much more time."""

WSGI_THREADS: Final = 32
RESPAWN_SECONDS: Final = 0.5


class GranianServer(MPServer):
    """Granian's server, which runs the application in a worker process until a signal comes."""

    @property
    def ended_by_signal(self) -> bool:
        """Whether SIGTERM or SIGINT has come since the server was made."""
        return bool(self.interrupt_signal)

    def wait_for_signal(self, seconds: float) -> bool:
        """Waits for SIGTERM or SIGINT after `serve` has given up; its handlers are still there.

        Args:
            seconds: how long to wait.

        Returns:
            Whether one of them has come, now or before.
        """
        self.main_loop_interrupt.clear()
        if not self.ended_by_signal:
            self.main_loop_interrupt.wait(seconds)
        return self.ended_by_signal


def granian_server(settings: Settings, interface: Interfaces = Interfaces.RSGI) -> GranianServer:
    """Makes the web server; its `serve` takes the loader of the application.

    It has one worker: for more, start more servers, which docs/operations/sizing.md compares.

    Args:
        settings: where to listen, and how long to wait for what.
        interface: how the server talks to the application; WSGI is for comparison in benchmarks.
    """
    longest_request = settings.body_seconds + settings.queue_seconds + ANSWER_SECONDS
    return GranianServer(
        "deniable_aggregator.doors.server.rsgi:RsgiApplication",
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
        log_dictconfig=logging_config(settings.log_format, settings.log_level),
        log_access=False,  # an access log is a list of addresses and times
        respawn_failed_workers=True,
        respawn_interval=RESPAWN_SECONDS,
        workers_kill_timeout=math.ceil(settings.drain_seconds + longest_request),
    )


__all__ = [
    "GranianServer",
    "HTTPProtocol",
    "Headers",
    "ProtocolClosed",
    "Scope",
    "granian_server",
]
