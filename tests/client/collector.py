"""A small HTTP server that stands in for the aggregator and answers as a test decides."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from deniable_shared import wire


class Collector:
    """Keeps what arrives; answers with the status and headers that `answer(body)` returns.

    A GET gets `document`, a status and a body, and its path is kept in `fetched`.
    """

    def __init__(self, port=0):
        self.bodies = []
        self.requests = []
        self.connections = set()
        self.document = (404, b"")
        self.fetched = []
        self.answer = lambda _body: (204, {})
        self.release = threading.Event()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                length = int(self.headers["Content-Length"])
                body = self.rfile.read(length)
                if len(body) < length:
                    return  # the client ended halfway
                collector.bodies.append(body)
                collector.requests.append((self.path, dict(self.headers)))
                collector.connections.add(self.client_address)
                status, headers = collector.answer(body)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def do_GET(self):
                collector.fetched.append(self.path)
                status, body = collector.document
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 128  # a flush may bring twenty connections at a time

            def handle_error(self, *_):
                pass  # some tests have clients that hang up

        self._server = Server(("127.0.0.1", port), Handler)
        self.port = self._server.server_address[1]
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()

    def uploads(self):
        return [wire.decode(body) for body in list(self.bodies)]

    def ids(self):
        return [upload.id for upload in self.uploads()]

    def stop(self):
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def collecting(port=0):
    collector = Collector(port)
    try:
        yield collector
    finally:
        collector.stop()
