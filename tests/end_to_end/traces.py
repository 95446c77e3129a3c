"""What could point at a sender, in every form in which it could be written down."""

from __future__ import annotations

import base64
import ipaddress
import struct
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MILLISECONDS, MICROSECONDS, NANOSECONDS = 10**3, 10**6, 10**9


def of_text(text: str) -> set[bytes]:
    """Text as it is, in the other case, encoded and hashed by nobody."""
    plain = text.encode()
    return {
        plain,
        text.lower().encode(),
        base64.b64encode(plain).rstrip(b"="),
        plain.hex().encode(),
    }


def of_bytes(value: bytes) -> set[bytes]:
    """Bytes as they are, as hexadecimal digits and as base64."""
    return {value, value.hex().encode(), base64.b64encode(value).rstrip(b"=")}


def of_address(address: str) -> set[bytes]:
    """An address as text and as a number."""
    return of_text(address) | of_bytes(ipaddress.ip_address(address).packed)


def of_times(start: float, end: float) -> set[bytes]:
    """Every moment of a stretch of time, in seconds since 1970, and finer.

    A finer number is recognised by its first bytes, which stay the same for four seconds or more.
    The shortest traces have four bytes, and a minute has about 170 of them: one of them is among
    10,000 random bytes, more than a small store holds, with a probability below 0.001.
    """
    found: set[bytes] = set()
    for second in range(int(start) - 1, int(end) + 2):
        when = datetime.fromtimestamp(second, UTC)
        found.add(str(second)[:8].encode())
        found.update(when.strftime(form).encode() for form in ("%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"))
        found.update(when.strftime(form).encode() for form in ("%d/%b/%Y:%H", "%d %b %Y %H:"))
        for big in (
            struct.pack(">I", second),
            struct.pack(">d", second)[:5],
            struct.pack(">d", second * MILLISECONDS)[:5],
            struct.pack(">Q", second * MILLISECONDS)[2:6],
            struct.pack(">Q", second * MICROSECONDS)[1:5],
            struct.pack(">Q", second * NANOSECONDS)[:4],
        ):
            found |= {big, big[::-1], big.hex().encode(), big[::-1].hex().encode()}
    return found


def left_in(data: bytes, traces: Iterable[bytes]) -> list[bytes]:
    """Which of the traces are in some data; hexadecimal digits in either case."""
    lower = data.lower()
    return [trace for trace in traces if trace in data or trace in lower]
