"""A WSGI application on a port of this machine, in the test's own process."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIRequestHandler, make_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from wsgiref.types import WSGIApplication


class Quiet(WSGIRequestHandler):
    def log_message(self, *_args):
        pass


@contextmanager
def listening(app: WSGIApplication) -> Iterator[str]:
    """Serves an application, and gives its address."""
    with make_server("127.0.0.1", 0, app, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
