"""The client: what an application holds to record values and to say what became of them."""

from __future__ import annotations

import contextlib
import math
import os
import time

from deniable._consent import Consent
from deniable._lifecycle import ClientParts, close
from deniable._randomness import Randomness
from deniable._remote.configuration import RemoteSettings
from deniable._status import NANO, EventLog, FlushResult, Outcome, Status
from deniable._storage.device import STORAGE_ERRORS, DeviceStorage
from deniable._storage.directory import read_application
from deniable._upload.uploader import Uploader
from deniable_shared.errors import ParameterError, RecordError
from deniable_shared.periods import epoch_at

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import ClassVar, Final, Self

    from deniable._disclosure.disclosure import Disclosure
    from deniable._transport.http import Transport
    from deniable_shared.registry import Registry

UPLOAD_DELAY_SECONDS: Final = 86_400.0
FLUSH_TIMEOUT_SECONDS: Final = 5.0
MAX_FLUSH_SECONDS: Final = 86_400.0


class Client:
    """Randomizes values on this device and uploads the reports in the background.

    Construction touches neither disk nor network unless there is consent, and either earlier
    reports are waiting or a metric counts absence. Nothing but construction ever raises, except
    for `record` in strict mode. Safe for threads, for forks, and for several processes that share
    a directory.

    Args:
        registry: path of a metrics.toml, or a registry that was loaded before.
        endpoint: the aggregator's base URL; ``https://``, or ``http://`` to this machine.
        key: the application's write key.
        directory: private to this application and device, and refused if another application
            has used it; made with mode 0700 once there is consent and something to record.
        consent: whether the user has agreed. Without it nothing is randomized, stored or sent.
        transport: carries the uploads instead of HTTP; then endpoint and key are left out.
        upload_delay_seconds: every report waits a uniformly random time up to this one, or up to
            its metric's period if that is shorter, so that the time of an upload does not tell
            when a value was recorded; 0 or more.
        background: whether a thread uploads by itself; without it only `flush` does.
        strict: whether `record` raises for what a programmer did wrong; for development.
        clock: seconds since 1970-01-01; for tests.

    Raises:
        ParameterError: if an argument cannot be used.
        RegistryError: if the registry cannot be read or has problems.
    """

    _storage_type: ClassVar[type[DeviceStorage]] = DeviceStorage
    """Where reports and budget are kept; `deniable.testing` keeps them in memory."""

    _environment: ClassVar[Mapping[str, str]] = os.environ
    """Where DO_NOT_TRACK is looked for; `deniable.testing` does not."""

    def __init__(
        self,
        registry: Registry | str | os.PathLike[str],
        *,
        endpoint: str | None = None,
        key: str | None = None,
        directory: str | os.PathLike[str],
        consent: bool = False,
        transport: Transport | None = None,
        upload_delay_seconds: float = UPLOAD_DELAY_SECONDS,
        background: bool = True,
        strict: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        # What reads registries and randomizes: a third of the time that importing all would take.
        from deniable._recorder import Recorder
        from deniable_shared.registry import Registry, load

        if not (
            isinstance(upload_delay_seconds, int | float) and 0 <= upload_delay_seconds < math.inf
        ):
            raise ParameterError(
                "upload_delay_seconds", "a finite number, 0 or more", upload_delay_seconds
            )
        switches = {"consent": consent, "background": background, "strict": strict}
        for name, value in switches.items():
            if not isinstance(value, bool):
                raise ParameterError(name, "True or False", value)  # "false" is no yes
        if not callable(clock):
            raise ParameterError("clock", "a function that returns seconds", clock)
        if transport is None:
            if endpoint is None or key is None:
                raise ParameterError("endpoint and key", "given unless there is a transport", None)
            from deniable._transport.http import HttpTransport

            transport = HttpTransport(endpoint, key)
        elif endpoint is not None or key is not None:
            raise ParameterError("endpoint and key", "left out if there is a transport", "both")
        elif isinstance(transport, type) or not (
            callable(getattr(transport, "send", None))
            and callable(getattr(transport, "close", None))
        ):
            raise ParameterError("transport", "an object that can send and close", transport)
        if isinstance(registry, str | os.PathLike):
            registry = load(registry)
        elif not isinstance(registry, Registry):
            raise ParameterError("registry", "a path or a Registry", registry)
        self._registry = registry
        self._transport = transport
        self._clock = clock
        self._strict = strict
        self._events = EventLog()
        path, application = _absolute_path(directory), self._registry.application
        owner = read_application(path)
        if owner not in (None, application):
            raise ParameterError("directory", f"used by {application} alone", f"that of {owner}")
        self._storage = self._storage_type(path, self._events, application)
        self._consent = Consent(self._storage, self._environment)
        self._remote = RemoteSettings(self._registry, self._storage, transport, self._events, clock)
        self._randomness = Randomness()
        self._recorder = Recorder(
            self._registry,
            self._storage,
            self._consent,
            self._remote,
            self._events,
            self._randomness,
            clock,
            float(upload_delay_seconds),
        )
        self._uploader = Uploader(
            self._storage,
            transport,
            self._remote,
            self._events,
            clock,
            self._recorder.prepare,
            delay_seconds=float(upload_delay_seconds),
            longest_wait_seconds=self._recorder.longest_wait_seconds,
            absence_digests=self._recorder.absence_digests,
            background=background,
        )
        self._parts = ClientParts(
            self._storage, self._uploader, self._consent, self._events, self._randomness
        )
        if consent:
            self.consent = True

    def record(
        self,
        metric: str,
        value: bool | float | str | Mapping[str, bool | str],
        *,
        segment: str | None = None,
    ) -> Outcome:
        """Records a value: checks, randomizes and stores it, all before returning.

        Never waits for the network, and never raises unless the client is strict. Once it answers
        ``RECORDED`` the report survives the death of the process. The value itself is kept nowhere.

        Args:
            metric: its name in the registry.
            value: a bool for ``boolean`` metrics, a str for ``category`` and ``string``, an int or
                float for ``number`` and ``distribution`` (what is outside the range counts as its
                end), and for ``attributes`` a mapping from each name to its bool or str.
            segment: for a metric with segments, the one that this device belongs to now; left out
                or unknown, it counts as the metric's ``other`` segment, if there is one.

        Returns:
            What became of it. Every outcome is counted in `status`.

        Raises:
            RecordError: in strict mode, instead of answering ``OUTSIDE_DOMAIN``,
                ``UNKNOWN_METRIC``, ``EXPIRED``, ``CLOSED``, ``STORAGE_UNAVAILABLE`` or
                ``INTERNAL_ERROR``.
        """
        problem = ""
        try:
            if self._parts.closed:
                raise RecordError(Outcome.CLOSED, "the client was closed")
            outcome, wake = self._recorder.record(metric, value, segment)
            if wake is not None:
                self._uploader.wake(wake)
        except RecordError as error:
            outcome, problem = Outcome(error.outcome), error.problem
        except STORAGE_ERRORS:
            outcome = Outcome.STORAGE_UNAVAILABLE  # the device has noted why
            problem = self._events.last_error or "see status()"
        except Exception as error:  # noqa: BLE001  a defect here must not reach the host
            self._events.problem("internal_error", type(error).__name__)
            outcome = Outcome.INTERNAL_ERROR
            problem = _describe_defect(error)
        self._events.count_outcome(outcome)
        if problem and self._strict:
            # What shows the variables of every frame must not find the value in this one, and the
            # error that was caught, whose frames and words may hold it, is not chained.
            del metric, value, segment
            raise RecordError(outcome, problem)
        return outcome

    def flush(self, *, timeout_seconds: float = FLUSH_TIMEOUT_SECONDS) -> FlushResult:
        """Sends what is stored now, without waiting for its random times.

        Each report is tried once; when the aggregator cannot be reached, the flush ends early.
        Reports of metrics that count absence stay until their period is over.
        Flushing after every record tells the aggregator when things happened: prefer not to.

        Args:
            timeout_seconds: when to return at the latest; a day at most.

        Returns:
            What was sent and dropped in this time, and what is pending after it, if it could be
            counted in time.
        """
        try:
            self._storage.detect_fork()
            if self._consent.given and not self._parts.closed:
                return self._uploader.flush(min(timeout_seconds, MAX_FLUSH_SECONDS))
        except Exception as error:  # noqa: BLE001  not even a wrong timeout may reach the host
            self._events.problem("internal_error", type(error).__name__)
        return FlushResult(sent=0, pending=self._uploader.count_pending(0.0), dropped=0)

    def forget(self) -> int:
        """Deletes what is pending, and the memory of what was delivered; needs no consent.

        The budget stays spent, and an upload that is under way cannot be called back. If the
        storage cannot be used, it stays owed, as a withdrawal of `consent` does.

        Returns:
            How many pending reports were deleted; 0 if the storage cannot be used.
        """
        try:
            return self._consent.forget()
        except STORAGE_ERRORS:
            self._delete_in_background()
        except Exception as error:  # noqa: BLE001  a defect here must not reach the host
            self._events.problem("internal_error", type(error).__name__)
        return 0

    def close(self) -> None:
        """Ends the background thread and closes the files, within a second whatever happens.

        Reports that were not sent stay stored, and the next client on this directory sends them.
        """
        close([self._parts])

    @property
    def consent(self) -> bool:
        """Whether the user agrees; not given where the environment says DO_NOT_TRACK by then.

        Setting it to False deletes every report and starts with a new secret; the budget stays
        spent. If the storage cannot be used then, this is tried again until it is done, and
        nothing is recorded or sent before. Only True agrees: any other value, such as the text
        ``"false"``, is taken as False. Once the client is closed, True changes nothing.
        """
        return self._consent.given

    @consent.setter
    def consent(self, agreed: bool) -> None:
        try:
            self._storage.detect_fork()
            if agreed is True:
                if self._parts.closed:
                    return
                self._consent.grant()
                if self._recorder.prepare() and (
                    self._recorder.counts_absence or self._storage.exists
                ):
                    self._uploader.wake(0.0)
            else:
                self._consent.withdraw()
                self._uploader.stop()
                self._consent.delete_owed_now()
        except STORAGE_ERRORS:
            self._delete_in_background()
        except Exception as error:  # noqa: BLE001  a defect here must not reach the host
            self._events.problem("internal_error", type(error).__name__)

    def status(self) -> Status:
        """Counts, the last trouble and what is left of the budget."""
        limits = left = self._recorder.limits
        pending: int | None = 0
        try:
            if self._storage.exists:
                epoch = epoch_at(self._clock())
                spent, pending = self._storage.run_locked(
                    lambda: (self._storage.ledger.spending(epoch), self._storage.spool.count())
                )
                left = (limits[0] - spent[0], limits[1] - spent[1])
        except STORAGE_ERRORS:
            pending, left = None, (0, 0)
        except Exception as error:  # noqa: BLE001  a defect here must not reach the host
            self._events.problem("internal_error", type(error).__name__)
            pending, left = None, (0, 0)
        return Status(
            consent=self._consent.given,
            pending=pending,
            sent=self._events.sent,
            outcomes=self._events.outcomes(),
            dropped=self._events.dropped(),
            last_error=self._events.last_error,
            epsilon_left_today=max(0, min(left)) / NANO,
            epsilon_left_lifetime=max(0, left[1]) / NANO,
            do_not_track=self._consent.do_not_track,
            remote_serial=self._remote.serial,
            remote_refused=self._remote.refused_count,
        )

    def disclosure(self) -> Disclosure:
        """What this device has said, in words for the person it belongs to.

        For a page of the application's settings: `Disclosure.sentence` can stand there as it is,
        and `Disclosure.reports` explains every report. Reads the directory, so call it only when
        somebody looks.
        """
        from deniable._disclosure.disclosure import disclosure  # only when somebody looks

        return disclosure(self._storage.directory, clock=self._clock)

    def _delete_in_background(self) -> None:
        """Has the thread delete what could not be deleted now; the device has noted why."""
        if not self._parts.closed:
            self._uploader.wake(0.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"Client({self._registry.application!r}, transport={type(self._transport).__name__}, "
            f"directory={str(self._storage.directory)!r}, consent={self._consent.given})"
        )


def _absolute_path(directory: str | os.PathLike[str]) -> Path:
    """The directory, wherever the host application changes to later."""
    from pathlib import Path  # most hosts have loaded it, others need it now and not before

    try:
        path = Path(directory)
    except TypeError:
        raise ParameterError("directory", "a path", directory) from None
    if "\0" in str(path):
        raise ParameterError("directory", "a path", directory)
    with contextlib.suppress(OSError):  # the working directory may be gone
        path = path.absolute()
    return path


def _describe_defect(error: Exception) -> str:
    """What kind of error it was and where; its own words may hold the value."""
    place, traceback = "", error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        place = f" in {code.co_qualname}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return type(error).__name__ + place
