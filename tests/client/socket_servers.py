"""Servers whose handling of every connection a test decides."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading

import pytest


def reset(connection):
    """Closes a connection with a TCP reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@contextlib.contextmanager
def serving():
    """Yields a function that starts a server with a connection handler and returns its port."""
    sockets = []

    def start(handle):
        listener = socket.create_server(("127.0.0.1", 0))
        sockets.append(listener)

        def serve():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                sockets.append(connection)
                threading.Thread(target=guarded, args=(connection,), daemon=True).start()

        def guarded(connection):
            with contextlib.suppress(OSError):
                handle(connection)

        threading.Thread(target=serve, daemon=True).start()
        return listener.getsockname()[1]

    try:
        yield start
    finally:
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)  # wakes up a thread that waits for it
            each.close()


@contextlib.contextmanager
def unused_port():
    """Reserves a port at which nobody listens."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        yield kept.getsockname()[1]


@pytest.fixture
def raw_server():
    """Starts servers without TLS and returns their endpoints."""
    with serving() as start:
        yield lambda handle: f"http://127.0.0.1:{start(handle)}"
