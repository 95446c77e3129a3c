"""How the server and a process that answers questions write to each other on a socket.

A frame is two lengths of eight bytes, a head as MessagePack, and a body as it is. Each connection
has one question at a time, so a frame needs no number.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import msgspec

from deniable_aggregator.server.wsgi_call import Request, Response

if TYPE_CHECKING:
    import asyncio
    from io import BufferedReader

LENGTHS: Final = struct.Struct(">QQ")


def encode_frame(head: Request | Response, body: bytes) -> tuple[bytes, bytes]:
    """A frame in two pieces: all but the body, and the body, which is not copied."""
    encoded = msgspec.msgpack.encode(head)
    return LENGTHS.pack(len(encoded), len(body)) + encoded, body


def read_question(stream: BufferedReader) -> tuple[Request, bytes] | None:
    """Waits for the next question; None if the server has closed the connection."""
    lengths = stream.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    head_bytes, body_bytes = LENGTHS.unpack(lengths)
    head, body = stream.read(head_bytes), stream.read(body_bytes)
    if len(body) < body_bytes:
        return None
    return msgspec.msgpack.decode(head, type=Request), body


async def read_answer(stream: asyncio.StreamReader) -> tuple[Response, bytes]:
    """Waits for the answer to a question.

    Raises:
        asyncio.IncompleteReadError: if the process that was to answer has ended.
    """
    head_bytes, body_bytes = LENGTHS.unpack(await stream.readexactly(LENGTHS.size))
    head = await stream.readexactly(head_bytes)
    return msgspec.msgpack.decode(head, type=Response), await stream.readexactly(body_bytes)
