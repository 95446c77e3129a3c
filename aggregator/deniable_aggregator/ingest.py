"""``POST /v1/reports``: what devices and relays send. Accepted whole, or refused whole."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Final

from flask import request

from deniable_aggregator import problems
from deniable_aggregator.access import authenticated
from deniable_aggregator.problems import ProblemError, unavailable
from deniable_aggregator.store import Outcome, StoreUnavailableError
from deniable_aggregator.writer import OverloadedError
from deniable_shared import wire
from deniable_shared.errors import WireError
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from wsgiref.types import StartResponse, WSGIEnvironment

    from flask import Flask

    from deniable_aggregator.catalogue import Catalogue
    from deniable_aggregator.keys import Keyring
    from deniable_aggregator.settings import Settings
    from deniable_aggregator.writer import Writer

PATH: Final = "/v1/reports"
FUTURE_DAYS: Final = 1
"""A device's clock may be a day ahead."""

RETRY_SECONDS: Final = 2

UNKNOWN: Final = ""
"""Refusals of requests without a valid key belong to no application."""


class Ingest:
    """Checks uploads, hands them to the writer, and counts what became of them.

    The counts are of this process since it started; they name reasons, never senders.

    Args:
        keyring: verifies write keys.
        catalogue: the registered metrics.
        writer: makes uploads durable.
        settings: limits.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        *,
        keyring: Keyring,
        catalogue: Catalogue,
        writer: Writer,
        settings: Settings,
        clock: Callable[[], float],
    ) -> None:
        self._keyring = keyring
        self._catalogue = catalogue
        self._writer = writer
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()

    def counts(self, application: str) -> Mapping[str, int]:
        """How many uploads of an application were accepted, duplicates, or refused, by code."""
        with self._lock:
            return {what: n for (whose, what), n in self._counts.items() if whose == application}

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """A WSGI application that takes uploads, whatever the path."""
        try:
            self.receive(environ)
        except Exception as error:  # noqa: BLE001  every failure has its problem document
            return problems.document(error)(environ, start_response)
        start_response("204 No Content", [])
        return []

    def receive(self, environ: WSGIEnvironment) -> None:
        """Takes the upload of a request; durable, or known to be, when this returns.

        Raises:
            ProblemError: if the upload is refused; it was counted and nothing was stored.
        """
        application = UNKNOWN
        try:
            key = authenticated(self._keyring, environ.get("HTTP_AUTHORIZATION", ""), "write")
            application = key.application
            outcome = self._store(self._checked(application, environ), key.id)
        except ProblemError as problem:
            self._count(application, problem.code)
            raise
        self._count(application, "duplicate" if outcome is Outcome.DUPLICATE else "accepted")

    def _checked(self, application: str, environ: WSGIEnvironment) -> wire.Upload:
        try:
            upload = wire.decode(self._body(environ))
        except WireError as error:
            raise ProblemError(
                "malformed_upload", f"{error}. Sending it again is useless."
            ) from None
        today = epoch_at(self._clock())
        for digest, epoch, payload in upload.parts:
            entry = self._catalogue.find(digest)
            if entry is None or entry.spec.application != application:
                raise ProblemError(
                    "unknown_digest",
                    "Register the registry file that this version of the application ships: "
                    "deniable metrics register FILE. Then send this again.",
                    digest=digest.hex(),
                )
            try:
                entry.tally.check(payload)
            except WireError as error:
                raise ProblemError(
                    "malformed_report", f"{entry.spec.name}: {error}. Sending it again is useless."
                ) from None
            if epoch > today + FUTURE_DAYS:
                raise ProblemError(
                    "epoch_future", "Check the device's clock, and send this again on that day."
                )
            if epoch < today - self._settings.accept_days:
                raise self._closed()
        return upload

    def _body(self, environ: WSGIEnvironment) -> bytes:
        if environ.get("HTTP_CONTENT_ENCODING"):
            raise ProblemError(
                "unsupported_media_type",
                "Send the upload without Content-Encoding: noise does not compress.",
            )
        if environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() != wire.CONTENT_TYPE:
            raise ProblemError(
                "unsupported_media_type", f"Send the upload as Content-Type: {wire.CONTENT_TYPE}."
            )
        limit = self._settings.max_body_bytes
        body = read_body(environ, limit)
        if body is None:
            raise ProblemError(
                "upload_too_large", f"Split the upload: at most {limit} bytes.", max_bytes=limit
            )
        return body

    def _store(self, upload: wire.Upload, key_id: str) -> Outcome:
        try:
            outcome = self._writer.write(upload, key_id)
        except OverloadedError:
            raise ProblemError(
                "overloaded",
                "Send the same bytes again later; if they were stored, they count once.",
                headers={"Retry-After": str(RETRY_SECONDS)},
            ) from None
        except StoreUnavailableError:
            raise unavailable() from None
        if outcome is Outcome.CLOSED:
            raise self._closed()
        return outcome

    def _closed(self) -> ProblemError:
        days = self._settings.accept_days
        return ProblemError(
            "epoch_closed", f"Drop it: reports are accepted for {days} days.", accept_days=days
        )

    def _count(self, application: str, what: str) -> None:
        with self._lock:
            self._counts[application, what] += 1


def read_body(environ: WSGIEnvironment, limit: int) -> bytes | None:
    """The body of a request, or None if it is longer than the limit.

    Raises:
        WireError: if the body ends before its announced end.
    """
    announced = environ.get("CONTENT_LENGTH") or ""
    length = int(announced) if announced.isdecimal() else None
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
        raise WireError("the body ended before its announced end")
    return b"".join(chunks)


def install(app: Flask, ingest: Ingest) -> None:
    """Adds the route, and the shortcut to it.

    Flask's routing, context and response take longer than checking and storing a small upload, so
    its own path is left before they begin. The rule stands in Flask's map all the same: there other
    methods get their 405, and paths that Flask sets right, such as //v1/reports, arrive.
    """

    def reports() -> tuple[str, int]:
        ingest.receive(request.environ)
        return "", 204

    app.add_url_rule(PATH, view_func=reports, methods=["POST"])
    through_flask = app.wsgi_app

    def shortcut(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] == PATH and environ["REQUEST_METHOD"] == "POST":
            return ingest(environ, start_response)
        return through_flask(environ, start_response)

    app.wsgi_app = shortcut  # type: ignore[method-assign]
