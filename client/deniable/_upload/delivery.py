"""Sending one report, and what the aggregator's answer means for it.

A report is given up only if the aggregator refuses it for good. Before an attempt, the report gets
a later due time in the spool. So a crash, or a second process on the same directory, causes at most
a duplicate, which the aggregator recognises by the upload's id.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import TYPE_CHECKING, Final

from deniable._frames import release_frames
from deniable._platform import processes
from deniable._upload.pace import FlushPace
from deniable_shared.wire import ACCEPTED, REFUSED

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable._engine_history import EngineHistory
    from deniable._event_log import EventLog
    from deniable._remote.configuration import RemoteSettings
    from deniable._storage.device import DeviceStorage
    from deniable._storage.spool import Spool
    from deniable._storage.stored_report import StoredReport
    from deniable._transport.http import Response, Transport
    from deniable._upload.open_problems import OpenProblems

SEND_TIMEOUT_SECONDS: Final = 10.0
CLAIM_SECONDS: Final = 15.0
"""How long a claim keeps other processes from sending a report: longer than an attempt can take.
The report of a process that was killed waits no longer than this, and a flush sends it at once."""

MAX_PARALLEL_UPLOADS: Final = 20
"""The limit of uploads at the same time; only a flush sends more than one."""

RECENT_SECONDS: Final = 10.0
"""A flush takes the aggregator to be as quick as it was so long ago."""

FIRST_BACKOFF_SECONDS: Final = 2.0
MAX_BACKOFF_SECONDS: Final = 3_600.0
MAX_RETRY_AFTER_SECONDS: Final = 3_600.0

KEY_PAUSES_SECONDS: Final = (300.0, 1_800.0, 86_400.0)
"""The shortest pause after the first, second and every further answer in succession that refuses
the key; the longest is twice as long. The short ones are for a key that is about to be valid, or is
unknown to one of several servers; the long one is for a key that will never be valid."""

WAITING: Final = frozenset({409, 425})
"""The metric is not registered yet, or the report's day lies ahead: this report must wait, others
need not."""

KEY_REFUSED: Final = frozenset({401, 403})


class ReportSender:
    """Sends reports, and backs off if the aggregator does not take them.

    Args:
        storage: the storage whose spool holds the reports.
        transport: carries the uploads; called by as many threads at a time as it allows.
        remote: lengthens the back-off.
        events: where results are counted.
        problems: where failures are noted.
        clock: seconds since 1970-01-01.
        history: when and how often uploads have failed.

    Attributes:
        parallel_uploads: how many reports can be sent at the same time.
        exchange_started: when the latest upload began, by the monotonic clock.
    """

    def __init__(
        self,
        storage: DeviceStorage,
        transport: Transport,
        remote: RemoteSettings,
        events: EventLog,
        problems: OpenProblems,
        clock: Callable[[], float],
        history: EngineHistory,
    ) -> None:
        self._storage = storage
        self._transport = transport
        self._remote = remote
        self._events = events
        self._problems = problems
        self._clock = clock
        self._history = history
        self._answered_at, self._answer_seconds = -RECENT_SECONDS, 0.0
        # Not the inherited attribute: the `send` of a subclass may not be made for several threads.
        wanted = vars(type(transport)).get("parallel_uploads", 1)
        several = isinstance(wanted, int) and wanted > 1
        self.parallel_uploads = min(wanted, MAX_PARALLEL_UPLOADS) if several else 1
        self.exchange_started = 0.0
        self.after_fork_in_child()

    @property
    def silent_until(self) -> float:
        """When the aggregator may be asked again, by the monotonic clock."""
        return self._history.silent_until

    @property
    def longest_backoff_seconds(self) -> float:
        """The longest time that a failure can delay a report."""
        return self._remote.longest(MAX_BACKOFF_SECONDS)

    def after_fork_in_child(self) -> None:
        """Frees the slots that threads of the parent may hold."""
        self._slots = threading.Semaphore(self.parallel_uploads)
        self._problems.after_fork_in_child()

    def closing(self) -> Callable[[], None]:
        """A function that tells the transport that nothing more has to be sent for now."""
        slots, transport = self._slots, self._transport

        def close() -> None:
            with slots, contextlib.suppress(BaseException):
                transport.close()

        return close

    def prepare(self) -> None:
        """Imports what the thread is going to need, before it starts.

        Whoever forks without Python's hooks while another thread imports a module leaves the module
        locked in the child for ever.
        """
        self._problems.prepare()
        self._remote.prepare()
        with contextlib.suppress(Exception):  # a transport of the host's own need not have it
            self._transport.prepare()  # type: ignore[attr-defined]

    def pace(self, count: int, seconds_left: Callable[[], float]) -> FlushPace:
        """How many of the reports of a flush are to be sent at a time; see `FlushPace`."""
        recent = time.monotonic() < self._answered_at + RECENT_SECONDS
        known = self._answer_seconds if recent else 0.0
        return FlushPace(count, self._transport, seconds_left, known)

    def with_transport(self, action: Callable[[], object]) -> None:
        """Calls an action that uses the transport, and counts it as one of the uploads."""
        with self._slots:
            action()

    def send(self, report: StoredReport, still_wanted: Callable[[], bool]) -> bool:
        """Sends one report once, unless another process has claimed it.

        Args:
            report: the report.
            still_wanted: asked in the last moment whether it is still to be sent.

        Returns:
            Whether to go on with other reports: False if the report is no longer wanted, the
            aggregator asked to wait, or it could not be reached.
        """
        spool = self._spool
        if not self._storage.run_locked(
            lambda: spool().claim(report, self._clock() + CLAIM_SECONDS)
        ):
            return True
        if not still_wanted():
            return False  # stopped meanwhile, perhaps because the user has withdrawn consent
        began = time.monotonic()
        response = self._exchange(report.encode_upload())
        status = None if response is None else response.status
        if status == ACCEPTED:
            self._storage.run_locked(lambda: spool().move_to_sent(report))
            self._note_accepted(report, began)
            return True
        if status in REFUSED:
            self._storage.run_locked(lambda: spool().delete_refused(report))
            self._events.count_dropped(f"refused_{status}")
            self._history.failures = self._history.key_refusals = 0
        if status is not None:
            self._problems.answered(status, report.digest)
        if status in REFUSED:
            return True
        due = self._clock() + self._backoff_seconds(report.tries)
        self._storage.run_locked(lambda: spool().postpone(report, due))
        if status in WAITING:
            self._history.key_refusals = 0
            return True
        self._be_silent(response)
        return False

    def _note_accepted(self, report: StoredReport, began: float) -> None:
        self._answered_at = time.monotonic()
        self._answer_seconds = self._answered_at - began
        self._events.count_sent()
        self._problems.accepted(report.digest)
        self._events.inform(
            "accepted", lambda: f"a report of {self._problems.metric_name(report.digest)}"
        )
        history = self._history
        history.failures = history.key_refusals = 0
        if began > history.silenced_at:
            history.silent_until = 0.0  # a flush found that the aggregator takes reports again

    def _be_silent(self, response: Response | None) -> None:
        """Has no report sent for a while, except by a flush."""
        history = self._history
        refused = response is not None and response.status in KEY_REFUSED
        if response is not None and not refused:
            history.key_refusals = 0
        asked = 0.0 if response is None else response.retry_after_seconds or 0.0
        wait = max(self._backoff_seconds(history.failures), min(asked, MAX_RETRY_AFTER_SECONDS))
        if refused:
            shortest = KEY_PAUSES_SECONDS[min(history.key_refusals, len(KEY_PAUSES_SECONDS) - 1)]
            wait = max(wait, self._remote.stretched(shortest) * (1.0 + random_fraction()))
        now = time.monotonic()
        if self.exchange_started >= history.silent_until:
            # Counted once for uploads that were under way together.
            history.failures += 1
            history.key_refusals += refused
        history.silenced_at = now
        history.silent_until = max(history.silent_until, now + wait)

    def _spool(self) -> Spool:
        return self._storage.spool

    def _backoff_seconds(self, failures: int) -> float:
        """Exponential back-off with full jitter: uniform below a bound that doubles each time."""
        bound = min(MAX_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2.0 ** min(failures, 32))
        return self._remote.stretched(bound) * random_fraction()

    def _exchange(self, body: bytes) -> Response | None:
        with self._slots:
            self.exchange_started = time.monotonic()
            try:
                response = self._transport.send(body, SEND_TIMEOUT_SECONDS)
            except BaseException as error:  # noqa: BLE001  a transport may be cancelled, too
                self._problems.raised(error)
                release_frames(error)
                return None
        if not _is_response(response):
            self._problems.misanswered()
            return None
        return response


def random_fraction() -> float:
    """A uniform number in [0, 1) from the operating system's randomness."""
    return int.from_bytes(os.urandom(4), "big") / 2**32


def is_claimed_elsewhere(report: StoredReport, now: float) -> bool:
    """Whether another process seems to be sending a report at this moment.

    A process in another container that shares the directory cannot be recognised. Then a report may
    be sent twice; the aggregator counts it once.
    """
    claimed = report.claimant > 0 and report.claimant != os.getpid()
    if not claimed or not now < report.due <= now + CLAIM_SECONDS:
        return False
    return processes.is_running(report.claimant)


def _is_response(answer: object) -> bool:
    """Whether a transport, perhaps one of the host's own, returned a `Response`."""
    status = getattr(answer, "status", None)
    seconds = getattr(answer, "retry_after_seconds", "missing")
    return isinstance(status, int) and isinstance(seconds, int | float | None)
