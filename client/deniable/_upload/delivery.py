"""The courier: one report, sent once, and what its answer means.

A report is given up only when the aggregator refuses it for good. Before a try it is written back
with a later due time, so a crash, or a second process on the same directory, costs at most a
duplicate, which the aggregator recognises by the upload's id.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from deniable._event_log import EventLog
    from deniable._remote.configuration import RemoteSettings
    from deniable._storage.device import DeviceStorage
    from deniable._storage.spool import Spool
    from deniable._storage.stored_report import StoredReport
    from deniable._transport.http import Response, Transport

SEND_TIMEOUT_SECONDS: Final = 10.0
CLAIM_SECONDS: Final = 15.0
"""How long a claimed report is nobody else's: longer than a try can take. As long waits, at most,
what a process was trying when it was killed; a flush takes it at once."""

MAX_PARALLEL_UPLOADS: Final = 4
"""So many reports are sent at a time at most, and only in a flush, which sends them together."""

FIRST_BACKOFF_SECONDS: Final = 2.0
MAX_BACKOFF_SECONDS: Final = 3_600.0
MAX_RETRY_AFTER_SECONDS: Final = 3_600.0

ACCEPTED: Final = 204
REFUSED: Final = frozenset({400, 410, 413, 415, 422})
"""Final answers: the same bytes would be refused again."""

CONFLICT: Final = 409
"""This report must wait, for its metric is not registered yet; others need not."""


class ReportSender:
    """Delivers reports and backs off.

    Args:
        storage: in whose spool they are.
        transport: what carries an upload; called by as many threads at a time as it says.
        remote: slows back-off down.
        events: where results and problems are noted.
        clock: seconds since 1970-01-01.

    Attributes:
        parallel_uploads: how many reports can be sent at a time.
        hold_until: before this moment of the monotonic clock the aggregator is to be left alone.
        began: when the latest exchange did, by the monotonic clock.
    """

    def __init__(
        self,
        storage: DeviceStorage,
        transport: Transport,
        remote: RemoteSettings,
        events: EventLog,
        clock: Callable[[], float],
    ) -> None:
        self._storage = storage
        self._transport = transport
        self._remote = remote
        self._events = events
        self._clock = clock
        self._failures = 0
        # Not what a class inherits: its own `send` may not be made for several threads.
        wanted = vars(type(transport)).get("parallel_uploads", 1)
        several = isinstance(wanted, int) and wanted > 1
        self.parallel_uploads = min(wanted, MAX_PARALLEL_UPLOADS) if several else 1
        self.silent_until = self.exchange_started = 0.0
        self.after_fork_in_child()

    @property
    def longest_backoff_seconds(self) -> float:
        """The longest time that a failure can put a report off."""
        return self._remote.longest(MAX_BACKOFF_SECONDS)

    def after_fork_in_child(self) -> None:
        """Forgets what a thread of the parent may hold. Called in a child."""
        self._slots = threading.Semaphore(self.parallel_uploads)

    def close(self) -> None:
        """Tells the transport that nothing more is to be sent for now."""
        with self._slots, contextlib.suppress(BaseException):
            self._transport.close()

    def with_transport(self, action: Callable[[], object]) -> None:
        """Calls what uses the transport, too, as one of its threads."""
        with self._slots:
            action()

    def send(self, report: StoredReport, still_wanted: Callable[[], bool]) -> bool:
        """Sends one report once.

        Args:
            report: what to send, unless somebody else has claimed it.
            still_wanted: asked in the last moment whether it is still to be sent.

        Returns:
            False if the aggregator wants, or seems, to be left alone, or nothing is wanted.
        """
        spool = self._spool
        if not self._storage.run_locked(
            lambda: spool().claim(report, self._clock() + CLAIM_SECONDS)
        ):
            return True
        # The debit of this report must outlive a power failure before anyone else sees it.
        self._storage.sync_ledger()
        if not still_wanted():
            return False  # stopped meanwhile: the user may have withdrawn consent
        response = self._exchange(report.encode_upload())
        status = None if response is None else response.status
        if status == ACCEPTED or status in REFUSED:
            accepted = status == ACCEPTED
            self._storage.run_locked(
                lambda: (spool().move_to_sent if accepted else spool().delete_refused)(report)
            )
            if accepted:
                self._events.count_sent()
            else:
                self._events.count_dropped(f"refused_{status}")
                self._events.problem(f"refused_{status}", "the aggregator refused a report")
            self._failures = 0
            return True
        if status is not None:
            self._events.problem(f"status_{status}", "the aggregator did not take a report now")
        due = self._clock() + self._backoff_seconds(report.tries)
        self._storage.run_locked(lambda: spool().postpone(report, due))
        if status == CONFLICT:
            return True
        asked = 0.0 if response is None else response.retry_after_seconds or 0.0
        wait = max(self._backoff_seconds(self._failures), min(asked, MAX_RETRY_AFTER_SECONDS))
        now = time.monotonic()
        if self.exchange_started >= self.silent_until:
            self._failures += 1  # and not once for each that was sent beside it
        self.silent_until = max(self.silent_until, now + wait)
        return False

    def _spool(self) -> Spool:
        return self._storage.spool

    def _backoff_seconds(self, failures: int) -> float:
        """Exponential backoff with full jitter: uniform below a bound that doubles."""
        bound = min(MAX_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2.0 ** min(failures, 32))
        return self._remote.stretched(bound) * random_fraction()

    def _exchange(self, body: bytes) -> Response | None:
        with self._slots:
            self.exchange_started = time.monotonic()
            try:
                response = self._transport.send(body, SEND_TIMEOUT_SECONDS)
            except BaseException as error:  # noqa: BLE001  a transport may be cancelled, too
                detail = error.strerror if isinstance(error, OSError) else None
                self._events.problem("unreachable", detail or type(error).__name__)
                return None
        if not _is_response(response):
            self._events.problem("unreachable", "the transport did not return a Response")
            return None
        return response


def random_fraction() -> float:
    """A number in [0, 1), uniform, from the operating system."""
    return int.from_bytes(os.urandom(4), "big") / 2**32


def is_claimed_elsewhere(report: StoredReport, now: float) -> bool:
    """Whether another process is sending a report at this moment.

    One that shares the directory from another container cannot be seen, or be mistaken for this
    process; then a report may be sent twice, and is counted once.
    """
    claimed = report.claimant > 0 and report.claimant != os.getpid()
    if not claimed or not now < report.due <= now + CLAIM_SECONDS:
        return False
    try:
        os.kill(report.claimant, 0)  # asks only whether it lives
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass  # it lives, and is somebody else's; or it was never a process
    return True


def _is_response(answer: object) -> bool:
    """Whether a transport, perhaps one of the host's own making, returned what it should."""
    status = getattr(answer, "status", None)
    seconds = getattr(answer, "retry_after_seconds", "missing")
    return isinstance(status, int) and isinstance(seconds, int | float | None)
