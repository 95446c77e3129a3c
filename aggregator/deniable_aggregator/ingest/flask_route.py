"""``POST /v1/reports`` as a route of the Flask application.

The server answers uploads before they reach Flask (`server.upload_handler`). This route gives
other methods their 405, takes paths that Flask corrects, such as //v1/reports, and serves uploads
where the Flask application runs on its own, as in tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Response, request

from deniable_aggregator.http.problems import ProblemError, body_cut_off
from deniable_aggregator.ingest.receiver import NO_APPLICATION, OUTCOME_NAMES, PATH

if TYPE_CHECKING:
    from wsgiref.types import WSGIEnvironment

    from flask import Flask

    from deniable_aggregator.http.browsers import UploadOrigins
    from deniable_aggregator.ingest.receiver import UploadReceiver


def add_upload_route(
    app: Flask, receiver: UploadReceiver, *, origins: UploadOrigins, max_body_bytes: int
) -> None:
    """Adds the route.

    Args:
        app: the application.
        receiver: checks, stores and counts uploads.
        origins: those whose pages may send uploads.
        max_body_bytes: a longer body is refused.
    """

    def reports() -> tuple[str, int]:
        receive(receiver, request.environ, max_body_bytes=max_body_bytes)
        return "", 204

    # Where pages may send uploads, OPTIONS is answered below instead of by Flask.
    automatic = False if origins else None
    app.add_url_rule(PATH, view_func=reports, methods=["POST"], provide_automatic_options=automatic)
    if not origins:
        return

    def preflight() -> Response:
        return Response(
            status=204, headers=origins.preflight_headers(request.headers.get("Origin", ""))
        )

    def allow_origin(response: Response) -> Response:
        if request.path == PATH and request.method == "POST":
            response.headers.extend(origins.answer_headers(request.headers.get("Origin", "")))
        return response

    app.add_url_rule(PATH, view_func=preflight, methods=["OPTIONS"])
    app.after_request(allow_origin)


def receive(receiver: UploadReceiver, environ: WSGIEnvironment, *, max_body_bytes: int) -> None:
    """Takes the upload of a WSGI request; it is durable when this returns.

    Raises:
        ProblemError: if the upload is refused; nothing was stored, and the refusal was counted.
    """
    application = NO_APPLICATION
    try:
        key = receiver.authenticate(environ.get("HTTP_AUTHORIZATION", ""))
        application = key.application
        receiver.check_headers(
            key,
            content_type=environ.get("CONTENT_TYPE", ""),
            content_encoding=environ.get("HTTP_CONTENT_ENCODING", ""),
            length=_content_length(environ),
        )
        body = read_body(environ, max_body_bytes)
        if body is None:
            raise receiver.too_large()
        outcome = receiver.store(receiver.decode_and_check(application, body), key)
    except ProblemError as problem:
        receiver.record_outcome(application, problem.code)
        raise
    receiver.record_outcome(application, OUTCOME_NAMES[outcome])


def read_body(environ: WSGIEnvironment, limit: int) -> bytes | None:
    """The body of a request, or None if it is longer than the limit.

    Raises:
        ProblemError: ``body_cut_off``, if the body is shorter than was announced.
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
