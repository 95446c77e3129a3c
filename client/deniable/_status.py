"""What a client answers: the outcome of a call, the result of a flush, its status."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType

from deniable_shared.frozen import frozen

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from typing import Final

NANO: Final = 10**9
"""Amounts of epsilon are whole nano-nats."""

DELTA_UNITS: Final = 10**12
"""Sums of delta are whole multiples of 10^-12, the least delta that a registry may state."""


class Outcome(StrEnum):
    """What became of one call of `Client.record`."""

    RECORDED = "recorded"
    """The value was randomized, and the report will be uploaded. Of a metric with ``pick =
    "random"``: the value had the same chance as every other one of the period."""
    WAITING = "waiting"
    """The value was randomized, and the report waits in memory until the storage is free. It is
    lost if the process is killed before, or if the budget turns out not to allow it."""
    ALREADY_REPORTED = "already_reported"
    """The metric has already reported in this period."""
    NO_CONSENT = "no_consent"
    DO_NOT_TRACK = "do_not_track"
    """The environment variable of this name refuses on the user's behalf."""
    IN_CI = "in_ci"
    """The environment is one of continuous integration, which is no user's device."""
    OUTSIDE_DOMAIN = "outside_domain"
    """The value has the wrong type, or is not listed and the metric has no ``other`` value."""
    UNKNOWN_METRIC = "unknown_metric"
    EXPIRED = "expired"
    """The metric's last day has passed."""
    DISABLED = "disabled"
    """The remote configuration has disabled this metric."""
    THINNED = "thinned"
    """The remote configuration asks fewer devices; this one sits this period out."""
    OVER_BUDGET = "over_budget"
    """The report would exceed the epsilon of this day or of this device's lifetime."""
    STORAGE_UNAVAILABLE = "storage_unavailable"
    """The directory or the journal in it cannot be used: see `Status.last_error`."""
    CLOCK_WRONG = "clock_wrong"
    """The device's clock is certainly wrong or has just jumped; nothing was spent or stored."""
    CLOSED = "closed"
    INTERNAL_ERROR = "internal_error"
    """A defect of the client; please report it with `Status.last_error`."""


class Dropped(StrEnum):
    """Why reports were given up; or ``refused_<status>`` if the aggregator refused for good."""

    TOO_OLD = "too_old"
    TOO_LATE = "too_late"
    """Was not sent within 7 days after its period, and is taken through a relay alone."""
    SPOOL_FULL = "spool_full"
    DAMAGED = "damaged"
    """Could not be read from the disk. Counts one if a device that had sent nothing could not be
    read at all, and began anew."""
    CLOCK_AHEAD = "clock_ahead"
    """The day of the report lies ahead: the clock was wrong when it was recorded."""
    NOT_WRITTEN = "not_written"
    """Waited in memory, and the ledger refused it, or there was no time to write it."""
    CONSENT_WITHDRAWN = "consent_withdrawn"
    FORGOTTEN = "forgotten"
    """Deleted by `Client.forget`."""


@frozen
class RememberedConsent:
    """What the user of a device has answered, as its directory remembers it.

    Attributes:
        agreed: whether the user agreed.
        since: the UTC day of the answer.
    """

    agreed: bool
    since: date


@frozen
class FlushResult:
    """What a flush has done.

    Attributes:
        sent: reports that the aggregator acknowledged during the flush.
        pending: reports that are still stored, to be sent later; None if they could not be
            counted, because the storage cannot be used or was locked until the timeout.
        dropped: reports that were given up for good during the flush.
        problem: why reports were not accepted and what to do about it, in one line that begins with
            a constant word; None if nothing went wrong. Reports that wait until their period is
            over, as `Client.flush` says, are no problem.
    """

    sent: int
    pending: int | None
    dropped: int
    problem: str | None = None


@frozen
class Status:
    """A snapshot of one client. Counts are those of this process since the client was made.

    Attributes:
        consent: whether the user agrees, so that values are recorded.
        pending: reports that wait on this device to be sent; None if the storage cannot be used.
        sent: reports that the aggregator acknowledged.
        outcomes: how often `record` answered with each `Outcome`.
        dropped: reports given up, by reason.
        last_error: the latest problem in one line that begins with a constant word, or None; never
            a value, key or payload. A problem of uploads is gone when the aggregator accepts
            reports again, one of a metric when it accepts a report of that metric.
        epsilon_left_today: epsilon that may still be spent in this UTC day; 0 without storage.
        epsilon_left_lifetime: epsilon that this device may still spend; 0 without storage.
        delta_lifetime: the sum of the deltas of all reports that this device ever made: at most so
            probable is it that they reveal more than their epsilons; 0 nearly always.
        do_not_track: whether the environment refuses on the user's behalf, so that consent cannot
            be given.
        remote_serial: the serial number of the remote configuration in force, or None.
        remote_refused: how many remote configurations were refused; `last_error` says why.
        development: whether this is the client of a throw-away device, never right for users.
        repeated: how many values were left out because their metric had already reported in its
            period, by metric, where ``pick = "random"`` would have had each of them count. Of one
            that changes within a period, what is reported is how the period began.
    """

    consent: bool
    pending: int | None
    sent: int
    outcomes: Mapping[str, int]
    dropped: Mapping[str, int]
    last_error: str | None
    epsilon_left_today: float
    epsilon_left_lifetime: float
    delta_lifetime: float = 0.0
    do_not_track: bool = False
    remote_serial: int | None = None
    remote_refused: int = 0
    development: bool = False
    repeated: Mapping[str, int] = MappingProxyType({})
