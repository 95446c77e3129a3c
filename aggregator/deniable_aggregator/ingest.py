"""``POST /v1/reports``: what devices and relays send. Accepted whole, or refused whole."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Final

from flask import Blueprint, request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from deniable_aggregator.access import authenticated
from deniable_aggregator.problems import ProblemError, unavailable
from deniable_aggregator.store import Outcome, StoreUnavailableError
from deniable_aggregator.writer import OverloadedError
from deniable_shared import wire
from deniable_shared.errors import WireError
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deniable_aggregator.catalogue import Catalogue
    from deniable_aggregator.keys import Keyring
    from deniable_aggregator.settings import Settings
    from deniable_aggregator.writer import Writer

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

    def receive(self) -> Outcome:
        """Takes the upload of the current request.

        Raises:
            ProblemError: if the upload is refused; it was counted and nothing was stored.
        """
        application = UNKNOWN
        try:
            application = authenticated(self._keyring, "write").application
            outcome = self._store(self._checked(application))
        except ProblemError as problem:
            self._count(application, problem.code)
            raise
        self._count(application, "duplicate" if outcome is Outcome.DUPLICATE else "accepted")
        return outcome

    def _checked(self, application: str) -> wire.Upload:
        try:
            upload = wire.decode(self._body())
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

    def _body(self) -> bytes:
        if request.content_encoding:
            raise ProblemError(
                "unsupported_media_type",
                "Send the upload without Content-Encoding: noise does not compress.",
            )
        if request.mimetype != wire.CONTENT_TYPE:
            raise ProblemError(
                "unsupported_media_type", f"Send the upload as Content-Type: {wire.CONTENT_TYPE}."
            )
        try:
            return request.get_data(cache=False)
        except RequestEntityTooLarge:
            limit = self._settings.max_body_bytes
            raise ProblemError(
                "upload_too_large", f"Split the upload: at most {limit} bytes.", max_bytes=limit
            ) from None
        except HTTPException:
            raise ProblemError(
                "malformed_upload", "The body ended before its announced end."
            ) from None

    def _store(self, upload: wire.Upload) -> Outcome:
        try:
            outcome = self._writer.write(upload)
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


def blueprint(ingest: Ingest) -> Blueprint:
    """The route."""
    routes = Blueprint("ingest", __name__)

    def reports() -> tuple[str, int]:
        ingest.receive()
        return "", 204

    routes.add_url_rule("/v1/reports", view_func=reports, methods=["POST"])
    return routes
