"""Passes questions to processes that only answer questions, so that uploads need not wait for them.

Starts these processes, starts another one whenever one ends, and ends one that takes too long.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from deniable_aggregator.answering.requests import RETRY_SECONDS, ProblemError, overloaded
from deniable_aggregator.doors.server.bodies import AnswerBody
from deniable_aggregator.doors.server.log_format import OURS
from deniable_aggregator.doors.server.wsgi_call import (
    BrokenAnswerError,
    Request,
    Response,
    encode_question,
    read_head,
    read_piece,
)
from deniable_aggregator.keeping.child_process import PYTHON, environment

if TYPE_CHECKING:
    from deniable_aggregator.keeping.settings import Settings

CONNECTIONS: Final = 4
"""How many questions a process answers at a time: as many as may read an SQLite store."""

MAX_WAITING: Final = 64
WAIT_SECONDS: Final = 20.0
"""For so long a question waits until a process can begin with it."""

BUFFER_BYTES: Final = 1 << 20
FIRST_PAUSE_SECONDS: Final = 0.5
LONGEST_PAUSE_SECONDS: Final = 60.0
"""Between starts of a process that does not become ready."""

PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")

log = logging.getLogger(OURS)


@dataclass(eq=False)
class _Process:
    """A process that answers questions.

    Attributes:
        popen: the process.
        alive: a stream that ends when the process does, and by which it knows that we live.
        connections: on each of them it answers one question at a time.
        ended: whether a connection of it has ended, and so the process has, or is about to.
    """

    popen: subprocess.Popen[bytes]
    alive: tuple[asyncio.StreamReader, asyncio.StreamWriter]
    connections: list[_Connection] = field(default_factory=list)
    ended: bool = False


@dataclass(eq=False)
class _Connection:
    process: _Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, request: Request, body: bytes) -> tuple[Response, AnswerBody]:
        self.writer.writelines(encode_question(request, body))
        await self.writer.drain()
        response, answer = await read_head(self.reader), AnswerBody()
        no_room: OSError | None = None
        try:
            while piece := await read_piece(self.reader):
                if no_room is None:
                    try:
                        await answer.add(piece)
                    except OSError as error:
                        no_room = error  # the rest is read all the same
            if no_room is not None:
                raise BrokenAnswerError(no_room.strerror)
        except BaseException:
            answer.close()
            raise
        return response, answer


class QuestionProcesses:
    """The processes that answer questions. Belongs to one event loop.

    Args:
        settings: how many, and limits.

    Attributes:
        waiting: how many questions wait for a process.
        ended: how many processes have ended and were replaced.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._seconds = settings.question_seconds
        self._free: asyncio.Queue[_Connection] = asyncio.Queue()
        self._processes: list[_Process] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._answering: set[asyncio.Task[tuple[Response, AnswerBody]]] = set()
        self.waiting = self.ended = 0

    @property
    def running(self) -> int:
        """How many questions are being answered."""
        return len(self._answering)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Starts the processes once the event loop runs."""
        for _ in range(self._settings.question_processes):
            self._tasks.append(loop.create_task(self._keep_one()))

    async def answer(self, request: Request, body: bytes) -> tuple[Response, AnswerBody]:
        """Has a process answer a question.

        Args:
            request: the question.
            body: of the request.

        Raises:
            ProblemError: ``overloaded`` or ``question_unanswered``.
        """
        if self.waiting >= MAX_WAITING:
            raise overloaded()
        self.waiting += 1
        try:
            connection = await self._free_connection()
        finally:
            self.waiting -= 1
        answering = asyncio.create_task(self._answer(connection, request, body))
        self._answering.add(answering)
        answering.add_done_callback(self._done)
        # An answer that nobody waits for any longer is read to its end all the same, so that it is
        # not taken for that to the next question.
        try:
            return await asyncio.shield(answering)
        except asyncio.CancelledError:
            answering.add_done_callback(_drop)
            raise

    def _done(self, answering: asyncio.Task[tuple[Response, AnswerBody]]) -> None:
        self._answering.discard(answering)
        if not answering.cancelled():
            answering.exception()  # asyncio logs a failure that nobody asks for

    async def _free_connection(self) -> _Connection:
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while True:
                    connection = await self._free.get()
                    process = connection.process
                    if process in self._processes and not process.ended:
                        return connection
        except TimeoutError:
            raise _unanswered("Nothing that answers questions was free. Ask again later.") from None

    async def _answer(
        self, connection: _Connection, request: Request, body: bytes
    ) -> tuple[Response, AnswerBody]:
        try:
            async with asyncio.timeout(self._seconds):
                answer = await connection.ask(request, body)
        except TimeoutError:
            log.error("a question took longer than question_seconds: its process is replaced")
            connection.process.popen.kill()
            raise _unanswered(
                f"It took longer than question_seconds, which is {self._seconds:g}. Ask about "
                "fewer days, keys or values; the operator can raise the limit."
            ) from None
        except BrokenAnswerError as error:
            log.error("an answer broke off: %s", error)
            self._free.put_nowait(connection)
            raise _unanswered(
                "The answer broke off. Ask again, or about fewer days, keys or values."
            ) from None
        except (OSError, asyncio.IncompleteReadError):
            connection.process.ended = True
            raise _unanswered(
                "The process that was to answer has ended, and another one starts. Ask again."
            ) from None
        self._free.put_nowait(connection)
        return answer

    async def _keep_one(self) -> None:
        """Starts a process, and another one whenever it has ended or could not be started."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            ready = False
            try:
                process = await _start(self._settings)
            except OSError as error:
                log.error("no process that answers questions can be started: %s", error.strerror)
            else:
                ready = await self._run(process)
                status = await asyncio.to_thread(process.popen.wait)
                log.error("the process that answers questions has ended (%d)", status)
                self.ended += 1
            if ready:  # one question may have ended it, which must not keep others waiting
                pause = FIRST_PAUSE_SECONDS
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _run(self, process: _Process) -> bool:
        """Gives questions to a process until it ends; returns whether it was ever ready."""
        ready = False
        self._processes.append(process)
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await process.alive[0].readexactly(1)
                ready = True
                for connection in process.connections:
                    self._free.put_nowait(connection)
                await process.alive[0].read()  # until it has ended
        finally:
            self._processes.remove(process)
            for writer in (process.alive[1], *(each.writer for each in process.connections)):
                writer.close()
        return ready

    def memory_bytes(self) -> int:
        """What the processes have in memory now."""
        pages = 0
        for process in tuple(self._processes):
            with suppress(OSError, IndexError):  # it has just ended
                pages += int(Path(f"/proc/{process.popen.pid}/statm").read_text().split()[1])
        return pages * PAGE_BYTES

    def close(self) -> None:
        """Ends the processes; called when the event loop has ended, and so with all answers."""
        for process in self._processes:
            process.popen.kill()
            process.popen.wait()


