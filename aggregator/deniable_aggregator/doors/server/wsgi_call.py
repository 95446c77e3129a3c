"""One request of the WSGI application, which may come through another process.

How the server and a process that answers questions write to each other on a socket.

A question is two lengths of eight bytes, a head as MessagePack, and a body as it is. An answer is a
length and a head, then pieces of the body, each with its length before it, and at last a length of
zero; `BROKEN` where the rest cannot be made, or nothing but `AGAIN` where the question is to be
asked again. Each question has a connection of its own; whoever closes it wants no answer.
"""

from __future__ import annotations

import io
import struct
import sys
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Iterator
    from io import BufferedReader
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from deniable_aggregator.doors.server.granian_adapter import Scope


_UNPREFIXED: Final = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}


class Request(msgspec.Struct, frozen=True):
    """A request without its body and without the client's address.

    Attributes:
        method: such as GET.
        path: decoded, without the query.
        query_string: as it was sent.
        http_version: such as 1.1.
        scheme: http or https.
        headers: names in lower case, and values.
    """

    method: str
    path: str
    query_string: str
    http_version: str
    scheme: str
    headers: list[tuple[str, str]]

    @classmethod
    def from_scope(cls, scope: Scope) -> Request:
        """The request that the web server has received."""
        return cls(
            scope.method,
            scope.path,
            scope.query_string,
            scope.http_version,
            scope.scheme,
            scope.headers.items(),
        )


class Asker(msgspec.Struct, frozen=True):
    """Who asks.

    Attributes:
        application: whose metrics the question is about.
        key: the id of the key that allows it.
    """

    application: str
    key: str


class Response(msgspec.Struct, frozen=True):
    """An answer without its body.

    Attributes:
        status: of HTTP.
        headers: names in lower case, and values.
    """

    status: int
    headers: list[tuple[str, str]]


def call_wsgi(
    app: WSGIApplication, request: Request, body: bytes
) -> tuple[Response, Iterator[bytes]]:
    """Has a WSGI application answer a request.

    Args:
        app: the application.
        request: the request's line and headers.
        body: the request's body.

    Returns:
        The answer and the pieces of its body, which the application makes as they are taken.
    """
    started: list[tuple[str, list[tuple[str, str]]]] = []
    written: list[bytes] = []

    def start_response(status: str, headers: list[tuple[str, str]], _failure: object = None) -> Any:
        started[:] = [(status, headers)]
        return written.append

    start: StartResponse = start_response
    answer = app(_environ(request, body), start)
    pieces = _pieces(answer)
    written.extend(islice(pieces, 1))  # an application may begin only when its body is taken
    ((status, headers),) = started
    response = Response(
        int(status.partition(" ")[0]), [(name.lower(), value) for name, value in headers]
    )
    return response, chain(written, pieces)


def _pieces(answer: Iterable[bytes]) -> Iterator[bytes]:
    try:
        yield from answer
    finally:
        close = getattr(answer, "close", None)
        if close is not None:
            close()


def _environ(request: Request, body: bytes) -> WSGIEnvironment:
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": request.path.encode().decode("latin-1"),
        "QUERY_STRING": request.query_string,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": f"HTTP/{request.http_version}",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": request.scheme,
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in request.headers:
        key = _UNPREFIXED.get(name) or f"HTTP_{name.upper().replace('-', '_')}"
        environ[key] = f"{environ[key]},{value}" if key in environ else value
    # A body that came in chunks is whole here.
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    environ["CONTENT_LENGTH"] = str(len(body))
    return environ


LENGTH: Final = struct.Struct(">Q")
LENGTHS: Final = struct.Struct(">QQ")
END: Final = LENGTH.pack(0)
PIECE_BYTES: Final = 256 << 10
BROKEN: Final = LENGTH.pack(2**64 - 1)
AGAIN: Final = LENGTH.pack(2**64 - 2)


class BrokenAnswerError(Exception):
    """The rest of an answer cannot be made."""


class AskAgainError(Exception):
    """The process ends for the sake of another question."""


def encode_question(asker: Asker, request: Request, body: bytes) -> tuple[bytes, bytes]:
    """A question in two pieces: all but the body, and the body, which is not copied."""
    encoded = msgspec.msgpack.encode((asker, request))
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


_Head: Final = msgspec.msgpack.Decoder(tuple[Asker, Request])


def read_question(stream: BufferedReader) -> tuple[Asker, Request, int] | None:
    """Waits for a question; its body, of as many bytes as the number says, follows it.

    Returns:
        None if the server has closed the connection.
    """
    lengths = stream.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    head_bytes, body_bytes = LENGTHS.unpack(lengths)
    head = stream.read(head_bytes)
    return (*_Head.decode(head), body_bytes) if len(head) == head_bytes else None


async def read_head(stream: asyncio.StreamReader) -> Response:
    """Waits for the head of the answer to a question.

    Raises:
        AskAgainError: if the question is to be asked again.
        asyncio.IncompleteReadError: if the process that was to answer has ended.
    """
    length = await stream.readexactly(LENGTH.size)
    if length == AGAIN:
        raise AskAgainError
    head = await stream.readexactly(*LENGTH.unpack(length))
    return msgspec.msgpack.decode(head, type=Response)


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
