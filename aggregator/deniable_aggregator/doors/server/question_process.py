"""A process that answers questions beside the server, at a lower priority.

Its standard input is a socket that stays open as long as the server lives. On it come the settings,
and on it the process says that it is ready. Then a socket comes on it for each question, on which
the question is read and the answer is written. It takes no uploads and maintains nothing. It
ignores signals to end, which a terminal or systemd sends to all processes at once: it ends when the
server does.

It ends by itself when a question passes no yield point for `MOST_PIECE_SECONDS` of a processor, and
when memory has run out and those questions that had come are answered.
"""

from __future__ import annotations

import gc
import logging
import os
import select
import socket
import sys
import threading
import time
from contextlib import suppress
from http import HTTPStatus
from logging.config import dictConfig
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from deniable_aggregator.answering.requests import ProblemError, problem_response
from deniable_aggregator.counting.yield_points import yield_point
from deniable_aggregator.doors.app import create_question_app
from deniable_aggregator.doors.server.log_format import OURS, logging_config
from deniable_aggregator.doors.server.turns import AbandonedError, Turn, Turns
from deniable_aggregator.doors.server.wsgi_call import (
    AGAIN,
    Request,
    Response,
    call_wsgi,
    encode_answer,
    read_question,
)
from deniable_aggregator.keeping.child_process import begin_beside_server, limit_memory
from deniable_aggregator.keeping.settings import Settings
from deniable_aggregator.keeping.store import Store, StoreError
from deniable_aggregator.keeping.store.opening import require_existing

if TYPE_CHECKING:
    from io import BufferedReader

    from flask import Flask
    from flask.typing import ResponseReturnValue


READY: Final = b"1"

SWITCH_SECONDS: Final = 0.001
"""How long a question that comes may wait for the interpreter while a piece of another ends."""

MOST_PIECE_SECONDS: Final = 10.0
"""Pieces are made to use at most a fiftieth of it. One that uses more may never end."""

LOOK_SECONDS: Final = 1.0
TICKS: Final = os.sysconf("SC_CLK_TCK")

log = logging.getLogger(OURS)


def main() -> NoReturn:
    """Answers questions until the server ends."""
    begin_beside_server()
    settings = msgspec.json.decode(sys.stdin.buffer.readline(), type=Settings)
    dictConfig(logging_config(settings.log_format, settings.log_level))
    limit_memory(settings.question_memory_bytes)
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        require_existing(settings.store)
        app = create_question_app(store=Store(settings.store), settings=settings)
    except StoreError as error:
        log.error("questions cannot be answered: the store cannot be opened: %s", error)
        raise SystemExit(1) from None
    answering = Answering(app, settings, socket.socket(fileno=sys.stdin.fileno()))
    gc.collect()
    gc.freeze()
    answering.receive()
    os._exit(0)


