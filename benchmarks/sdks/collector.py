"""The server of the benchmark: it understands every SDK's protocol enough to count events."""

from __future__ import annotations

import gzip
import json
import re
import socket
import threading
import time
import zlib
from collections import Counter
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final

from deniable_shared import wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SLOW_SECONDS: Final = 0.3
HANG_SECONDS: Final = 60.0
_HOST: Final = "127.0.0.1"
_EVENT: Final = re.compile(r"event \d+")
_NUMBERED_FIELD, _LENGTH_FIELD = 0, 2


class Tally:
    """Counts the events that have arrived, by name, when they are answered.

    Attributes:
        events: how often each event has arrived; more than once is a duplicate.
    """

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()
        self._busy = 0
        self._lock = threading.Lock()

    def begin(self) -> None:
        """A request has been read."""
        with self._lock:
            self._busy += 1

    def end(self, events: list[str]) -> None:
        """It was answered, or given up."""
        with self._lock:
            self._busy -= 1
            self.events.update(events)

    def wait_and_count(self, seconds: float = 1.0) -> int:
        """How many different events have arrived, once no request is being answered."""
        deadline = time.monotonic() + seconds
        while self._busy and time.monotonic() < deadline:
            time.sleep(0.005)
        return len(self.events)


def deniable_events(path: str, body: bytes) -> list[str]:  # noqa: ARG001
    """Every upload by its id, which the aggregator counts once."""
    upload = wire.decode(body)
    return [f"{upload.id.hex()} {index}" for index in range(len(upload.parts))]


def batch_events(path: str, body: bytes) -> list[str]:  # noqa: ARG001
    """PostHog and Segment: a JSON object with a batch."""
    return [item["event"] for item in json.loads(body).get("batch", ()) if "event" in item]


def sentry_events(path: str, body: bytes) -> list[str]:  # noqa: ARG001
    """An envelope: a line of JSON, then items, each with a header that may give its length."""
    events, rest = [], body.partition(b"\n")[2]
    while rest:
        header, _, rest = rest.partition(b"\n")
        if not header:
            continue
        item = json.loads(header)
        length = item.get("length", rest.find(b"\n") % (len(rest) + 1))
        payload, rest = rest[:length], rest[length:]
        if item["type"] == "event":
            events += _EVENT.findall(json.dumps(json.loads(payload).get("message", "")))
    return events


def otlp_events(path: str, body: bytes) -> list[str]:  # noqa: ARG001
    """The names of the spans in an ExportTraceServiceRequest, by their place in its schema."""
    resources = _fields(body, 1)
    scopes = [scope for resource in resources for scope in _fields(resource, 2)]
    spans = [span for scope in scopes for span in _fields(scope, 2)]
    return [name.decode() for span in spans for name in _fields(span, 5)]


def _fields(message: bytes, wanted: int) -> list[bytes]:
    """The values of one length-delimited field of a protocol buffer."""
    found, at = [], 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        number, kind = divmod(varint(), 8)
        if kind == _NUMBERED_FIELD:
            varint()
        elif kind == _LENGTH_FIELD:
            length = varint()
            if number == wanted:
                found.append(message[at : at + length])
            at += length
        else:
            at += 8 if kind == 1 else 4
    return found


def glean_events(path: str, body: bytes) -> list[str]:
    """The extra key of every event in an ``events`` ping; other pings have none."""
    if "/events/" not in path:
        return []
    events = json.loads(body).get("events", ())
    numbers = [event.get("extra", {}).get("number") for event in events]
    return [f"event {number}" for number in numbers if number is not None]


PROTOCOLS: Final[dict[str, Callable[[str, bytes], list[str]]]] = {
    "deniable": deniable_events,
    "deniable-flush": deniable_events,
    "posthog": batch_events,
    "sentry-sdk": sentry_events,
    "opentelemetry-sdk": otlp_events,
    "segment-analytics-python": batch_events,
    "glean-sdk": glean_events,
}


@contextmanager
def collecting(sdk: str, state: str, tally: Tally) -> Iterator[str]:
    """A server on a free port of this machine, by its URL.

    Args:
        sdk: whose protocol it reads.
        state: ``up``, ``slow`` (every answer takes `SLOW_SECONDS`), ``hanging`` (requests are read
            and never answered) or ``refusing`` (nobody listens).
        tally: where arrivals are counted.
    """
    if state == "refusing":
        with socket.socket() as held:  # bound and not listening: nobody else can take the port
            held.bind((_HOST, 0))
            yield f"http://{_HOST}:{held.getsockname()[1]}"
        return
    server = _Server(sdk, state, tally)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://{_HOST}:{server.server_address[1]}"
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, sdk: str, state: str, tally: Tally) -> None:
        super().__init__((_HOST, 0), _Handler)
        self.sdk = sdk
        self.state = state
        self.tally = tally
        self.closing = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """A program that was killed leaves broken connections behind."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing is logged."""

    def do_GET(self) -> None:
        self._answer(b"{}")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        tally = self.server.tally
        if self.server.state == "hanging":
            self.server.closing.wait(HANG_SECONDS)
            self.close_connection = True
            return
        tally.begin()
        events: list[str] = []
        try:
            if self.server.state == "slow":
                self.server.closing.wait(SLOW_SECONDS)
            found = PROTOCOLS[self.server.sdk](self.path, self._plain(body))
            self._answer(b"" if self.server.sdk == "opentelemetry-sdk" else b'{"status": 1}')
            events = found
        finally:
            tally.end(events)

    def _plain(self, body: bytes) -> bytes:
        encoding = self.headers.get("Content-Encoding", "identity")
        if encoding == "gzip":
            return gzip.decompress(body)
        if encoding == "deflate":
            return zlib.decompress(body)
        if encoding != "identity":
            raise ValueError(f"a body in {encoding}")
        return body

    def _answer(self, body: bytes) -> None:
        with suppress(ConnectionError):
            if self.server.sdk.startswith("deniable"):
                self.send_response(204)
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
