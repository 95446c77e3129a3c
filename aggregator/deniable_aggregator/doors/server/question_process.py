"""A process that answers questions beside the server, at a lower priority.

Its standard input is a socket that stays open as long as the server lives. On it come the settings,
and on it the process says that it is ready. Its arguments are descriptors of further sockets, on
each of which it answers one question at a time. It takes no uploads and maintains nothing. It
ignores signals to end, which a terminal or systemd sends to all processes at once: it ends when the
server does.
"""

from __future__ import annotations

import gc
import logging
import os
import socket
import sys
import threading
from logging.config import dictConfig
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.doors.app import create_question_app
from deniable_aggregator.doors.server.log_format import OURS, logging_config
from deniable_aggregator.doors.server.wsgi_call import (
    Request,
    call_wsgi,
    encode_answer,
    read_question,
)
from deniable_aggregator.keeping.child_process import begin_beside_server, limit_memory
from deniable_aggregator.keeping.settings import Settings
from deniable_aggregator.keeping.store import Store, StoreError
from deniable_aggregator.keeping.store.opening import require_existing

if TYPE_CHECKING:
    from flask import Flask
    from flask.typing import ResponseReturnValue


READY: Final = b"1"

log = logging.getLogger(OURS)


def main() -> NoReturn:
    """Answers questions until the server ends."""
    begin_beside_server()
    settings = msgspec.json.decode(sys.stdin.buffer.readline(), type=Settings)
    dictConfig(logging_config(settings.log_format, settings.log_level))
    limit_memory(settings.question_memory_bytes)
    try:
        require_existing(settings.store)
        app = create_question_app(store=Store(settings.store), settings=settings)
    except StoreError as error:
        log.error("questions cannot be answered: the store cannot be opened: %s", error)
        raise SystemExit(1) from None
    QuestionThreads(app, settings.question_memory_bytes).start(map(int, sys.argv[1:]))
    gc.collect()
    gc.freeze()
    os.write(sys.stdin.fileno(), READY)
    sys.stdin.buffer.read()  # until the server has ended
    os._exit(0)


class ServerGoneError(Exception):
    """The server has ended, so nobody reads the answer."""


class QuestionThreads:
    """A thread for each connection to the server.

    Args:
        app: answers.
        memory_bytes: the limit of the process, for messages.
    """

    def __init__(self, app: Flask, memory_bytes: int) -> None:
        self._app = app
        self._memory_bytes = memory_bytes
        self._out_of_memory = False
        app.register_error_handler(MemoryError, self._refuse)

    def start(self, descriptors: map[int]) -> None:
        """Starts the threads.

        Args:
            descriptors: of sockets, one for each.
        """
        for descriptor in descriptors:
            connection = socket.socket(fileno=descriptor)
            name = f"deniable-question-{descriptor}"
            threading.Thread(
                target=self._answer, args=(connection,), name=name, daemon=True
            ).start()

    def _answer(self, connection: socket.socket) -> None:
        stream = connection.makefile("rb")
        try:
            # Once memory has run out, the next question would fail as well.
            while not self._out_of_memory and (question := read_question(stream)) is not None:
                self._send(connection, *question)
                del question
        finally:
            os._exit(1)  # the server has ended, or starts another process

    def _send(self, connection: socket.socket, request: Request, body: bytes) -> None:
        response, pieces = call_wsgi(self._app.wsgi_app, request, body)
        try:
            for frame in encode_answer(response, pieces):
                try:
                    connection.sendall(frame)
                except OSError as error:
                    raise ServerGoneError from error
        except ServerGoneError:
            raise
        except Exception as error:  # noqa: BLE001  whoever asked is told that the answer is broken
            self._out_of_memory |= isinstance(error, MemoryError)
            log.error("an answer broke off: %s", type(error).__name__)

    def _refuse(self, _: Exception) -> ResponseReturnValue:
        self._out_of_memory = True
        log.error("a question needed more memory than question_memory_bytes allows")
        return self._app.handle_user_exception(
            ProblemError(
                "estimate_refused",
                "It needs more memory than question_memory_bytes, which is "
                f"{self._memory_bytes:,}. Ask about fewer days, keys or values; the operator can "
                "raise the limit.",
            )
        )


if __name__ == "__main__":
    main()
