"""How the server and a process that answers questions write to each other on a socket.

A question is two lengths of eight bytes, a head as MessagePack, and a body as it is. An answer is a
length and a head, then pieces of the body, each with its length before it, and at last a length of
zero; or `BROKEN` where the rest cannot be made. Each connection has one question at a time, so
nothing needs a number.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import msgspec

from deniable_aggregator.server.wsgi_call import Request, Response

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Iterator
    from io import BufferedReader

LENGTH: Final = struct.Struct(">Q")
LENGTHS: Final = struct.Struct(">QQ")
END: Final = LENGTH.pack(0)
PIECE_BYTES: Final = 256 << 10
BROKEN: Final = LENGTH.pack(2**64 - 1)


class BrokenAnswerError(Exception):
    """The rest of an answer cannot be made."""


def encode_question(head: Request, body: bytes) -> tuple[bytes, bytes]:
    """A question in two pieces: all but the body, and the body, which is not copied."""
    encoded = msgspec.msgpack.encode(head)
    return LENGTHS.pack(len(encoded), len(body)) + encoded, body


def encode_answer(head: Response, pieces: Iterable[bytes]) -> Iterator[bytes | memoryview]:
    """An answer in pieces, which are taken as they are needed and not copied.

    Raises:
        Exception: what a piece fails with; the answer is then ended as a broken one.
    """
    encoded = msgspec.msgpack.encode(head)
    yield LENGTH.pack(len(encoded)) + encoded
    try:
        for piece in pieces:
            for start in range(0, len(piece), PIECE_BYTES):
                part = memoryview(piece)[start : start + PIECE_BYTES]
                yield LENGTH.pack(len(part))
                yield part
    except Exception:
        yield BROKEN
        raise
    yield END


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


async def read_head(stream: asyncio.StreamReader) -> Response:
    """Waits for the head of the answer to a question.

    Raises:
        asyncio.IncompleteReadError: if the process that was to answer has ended.
    """
    (length,) = LENGTH.unpack(await stream.readexactly(LENGTH.size))
    return msgspec.msgpack.decode(await stream.readexactly(length), type=Response)


async def read_piece(stream: asyncio.StreamReader) -> bytes:
    """Waits for the next piece of an answer; empty at its end.

    Raises:
        asyncio.IncompleteReadError: if the process that was to answer has ended.
        BrokenAnswerError: if the rest cannot be made.
    """
    length = await stream.readexactly(LENGTH.size)
    if length == BROKEN:
        raise BrokenAnswerError("its process could not make the rest")
    return await stream.readexactly(*LENGTH.unpack(length))
