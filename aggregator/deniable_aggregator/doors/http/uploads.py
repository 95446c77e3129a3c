"""Uploads: checked, counted in the limits, and handed over to be kept.

``POST /v1/reports``: uploads of devices, and batches, each accepted whole or refused whole.

This module decides what becomes of an upload, in the steps of `admission`. Its bytes are read by
`doors.server.rsgi`, or by `upload_route`.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answering.requests import (
    ProblemError,
    authenticate,
    overloaded,
    server_outdated,
    store_unavailable,
)
from deniable_aggregator.answers.words import REPORTING_SCOPES
from deniable_aggregator.doors.http.upload_limits import DiskReserve, RateLimiter, UploadLimits
from deniable_aggregator.keeping.group_commit import (
    SECONDS,
    GroupCommitWriter,
    Histogram,
    OverloadedError,
)
from deniable_aggregator.keeping.key_quotas import KeyQuotas
from deniable_aggregator.keeping.store import Outcome, Sender, StoreUnavailableError
from deniable_shared import wire
from deniable_shared.errors import TooManyPartsError, WireError
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deniable_aggregator.keeping.catalog import MetricCatalog
    from deniable_aggregator.keeping.key_quotas import Charge
    from deniable_aggregator.keeping.key_verifier import KeyVerifier
    from deniable_aggregator.keeping.keys import Key
    from deniable_aggregator.keeping.parts import Parts
    from deniable_aggregator.keeping.settings import Settings
    from deniable_aggregator.keeping.store_watch import StoreWatch


PATH: Final = "/v1/reports"
FUTURE_DAYS: Final = 1
"""A report may be of a day that is so far ahead of this server's clock."""

CLOCK_RETRY_SECONDS: Final = 600
PART_OVERHEAD_BYTES: Final = 64
"""Roughly what a part of an upload takes in the store beside its reports."""


OUTCOME_NAMES: Final = {Outcome.STORED: "accepted", Outcome.DUPLICATE: "duplicate"}

NO_APPLICATION: Final = ""
"""Refusals of requests without a valid key are counted under this name."""


