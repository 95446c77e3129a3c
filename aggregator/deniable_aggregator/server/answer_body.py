"""The body of an answer from another process: small ones in memory, large ones in a file."""

from __future__ import annotations

import asyncio
import errno
import os
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from deniable_aggregator.server.granian_adapter import HTTPProtocol
    from deniable_aggregator.server.wsgi_call import Response

MOST_IN_MEMORY: Final = 1 << 20
"""Bytes of an answer beyond which it goes into a file."""

OPENED_SECONDS: Final = 10.0
"""By then the web server has opened a file that it was given; it does so at once."""


class AnswerBody:
    """What is received of an answer, in its order.

    A large answer goes into a file without a name. A client that reads slowly then takes neither
    memory nor the process that has answered, and nobody sees a part of an answer that breaks off.
    The web server would keep in memory what it is given piece by piece, and end what breaks off as
    if it were whole.

    Args:
        whole: all of it, where it is there.
    """

    def __init__(self, whole: bytes = b"") -> None:
        self._pieces = [whole]
        self._size = len(whole)
        self._file: IO[bytes] | None = None

    async def add(self, piece: bytes) -> None:
        """Adds a piece.

        Raises:
            OSError: if there is no room for the file.
        """
        self._size += len(piece)
        if self._file is None and self._size <= MOST_IN_MEMORY:
            self._pieces.append(piece)
        else:
            await asyncio.to_thread(self._write, piece)

    def _write(self, piece: bytes) -> None:
        if self._file is None:
            self._file = TemporaryFile(buffering=0)  # noqa: SIM115  closed by `close`
            self._write_whole(self._file, b"".join(self._pieces))
            self._pieces = []
        self._write_whole(self._file, piece)

    @staticmethod
    def _write_whole(file: IO[bytes], content: bytes) -> None:
        # A file without a buffer takes a part where the rest has no room, and raises nothing.
        if file.write(content) != len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def respond(self, protocol: HTTPProtocol, response: Response) -> None:
        """Answers a request.

        Args:
            protocol: of the request.
            response: the status and the headers.
        """
        if self._file is None:
            protocol.response_bytes(response.status, response.headers, b"".join(self._pieces))
            return
        headers = [each for each in response.headers if each[0] != "content-length"]
        headers.append(("content-length", str(self._size)))
        path = f"/proc/self/fd/{self._file.fileno()}"
        protocol.response_file(response.status, headers, path)
        asyncio.get_running_loop().call_later(OPENED_SECONDS, self.close)

    def close(self) -> None:
        """Gives the file back, if there is one."""
        if self._file is not None:
            self._file.close()
