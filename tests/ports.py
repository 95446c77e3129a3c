"""Where servers of tests listen."""

from __future__ import annotations

import itertools
import random
import socket
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = "127.0.0.1"
FIRST, LAST = 12_000, 32_000
"""All of them below those that the system gives to connections."""
EACH = 1_000
"""Every process that runs tests has so many ports to choose from, and no other process has them."""


def free_port() -> int:
    """A port on which nobody listens at this moment, and which no other test is given."""
    _, numbers = _own()
    for port in itertools.islice(numbers, EACH):
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")


@cache
def _own() -> tuple[socket.socket, Iterator[int]]:
    """What keeps this process's ports from others, and those ports again and again.

    The first of a thousand says whose they are: to whoever has bound it.
    """
    for first in range(FIRST, LAST, EACH):
        claim = socket.socket()
        try:
            claim.bind((HOST, first))
        except OSError:
            claim.close()
            continue
        ports = [*range(first + 1, first + EACH)]
        begin = random.SystemRandom().randrange(len(ports))
        return claim, itertools.cycle(ports[begin:] + ports[:begin])
    raise AssertionError(f"no {EACH:,} ports from {FIRST:,} to {LAST:,} are unclaimed")
