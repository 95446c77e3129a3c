"""Requests for Flask: the event loop reads the body, then a thread or a process answers.

All requests but uploads: the event loop reads the body, then a thread or a process answers.

So a slow client holds no thread. Who answers does not see the client's address. Questions, and
pages that ask, which may take seconds of a processor, go to processes of their own.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar
from urllib.parse import parse_qsl

from werkzeug.exceptions import NotFound

from deniable_aggregator.answering.requests import ProblemError, authenticate, overloaded
from deniable_aggregator.answers.questions import ValueLists
from deniable_aggregator.answers.words import SCOPES
from deniable_aggregator.asking.questions import Question, question_at
from deniable_aggregator.doors.app import EXTENSION
from deniable_aggregator.doors.http.status import PATHS as HEALTH_PATHS
from deniable_aggregator.doors.http.upload_limits import RateLimiter
from deniable_aggregator.doors.pages.errors import Asked, SignedOutError, error_page
from deniable_aggregator.doors.pages.rendering import (
    PREFIX_HEADER,
    SHARED,
    SIGN_IN,
    is_answer_page,
    is_page,
    is_shared,
    needs_session,
    placed_below,
    takes_forms,
)
from deniable_aggregator.doors.pages.visit import PageParts, form_limit, require_form_type
from deniable_aggregator.doors.server.bodies import (
    AnswerBody,
    Deadlines,
    MemoryBudget,
    RequestBody,
    content_length,
    respond,
    respond_problem,
)
from deniable_aggregator.doors.server.questions import QuestionProcesses
from deniable_aggregator.doors.server.wsgi_call import Asker, Request, Response, call_wsgi
from deniable_aggregator.media.row_formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from flask import Flask

    from deniable_aggregator.doors.server.granian_adapter import HTTPProtocol, Scope
    from deniable_aggregator.keeping.settings import Settings


Result = TypeVar("Result")


class WorkAbandonedError(Exception):
    """Nobody waits for this work any longer."""


class _Task(Generic[Result]):
    """Work that can be taken away until a thread begins it."""

    __slots__ = ("work",)

    def __init__(self, work: Callable[[], Result]) -> None:
        self.work: Callable[[], Result] | None = work

    def __call__(self) -> Result:
        work = self.work
        if work is None:
            raise WorkAbandonedError
        return work()


class BoundedThreadPool:
    """Some threads. Belongs to one event loop.

    Args:
        name: of the threads.
        threads: how many.
        waiting: how many pieces of work may wait for a thread.
        seconds: how long a caller waits; None for as long as the work takes.
    """

    def __init__(
        self, name: str, *, threads: int, waiting: int, seconds: float | None = None
    ) -> None:
        self._executor = ThreadPoolExecutor(threads, name)
        self._max_unfinished = threads + waiting
        self._seconds = seconds
        self._unfinished = 0

    async def run(self, work: Callable[..., Result], *arguments: object) -> Result:
        """Does some work in a thread.

        Raises:
            ProblemError: ``overloaded``, if too much waits already, or the work takes too long.
        """
        if self._unfinished >= self._max_unfinished:
            raise overloaded()
        task = _Task(partial(work, *arguments))
        done = asyncio.get_running_loop().run_in_executor(self._executor, task)
        self._unfinished += 1
        done.add_done_callback(self._finish)
        await asyncio.wait((done,), timeout=self._seconds)
        if not done.done():
            # Free the memory of work that no thread has begun. Its place stays taken until a
            # thread gets to it, so that abandoned work is bounded too.
            task.work = None
            raise overloaded()
        return await done

    def _finish(self, done: asyncio.Future[Any]) -> None:
        self._unfinished -= 1
        if not done.cancelled():
            done.exception()  # marks it as seen, as the caller may have gone

    def close(self) -> None:
        """Ends the threads when they have done what waits."""
        self._executor.shutdown()


QUESTION_SCOPES: Final = ("read", "admin")
"""Keys that may ask; write keys ship with applications."""

HEALTH_THREADS: Final = 2
MAX_WAITING_PROBES: Final = 512
MAX_WAITING_REQUESTS: Final = 64
BODY_PATIENCE: Final = 6
"""A body may take so many times `body_seconds`, as lists of candidates are long."""


class FlaskBridge:
    """Passes requests to the Flask application, or to the processes that answer questions.

    Args:
        app: the Flask application.
        settings: limits.
        checks: threads for verifying keys.

    Attributes:
        questions: the processes; None if the application answers questions as well.
    """

    def __init__(self, app: Flask, settings: Settings, checks: BoundedThreadPool) -> None:
        self._wsgi = app.wsgi_app
        self._verifier = app.extensions[EXTENSION].key_verifier
        self._pages: PageParts | None = app.extensions[EXTENSION].pages
        self._settings = settings
        self._checks = checks
        self._memory = MemoryBudget(max(settings.in_flight_bytes, settings.max_candidates_bytes))
        self._deadlines = Deadlines(settings.body_seconds * BODY_PATIENCE)
        self._threads = BoundedThreadPool(
            "deniable", threads=settings.threads, waiting=MAX_WAITING_REQUESTS
        )
        self.questions = QuestionProcesses(settings) if settings.question_processes else None
        self._limiter = RateLimiter(
            settings.read_rate_limit,
            settings.rate_limit_store,
            "This key may ask {}. Ask again later.",
        )
        # So a flood of tokens keeps nobody from what others ask.
        self._sign_in_thread = BoundedThreadPool(
            "deniable-sign-in", threads=1, waiting=MAX_WAITING_REQUESTS
        )
        # Health has threads of its own: it is answered while all others wait for the store.
        self._health_threads = BoundedThreadPool(
            "deniable-health", threads=HEALTH_THREADS, waiting=MAX_WAITING_PROBES
        )

    async def handle(self, scope: Scope, protocol: HTTPProtocol) -> None:
        """Answers one request."""
        body = RequestBody(self._memory)
        asker: Asker | None = None
        try:
            admit = None if self._pages is None else self._who_admits(scope.path)
            if self._pages is not None and admit is not None:
                if scope.path.startswith("//"):
                    raise NotFound
                asker = await self._checks.run(admit, self._pages, scope)
            elif (question := asked(scope.method, scope.path)) is not None and question.limited:
                authorization = scope.headers.get("authorization", "")
                asker = await self._checks.run(self._admit_reader, authorization)
            data = await self._read(body, scope, protocol)
            if self.questions is not None and asker is not None and self._is_computed(scope):
                answering = self.questions.answer(asker, Request.from_scope(scope), data)
                response, content = await _while_awaited(answering, protocol)
            else:
                response, content = await self._answer(Request.from_scope(scope), data)
        except Exception as error:  # noqa: BLE001  every failure has its answer
            self._refuse(scope, protocol, error)
        else:
            content.respond(protocol, response)
        finally:
            body.release()

    def _refuse(self, scope: Scope, protocol: HTTPProtocol, error: Exception) -> None:
        if self._pages is None or not is_page(scope.path, scope.headers.get("accept", "")):
            respond_problem(protocol, error)
            return
        asked = Asked(
            method=scope.method,
            path=scope.path,
            query=scope.query_string,
            fetch_site=scope.headers.get("sec-fetch-site", ""),
        )
        prefix = scope.headers.get(PREFIX_HEADER.lower(), "")
        respond(protocol, placed_below(error_page(error, asked), prefix))

    def _admit_visitor(self, pages: PageParts, scope: Scope) -> Asker:
        """Refuses a request for a page by somebody who has not signed in, or asks too often."""
        headers = scope.headers
        cookie = pages.cookie.read(headers.get("cookie", ""), headers.get("host", ""))
        session = pages.sessions.verify(cookie)
        if session is None:
            raise SignedOutError
        self._limiter.hit(session.keys[0].id)
        named = dict(parse_qsl(scope.query_string)).get("application")
        key = next((key for key in session.keys if key.application == named), session.keys[0])
        return Asker(key.application, key.id)

    def _who_admits(self, path: str) -> Callable[[PageParts, Scope], Asker] | None:
        """What looks whether a page may be shown; None of paths that anybody may see."""
        path = _without_stray_slash(path)
        if is_shared(path):
            return self._admit_link
        return self._admit_visitor if needs_session(path) else None

    def _admit_link(self, pages: PageParts, scope: Scope) -> Asker:
        """Refuses a request by a link that does not work, or is used too often."""
        link = pages.links.find(scope.path.removeprefix(SHARED))
        self._limiter.hit(link.id)
        return Asker(link.application, link.id)

    def _admit_reader(self, authorization: str) -> Asker:
        """Refuses a question that has no key for it, or one that asks too often."""
        key = authenticate(self._verifier, authorization, *QUESTION_SCOPES)
        self._limiter.hit(key.id)
        return Asker(key.application, key.id)

    def _is_computed(self, scope: Scope) -> bool:
        """Whether a request is for what processes that answer questions work out."""
        question = asked(scope.method, scope.path)
        return (question is not None and question.computed) or (
            self._pages is not None and is_shown(scope.method, scope.path)
        )

    async def _answer(self, request: Request, data: bytes) -> tuple[Response, AnswerBody]:
        threads = self._threads
        if request.path in HEALTH_PATHS:
            threads = self._health_threads
        elif request.path == SIGN_IN:
            threads = self._sign_in_thread
        return await threads.run(self._answer_here, request, data)

    def _answer_here(self, request: Request, data: bytes) -> tuple[Response, AnswerBody]:
        response, pieces = call_wsgi(self._wsgi, request, data)
        return response, AnswerBody(b"".join(pieces))

    async def _read(self, body: RequestBody, scope: Scope, protocol: HTTPProtocol) -> bytes:
        length = content_length(scope.headers)
        if length == 0:
            return b""
        if self._pages is not None and takes_forms(scope.path):
            return await self._read_form(body, scope, protocol, length)
        limit, scopes = self._settings.max_body_bytes, SCOPES
        question = asked(scope.method, scope.path)
        if question is not None and question.lists is ValueLists:  # long lists of candidates
            limit, scopes = self._settings.max_candidates_bytes, QUESTION_SCOPES
        # No body is read for a request without a key.
        authorization = scope.headers.get("authorization", "")
        await self._checks.run(authenticate, self._verifier, authorization, *scopes)
        return await self._read_up_to(limit, body, protocol, length)

    async def _read_form(
        self, body: RequestBody, scope: Scope, protocol: HTTPProtocol, length: int | None
    ) -> bytes:
        """Reads a form, whose sender has a session, or is about to sign in."""
        require_form_type(scope.headers.get("content-type", ""))
        limit = form_limit(scope.path, self._settings.max_body_bytes)
        return await self._read_up_to(limit, body, protocol, length)

    async def _read_up_to(
        self, limit: int, body: RequestBody, protocol: HTTPProtocol, length: int | None
    ) -> bytes:
        data = None
        if length is None or length <= limit:
            data = await body.read(protocol, length=length, limit=limit, deadlines=self._deadlines)
        if data is None:
            raise ProblemError("upload_too_large", f"Send at most {limit} bytes.")
        return data

    def close(self) -> None:
        """Ends the threads when they have answered what waits, and the processes."""
        self._threads.close()
        self._health_threads.close()
        self._sign_in_thread.close()
        if self.questions is not None:
            self.questions.close()


async def _while_awaited(
    answer: Coroutine[Any, Any, tuple[Response, AnswerBody]], protocol: HTTPProtocol
) -> tuple[Response, AnswerBody]:
    """An answer, on which work ends when the client closes its connection.

    Raises:
        ProblemError: if there is no answer, or nobody waits for it any longer.
    """
    answering = asyncio.ensure_future(answer)
    leaving = asyncio.ensure_future(protocol.client_disconnect())
    try:
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        if answering.done():
            return answering.result()
        raise ProblemError("question_unanswered", "Nobody waited for the answer any longer.")
    finally:
        answering.cancel()
        leaving.cancel()


def asked(method: str, path: str) -> Question[Any, Any] | None:
    """The question that a request asks, whatever the format of the answer; None if it asks none."""
    plain, _, name = path.rpartition(".")
    return question_at(method, plain if name in FORMATS else path)


def is_shown(method: str, path: str) -> bool:
    """Whether a request is for a page that is made where questions are answered."""
    return method in ("GET", "HEAD") and (is_answer_page(path) or is_shared(path))


def _without_stray_slash(path: str) -> str:
    """A path as the application reads it, which takes several slashes at its beginning for one."""
    return "/" + path.lstrip("/")
