"""``POST /v1/reports``: what devices and relays send. Accepted whole, or refused whole.

What becomes of an upload is said here; how its bytes arrive is `wsgi`'s matter, or `rsgi`'s.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Final

from deniable_aggregator.http.authorization import authenticate
from deniable_aggregator.http.outdated import server_outdated
from deniable_aggregator.http.problems import ProblemError, overloaded, store_unavailable
from deniable_aggregator.ingest.group_commit import OverloadedError
from deniable_aggregator.ingest.histogram import SECONDS, Histogram
from deniable_aggregator.store import Outcome, StoreUnavailableError
from deniable_shared import wire
from deniable_shared.errors import WireError
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deniable_aggregator.catalog import MetricCatalog
    from deniable_aggregator.config.settings import Settings
    from deniable_aggregator.ingest.group_commit import GroupCommitWriter
    from deniable_aggregator.ingest.rate_limit import RateLimiter
    from deniable_aggregator.security.keys import Key, KeyVerifier

PATH: Final = "/v1/reports"
FUTURE_DAYS: Final = 1
"""A device's clock may be a day ahead."""

CLOCK_RETRY_SECONDS: Final = 600

OUTCOME_NAMES: Final = {Outcome.STORED: "accepted", Outcome.DUPLICATE: "duplicate"}

NO_APPLICATION: Final = ""
"""Refusals of requests without a valid key belong to no application."""


class UploadReceiver:
    """Checks uploads, hands them to the writer, and counts what became of them.

    The counts are of this process since it started; they name reasons, never senders.

    Args:
        verifier: verifies write keys.
        catalogue: the registered metrics.
        writer: makes uploads durable.
        rate_limiter: how often a key may send.
        settings: limits.
        clock: seconds since 1970.
        days_ahead: by how many days the clock is ahead of what is believed.

    Attributes:
        seconds: how long uploads took, from headers to answer.
    """

    def __init__(
        self,
        *,
        verifier: KeyVerifier,
        catalogue: MetricCatalog,
        writer: GroupCommitWriter,
        rate_limiter: RateLimiter,
        settings: Settings,
        clock: Callable[[], float],
        days_ahead: Callable[[], int] = lambda: 0,
    ) -> None:
        self._verifier = verifier
        self._catalogue = catalogue
        self._writer = writer
        self._rate_limiter = rate_limiter
        self._settings = settings
        self._clock = clock
        self._days_ahead = days_ahead
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self.seconds = Histogram(SECONDS)

    def outcome_counts(self, application: str) -> Mapping[str, int]:
        """How many uploads of an application were accepted, duplicates, or refused, by code."""
        with self._lock:
            return {what: n for (whose, what), n in self._counts.items() if whose == application}

    def all_outcome_counts(self) -> Mapping[tuple[str, str], int]:
        """The same for all applications, each count by application and what became of uploads."""
        with self._lock:
            return dict(self._counts)

    def cached_key(self, authorization: str) -> Key | None:
        """The key of a request, if it is a write key that is known without asking the store."""
        kind, _, token = authorization.partition(" ")
        key = self._verifier.cached(token.strip()) if kind.lower() == "bearer" else None
        return key if key is not None and key.scope == "write" else None

    def lacks_valid_key(self, authorization: str) -> bool:
        """Whether a request has no valid key, if that is known without asking the store."""
        kind, _, token = authorization.partition(" ")
        return kind.lower() != "bearer" or self._verifier.is_surely_unknown(token.strip())

    def authenticate(self, authorization: str) -> Key:
        """The write key of a request.

        Raises:
            ProblemError: ``unknown_key`` or ``wrong_scope``.
            StoreUnavailableError: if the store cannot be asked.
        """
        return authenticate(self._verifier, authorization, "write")

    def check_headers(
        self, key: Key, *, content_type: str, content_encoding: str, length: int | None
    ) -> None:
        """Whether the body of a request may be read.

        Args:
            key: the request's key.
            content_type: the header of that name.
            content_encoding: the header of that name.
            length: the length that is announced, in bytes; None if none is.

        Raises:
            ProblemError: if the upload is refused whatever its body is.
        """
        self._rate_limiter.hit(key.id)
        if content_encoding:
            raise ProblemError(
                "unsupported_media_type",
                "Send the upload without Content-Encoding: noise does not compress.",
            )
        if content_type.partition(";")[0].strip().lower() != wire.CONTENT_TYPE:
            raise ProblemError(
                "unsupported_media_type", f"Send the upload as Content-Type: {wire.CONTENT_TYPE}."
            )
        if length is not None and length > self._settings.max_body_bytes:
            raise self.too_large()

    def decode(self, body: bytes) -> wire.Upload:
        """The upload in a body.

        Raises:
            ProblemError: ``malformed_upload``.
        """
        try:
            return wire.decode(body)
        except WireError as error:
            raise _malformed(error) from None

    def metrics_are_cached(self, upload: wire.Upload) -> bool:
        """Whether an upload can be checked without asking the store for its metrics."""
        return all(self._catalogue.is_cached(part.digest) for part in upload.parts)

    def check(self, application: str, upload: wire.Upload) -> None:
        """Checks every part of an upload.

        Raises:
            ProblemError: if a part cannot be accepted.
            StoreUnavailableError: if a metric is not known and the store cannot be asked.
        """
        today = epoch_at(self._clock())
        for digest, epoch, payload in upload.parts:
            entry = self._catalogue.find(digest)
            unreadable = self._catalogue.unreadable().get(digest) if entry is None else None
            if unreadable is not None and unreadable.application == application:
                raise server_outdated(unreadable)
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
                raise _clock_in_doubt() if self._days_ahead() else self._closed()

    def store(self, upload: wire.Upload, key: Key) -> Outcome:
        """Stores an upload that was checked; durable, or known to be, when this returns.

        Raises:
            ProblemError: if it was not stored.
        """
        return self.outcome_or_problem(lambda: self._writer.write(upload, key.id))

    def outcome_or_problem(self, outcome: Callable[[], Outcome]) -> Outcome:
        """What became of an upload.

        Args:
            outcome: asks the writer.

        Raises:
            ProblemError: if it was not stored.
        """
        try:
            found = outcome()
        except (OverloadedError, StoreUnavailableError) as error:
            raise self.storage_problem(error) from None
        if found is Outcome.CLOSED:
            raise self._closed()
        return found

    def storage_problem(self, error: Exception) -> ProblemError:
        """The problem of an upload that the writer did not take, or could not store."""
        return overloaded() if isinstance(error, OverloadedError) else store_unavailable()

    def too_large(self) -> ProblemError:
        """The problem of a body above the limit."""
        limit = self._settings.max_body_bytes
        return ProblemError(
            "upload_too_large", f"Split the upload: at most {limit} bytes.", max_bytes=limit
        )

    def _closed(self) -> ProblemError:
        days = self._settings.accept_days
        return ProblemError(
            "epoch_closed", f"Drop it: reports are accepted for {days} days.", accept_days=days
        )

    def record_outcome(self, application: str, what: str) -> None:
        """Counts an upload under what became of it: accepted, duplicate or a problem's code."""
        with self._lock:
            self._counts[application, what] += 1


def _clock_in_doubt() -> ProblemError:
    # A device drops what is refused as too old, and this clock may be wrong.
    return ProblemError(
        "clock_doubted",
        "Send the same bytes again later. The operator finds the reason at /readyz.",
        headers={"Retry-After": str(CLOCK_RETRY_SECONDS)},
    )


def _malformed(error: WireError) -> ProblemError:
    return ProblemError("malformed_upload", f"{error}. Sending it again is useless.")
