"""A small web server for Prometheus: one path, no versions in headers, no log of visitors."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Final
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client.exposition import ThreadingWSGIServer, make_wsgi_app

from deniable_aggregator.http.browsers import NO_SNIFFING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIEnvironment

    from prometheus_client import CollectorRegistry

PATH: Final = "/metrics"
NAME: Final = "deniable"
"""For the header Server, in place of the versions of Python and its library."""


class MetricsEndpoint:
    """Answers ``GET /metrics`` on a port, in a thread, until `close`.

    Args:
        host: where to listen: a name, or an address of either version of IP.
        port: where to listen.
        registry: collects the figures for each request.

    Raises:
        OSError: if it cannot listen there.
    """

    def __init__(self, host: str, port: int, registry: CollectorRegistry) -> None:
        self._metrics = make_wsgi_app(registry)
        server = _Server6 if ":" in host else ThreadingWSGIServer
        self._server = make_server(host, port, self._answer, server, _Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="deniable-metrics", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stops listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        common = [("Server", NAME), NO_SNIFFING]
        if environ["PATH_INFO"] != PATH:
            start_response("404 Not Found", [("Content-Type", "text/plain"), *common])
            return [f"There is nothing here but {PATH}.\n".encode()]

        def start(status: str, headers: list[tuple[str, str]]) -> object:
            return start_response(status, [*headers, *common])

        found: Iterable[bytes] = self._metrics(environ, start)
        return found


class _Server6(ThreadingWSGIServer):
    address_family = socket.AF_INET6


class _Handler(WSGIRequestHandler):
    def version_string(self) -> str:
        """The header Server of answers to malformed requests."""
        return NAME

    def log_message(self, *_: object) -> None:
        """Logs nothing, as a log of requests is a list of addresses and times."""
