"""The aggregator as an RSGI application: uploads in the event loop, everything else elsewhere.

RSGI is granian's own interface. docs/design.md says what it is worth beside plain WSGI.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.app import EXTENSION
from deniable_aggregator.ingest.receiver import PATH
from deniable_aggregator.server.flask_bridge import FlaskBridge
from deniable_aggregator.server.thread_pool import BoundedThreadPool
from deniable_aggregator.server.upload_handler import UploadHandler

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from flask import Flask

    from deniable_aggregator.app import Aggregator
    from deniable_aggregator.config.settings import Settings
    from deniable_aggregator.server.granian_adapter import HTTPProtocol, Scope

CHECK_THREADS: Final = 4
MAX_WAITING_CHECKS: Final = 512


class RsgiApplication:
    """Answers the requests of one worker process.

    Args:
        app: the Flask application, which answers all but uploads.
        settings: limits.
        on_start: called with the event loop before it runs.

    Attributes:
        uploads: answers uploads.
        questions: the processes that answer questions, if there are any.
    """

    def __init__(
        self,
        app: Flask,
        settings: Settings,
        *,
        on_start: Callable[[asyncio.AbstractEventLoop], None] = lambda _: None,
    ) -> None:
        self._aggregator: Aggregator = app.extensions[EXTENSION]
        self._on_start = on_start
        # For checks of a request that may wait for the store or take long.
        self._checks = BoundedThreadPool(
            "deniable-check",
            threads=CHECK_THREADS,
            waiting=MAX_WAITING_CHECKS,
            seconds=settings.queue_seconds,
        )
        self.uploads = UploadHandler(self._aggregator, settings, self._checks)
        self._flask = FlaskBridge(app, settings, self._checks)
        self.questions = self._flask.questions

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Called by the web server before its event loop runs."""
        self._on_start(loop)
        if self.questions is not None:
            self.questions.start(loop)

    def __rsgi_del__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Called by the web server when the loop has ended, so that no request is left."""
        self._aggregator.close()
        self._checks.close()
        self._flask.close()

    async def __rsgi__(self, scope: Scope, protocol: HTTPProtocol) -> None:
        """Answers one request."""
        if scope.path == PATH and scope.method == "POST":
            await self.uploads.handle(scope.headers, protocol)
        elif scope.path == PATH and scope.method == "OPTIONS" and self.uploads.origins:
            self.uploads.answer_preflight(scope.headers, protocol)
        else:
            await self._flask.handle(scope, protocol)
