"""Where servers of tests listen."""

from __future__ import annotations

import itertools
import os
import random
import socket

HOST = "127.0.0.1"
FIRST = 12_000
EACH = 2_000
"""Every one of the processes that run tests has so many ports to choose from, all of them below
those that the system gives to connections."""

_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_numbers = itertools.count(random.SystemRandom().randrange(EACH))


def free_port() -> int:
    """A port on which nobody listens at this moment, and which no other test is given."""
    for number in itertools.islice(_numbers, EACH):
        port = FIRST + EACH * _worker + number % EACH
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")