def _drop(answering: asyncio.Task[tuple[Response, AnswerBody]]) -> None:
    """Gives back what an answer takes that nobody waits for any longer."""
    if not answering.cancelled() and answering.exception() is None:
        answering.result()[1].close()


async def _start(settings: Settings) -> _Process:
    pairs: list[tuple[socket.socket, socket.socket]] = []
    try:
        pairs += (socket.socketpair() for _ in range(1 + CONNECTIONS))
        ours, theirs = zip(*pairs, strict=True)
        descriptors = [each.fileno() for each in theirs]
        popen = subprocess.Popen(  # noqa: S603  this program, with numbers as arguments
            [
                *PYTHON,
                "deniable_aggregator.doors.server.question_process",
                *map(str, descriptors[1:]),
            ],
            env=environment(),
            stdin=theirs[0],
            pass_fds=descriptors[1:],
        )
    except OSError:
        for pair in pairs:
            pair[0].close()
        raise
    finally:
        for pair in pairs:
            pair[1].close()
    alive, *others = [await asyncio.open_connection(sock=each, limit=BUFFER_BYTES) for each in ours]
    process = _Process(popen, alive)
    process.connections += [_Connection(process, *each) for each in others]
    # On a pipe, as others could read a password in arguments.
    alive[1].write(msgspec.json.encode(settings) + b"\n")
    return process


def _unanswered(detail: str) -> ProblemError:
    return ProblemError("question_unanswered", detail, headers={"Retry-After": str(RETRY_SECONDS)})
