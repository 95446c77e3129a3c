"""How schemathesis writes bodies that are not JSON; read by its own process."""

from __future__ import annotations

import json

import msgpack
import schemathesis


@schemathesis.serializer("application/msgpack")
def as_msgpack(_context, value):
    try:
        return msgpack.packb(value)
    except (OverflowError, ValueError):  # an integer, or a depth, that msgpack does not know
        return b"\xc1"


@schemathesis.serializer("application/toml")
def as_toml(_context, value):
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()
