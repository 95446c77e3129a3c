"""Raw connections to a server: what well-behaved clients never do."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import TYPE_CHECKING

from deniable_shared import wire
from tests.end_to_end.asking import PATIENCE_SECONDS
from tests.ports import HOST

if TYPE_CHECKING:
    from collections.abc import Iterator

BYTES_PER_SECOND = 1.0


def head(token: str, *lines: str) -> bytes:
    """The headers of an upload."""
    fixed = (
        "POST /v1/reports HTTP/1.1",
        "Host: x",
        f"Authorization: Bearer {token}",
        f"Content-Type: {wire.CONTENT_TYPE}",
    )
    return "\r\n".join((*fixed, *lines, "", "")).encode()


def exchange(port: int, *pieces: bytes, end: bool = False) -> bytes:
    """Sends bytes, and reads until the server hangs up."""
    with socket.create_connection((HOST, port), timeout=PATIENCE_SECONDS) as connection:
        with contextlib.suppress(OSError):  # it may have answered and hung up already
            for piece in pieces:
                connection.sendall(piece)
            if end:
                connection.shutdown(socket.SHUT_WR)
        return read(connection)


def read(connection: socket.socket) -> bytes:
    """All that comes until the server hangs up."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(65_536):
            received += piece
    return received


@contextlib.contextmanager
def dripping(port: int, count: int, data: bytes) -> Iterator[None]:
    """As many connections, each of which sends a byte of the data now and then, and comes back."""
    begun, stop = threading.Event(), threading.Event()
    thread = threading.Thread(target=_drip, args=(port, count, data, begun, stop))
    thread.start()
    try:
        assert begun.wait(PATIENCE_SECONDS)
        yield
    finally:
        stop.set()
        thread.join()


def _drip(
    port: int, count: int, data: bytes, begun: threading.Event, stop: threading.Event
) -> None:
    connections: dict[int, tuple[socket.socket, int]] = {}
    try:
        while not stop.is_set():
            start = time.monotonic()
            for each in range(count):
                connection, sent = connections.get(each) or (
                    socket.create_connection((HOST, port), timeout=PATIENCE_SECONDS),
                    0,
                )
                try:
                    connection.sendall(data[sent : sent + 1])
                    connections[each] = (connection, sent + 1)
                except OSError:
                    connection.close()
                    connections.pop(each, None)
            begun.set()
            stop.wait(max(0.0, 1 / BYTES_PER_SECOND - (time.monotonic() - start)))
    finally:
        for connection, _ in connections.values():
            connection.close()
