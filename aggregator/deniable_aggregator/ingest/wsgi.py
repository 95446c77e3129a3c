"""Uploads over WSGI: for web servers other than the aggregator's own, which `rsgi` serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import request

from deniable_aggregator.http import problems
from deniable_aggregator.http.problems import ProblemError, body_cut_off
from deniable_aggregator.ingest.receiver import NO_APPLICATION, OUTCOME_NAMES, PATH

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIEnvironment

    from flask import Flask

    from deniable_aggregator.ingest.receiver import UploadReceiver


class UploadEndpoint:
    """A WSGI application that takes uploads, whatever the path.

    Args:
        ingest: checks, stores and counts them.
        max_body_bytes: a longer body is refused.
    """

    def __init__(self, ingest: UploadReceiver, *, max_body_bytes: int) -> None:
        self._ingest = ingest
        self._max_body_bytes = max_body_bytes

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answers one request."""
        try:
            self.receive(environ)
        except Exception as error:  # noqa: BLE001  every failure has its problem document
            return problems.problem_response(error)(environ, start_response)
        start_response("204 No Content", [])
        return []

    def receive(self, environ: WSGIEnvironment) -> None:
        """Takes the upload of a WSGI request; durable, or known to be, when this returns.

        Raises:
            ProblemError: if the upload is refused; it was counted and nothing was stored.
        """
        taking, whose = self._ingest, NO_APPLICATION
        try:
            key = taking.authenticate(environ.get("HTTP_AUTHORIZATION", ""))
            whose = key.application
            taking.check_headers(
                key,
                content_type=environ.get("CONTENT_TYPE", ""),
                content_encoding=environ.get("HTTP_CONTENT_ENCODING", ""),
                length=_content_length(environ),
            )
            body = read_body(environ, self._max_body_bytes)
            if body is None:
                raise taking.too_large()
            upload = taking.decode(body)
            taking.check(whose, upload)
            outcome = taking.store(upload, key)
        except ProblemError as problem:
            taking.record_outcome(whose, problem.code)
            raise
        taking.record_outcome(whose, OUTCOME_NAMES[outcome])


def install(app: Flask, uploads: UploadEndpoint) -> None:
    """Adds the route, and the shortcut to it.

    Flask's routing, context and response take longer than checking and storing a small upload, so
    its own path is left before they begin. The rule stands in Flask's map all the same: there other
    methods get their 405, and paths that Flask sets right, such as //v1/reports, arrive.
    """

    def reports() -> tuple[str, int]:
        uploads.receive(request.environ)
        return "", 204

    app.add_url_rule(PATH, view_func=reports, methods=["POST"])
    through_flask = app.wsgi_app

    def shortcut(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] == PATH and environ["REQUEST_METHOD"] == "POST":
            return uploads(environ, start_response)
        return through_flask(environ, start_response)

    app.wsgi_app = shortcut  # type: ignore[method-assign]


def read_body(environ: WSGIEnvironment, limit: int) -> bytes | None:
    """The body of a request, or None if it is longer than the limit.

    Raises:
        ProblemError: ``body_cut_off``, if the body ends before its announced end.
    """
    length = _content_length(environ)
    if length is None and not environ.get("wsgi.input_terminated"):
        length = 0
    if length is not None and length > limit:
        return None
    wanted = limit + 1 if length is None else length
    chunks: list[bytes] = []
    while wanted > 0 and (chunk := environ["wsgi.input"].read(wanted)):
        chunks.append(chunk)
        wanted -= len(chunk)
    if length is None:
        return None if wanted <= 0 else b"".join(chunks)
    if wanted > 0:
        raise body_cut_off()
    return b"".join(chunks)


def _content_length(environ: WSGIEnvironment) -> int | None:
    announced = environ.get("CONTENT_LENGTH") or ""
    return int(announced) if announced.isdecimal() else None