class UploadReceiver:
    """Checks uploads, hands them to the writer, and counts their outcomes.

    The counts are of this process since it started. They name reasons, never senders.

    Args:
        verifier: verifies write keys.
        catalogue: the registered metrics.
        writer: commits uploads.
        limits: how much is taken of a key.
        settings: limits of one upload.
        clock: seconds since 1970.
        days_ahead: by how many days the clock is implausibly ahead; 0 if it is plausible.

    Attributes:
        seconds: how long uploads took, from their headers to the answer.
    """

    def __init__(
        self,
        *,
        verifier: KeyVerifier,
        catalogue: MetricCatalog,
        writer: GroupCommitWriter,
        limits: UploadLimits,
        settings: Settings,
        clock: Callable[[], float],
        days_ahead: Callable[[], int] = lambda: 0,
    ) -> None:
        self._verifier = verifier
        self._catalogue = catalogue
        self._writer = writer
        self._limits = limits
        self._settings = settings
        self._clock = clock
        self._days_ahead = days_ahead
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self.seconds = Histogram(SECONDS)

    @property
    def limiter_waits(self) -> bool:
        """Whether counting the uploads of a key asks another server."""
        return self._limits.waits

    def outcome_counts(self, application: str) -> Mapping[str, int]:
        """How many uploads of an application had each outcome; see `record_outcome`."""
        with self._lock:
            return {
                outcome: uploads
                for (name, outcome), uploads in self._counts.items()
                if name == application
            }

    def all_outcome_counts(self) -> Mapping[tuple[str, str], int]:
        """How many uploads had each outcome, by application and outcome."""
        with self._lock:
            return dict(self._counts)

    def cached_key(self, authorization: str) -> Key | None:
        """The key of a request, if it was verified a moment ago; never asks the store."""
        kind, _, token = authorization.partition(" ")
        key = self._verifier.cached(token.strip()) if kind.lower() == "bearer" else None
        return key if key is not None and key.scope in REPORTING_SCOPES else None

    def lacks_valid_key(self, authorization: str) -> bool:
        """Whether a request surely has no valid key; never asks the store."""
        kind, _, token = authorization.partition(" ")
        return kind.lower() != "bearer" or self._verifier.is_surely_unknown(token.strip())

    def authenticate(self, authorization: str) -> Key:
        """The key of a request.

        Raises:
            ProblemError: ``unknown_key`` or ``wrong_scope``.
            StoreUnavailableError: if the key is not cached and the store cannot be read.
        """
        return authenticate(self._verifier, authorization, *REPORTING_SCOPES)

    def check_headers(
        self, key: Key, *, content_type: str, content_encoding: str, length: int | None
    ) -> None:
        """Checks whether the body of a request may be read: limits of its key, and its headers.

        Args:
            key: the request's key.
            content_type: the header of that name.
            content_encoding: the header of that name.
            length: the announced length in bytes; None if there is none.

        Raises:
            ProblemError: if the upload is refused whatever its body is.
        """
        self._limits.check_key(key)
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
        """Decodes the body of an upload.

        Raises:
            ProblemError: ``malformed_upload``, or ``upload_too_large`` for too many parts.
        """
        try:
            return wire.decode(body)
        except TooManyPartsError:
            raise ProblemError(
                "upload_too_large",
                f"Split the upload: at most {wire.MAX_PARTS:,} parts, each of one version and day.",
            ) from None
        except WireError as error:
            raise _malformed(error) from None

    def metrics_are_cached(self, upload: wire.Upload) -> bool:
        """Whether `check` will not need the store for this upload."""
        return all(self._catalogue.is_cached(part.digest) for part in upload.parts)

    def decode_and_check(self, key: Key, body: bytes) -> tuple[wire.Upload, int]:
        """Decodes the body of an upload and checks every part of it.

        Returns:
            The upload, and how many reports it has.

        Raises:
            ProblemError: if the body is malformed, or a part cannot be accepted.
            StoreUnavailableError: if a metric is not cached and the store cannot be read.
        """
        upload = self.decode(body)
        return upload, self.check(key, upload)

    def check(self, key: Key, upload: wire.Upload, *, relayed: bool = False) -> int:
        """Checks every part of an upload.

        Args:
            key: that it came with.
            upload: whole.
            relayed: whether it came through a relay.

        Returns:
            How many reports it has.

        Raises:
            ProblemError: if a part cannot be accepted.
            StoreUnavailableError: if a metric is not cached and the store cannot be read.
        """
        application, reports = key.application, 0
        today = epoch_at(self._clock())
        for digest, epoch, payload in upload.parts:
            entry = self._catalogue.find(digest)
            unreadable = self._catalogue.unreadable().get(digest) if entry is None else None
            if unreadable is not None and unreadable.application == application:
                raise server_outdated(unreadable)
            if entry is None and self._catalogue.removed().get(digest) == application:
                raise ProblemError(
                    "metric_removed",
                    "Drop it: an administrator has removed the metric, with all of its reports.",
                    version=digest.hex(),
                )
            if entry is None or entry.spec.application != application:
                raise ProblemError(
                    "unknown_digest",
                    f"The application of this key, {application}, has no metric of this version. "
                    "Register the registry file that the reporting program ships: deniable "
                    "metrics register FILE. Then send this again.",
                    version=digest.hex(),
                )
            if entry.registration.relay_required and not relayed:
                raise ProblemError(
                    "relay_required",
                    f"{entry.spec.name}: its registry says that it is sent through a relay alone. "
                    "Whoever sends it directly shows where it comes from, and gets no answer but "
                    "this.",
                )
            reports += -(-len(payload) // entry.tally.report_bytes)
            self._limits.check_reports(key, reports)
            try:
                entry.tally.check(payload)
            except WireError as error:
                raise ProblemError(
                    "malformed_report",
                    f"{entry.spec.name}: {error}. Sending it again is useless: no "
                    "client of this version of the metric makes such a report.",
                ) from None
            if epoch > today + FUTURE_DAYS:
                raise ProblemError(
                    "epoch_future", "Set the device's clock right, and send this again on that day."
                )
            if epoch < today - self._settings.accept_days:
                raise _clock_in_doubt() if self._days_ahead() else self._closed()
        return reports

    def take(self, key: Key, upload: wire.Upload, reports: int) -> Charge:
        """Counts an upload that was checked in what its key may bring.

        Args:
            key: that it came with.
            upload: whole.
            reports: how many it has.

        Returns:
            What `give_back` needs if it is not stored.

        Raises:
            ProblemError: ``quota_spent``.
        """
        payloads = sum(len(part.payload) for part in upload.parts)
        size = PART_OVERHEAD_BYTES * len(upload.parts) + payloads
        return self._limits.take(key, size=size, reports=reports)

    def give_back(self, charge: Charge) -> None:
        """Takes back what was counted of an upload that was not stored."""
        self._limits.give_back(charge)

    def store(self, upload: wire.Upload, key: Key) -> Outcome:
        """Stores an upload that was checked, and waits until it is durable.

        Raises:
            ProblemError: if it was not stored.
        """
        return self.outcome_or_problem(
            lambda: self._writer.write(upload, Sender(key.application, key.id))
        )

    def outcome_or_problem(self, outcome: Callable[[], Outcome]) -> Outcome:
        """The outcome of an upload that was stored, now or before.

        Args:
            outcome: returns what the writer did with the upload.

        Raises:
            ProblemError: if it was not stored.
        """
        try:
            done = outcome()
        except (OverloadedError, StoreUnavailableError) as error:
            raise self.storage_problem(error) from None
        if done is Outcome.CLOSED:
            raise self._closed()
        return done

    def storage_problem(self, error: Exception) -> ProblemError:
        """The problem of an upload that the writer refused or could not store."""
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

    def record_outcome(self, application: str, outcome: str, uploads: int = 1) -> None:
        """Counts uploads.

        Args:
            application: whose key it came with, or `NO_APPLICATION`.
            outcome: ``accepted``, ``duplicate`` or a problem's code.
            uploads: how many had it.
        """
        with self._lock:
            self._counts[application, outcome] += uploads


def _clock_in_doubt() -> ProblemError:
    # Not epoch_closed, which makes a device drop the report: this server's clock may be wrong.
    return ProblemError(
        "clock_doubted",
        "Send the same bytes again later. The operator finds the reason at /readyz.",
        headers={"Retry-After": str(CLOCK_RETRY_SECONDS)},
    )


def _malformed(error: WireError) -> ProblemError:
    return ProblemError(
        "malformed_upload",
        f"{error}. Sending it again is useless: bring uploads as the wire format says, or update "
        "the older of client and server.",
    )


@dataclass(frozen=True, eq=False)
class Ingest:
    """What takes uploads.

    Attributes:
        receiver: checks and counts them.
        writer: commits them.
        quotas: how much each key may bring.
    """

    receiver: UploadReceiver
    writer: GroupCommitWriter
    quotas: KeyQuotas


def build(parts: Parts, days_ahead: Callable[[], int], watch: StoreWatch) -> Ingest:
    """Makes them, and starts the thread that commits.

    Args:
        parts: the store, and what is made over it.
        days_ahead: by how many days the clock is implausibly ahead; 0 if it is plausible.
        watch: looks whether the store is whole.
    """
    store, settings = parts.store, parts.settings
    quotas = KeyQuotas(store, most_bytes=settings.key_bytes_per_day, clock=parts.clock)
    writer = GroupCommitWriter(
        store,
        queue_uploads=settings.queue_uploads,
        queue_bytes=settings.queue_bytes,
        queue_seconds=settings.queue_seconds,
    )
    receiver = UploadReceiver(
        verifier=parts.verifier,
        catalogue=parts.catalogue,
        writer=writer,
        limits=UploadLimits(
            rate_limiter=RateLimiter(settings.rate_limit, settings.rate_limit_store),
            disk_reserve=DiskReserve(store.free_bytes, settings.min_free_bytes),
            quotas=quotas,
            wrong_pages=watch.wrong_pages,
        ),
        settings=settings,
        clock=parts.clock,
        days_ahead=days_ahead,
    )
    return Ingest(receiver, writer, quotas)