class Answering:
    """Answers the questions that come on a socket, each in a thread of its own.

    Args:
        app: answers.
        settings: limits.
        control: on which a socket comes for each question.
    """

    def __init__(self, app: Flask, settings: Settings, control: socket.socket) -> None:
        self._app = app
        self._settings = settings
        self._control = control
        self._open = 0
        self._out_of_memory = False
        self._turns: Turns[Question] = Turns(self._require_affordable)
        app.register_error_handler(MemoryError, self._refuse)

    def receive(self) -> None:
        """Says that it is ready, and takes questions until the server has ended."""
        threading.Thread(target=self._watch, name="deniable-overruns", daemon=True).start()
        self._control.sendall(READY)
        while True:
            _, descriptors, _, _ = socket.recv_fds(self._control, 1, 1)
            if not descriptors:
                return
            connection = socket.socket(fileno=descriptors[0])
            stream = connection.makefile("rb")
            asked = read_question(stream)
            if asked is None:  # whoever asked has gone
                stream.close()
                connection.close()
                continue
            asker, request, body_bytes = asked
            with self._turns.lock:
                self._open += 1
            self._turns.add(asker, Question(self, connection, stream, request, body_bytes))

    def answer(self, question: Question) -> None:
        """Answers a question.

        Raises:
            AbandonedError: if nobody waits for the answer.
        """
        try:
            body = question.stream.read(question.body_bytes) if question.is_awaited() else b""
            if len(body) < question.body_bytes or not question.is_awaited():
                raise AbandonedError
            response, pieces = call_wsgi(self._app.wsgi_app, question.request, body)
            del body
            with self._turns.lock:  # from now on, it cannot be asked again
                question.begun = True
            question.refused |= response.status >= HTTPStatus.BAD_REQUEST
            for frame in encode_answer(response, pieces):
                try:
                    question.connection.sendall(frame)
                except OSError:
                    raise AbandonedError from None
                yield_point()
        except Exception as error:  # noqa: BLE001  whoever asked is told that the answer is broken
            self._out_of_memory |= isinstance(error, MemoryError)
            log.error("an answer broke off: %s", type(error).__name__)
        finally:
            question.stream.close()
            question.connection.close()
            with self._turns.lock:
                self._open -= 1
            if self._out_of_memory:
                self._retire()

    def _retire(self) -> None:
        """Takes no more questions, and ends with the last of those that have come."""
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)  # by which the server knows
        if not self._open:
            os._exit(1)

    def _require_affordable(self, turn: Turn[Question]) -> None:
        limit = self._settings.question_seconds
        if turn.used > limit and not turn.work.refused:
            turn.work.refused = True
            raise ProblemError(
                "question_too_large",
                f"It has used {limit:g} seconds of a processor, which is question_seconds. Ask "
                "about fewer days, periods, keys or values; the operator can raise the limit.",
            )

    def _refuse(self, _: Exception) -> ResponseReturnValue:
        self._out_of_memory = True
        log.error("a question needed more memory than question_memory_bytes allows")
        return self._app.handle_user_exception(
            ProblemError(
                "question_too_large",
                "It needs more memory than question_memory_bytes, which is "
                f"{self._settings.question_memory_bytes:,}. Ask about fewer days, keys or values; "
                "the operator can raise the limit.",
            )
        )

    def _watch(self) -> None:
        """Ends the process when a piece of work overruns."""
        while True:
            time.sleep(LOOK_SECONDS)
            self._turns.look(_cpu_seconds)
            with self._turns.lock:
                for turn in self._turns.questions:
                    if turn.running and _cpu_seconds(turn.thread) - turn.clock > MOST_PIECE_SECONDS:
                        self._end_for(turn)

    def _end_for(self, overrun: Turn[Question]) -> NoReturn:
        """Refuses a question, has all others asked again, and ends the process.

        Args:
            overrun: the question. The lock of turns is held, so that no other answer begins.
        """
        log.error("a question passed no yield point for too long: its process is replaced")
        for turn in self._turns.questions:
            if not turn.work.begun:
                with suppress(OSError):
                    turn.work.connection.sendall(_too_long() if turn is overrun else AGAIN)
        os._exit(1)


class Question:
    """A question that has come.

    Args:
        answering: answers it.
        connection: to the server, which closes it when nobody waits any more.
        stream: the same, to be read.
        request: what is asked.
        body_bytes: how long the body is, which was not read yet.

    Attributes:
        begun: whether something of the answer may have been sent.
        refused: whether it is refused, and so not once more as it has used too much.
    """

    def __init__(
        self,
        answering: Answering,
        connection: socket.socket,
        stream: BufferedReader,
        request: Request,
        body_bytes: int,
    ) -> None:
        self.connection = connection
        self.stream = stream
        self.request = request
        self.body_bytes = body_bytes
        self.begun = self.refused = False
        self._answering = answering
        self._closed = select.poll()
        self._closed.register(connection, select.POLLRDHUP)

    def run(self) -> None:
        """See `Work.run`."""
        self._answering.answer(self)

    def is_awaited(self) -> bool:
        """See `Work.is_awaited`."""
        return not self._closed.poll(0)


def _cpu_seconds(thread: int) -> float:
    """What a thread of this process has used of a processor."""
    try:
        fields = Path(f"/proc/self/task/{thread}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has not begun, or has just ended
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def _too_long() -> bytes:
    problem = problem_response(
        ProblemError(
            "question_too_large",
            "A single step of it took too long. Ask about fewer days, periods, keys or values.",
        )
    )
    headers = [(name.lower(), value) for name, value in problem.headers.to_wsgi_list()]
    head = Response(problem.status_code, headers)
    return b"".join(encode_answer(head, [problem.get_data()]))


if __name__ == "__main__":
    main()
