"""Passes questions to processes that only answer questions, so that uploads need not wait for them.

Starts these processes, and another one whenever one ends.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from deniable_aggregator.answering.requests import RETRY_SECONDS, ProblemError
from deniable_aggregator.doors.server.bodies import AnswerBody
from deniable_aggregator.doors.server.log_format import OURS
from deniable_aggregator.doors.server.wsgi_call import (
    AskAgainError,
    Asker,
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

MAX_OPEN: Final = 256
MAX_OPEN_OF_KEY: Final = 64
"""Questions that are not answered yet, in all processes together."""

WAIT_SECONDS: Final = 20.0
"""For so long a question waits until a process is ready."""

MOST_ATTEMPTS: Final = 3
"""A question is asked so often, where its process ends for the sake of another question."""

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
        control: on which it gets a socket for each question, and by which it knows that we live.
        alive: the same as a stream, which ends when the process takes no more questions.
        open: how many of its questions are not answered yet.
    """

    popen: subprocess.Popen[bytes]
    control: socket.socket
    alive: tuple[asyncio.StreamReader, asyncio.StreamWriter]
    open: int = 0

    async def ask(self, asker: Asker, request: Request, body: bytes) -> tuple[Response, AnswerBody]:
        ours, theirs = socket.socketpair()
        try:
            socket.send_fds(self.control, [b"q"], [theirs.fileno()])
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours, limit=BUFFER_BYTES)
        try:
            writer.writelines(encode_question(asker, request, body))
            await writer.drain()
            return await _read(reader)
        finally:
            writer.close()  # by which the process knows that nobody waits any longer

    def close(self) -> None:
        self.control.close()
        self.alive[1].close()


async def _read(reader: asyncio.StreamReader) -> tuple[Response, AnswerBody]:
    response, answer = await read_head(reader), AnswerBody()
    try:
        while piece := await read_piece(reader):
            try:
                await answer.add(piece)
            except OSError as error:
                raise BrokenAnswerError(error.strerror) from None
    except BaseException:
        answer.close()
        raise
    return response, answer


class QuestionProcesses:
    """The processes that answer questions. Belongs to one event loop.

    Args:
        settings: how many, and limits.

    Attributes:
        waiting: how many questions wait until a process is ready.
        running: how many questions processes have that are not answered yet.
        ended: how many processes have ended and were replaced.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._ready: list[_Process] = []
        self._processes: list[_Process] = []
        self._more_ready = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._open: Counter[Asker] = Counter()
        self.waiting = self.running = self.ended = 0

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Starts the processes once the event loop runs."""
        for _ in range(self._settings.question_processes):
            self._tasks.append(loop.create_task(self._keep_one()))

    async def answer(
        self, asker: Asker, request: Request, body: bytes
    ) -> tuple[Response, AnswerBody]:
        """Has a process answer a question. Whoever cancels this ends the work on it.

        Args:
            asker: whose share of the process it takes.
            request: the question.
            body: of the request.

        Raises:
            ProblemError: ``overloaded``, ``question_unanswered`` or ``question_too_large``.
        """
        if self._open[asker] >= MAX_OPEN_OF_KEY:
            raise _too_many(f"This key waits for {MAX_OPEN_OF_KEY} answers already")
        if self._open.total() >= MAX_OPEN:
            raise _too_many(f"{MAX_OPEN} questions are not answered yet")
        self._open[asker] += 1
        try:
            for _ in range(MOST_ATTEMPTS):
                with suppress(AskAgainError):
                    return await self._ask(await self._process(), asker, request, body)
            raise _unanswered("The process that was to answer has ended again and again.")
        finally:
            self._open[asker] -= 1
            if not self._open[asker]:
                del self._open[asker]

    async def _process(self) -> _Process:
        """The process with the fewest questions."""
        self.waiting += 1
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while not self._ready:
                    self._more_ready.clear()
                    await self._more_ready.wait()
        except TimeoutError:
            raise _unanswered("No process that answers questions is ready. Ask again.") from None
        finally:
            self.waiting -= 1
        return min(self._ready, key=lambda process: process.open)

    async def _ask(
        self, process: _Process, asker: Asker, request: Request, body: bytes
    ) -> tuple[Response, AnswerBody]:
        process.open += 1
        self.running += 1
        try:
            return await process.ask(asker, request, body)
        except BrokenAnswerError as error:
            log.error("an answer broke off: %s", error)
            raise _unanswered(
                "The answer broke off. Ask again, or about fewer days, keys or values."
            ) from None
        except AskAgainError:
            self._retire(process)
            raise
        except (OSError, asyncio.IncompleteReadError):
            raise _unanswered(
                "The process that was to answer has ended, and another one starts. Ask again."
            ) from None
        finally:
            process.open -= 1
            self.running -= 1

    def _retire(self, process: _Process) -> None:
        """Gives a process no more questions."""
        with suppress(ValueError):
            self._ready.remove(process)

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
                self._processes.append(process)
                try:
                    ready = await self._run(process)
                    status = await asyncio.to_thread(process.popen.wait)
                finally:
                    self._processes.remove(process)
                    process.close()
                log.error("the process that answers questions has ended (%d)", status)
                self.ended += 1
            if ready:  # one question may have ended it, which must not keep others waiting
                pause = FIRST_PAUSE_SECONDS
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _run(self, process: _Process) -> bool:
        """Gives questions to a process until it takes no more; returns whether it ever did."""
        ready = False
        with suppress(OSError, asyncio.IncompleteReadError):
            await process.alive[0].readexactly(1)
            ready = True
            self._ready.append(process)
            self._more_ready.set()
            await process.alive[0].read()  # until it takes no more
        self._retire(process)
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
            process.close()


async def _start(settings: Settings) -> _Process:
    ours, theirs = socket.socketpair()
    try:
        popen = subprocess.Popen(  # noqa: S603  this program
            [*PYTHON, "deniable_aggregator.doors.server.question_process"],
            env=environment(),
            stdin=theirs.fileno(),
        )
    except OSError:
        ours.close()
        raise
    finally:
        theirs.close()
    control = ours.dup()  # the stream's own socket is its transport's
    alive = await asyncio.open_connection(sock=ours, limit=BUFFER_BYTES)
    # On a pipe, as others could read a password in arguments.
    alive[1].write(msgspec.json.encode(settings) + b"\n")
    return _Process(popen, control, alive)


def _too_many(why: str) -> ProblemError:
    return ProblemError(
        "overloaded",
        f"{why}: ask again when some have come.",
        headers={"Retry-After": str(RETRY_SECONDS)},
    )


def _unanswered(detail: str) -> ProblemError:
    return ProblemError("question_unanswered", detail, headers={"Retry-After": str(RETRY_SECONDS)})
